"""Compiled searches for nearest neighbours: by all distances, and by leaves of a k-d tree.

A tree saves distances but spends the time of hundreds of them on every point that it visits. Among
a few thousand points all distances are therefore faster, the more so the more neighbours are
wanted (`nearest_of_few`).

A tree also keeps its best candidates in a heap and pays for each. For hundreds of neighbours per
point, `many_nearest` computes all distances to the leaves within reach and finds the farthest
neighbour by counting, without sorting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.base.jobs import njit, over_ranges

# Measured with 1,000 to 20,000 points in two to nine columns: all distances from a point take .65
# nanoseconds each and .07 more per column; a tree takes 30 per column for every neighbour that it
# finds, and for as many more neighbours as there are columns.
NEIGHBOR_IN_DISTANCES = 430
OTHER_COLUMNS = 9
# The squared search radius is MARGIN times the squared distance of the last neighbour of the row
# before. It grows by WIDEN if it holds too few points, and is recomputed if it holds TOO_MANY times
# the number wanted.
MARGIN, WIDEN, TOO_MANY = 1.2, 1.6, 4
# Largest number of entries in one bin of the sort by bins.
FULL_BIN = 64
LARGEST, SMALLEST = np.finfo(float).max, np.finfo(float).tiny
# Number of neighbours above which leaves are faster than a tree.
MANY = 256
# Points in a leaf, and bins of squared distances.
LEAF, BINS = 32, 512


def is_sooner(n: int, d: int, count: int) -> bool:
    """Whether computing all distances is faster than a tree, for `count` neighbours of n points.

    Examples
    --------
    >>> is_sooner(2000, 6, 50), is_sooner(5000, 3, 20), is_sooner(5000, 3, 500)
    (True, False, True)
    """
    return n * (OTHER_COLUMNS + d) <= NEIGHBOR_IN_DISTANCES * d * (count + d)


def nearest_of_few(
    points: np.ndarray, rows: np.ndarray, count: int, *, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest other points of some rows by all distances, nearest first.

    Of equally near points the one with the lower index comes first.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    rows : ndarray of int, shape (r,)
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
    >>> nearest_of_few(np.array([[0.0], [1.0], [3.0]]), np.array([2]), 2)
    (array([[1, 0]], dtype=int32), array([[2., 3.]]))
    """
    indices = np.empty((len(rows), count), np.int32)
    distances = np.empty((len(rows), count))
    columns = np.ascontiguousarray(points.T, dtype=float)
    rows = np.ascontiguousarray(rows, dtype=np.int64)
    over_ranges(
        lambda start, stop: _by_all_distances(start, stop, columns, rows, indices, distances),
        len(rows),
        n_jobs,
    )
    return indices, distances


@njit(nogil=True, cache=True, fastmath={"contract", "nsz"}, error_model="numpy")
def _by_all_distances(start, stop, columns, rows, indices, distances):  # type: ignore[no-untyped-def]
    d, n = columns.shape
    count = indices.shape[1]
    squared = np.empty(n)
    near, far = np.empty(n, np.int32), np.empty(n)
    order, lengths = np.empty(n, np.int32), np.empty(n)
    ends = np.empty(n + 1, np.int32)
    reach = 0.0
    for r in range(start, stop):
        own = rows[r]
        squared[:] = 0.0
        for c in range(d):
            at, column = columns[c, own], columns[c]
            for j in range(n):
                squared[j] += (column[j] - at) * (column[j] - at)
        for j in range(n):
            squared[j] = min(squared[j], LARGEST)
        squared[own] = np.inf
        if reach == 0.0:
            reach = np.partition(squared, count - 1)[count - 1]
        found = _select_within(squared, reach, near, far)
        while found < count:
            reach = min(reach * WIDEN + SMALLEST, LARGEST)
            found = _select_within(squared, reach, near, far)
        if found > TOO_MANY * count:
            reach = np.partition(far[:found], count - 1)[count - 1]
            found = _select_within(squared, reach, near, far)
        _sort(near[:found], far[:found], reach, ends, order, lengths)
        for j in range(count):
            indices[r, j], distances[r, j] = order[j], np.sqrt(lengths[j])
        reach = MARGIN * lengths[count - 1]


@njit(nogil=True, cache=True, error_model="numpy")
def _select_within(squared, reach, near, far):  # type: ignore[no-untyped-def]
    """Write the points within the squared radius `reach`, and return their number."""
    found = 0
    for j in range(len(squared)):
        near[found], far[found] = j, squared[j]
        found += squared[j] <= reach
    return found


