"""Points -> a search among them, prepared once, whose answers are exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

import numpy as np

from geodis.base.jobs import check_jobs, njit, over_ranges

# Few points -> the nearest others of some of them, by all distances.
#
# A tree saves distances and pays for each point that it looks at with as much as hundreds of them:
# those to one point after another are computed eight at a time. Of a few thousand points all
# distances are sooner there, the more so the more neighbours are asked for.

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


# A k-d tree visits most of its leaves once there are about ten dimensions. Beyond, blocked
# matrix products are exact and beat pynndescent until their quadratic cost shows: at n = 100,000
# and d = 17 both take about half a minute on two cores, of which pynndescent spends most of 20 s
# on compiling itself anew in every process.
KDTREE_MAX_DIMS = 9


BLOCK_ROWS = 2**16


# Distances from a few rows to all points that are held at once: 32 MB.
BLOCK_DISTANCES = 2**22


# Some thirty neighbours of every point are found a tenth faster than with leaves of ten points.
LEAF_POINTS = 24


# A tree over more points than this does not fit in a processor's cache. A query after another that
# is near it finds its part of the tree there, and takes a third of the time of random order.
CACHED_POINTS = 2**14


# Neighbours of all targets up to which they are remembered: 12 MB with their distances.
REMEMBERED_ENTRIES = 2**20


# Indices of the nearest targets and distances to them, (q, count) each, nearest first.
Nearest = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Apart:
    """Rows that are no independent samples of one another: no neighbours, however near.

    Attributes
    ----------
    when : ndarray of shape (n,)
        A time, or the number of a group, of every row.
    window : float
        Rows no farther apart in time are kept apart; 0.0 for groups.
    """

    when: np.ndarray
    window: float

    def rows(self, index: np.ndarray) -> Apart:
        """The same of some rows, in their order."""
        return Apart(self.when[index], self.window)

    def between(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Whether rows (q,) are kept apart from others (q, c) of the same table."""
        kept: np.ndarray = np.abs(self.when[others] - self.when[rows, None]) <= self.window
        return kept

    def counts(self) -> np.ndarray:
        """How many rows each is kept apart from, with itself; in the order of times."""
        order = np.sort(self.when)
        last = np.searchsorted(order, order + self.window, side="right")
        return last - np.searchsorted(order, order - self.window, side="left")

    def most(self) -> int:
        """The most rows that any row is kept apart from, with itself."""
        return int(self.counts().max())


class Known:
    """The most neighbours of all targets that were searched for, without the targets themselves.

    Several ask for neighbours of the same points, one for more of them than another.

    Examples
    --------
    >>> known = Known()
    >>> found = known.keep(np.arange(2), 2, (np.array([[1], [0]]), np.array([[5.0], [5.0]])))
    >>> known.of(np.array([1]), 1), known.of(np.array([1]), 2)
    ((array([[0]]), array([[5.]])), None)
    """

    def __init__(self, nearest: Nearest | None = None) -> None:
        self.nearest = nearest

    def of(self, rows: np.ndarray, count: int) -> Nearest | None:
        """So many neighbours of some targets, where as many are known."""
        if self.nearest is None or self.nearest[0].shape[1] < count:
            return None
        indices, distances = (table[:, :count] for table in self.nearest)
        if len(rows) == len(indices) and (rows == np.arange(len(rows))).all():
            return indices, distances
        return indices[rows], distances[rows]

    def keep(self, rows: np.ndarray, n: int, nearest: Nearest) -> Nearest:
        """Remember neighbours if they are those of all n targets, and not too many; return them."""
        whole = len(rows) == n and nearest[0].size <= REMEMBERED_ENTRIES
        if whole and (rows == np.arange(n)).all():
            self.nearest = nearest
        return nearest


@dataclass(frozen=True)
class Search:
    """Exact searches among targets that were prepared once.

    Attributes
    ----------
    find : callable
        Queries (q, d) and a count -> `Nearest`.
    order : ndarray of int, shape (n,), or None
        The targets in an order in which it is cheaper to ask for all of them.
    apart : Apart or None
        Of the targets; heeded where rows of theirs ask for other rows.
    known : Known
        What rows of the targets need not ask for again.
    others : callable or None
        Rows of the targets and a count -> their nearest others by all distances, where a tree is
        the alternative: `is_sooner` tells which.
    """

    find: Callable[[np.ndarray, int], Nearest]
    order: np.ndarray | None = None
    apart: Apart | None = None
    known: Known = field(default_factory=Known)
    others: Callable[[np.ndarray, int], Nearest] | None = None

    def __call__(self, queries: np.ndarray, count: int) -> Nearest:
        """The nearest targets of every query, nearest first."""
        return self.find(queries, count)


def searcher(targets: np.ndarray, *, n_jobs: int | None = None) -> Search:
    """Prepare exact searches among targets, asked for with queries (q, d) and a count.

    They return the indices of the nearest targets and their distances, both of shape
    (q, count). A tree over many targets takes longer to build than to ask for a few queries, so
    build it once.

    Examples
    --------
    >>> search = searcher(np.array([[0.0], [5.0]]))
    >>> indices, distances = search(np.array([[4.0], [1.0]]), 1)
    >>> indices.ravel(), distances.ravel()
    (array([1, 0]), array([1., 1.]))
    """
    return EXACT[exact_method(targets.shape[1])](targets, check_jobs(n_jobs, default=-1))


