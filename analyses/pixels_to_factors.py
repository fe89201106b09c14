"""From pixels to factors: what GeoManCER needs is a metric, and a metric can be learnt.

Scenes show one object under any rotation (SO(3), dimension 3) and any light (S^2, dimension 2).
GeoManCER is given the true latents, the pixels, the latents of a beta-VAE and of a triplet VAE, and
the codes of a `MetricEncoder` that learnt from labelled distances, or from pairs of frames of a
random walk without labels. Two controls are no products: a light tied to the object, which leaves
SO(3), and a light that goes around the object's axis.

Columns, in radians: "CCA", the published unaligned angle between estimated and true subspaces;
"FD", the angle with true displacements, half a radian both ways, that went through renderer and
encoder, which does not flatter; both with dimension and number of factors told, and pi / 2 where
the factors that were found have other dimensions, such as 4 + 1. "Found" is what GeoManCER says
when the number of factors is not told, "doubted" where it says that it is uncertain, and "1st, 2nd"
by how much the norms of its two bottom eigenfields vary, zero for a product.

Run `python -m analyses.pixels_to_factors --preset quick`; what is finished is kept.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import geodis as gd
from analyses.shared.model_runs import Row, run_preset, summarise, table, write_markdown
from analyses.shared.run import main_of
from geodis import models, plots
from geodis.base import InputError
from geodis.data.manifolds.directions import step_along
from geodis.models.training.train_options import Precision
from geodis.plots import FACTOR_COLORS

OUT = Path(__file__).parent / "results" / "pixels_to_factors"
IMAGE_SIZE = 32
# Radians of the displacements of "FD", and of a step of a walk in each direction.
DISPLACED, WALKED = 0.5, 0.4
# Weight of the divergence: with 1, the squares of these dark images are worth three nats in all.
BETA = 0.02
N_DISPLACED = 1000

TRUE, PIXELS, CHANCE = "true latents", "pixels (50 PCA)", "chance"
BETA_VAE, TVAE = "beta-VAE", "TVAE, 10,000 labelled"
FEW, LABELLED = "metric, 500 labelled", "metric, 2,000 labelled"
WALKS = "metric, walk pairs, no labels"
CONTROLS = {"attached": (3,), "circle": (4,)}


@dataclass(frozen=True)
class Preset:
    """Sizes of everything."""

    seeds: tuple[int, ...]
    methods: tuple[str, ...]
    control_methods: tuple[str, ...]
    control_seeds: tuple[int, ...]
    n_test: int
    n_vae: int
    n_pairs: int
    vae_steps: int
    labelled_steps: int
    walk_steps: int
    batch_size: int = 256
    precision: Precision = "float32"


METHODS = (CHANCE, TRUE, LABELLED, WALKS, PIXELS, BETA_VAE, TVAE)
PRESETS = {
    "quick": Preset(
        seeds=(0, 1, 2),
        methods=METHODS,
        control_methods=(TRUE, LABELLED),
        control_seeds=(0,),
        n_test=10_000,
        n_vae=10_000,
        n_pairs=100_000,
        vae_steps=2500,
        labelled_steps=2000,
        walk_steps=2500,
        precision="bfloat16",
    ),
    "paper": Preset(
        seeds=(0, 1, 2, 3, 4),
        methods=(*METHODS, FEW),
        control_methods=(TRUE, LABELLED, WALKS),
        control_seeds=(0, 1, 2),
        n_test=10_000,
        n_vae=50_000,
        n_pairs=1_000_000,
        vae_steps=50_000,
        labelled_steps=4000,
        walk_steps=10_000,
    ),
    "tiny-for-tests": Preset(
        seeds=(0,),
        methods=METHODS,
        control_methods=(TRUE,),
        control_seeds=(0,),
        n_test=1200,
        n_vae=300,
        n_pairs=300,
        vae_steps=5,
        labelled_steps=5,
        walk_steps=5,
        batch_size=32,
    ),
}


def plan(preset: Preset) -> list[Row]:
    """Every case; what the analysis is about first, then controls, then what others learn."""
    cases = [
        {"light": "free", "method": method, "seed": seed}
        for seed in preset.seeds
        for method in preset.methods
    ]
    others = [case for case in cases if case["method"] in (PIXELS, BETA_VAE, TVAE)]
    controls = [
        {"light": light, "method": method, "seed": seed}
        for seed in preset.control_seeds
        for light in CONTROLS
        for method in preset.control_methods
    ]
    return [case for case in cases if case not in others] + controls + others


def run_case(case: Mapping[str, Any], preset: Preset) -> Row:
    """Train what the method trains, encode held-out images, and split them."""
    scenes = gd.Scenes(IMAGE_SIZE, light=case["light"], n_jobs=1)
    test = scenes.sample(preset.n_test, random_state=1000 + case["seed"], verbose=0)
    dims = tuple(frames.shape[1] for frames in test.tangents)
    if case["method"] == CHANCE:
        return chance(test, case["seed"])
    encode, note = encoder_of(case["method"], scenes, preset, case["seed"])
    codes = test.points if encode is None else encode(test.images)
    row: Row = {"columns": codes.shape[1], "true_dims": list(dims), **note}
    row |= split_freely(codes, sum(dims), case["seed"])
    if len(dims) > 1:
        row |= angles(codes, test, dims, encode, case["seed"])
    return row


def encoder_of(
    method: str, scenes: gd.Scenes, preset: Preset, seed: int
) -> tuple[Any, dict[str, Any]]:
    """A function of images to codes, and what training said; None for the true latents."""
    if method == TRUE:
        return None, {}
    if method == PIXELS:
        fitted = scenes.sample(2000, random_state=seed, verbose=0).images
        mean, rows = _components(_flat(fitted), 50)
        return lambda images: (_flat(images) - mean) @ rows.T, {}
    options: dict[str, Any] = {
        "batch_size": preset.batch_size,
        "options": models.TrainOptions(precision=preset.precision),
        "random_state": seed,
        "verbose": 0,
    }
    shape = (1, IMAGE_SIZE, IMAGE_SIZE)
    if method in (LABELLED, FEW):
        n = {LABELLED: 2000, FEW: 500}[method]
        sample = scenes.sample(n, random_state=seed, verbose=0)
        model: Any = models.MetricEncoder(shape, roll=True, random_state=seed)
        done = models.train(
            model, (sample.images, labels(sample)), preset.labelled_steps, **options
        )
    elif method == WALKS:
        walk = scenes.walk(preset.n_pairs, step=WALKED, random_state=seed, verbose=0)
        model = models.MetricEncoder(
            shape, learn_from="neighbours", kappa=1 / WALKED**2, roll=True, random_state=seed
        )
        pairs = walk.images[:, 0], walk.images[:, 1]
        done = models.train(model, pairs, preset.walk_steps, **options)
    else:
        sample = scenes.sample(preset.n_vae, random_state=seed, verbose=0)
        if method == BETA_VAE:
            model = models.BetaVAE(shape, 10, beta=BETA, random_state=seed)
            done = models.train(model, sample.images, preset.vae_steps, **options)
        else:
            model = models.TVAE(shape, 10, beta=BETA, random_state=seed)
            triplets = ordered(sample, min(10 * preset.n_vae, 50_000), seed)
            options["batch_size"] = max(options["batch_size"] // 2, 2)
            done = models.train(model, triplets, preset.vae_steps, **options)
    note = {"trained": str(done), "last": done.history[-1]}
    return lambda images: models.encode(model, images).astype(np.float64), note


def labels(sample: Any) -> np.ndarray:
    """Rows whose squared distances are |dR|^2 / 2 + |dl|^2."""
    return np.hstack([sample.points[:, :9] / np.sqrt(2), sample.points[:, 9:]])


def ordered(sample: Any, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Anchors, nearer and further images by the distance of the labels."""
    rng, rows = np.random.default_rng(seed), labels(sample)
    a, b, c = rng.integers(len(rows), size=(3, n))
    near, far = (((rows[a] - rows[other]) ** 2).sum(axis=1) for other in (b, c))
    b, c = np.where(near <= far, b, c), np.where(near <= far, c, b)
    return sample.images[a], sample.images[b], sample.images[c]


