"""Weighted least squares of differences along the edges of a graph, as used for unrolling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.linalg import solveh_banded
from scipy.sparse.csgraph import reverse_cuthill_mckee

from geodis.base.jobs import njit
from geodis.manifold.local.graph import NeighborGraph

MAX_STEPS = 3000
# Relative ridge on the diagonal in the direct solution: the graph may be disconnected where weights
# are zero. The smallest eigenvalue of the largest circle that fits into the band is 1e-7.
RIDGE = 1e-11
# Largest number of entries of a band matrix that is solved directly (32 MB).
BAND_ENTRIES = 2**22


@dataclass(frozen=True)
class Edges:
    """The undirected edges of a graph, each listed once with i < j.

    Attributes
    ----------
    i, j : ndarray of int, shape (e,)
    n : int
        Number of points.
    """

    i: np.ndarray
    j: np.ndarray
    n: int

    def __len__(self) -> int:
        return len(self.i)

    @cached_property
    def _numbers(self) -> sparse.csr_array:
        """The symmetric matrix (n, n) that holds the number of every edge."""
        e = np.arange(len(self.i))
        ends = np.concatenate([self.i, self.j]), np.concatenate([self.j, self.i])
        return sparse.csr_array((np.concatenate([e, e]), ends), shape=(self.n, self.n))

    @cached_property
    def line(self) -> tuple[np.ndarray, int]:
        """Position of every point in a bandwidth-reducing order, and the bandwidth."""
        order = reverse_cuthill_mckee(self.symmetric(np.ones(len(self))), symmetric_mode=True)
        place = np.empty(self.n, np.int64)
        place[order] = np.arange(self.n)
        return place, int(np.abs(place[self.i] - place[self.j]).max(initial=0))

    def difference(self, values: np.ndarray) -> np.ndarray:
        """The gradient y_j - y_i, shape (e, c)."""
        return values[self.j] - values[self.i]

    def gather(self, on_edges: np.ndarray) -> np.ndarray:
        """The adjoint of the gradient: incoming minus outgoing values at every point."""
        return np.stack(
            [
                np.bincount(self.j, column, self.n) - np.bincount(self.i, column, self.n)
                for column in on_edges.T
            ],
            axis=1,
        )

    def sum_at_points(self, on_edges: np.ndarray) -> np.ndarray:
        """Sum over the edges at every point, shape (n,)."""
        return np.bincount(self.i, on_edges, self.n) + np.bincount(self.j, on_edges, self.n)

    def mean_at_points(self, on_edges: np.ndarray) -> np.ndarray:
        """Mean over the edges at every point, shape (n,)."""
        count = self.sum_at_points(np.ones(len(self)))
        return self.sum_at_points(on_edges) / np.maximum(count, 1)

    def symmetric(self, on_edges: np.ndarray) -> sparse.csr_array:
        """The symmetric matrix (n, n) with the given values on the edges."""
        own = self._numbers
        return sparse.csr_array((on_edges[own.data], own.indices, own.indptr), own.shape)


def edges_of(graph: NeighborGraph) -> Edges:
    """List every edge of a graph once.

    Examples
    --------
    >>> from geodis import neighbor_graph
    >>> edges = edges_of(neighbor_graph(graph=[[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> edges.i.tolist(), edges.j.tolist()
    ([0, 1], [1, 2])
    """
    row = np.repeat(np.arange(graph.n_points, dtype=np.int64), graph.degrees)
    column = graph.adjacency.indices
    once = row < column
    return Edges(row[once], column[once].astype(np.int64), graph.n_points)


def solve_differences(
    edges: Edges,
    wanted: np.ndarray,
    weights: np.ndarray,
    start: np.ndarray | None = None,
    *,
    tolerance: float = 1e-6,
) -> np.ndarray:
    """Find values at the points whose differences along the edges fit the wanted ones best.

    Minimises ``sum_e w_e |y_j - y_i - c_e|^2`` by conjugate gradients with a diagonal
    preconditioner. The mean of every column is zero. On a curve, conjugate gradients would need as
    many steps as there are points, so a direct band solution precedes them.

    Parameters
    ----------
    edges : Edges
    wanted : ndarray of shape (e, c)
    weights : ndarray of shape (e,)
        Nonnegative.
    start : ndarray of shape (n, c), optional
    tolerance : float
        Tolerance of the residual relative to the right-hand side.

    Returns
    -------
    ndarray of shape (n, c)

    Examples
    --------
    >>> path = Edges(np.array([0, 1]), np.array([1, 2]), 3)
    >>> solve_differences(path, np.array([[1.0], [2.0]]), np.ones(2)).ravel().round(6).tolist()
    [-1.333333, -0.333333, 1.666667]
    """
    off = edges.symmetric(weights)
    diagonal = off @ np.ones(edges.n)
    diagonal[diagonal == 0] = 1.0
    right = edges.gather(wanted * weights[:, None])
    values = np.zeros_like(right) if start is None else start.copy()
    residual = right - (diagonal[:, None] * values - off @ values)
    if _is_curve(edges):
        values += _solved_along(edges, weights, diagonal, residual)
        residual = right - (diagonal[:, None] * values - off @ values)
    enough = tolerance**2 * np.maximum((right**2 / diagonal[:, None]).sum(axis=0), 1e-300)
    columns, residual = np.ascontiguousarray(values.T), np.ascontiguousarray(residual.T)
    _descend(off.indptr, off.indices, off.data, diagonal, residual, columns, enough)
    values = np.ascontiguousarray(columns.T)
    return values - values.mean(axis=0)


def _is_curve(edges: Edges) -> bool:
    """Whether the points have an order of small bandwidth, as on a curve but not on a surface."""
    _, longest = edges.line
    return longest**2 <= edges.n and (longest + 1) * edges.n <= BAND_ENTRIES


def _solved_along(
    edges: Edges, weights: np.ndarray, diagonal: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Solve by the Cholesky factors of a band matrix, with the points ordered along the curve."""
    place, longest = edges.line
    i, j = place[edges.i], place[edges.j]
    band = np.zeros((longest + 1, edges.n))
    band[0, place] = diagonal * (1 + RIDGE)
    band[np.abs(i - j), np.minimum(i, j)] = -weights
    ordered = np.empty_like(right)
    ordered[place] = right
    solved = solveh_banded(band, ordered, overwrite_ab=True, lower=True, check_finite=False)
    found: np.ndarray = solved[place]
    return found


@njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc"}, error_model="numpy")
def _descend(indptr, indices, data, diagonal, residuals, columns, enough):  # type: ignore[no-untyped-def]
    """Run conjugate gradients on each column (c, n) until its residual is small."""
    n = len(diagonal)
    image, direction = np.empty(n), np.empty(n)
    for f in range(len(columns)):
        residual, values = residuals[f], columns[f]
        energy = 0.0
        for i in range(n):
            direction[i] = residual[i] / diagonal[i]
            energy += residual[i] * direction[i]
        for _ in range(MAX_STEPS):
            if not energy > enough[f]:
                break
            curvature = 0.0
            for i in range(n):
                total = diagonal[i] * direction[i]
                for e in range(indptr[i], indptr[i + 1]):
                    total -= data[e] * direction[indices[e]]
                image[i] = total
                curvature += direction[i] * total
            step = energy / max(curvature, 1e-300) if curvature > 0 else 0.0
            new = 0.0
            for i in range(n):
                values[i] += step * direction[i]
                residual[i] -= step * image[i]
                image[i] = residual[i] / diagonal[i]
                new += residual[i] * image[i]
            turn = new / max(energy, 1e-300)
            for i in range(n):
                direction[i] = turn * direction[i] + image[i]
            energy = new
