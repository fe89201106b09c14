"""Data, training and evaluation that the analyses of autoencoders share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import geodis as gd
from geodis import models, scores
from geodis.distances import FactorKinds, distance_correlations
from geodis.models.networks import NetworkChoice
from geodis.models.training.train_options import Precision, Supervision

# Grids up to this size are encoded once, whole.
WHOLE = 6000
BY_FACTOR = "truth of "
KINDS = ", kinds"
TRUE_LATENT, DATA_LATENT, TRUE_DATA = (
    ("ground truth", "latent"),
    ("perceived", "latent"),
    ("ground truth", "perceived"),
)


@dataclass(frozen=True)
class Sizes:
    """What a preset says of training and evaluation."""

    steps: int
    seeds: tuple[int, ...]
    batch_size: int = 256
    latents: int = 9
    network: NetworkChoice = "auto"
    n_pairs: int = 50_000
    n_rows: int = 10_000
    n_traversals: int = 512
    small: bool = False
    precision: Precision = "auto"


@cache
def dataset(name: str, small: bool) -> gd.FactorGrid:
    """A data set by name; small ones have half the sides and fewer combinations.

    The small XYSquares has two squares of 4 pixels on 8 x 8 places 4 pixels apart: as in the
    published one no two places overlap.
    """
    if name == "XYSquares":
        if small:
            return gd.XYSquares(spacing=4, square_size=4, grid_size=8, n_squares=2, image_size=32)
        return gd.XYSquares()
    if name == "XYSquares, spacing 1":
        if small:
            return gd.XYSquares(spacing=1, square_size=4, grid_size=8, n_squares=2, image_size=32)
        return gd.XYSquares(spacing=1)
    if name == "XYObject":
        return gd.XYObject()
    return gd.Sprites(32 if small else 64)


def train_case(
    model: models.Model,
    grid: gd.FactorGrid,
    seed: int,
    sizes: Sizes,
    batch_size: int | None = None,
    supervision: Supervision = "scaled",
    checkpoint: Path | None = None,
) -> models.Training:
    """Train as a preset says."""
    return models.train(
        model,
        grid,
        sizes.steps,
        batch_size=sizes.batch_size if batch_size is None else batch_size,
        options=models.TrainOptions(precision=sizes.precision, supervision=supervision),
        checkpoint=checkpoint,
        random_state=seed,
        verbose=0,
    )


def evaluate(
    model: models.Model, grid: gd.FactorGrid, loss: Any, seed: int, sizes: Sizes
) -> dict[str, float]:
    """Distances, ratios and disentanglement of the latents of a grid.

    Correlations are of Spearman, without pairs of a point with itself, along factors (geometric
    mean) and "random"; "published" has such pairs in, as published tables do. "truth of" a factor
    is that of latent with ground-truth distances along it. All take factors as numbers, as
    published; "kinds", of data sets that have others, takes them as what they are: labels are
    equally far apart, and have no order along the factor, and circles go round.
    """
    code: Any = partial(models.encode, model)
    if len(grid) <= WHOLE:
        code = models.encode(model, grid)
    measures: dict[str, float] = {}
    runs: list[tuple[bool, str, FactorKinds | None]]
    runs = [(False, "", "numbers"), (True, ", published", "numbers")]
    if set(grid.kinds) - {"numbers"}:
        runs.append((False, KINDS, None))
    for self_pairs, suffix, kinds in runs:
        measured = distance_correlations(
            grid,
            code,
            loss,
            n_pairs=sizes.n_pairs,
            kinds=kinds,
            self_pairs=self_pairs,
            random_state=seed,
        )
        for key, name in [(TRUE_LATENT, "truth"), (DATA_LATENT, "data"), (TRUE_DATA, "bound")]:
            measures[f"{name} along factors{suffix}"] = float(measured.overall[key][1])
            measures[f"{name} random{suffix}"] = float(measured.random[key].spearman)
        if not suffix:
            for factor, by in measured.factors.items():
                measures[f"{BY_FACTOR}{factor}"] = float(by[TRUE_LATENT].spearman)
    options: dict[str, Any] = {"n_traversals": sizes.n_traversals, "random_state": seed}
    measures["linearity"] = float(scores.linearity_ratio(code, grid, **options))
    measures["axis"] = float(scores.axis_ratio(code, grid, **options))
    index = np.random.default_rng(seed).choice(len(grid), min(sizes.n_rows, len(grid)), False)
    images = grid.images(index)
    latents, factors = models.encode(model, images), grid.factors(index)
    measures["mig"] = float(scores.mig(latents, factors))
    measures["dci"] = float(scores.dci(latents, factors, random_state=seed))
    decoded = models.reconstruct(model, images[:1000])
    measures["error"] = float(((decoded - images[:1000] / 255.0) ** 2).mean())
    measures["error of the mean image"] = float((images / 255.0).var(axis=0).mean())
    return measures