def exact_method(d: int) -> Literal["kdtree", "brute"]:
    """The sooner of the exact searches in so many columns.

    Examples
    --------
    >>> exact_method(3), exact_method(50)
    ('kdtree', 'brute')
    """
    return "kdtree" if d <= KDTREE_MAX_DIMS else "brute"


class Searches:
    """A search that is prepared once for all that ask for it, as long as the targets stay.

    Examples
    --------
    >>> searches, points = Searches(), np.array([[0.0], [5.0]])
    >>> searches.among(points, n_jobs=1) is searches.among(points, n_jobs=1)
    True
    """

    def __init__(self) -> None:
        self._targets: np.ndarray | None = None
        self._search: Search | None = None
        self._told: tuple[np.ndarray, Nearest] | None = None

    def is_among(self, targets: np.ndarray) -> bool:
        """Whether a search among these targets is prepared."""
        return self._targets is targets

    def tell(self, targets: np.ndarray, nearest: Nearest) -> None:
        """Neighbours of all targets, found elsewhere."""
        self._told = targets, nearest

    def told(self, targets: np.ndarray) -> Nearest | None:
        """What was told of these targets."""
        return self._told[1] if self._told is not None and self._told[0] is targets else None

    def among(
        self, targets: np.ndarray, *, apart: Apart | None = None, n_jobs: int | None = None
    ) -> Search:
        """Exact searches among targets, which must not change: those of the last call if it can."""
        if self._search is None or self._targets is not targets:
            known = Known(self.told(targets) if apart is None else None)
            found = replace(searcher(targets, n_jobs=n_jobs), apart=apart, known=known)
            self._targets, self._search = targets, found
        return self._search


def spatial_order(points: np.ndarray) -> np.ndarray:
    """An order of many points in which those that follow one another are near; of few, theirs.

    Examples
    --------
    >>> spatial_order(np.array([[3.0], [1.0]]))
    array([0, 1])
    """
    from scipy.spatial import KDTree

    if len(points) <= CACHED_POINTS or points.shape[1] > KDTREE_MAX_DIMS:
        return np.arange(len(points))
    tree = KDTree(points, leafsize=LEAF_POINTS, compact_nodes=False, balanced_tree=False)
    return tree.indices


def _kdtree_searcher(targets: np.ndarray, n_jobs: int) -> Search:
    """A search by a k-d tree: for few dimensions."""
    from scipy.spatial import KDTree

    @cache
    def tree() -> KDTree:  # of few points it may never be asked
        return KDTree(targets, leafsize=LEAF_POINTS)

    def find(queries: np.ndarray, count: int) -> Nearest:
        distances, indices = tree().query(queries, count, workers=n_jobs)
        shape = (len(queries), count)
        return indices.reshape(shape), distances.reshape(shape)

    def others(rows: np.ndarray, count: int) -> Nearest:
        return nearest_of_few(targets, rows, count, n_jobs=n_jobs)

    order = tree().indices if len(targets) > CACHED_POINTS else None
    return Search(find, order, others=others)


def _brute_searcher(targets: np.ndarray, n_jobs: int) -> Search:
    """A search by all distances: for many dimensions."""
    from sklearn.neighbors import NearestNeighbors

    # The search expands |a - b|^2, which loses digits far from the origin.
    centre = targets.mean(axis=0)
    brute = NearestNeighbors(algorithm="brute", n_jobs=n_jobs).fit(targets - centre)

    def find(queries: np.ndarray, count: int) -> Nearest:
        indices = brute.kneighbors(queries - centre, count, return_distance=False)
        return sorted_exactly(targets, indices, queries)

    return Search(find)


EXACT = {"kdtree": _kdtree_searcher, "brute": _brute_searcher}


def sorted_exactly(targets: np.ndarray, indices: np.ndarray, queries: np.ndarray) -> Nearest:
    """Found neighbours in the order of their exact distances, of equal ones the first index first.

    A search that rounds may give two neighbours in the wrong order, and equal ones in any.
    """
    distances = exact_distances(targets, indices, queries)
    gaps = np.diff(distances, axis=1)
    # The index decides between equal distances; most rows have none and are in order already.
    tied = np.flatnonzero((gaps <= 0).any(axis=1))
    if len(tied):
        order = np.lexsort((indices[tied], distances[tied]), axis=1)
        indices = indices.copy()
        indices[tied] = np.take_along_axis(indices[tied], order, axis=1)
        distances[tied] = np.take_along_axis(distances[tied], order, axis=1)
    return indices, distances


def exact_distances(targets: np.ndarray, indices: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Euclidean distances to the found neighbours, in float64 whatever the search used."""
    distances = np.zeros(indices.shape)
    for target, query in zip(targets.T, queries.T, strict=True):  # no (q, count, d) temporary
        distances += (target[indices] - query[:, None]) ** 2
    return np.sqrt(distances, out=distances)