@njit(nogil=True, cache=True, error_model="numpy")
def _sort(near, far, reach, ends, order, lengths):  # type: ignore[no-untyped-def]
    """Sort by squared distance, and equal distances by index.

    Squared distances fill their range evenly. They are counted into as many bins as there are
    numbers, and then sorted by insertion.
    """
    found = len(near)
    scale = (found - 1) / max(reach, SMALLEST)
    if scale > LARGEST:
        scale = 0.0
    ends[: found + 1] = 0
    most = 0
    for j in range(found):
        place = int(far[j] * scale) + 1
        ends[place] += 1
        most = max(most, ends[place])
    if most > FULL_BIN:
        by = np.argsort(far, kind="mergesort")
        order[:found], lengths[:found] = near[by], far[by]
        return
    for j in range(found):
        ends[j + 1] += ends[j]
    for j in range(found):
        place = int(far[j] * scale)
        at = ends[place]
        order[at], lengths[at] = near[j], far[j]
        ends[place] += 1
    for j in range(1, found):
        index, length = order[j], lengths[j]
        at = j
        while at > 0 and lengths[at - 1] > length:
            order[at], lengths[at] = order[at - 1], lengths[at - 1]
            at -= 1
        order[at], lengths[at] = index, length


@dataclass(frozen=True)
class Leaves:
    """Points in the order of the leaves of a k-d tree.

    Attributes
    ----------
    order : ndarray of int32, shape (n,)
        The points of the first leaf, then those of the second, and so on.
    columns : ndarray of shape (d, n)
        Their coordinates in that order.
    ends : ndarray of int, shape (l + 1,)
        Start of every leaf, and the number of points.
    low, high : ndarray of shape (d, l)
        Bounding box of each leaf.
    """

    order: np.ndarray
    columns: np.ndarray
    ends: np.ndarray
    low: np.ndarray
    high: np.ndarray


def leaves_of(points: np.ndarray) -> Leaves:
    """Divide points (n, d) into the leaves of a k-d tree.

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
    """Find many nearest other points of some rows, unsorted but with the farthest last.

    Parameters
    ----------
    leaves : Leaves
        Of distinct points.
    rows : ndarray of int, shape (r,)
        The query points; fastest if consecutive ones are close together.
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
    # Consecutive points are neighbours, so the search radius of one is a good start for the next.
    turn = np.argsort(own, kind="stable")
    parts = leaves.order, leaves.columns, leaves.ends, leaves.low, leaves.high
    over_ranges(
        lambda start, stop: _by_leaves(*parts, own, turn[start:stop], indices, distances),
        len(rows),
        n_jobs,
    )
    return indices, distances


@njit(nogil=True, cache=True, fastmath={"contract", "nsz"}, error_model="numpy")
def _by_leaves(order, columns, ends, low, high, own, turn, indices, distances):  # type: ignore[no-untyped-def]
    count = indices.shape[1]
    near, squared = np.empty(len(order) + 1, np.int32), np.empty(len(order) + 1)
    boxes, leaf = np.empty(low.shape[1]), np.empty(np.diff(ends).max())
    places, some = np.empty(BINS, np.int64), np.empty(len(order) + 1)
    reach = 0.0
    for r in turn:
        found = 0
        if reach == 0.0:
            found = _scan_leaves(
                columns, ends, low, high, own[r], LARGEST, boxes, leaf, near, squared
            )
            reach = np.partition(squared[:found], count - 1)[count - 1]
        while found < count:
            found = _scan_leaves(
                columns, ends, low, high, own[r], reach, boxes, leaf, near, squared
            )
            if found < count:
                reach = min(reach * WIDEN + SMALLEST, LARGEST)
        farthest = _smallest(squared[:found], reach, count, places, some)
        _select_nearest(order, near[:found], squared[:found], farthest, indices[r], distances[r])
        reach = MARGIN * farthest


@njit(nogil=True, cache=True, fastmath={"contract", "nsz"}, error_model="numpy")
def _scan_leaves(columns, ends, low, high, own, reach, boxes, leaf, near, squared):  # type: ignore[no-untyped-def]
    """Write the points within the squared radius `reach` of a point, and return their number."""
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
def _smallest(squared, reach, count, places, some):  # type: ignore[no-untyped-def]
    """Return the squared distance number `count` in ascending order; none exceeds `reach`."""
    scale = min(BINS / max(reach, SMALLEST), LARGEST)
    places[:] = 0
    for j in range(len(squared)):
        places[min(int(squared[j] * scale), BINS - 1)] += 1
    place = below = 0
    while below + places[place] < count:
        below += places[place]
        place += 1
    kept = 0
    for j in range(len(squared)):
        some[kept] = squared[j]
        kept += min(int(squared[j] * scale), BINS - 1) == place
    return np.partition(some[:kept], count - below - 1)[count - below - 1]


@njit(nogil=True, cache=True, error_model="numpy")
def _select_nearest(order, near, squared, farthest, indices, distances):  # type: ignore[no-untyped-def]
    """Write the nearest points with the farthest last; of equally far points the first ones."""
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
