"""Compiled trees of depth three that follow the gradient of a loss: growing and applying them."""

from __future__ import annotations

import numpy as np

from geodis.base.compiled import njit

DEPTH = 3
LEARNING_RATE = 0.1

# Nodes of a full tree in level order: the children of node i are 2i + 1 and 2i + 2.
_N_INNER = 2**DEPTH - 1
_N_NODES = 2 ** (DEPTH + 1) - 1
SQUARED, BINARY, MULTINOMIAL = 0, 1, 2

# Gains this close are equal up to rounding, as those of latents that split rows in the same way.
_TIE = 1e-10

# The curvature of a leaf whose rows are all predicted with certainty; a step there would be 0/0.
_NO_CURVATURE = 1e-150


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
    """Boost raw predictions (k, n) in place, those of test rows too; return the gains (z,).

    Loops stand where numpy has one expression: it would take seconds longer to compile.
    """
    k, n = values.shape
    z, n_test = test.shape
    gains = np.zeros(z)
    chance = np.empty((k, n))
    residual = np.empty((k, n))
    # Residuals and rows side by side, so that filling a bin touches one place in memory. Nodes
    # above the last splits are kept for their children; those below fit one latent at a time.
    kept = np.zeros((_N_INNER // 2, z, counts.max(), 2))
    passing = np.zeros((_N_INNER, 1, counts.max(), 2))
    rows, spare = np.empty(n, np.uint32), np.empty(n, np.uint32)
    gathered = np.empty(n)
    gain, at = np.empty((_N_INNER, z)), np.empty((_N_INNER, z), np.int64)
    latent, edge = np.empty(_N_NODES, np.int64), np.empty(_N_NODES, np.int64)
    first, last = np.empty(_N_NODES, np.int64), np.empty(_N_NODES, np.int64)
    step = np.empty(_N_NODES)
    for j in range(z):
        for i in range(n):
            kept[0, j, train[j, i], 1] += 1.0  # rows of the root, the same for every tree
    for _ in range(n_stages):
        _residuals(raw, values, loss, chance, residual)
        for c in range(k):
            for i in range(n):
                rows[i] = i
            _grow(
                train,
                counts,
                residual[c],
                rows,
                spare,
                gathered,
                kept,
                passing,
                gain,
                at,
                latent,
                edge,
                first,
                last,
                gains,
            )
            for node in range(_N_NODES):
                if latent[node] != -1:  # not a leaf
                    continue
                up, down = 0.0, 0.0
                for s in range(first[node], last[node]):
                    i = rows[s]
                    up += residual[c, i]
                    down += chance[c, i] * (1 - chance[c, i]) if loss != SQUARED else 1.0
                if loss == MULTINOMIAL:
                    up *= (k - 1) / k
                step[node] = LEARNING_RATE * up / down if abs(down) > _NO_CURVATURE else 0.0
                for s in range(first[node], last[node]):
                    raw[c, rows[s]] += step[node]
            for i in range(n_test):
                node = 0
                while latent[node] != -1:
                    node = 2 * node + 1 + (test[latent[node], i] > edge[node])
                raw_test[c, i] += step[node]
    return gains


@njit(cache=True, nogil=True)
def _residuals(
    raw: np.ndarray, values: np.ndarray, loss: int, chance: np.ndarray, residual: np.ndarray
) -> None:
    """Negative gradient of the loss, and the probabilities that it is made of."""
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
def _grow(
    train: np.ndarray,
    counts: np.ndarray,
    residual: np.ndarray,
    rows: np.ndarray,
    spare: np.ndarray,
    gathered: np.ndarray,
    kept: np.ndarray,
    passing: np.ndarray,
    gain: np.ndarray,
    at: np.ndarray,
    latent: np.ndarray,
    edge: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    gains: np.ndarray,
) -> None:
    """One tree. `latent` is -1 at a leaf and -2 where there is no node; rows end sorted by leaf."""
    for node in range(_N_NODES):
        latent[node] = -2
    latent[0], first[0], last[0] = -1, 0, len(rows)
    total = 0.0
    for i in range(len(residual)):
        total += residual[i]
    for j in range(len(counts)):
        here, column = kept[0, j], train[j]
        for b in range(counts[j]):
            here[b, 0] = 0.0
        for i in range(len(residual)):
            here[column[i], 0] += residual[i]
        gain[0, j], at[0, j] = _best_split(here, counts[j], total, len(rows))
    for node in range(_N_INNER):
        if latent[node] == -2:
            continue
        j = _best_latent(gain[node])
        if j == -1:
            continue
        b = at[node, j]
        latent[node], edge[node] = j, b
        # Latents that split equally well share the gain: no order of latents, no chance decides.
        most, tied = gain[node, j], 0
        for other in range(len(counts)):
            tied += gain[node, other] >= most * (1 - _TIE)
        for other in range(len(counts)):
            if gain[node, other] >= most * (1 - _TIE):
                gains[other] += most / tied
        middle = _partition(train[j], b, rows, spare, first[node], last[node])
        left, right = 2 * node + 1, 2 * node + 2
        latent[left], first[left], last[left] = -1, first[node], middle
        latent[right], first[right], last[right] = -1, middle, last[node]
        if left < _N_INNER:
            _split_children(
                train,
                counts,
                residual,
                rows,
                gathered,
                kept,
                passing,
                gain,
                at,
                node,
                left,
                right,
                first,
                last,
            )


@njit(cache=True, nogil=True)
def _split_children(
    train: np.ndarray,
    counts: np.ndarray,
    residual: np.ndarray,
    rows: np.ndarray,
    gathered: np.ndarray,
    kept: np.ndarray,
    passing: np.ndarray,
    gain: np.ndarray,
    at: np.ndarray,
    node: int,
    left: int,
    right: int,
    first: np.ndarray,
    last: np.ndarray,
) -> None:
    """Histograms and best splits of two children: the larger is what the smaller leaves."""
    small, large = left, right
    if last[left] - first[left] > last[right] - first[right]:
        small, large = right, left
    chosen = rows[first[small] : last[small]]
    values = gathered[: len(chosen)]
    total = 0.0
    for s in range(len(chosen)):
        values[s] = residual[chosen[s]]
        total += values[s]
    rest = 0.0
    for s in range(first[large], last[large]):
        rest += residual[rows[s]]
    n_rest = last[large] - first[large]
    for j in range(len(counts)):
        keep = large < len(kept) and small < len(kept)
        part = kept[small, j] if keep else passing[small, 0]
        remains = kept[large, j] if keep else passing[large, 0]
        whole, column = kept[node, j], train[j]
        for b in range(counts[j]):
            part[b, 0] = part[b, 1] = 0.0
        for s in range(len(chosen)):
            b = column[chosen[s]]
            part[b, 0] += values[s]
            part[b, 1] += 1.0
        if keep:
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
    """`_best_split` of what a part leaves of a whole, which is not kept."""
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
    """Largest gain of one latent at one node, and the last bin on the left.

    A split into n_l and n_r rows with residual sums s_l and s_r removes
    ``(s_l n - s n_l)^2 / (n_l n_r n)`` of squared error; -1 where all rows share a bin.
    """
    n = float(rows)
    best, bar, place = -1.0, -1.0, -1
    left, n_left = 0.0, 0.0
    start = 0
    while start < count - 1 and here[start, 1] == 0:
        start += 1
    # Empty bins further on repeat the gain before them: to skip them would mislead prediction of
    # branches half of the time.
    for b in range(start, count - 1):
        left += here[b, 0]
        n_left += here[b, 1]
        if n_left == n:
            break
        gap = left * n - total * n_left
        square, scale = gap * gap, n_left * (n - n_left)
        if square > bar * scale:  # a division a bin would take most of the time
            best, place = square / scale, b
            bar = best * (1 + _TIE)
    return (best / n if place != -1 else -1.0), place


@njit(cache=True, nogil=True)
def _best_latent(gain: np.ndarray) -> int:
    """The first latent whose gain no other exceeds but by rounding; -1 where no latent splits."""
    chosen, most = -1, -0.5
    for j in range(len(gain)):
        if gain[j] > most * (1 + _TIE) and gain[j] >= 0:
            chosen, most = j, gain[j]
    return chosen


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
    for s in range(n_right):
        rows[middle + s] = spare[s]
    return middle
