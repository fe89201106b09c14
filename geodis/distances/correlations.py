"""Correlation and triplet agreement of two sets of distances, with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import (
    InputError,
    check_finite,
    check_int,
    check_numeric,
    check_random_state,
    check_real,
    to_numpy,
)
from geodis.distances.factor_distances import LatentKind

# Distances that are equal up to rounding, which must be ties in ranks.

# Significant bits of a sum over an image in double, single and half precision, which have 53, 24
# and 11 bits.
DOUBLE_BITS, SINGLE_BITS, HALF_BITS = 40, 20, 8


def without_rounding(values: np.ndarray, rounding: float = 0.0) -> np.ndarray:
    """Replace distances that are equal up to rounding by the smallest of them.

    Parameters
    ----------
    values : ndarray of shape (n,)
    rounding : float
        Largest difference of equal distances, in addition to the precision of their dtype.

    Returns
    -------
    ndarray of shape (n,)
        Integers are unchanged.

    Examples
    --------
    >>> without_rounding(np.array([3.0, 1.0, 1.0 + 1e-15])).tolist()
    [3.0, 1.0, 1.0]
    >>> without_rounding(np.array([3.0, 1.0, 1.1]), rounding=0.2).tolist()
    [3.0, 1.0, 1.0]
    """
    if values.dtype.kind in "iub" or not len(values):
        return values
    bits = {2: HALF_BITS, 4: SINGLE_BITS}.get(values.dtype.itemsize, DOUBLE_BITS)
    order = np.argsort(values, kind="stable")
    ordered = values[order].astype(float)
    width = np.abs(ordered) * 2.0**-bits + rounding
    # Clusters are separated by gaps. Rounding to a grid could separate two equal values.
    starts = np.ones(len(ordered), bool)
    starts[1:] = np.diff(ordered) > width[1:]
    first = np.flatnonzero(starts)[np.cumsum(starts) - 1]
    # Wide clusters without gaps are cut into steps of the rounding error.
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.floor((ordered - ordered[first]) / width[first])
    step[~(step > 0)] = 0
    starts[1:] |= np.diff(step) > 0
    tied = np.empty(len(ordered))
    tied[order] = ordered[np.flatnonzero(starts)[np.cumsum(starts) - 1]]
    return tied


def rounding_of_latent(per_latent: np.ndarray, kind: LatentKind) -> float:
    """Bound the difference of equal distances of latents from the rounding of each latent.

    The errors of four points in every latent add up in squares: ``4 sqrt(sum_j r_j^2)``. For
    divergences the bound is 0, and only the precision of their dtype counts.

    Parameters
    ----------
    per_latent : ndarray of shape (z,)
        Rounding errors from `rounding_of`.

    Examples
    --------
    >>> rounding_of_latent(np.array([3.0, 4.0]), "l2")
    20.0
    """
    largest = per_latent.max(initial=0.0)
    if kind not in ("l1", "l2") or largest == 0:
        return 0.0
    return float(4 * largest * np.linalg.norm(per_latent / largest))


N_RESAMPLES = 1000
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Correlation:
    """Correlation of two sets of distances.

    Attributes
    ----------
    pearson, spearman : float
        Linear and rank correlation, in [-1, 1]; 0 if one side is constant.
    n : int
        Number of pairs of distances.
    pearson_interval, spearman_interval : (float, float) or None
        Bootstrap interval, if requested.
    note : str
        Names a constant side.
    """

    pearson: float
    spearman: float
    n: int
    pearson_interval: tuple[float, float] | None = None
    spearman_interval: tuple[float, float] | None = None
    note: str = ""

    def __str__(self) -> str:
        """Return the correlations in one line."""
        parts = []
        for name in ("pearson", "spearman"):
            interval = getattr(self, f"{name}_interval")
            span = "" if interval is None else f" [{interval[0]:.3f}, {interval[1]:.3f}]"
            parts.append(f"{name} {getattr(self, name):.3f}{span}")
        note = f"; {self.note}" if self.note else ""
        return f"{', '.join(parts)} ({self.n:,} pairs{note})"


def correlation(
    a: Any,
    b: Any,
    *,
    groups: Any = None,
    confidence: float | None = None,
    n_resamples: int = N_RESAMPLES,
    rounding: tuple[float, float] = (0.0, 0.0),
    random_state: Any = None,
) -> Correlation:
    """Correlate two sets of distances between the same pairs of points.

    Pairs of a point with itself should be left out. Both of their distances are always zero, which
    increases every correlation: with the share of such pairs in published numbers, noise has a rank
    correlation of 0.39.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        Distances that are equal up to rounding are ties.
    groups : array-like of int, shape (n,), optional
        Groups of dependent pairs, such as those along one traversal, which the bootstrap resamples
        as a whole. By default pairs are independent.
    confidence : float, optional
        Level of percentile bootstrap intervals, such as 0.95.
    n_resamples : int
    rounding : (float, float)
        Largest difference of equal distances of a and of b, in addition to the precision of their
        dtype, for instance from `GridDistances.rounding`.
    random_state : int, Generator or None
        For the bootstrap.

    Returns
    -------
    Correlation

    Examples
    --------
    >>> print(correlation([1, 2, 3, 4], [1, 4, 9, 16]))
    pearson 0.984, spearman 1.000 (4 pairs)
    >>> print(correlation([1, 2, 3, 4], [5, 5, 5, 5]))
    pearson 0.000, spearman 0.000 (4 pairs; all distances of b are equal: they have no order)
    """
    a, b = _values(a, "a"), _values(b, "b")
    if len(a) != len(b) or len(a) < 2:
        raise InputError(
            f"A correlation needs two lists of at least 2 distances, as long as each other; "
            f"got {len(a)} and {len(b)}."
        )
    tied_a, tied_b = map(without_rounding, (a, b), _check_rounding(rounding))
    sides = [name for name, side in (("a", tied_a), ("b", tied_b)) if (side == side[0]).all()]
    if sides:
        note = f"all distances of {' and '.join(sides)} are equal: they have no order"
        return Correlation(0.0, 0.0, len(a), note=note)
    a, b = a.astype(float), b.astype(float)
    ranks = _Ranks(tied_a), _Ranks(tied_b)
    ones = np.ones(len(a))
    both = _pearson(a, b, ones), _pearson(ranks[0](ones), ranks[1](ones), ones)
    if confidence is None:
        return Correlation(*both, len(a))
    drawn = _bootstrap(a, b, ranks, groups, n_resamples, random_state)
    tail = 50 * (1 - check_real(confidence, "confidence", 0, 1))
    low, high = np.percentile(drawn, [tail, 100 - tail], axis=0)
    linear, rank = ((float(low[k]), float(high[k])) for k in (0, 1))
    return Correlation(*both, len(a), linear, rank)


def triplet_agreement(
    a_near: Any, a_far: Any, b_near: Any, b_far: Any, *, rounding: tuple[float, float] = (0.0, 0.0)
) -> float:
    """Share of triplets whose two distances have the same order on both sides.

    ``mean [sign(a_near - a_far) = sign(b_near - b_far)]`` over triplets (anchor, near, far).

    Parameters
    ----------
    a_near, a_far, b_near, b_far : array-like of shape (n,)
        Distances from each anchor to its two points, on sides a and b.
    rounding : (float, float)
        As for `correlation`.

    Examples
    --------
    >>> triplet_agreement([1, 1, 2], [2, 2, 2], [1, 3, 1], [3, 1, 1])
    0.6666666666666666
    """
    order = []
    widths = _check_rounding(rounding)
    for near, far, name, width in (
        (a_near, a_far, "a", widths[0]),
        (b_near, b_far, "b", widths[1]),
    ):
        near, far = (_values(side, name) for side in (near, far))
        if len(near) != len(far):
            raise InputError(
                f"{name} needs two distances a triplet; got {len(near)} and {len(far)}."
            )
        # Jointly, so that equal near and far distances are ties.
        near, far = np.split(without_rounding(np.concatenate([near, far]), width), 2)
        order.append(np.greater(near, far).astype(int) - np.less(near, far))
    if len(order[0]) != len(order[1]) or not len(order[0]):
        raise InputError(
            f"a and b must have as many triplets, at least one; got {len(order[0])} and "
            f"{len(order[1])}."
        )
    return float((order[0] == order[1]).mean())


def geometric_mean(values: Any) -> float:
    """Geometric mean of correlations or ratios (4.3); 0 if a value is not positive.

    A factor without a positive correlation thus cannot be outweighed by the others.

    Examples
    --------
    >>> geometric_mean([0.25, 1.0]), geometric_mean([0.9, -0.1])
    (0.5, 0.0)
    """
    values = np.asarray(values, float)
    if not len(values) or (values <= 0).any():
        return 0.0
    return float(np.exp(np.log(values).mean()))


def _check_rounding(rounding: Any) -> tuple[float, float]:
    if not isinstance(rounding, tuple) or len(rounding) != 2:
        raise InputError(f"rounding must be two numbers, of a and of b; got {rounding!r}.")
    first, second = (check_real(width, "rounding", low=0) for width in rounding)
    return first, second


def _values(values: Any, name: str) -> np.ndarray:
    array = check_numeric(to_numpy(values, name), name)
    if array.ndim != 1:
        raise InputError(f"{name} must be a list of distances (n,); got shape {array.shape}.")
    return check_finite(array, name)


class _Ranks:
    """Average ranks of values for any weights, with a single sort."""

    def __init__(self, values: np.ndarray) -> None:
        distinct, self._place = np.unique(values, return_inverse=True)
        self._n = len(distinct)

    def __call__(self, weights: np.ndarray) -> np.ndarray:
        """Return the rank of every value if value i occurs weights[i] times."""
        each = np.bincount(self._place, weights, minlength=self._n)
        return (np.cumsum(each) - each / 2)[self._place]  # one half less than ranks from 1


def _pearson(a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> float:
    total = weights.sum()
    a, b = (side / max(np.abs(side).max(), TINY) for side in (a, b))  # squares stay in range
    a = a - a @ weights / total
    b = b - b @ weights / total
    both = np.sqrt((a * a) @ weights) * np.sqrt((b * b) @ weights)
    # A resample may be constant on one side.
    return float(np.clip((a * b) @ weights / both, -1, 1)) if both > 0 else 0.0


def _bootstrap(
    a: np.ndarray,
    b: np.ndarray,
    ranks: tuple[_Ranks, _Ranks],
    groups: Any,
    n_resamples: int,
    random_state: Any,
) -> np.ndarray:
    """Return Pearson's and Spearman's correlation of resamples, shape (n_resamples, 2)."""
    n_resamples = check_int(n_resamples, "n_resamples", low=1)
    rng = check_random_state(random_state)
    if groups is None:
        group, n_groups = np.arange(len(a)), len(a)
    else:
        names, group = np.unique(to_numpy(groups, "groups"), return_inverse=True)
        if group.shape != a.shape:
            raise InputError(f"groups must have one number a pair, {len(a)}; got {len(group)}.")
        n_groups = len(names)
        if n_groups < 2:  # every resample would equal the sample
            raise InputError(f"Intervals need pairs from at least 2 groups; got {n_groups}.")
    resamples = np.empty((n_resamples, 2))
    for i in range(n_resamples):
        times = np.bincount(rng.integers(n_groups, size=n_groups), minlength=n_groups)
        weights = times[group].astype(float)
        in_order = _pearson(ranks[0](weights), ranks[1](weights), weights)
        resamples[i] = _pearson(a, b, weights), in_order
    return resamples
