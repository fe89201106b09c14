"""Pearson and Spearman correlation of two sets of distances, with intervals, and agreement."""

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

# Which distances are equal but for rounding, and how much of a distance is rounding.

# Bits that two distances must share to be the same distance: what a sum over an image leaves of
# the 53 bits of double, and the 24 and 11 of single and half precision. Rounding must not order
# equal distances.
DOUBLE_BITS, SINGLE_BITS, HALF_BITS = 40, 20, 8


def without_rounding(values: np.ndarray, rounding: float = 0.0) -> np.ndarray:
    """Give distances that are equal but for rounding the same value, the least of them.

    Parameters
    ----------
    values : ndarray of shape (n,)
    rounding : float
        How far two equal distances may be apart beside the precision of their dtype.

    Returns
    -------
    ndarray of shape (n,)
        Whole numbers stay as they are.

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
    # By gaps, not on a raster of so many bits: an edge of that may lie between two equal values.
    starts = np.ones(len(ordered), bool)
    starts[1:] = np.diff(ordered) > width[1:]
    first = np.flatnonzero(starts)[np.cumsum(starts) - 1]
    # Where distances lie closer than their rounding all along, they are cut into steps of it.
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.floor((ordered - ordered[first]) / width[first])
    step[~(step > 0)] = 0
    starts[1:] |= np.diff(step) > 0
    tied = np.empty(len(ordered))
    tied[order] = ordered[np.flatnonzero(starts)[np.cumsum(starts) - 1]]
    return tied


def rounding_of_latent(per_latent: np.ndarray, kind: LatentKind) -> float:
    """How far two equal distances of latents may be apart, from the rounding of each latent.

    Four points have a part in it, each with errors of its own in every latent, which add up as
    their squares do: ``4 sqrt(sum_j r_j^2)``. Divergences end in logarithms and quotients of their
    own: for these it is 0, and the precision of their dtype decides.

    Parameters
    ----------
    per_latent : ndarray of shape (z,)
        As `rounding_of` gives it.

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
    """How far two sets of distances agree.

    Attributes
    ----------
    pearson, spearman : float
        Linear and rank correlation, in [-1, 1]; 0 where one side has no two different values.
    n : int
        Number of pairs of distances.
    pearson_interval, spearman_interval : (float, float) or None
        Bootstrap interval, where one was asked for.
    note : str
        Says which side is constant, if one is.
    """

    pearson: float
    spearman: float
    n: int
    pearson_interval: tuple[float, float] | None = None
    spearman_interval: tuple[float, float] | None = None
    note: str = ""

    def __str__(self) -> str:
        """One line for people."""
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

    Leave pairs of a point with itself out. Both of their distances are zero whatever the
    representation, so they pull every correlation up: with the share of them behind published
    numbers, latents that are noise score a rank correlation of 0.39.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        Distances that differ by rounding alone are ties.
    groups : array-like of int, shape (n,), optional
        Pairs with the same number share points, such as those along one traversal: the bootstrap
        draws whole groups. Otherwise it takes pairs to be independent.
    confidence : float, optional
        Such as 0.95: percentile bootstrap intervals.
    n_resamples : int
    rounding : (float, float)
        How far two equal distances of a, and of b, may be apart beside the precision of their
        dtype: `GridDistances.rounding` says it of distances between numbers of lower precision.
    random_state : int, Generator or None
        Of the bootstrap.

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
    """Share of triplets whose two distances are ordered the same way by both sides.

    ``mean [sign(a_near - a_far) = sign(b_near - b_far)]`` over triplets (anchor, near, far).

    Parameters
    ----------
    a_near, a_far, b_near, b_far : array-like of shape (n,)
        Distances from each anchor to its two points, by side a and by side b.
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
        # Together, so that a near and a far distance that are equal are tied to the same value.
        near, far = np.split(without_rounding(np.concatenate([near, far]), width), 2)
        order.append(np.greater(near, far).astype(int) - np.less(near, far))
    if len(order[0]) != len(order[1]) or not len(order[0]):
        raise InputError(
            f"a and b must have as many triplets, at least one; got {len(order[0])} and "
            f"{len(order[1])}."
        )
    return float((order[0] == order[1]).mean())


def geometric_mean(values: Any) -> float:
    """Geometric mean of correlations or ratios (4.3); a value that is not positive makes it 0.

    A factor whose distances run against the others, or are in no order, is not outweighed by
    the rest: the mean is as bad as no correlation at all. (A root of negative products has no
    meaning.)

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
    """Mean ranks of values under any weights, after one sort."""

    def __init__(self, values: np.ndarray) -> None:
        distinct, self._place = np.unique(values, return_inverse=True)
        self._n = len(distinct)

    def __call__(self, weights: np.ndarray) -> np.ndarray:
        """Rank of every value where value i is there weights[i] times."""
        each = np.bincount(self._place, weights, minlength=self._n)
        return (np.cumsum(each) - each / 2)[self._place]  # one half less than ranks from 1


def _pearson(a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> float:
    total = weights.sum()
    a, b = (side / max(np.abs(side).max(), TINY) for side in (a, b))  # squares stay in range
    a = a - a @ weights / total
    b = b - b @ weights / total
    both = np.sqrt((a * a) @ weights) * np.sqrt((b * b) @ weights)
    # A resample may have no two different values on one side.
    return float(np.clip((a * b) @ weights / both, -1, 1)) if both > 0 else 0.0


def _bootstrap(
    a: np.ndarray,
    b: np.ndarray,
    ranks: tuple[_Ranks, _Ranks],
    groups: Any,
    n_resamples: int,
    random_state: Any,
) -> np.ndarray:
    """Pearson and Spearman of resamples, shape (n_resamples, 2)."""
    n_resamples = check_int(n_resamples, "n_resamples", low=1)
    rng = check_random_state(random_state)
    if groups is None:
        group, n_groups = np.arange(len(a)), len(a)
    else:
        names, group = np.unique(to_numpy(groups, "groups"), return_inverse=True)
        if group.shape != a.shape:
            raise InputError(f"groups must have one number a pair, {len(a)}; got {len(group)}.")
        n_groups = len(names)
        if n_groups < 2:  # every resample would be the sample, and the interval a point
            raise InputError(f"Intervals need pairs from at least 2 groups; got {n_groups}.")
    resamples = np.empty((n_resamples, 2))
    for i in range(n_resamples):
        times = np.bincount(rng.integers(n_groups, size=n_groups), minlength=n_groups)
        weights = times[group].astype(float)
        in_order = _pearson(ranks[0](weights), ranks[1](weights), weights)
        resamples[i] = _pearson(a, b, weights), in_order
    return resamples
