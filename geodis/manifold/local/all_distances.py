"""Few points -> the nearest others of some of them, by all distances.

A tree saves distances and pays for each point that it looks at with as much as hundreds of them:
those to one point after another are computed eight at a time. Of a few thousand points all
distances are sooner there, the more so the more neighbours are asked for.
"""

from __future__ import annotations

import numpy as np

from geodis.base.compiled import njit
from geodis.base.jobs import over_ranges

# Times measured with 1,000 to 20,000 points in two to nine columns: all distances from a point take
# .65 nanoseconds each and .07 more a column, a tree takes 30 a column for each neighbour that it
# finds, and for as many more as there are columns.
NEIGHBOR_IN_DISTANCES = 430
OTHER_COLUMNS = 9
# Squared distance within which neighbours are looked for, in units of that of the row before; more
# where they are too few, and less where they are too many.
ROOM, MORE_ROOM, TOO_MANY = 1.2, 1.6, 4
# Numbers that share a place when they are sorted, at most.
SHARED = 64
LARGEST, SMALLEST = np.finfo(float).max, np.finfo(float).tiny


def is_sooner(n: int, d: int, count: int) -> bool:
    """Whether so many neighbours among n points are found sooner by all distances than by a tree.

    Examples
    --------
    >>> is_sooner(2000, 6, 50), is_sooner(5000, 3, 20), is_sooner(5000, 3, 500)
    (True, False, True)
    """
    return n * (OTHER_COLUMNS + d) <= NEIGHBOR_IN_DISTANCES * d * (count + d)


def nearest_of_few(
    points: np.ndarray, rows: np.ndarray, count: int, *, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Indices (r, count) of the nearest other points of some rows, nearest first, and distances.

    Of equally near points the one with the lower index comes first.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    rows : ndarray of int, shape (r,)
    count : int
        At most n - 1.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

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
        lambda start, stop: _nearest(start, stop, columns, rows, indices, distances),
        len(rows),
        n_jobs,
    )
    return indices, distances


@njit(nogil=True, cache=True, fastmath={"contract", "nsz"}, error_model="numpy")
def _nearest(start, stop, columns, rows, indices, distances):  # type: ignore[no-untyped-def]
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
        found = _within(squared, reach, near, far)
        while found < count:
            reach = min(reach * MORE_ROOM + SMALLEST, LARGEST)
            found = _within(squared, reach, near, far)
        if found > TOO_MANY * count:
            reach = np.partition(far[:found], count - 1)[count - 1]
            found = _within(squared, reach, near, far)
        _sort(near[:found], far[:found], reach, ends, order, lengths)
        for j in range(count):
            indices[r, j], distances[r, j] = order[j], np.sqrt(lengths[j])
        reach = ROOM * lengths[count - 1]


@njit(nogil=True, cache=True, error_model="numpy")
def _within(squared, reach, near, far):  # type: ignore[no-untyped-def]
    """Write which are within reach, and return how many."""
    found = 0
    for j in range(len(squared)):
        near[found], far[found] = j, squared[j]
        found += squared[j] <= reach
    return found


@njit(nogil=True, cache=True, error_model="numpy")
def _sort(near, far, reach, ends, order, lengths):  # type: ignore[no-untyped-def]
    """Sort by squared distance, of equal ones the first first: squares fill their range evenly.

    Every number goes to one of as many places as there are numbers, and then past larger ones.
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
    if most > SHARED:
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
