"""Points -> nearest neighbours -> a symmetric neighbour graph in CSR form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from geodis._check import (
    InputError,
    check_choice,
    check_finite,
    check_int,
    check_numeric,
    check_points,
    check_random_state,
    to_numpy,
)

METHODS = ("kdtree", "brute", "pynndescent")

# A k-d tree visits most of its leaves once there are about ten dimensions. Beyond, blocked
# matrix products are exact and beat pynndescent until their quadratic cost shows: at n = 100,000
# and d = 17 both take about half a minute on two cores, of which pynndescent spends most of 20 s
# on compiling itself anew in every process.
KDTREE_MAX_DIMS = 9
BRUTE_MAX_POINTS = 100_000
MAX_GRAPH_STEPS = 3
MIN_DEGREE = 8


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


@dataclass(frozen=True)
class NeighborGraph:
    """A symmetric binary graph over n points.

    Attributes
    ----------
    adjacency : csr_array of float32, shape (n, n)
        One where two points are neighbours; symmetric, without self loops, columns sorted.
    n_pieces : int
        Number of connected pieces.
    piece : ndarray of int32, shape (n,)
        The piece that each point belongs to, numbered from 0.
    method : str
        Where the edges came from: a search method, "precomputed" or "given".
    """

    adjacency: sparse.csr_array
    n_pieces: int
    piece: np.ndarray
    method: str

    @property
    def n_points(self) -> int:
        """Number of points n."""
        return self.adjacency.shape[0]

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return self.adjacency.nnz // 2

    @property
    def degrees(self) -> np.ndarray:
        """Number of neighbours of every point, shape (n,)."""
        return np.diff(self.adjacency.indptr)

    def __str__(self) -> str:
        """One line for people."""
        pieces = "connected" if self.n_pieces == 1 else f"{self.n_pieces} pieces"
        degrees = self.degrees
        return (
            f"graph of {self.n_points:,} points and {self.n_edges:,} edges ({self.method}), "
            f"{degrees.min()} to {degrees.max()} neighbours a point, {pieces}"
        )


def default_degree(dim: int) -> int:
    """Nearest neighbours in the graph: 2k, and enough in low dimension to hang together."""
    return max(2 * dim, MIN_DEGREE)


def nearest_neighbors(
    points: Any,
    n_neighbors: int,
    *,
    method: str = "auto",
    n_jobs: int = -1,
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
    n_jobs : int
        Threads; -1 for all. pynndescent always uses one: what it finds depends on their number.
    random_state : int, Generator or None
        Used by pynndescent alone.

    Returns
    -------
    Neighbors

    Examples
    --------
    >>> found = nearest_neighbors([[0.0], [1.0], [3.0], [3.0]], n_neighbors=2)
    >>> found.indices
    array([[1, 2],
           [0, 2],
           [1, 0],
           [1, 0]], dtype=int32)
    >>> found.method, found.n_duplicates
    ('kdtree', 1)
    """
    points = check_points(points)
    n_neighbors = check_int(n_neighbors, "n_neighbors", low=1)
    places, representative, place = distinct_rows(points)
    if len(places) <= n_neighbors:
        raise InputError(
            f"n_neighbors={n_neighbors} needs at least {n_neighbors + 1} distinct points; "
            f"{len(places)} came (n={len(points)})."
        )
    if method == "auto":
        method = _choose_method(*places.shape)
    search = _SEARCHES[check_choice(method, "method", ("auto", *METHODS))]
    found = search(places, n_neighbors + 1, n_jobs, random_state)
    indices = _without_self(found, np.arange(len(places)))
    if place is None:
        indices = indices.astype(np.int32)
        distances = _exact_distances(points, indices)
        return Neighbors(indices, distances, method)
    distances = _exact_distances(places, indices)[place]
    indices = representative[indices][place].astype(np.int32)
    return Neighbors(indices, distances, method, n_duplicates=len(points) - len(places))


def neighbor_graph(
    points: Any = None,
    n_neighbors: int = 10,
    *,
    graph: Any = None,
    distances: Any = None,
    method: str = "auto",
    n_jobs: int = -1,
    random_state: Any = None,
) -> NeighborGraph:
    """Build the symmetric neighbour graph: an edge where either point is near the other.

    Parameters
    ----------
    points : array-like of shape (n, d), optional
        Not needed when a graph or distances are given; if it comes too, its n is checked.
    n_neighbors : int
        Neighbours of each point before the union that makes the graph symmetric.
    graph : sparse matrix, array of shape (n, n) or networkx graph, optional
        True neighbours, when they are known: any non-zero entry is an edge. It is made symmetric
        by union, and its self loops are dropped.
    distances : array-like of shape (n, n), optional
        Precomputed distances, searched instead of the points.
    method, n_jobs, random_state
        As in `nearest_neighbors`.

    Returns
    -------
    NeighborGraph

    Examples
    --------
    >>> graph = neighbor_graph([[0.0], [1.0], [2.0], [9.0], [10.0]], n_neighbors=1)
    >>> print(graph)
    graph of 5 points and 3 edges (kdtree), 1 to 2 neighbours a point, 2 pieces
    >>> graph.piece
    array([0, 0, 0, 1, 1], dtype=int32)
    """
    n = None if points is None else len(points)
    if graph is not None:
        return _finish(_given_adjacency(graph, n), "given")
    if distances is not None:
        found = neighbors_from_distances(distances, n_neighbors, n_points=n)
    elif points is not None:
        found = nearest_neighbors(
            points, n_neighbors, method=method, n_jobs=n_jobs, random_state=random_state
        )
    else:
        raise InputError("A neighbour graph needs points, a graph or distances; none came.")
    return graph_of_neighbors(found, n_neighbors)


