"""Flat factors: GeoManCER's unrolling against what one would try today, on the same samples.

Directions of single factors in bent flat products, by `GeoManCER`, by FastICA and principal
components of the ambient points, by local principal components, and by Isomap, LTSA and UMAP
(where installed) followed by FastICA. Coordinates of the rivals are turned into directions by
their gradients on the true tangent spaces, which is kinder to them than estimated ones; GeoManCER
is measured both ways.

The same is asked of latents of small autoencoders with known factors, where nothing promises that
factors are flat, isometric or independent; and two choices are measured on their own
(`flat_checks`).

Run `python -m analyses.flat_factors --preset quick`; what is finished is kept when it is
interrupted. Models are trained once, and their latents are kept beside the results.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import geodis as gd
from analyses.shared import flat_checks
from analyses.shared.flat_latents import LATENT_CASES, latent_lines, latent_sample, names_of
from analyses.shared.flat_methods import (
    NEIGHBORS,
    degrees,
    dim_of,
    gradient_directions,
    installed,
    isomap_ica,
    rank_correlations,
    thinned,
    turns_of_factors,
)
from geodis import plots
from geodis.base import Stages, check_choice, whole_file, write_json
from geodis.data.manifolds.directions import random_rotations
from geodis.data.manifolds.flat_products import (
    CASES,
    FlatCase,
    FlatSample,
    bent_sample,
    flat_sample,
    grid_coordinates,
)
from geodis.manifold.local.tangents import tangent_frames

Row = dict[str, Any]
Job = tuple[str, str, Callable[[], list[Row]]]  # what, which part of the results, its rows

OUT = Path(__file__).parent / "results" / "flat_factors"
OURS, OURS_GRADIENT = "GeoManCER", "GeoManCER, gradients on true tangents"
NOISY: dict[str, tuple[FlatCase, float]] = {
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
    main: tuple[str, ...] = ()  # cases that get every seed; the others have the first three
    drawn: tuple[str, ...] = ("rectangle", "box", "circle x interval")
    latents: tuple[str, ...] = ()
    checks: bool = False


ALL = (*CASES, *NOISY, *GRIDS)
MAIN = (
    "rectangle",
    "swiss roll",
    "box",
    "exponential",
    "equal Gaussians",
    "disc x interval",
    "circle x interval",
    "box, noise .03",
)
FEWER = 3
# Points for the rivals, evenly through the sample: LTSA solves a dense problem of that size.
MOST = 2500
PRESETS = {
    "quick": Preset(1000, (0,), ALL, checks=True),
    "paper": Preset(2000, (0, 1, 2, 3, 4), ALL, MAIN, latents=tuple(LATENT_CASES), checks=True),
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
    return flat_sample(check_choice(case, "case", tuple(CASES)), n, random_state=seed)


def run_case(case: str, n: int, seed: int) -> list[Row]:
    """One row a method."""
    return [{"case": case, **row} for row in compare(make(case, n, seed), seed)]


def compare(sample: FlatSample, seed: int) -> list[Row]:
    """Errors and seconds of every method on a sample, one row a method."""
    base = {"n": len(sample.points), "seed": seed}
    dim, rows = dim_of(sample), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what does not converge is seen in its error
        begun = time.perf_counter()
        est = gd.GeoManCER(dim, random_state=seed, verbose=0).fit(sample.points)
        told = est.flat_evidence_
        said: Row = {
            "found": est.factor_dims_.tolist(),
            "flat": est.flat_.tolist(),
            "right": sorted(est.factor_dims_) == sorted(sample.factor_dims),
            "doubts": list(told.doubts) if told else [],
            "reasons": list(told.reasons) if told else [],
            "said": str(told) if told else f"No flat part: {'; '.join(map(str, est.evidence_))}",
            "seconds": time.perf_counter() - begun,
        }
        rows.append({**base, "method": OURS, "error": degrees(est.axes_, sample), **said})
        if est.flat_coordinates_.shape[1] == dim:
            rows[0]["ranks"] = rank_correlations(est.flat_coordinates_, sample.coordinates)
            if max(sample.factor_dims) == 1:
                rows[0]["turns"] = turns_of_factors(est.axes_, sample)
            error = degrees(gradient_directions(est.flat_coordinates_, sample), sample)
            rows.append({**base, "method": OURS_GRADIENT, "error": error, **said})
        sample = thinned(sample, MOST)
        begun = time.perf_counter()
        near = gd.nearest_neighbors(sample.points, 3 * NEIGHBORS)
        frames = tangent_frames(sample.points, near, dim, method="pca").frames
        seconds = time.perf_counter() - begun
        error = degrees(frames, sample)
        rows.append({**base, "method": "local PCA", "error": error, "seconds": seconds})
        for name, method in installed().items():
            begun = time.perf_counter()
            try:
                coordinates = method(sample, seed)
            except Exception as problem:  # a rival's failure is a result
                rows.append({**base, "method": name, "error": np.nan, "note": str(problem)[:200]})
                continue
            seconds = time.perf_counter() - begun
            error = degrees(gradient_directions(coordinates, sample), sample)
            ranks = rank_correlations(coordinates, sample.coordinates)
            rows.append(
                {**base, "method": name, "error": error, "seconds": seconds, "ranks": ranks}
            )
    return rows


def run(
    preset: Preset, out: Path, *, name: str = "", verbose: bool = True
) -> tuple[list[Row], bool]:
    """Run everything, writing the tables after each case; False after Ctrl-C."""
    kept_rows = kept(out, name, preset.n)
    known = {(row["case"], row["seed"]) for row in kept_rows["rows"]}
    wanted = [(case, seed) for seed in preset.seeds for case in preset.cases]
    wanted = [job for job in wanted if job not in known]

    def job_of(case: str, seed: int) -> Job:
        return f"{case}, seed {seed}", "rows", partial(run_case, case, preset.n, seed)

    first = preset.main or preset.cases
    jobs = [job_of(case, seed) for case, seed in wanted if case in first]
    if preset.checks and not kept_rows["noisy"]:
        noisy = partial(flat_checks.neighbourhoods, preset.n, preset.seeds, isomap_error)
        jobs.append(("noise", "noisy", noisy))
    if preset.checks and not kept_rows["grouped"]:
        grouped = partial(flat_checks.likelihood_against_pairs, preset.n, preset.seeds)
        jobs.append(("groups", "grouped", grouped))
    jobs += [
        (case, "latents", partial(run_latents, case, preset, out))
        for case in preset.latents
        if not any(row["case"] == case for row in kept_rows["latents"])
    ]
    few = preset.seeds[:FEWER]
    jobs += [job_of(case, seed) for case, seed in wanted if case not in first and seed in few]
    complete = False
    try:
        with Stages("flat factors", verbose) as stages:
            for done, (what, part, make_rows) in enumerate(jobs):
                with stages.stage(f"{done + 1}/{len(jobs)} {what}"):
                    stages.advance(done / len(jobs))
                    kept_rows[part] += make_rows()
                write_tables(kept_rows, out, preset, name)
        complete = True
    except KeyboardInterrupt:
        print(f"stopped after {len(kept_rows['rows'])} rows", file=sys.stderr)
    for case in preset.drawn if complete else ():
        draw(make(case, preset.n, 0), out)
    return kept_rows["rows"], complete


def kept(out: Path, name: str, n: int) -> dict[str, list[Row]]:
    """What an earlier run of the same preset has finished."""
    parts: dict[str, list[Row]] = {"rows": [], "noisy": [], "grouped": [], "latents": []}
    try:
        kept_rows = json.loads((out / "results.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return parts
    same = (kept_rows["preset"], kept_rows["settings"]["n"], kept_rows.get("geodis"))
    if not name or same != (name, n, gd.__version__):
        return parts
    return {part: kept_rows.get(part, []) for part in parts}


def isomap_error(sample: FlatSample, seed: int) -> float:
    return degrees(gradient_directions(isomap_ica(sample, seed), sample), sample)


def run_latents(case: str, preset: Preset, out: Path) -> list[Row]:
    """Compare on latents of a model, and draw what was unrolled."""
    sample, told = latent_sample(case, out / "latents")
    told["names"] = names_of(case)
    draw(sample, out, told["names"])
    return [{"case": case, **told, **row} for row in compare(sample, 0)]


def write_tables(kept_rows: dict[str, list[Row]], out: Path, preset: Preset, name: str) -> None:
    """Write results.json with everything, and results.md with tables for people."""
    write_json(out / "results.json", _named(kept_rows, preset, name))
    rows = kept_rows["rows"]
    methods = list(dict.fromkeys(row["method"] for row in rows))
    cases = [case for case in preset.cases if any(row["case"] == case for row in rows)]
    lines = [
        "# Flat factors",
        "",
        f"Preset {name or 'given'}, {preset.n:,} points (grids as named), "
        "medians over seeds. "
        "Mean angle in degrees to the true directions. All methods are told the dimension, and "
        "for this table which rows belong to which factor; GeoManCER finds that itself: in "
        "brackets the dimensions that it found where they differ from the factors', in how many of "
        "the seeds, with 'refused' where it left all directions together and said why. The rivals' "
        "coordinates become directions on the true tangent spaces, at most "
        f"{MOST:,} points; GeoManCER estimates its own. Other work shared the cores: read seconds "
        "as ratios within a row.",
    ]
    for title, cell in (("Degrees", _error), ("Seconds", _seconds)):
        lines += ["", f"## {title}", "", f"| case | seeds | {' | '.join(methods)} |"]
        lines.append("|---" * (len(methods) + 2) + "|")
        for case in cases:
            own = [
                [r for r in rows if (r["case"], r["method"]) == (case, method)]
                for method in methods
            ]
            cells = " | ".join(cell(part) if part else "" for part in own)
            lines.append(f"| {case} | {len(own[0])} | {cells} |")
    doubted = [row for row in rows if row["method"] == OURS and (row["doubts"] or row["reasons"])]
    lines += ["", "## What GeoManCER said", ""]
    for row in {row["case"]: row for row in doubted}.values():
        said = "; ".join([*row["reasons"], *(f"uncertain: {doubt}" for doubt in row["doubts"])])
        lines.append(f"- {row['case']}: {said}")
    lines += flat_checks.lines_of(kept_rows["noisy"], kept_rows["grouped"])
    lines += latent_lines(kept_rows["latents"])
    with whole_file(out / "results.md") as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _named(kept_rows: dict[str, list[Row]], preset: Preset, name: str) -> dict[str, Any]:
    return {"preset": name, "geodis": gd.__version__, "settings": asdict(preset), **kept_rows}


def _error(rows: Sequence[dict[str, Any]]) -> str:
    text = f"{np.median([row['error'] for row in rows]):.2f}"
    wrong = [row["found"] for row in rows if not row.get("right", True)]
    if not wrong:
        return text
    said = ["refused" if len(dims) == 1 else " + ".join(map(str, dims)) for dims in wrong]
    told = [f"{what} in {said.count(what)}" for what in dict.fromkeys(said)]
    return f"{text} ({', '.join(told)} of {len(rows)})"


def _seconds(rows: Sequence[dict[str, Any]]) -> str:
    return f"{np.median([row.get('seconds', np.nan) for row in rows]):.2f}"


def draw(sample: FlatSample, out: Path, names: Sequence[str] | None = None) -> None:
    """Unrolled coordinates coloured by the true factors, and how stable every contrast was."""
    est = gd.GeoManCER(dim_of(sample), verbose=0).fit(sample.points)
    if est.flat_coordinates_.shape[1]:
        label = sample.name.replace(",", "").replace(" ", "_")
        axes = plots.plot_flat_coordinates(est.flat_coordinates_, sample.coordinates, names)
        plots.save_figure(axes[0], out / f"{label}.png")
        if est.flat_evidence_ and est.flat_evidence_.contrasts:  # periods alone need none
            axis = plots.plot_contrast_angles(est.flat_evidence_)
            plots.save_figure(axis, out / f"{label}_contrasts.png")


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