def split_freely(codes: np.ndarray, dim: int, seed: int) -> Row:
    """What GeoManCER says of the codes when the number of factors is not told."""
    est = gd.GeoManCER(dim, random_state=seed, n_jobs=1, verbose=0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            est.fit(codes)
    except InputError as problem:
        return {"found": [], "problem": str(problem)}
    variation = [float(value) for value in est.evidence_[0].variation[:3]]
    return {
        "found": est.factor_dims_.tolist(),
        "first": variation[0],
        "second": variation[1] if len(variation) > 1 else float("nan"),
        "uncertain": bool(est.uncertain_),
    }


def angles(codes: np.ndarray, test: Any, dims: Sequence[int], encode: Any, seed: int) -> Row:
    """Angles to the true factors, with dimension and number of factors told."""
    est = gd.GeoManCER(sum(dims), n_factors=len(dims), random_state=seed, n_jobs=1, verbose=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        est.fit(codes)
    usable = np.isfinite(est.axes_).all(axis=(1, 2))
    subspaces = [est.subspace(j)[usable] for j in range(est.n_factors_)]
    true = [frames[usable] for frames in test.tangents]
    cca = gd.unaligned_angles(codes[usable], subspaces, test.points[usable], true)
    rows = np.flatnonzero(usable)[:N_DISPLACED]
    pushed = displaced(test, rows, codes, encode)
    place = np.searchsorted(np.flatnonzero(usable), rows)
    finite = gd.subspace_angles([frames[place] for frames in subspaces], pushed)
    return {
        "cca": float(cca.mean()),
        "cca_median": float(np.median(cca)),
        "fd": float(finite.mean()),
        "told": est.factor_dims_.tolist(),
    }


def displaced(test: Any, rows: np.ndarray, codes: np.ndarray, encode: Any) -> list[np.ndarray]:
    """Orthonormal rows that span where true displacements of half a radian lead, by factor."""
    pushed = []
    for frames in test.tangents:
        # A unit tangent of SO(3) in R^9 turns by 1 / sqrt(2) rad.
        size = DISPLACED * (np.sqrt(2) if frames.shape[1] == 3 else 1.0)
        ends = []
        for side in (1, -1):  # the chord between both ends is free of the curvature of the way
            way = side * size * frames[rows]
            turns, lights = step_along(test.rotations[rows], test.lights[rows], way)
            if encode is None:
                ends.append(np.hstack([turns.reshape(-1, 9), lights]))
            else:
                ends.append(encode(test.scenes.render(turns, lights, verbose=0)))
        moved = (ends[0] - ends[1]).reshape(len(rows), -1, codes.shape[1])
        pushed.append(np.linalg.qr(moved.swapaxes(1, 2))[0].swapaxes(1, 2))
    return pushed


def chance(test: Any, seed: int) -> Row:
    """Random directions instead of an estimate, in the space of the true latents."""
    rng = np.random.default_rng(seed)
    n, d = test.points.shape
    axes = np.linalg.qr(rng.standard_normal((n, d, 5)))[0].swapaxes(1, 2)
    directions = [axes[:, :3], axes[:, 3:]]
    cca = gd.unaligned_angles(test.points, directions, test.points, test.tangents)
    fd = gd.subspace_angles(directions, test.tangents)
    return {"cca": float(cca.mean()), "cca_median": float(np.median(cca)), "fd": float(fd.mean())}


def _flat(images: np.ndarray) -> np.ndarray:
    return images.reshape(len(images), -1).astype(np.float64) / 255


def _components(rows: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    mean = rows.mean(axis=0)
    return mean, np.linalg.svd(rows - mean, full_matrices=False)[2][:n]


def write(rows: list[Row], out: Path, preset: str) -> None:
    """Tables and the figure."""
    free = [row for row in rows if row["case"]["light"] == "free"]
    tied = [row for row in rows if row["case"]["light"] != "free"]
    settings = ", ".join(
        f"{name} {value}"
        for name, value in asdict(PRESETS[preset]).items()
        if name not in ("methods", "control_methods")
    )
    lines = ["# From pixels to factors", "", *(__doc__ or "").strip().split("\n\n")[1:3], ""]
    lines += [f"Preset {preset}: {settings}.", "", "## Rotation and light: SO(3) x S^2", ""]
    columns = ["cca", "cca_median", "fd", "first", "second"]
    cells = summarise(free, ["method"], columns)
    for line in cells:
        own = [_dims_text(row) for row in free if row["case"]["method"] == line[0]]
        line.append("; ".join(text for text in own if text))
    header = ["metric", "seeds", "CCA mean", "CCA median", "FD", "1st", "2nd", "found"]
    lines += table(header, cells)
    if tied:
        lines += ["", "## Controls that are no products", ""]
        cells = [
            [
                row["case"]["light"],
                row["case"]["method"],
                str(row["case"]["seed"]),
                _dims_text(row),
                *(f"{row.get(key, float('nan')):.3f}" for key in ("first", "second")),
            ]
            for row in tied
        ]
        lines += table(["light", "metric", "seed", "found", "1st", "2nd"], cells)
    write_markdown(out, lines)
    plots.save_figure(draw(free, preset), out / "angles.png")


def _dims_text(row: Row) -> str:
    if "found" not in row:
        return ""
    doubt = ", doubted" if row.get("uncertain") else ""
    return (" + ".join(map(str, row["found"])) or "refused") + doubt


def draw(rows: list[Row], preset: str) -> Any:
    """Both angles of every metric, a dot a seed."""
    methods = list(dict.fromkeys(row["case"]["method"] for row in rows))
    axis = plots.new_axis(7.2, 1.2 + 0.42 * len(methods))
    for i, method in enumerate(methods):
        own = [row for row in rows if row["case"]["method"] == method]
        for key, marker, color, lift in [("cca", "o", 0, -0.12), ("fd", "s", 1, 0.12)]:
            values = [row[key] for row in own if key in row]
            axis.plot(
                values,
                [i + lift] * len(values),
                marker,
                ms=6,
                alpha=0.8,
                color=FACTOR_COLORS[color],
            )
    for key, marker, color in [
        ("unaligned (CCA), as published", "o", 0),
        ("with displacements through the encoder", "s", 1),
    ]:
        axis.plot([], [], marker, color=FACTOR_COLORS[color], label=key)
    axis.axvline(0.25, color="#8a8a8a", lw=0.8, ls=":")
    axis.set_yticks(range(len(methods)), methods)
    axis.invert_yaxis()
    axis.set_xlim(-0.03, np.pi / 2 + 0.03)
    axis.set_xlabel("mean angle to the true factors (radians); dotted: .25")
    axis.set_title(f"Rotation x light, preset {preset}", loc="left", fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1.06), ncols=2)
    return axis


def run(preset: str, out: Path) -> bool:
    return run_preset(preset, out, PRESETS, plan, run_case, write)


def main(arguments: Sequence[str] | None = None) -> int:
    return main_of(__doc__, PRESETS, OUT, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
