"""Exact searches for nearest neighbours that are prepared once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

import numpy as np

from geodis.base.jobs import check_jobs
from geodis.manifold.local.many_nearest import nearest_of_few

# A k-d tree visits most of its leaves in about ten dimensions or more. There, blocked matrix
# products are exact, and faster than pynndescent until their quadratic cost dominates: with
# n = 100,000 and d = 17 both take about half a minute on two cores, of which pynndescent spends
# most of 20 s on compilation, in every process.
KDTREE_MAX_DIMS = 9
# Rows that are searched for together.
BLOCK_ROWS = 2**16
# Distances from a few rows to all points that are in memory together: 32 MB.
BLOCK_DISTANCES = 2**22
# Thirty neighbours of every point are found a tenth faster than with leaves of ten points.
LEAF_POINTS = 24
# A tree over more points does not fit in a processor's cache. Queries in spatial order find their
# part of the tree in the cache, and take a third of the time of queries in random order.
CACHED_POINTS = 2**14
# Largest table of neighbours that is cached: 12 MB with the distances.
CACHED_NEIGHBORS = 2**20

# Indices of the nearest targets and distances to them, (q, count) each, nearest first.
Nearest = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Apart:
    """Pairs of rows that are not independent samples, and so are never neighbours.

    Attributes
    ----------
    when : ndarray of shape (n,)
        The time or the group number of every row.
    window : float
        Rows at most this far apart in time are never neighbours; 0.0 for groups.
    """

    when: np.ndarray
    window: float

    def rows(self, index: np.ndarray) -> Apart:
        """Restrict to some rows, in their order."""
        return Apart(self.when[index], self.window)

    def between(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Whether rows (q,) may not be neighbours of others (q, c)."""
        excluded: np.ndarray = np.abs(self.when[others] - self.when[rows, None]) <= self.window
        return excluded

    def counts(self) -> np.ndarray:
        """Count the rows, itself included, that every row may not neighbour, in order of time."""
        order = np.sort(self.when)
        last = np.searchsorted(order, order + self.window, side="right")
        return last - np.searchsorted(order, order - self.window, side="left")

    def most(self) -> int:
        """The largest of the `counts`."""
        return int(self.counts().max())


class NeighborCache:
    """The neighbours of all targets, from the search for the largest number of them.

    Examples
    --------
    >>> cache = NeighborCache()
    >>> found = cache.store(np.arange(2), 2, (np.array([[1], [0]]), np.array([[5.0], [5.0]])))
    >>> cache.look_up(np.array([1]), 1), cache.look_up(np.array([1]), 2)
    ((array([[0]]), array([[5.]])), None)
    """

    def __init__(self, nearest: Nearest | None = None) -> None:
        self.nearest = nearest

    def look_up(self, rows: np.ndarray, count: int) -> Nearest | None:
        """Return this many neighbours of some targets, or None if fewer are cached."""
        if self.nearest is None or self.nearest[0].shape[1] < count:
            return None
        indices, distances = (table[:, :count] for table in self.nearest)
        if len(rows) == len(indices) and (rows == np.arange(len(rows))).all():
            return indices, distances
        return indices[rows], distances[rows]

    def store(self, rows: np.ndarray, n: int, nearest: Nearest) -> Nearest:
        """Store neighbours if they belong to all n targets and the table is small; return them."""
        whole = len(rows) == n and nearest[0].size <= CACHED_NEIGHBORS
        if whole and (rows == np.arange(n)).all():
            self.nearest = nearest
        return nearest


@dataclass(frozen=True)
class Search:
    """An exact search among targets, prepared once.

    Attributes
    ----------
    find : callable
        Queries (q, d) and a count -> `Nearest`.
    order : ndarray of int, shape (n,), or None
        The order of the targets in which queries for all of them are fastest.
    apart : Apart or None
        Pairs of targets that are not neighbours; ignored for queries that are not targets.
    cache : NeighborCache
        Neighbours of the targets that were found before.
    others : callable or None
        Rows of the targets and a count -> their nearest others by all distances. It is the
        alternative to a tree, and faster if `is_sooner`.
    """

    find: Callable[[np.ndarray, int], Nearest]
    order: np.ndarray | None = None
    apart: Apart | None = None
    cache: NeighborCache = field(default_factory=NeighborCache)
    others: Callable[[np.ndarray, int], Nearest] | None = None

    def __call__(self, queries: np.ndarray, count: int) -> Nearest:
        """Find the nearest targets of every query, nearest first."""
        return self.find(queries, count)


