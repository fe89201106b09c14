"""Flat factors: GeoManCER's unrolling against what one would try today, on the same samples.

Directions of single factors in bent flat products, by `GeoManCER`, by FastICA and principal
components of the ambient points, by local principal components, and by Isomap, LTSA and UMAP
(where installed) followed by FastICA. Coordinates of the rivals are turned into directions by
their gradients on the true tangent spaces, which is kinder to them than estimated ones; GeoManCER
is measured both ways.

Run `python analyses/flat_factors.py --preset quick`; what is finished is kept when it is
interrupted. Latents of trained autoencoders are not part of this script yet: `latent_cases` is
the place where they enter, as points with known factors.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

import geodis as gd
from geodis import plots
from geodis._progress import Stages
from geodis._write import whole_file, write_json
from geodis.data._spaces import random_rotations
from geodis.data.flats import CASES, FlatSample, bent_sample, flat_sample, grid_coordinates
from geodis.manifold.tangents import tangent_frames

OUT = Path(__file__).parent / "results" / "flat_factors"
OURS, OURS_GRADIENT = "GeoManCER", "GeoManCER, gradients on true tangents"
NEIGHBORS = 15  # of the rivals' graphs; Isomap and LTSA need more than their defaults of 5
GRADIENT_NEIGHBORS = 12
NOISY = {
    "box, noise .01": ("box", 0.01),
    "box, noise .03": ("box", 0.03),
    "box, noise .1": ("box", 0.1),
    "box, tightly bent, noise .03": ("box, tightly bent", 0.03),
}
GRIDS = {"grid 8 x 8 x 8": ((8, 8, 8), None), "grid 16 x 16 x 6": ((16, 16, 6), 1 / 15)}


@dataclass(frozen=True)
class Preset:
    """Sizes of everything."""

    n: int
    seeds: tuple[int, ...]
    cases: tuple[str, ...]
    drawn: tuple[str, ...] = ("rectangle", "box", "circle x interval")


ALL = (*CASES, *NOISY, *GRIDS)
PRESETS = {
    "quick": Preset(1000, (0,), ALL),
    "paper": Preset(2000, (0, 1, 2, 3, 4), ALL),
}


def make(case: str, n: int, seed: int) -> FlatSample:
    """A sample by the name of its case."""
    if case in NOISY:
        own, noise = NOISY[case]
        return flat_sample(own, n, noise=noise, random_state=seed)
    if case in GRIDS:
        sizes, step = GRIDS[case]
        u = grid_coordinates(sizes, step=step)
        turn = random_rotations(1, len(sizes), np.random.default_rng(seed))[0]
        return bent_sample(u, (1,) * len(sizes), rotation=turn, name=case)
    return flat_sample(case, n, random_state=seed)


def latent_cases() -> dict[str, FlatSample]:
    """Latents of trained models with known factors; none until there are trained models."""
    return {}


Method = Callable[[FlatSample, int], np.ndarray]


def _ica(values: np.ndarray, seed: int) -> np.ndarray:
    from sklearn.decomposition import FastICA

    model = FastICA(values.shape[1], whiten="unit-variance", random_state=seed, max_iter=1000)
    return model.fit_transform(values)


def _dim(sample: FlatSample) -> int:
    return sample.coordinates.shape[1]


def ambient_ica(sample: FlatSample, seed: int) -> np.ndarray:
    return _ica(ambient_pca(sample, seed), seed)


def ambient_pca(sample: FlatSample, seed: int) -> np.ndarray:
    return gd.principal_components(sample.points).project(sample.points, _dim(sample))


def isomap_ica(sample: FlatSample, seed: int) -> np.ndarray:
    from sklearn.manifold import Isomap

    return _ica(Isomap(n_neighbors=NEIGHBORS, n_components=_dim(sample)).fit_transform(
        sample.points), seed)  # fmt: skip


def ltsa_ica(sample: FlatSample, seed: int) -> np.ndarray:
    from sklearn.manifold import LocallyLinearEmbedding

    model = LocallyLinearEmbedding(
        n_neighbors=NEIGHBORS, n_components=_dim(sample), method="ltsa", eigen_solver="dense",
        random_state=seed,
    )  # fmt: skip
    return _ica(model.fit_transform(sample.points), seed)


def umap_ica(sample: FlatSample, seed: int) -> np.ndarray:
    import umap

    model = umap.UMAP(n_neighbors=NEIGHBORS, n_components=_dim(sample), random_state=seed)
    return _ica(model.fit_transform(sample.points), seed)


RIVALS: dict[str, Method] = {
    "FastICA, ambient": ambient_ica,
    "PCA, ambient": ambient_pca,
    "Isomap + ICA": isomap_ica,
    "LTSA + ICA": ltsa_ica,
    "UMAP + ICA": umap_ica,
}


def installed() -> dict[str, Method]:
    """The rivals that can be run here."""
    from importlib.util import find_spec

    return {k: v for k, v in RIVALS.items() if "UMAP" not in k or find_spec("umap") is not None}


def gradient_directions(coordinates: np.ndarray, sample: FlatSample) -> np.ndarray:
    """Unit gradients of coordinates (n, f) on the true tangent spaces, shape (n, f, d).

    Least squares of the differences to the nearest points on their displacements in the tangent
    space; differences across the seam of a closed direction are outliers, lowered by one round
    of reweighting.
    """
    true = np.concatenate(sample.tangents, axis=1)
    near = gd.nearest_neighbors(sample.points, GRADIENT_NEIGHBORS).indices
    t = np.einsum("nfd,nkd->nkf", true, sample.points[near] - sample.points[:, None])
    y = coordinates[near] - coordinates[:, None]  # (n, k, f)
    ridge = 1e-9 * (t**2).sum(axis=(1, 2))[:, None, None] * np.eye(t.shape[2])
    weights = np.ones(t.shape[:2])
    for _ in range(3):
        moved = np.swapaxes(t * weights[..., None], 1, 2)
        slope = np.linalg.solve(moved @ t + ridge, moved @ y)  # (n, f of the tangents, f)
        size = np.linalg.norm(y - t @ slope, axis=2)
        weights = 1 / (1 + (size / (2 * np.median(size, axis=1, keepdims=True) + 1e-300)) ** 2)
    rows = np.swapaxes(slope, 1, 2) @ true
    return rows / np.maximum(np.linalg.norm(rows, axis=2, keepdims=True), 1e-300)


def degrees(rows: np.ndarray, sample: FlatSample) -> float:
    """Mean largest angle to the true factors, rows given to factors by the best matching.

    The truth about dimensions is told to every method here: a factor gets as many rows as it
    has dimensions.
    """
    dims = sample.factor_dims
    share = np.stack(
        [((rows @ np.swapaxes(t, 1, 2)) ** 2).sum(axis=2).mean(axis=0) for t in sample.tangents],
        axis=1,
    )  # (f, m)
    row, place = linear_sum_assignment(-np.repeat(share, dims, axis=1))
    owner = np.repeat(np.arange(len(dims)), dims)[place][np.argsort(row)]
    found = [_orthonormal(rows[:, owner == j]) for j in range(len(dims))]
    return float(np.degrees(gd.subspace_angles(found, sample.tangents).mean()))


def _orthonormal(rows: np.ndarray) -> np.ndarray:
    return np.swapaxes(np.linalg.qr(np.swapaxes(rows, 1, 2))[0], 1, 2)


def run_case(case: str, n: int, seed: int) -> list[dict[str, Any]]:
    """One row a method."""
    sample = make(case, n, seed)
    base = {"case": case, "n": len(sample.points), "seed": seed}
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what does not converge is seen in its error
        begun = time.perf_counter()
        est = gd.GeoManCER(_dim(sample), random_state=seed, verbose=0).fit(sample.points)
        seconds = time.perf_counter() - begun
        told = est.flat_evidence_
        found = {
            "found": est.factor_dims_.tolist(),
            "right": sorted(est.factor_dims_) == sorted(sample.factor_dims),
            "doubts": list(told.doubts) if told else [],
            "reasons": list(told.reasons) if told else [],
            "seconds": seconds,
        }
        rows.append({**base, "method": OURS, "error": degrees(est.axes_, sample), **found})
        if est.flat_coordinates_.shape[1] == _dim(sample):
            gradients = gradient_directions(est.flat_coordinates_, sample)
            error = degrees(gradients, sample)
            rows.append({**base, "method": OURS_GRADIENT, "error": error, **found})
        begun = time.perf_counter()
        near = gd.nearest_neighbors(sample.points, 3 * NEIGHBORS)
        frames = tangent_frames(sample.points, near, _dim(sample), method="pca").frames
        rows.append(
            {
                **base, "method": "local PCA", "error": degrees(frames, sample),
                "seconds": time.perf_counter() - begun,
            }
        )  # fmt: skip
        for name, method in installed().items():
            begun = time.perf_counter()
            try:
                coordinates = method(sample, seed)
            except Exception as problem:  # a rival's failure is a result
                rows.append({**base, "method": name, "error": np.nan, "note": str(problem)[:200]})
                continue
            seconds = time.perf_counter() - begun
            error = degrees(gradient_directions(coordinates, sample), sample)
            rows.append({**base, "method": name, "error": error, "seconds": seconds})
    return rows


def run(
    preset: Preset, out: Path, *, name: str = "", verbose: bool = True
) -> tuple[list[dict[str, Any]], bool]:
    """Run every case, writing the table after each; False after Ctrl-C."""
    rows: list[dict[str, Any]] = []
    jobs = [(case, seed) for case in preset.cases for seed in preset.seeds]
    complete = False
    try:
        with Stages("flat factors", verbose) as stages:
            for done, (case, seed) in enumerate(jobs):
                with stages.stage(f"{done + 1}/{len(jobs)} {case}, seed {seed}"):
                    stages.advance(done / len(jobs))
                    rows += run_case(case, preset.n, seed)
                write_tables(rows, out, preset, name)
        complete = True
    except KeyboardInterrupt:
        print(f"stopped after {len(rows)} rows", file=sys.stderr)
    for case in preset.drawn:
        if complete:
            draw(case, preset, out)
    return rows, complete


def write_tables(rows: Sequence[dict[str, Any]], out: Path, preset: Preset, name: str) -> None:
    """Write results.json with everything, and results.md with tables for people."""
    write_json(out / "results.json", {"preset": name, "settings": asdict(preset), "rows": rows})
    methods = list(dict.fromkeys(row["method"] for row in rows))
    cases = list(dict.fromkeys(row["case"] for row in rows))
    lines = [
        "# Flat factors",
        "",
        f"Preset {name or 'given'}, {preset.n:,} points (grids as named), "
        f"median of {len(preset.seeds)} seed(s). "
        "Mean angle in degrees to the true directions. All methods are told the dimension, and "
        "for this table which rows belong to which factor; GeoManCER finds that itself: in "
        "brackets the dimensions that it found where they differ from the factors', with "
        "'refused' where it left all directions together and said why. The rivals' coordinates "
        "become directions on the true tangent spaces; GeoManCER estimates its own.",
    ]
    for title, cell in (("Degrees", _error), ("Seconds", _seconds)):
        lines += ["", f"## {title}", "", f"| case | {' | '.join(methods)} |"]
        lines.append("|---" * (len(methods) + 1) + "|")
        for case in cases:
            own = [
                [r for r in rows if (r["case"], r["method"]) == (case, method)]
                for method in methods
            ]
            lines.append(
                f"| {case} | {' | '.join(cell(cells) if cells else '' for cells in own)} |"
            )
    doubted = [row for row in rows if row["method"] == OURS and (row["doubts"] or row["reasons"])]
    lines += ["", "## What GeoManCER said", ""]
    for row in {row["case"]: row for row in doubted}.values():
        said = "; ".join([*row["reasons"], *(f"uncertain: {doubt}" for doubt in row["doubts"])])
        lines.append(f"- {row['case']}: {said}")
    with whole_file(out / "results.md") as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _error(rows: Sequence[dict[str, Any]]) -> str:
    text = f"{np.median([row['error'] for row in rows]):.2f}"
    wrong = [row["found"] for row in rows if not row.get("right", True)]
    if not wrong:
        return text
    found = wrong[0]
    return f"{text} ({'refused' if len(found) == 1 else ' + '.join(map(str, found))})"


def _seconds(rows: Sequence[dict[str, Any]]) -> str:
    return f"{np.median([row.get('seconds', np.nan) for row in rows]):.2f}"


def draw(case: str, preset: Preset, out: Path) -> None:
    """Unrolled coordinates coloured by the true factors."""
    sample = make(case, preset.n, 0)
    est = gd.GeoManCER(_dim(sample), verbose=0).fit(sample.points)
    if est.flat_coordinates_.shape[1]:
        axes = plots.plot_flat_coordinates(est.flat_coordinates_, sample.coordinates)
        plots.save_figure(axes[0], out / f"{case.replace(' ', '_')}.png")
        axis = plots.plot_contrast_angles(est.flat_evidence_)
        plots.save_figure(axis, out / f"{case.replace(' ', '_')}_contrasts.png")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a preset; 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--preset", choices=PRESETS, default="quick")
    parser.add_argument("--out", type=Path, default=OUT)
    chosen = parser.parse_args(arguments)
    begun = time.perf_counter()
    _, complete = run(PRESETS[chosen.preset], chosen.out, name=chosen.preset)
    print(f"\n{time.perf_counter() - begun:.0f} seconds. Made in {chosen.out}:")
    for path in sorted(chosen.out.iterdir()):
        print(f"  {path.name}")
    return 0 if complete else 130


if __name__ == "__main__":
    sys.exit(main())
