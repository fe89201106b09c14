"""Pooling adjacent values, in one pass over a sorted row: the solver below soft ranks and sorts.

Projection onto the permutahedron reduces to isotonic regression (Blondel et al. 2020, proposition
3), whose solution is constant on blocks of neighbours. Here a row a comes sorted ascending, w are
the ranks 1..n or the same divided by the strength, and what leaves are the results on each block
and the length of every block, written at its first place: all that the exact vector-Jacobian
product needs.

Values only ever enter as differences within a block, so that neither a large offset nor a large
range over strength costs digits or overflows.
"""

from __future__ import annotations

import numpy as np

from geodis.base.compiled import njit


@njit(cache=True)
def _pool_means(a, threshold, ranking, start, mean):  # type: ignore[no-untyped-def]
    """Stack of blocks of a row: first place and mean of each; returns their number.

    The mean place of a block that runs from s to t is (s + t) / 2, so that two blocks are told
    apart by the rise of their means against the rise of their mean places: they pool where the
    rise is at most `threshold` a place (ranking) or at least that (sorting).
    """
    n = len(a)
    top = -1
    for i in range(n):
        first, end, value = i, i + 1, a[i]
        while top >= 0:
            rise = value - mean[top]
            needed = threshold * 0.5 * (end - start[top])  # difference of the mean places
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
    """Soft ranks of every row: the mean rank of its block + (a - mean of its block) / strength."""
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
    """Soft sort of every row: the mean of its block + (place - mean place of it) / strength."""
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
    """Per block: mean of g."""
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
    """Soft ranks of every row: the ranks of a block sum to what they did, shared as softmax(a).

    The value of a block is log sum exp(a / strength) - log(sum of its ranks); blocks pool until it
    rises. Sums of exponentials are kept relative to the last, largest entry of a block.
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
    """Per block: w (g - <g> over the block weighted by w) / strength.

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
    """log(1 + exp(-step) + ... + exp(-(length - 1) step))."""
    if length == 1:
        return 0.0
    return np.log(np.expm1(-length * step) / np.expm1(-step))


@njit(cache=True)
def sort_kl(values, order, strength, result, shares, sizes):  # type: ignore[no-untyped-def]
    """Soft sort of every row: log sum exp(w) - w - log sum exp(-a) over its block.

    `shares` gets softmax(-a) over each block, in sorted order, for the vector-Jacobian product.
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
    """Per block: softmax(-a) times the sum of g."""
    rows, n = gradient.shape
    for row in range(rows):
        first = 0
        while first < n:
            size = sizes[row, first]
            total = gradient[row, first : first + size].sum()
            for i in range(first, first + size):
                out[row, order[row, i]] = shares[row, i] * total
            first += size