def graph_of_neighbors(neighbors: Neighbors, n_neighbors: int) -> NeighborGraph:
    """Turn the first n_neighbors columns of found neighbours into a symmetric graph."""
    indices = neighbors.indices[:, :n_neighbors]
    n, degree = indices.shape
    adjacency = sparse.csr_array(
        (
            np.ones(n * degree, np.float32),
            indices.ravel(),
            np.arange(0, n * degree + 1, degree, dtype=np.int64),
        ),
        shape=(n, n),
    )
    return _finish(_symmetric(adjacency), neighbors.method)


def searcher(targets: np.ndarray, *, n_jobs: int = -1) -> Callable[[np.ndarray, int], np.ndarray]:
    """Prepare exact searches among targets: a function of queries (q, d) and a count.

    The function returns the indices of the nearest targets, shape (q, count). A tree over many
    targets takes longer to build than to ask for a few queries, so build it once.

    Examples
    --------
    >>> search = searcher(np.array([[0.0], [5.0]]))
    >>> search(np.array([[4.0], [1.0]]), 1).ravel()
    array([1, 0])
    """
    if targets.shape[1] <= KDTREE_MAX_DIMS:
        from scipy.spatial import KDTree

        tree = KDTree(targets)

        def search(queries: np.ndarray, count: int) -> np.ndarray:
            found = tree.query(queries, count, workers=n_jobs)[1]
            return found.reshape(len(queries), count)

        return search
    return _brute_searcher(targets, n_jobs)


def neighbors_at(
    points: np.ndarray,
    rows: np.ndarray,
    n_neighbors: int,
    *,
    search: Callable[[np.ndarray, int], np.ndarray] | None = None,
    n_jobs: int = -1,
) -> Neighbors:
    """Nearest other points of some rows among all points, which must be distinct.

    Examples
    --------
    >>> neighbors_at(np.array([[0.0], [1.0], [3.0]]), np.array([2]), 1).indices
    array([[1]], dtype=int32)
    """
    search = searcher(points, n_jobs=n_jobs) if search is None else search
    indices = _without_self(search(points[rows], n_neighbors + 1), rows).astype(np.int32)
    return Neighbors(indices, _exact_distances(points, indices, rows), "exact")


