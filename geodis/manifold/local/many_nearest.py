"""Points -> thousands of nearest others of each, by leaves of near points.

A tree that keeps its best so far in a heap pays for every neighbour that it finds, thousands of
times a point under noise. Here all distances to the leaves within reach are computed, eight at a
time, and the farthest neighbour is found by counting: neighbours are not sorted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.base.jobs import njit, over_ranges
from geodis.manifold.local.exact_search import LARGEST, MORE_ROOM, ROOM, SMALLEST

# Neighbours from which on this is sooner than a tree.
MANY = 256
# Points in a leaf, and places among which squared distances are counted.
LEAF, PLACES = 32, 512


@dataclass(frozen=True)
class Leaves:
    """Points in runs of near ones.

    Attributes
    ----------
    order : ndarray of int32, shape (n,)
        The points, one run after another.
    columns : ndarray of shape (d, n)
        Their coordinates in that order.
    ends : ndarray of int, shape (l + 1,)
        Where each run begins and the next one does.
    low, high : ndarray of shape (d, l)
        The box of each run.
    """

    order: np.ndarray
    columns: np.ndarray
    ends: np.ndarray
    low: np.ndarray
    high: np.ndarray


def leaves_of(points: np.ndarray) -> Leaves:
    """Runs of near points (n, d), and their boxes.

    Examples
    --------
    >>> leaves_of(np.array([[0.0], [3.0]])).high
    array([[3.]])
    """
    from scipy.spatial import KDTree

    runs, nodes = [], [KDTree(points, leafsize=LEAF).tree]
    while nodes:
        node = nodes.pop()
        if hasattr(node, "idx"):
            runs.append(node.idx)
        else:
            nodes += node.greater, node.less
    order = np.concatenate(runs).astype(np.int32)
    columns = np.ascontiguousarray(points[order].T, dtype=float)
    ends = np.cumsum([0, *map(len, runs)])
    low, high = (f.reduceat(columns, ends[:-1], axis=1) for f in (np.minimum, np.maximum))
    return Leaves(order, columns, ends, low, high)


def many_nearest(
    leaves: Leaves, rows: np.ndarray, count: int, *, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Indices (r, count) of the nearest other points of some rows, the farthest last.

    The others stand in the order of the leaves: which is before which says nothing.

    Parameters
    ----------
    leaves : Leaves
        Of distinct points.
    rows : ndarray of int, shape (r,)
        Points whose neighbours are asked for; soonest where those that follow one another are near.
    count : int
        At most n - 1.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    indices : ndarray of int32, shape (r, count)
    distances : ndarray of shape (r, count)

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> indices, distances = many_nearest(leaves_of(points), np.array([2]), 2)
    >>> sorted(indices[0].tolist()), distances[0]
    ([0, 1], array([2., 3.]))
    """
    place = np.empty(len(leaves.order), np.int64)
    place[leaves.order] = np.arange(len(leaves.order))
    own = place[rows]
    indices = np.empty((len(rows), count), np.int32)
    distances = np.empty((len(rows), count))
    # One point after its neighbour, so that the reach of one tells that of the next.
    turn = np.argsort(own, kind="stable")
    parts = leaves.order, leaves.columns, leaves.ends, leaves.low, leaves.high
    over_ranges(
        lambda start, stop: _search(*parts, own, turn[start:stop], indices, distances),
        len(rows),
        n_jobs,
    )
    return indices, distances


@njit(nogil=True, cache=True, fastmath={"contract", "nsz"}, error_model="numpy")
def _search(order, columns, ends, low, high, own, turn, indices, distances):  # type: ignore[no-untyped-def]
    count = indices.shape[1]
    near, squared = np.empty(len(order) + 1, np.int32), np.empty(len(order) + 1)
    boxes, leaf = np.empty(low.shape[1]), np.empty(np.diff(ends).max())
    places, some = np.empty(PLACES, np.int64), np.empty(len(order) + 1)
    reach = 0.0
    for r in turn:
        found = 0
        if reach == 0.0:
            found = _within(columns, ends, low, high, own[r], LARGEST, boxes, leaf, near, squared)
            reach = np.partition(squared[:found], count - 1)[count - 1]
        while found < count:
            found = _within(columns, ends, low, high, own[r], reach, boxes, leaf, near, squared)
            if found < count:
                reach = min(reach * MORE_ROOM + SMALLEST, LARGEST)
        farthest = _farthest(squared[:found], reach, count, places, some)
        _take(order, near[:found], squared[:found], farthest, indices[r], distances[r])
        reach = ROOM * farthest


@njit(nogil=True, cache=True, fastmath={"contract", "nsz"}, error_model="numpy")
def _within(columns, ends, low, high, own, reach, boxes, leaf, near, squared):  # type: ignore[no-untyped-def]
    """Write which are within reach of a point, and how far; return how many."""
    boxes[:] = 0.0
    for c in range(len(columns)):
        x, below, above = columns[c, own], low[c], high[c]
        for b in range(len(boxes)):
            out = max(max(below[b] - x, x - above[b]), 0.0)
            boxes[b] += out * out
    found = 0
    for b in range(len(boxes)):
        if boxes[b] > reach:
            continue
        start, stop = ends[b], ends[b + 1]
        leaf[: stop - start] = 0.0
        for c in range(len(columns)):
            x, column = columns[c, own], columns[c, start:stop]
            for j in range(stop - start):
                leaf[j] += (column[j] - x) * (column[j] - x)
        for j in range(stop - start):
            near[found], squared[found] = start + j, leaf[j]
            found += (leaf[j] <= reach) & (start + j != own)
    return found


@njit(nogil=True, cache=True, error_model="numpy")
def _farthest(squared, reach, count, places, some):  # type: ignore[no-untyped-def]
    """The squared distance of the last of so many neighbours, all of which lie within reach."""
    scale = min(PLACES / max(reach, SMALLEST), LARGEST)
    places[:] = 0
    for j in range(len(squared)):
        places[min(int(squared[j] * scale), PLACES - 1)] += 1
    place = below = 0
    while below + places[place] < count:
        below += places[place]
        place += 1
    kept = 0
    for j in range(len(squared)):
        some[kept] = squared[j]
        kept += min(int(squared[j] * scale), PLACES - 1) == place
    return np.partition(some[:kept], count - below - 1)[count - below - 1]


@njit(nogil=True, cache=True, error_model="numpy")
def _take(order, near, squared, farthest, indices, distances):  # type: ignore[no-untyped-def]
    """Write the nearest, of those that are equally far the first ones, and the farthest last."""
    count = len(indices)
    ties = count - (squared < farthest).sum()
    taken = last = 0
    for j in range(len(squared)):
        if squared[j] > farthest:
            continue
        if squared[j] == farthest:
            if ties == 0:
                continue
            ties -= 1
            last = taken
        indices[taken], distances[taken] = order[near[j]], np.sqrt(squared[j])
        taken += 1
    indices[last], indices[count - 1] = indices[count - 1], indices[last]
    distances[last], distances[count - 1] = distances[count - 1], distances[last]
