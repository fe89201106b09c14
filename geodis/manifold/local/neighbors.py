"""Nearest neighbours of points: the interface of all searches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

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
from geodis.base.jobs import blocks, check_jobs, import_compiled
from geodis.manifold.local.exact_search import (
    BLOCK_DISTANCES,
    BLOCK_ROWS,
    EXACT,
    KDTREE_MAX_DIMS,
    Apart,
    Nearest,
    Search,
    exact_distances,
    exact_method,
    kdtree_search,
    searcher,
    sorted_exactly,
)
from geodis.manifold.local.many_nearest import is_sooner

SearchMethod = Literal["auto", "kdtree", "brute", "pynndescent"]

BRUTE_MAX_POINTS = 100_000


@dataclass(frozen=True)
class Neighbors:
    """The nearest other points of every point, nearest first.

    Attributes
    ----------
    indices : ndarray of int32, shape (n, n_neighbors)
        A point is not its own neighbour; neither is an identical row.
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

    @property
    def nearest(self) -> Nearest:
        """Indices and distances."""
        return self.indices, self.distances


def nearest_neighbors(
    points: Any,
    n_neighbors: int,
    *,
    method: SearchMethod = "auto",
    apart: Apart | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Neighbors:
    """Find the nearest other points of every point.

    Identical rows count as one point: the neighbours of a row are the nearest different rows, with
    one row for all copies. Otherwise hundreds of copies of a row would be each other's only
    neighbours. All copies of a row have the same neighbours.

    Parameters
    ----------
    points : array-like of shape (n, d)
    n_neighbors : int
        Number of neighbours of each point, without the point itself.
    method : {"auto", "kdtree", "brute", "pynndescent"}
        "auto" uses a k-d tree up to nine dimensions; above, exact blocked search up to 100,000
        points, and pynndescent (approximate, recall above .98) for more.
    apart : Apart, optional
        Pairs of rows that are not neighbours; the search is exact then.
    n_jobs : int, optional
        Threads; every core by default and for -1. pynndescent always uses one, because its result
        depends on their number.
    random_state : int, Generator or None
        Used only by pynndescent.

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
    if method == "auto" and (apart is not None or is_searched_exactly(*places.shape)):
        method = exact_method(places.shape[1])
    elif method == "auto":
        method = "pynndescent"
    rows = np.arange(len(places))
    if check_choice(method, "method", get_args(SearchMethod)) == "pynndescent":
        nearest = _search_pynndescent(places, n_neighbors + 1, workers, random_state)
        indices, distances = _without_self(*nearest, rows)
    else:
        search = EXACT[method](places, workers)
        if apart is not None:
            search = replace(search, apart=apart.rows(representative))
        indices, distances = _others(search, places, rows, n_neighbors)
    if place is not None:
        indices, distances = representative[indices][place], distances[place]
    return Neighbors(
        indices.astype(np.int32, copy=False), distances, method, len(points) - len(places)
    )


def neighbors_at(
    points: np.ndarray,
    rows: np.ndarray,
    n_neighbors: int,
    *,
    search: Search | None = None,
    n_jobs: int | None = None,
) -> Neighbors:
    """Find the nearest other points of some rows; all points must be distinct.

    Examples
    --------
    >>> neighbors_at(np.array([[0.0], [1.0], [3.0]]), np.array([2]), 1).indices
    array([[1]], dtype=int32)
    """
    search = searcher(points, n_jobs=n_jobs) if search is None else search
    return Neighbors(*_others(search, points, rows, n_neighbors), "exact")


def nearest_targets(
    points: np.ndarray, rows: np.ndarray, count: int, apart: Apart | None = None
) -> np.ndarray:
    """Find indices (r, count) of the nearest other points of a few rows, nearest first.

    All distances are computed, which is faster than a tree for a few rows. Of equally near points
    the one with the lower index comes first.

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
        if apart is not None:
            far[apart.between(rows[some], np.arange(len(points))[None])] = np.inf
        near = np.argpartition(far, count - 1, axis=1)[:, :count]
        near.sort(axis=1)  # so that the stable sort below keeps ties in the order of the points
        distances = exact_distances(points, near, points[rows[some]])
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
    block = max(1, 2**22 // n)  # rows per block: a working copy of 32 MB
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


def distinct_rows(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Find distinct rows in order of first appearance, their first indices, and the inverse.

    The inverse is None if all rows are distinct. One sorted column rules out duplicates in most
    data, at a small fraction of the cost of comparing whole rows.

    Examples
    --------
    >>> distinct_rows(np.array([[5.0], [2.0], [5.0]]))
    (array([[5.],
           [2.]]), array([0, 1]), array([0, 1, 0]))
    """
    spread = np.ptp(points[:1000], axis=0)  # a few rows show which column varies
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


def is_searched_exactly(n: int, d: int) -> bool:
    """Whether "auto" searches exactly for n points in d columns.

    Examples
    --------
    >>> is_searched_exactly(10**6, 3), is_searched_exactly(10**6, 50)
    (True, False)
    """
    return n <= BRUTE_MAX_POINTS or d <= KDTREE_MAX_DIMS


def _search_pynndescent(points: np.ndarray, count: int, n_jobs: int, random_state: Any) -> Nearest:
    seed = int(check_random_state(random_state).integers(2**31 - 1))
    index = import_compiled("pynndescent").NNDescent(
        (points - points.mean(axis=0)).astype(np.float32),
        n_neighbors=count,
        random_state=seed,
        n_jobs=1,
        low_memory=True,
    )
    indices = index.neighbor_graph[0]
    incomplete = np.flatnonzero((indices < 0).any(axis=1))
    if len(incomplete):  # the approximate search failed for these rows: search exactly
        indices[incomplete] = kdtree_search(points, n_jobs)(points[incomplete], count)[0]
    return sorted_exactly(points, indices, points)


def _others(search: Search, points: np.ndarray, rows: np.ndarray, count: int) -> Nearest:
    """Find the nearest other points of some rows, in blocks that limit the memory."""
    if (cached := search.cache.look_up(rows, count)) is not None:
        return cached
    if search.others and search.apart is None and is_sooner(len(points), points.shape[1], count):
        return search.cache.store(rows, len(points), search.others(rows, count))
    indices = np.empty((len(rows), count), np.int32)
    distances = np.empty((len(rows), count))
    order = search.order if search.order is not None and len(search.order) == len(rows) else None
    for block in blocks(len(rows), BLOCK_ROWS):
        some = block if order is None else order[block]
        if search.apart is not None:
            indices[some], distances[some] = _independent_neighbors(
                search, search.apart, points, rows[some], count
            )
            continue
        nearest = search(points[rows[some]], count + 1)
        indices[some], distances[some] = _without_self(*nearest, rows[some])
    return search.cache.store(rows, len(points), (indices, distances))


def _independent_neighbors(
    search: Search, apart: Apart, points: np.ndarray, rows: np.ndarray, count: int
) -> Nearest:
    """Find the nearest independent points of rows, doubling the search until there are enough."""
    n, most = len(points), apart.most()
    if n - most < count:
        raise InputError(
            f"{count} neighbours are needed of rows that are not kept apart; up to {most:,} of "
            f"{n:,} are, by groups or times: give more groups, a smaller window, or more rows."
        )
    indices = np.empty((len(rows), count), np.int32)
    distances = np.empty((len(rows), count))
    remaining, wanted = np.arange(len(rows)), 2 * count + 1
    while len(remaining):
        wanted = min(wanted, n, count + most)
        near, far = search(points[rows[remaining]], wanted)
        free = ~apart.between(rows[remaining], near)
        done = free.sum(axis=1) >= count
        order = np.argsort(~free[done], axis=1, kind="stable")[:, :count]
        indices[remaining[done]] = np.take_along_axis(near[done], order, axis=1)
        distances[remaining[done]] = np.take_along_axis(far[done], order, axis=1)
        remaining, wanted = remaining[~done], 2 * wanted
    return indices, distances


def _without_self(indices: np.ndarray, distances: np.ndarray, own: np.ndarray) -> Nearest:
    """Remove each row's own index from its neighbours, or the last entry if it is not there."""
    n, count = indices.shape
    if (indices[:, 0] == own).all():
        return indices[:, 1:], distances[:, 1:]
    keep = indices != own[:, None]
    keep[keep.all(axis=1), -1] = False
    return indices[keep].reshape(n, count - 1), distances[keep].reshape(n, count - 1)
