"""Symmetric neighbour graphs in CSR form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from geodis.base.check import InputError, check_finite, check_numeric, to_numpy
from geodis.base.jobs import check_jobs, njit
from geodis.manifold.local.neighbors import (
    Neighbors,
    SearchMethod,
    nearest_neighbors,
    neighbors_from_distances,
)

MAX_GRAPH_STEPS = 3
MIN_DEGREE = 8
# With K neighbours, about n exp(-K) gaps of a random sample of a curve are not bridged.
CURVE_DEGREE = 20


@dataclass(frozen=True)
class NeighborGraph:
    """A symmetric binary graph over n points.

    Attributes
    ----------
    adjacency : csr_array of float32, shape (n, n)
        One where two points are neighbours; symmetric, without self loops, columns sorted.
    n_pieces : int
        Number of connected components.
    piece : ndarray of int32, shape (n,)
        The component of each point, numbered from 0.
    method : str
        Origin of the edges: a search method, "precomputed" or "given".
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
        """Describe the graph in one line."""
        pieces = "connected" if self.n_pieces == 1 else f"{self.n_pieces} pieces"
        degrees = self.degrees
        return (
            f"graph of {self.n_points:,} points and {self.n_edges:,} edges ({self.method}), "
            f"{degrees.min()} to {degrees.max()} neighbours a point, {pieces}"
        )


def default_degree(dim: int) -> int:
    """Return the number of neighbours in the graph: 2k, at least 8."""
    return max(2 * dim, MIN_DEGREE)


def connecting_degree(dim: int) -> int:
    """Return the number of neighbours that keeps a sample of one component connected.

    Examples
    --------
    >>> connecting_degree(1), connecting_degree(2), connecting_degree(6)
    (20, 8, 12)
    """
    return CURVE_DEGREE if dim == 1 else default_degree(dim)


def neighbor_graph(
    points: Any = None,
    n_neighbors: int = 10,
    *,
    graph: Any = None,
    distances: Any = None,
    method: SearchMethod = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
) -> NeighborGraph:
    """Build the symmetric neighbour graph: an edge if either point is a neighbour of the other.

    Parameters
    ----------
    points : array-like of shape (n, d), optional
        Not needed with a graph or distances; if given too, n is checked.
    n_neighbors : int
        Neighbours of each point before symmetrisation.
    graph : sparse matrix, array of shape (n, n) or networkx graph, optional
        Known neighbours: any non-zero entry is an edge. The graph is made symmetric by union, and
        self loops are dropped.
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
    n_jobs = check_jobs(n_jobs, default=-1)
    n = None if points is None else len(points)
    if graph is not None:
        return _finish(_given_adjacency(graph, n), "given")
    if distances is not None:
        near = neighbors_from_distances(distances, n_neighbors, n_points=n)
    elif points is not None:
        near = nearest_neighbors(
            points, n_neighbors, method=method, n_jobs=n_jobs, random_state=random_state
        )
    else:
        raise InputError("A neighbour graph needs points, a graph or distances; got none.")
    return graph_of_neighbors(near, n_neighbors)


def graph_of_neighbors(neighbors: Neighbors, n_neighbors: int) -> NeighborGraph:
    """Build a symmetric graph from the first n_neighbors columns of neighbours."""
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


def neighbors_in_graph(points: np.ndarray, graph: NeighborGraph, n_neighbors: int) -> Neighbors:
    """Find the nearest points within a few steps along a given graph.

    Neighbourhoods grow along edges, by two steps, or three if two do not reach enough points.

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
            f"Tangents need {n_neighbors} neighbours per point within {MAX_GRAPH_STEPS} steps of "
            f"the given graph; got a point with {least}. Give a denser graph."
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


def graph_among(graph: NeighborGraph, rows: np.ndarray, n: int) -> NeighborGraph:
    """Extend a graph of some points to all n, with the others isolated.

    Parameters
    ----------
    graph : NeighborGraph
    rows : ndarray of int, ascending
        The points of the graph.
    n : int

    Examples
    --------
    >>> pair = neighbor_graph(graph=[[0, 1], [1, 0]])
    >>> graph_among(pair, np.array([0, 2]), 3).piece
    array([0, 1, 0], dtype=int32)
    """
    edges = sparse.coo_array(graph.adjacency)
    adjacency = sparse.csr_array(
        (edges.data, (rows[edges.coords[0]], rows[edges.coords[1]])), shape=(n, n)
    )
    return _finish(_symmetric(adjacency), graph.method)


def _given_adjacency(graph: Any, n: int | None) -> sparse.csr_array:
    """Check a given graph and convert it to a symmetric binary matrix."""
    if hasattr(graph, "adj") and hasattr(graph, "nodes"):
        import networkx

        graph = networkx.to_scipy_sparse_array(graph, weight=None, format="csr")
    if isinstance(graph, NeighborGraph):
        graph = graph.adjacency
    if not sparse.issparse(graph):
        graph = check_numeric(to_numpy(graph, "graph"), "graph")
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        raise InputError(f"graph must have shape (n, n); got shape {graph.shape}.")
    if n is not None and graph.shape[0] != n:
        raise InputError(f"graph must have a row for each of the {n} points; got {graph.shape[0]}.")
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
    """Return the union of a binary graph with its transpose, without self loops."""
    union = sparse.csr_array(adjacency.maximum(adjacency.T))
    if union.diagonal().any():
        union.setdiag(0)
        union.eliminate_zeros()
    union.sort_indices()
    if union.nnz < 2**31:  # one integer type, so that compiled code is compiled once
        union.indptr = union.indptr.astype(np.int32)
        union.indices = union.indices.astype(np.int32)
    return union


def _finish(adjacency: sparse.csr_array, method: str) -> NeighborGraph:
    piece = _pieces(adjacency.indptr, adjacency.indices)
    return NeighborGraph(adjacency, int(piece.max(initial=-1)) + 1, piece, method)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _pieces(starts: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Label connected components in the order of their first points.

    Unlike scipy's search, this holds no further copies of the graph.
    """
    n = len(starts) - 1
    piece = np.full(n, -1, np.int32)
    stack = np.empty(n, np.int32)
    found = 0
    for first in range(n):
        if piece[first] >= 0:
            continue
        piece[first] = found
        stack[0] = first
        waiting = 1
        while waiting:
            waiting -= 1
            point = stack[waiting]
            for edge in range(starts[point], starts[point + 1]):
                target = targets[edge]
                if piece[target] < 0:
                    piece[target] = found
                    stack[waiting] = target
                    waiting += 1
        found += 1
    return piece
