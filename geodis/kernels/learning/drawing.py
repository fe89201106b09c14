"""Which pairs of images a loss learns from, and over which factors their distances count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, to_numpy
from geodis.data.factors import FactorKind
from geodis.data.grids.grid import FactorGrid
from geodis.distances.factor_distances import ground_truth
from geodis.distances.sampling import sample_pairs
from geodis.kernels.learning.loss_options import Strategy


def as_grid(grid: Any, factors: Any) -> FactorGrid:
    """A grid as it is, or arrays of images with their factors as one."""
    if isinstance(grid, FactorGrid):
        if factors is not None:
            raise InputError("factors belong to an array of images; a grid knows its own.")
    elif factors is None:
        raise InputError("An array of images needs factors, one row an image; got none.")
    else:
        grid = FactorGrid.from_arrays(grid, factors)
    if grid.image_shape is None:
        raise InputError("Images are needed here; got factors without images.")
    if max(grid.image_shape[:2]) < 2:
        raise InputError(
            "A loss is learnt from pixels beside each other, and needs images of more than one; "
            "got images of 1 x 1."
        )
    if len(grid) < 2:
        raise InputError(f"Learning distances needs at least 2 images; got {len(grid)}.")
    return grid


def counted_factors(grid: FactorGrid, only: int | str | Sequence[int | str] | None) -> list[int]:
    """Numbers of the factors that distances are counted over."""
    if isinstance(only, (int, str)):
        only = [only]
    chosen = (
        list(range(len(grid.sizes)))
        if only is None
        else sorted({grid.factor_number(factor) for factor in only})
    )
    if not any(grid.sizes[j] > 1 for j in chosen):
        names = ", ".join(grid.names[j] for j in chosen) or "none"
        raise InputError(f"Distances need a factor with two values or more; got {names}.")
    return chosen


def target_distances(
    grid: FactorGrid, pairs: np.ndarray, columns: list[int], kinds: Sequence[FactorKind]
) -> np.ndarray:
    """Scaled ground-truth distances of pairs over some factors (5.11): float64 (n,).

    Each factor counts as the kind that is given for it.
    """
    left, right = (grid.factors(side)[:, columns] for side in pairs.T)
    sizes, periods = np.array([grid.sizes, grid.periods])[:, columns]
    target = ground_truth(left, right, sizes, kinds=kinds, periods=periods)
    if np.ptp(target) == 0:
        raise InputError(
            f"Ranks need pairs at different distances; all {len(pairs)} pairs have the "
            f"ground-truth distance {target[0]:g}."
        )
    return np.asarray(target, float)


def draw_pairs(
    grid: FactorGrid, n: int, by: Strategy, self_pairs: bool, rng: np.random.Generator
) -> np.ndarray:
    """Pairs (n, 2) by a strategy of `sample_pairs`, several in equal shares, or a function."""
    if callable(by):
        pairs = to_numpy(by(grid, n, rng), "pairs")
        if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) < 2:
            raise InputError(f"by must return pairs of shape (n, 2); got shape {pairs.shape}.")
        for side in pairs.T:
            grid.factors(side)  # refuses what is no index of the grid
        return pairs.astype(np.int64)
    ways = [by] if isinstance(by, str) else list(by)
    if not ways:
        raise InputError("by must name a strategy, or several; got none.")
    shares = [len(part) for part in np.array_split(np.empty(n), len(ways))]
    drawn = [
        # A pair of an image with itself has no place among pairs that differ in k factors.
        sample_pairs(
            grid, share, way, self_pairs=self_pairs and way != "differing", random_state=rng
        )
        for way, share in zip(ways, shares, strict=True)
        if share
    ]
    return rng.permutation(np.concatenate(drawn))


def pairs_among_few(
    grid: FactorGrid, n: int, images: int, by: Strategy, self_pairs: bool, rng: np.random.Generator
) -> np.ndarray:
    """At most n pairs that share at most so many images."""
    check_int(images, "images", low=2)
    if by != "random":
        return draw_pairs(grid, min(n, images // 2), by, self_pairs, rng)
    few = rng.choice(len(grid), size=min(images, len(grid)), replace=False)
    count = min(n, len(few) * (len(few) - 1) // 2)
    first, second = np.triu_indices(len(few), 0 if self_pairs else 1)
    chosen = rng.choice(len(first), size=count, replace=False)
    return few[np.stack([first[chosen], second[chosen]], axis=1)]
