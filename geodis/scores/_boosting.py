"""Gradient boosted trees of depth three on binned latents: importances and predictions, fast.

Friedman (2001), algorithms 3, 5 and 6, with the settings behind published DCI scores: 100 stages,
learning rate .1, depth 3, one tree a class and stage. Splits are searched between the bins of a
histogram instead of between all values; latents with fewer values than bins are split exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

N_STAGES = 100
LEARNING_RATE = 0.1
DEPTH = 3
N_BINS = 256

# Nodes of a full tree in level order: the children of node i are 2i + 1 and 2i + 2.
_N_INNER = 2**DEPTH - 1
_N_NODES = 2 ** (DEPTH + 1) - 1
_SQUARED, _BINARY, _MULTINOMIAL = 0, 1, 2
# Gains this close are equal up to rounding, as those of latents that split rows in the same way.
_TIE = 1e-10
# The curvature of a leaf whose rows are all predicted with certainty; a step there would be 0/0.
_NO_CURVATURE = 1e-150


@dataclass(frozen=True)
class Boosted:
    """What boosting learnt about one factor.

    Attributes
    ----------
    importance : ndarray of shape (z,)
        Squared error removed by the splits on every latent, over all trees; sums to one, or to
        zero where no tree found a split.
    train, test : ndarray of shape (n,)
        Predicted values: codes of classes, or numbers in a regression.
    """

    importance: np.ndarray
    train: np.ndarray
    test: np.ndarray


def bin_columns(
    train: np.ndarray, test: np.ndarray, n_bins: int = N_BINS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the bins of every column by edges of the training rows alone.

    Edges lie halfway between neighbouring values. A column with more different values than bins
    gets bins of about as many rows each.

    Returns
    -------
    train, test : ndarray of uint16, shape (z, n)
        A latent a row, since histograms are filled latent by latent.
    counts : ndarray of int64, shape (z,)
        Bins of every latent.

    Examples
    --------
    >>> codes, _, counts = bin_columns(np.array([[0.0], [2.0], [2.0], [4.0]]), np.zeros((1, 1)))
    >>> codes.tolist(), counts.tolist()
    ([[0, 1, 1, 2]], [3])
    """
    n, z = train.shape
    codes = np.empty((z, n), np.uint16)
    others = np.empty((z, len(test)), np.uint16)
    counts = np.ones(z, np.int64)
    even = np.arange(1, n_bins) * n // n_bins
    for j in range(z):
        ordered = np.sort(train[:, j])
        starts = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1  # where a new value begins
        if len(starts) >= n_bins:
            nearest = np.minimum(np.searchsorted(starts, even), len(starts) - 1)
            starts = np.unique(starts[nearest])
        edges = ordered[starts - 1] + (ordered[starts] - ordered[starts - 1]) / 2
        codes[j] = np.searchsorted(edges, train[:, j])
        others[j] = np.searchsorted(edges, test[:, j])
        counts[j] += len(edges)
    return codes, others, counts


def boost(
    train: np.ndarray,
    test: np.ndarray,
    counts: np.ndarray,
    target: np.ndarray,
    *,
    regression: bool = False,
    n_stages: int = N_STAGES,
) -> Boosted:
    """Boost trees that predict a factor from binned latents.

    Parameters
    ----------
    train, test, counts
        From `bin_columns`.
    target : ndarray of shape (n_train,)
        Codes of classes, or numbers when `regression`.

    Returns
    -------
    Boosted

    Examples
    --------
    >>> latents = np.array([[0.0, 5.0], [0.1, 5.0], [0.9, 5.0], [1.0, 5.0]])
    >>> codes, _, counts = bin_columns(latents, latents)
    >>> found = boost(codes, codes, counts, np.array([0, 0, 1, 1]))
    >>> found.importance, found.test
    (array([1., 0.]), array([0, 0, 1, 1]))
    """
    if regression:
        classes, codes = np.zeros(1), np.zeros(len(target), np.int64)
        values, start, loss = target.astype(float)[None], np.array([target.mean()]), _SQUARED
    else:
        classes, codes = np.unique(target, return_inverse=True)
        share = np.bincount(codes) / len(codes)
        if len(classes) == 1:
            everywhere = np.full(len(target), classes[0]), np.full(test.shape[1], classes[0])
            return Boosted(np.zeros(len(counts)), *everywhere)
        if len(classes) == 2:
            values, loss = (codes == 1).astype(float)[None], _BINARY
            start = np.array([np.log(share[1] / share[0])])
        else:
            values = (codes == np.arange(len(classes))[:, None]).astype(float)
            start, loss = np.log(share), _MULTINOMIAL
    gains, raw, raw_test = _boost(train, test, counts, values, start, loss, n_stages)
    importance = gains / gains.sum() if gains.sum() > 0 else gains
    if loss == _SQUARED:
        return Boosted(importance, raw[0], raw_test[0])
    if loss == _BINARY:
        return Boosted(
            importance, classes[(raw[0] > 0).astype(int)], classes[(raw_test[0] > 0).astype(int)]
        )
    return Boosted(importance, classes[raw.argmax(axis=0)], classes[raw_test.argmax(axis=0)])


