"""Fast gradient boosted trees of depth three on binned latents: importances and predictions.

Friedman (2001), algorithms 3, 5 and 6, with the settings of published DCI scores: 100 stages,
learning rate .1, depth 3, one tree per class and stage. Splits are between the bins of a histogram
instead of between all values; latents with fewer values than bins are split exactly. This is 17
times faster than scikit-learn's `GradientBoostingClassifier` at equal predictions; importances
agree to three digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from geodis.base.jobs import njit

DEPTH = 3
LEARNING_RATE = 0.1

# Nodes of a full tree in level order: the children of node i are 2i + 1 and 2i + 2.
_N_INNER = 2**DEPTH - 1
_N_NODES = 2 ** (DEPTH + 1) - 1
SQUARED, BINARY, MULTINOMIAL = 0, 1, 2

# Relative difference below which gains are equal up to rounding.
_TIE = 1e-10

# Below this curvature all rows of a leaf are predicted with certainty; a step would be 0/0.
_NO_CURVATURE = 1e-150


class Workspace(NamedTuple):
    """Binned latents, and arrays that are reused by all trees."""

    train: np.ndarray  # (z, n) bins of the rows
    counts: np.ndarray  # (z,) bins of each latent
    # Histograms (node, latent, bin) with adjacent sums of residuals and numbers of rows, for memory
    # locality. Those of nodes above the last splits are kept for their children; others are
    # computed for one latent at a time.
    kept: np.ndarray
    passing: np.ndarray
    rows: np.ndarray  # (n,) rows, sorted by node
    spare: np.ndarray  # (n,) for sorting
    gathered: np.ndarray  # (n,) residuals of a node
    gain: np.ndarray  # (node, z) of the best split on each latent
    at: np.ndarray  # (node, z) its last bin on the left
    latent: np.ndarray  # (node,) -1 at a leaf, -2 where there is no node
    edge: np.ndarray  # (node,) last bin on the left
    first: np.ndarray  # (node,) where its rows begin
    last: np.ndarray  # (node,) and end


@njit(cache=True, nogil=True)
def boost_trees(
    train: np.ndarray,
    test: np.ndarray,
    counts: np.ndarray,
    values: np.ndarray,
    raw: np.ndarray,
    raw_test: np.ndarray,
    loss: int,
    n_stages: int,
) -> np.ndarray:
    """Boost raw predictions (k, n) of training and test rows in place; return the gains (z,).

    Loops are used instead of numpy expressions because they compile seconds faster.
    """
    k, n = values.shape
    z, n_test = test.shape
    gains = np.zeros(z)
    chance = np.empty((k, n))
    residual = np.empty((k, n))
    step = np.empty(_N_NODES)
    tree = Workspace(
        train,
        counts,
        np.zeros((_N_INNER // 2, z, counts.max(), 2)),
        np.zeros((_N_INNER, 1, counts.max(), 2)),
        np.empty(n, np.uint32),
        np.empty(n, np.uint32),
        np.empty(n),
        np.empty((_N_INNER, z)),
        np.empty((_N_INNER, z), np.int64),
        np.empty(_N_NODES, np.int64),
        np.empty(_N_NODES, np.int64),
        np.empty(_N_NODES, np.int64),
        np.empty(_N_NODES, np.int64),
    )
    for j in range(z):
        for i in range(n):
            tree.kept[0, j, train[j, i], 1] += 1.0  # rows of the root, the same for every tree
    for _ in range(n_stages):
        _residuals(raw, values, loss, chance, residual)
        for c in range(k):
            _grow(tree, residual[c], gains)
            for node in range(_N_NODES):
                if tree.latent[node] != -1:  # not a leaf
                    continue
                up, down = 0.0, 0.0
                for s in range(tree.first[node], tree.last[node]):
                    i = tree.rows[s]
                    up += residual[c, i]
                    down += chance[c, i] * (1 - chance[c, i]) if loss != SQUARED else 1.0
                if loss == MULTINOMIAL:
                    up *= (k - 1) / k
                step[node] = LEARNING_RATE * up / down if abs(down) > _NO_CURVATURE else 0.0
                for s in range(tree.first[node], tree.last[node]):
                    raw[c, tree.rows[s]] += step[node]
            for i in range(n_test):
                node = 0
                while tree.latent[node] != -1:
                    j = tree.latent[node]
                    node = 2 * node + 1 + (test[j, i] > tree.edge[node])
                raw_test[c, i] += step[node]
    return gains


@njit(cache=True, nogil=True)
def _residuals(
    raw: np.ndarray, values: np.ndarray, loss: int, chance: np.ndarray, residual: np.ndarray
) -> None:
    """Compute the negative gradient of the loss and the class probabilities."""
    k, n = raw.shape
    if loss == SQUARED:
        for i in range(n):
            residual[0, i] = values[0, i] - raw[0, i]
    elif loss == BINARY:
        for i in range(n):
            chance[0, i] = 1 / (1 + np.exp(-raw[0, i]))
            residual[0, i] = values[0, i] - chance[0, i]
    else:
        for i in range(n):
            top, total = raw[0, i], 0.0
            for c in range(1, k):
                top = max(top, raw[c, i])
            for c in range(k):
                chance[c, i] = np.exp(raw[c, i] - top)
                total += chance[c, i]
            for c in range(k):
                chance[c, i] /= total
                residual[c, i] = values[c, i] - chance[c, i]


@njit(cache=True, nogil=True)
def _grow(tree: Workspace, residual: np.ndarray, gains: np.ndarray) -> None:
    """Grow a tree; rows are sorted by leaf afterwards."""
    counts, kept, gain, first, last = tree.counts, tree.kept, tree.gain, tree.first, tree.last
    n = len(residual)
    for node in range(_N_NODES):
        tree.latent[node] = -2
    tree.latent[0], first[0], last[0] = -1, 0, n
    total = 0.0
    for i in range(n):
        tree.rows[i] = i
        total += residual[i]
    for j in range(len(counts)):
        here, column = kept[0, j], tree.train[j]
        for b in range(counts[j]):
            here[b, 0] = 0.0
        for i in range(n):
            here[column[i], 0] += residual[i]
        gain[0, j], tree.at[0, j] = _best_split(here, counts[j], total, n)
    for node in range(_N_INNER):
        if tree.latent[node] == -2:
            continue
        j = _best_latent(gain[node])
        if j == -1:
            continue
        b = tree.at[node, j]
        tree.latent[node], tree.edge[node] = j, b
        # Latents with equal gains share them, which makes importances independent of their order.
        most, tied = gain[node, j], 0
        for other in range(len(counts)):
            tied += gain[node, other] >= most * (1 - _TIE)
        for other in range(len(counts)):
            if gain[node, other] >= most * (1 - _TIE):
                gains[other] += most / tied
        middle = _partition(tree.train[j], b, tree.rows, tree.spare, first[node], last[node])
        left, right = 2 * node + 1, 2 * node + 2
        tree.latent[left], first[left], last[left] = -1, first[node], middle
        tree.latent[right], first[right], last[right] = -1, middle, last[node]
        if left < _N_INNER:
            _split_children(tree, residual, node)


@njit(cache=True, nogil=True)
def _split_children(tree: Workspace, residual: np.ndarray, node: int) -> None:
    """Compute histograms and best splits of two children, the larger by subtraction."""
    counts, kept, gain, at = tree.counts, tree.kept, tree.gain, tree.at
    first, last = tree.first, tree.last
    small, large = 2 * node + 1, 2 * node + 2
    if last[small] - first[small] > last[large] - first[large]:
        small, large = large, small
    chosen = tree.rows[first[small] : last[small]]
    values = tree.gathered[: len(chosen)]
    total = 0.0
    for s in range(len(chosen)):
        values[s] = residual[chosen[s]]
        total += values[s]
    rest = 0.0
    for s in range(first[large], last[large]):
        rest += residual[tree.rows[s]]
    n_rest = last[large] - first[large]
    keep = large < len(kept) and small < len(kept)
    for j in range(len(counts)):
        part = kept[small, j] if keep else tree.passing[small, 0]
        whole, column = kept[node, j], tree.train[j]
        for b in range(counts[j]):
            part[b, 0] = part[b, 1] = 0.0
        for s in range(len(chosen)):
            b = column[chosen[s]]
            part[b, 0] += values[s]
            part[b, 1] += 1.0
        if keep:
            remains = kept[large, j]
            for b in range(counts[j]):
                remains[b, 0] = whole[b, 0] - part[b, 0]
                remains[b, 1] = whole[b, 1] - part[b, 1]
            gain[large, j], at[large, j] = _best_split(remains, counts[j], rest, n_rest)
        else:
            gain[large, j], at[large, j] = _best_split_left(whole, part, counts[j], rest, n_rest)
        gain[small, j], at[small, j] = _best_split(part, counts[j], total, len(chosen))


@njit(cache=True, nogil=True)
def _best_split_left(
    whole: np.ndarray, part: np.ndarray, count: int, total: float, rows: int
) -> tuple[float, int]:
    """Find the best split of the difference of two histograms, without storing it."""
    n = float(rows)
    best, bar, place = -1.0, -1.0, -1
    left, n_left = 0.0, 0.0
    start = 0
    while start < count - 1 and whole[start, 1] == part[start, 1]:
        start += 1
    for b in range(start, count - 1):
        left += whole[b, 0] - part[b, 0]
        n_left += whole[b, 1] - part[b, 1]
        if n_left == n:
            break
        gap = left * n - total * n_left
        square, scale = gap * gap, n_left * (n - n_left)
        if square > bar * scale:
            best, place = square / scale, b
            bar = best * (1 + _TIE)
    return (best / n if place != -1 else -1.0), place


@njit(cache=True, nogil=True)
def _best_split(here: np.ndarray, count: int, total: float, rows: int) -> tuple[float, int]:
    """Return the largest gain of a latent at a node, and the last bin on the left.

    A split into n_l and n_r rows with residual sums s_l and s_r removes
    ``(s_l n - s n_l)^2 / (n_l n_r n)`` of squared error; -1 if all rows are in one bin.
    """
    n = float(rows)
    best, bar, place = -1.0, -1.0, -1
    left, n_left = 0.0, 0.0
    start = 0
    while start < count - 1 and here[start, 1] == 0:
        start += 1
    # Empty bins repeat the previous gain. Testing for them would cost mispredicted branches.
    for b in range(start, count - 1):
        left += here[b, 0]
        n_left += here[b, 1]
        if n_left == n:
            break
        gap = left * n - total * n_left
        square, scale = gap * gap, n_left * (n - n_left)
        if square > bar * scale:  # avoids a division per bin
            best, place = square / scale, b
            bar = best * (1 + _TIE)
    return (best / n if place != -1 else -1.0), place


@njit(cache=True, nogil=True)
def _best_latent(gain: np.ndarray) -> int:
    """Return the first latent with the largest gain up to rounding; -1 if none can be split."""
    chosen, most = -1, -0.5
    for j in range(len(gain)):
        if gain[j] > most * (1 + _TIE) and gain[j] >= 0:
            chosen, most = j, gain[j]
    return chosen


@njit(cache=True, nogil=True)
def _partition(
    codes: np.ndarray, b: int, rows: np.ndarray, spare: np.ndarray, start: int, stop: int
) -> int:
    """Move rows with bins up to b to the front of their node; return the start of the others."""
    middle, n_right = start, 0
    for s in range(start, stop):
        i = rows[s]
        if codes[i] <= b:
            rows[middle] = i
            middle += 1
        else:
            spare[n_right] = i
            n_right += 1
    for s in range(n_right):
        rows[middle + s] = spare[s]
    return middle


N_STAGES = 100
N_BINS = 256


@dataclass(frozen=True)
class Boosted:
    """Result of boosting for one factor.

    Attributes
    ----------
    importance : ndarray of shape (z,)
        Reduction of squared error by splits on every latent, over all trees; sums to one, or to
        zero without any split.
    train, test : ndarray of shape (n,)
        Predicted values: codes of classes, or numbers in a regression.
    """

    importance: np.ndarray
    train: np.ndarray
    test: np.ndarray


def bin_for_splits(
    train: np.ndarray, test: np.ndarray, n_bins: int = N_BINS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bin every column, with edges from the training rows.

    Edges are midpoints of neighbouring values. A column with more distinct values than bins gets
    equal-frequency bins.

    Returns
    -------
    train, test : ndarray of uint16, shape (z, n)
        One row per latent, because histograms are filled latent by latent.
    counts : ndarray of int64, shape (z,)
        Number of bins of every latent.

    Examples
    --------
    >>> codes, _, counts = bin_for_splits(np.array([[0.0], [2.0], [2.0], [4.0]]), np.zeros((1, 1)))
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
        From `bin_for_splits`.
    target : ndarray of shape (n_train,)
        Codes of classes, or numbers when `regression`.

    Returns
    -------
    Boosted

    Examples
    --------
    >>> latents = np.array([[0.0, 5.0], [0.1, 5.0], [0.9, 5.0], [1.0, 5.0]])
    >>> codes, _, counts = bin_for_splits(latents, latents)
    >>> boosted = boost(codes, codes, counts, np.array([0, 0, 1, 1]))
    >>> boosted.importance, boosted.test
    (array([1., 0.]), array([0, 0, 1, 1]))
    """
    if regression:
        classes, codes = np.zeros(1), np.zeros(len(target), np.int64)
        values, start, loss = target.astype(float)[None], np.array([target.mean()]), SQUARED
    else:
        classes, codes = np.unique(target, return_inverse=True)
        share = np.bincount(codes) / len(codes)
        if len(classes) == 1:
            everywhere = np.full(len(target), classes[0]), np.full(test.shape[1], classes[0])
            return Boosted(np.zeros(len(counts)), *everywhere)
        if len(classes) == 2:
            values, loss = (codes == 1).astype(float)[None], BINARY
            start = np.array([np.log(share[1] / share[0])])
        else:
            values = (codes == np.arange(len(classes))[:, None]).astype(float)
            start, loss = np.log(share), MULTINOMIAL
    raw = np.repeat(start[:, None], train.shape[1], axis=1)
    raw_test = np.repeat(start[:, None], test.shape[1], axis=1)
    gains = boost_trees(train, test, counts, values, raw, raw_test, loss, n_stages)
    importance = gains / gains.sum() if gains.sum() > 0 else gains
    if loss == SQUARED:
        return Boosted(importance, raw[0], raw_test[0])
    if loss == BINARY:
        return Boosted(
            importance, classes[(raw[0] > 0).astype(int)], classes[(raw_test[0] > 0).astype(int)]
        )
    return Boosted(importance, classes[raw.argmax(axis=0)], classes[raw_test.argmax(axis=0)])
