"""What pairs a loss learns from, and what distances they should have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from scipy.stats import rankdata

from geodis.base.check import InputError, check_int, check_real, to_numpy
from geodis.data.grids.grid import FactorGrid
from geodis.kernels.ranks.soft_ranks import soft_rank

Strategy = str | Sequence[str] | Callable[[FactorGrid, int, np.random.Generator], Any]

# Strength of soft ranks in standard deviations of the distances. A tenth blends a pair with the
# few per cent nearest to it, enough for a gradient that does not depend on which pairs were drawn;
# from 0.01 to 1 the kernels learnt are the same to 0.0005.
SOFTNESS = 0.1


def as_grid(grid: Any, factors: Any) -> FactorGrid:
    """A grid as it is, or arrays of images with their factors as one."""
    if isinstance(grid, FactorGrid):
        if factors is not None:
            raise InputError("factors belong to an array of images; a grid knows its own.")
    elif factors is None:
        raise InputError("An array of images needs factors, one row an image; none came.")
    else:
        grid = FactorGrid.from_arrays(grid, factors)
    if grid.image_shape is None:
        raise InputError("These factors came without images, and images are needed here.")
    if len(grid) < 2:
        raise InputError(f"Learning distances needs at least 2 images; {len(grid)} came.")
    return grid


def factor_columns(grid: FactorGrid, only: int | str | Sequence[int | str] | None) -> list[int]:
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
        raise InputError(f"Distances need a factor with two values or more; {names} came.")
    return chosen


def require_differences(pixel: torch.Tensor) -> None:
    """Require that images differ in some pair, given mean squared differences."""
    if float(pixel.max()) == 0:
        raise InputError("Every pair has equal images: no loss can tell them apart.")


def check_weight(alpha: Any) -> float:
    """Require a weight of the augmented term that lets it make a difference."""
    if check_real(alpha, "alpha", low=0) == 0:
        raise InputError("alpha must be positive for what is learnt to make a difference; 0 came.")
    return float(alpha)


def target_distances(grid: FactorGrid, pairs: np.ndarray, columns: list[int]) -> np.ndarray:
    """Scaled ground-truth distances of pairs over some factors (5.11): float64 (n,)."""
    from geodis.distances.pairwise import ground_truth

    left, right = (grid.factors(side)[:, columns] for side in pairs.T)
    target = ground_truth(left, right, np.array(grid.sizes)[columns])
    if np.ptp(target) == 0:
        raise InputError(
            f"Ranks need pairs at different distances; all {len(pairs)} pairs have the "
            f"ground-truth distance {target[0]:g}."
        )
    return np.asarray(target, float)


def strategy_name(by: Strategy) -> str | list[str]:
    """What to write down of a strategy."""
    if callable(by):
        return getattr(by, "__name__", type(by).__name__)
    return by if isinstance(by, str) else list(by)


def draw_pairs(
    grid: FactorGrid, n: int, by: Strategy, self_pairs: bool, rng: np.random.Generator
) -> np.ndarray:
    """Pairs (n, 2) by a strategy of `sample_pairs`, several in equal shares, or a function."""
    from geodis.distances.sampling import sample_pairs

    if callable(by):
        pairs = to_numpy(by(grid, n, rng), "pairs")
        if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) < 2:
            raise InputError(f"by must return pairs of shape (n, 2); shape {pairs.shape} came.")
        for side in pairs.T:
            grid._check_index(side)
        return pairs.astype(np.int64)
    ways = [by] if isinstance(by, str) else list(by)
    if not ways:
        raise InputError("by must name a strategy, or several; none came.")
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


class Target:
    """Ground-truth distances of pairs, ready to be correlated with learnt ones.

    Examples
    --------
    >>> target = Target(np.array([1.0, 2.0, 4.0]))
    >>> round(float(target.correlation(torch.tensor([2.0, 4.0, 8.0]), "pearson")), 6)
    1.0
    """

    def __init__(self, distances: np.ndarray) -> None:
        self.distances = distances
        ranks = rankdata(distances)
        self._unit = {"pearson": _unit(distances), "spearman": _unit(ranks)}

    def correlation(self, learnt: torch.Tensor, kind: str) -> torch.Tensor:
        """Pearson's correlation, or Spearman's with soft ranks of what was learnt (6.1)."""
        if kind == "spearman":
            # Floored so that distances that are all equal end in nan, not in an exception.
            strength = max(SOFTNESS * float(learnt.detach().std()), 1e-30)
            learnt = soft_rank(learnt, strength)
        centred = learnt - learnt.mean()
        return (centred * self._unit[kind].to(centred)).sum() / centred.norm()

    def exact(self, learnt: torch.Tensor) -> float:
        """Spearman's correlation, ties averaged."""
        ranks = _unit(rankdata(learnt.detach().cpu().numpy()))
        return float((ranks * self._unit["spearman"]).sum())


def _unit(values: np.ndarray) -> torch.Tensor:
    centred = torch.from_numpy(values - values.mean())
    return centred / centred.norm()