def neighbors_in_graph(points: np.ndarray, graph: NeighborGraph, n_neighbors: int) -> Neighbors:
    """The nearest points among those within a few steps in a given graph.

    Where a graph is given because distances between far points mislead, neighbourhoods grow
    along its edges: two steps, or three where two do not reach enough points.

    Examples
    --------
    >>> path = neighbor_graph(graph=[[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> neighbors_in_graph(np.array([[0.0], [1.0], [1.5]]), path, 2).indices
    array([[1, 2],
           [2, 0],
           [1, 0]], dtype=int32)
    """
    reached = graph.adjacency
    for _ in range(MAX_GRAPH_STEPS - 1):
        reached = sparse.csr_array((reached + reached @ graph.adjacency) != 0, dtype=np.float32)
        reached.setdiag(0)
        reached.eliminate_zeros()
        least = int(np.diff(reached.indptr).min())
        if least >= n_neighbors:
            break
    else:
        raise InputError(
            f"Tangents need {n_neighbors} neighbours a point within {MAX_GRAPH_STEPS} steps of "
            f"the given graph; a point with {least} came. Give a denser graph."
        )
    row = np.repeat(np.arange(reached.shape[0]), np.diff(reached.indptr))
    distances = np.sqrt(((points[reached.indices] - points[row]) ** 2).sum(axis=1))
    order = np.lexsort((distances, row))
    nearest = reached.indptr[:-1, None] + np.arange(n_neighbors)  # rows are contiguous in order
    chosen = order[nearest]
    return Neighbors(
        reached.indices[chosen].astype(np.int32),
        np.maximum(distances[chosen], np.finfo(float).tiny),
        "given",
    )


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
        raise InputError(f"distances must have shape (n, n); shape {matrix.shape} came.")
    if n_points is not None and len(matrix) != n_points:
        raise InputError(
            f"distances must have a row for each of the {n_points} points; {len(matrix)} came."
        )
    check_finite(matrix, "distances")
    if (matrix < 0).any() or (matrix.diagonal() != 0).any() or not np.allclose(matrix, matrix.T):
        raise InputError("distances must be symmetric, non-negative and zero on the diagonal.")
    n = len(matrix)
    if check_int(n_neighbors, "n_neighbors", low=1) >= n:
        raise InputError(f"n_neighbors={n_neighbors} needs more than that many points; {n} came.")
    indices = np.empty((n, n_neighbors), np.int32)
    found = np.empty((n, n_neighbors))
    block = max(1, 2**22 // n)  # rows at a time: a working copy of 32 MB
    for start in range(0, n, block):
        rows = matrix[start : start + block].astype(float)
        inside = np.arange(len(rows))
        rows[inside, inside + start] = np.inf
        nearest = np.argpartition(rows, n_neighbors - 1, axis=1)[:, :n_neighbors]
        near = np.take_along_axis(rows, nearest, axis=1)
        order = np.lexsort((nearest, near), axis=1)
        indices[start : start + block] = np.take_along_axis(nearest, order, axis=1)
        found[start : start + block] = np.take_along_axis(near, order, axis=1)
    return Neighbors(indices, found, "precomputed")


def _choose_method(n: int, d: int) -> str:
    if d <= KDTREE_MAX_DIMS:
        return "kdtree"
    return "brute" if n <= BRUTE_MAX_POINTS else "pynndescent"


def _search_kdtree(points: np.ndarray, count: int, n_jobs: int, random_state: Any) -> np.ndarray:
    from scipy.spatial import KDTree

    return KDTree(points).query(points, count, workers=n_jobs)[1].reshape(len(points), count)


def _search_brute(points: np.ndarray, count: int, n_jobs: int, random_state: Any) -> np.ndarray:
    return _brute_searcher(points, n_jobs)(points, count)


def _brute_searcher(targets: np.ndarray, n_jobs: int) -> Callable[[np.ndarray, int], np.ndarray]:
    from sklearn.neighbors import NearestNeighbors

    # The search expands |a - b|^2, which loses digits far from the origin.
    centre = targets.mean(axis=0)
    brute = NearestNeighbors(algorithm="brute", n_jobs=n_jobs).fit(targets - centre)
    return lambda queries, count: brute.kneighbors(queries - centre, count, return_distance=False)


def _search_pynndescent(
    points: np.ndarray, count: int, n_jobs: int, random_state: Any
) -> np.ndarray:
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
        from scipy.spatial import KDTree

        indices[incomplete] = KDTree(points).query(points[incomplete], count)[1]
    return indices


_SEARCHES = {
    "kdtree": _search_kdtree,
    "brute": _search_brute,
    "pynndescent": _search_pynndescent,
}


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


def _without_self(indices: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Drop each row's own index from it, or the last entry where it is not there."""
    n, count = indices.shape
    keep = indices != own[:, None]
    keep[keep.all(axis=1), -1] = False
    return indices[keep].reshape(n, count - 1)


def _exact_distances(
    points: np.ndarray, indices: np.ndarray, rows: np.ndarray | slice = slice(None)
) -> np.ndarray:
    """Euclidean distances to the found neighbours, in float64 whatever the search used."""
    distances = np.zeros(indices.shape)
    for column in points.T:  # over the d columns: no (n, n_neighbors, d) temporary
        distances += (column[indices] - column[rows, None]) ** 2
    return np.sqrt(distances, out=distances)


def _given_adjacency(graph: Any, n: int | None) -> sparse.csr_array:
    """Check a caller's graph and turn it into a symmetric binary matrix."""
    if hasattr(graph, "adj") and hasattr(graph, "nodes"):
        import networkx

        graph = networkx.to_scipy_sparse_array(graph, weight=None, format="csr")
    if isinstance(graph, NeighborGraph):
        graph = graph.adjacency
    if not sparse.issparse(graph):
        graph = check_numeric(to_numpy(graph, "graph"), "graph")
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        raise InputError(f"graph must have shape (n, n); shape {graph.shape} came.")
    if n is not None and graph.shape[0] != n:
        raise InputError(
            f"graph must have a row for each of the {n} points; {graph.shape[0]} came."
        )
    weighted = sparse.csr_array(graph)
    check_finite(weighted.data, "graph")
    adjacency = _symmetric(sparse.csr_array(weighted != 0, dtype=np.float32))
    alone = int((np.diff(adjacency.indptr) == 0).sum())
    if alone:
        raise InputError(
            f"Every point needs a neighbour in the graph; {alone} of {adjacency.shape[0]} have "
            "none."
        )
    return adjacency


def _symmetric(adjacency: sparse.csr_array) -> sparse.csr_array:
    """Union of a binary graph with its transpose, without self loops."""
    union = sparse.csr_array(adjacency.maximum(adjacency.T))
    union.setdiag(0)
    union.eliminate_zeros()
    union.sort_indices()
    if union.nnz < 2**31:  # one integer type: compiled code downstream is compiled once
        union.indptr = union.indptr.astype(np.int32)
        union.indices = union.indices.astype(np.int32)
    return union


def _finish(adjacency: sparse.csr_array, method: str) -> NeighborGraph:
    n_pieces, piece = connected_components(adjacency, directed=False)
    return NeighborGraph(adjacency, int(n_pieces), piece, method)