@njit(cache=True, nogil=True)
def _boost(
    train: np.ndarray,
    test: np.ndarray,
    counts: np.ndarray,
    values: np.ndarray,
    start: np.ndarray,
    loss: int,
    n_stages: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gains (z,), raw predictions of the training rows (k, n) and of the test rows."""
    k, n = values.shape
    z, n_test = test.shape
    raw = np.empty((k, n))
    raw_test = np.empty((k, n_test))
    for c in range(k):
        raw[c] = start[c]
        raw_test[c] = start[c]
    gains = np.zeros(z)
    chance = np.empty((k, n))
    residual = np.empty((k, n))
    # Residuals and rows side by side: filling a bin touches one place in memory.
    bins = np.zeros((_N_INNER, z, counts.max(), 2))
    rows, spare = np.empty(n, np.uint32), np.empty(n, np.uint32)
    gathered = np.empty(n)
    everyone = np.arange(n).astype(np.uint32)
    gain, at = np.empty(z), np.empty(z, np.int64)
    latent, edge = np.empty(_N_NODES, np.int64), np.empty(_N_NODES, np.int64)
    first, last = np.empty(_N_NODES, np.int64), np.empty(_N_NODES, np.int64)
    step = np.empty(_N_NODES)
    _fill(train, counts, everyone, 0, n, values[0], gathered, bins[0])
    for _ in range(n_stages):
        _residuals(raw, values, loss, chance, residual)
        for c in range(k):
            rows[:] = everyone
            _refill(train, counts, residual[c], bins[0])
            _grow(
                train, counts, residual[c], rows, spare, gathered, gain, at, bins,
                latent, edge, first, last, gains,
            )  # fmt: skip
            for node in range(_N_NODES):
                if latent[node] != -1:  # not a leaf
                    continue
                up, down = 0.0, 0.0
                for s in range(first[node], last[node]):
                    i = rows[s]
                    up += residual[c, i]
                    down += chance[c, i] * (1 - chance[c, i]) if loss != _SQUARED else 1.0
                if loss == _MULTINOMIAL:
                    up *= (k - 1) / k
                step[node] = LEARNING_RATE * up / down if abs(down) > _NO_CURVATURE else 0.0
                for s in range(first[node], last[node]):
                    raw[c, rows[s]] += step[node]
            for i in range(n_test):
                node = 0
                while latent[node] != -1:
                    node = 2 * node + 1 + (test[latent[node], i] > edge[node])
                raw_test[c, i] += step[node]
    return gains, raw, raw_test


@njit(cache=True, nogil=True)
def _residuals(
    raw: np.ndarray, values: np.ndarray, loss: int, chance: np.ndarray, residual: np.ndarray
) -> None:
    """Negative gradient of the loss, and the probabilities that it is made of."""
    k, n = raw.shape
    if loss == _SQUARED:
        residual[:] = values - raw
    elif loss == _BINARY:
        for i in range(n):
            chance[0, i] = 1 / (1 + np.exp(-raw[0, i]))
            residual[0, i] = values[0, i] - chance[0, i]
    else:
        top = raw[0].copy()
        for c in range(1, k):
            for i in range(n):
                top[i] = max(top[i], raw[c, i])
        total = np.zeros(n)
        for c in range(k):
            for i in range(n):
                chance[c, i] = np.exp(raw[c, i] - top[i])
                total[i] += chance[c, i]
        for c in range(k):
            for i in range(n):
                chance[c, i] /= total[i]
                residual[c, i] = values[c, i] - chance[c, i]


@njit(cache=True, nogil=True)
def _grow(
    train: np.ndarray,
    counts: np.ndarray,
    residual: np.ndarray,
    rows: np.ndarray,
    spare: np.ndarray,
    gathered: np.ndarray,
    gain: np.ndarray,
    at: np.ndarray,
    bins: np.ndarray,
    latent: np.ndarray,
    edge: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    gains: np.ndarray,
) -> None:
    """One tree. `latent` is -1 at a leaf and -2 where there is no node; rows end sorted by leaf."""
    latent[:] = -2
    latent[0], first[0], last[0] = -1, 0, len(rows)
    for node in range(_N_INNER):
        if latent[node] == -2:
            continue
        most, j = _best_split(counts, bins[node], gain, at)
        if j == -1:
            continue
        b = at[j]
        latent[node], edge[node] = j, b
        # Latents that split equally well share the gain: no order of latents, no chance decides.
        tied = gain >= most * (1 - _TIE)
        gains += most / tied.sum() * tied
        middle = _partition(train[j], b, rows, spare, first[node], last[node])
        left, right = 2 * node + 1, 2 * node + 2
        latent[left], first[left], last[left] = -1, first[node], middle
        latent[right], first[right], last[right] = -1, middle, last[node]
        if left >= _N_INNER:
            continue
        # The larger child is what the smaller one leaves of its parent.
        small, large = left, right
        if last[left] - first[left] > last[right] - first[right]:
            small, large = right, left
        _fill(train, counts, rows, first[small], last[small], residual, gathered, bins[small])
        for f in range(len(counts)):
            whole, part, remains = bins[node, f], bins[small, f], bins[large, f]
            for c in range(counts[f]):
                remains[c, 0] = whole[c, 0] - part[c, 0]
                remains[c, 1] = whole[c, 1] - part[c, 1]


@njit(cache=True, nogil=True)
def _best_split(
    counts: np.ndarray, bins: np.ndarray, gain: np.ndarray, at: np.ndarray
) -> tuple[float, int]:
    """The largest gain and a latent that has it; gain of every latent, and last bin on the left.

    A split into n_l and n_r rows with residual sums s_l and s_r removes
    ``(s_l n - s n_l)^2 / (n_l n_r n)`` of squared error. The latent is -1 where no split is.
    """
    total, n = 0.0, 0.0
    for b in range(counts[0]):
        total += bins[0, b, 0]
        n += bins[0, b, 1]
    most, chosen = 0.0, -1
    for j in range(len(counts)):
        here = bins[j]
        best, bar, place = -1.0, -1.0, -1
        left, n_left = 0.0, 0.0
        for b in range(counts[j] - 1):
            if here[b, 1] == 0:
                continue
            left += here[b, 0]
            n_left += here[b, 1]
            if n_left == n:
                break
            gap = left * n - total * n_left
            square, scale = gap * gap, n_left * (n - n_left)
            if square > bar * scale:  # a division a bin would take most of the time
                best, place = square / scale, b
                bar = best * (1 + _TIE)
        gain[j], at[j] = best / n, place
        if place != -1 and (chosen == -1 or gain[j] > most * (1 + _TIE)):
            most, chosen = gain[j], j
    return most, chosen


@njit(cache=True, nogil=True)
def _partition(
    codes: np.ndarray, b: int, rows: np.ndarray, spare: np.ndarray, start: int, stop: int
) -> int:
    """Move rows with bins up to b to the front of their node; return where the others begin."""
    middle, n_right = start, 0
    for s in range(start, stop):
        i = rows[s]
        if codes[i] <= b:
            rows[middle] = i
            middle += 1
        else:
            spare[n_right] = i
            n_right += 1
    rows[middle:stop] = spare[:n_right]
    return middle


@njit(cache=True, nogil=True)
def _fill(
    codes: np.ndarray,
    counts: np.ndarray,
    rows: np.ndarray,
    start: int,
    stop: int,
    residual: np.ndarray,
    gathered: np.ndarray,
    bins: np.ndarray,
) -> None:
    """Histogram of one node: residuals and rows in every bin of every latent."""
    chosen, values = rows[start:stop], gathered[: stop - start]
    for s in range(len(chosen)):
        values[s] = residual[chosen[s]]
    for j in range(len(counts)):
        column, here = codes[j], bins[j]
        here[: counts[j]] = 0.0
        for s in range(len(chosen)):
            b = column[chosen[s]]
            here[b, 0] += values[s]
            here[b, 1] += 1.0


@njit(cache=True, nogil=True)
def _refill(codes: np.ndarray, counts: np.ndarray, residual: np.ndarray, bins: np.ndarray) -> None:
    """Residuals in every bin at the root, whose rows stay the same."""
    for j in range(len(counts)):
        column, here = codes[j], bins[j]
        here[: counts[j], 0] = 0.0
        for i in range(len(residual)):
            here[column[i], 0] += residual[i]
