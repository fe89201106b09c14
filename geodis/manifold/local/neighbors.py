"""Points -> the nearest other points of every point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from geodis.base.check import (
    InputError,
    check_choice,
    check_finite,
    check_int,
    check_numeric,
    check_points,
    check_random_state,
    to_numpy,
)
from geodis.base.jobs import blocks, check_jobs

SearchMethod = Literal["auto", "kdtree", "brute", "pynndescent"]
METHODS = ("kdtree", "brute", "pynndescent")

# A k-d tree visits most of its leaves once there are about ten dimensions. Beyond, blocked
# matrix products are exact and beat pynndescent until their quadratic cost shows: at n = 100,000
# and d = 17 both take about half a minute on two cores, of which pynndescent spends most of 20 s
# on compiling itself anew in every process.
KDTREE_MAX_DIMS = 9
BRUTE_MAX_POINTS = 100_000
BLOCK_ROWS = 2**16
# Distances from a few rows to all points that are held at once: 32 MB.
BLOCK_DISTANCES = 2**22
# Some thirty neighbours of every point are found a tenth faster than with leaves of ten points.
LEAF_POINTS = 24

# Indices of the nearest targets and distances to them, (q, count) each, nearest first.
Nearest = tuple[np.ndarray, np.ndarray]
Search = Callable[[np.ndarray, int], Nearest]


@dataclass(frozen=True)
class Neighbors:
    """The nearest other points of every point, nearest first.

    Attributes
    ----------
    indices : ndarray of int32, shape (n, n_neighbors)
        A point is never among its own neighbours, nor is an identical row.
    distances : ndarray of float, shape (n, n_neighbors)
        Euclidean and positive.
    method : str
        The search that was used: "kdtree", "brute", "pynndescent" or "precomputed".
    n_duplicates : int
        Rows that repeat an earlier row.
    """

    indices: np.ndarray
    distances: np.ndarray
    method: str
    n_duplicates: int = 0


def nearest_neighbors(
    points: Any,
    n_neighbors: int,
    *,
    method: SearchMethod = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Neighbors:
    """Find the nearest other points of every point.

    Identical rows count as one place: the neighbours of a point are the nearest rows at other
    places, one row for each, so that hundreds of copies of a row do not become each other's only
    neighbours. All copies of a row have the same neighbours.

    Parameters
    ----------
    points : array-like of shape (n, d)
    n_neighbors : int
        Neighbours of each point, without itself.
    method : {"auto", "kdtree", "brute", "pynndescent"}
        "auto" takes the k-d tree up to nine dimensions; above, exact blocked search up to
        100,000 points, and pynndescent (approximate, recall above .98) beyond.
    n_jobs : int, optional
        Threads; every core by default and for -1. pynndescent always uses one: what it finds
        depends on their number.
    random_state : int, Generator or None
        Used by pynndescent alone.

    Returns
    -------
    Neighbors

    Examples
    --------
    >>> near = nearest_neighbors([[0.0], [1.0], [3.0], [3.0]], n_neighbors=2)
    >>> near.indices
    array([[1, 2],
           [0, 2],
           [1, 0],
           [1, 0]], dtype=int32)
    >>> near.method, near.n_duplicates
    ('kdtree', 1)
    """
    points = check_points(points)
    n_neighbors = check_int(n_neighbors, "n_neighbors", low=1)
    workers = check_jobs(n_jobs, default=-1)
    places, representative, place = distinct_rows(points)
    if len(places) <= n_neighbors:
        raise InputError(
            f"n_neighbors={n_neighbors} needs at least {n_neighbors + 1} distinct points; "
            f"got {len(places)} (n={len(points)})."
        )
    if method == "auto":
        method = _choose_method(*places.shape)
    rows = np.arange(len(places))
    if check_choice(method, "method", ("auto", *METHODS)) == "pynndescent":
        nearest = _search_pynndescent(places, n_neighbors + 1, workers, random_state)
        indices, distances = _without_self(*nearest, rows)
    else:
        search = _EXACT[method](places, workers)
        indices, distances = _others(search, places, rows, n_neighbors)
    if place is not None:
        indices, distances = representative[indices][place], distances[place]
    return Neighbors(
        indices.astype(np.int32, copy=False), distances, method, len(points) - len(places)
    )


def searcher(targets: np.ndarray, *, n_jobs: int | None = None) -> Search:
    """Prepare exact searches among targets: a function of queries (q, d) and a count.

    The function returns the indices of the nearest targets and their distances, both of shape
    (q, count). A tree over many targets takes longer to build than to ask for a few queries, so
    build it once.

    Examples
    --------
    >>> search = searcher(np.array([[0.0], [5.0]]))
    >>> indices, distances = search(np.array([[4.0], [1.0]]), 1)
    >>> indices.ravel(), distances.ravel()
    (array([1, 0]), array([1., 1.]))
    """
    method = "kdtree" if targets.shape[1] <= KDTREE_MAX_DIMS else "brute"
    return _EXACT[method](targets, check_jobs(n_jobs, default=-1))


def neighbors_at(
    points: np.ndarray,
    rows: np.ndarray,
    n_neighbors: int,
    *,
    search: Search | None = None,
    n_jobs: int | None = None,
) -> Neighbors:
    """Nearest other points of some rows among all points, which must be distinct.

    Examples
    --------
    >>> neighbors_at(np.array([[0.0], [1.0], [3.0]]), np.array([2]), 1).indices
    array([[1]], dtype=int32)
    """
    search = searcher(points, n_jobs=n_jobs) if search is None else search
    return Neighbors(*_others(search, points, rows, n_neighbors), "exact")


def nearest_targets(points: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """Indices of the nearest other points of few rows, shape (r, count), nearest first.

    Every distance is computed: for a few rows that is faster than a tree, and as exact. Of equally
    near points the one with the lower index comes first.

    Examples
    --------
    >>> nearest_targets(np.array([[0.0], [1.0], [3.0]]), np.array([1]), 2)
    array([[0, 2]])
    """
    centred = points - points.mean(axis=0)
    squared = np.einsum("nd,nd->n", centred, centred)
    indices = np.empty((len(rows), count), np.intp)
    for some in blocks(len(rows), max(1, BLOCK_DISTANCES // len(points))):
        own = np.arange(len(rows[some]))
        far = squared - 2 * (centred[rows[some]] @ centred.T)
        far[own, rows[some]] = np.inf
        near = np.argpartition(far, count - 1, axis=1)[:, :count]
        near.sort(axis=1)  # so that the stable sort below leaves ties in the order of the points
        distances = _exact_distances(points, near, points[rows[some]])
        order = np.argsort(distances, axis=1, kind="stable")
        indices[some] = np.take_along_axis(near, order, axis=1)
    return indices


def neighbors_from_distances(
    distances: Any, n_neighbors: int, *, n_points: int | None = None
) -> Neighbors:
    """Find the nearest other points in a full matrix of distances, shape (n, n).

    Examples
    --------
    >>> neighbors_from_distances([[0, 1, 5], [1, 0, 2], [5, 2, 0]], 1).indices.ravel()
    array([1, 0, 1], dtype=int32)
    """
    matrix = check_numeric(to_numpy(distances, "distances"), "distances")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"distances must have shape (n, n); got shape {matrix.shape}.")
    if n_points is not None and len(matrix) != n_points:
        raise InputError(
            f"distances must have a row for each of the {n_points} points; got {len(matrix)}."
        )
    check_finite(matrix, "distances")
    if (matrix < 0).any() or (matrix.diagonal() != 0).any() or not np.allclose(matrix, matrix.T):
        raise InputError("distances must be symmetric, non-negative and zero on the diagonal.")
    n = len(matrix)
    if check_int(n_neighbors, "n_neighbors", low=1) >= n:
        raise InputError(f"n_neighbors={n_neighbors} needs more than that many points; got {n}.")
    indices = np.empty((n, n_neighbors), np.int32)
    lengths = np.empty((n, n_neighbors))
    block = max(1, 2**22 // n)  # rows at a time: a working copy of 32 MB
    for start in range(0, n, block):
        rows = matrix[start : start + block].astype(float)
        inside = np.arange(len(rows))
        rows[inside, inside + start] = np.inf
        nearest = np.argpartition(rows, n_neighbors - 1, axis=1)[:, :n_neighbors]
        near = np.take_along_axis(rows, nearest, axis=1)
        order = np.lexsort((nearest, near), axis=1)
        indices[start : start + block] = np.take_along_axis(nearest, order, axis=1)
        lengths[start : start + block] = np.take_along_axis(near, order, axis=1)
    return Neighbors(indices, lengths, "precomputed")


def distinct_rows(
    points: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Distinct rows in order of first appearance, their first index, and the place of each row.

    The last is None when all rows are distinct. One sorted column rules out duplicates in most
    data, at a small part of the cost of comparing whole rows.

    Examples
    --------
    >>> distinct_rows(np.array([[5.0], [2.0], [5.0]]))
    (array([[5.],
           [2.]]), array([0, 1]), array([0, 1, 0]))
    """
    spread = np.ptp(points[:1000], axis=0)  # a few rows tell which column is not constant
    column = np.sort(points[:, np.argmax(spread)])
    if (column[1:] != column[:-1]).all():
        return points, np.arange(len(points)), None
    _, first, place = np.unique(points + 0.0, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(points):
        return points, np.arange(len(points)), None
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    first = first[order]
    return points[first], first, rank[place.ravel()]


def _choose_method(n: int, d: int) -> SearchMethod:
    if d <= KDTREE_MAX_DIMS:
        return "kdtree"
    return "brute" if n <= BRUTE_MAX_POINTS else "pynndescent"


def _kdtree_searcher(targets: np.ndarray, n_jobs: int) -> Search:
    from scipy.spatial import KDTree

    tree = KDTree(targets, leafsize=LEAF_POINTS)

    def search(queries: np.ndarray, count: int) -> Nearest:
        distances, indices = tree.query(queries, count, workers=n_jobs)
        shape = (len(queries), count)
        return indices.reshape(shape), distances.reshape(shape)

    return search


def _brute_searcher(targets: np.ndarray, n_jobs: int) -> Search:
    from sklearn.neighbors import NearestNeighbors

    # The search expands |a - b|^2, which loses digits far from the origin.
    centre = targets.mean(axis=0)
    brute = NearestNeighbors(algorithm="brute", n_jobs=n_jobs).fit(targets - centre)

    def search(queries: np.ndarray, count: int) -> Nearest:
        indices = brute.kneighbors(queries - centre, count, return_distance=False)
        return _sorted_exactly(targets, indices, queries)

    return search


def _search_pynndescent(points: np.ndarray, count: int, n_jobs: int, random_state: Any) -> Nearest:
    from pynndescent import NNDescent

    seed = int(check_random_state(random_state).integers(2**31 - 1))
    index = NNDescent(
        (points - points.mean(axis=0)).astype(np.float32),
        n_neighbors=count,
        random_state=seed,
        n_jobs=1,
        low_memory=True,
    )
    indices = index.neighbor_graph[0]
    incomplete = np.flatnonzero((indices < 0).any(axis=1))
    if len(incomplete):  # the approximate search gave up on these: ask for them exactly
        indices[incomplete] = _kdtree_searcher(points, n_jobs)(points[incomplete], count)[0]
    return _sorted_exactly(points, indices, points)


_EXACT = {"kdtree": _kdtree_searcher, "brute": _brute_searcher}


def _others(search: Search, points: np.ndarray, rows: np.ndarray, count: int) -> Nearest:
    """The nearest other points of some rows; searched in blocks, because indices come large."""
    indices = np.empty((len(rows), count), np.int32)
    distances = np.empty((len(rows), count))
    for some in blocks(len(rows), BLOCK_ROWS):
        nearest = search(points[rows[some]], count + 1)
        indices[some], distances[some] = _without_self(*nearest, rows[some])
    return indices, distances


def _without_self(indices: np.ndarray, distances: np.ndarray, own: np.ndarray) -> Nearest:
    """Drop each row's own index from it, or the last entry where it is not there."""
    n, count = indices.shape
    keep = indices != own[:, None]
    keep[keep.all(axis=1), -1] = False
    return indices[keep].reshape(n, count - 1), distances[keep].reshape(n, count - 1)


def _sorted_exactly(targets: np.ndarray, indices: np.ndarray, queries: np.ndarray) -> Nearest:
    """Found neighbours in the order of their exact distances, of equal ones the first index first.

    A search that rounds may give two neighbours in the wrong order, and equal ones in any.
    """
    distances = _exact_distances(targets, indices, queries)
    gaps = np.diff(distances, axis=1)
    # The index decides between equal distances; most rows have none and are in order already.
    tied = np.flatnonzero((gaps <= 0).any(axis=1))
    if len(tied):
        order = np.lexsort((indices[tied], distances[tied]), axis=1)
        indices = indices.copy()
        indices[tied] = np.take_along_axis(indices[tied], order, axis=1)
        distances[tied] = np.take_along_axis(distances[tied], order, axis=1)
    return indices, distances


def _exact_distances(targets: np.ndarray, indices: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Euclidean distances to the found neighbours, in float64 whatever the search used."""
    distances = np.zeros(indices.shape)
    for target, query in zip(targets.T, queries.T, strict=True):  # no (q, count, d) temporary
        distances += (target[indices] - query[:, None]) ** 2
    return np.sqrt(distances, out=distances)
