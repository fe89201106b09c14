"""Ground-truth distances of factors of any kind: numbers, cyclic, labels with an order or none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias, get_args

import numpy as np

from geodis.base.check import InputError, to_numpy
from geodis.data.factors import FactorKind, Factors
from geodis.distances.pairwise import pair_of_rows

# One kind for all factors, or one for each.
FactorKinds: TypeAlias = FactorKind | Sequence[FactorKind]


def ground_truth(
    factors_a: Any,
    factors_b: Any,
    sizes: Any = None,
    *,
    kinds: FactorKinds | None = None,
    periods: Any = None,
) -> np.ndarray:
    """Distance between factors: ``sum_j d_j(a_j, b_j)`` (3.1), or scaled (5.11).

    By the kind of factor j,

    - *numbers* and *ordered* labels: ``|a - b|``, whose values for labels are their codes;
    - *cyclic*: the shorter way around the circle, ``min(|a - b| mod p, p - |a - b| mod p)``;
    - *labels* without an order: 1 where they differ, for no two are nearer than any others.

    Columns of one factor (`Factors.groups`), as the coordinates of a point on a sphere, are as far
    apart as the point has moved: ``sqrt(sum over its columns of d_j^2)``.

    With sizes f_j, every factor is scaled so that its largest distance is 1: divided by
    ``f_j - 1``, of cyclic factors by ``floor(p_j / 2)``. These sums are made of whole numbers over
    one common denominator and divided once, so that equal distances are equal floats and no order
    is wrong; sums of floats get the order of about one pair in a hundred wrong.

    Parameters
    ----------
    factors_a, factors_b : array-like of shape (n, f), or Factors
        One row a member of a pair; with sizes, integers from 0 to sizes - 1. `Factors` bring their
        kinds, periods and groups; with sizes, columns count one by one, for values are numbered.
    sizes : array-like of shape (f,), optional
        How many values each factor has.
    kinds : {"numbers", "ordered", "cyclic", "labels"}, or sequence of f of them, optional
        Of arrays, "numbers" by default, as published tables take every factor.
    periods : array-like of shape (f,), optional
        Of cyclic factors; with sizes, whole numbers, and the sizes by default. The others are not
        looked at.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> ground_truth([[0, 0]], [[1, 2]])
    array([3.])
    >>> bool(ground_truth([[1, 1]], [[0, 0]], sizes=[8, 8]) == ground_truth([[2, 0]], [[0, 0]],
    ...                                                                     sizes=[8, 8]))
    True
    >>> ground_truth([[0, 350]], [[2, 10]], kinds=("labels", "cyclic"), periods=(0, 360))
    array([21.])
    >>> from geodis.data.factors import as_factors
    >>> point = as_factors([[0.0, 0.0], [3.0, 4.0]], names=["x", "y"], groups={"p": ["x", "y"]})
    >>> ground_truth(point.take([0]), point.take([1]))
    array([5.])
    """
    groups: list[list[int]] = []
    if isinstance(factors_a, Factors) and isinstance(factors_b, Factors):
        _require_same(factors_a, factors_b)
        kinds = factors_a.kinds if kinds is None else kinds
        periods = [factors_a.periods.get(name, 0.0) for name in factors_a.names]
        groups = [
            [factors_a.names.index(name) for name in own] for own in factors_a.groups.values()
        ]
    a, b = pair_of_rows(factors_a, factors_b, "factors")
    each = kinds_of_each(kinds, a.shape[1])
    if sizes is not None:
        counts = _checked_sizes(a, b, to_numpy(sizes, "sizes"))
        around = _checked_periods(counts if periods is None else periods, each)
        if (around != np.round(around)).any():
            raise InputError(f"With sizes, periods must be whole numbers; got {around.tolist()}.")
        return _scaled(a, b, counts, each, around.astype(np.int64))
    around = _checked_periods(periods, each)
    steps = np.abs(a.astype(float) - b.astype(float))
    for j, kind in enumerate(each):
        if kind == "labels":
            steps[:, j] = a[:, j] != b[:, j]
        elif kind == "cyclic":
            steps[:, j] = _around(steps[:, j], around[j])
    for columns in groups:
        largest = np.maximum(steps[:, columns].max(axis=1, initial=0.0), np.finfo(float).tiny)
        length = np.sqrt(((steps[:, columns] / largest[:, None]) ** 2).sum(axis=1)) * largest
        steps[:, columns] = 0.0
        steps[:, columns[0]] = length
    return steps.sum(axis=1)


def kinds_of_each(kinds: FactorKinds | None, count: int) -> tuple[FactorKind, ...]:
    """One kind for each of so many factors.

    Examples
    --------
    >>> kinds_of_each(None, 2), kinds_of_each("cyclic", 1)
    (('numbers', 'numbers'), ('cyclic',))
    """
    known: FactorKind = "numbers"
    if kinds is None or isinstance(kinds, str):
        each: tuple[Any, ...] = ((kinds or known),) * count
    else:
        each = tuple(kinds)
    if len(each) != count or not {*each} <= {*get_args(FactorKind)}:
        raise InputError(
            f"kinds must be {', '.join(get_args(FactorKind))}, one for all or one for each of "
            f"{count} factors; got {kinds!r}."
        )
    return each


def _around(steps: np.ndarray, period: Any) -> np.ndarray:
    """The shorter way around a circle."""
    once = np.mod(steps, period)
    return np.minimum(once, period - once)


def _require_same(a: Factors, b: Factors) -> None:
    for what in ("names", "kinds", "categories", "periods", "groups"):
        first, second = getattr(a, what), getattr(b, what)
        if first != second:
            raise InputError(
                f"Factors must have the same {what} on both sides; got {first} and {second}."
            )


def _checked_periods(periods: Any, kinds: Sequence[FactorKind]) -> np.ndarray:
    if "cyclic" not in kinds:
        return np.zeros(len(kinds))
    each = np.asarray([] if periods is None else to_numpy(periods, "periods"), dtype=float)
    cyclic = np.array([kind == "cyclic" for kind in kinds])
    if each.shape != cyclic.shape or not (each[cyclic] > 0).all():
        raise InputError(
            f"Cyclic factors need periods above 0, one for each of {len(kinds)} factors, or sizes; "
            f"got {each.tolist() if periods is not None else 'none'}."
        )
    return each


def _checked_sizes(a: np.ndarray, b: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    if sizes.shape != (a.shape[1],) or sizes.dtype.kind not in "iu" or (sizes < 1).any():
        raise InputError(
            f"sizes must be {a.shape[1]} whole numbers, one a factor; got {sizes.tolist()}."
        )
    for side in (a, b):
        outside = (side != np.round(side)) | (side < 0) | (side >= sizes)
        if outside.any():
            row, j = np.argwhere(outside)[0]
            raise InputError(
                f"With sizes, factor {j} must hold whole numbers from 0 to {sizes[j] - 1}; "
                f"got {side[row, j]}."
            )
    return sizes


def _scaled(
    a: np.ndarray,
    b: np.ndarray,
    sizes: np.ndarray,
    kinds: Sequence[FactorKind],
    periods: np.ndarray,
) -> np.ndarray:
    steps = np.abs(a.astype(np.int64) - b.astype(np.int64))
    spans = []
    for j, (kind, size) in enumerate(zip(kinds, map(int, sizes), strict=True)):
        if kind == "labels":
            steps[:, j] = steps[:, j] > 0
        elif kind == "cyclic":
            steps[:, j] = _around(steps[:, j], periods[j])
        longest = {"labels": 1, "cyclic": int(periods[j]) // 2}.get(kind, size - 1)
        spans.append(longest if size > 1 else 0)
    denominator = math.lcm(*(span for span in spans if span))
    weights = [denominator // span if span else 0 for span in spans]
    if denominator * len(weights) < np.iinfo(np.int64).max:
        return steps @ np.array(weights, np.int64) / denominator
    exact = steps.astype(object) @ np.array(weights, object)  # sizes whose multiples are huge
    return np.array([numerator / denominator for numerator in exact.tolist()])
