"""Soft ranks, soft sorting, and their exact vector-Jacobian products.

Ranks are the solution of a linear program over the permutahedron of (1, ..., n). Adding a strongly
convex term makes the solution differentiable (Blondel, Teboul, Berthet, Djolonga 2020): with
regularisation "l2",

    soft_rank(x) = argmin over the permutahedron of |r - x / strength|^2 / 2,

and with "kl" the same projection in relative entropy, onto the ranks' logarithms. As the strength
falls to 0 the soft ranks are the ranks, ties averaged; as it grows, l2 ranks become the values
themselves, centred and scaled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import (
    InputError,
    check_choice,
    check_finite,
    check_numeric,
    check_real,
    to_numpy,
)
from geodis.base.jobs import njit

Regularization = Literal["l2", "kl"]

Vjp = Callable[[np.ndarray], np.ndarray]


def soft_rank(values: Any, strength: float = 1.0, regularization: Regularization = "l2") -> Any:
    """Compute ranks 1..n of values, smallest first, that change smoothly with the values.

    Parameters
    ----------
    values : array-like or torch tensor of shape (..., n)
        Each row along the last axis is ranked. Equal values get equal ranks.
    strength : float
        Strength of smoothing, in units of the values: with l2, values that are further than
        `strength` from their neighbours have their exact ranks. See `relative_strength` for a
        choice that does not depend on the scale of the values.
    regularization : {"l2", "kl"}

    Returns
    -------
    ndarray of float64, or tensor of the given floating dtype, shape (..., n)
        A tensor has a gradient. CUDA tensors use torchsort if it is installed (for l2 only,
        because the gradient of its kl is NaN at small strengths).

    See Also
    --------
    soft_rank_vjp : the same on arrays, with the vector-Jacobian product.

    Examples
    --------
    >>> soft_rank([0.3, 5.0, 0.1], strength=0.1)
    array([2., 3., 1.])
    >>> soft_rank([0.3, 5.0, 0.1], strength=1.0)
    array([1.6, 3. , 1.4])
    """
    return _on_arrays_or_tensors(soft_rank_vjp, values, strength, regularization)


def soft_sort(values: Any, strength: float = 1.0, regularization: Regularization = "l2") -> Any:
    """Sort values in ascending order, smoothly in the values.

    As the strength falls to 0 this is the sorted row; l2 results differ from it where consecutive
    values are further than 1 / strength apart.

    Parameters
    ----------
    values : array-like or torch tensor of shape (..., n)
    strength : float
    regularization : {"l2", "kl"}

    Returns
    -------
    ndarray of float64, or tensor of the dtype given, shape (..., n)

    Examples
    --------
    >>> soft_sort([0.3, 5.0, 0.1], strength=0.1)
    array([0.1, 0.3, 5. ])
    """
    return _on_arrays_or_tensors(soft_sort_vjp, values, strength, regularization)


def soft_rank_vjp(
    values: Any, strength: float = 1.0, regularization: Regularization = "l2"
) -> tuple[np.ndarray, Vjp]:
    """Compute soft ranks r of an array, and the function g -> (dr/dx)^T g.

    Parameters
    ----------
    values, strength, regularization
        As in `soft_rank`; arrays only.

    Returns
    -------
    ranks : ndarray of float64, shape (..., n)
    vjp : callable
        Maps an array of that shape to one. Where the derivative does not exist it is one-sided.

    Examples
    --------
    >>> ranks, vjp = soft_rank_vjp([0.3, 5.0, 0.1])
    >>> vjp(np.array([1.0, 1.0, 0.0]))
    array([ 0.5,  0. , -0.5])
    """
    rows, shape = _checked_rows(values, strength, regularization)
    order = np.argsort(rows, axis=1)
    ranks, sizes = np.empty_like(rows), np.empty(rows.shape, np.int64)
    forward = rank_l2 if regularization == "l2" else rank_kl
    forward(rows, order, strength, ranks, sizes)

    def vjp(gradient: np.ndarray) -> np.ndarray:
        gradient = np.ascontiguousarray(gradient, float).reshape(rows.shape)
        out = np.empty_like(rows)
        weights = np.ones_like(rows) if regularization == "l2" else ranks
        rank_vjp(gradient, order, sizes, weights, strength, out)
        return out.reshape(shape)

    return ranks.reshape(shape), vjp


def soft_sort_vjp(
    values: Any, strength: float = 1.0, regularization: Regularization = "l2"
) -> tuple[np.ndarray, Vjp]:
    """Compute the soft sort s of an array, and the function g -> (ds/dx)^T g.

    Examples
    --------
    >>> ordered, vjp = soft_sort_vjp([0.3, 5.0, 0.1], strength=0.1)
    >>> vjp(np.array([1.0, 0.0, 0.0]))
    array([0., 0., 1.])
    """
    rows, shape = _checked_rows(values, strength, regularization)
    order = np.argsort(rows, axis=1)
    result, sizes = np.empty_like(rows), np.empty(rows.shape, np.int64)
    shares = np.empty_like(rows)
    if regularization == "l2":
        sort_l2(rows, order, strength, result, sizes)
    else:
        sort_kl(rows, order, strength, result, shares, sizes)

    def vjp(gradient: np.ndarray) -> np.ndarray:
        gradient = np.ascontiguousarray(gradient, float).reshape(rows.shape)
        out = np.empty_like(rows)
        if regularization == "l2":
            sort_l2_vjp(gradient, order, sizes, out)
        else:
            sort_kl_vjp(gradient, order, sizes, shares, out)
        return out.reshape(shape)

    return result.reshape(shape), vjp


def _on_arrays_or_tensors(
    operation: Callable, values: Any, strength: float, regularization: Regularization
) -> Any:
    if hasattr(values, "detach"):
        from geodis.kernels.spearman import apply_to_tensor

        _check_options(strength, regularization)
        return apply_to_tensor(operation, values, strength, regularization)
    return operation(values, strength, regularization)[0]


def _check_options(strength: float, regularization: Regularization) -> None:
    check_choice(regularization, "regularization", get_args(Regularization))
    if check_real(strength, "strength") <= 0:
        raise InputError(f"strength must be positive; got {strength}.")


def _checked_rows(
    values: Any, strength: float, regularization: Regularization
) -> tuple[np.ndarray, tuple[int, ...]]:
    """Check values and return them as contiguous float64 rows (rows, n), with their shape."""
    _check_options(strength, regularization)
    array = check_numeric(to_numpy(values, "values"), "values")
    if array.ndim == 0 or array.size == 0:
        raise InputError(f"values must have shape (..., n) with n >= 1; got shape {array.shape}.")
    rows = np.ascontiguousarray(array, float).reshape(-1, array.shape[-1])
    return check_finite(rows, "values"), array.shape


# Pooling of adjacent values, in one pass over a sorted row
#
# Projection onto the permutahedron reduces to isotonic regression (Blondel et al. 2020, proposition
# 3), whose solution is constant on blocks of neighbours. Here a is a row in ascending order and w
# are the ranks 1..n, or the same divided by the strength. The output is the result on each block,
# and the length of each block at its first index, which the vector-Jacobian product needs.
#
# Values enter only as differences within a block, so that neither a large offset nor a large ratio
# of range to strength loses precision or overflows.


@njit(cache=True)
def _pool_means(a, threshold, ranking, start, mean):  # type: ignore[no-untyped-def]
    """Pool a row into blocks; store the first index and mean of each, and return their number.

    The mean index of a block from s to t is (s + t) / 2. Two blocks are pooled if the difference of
    their means is at most `threshold` times the difference of their mean indices (ranking), or at
    least that (sorting).
    """
    n = len(a)
    top = -1
    for i in range(n):
        first, end, value = i, i + 1, a[i]
        while top >= 0:
            rise = value - mean[top]
            needed = threshold * 0.5 * (end - start[top])  # difference of the mean indices
            if (rise > needed) if ranking else (rise < needed):
                break
            length, before = end - first, first - start[top]
            value -= rise * (before / (length + before))
            first = start[top]
            top -= 1
        top += 1
        start[top] = first
        mean[top] = value
    return top + 1


@njit(cache=True)
def rank_l2(values, order, strength, ranks, sizes):  # type: ignore[no-untyped-def]
    """Compute soft ranks of every row: mean rank of its block + (a - block mean) / strength."""
    rows, n = values.shape
    start, mean = np.empty(n, np.int64), np.empty(n)
    for row in range(rows):
        a = values[row][order[row]]
        count = _pool_means(a, strength, True, start, mean)
        for block in range(count):
            first = start[block]
            end = start[block + 1] if block + 1 < count else n
            sizes[row, first] = end - first
            middle = 0.5 * (first + end + 1)  # ranks first + 1 to end
            if end - first == 1:
                ranks[row, order[row, first]] = middle
                continue
            for i in range(first, end):
                ranks[row, order[row, i]] = middle + (a[i] - mean[block]) / strength


@njit(cache=True)
def sort_l2(values, order, strength, result, sizes):  # type: ignore[no-untyped-def]
    """Compute the soft sort of every row: block mean + (index - mean index) / strength."""
    rows, n = values.shape
    start, mean = np.empty(n, np.int64), np.empty(n)
    for row in range(rows):
        a = values[row][order[row]]
        count = _pool_means(a, 1.0 / strength, False, start, mean)
        for block in range(count):
            first = start[block]
            end = start[block + 1] if block + 1 < count else n
            sizes[row, first] = end - first
            middle = 0.5 * (first + end - 1)
            for i in range(first, end):
                result[row, i] = mean[block] + (i - middle) / strength


@njit(cache=True)
def sort_l2_vjp(gradient, order, sizes, out):  # type: ignore[no-untyped-def]
    """Compute the mean of g in every block."""
    rows, n = gradient.shape
    for row in range(rows):
        first = 0
        while first < n:
            size = sizes[row, first]
            mean = gradient[row, first : first + size].sum() / size
            for i in range(first, first + size):
                out[row, order[row, i]] = mean
            first += size


@njit(cache=True)
def rank_kl(values, order, strength, ranks, sizes):  # type: ignore[no-untyped-def]
    """Compute soft ranks of every row: the sum of the ranks of a block times softmax(a).

    The value of a block is log sum exp(a / strength) - log(sum of its ranks); blocks are pooled
    until values increase. Sums of exponentials are relative to the last, largest entry of a block.
    """
    rows, n = values.shape
    start, total = np.empty(n, np.int64), np.empty(n)
    for row in range(rows):
        a = values[row][order[row]]
        top = -1
        for i in range(n):
            first, acc = i, 1.0
            while top >= 0:
                rise = (a[i] - a[first - 1]) / strength  # between the largest entries
                ranks_here = 0.5 * (i + 1 - first) * (first + i + 2)
                ranks_before = 0.5 * (first - start[top]) * (start[top] + first + 1)
                ratio = np.log(acc / total[top] * (ranks_before / ranks_here))
                if rise + ratio > 0:
                    break
                acc += total[top] * np.exp(-rise)
                first = start[top]
                top -= 1
            top += 1
            start[top] = first
            total[top] = acc
        for block in range(top + 1):
            first = start[block]
            end = start[block + 1] if block < top else n
            sizes[row, first] = end - first
            share = 0.5 * (end - first) * (first + end + 1) / total[block]
            for i in range(first, end):
                ranks[row, order[row, i]] = share * np.exp((a[i] - a[end - 1]) / strength)


@njit(cache=True)
def rank_vjp(gradient, order, sizes, weights, strength, out):  # type: ignore[no-untyped-def]
    """Compute w (g - mean of g weighted by w) / strength in every block.

    The weights w are the soft ranks for "kl", and 1 for "l2".
    """
    rows, n = gradient.shape
    for row in range(rows):
        first = 0
        while first < n:
            size = sizes[row, first]
            if size == 1:
                out[row, order[row, first]] = 0.0
                first += 1
                continue
            mean, weight = 0.0, 0.0
            for i in range(first, first + size):
                j = order[row, i]
                mean += gradient[row, j] * weights[row, j]
                weight += weights[row, j]
            mean /= weight
            for i in range(first, first + size):
                j = order[row, i]
                out[row, j] = weights[row, j] * (gradient[row, j] - mean) / strength
            first += size


@njit(cache=True)
def _log_sum_steps(length, step):  # type: ignore[no-untyped-def]
    """Compute log(1 + exp(-step) + ... + exp(-(length - 1) step))."""
    if length == 1:
        return 0.0
    return np.log(np.expm1(-length * step) / np.expm1(-step))


@njit(cache=True)
def sort_kl(values, order, strength, result, shares, sizes):  # type: ignore[no-untyped-def]
    """Compute the soft sort of every row: log sum exp(w) - w - log sum exp(-a) in its block.

    `shares` receives softmax(-a) of each block, in sorted order, for the vector-Jacobian product.
    """
    rows, n = values.shape
    start, total = np.empty(n, np.int64), np.empty(n)
    step = 1.0 / strength
    for row in range(rows):
        a = values[row][order[row]]
        top = -1
        for i in range(n):
            first, acc = i, 1.0  # sums of exp(-a) relative to the first, smallest entry
            while top >= 0:
                before = start[top]
                rise = a[first] - a[before]
                fall = (
                    (first - before) * step
                    + _log_sum_steps(first - before, step)
                    - _log_sum_steps(i + 1 - first, step)
                )
                if rise + np.log(total[top] / acc) < fall:
                    break
                acc = total[top] + acc * np.exp(-rise)
                first = before
                top -= 1
            top += 1
            start[top] = first
            total[top] = acc
        for block in range(top + 1):
            first = start[block]
            end = start[block + 1] if block < top else n
            sizes[row, first] = end - first
            value = a[first] + _log_sum_steps(end - first, step) - np.log(total[block])
            for i in range(first, end):
                result[row, i] = value + (i - first) * step
                shares[row, i] = np.exp(a[first] - a[i]) / total[block]


@njit(cache=True)
def sort_kl_vjp(gradient, order, sizes, shares, out):  # type: ignore[no-untyped-def]
    """Compute softmax(-a) times the sum of g in every block."""
    rows, n = gradient.shape
    for row in range(rows):
        first = 0
        while first < n:
            size = sizes[row, first]
            total = gradient[row, first : first + size].sum()
            for i in range(first, first + size):
                out[row, order[row, i]] = shares[row, i] * total
            first += size