def searcher(targets: np.ndarray, *, n_jobs: int | None = None) -> Search:
    """Prepare an exact search among targets.

    Call it with queries (q, d) and a count. It returns the indices of the nearest targets and
    their distances, both of shape (q, count). Building a tree over many targets takes longer than
    a few queries, so build it once.

    Examples
    --------
    >>> search = searcher(np.array([[0.0], [5.0]]))
    >>> indices, distances = search(np.array([[4.0], [1.0]]), 1)
    >>> indices.ravel(), distances.ravel()
    (array([1, 0]), array([1., 1.]))
    """
    return EXACT[exact_method(targets.shape[1])](targets, check_jobs(n_jobs, default=-1))


def exact_method(d: int) -> Literal["kdtree", "brute"]:
    """Return the faster exact method for points with d columns.

    Examples
    --------
    >>> exact_method(3), exact_method(50)
    ('kdtree', 'brute')
    """
    return "kdtree" if d <= KDTREE_MAX_DIMS else "brute"


class Searches:
    """The most recent search and the targets that it was prepared for.

    Examples
    --------
    >>> searches, points = Searches(), np.array([[0.0], [5.0]])
    >>> searches.among(points, n_jobs=1) is searches.among(points, n_jobs=1)
    True
    """

    def __init__(self) -> None:
        self._targets: np.ndarray | None = None
        self._search: Search | None = None
        self._found: tuple[np.ndarray, Nearest] | None = None

    def is_among(self, targets: np.ndarray) -> bool:
        """Whether the prepared search is among these targets."""
        return self._targets is targets

    def store(self, targets: np.ndarray, nearest: Nearest) -> None:
        """Store neighbours of all targets that were found elsewhere."""
        self._found = targets, nearest

    def stored(self, targets: np.ndarray) -> Nearest | None:
        """Return the stored neighbours of these targets."""
        return self._found[1] if self._found is not None and self._found[0] is targets else None

    def among(
        self, targets: np.ndarray, *, apart: Apart | None = None, n_jobs: int | None = None
    ) -> Search:
        """Return an exact search among targets; the last one if the array is the same object.

        The targets must not change.
        """
        if self._search is None or self._targets is not targets:
            cache = NeighborCache(self.stored(targets) if apart is None else None)
            found = replace(searcher(targets, n_jobs=n_jobs), apart=apart, cache=cache)
            self._targets, self._search = targets, found
        return self._search


def spatial_order(points: np.ndarray) -> np.ndarray:
    """Order many points so that consecutive ones are close together; few points stay as they are.

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


def kdtree_search(targets: np.ndarray, n_jobs: int) -> Search:
    """Prepare a search with a k-d tree, for few dimensions."""
    from scipy.spatial import KDTree

    @cache
    def tree() -> KDTree:  # may never be needed for few points
        return KDTree(targets, leafsize=LEAF_POINTS)

    def find(queries: np.ndarray, count: int) -> Nearest:
        distances, indices = tree().query(queries, count, workers=n_jobs)
        shape = (len(queries), count)
        return indices.reshape(shape), distances.reshape(shape)

    def others(rows: np.ndarray, count: int) -> Nearest:
        return nearest_of_few(targets, rows, count, n_jobs=n_jobs)

    order = tree().indices if len(targets) > CACHED_POINTS else None
    return Search(find, order, others=others)


def brute_search(targets: np.ndarray, n_jobs: int) -> Search:
    """Prepare a search by all distances, for many dimensions."""
    from sklearn.neighbors import NearestNeighbors

    # The search expands |a - b|^2, which is inaccurate far from the origin.
    centre = targets.mean(axis=0)
    brute = NearestNeighbors(algorithm="brute", n_jobs=n_jobs).fit(targets - centre)

    def find(queries: np.ndarray, count: int) -> Nearest:
        indices = brute.kneighbors(queries - centre, count, return_distance=False)
        return sorted_exactly(targets, indices, queries)

    return Search(find)


EXACT = {"kdtree": kdtree_search, "brute": brute_search}


def sorted_exactly(targets: np.ndarray, indices: np.ndarray, queries: np.ndarray) -> Nearest:
    """Sort neighbours by their exact distances, and equal distances by index.

    A search with rounding errors may swap neighbours whose distances are nearly equal.
    """
    distances = exact_distances(targets, indices, queries)
    gaps = np.diff(distances, axis=1)
    # Most rows have no equal distances and are in order already.
    tied = np.flatnonzero((gaps <= 0).any(axis=1))
    if len(tied):
        order = np.lexsort((indices[tied], distances[tied]), axis=1)
        indices = indices.copy()
        indices[tied] = np.take_along_axis(indices[tied], order, axis=1)
        distances[tied] = np.take_along_axis(distances[tied], order, axis=1)
    return indices, distances


def exact_distances(targets: np.ndarray, indices: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Compute Euclidean distances to neighbours in float64, whatever the search used."""
    distances = np.zeros(indices.shape)
    for target, query in zip(targets.T, queries.T, strict=True):  # no (q, count, d) temporary
        distances += (target[indices] - query[:, None]) ** 2
    return np.sqrt(distances, out=distances)
