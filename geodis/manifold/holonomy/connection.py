"""Parallel transport along the edges and around the loops of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, dijkstra

from geodis.base.check import check_int, check_random_state
from geodis.base.jobs import njit, over_ranges
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.graph import NeighborGraph

# Newton-Schulz multiplies a small singular value by 1.5 per step, so twelve steps bring .03 to one.
# Tangent spaces that are closer to orthogonal carry no information.
MAX_STEPS = 12
TOLERANCE = 1e-6


def connection(
    frames: np.ndarray, graph: NeighborGraph, *, n_jobs: int | None = None
) -> np.ndarray:
    """Compute the transport between the tangent spaces of neighbours for every directed edge.

    ``Q_ij`` is the orthogonal polar factor of ``U_i U_j^T``, where rows of U are tangent
    directions. It maps coordinates in the frame of j to coordinates in the frame of i
    (algorithm 1, step 2), so that ``Q_ji = Q_ij^T``.

    Parameters
    ----------
    frames : ndarray of shape (n, k, d)
    graph : NeighborGraph
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    ndarray of float32, shape (e, k, k)
        In the order of the graph's CSR entries, both directions of every edge. Directions in
        which two tangent spaces are orthogonal to within .03 have a length below one.

    Examples
    --------
    >>> from geodis import neighbor_graph
    >>> frames = np.array([[[1.0, 0.0]], [[0.6, 0.8]], [[-1.0, 0.0]]])
    >>> graph = neighbor_graph(graph=[[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> connection(frames, graph).ravel()
    array([ 1.,  1., -1., -1.], dtype=float32)
    """
    adjacency = graph.adjacency
    return transports_between(frames, frames, adjacency.indptr, adjacency.indices, n_jobs=n_jobs)


def transports_between(
    to_frames: np.ndarray,
    from_frames: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Compute polar factors of U_i V_j^T for the entries (i, j) of a CSR pattern: (e, k, k)."""
    k = to_frames.shape[1]
    transports = np.empty((len(indices), k, k), np.float32)
    single = np.ascontiguousarray(to_frames, dtype=np.float32)
    other = single
    if from_frames is not to_frames:
        other = np.ascontiguousarray(from_frames, dtype=np.float32)
    indices = indices.astype(np.int32, copy=False)
    over_ranges(
        lambda start, stop: _polar_products(
            start, stop, single, other, indptr, indices, transports
        ),
        len(indptr) - 1,
        n_jobs,
    )
    return transports


@njit(nogil=True, cache=True, fastmath={"contract", "nsz"}, error_model="numpy")
def _polar_products(start, stop, to_frames, from_frames, indptr, indices, transports):  # type: ignore[no-untyped-def]
    _, k, d = to_frames.shape
    X = np.empty((k, k), np.float32)
    step = np.empty((k, k), np.float32)
    new = np.empty((k, k), np.float32)
    for i in range(start, stop):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            for a in range(k):
                for b in range(k):
                    total = np.float32(0.0)
                    for c in range(d):
                        total += to_frames[i, a, c] * from_frames[j, b, c]
                    X[a, b] = total
            for _ in range(MAX_STEPS):
                # X <- X (1.5 I - 0.5 X^T X)
                worst = np.float32(0.0)
                for a in range(k):
                    for b in range(a + 1):
                        total = np.float32(0.0)
                        for c in range(k):
                            total += X[c, a] * X[c, b]
                        defect = -total
                        if a == b:
                            defect += np.float32(1.0)
                        worst = max(worst, abs(defect))
                        step[a, b] = np.float32(0.5) * defect
                        step[b, a] = step[a, b]
                if worst < TOLERANCE:
                    break
                for a in range(k):
                    for b in range(k):
                        total = X[a, b]
                        for c in range(k):
                            total += X[a, c] * step[c, b]
                        new[a, b] = total
                for a in range(k):
                    for b in range(k):
                        X[a, b] = new[a, b]
            for a in range(k):
                for b in range(k):
                    transports[e, a, b] = X[a, b]


# Most points of the breadth-first tree of `loop_holonomy`.
MAX_POINTS = 20_000


@dataclass(frozen=True)
class Holonomy:
    """Parallel transport around loops of the graph.

    Attributes
    ----------
    angles : ndarray of shape (loops, m)
        Largest angle by which transport rotates a direction of each factor: near zero for a flat
        factor, spread over [0, pi] for a curved one.
    leakage : ndarray of shape (loops,)
        Sine of the angle by which transport moves directions out of their factor: near zero if
        the factors are right.
    lengths : ndarray of int, shape (loops,)
        Number of edges of each loop.
    """

    angles: np.ndarray
    leakage: np.ndarray
    lengths: np.ndarray

    def __str__(self) -> str:
        """Describe the angles, one line per factor."""
        lines = [f"{len(self.angles)} loops of {np.median(self.lengths):.0f} edges (median)"]
        for j, column in enumerate(self.angles.T):
            low, middle, high = np.degrees(np.quantile(column, [0.1, 0.5, 0.9]))
            lines.append(
                f"factor {j}: turned by {middle:.1f} degrees (median; 10 % {low:.1f}, "
                f"90 % {high:.1f})"
            )
        return "\n".join(lines)


def loop_holonomy(
    axes: np.ndarray,
    factor_dims: tuple[int, ...],
    graph: NeighborGraph,
    *,
    n_loops: int = 500,
    random_state: Any = 0,
) -> Holonomy:
    """Compute the transport around fundamental loops of a breadth-first tree.

    Every edge outside the tree closes a loop through the root. With the transport T from each
    point to the root along the tree, that around the loop of edge (i, j) is
    ``H = T_i Q_ij T_j^T``, in the axes at the root.

    Parameters
    ----------
    axes : ndarray of shape (n, k, d)
        Rows grouped by factor.
    factor_dims : tuple of int
    graph : NeighborGraph
        Of the same points; up to 20,000 points of its largest component are used.
    n_loops : int
    random_state : int, Generator or None

    Returns
    -------
    Holonomy
    """
    rng = check_random_state(random_state)
    n_loops = check_int(n_loops, "n_loops", low=1)
    n, k, _ = axes.shape
    adjacency = graph.adjacency
    root = int(rng.choice(np.flatnonzero(graph.piece == np.argmax(np.bincount(graph.piece)))))
    order, parent = breadth_first_order(adjacency, root, directed=False)
    order = order[:MAX_POINTS]
    to_root = np.zeros((n, k, k))
    to_root[root] = np.eye(k)
    depth = dijkstra(adjacency, indices=root, unweighted=True)
    levels = depth[order].astype(int)
    for level in range(1, levels.max() + 1):
        points = order[levels == level]
        above = parent[points]
        steps = _transports(axes, above, points)  # from the point to its parent
        to_root[points] = to_root[above] @ steps
    inside = np.zeros(n, bool)
    inside[order] = True
    row = np.repeat(np.arange(n), graph.degrees)
    column = adjacency.indices
    closes = (row < column) & inside[row] & inside[column]
    closes &= (parent[row] != column) & (parent[column] != row)
    edges = np.flatnonzero(closes)
    edges = rng.choice(edges, min(n_loops, len(edges)), replace=False)
    i, j = row[edges], column[edges]
    around = to_root[i] @ _transports(axes, i, j) @ np.swapaxes(to_root[j], 1, 2)
    angles = np.empty((len(edges), len(factor_dims)))
    kept = np.zeros(len(edges))
    bounds = np.cumsum((0, *factor_dims))
    for f, (start, stop) in enumerate(pairwise(bounds)):
        block = around[:, start:stop, start:stop]
        kept += (block**2).sum(axis=(1, 2))
        turns = np.linalg.eigvals(polar_rows(block))
        angles[:, f] = np.abs(np.angle(turns)).max(axis=1)
    leakage = np.sqrt(np.maximum(1.0 - kept / k, 0.0))
    return Holonomy(angles, leakage, (depth[i] + depth[j] + 1).astype(int))


def _transports(axes: np.ndarray, to: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """Compute transports from points `origin` to points `to` for each pair, (p, k, k)."""
    indptr = np.arange(len(to) + 1, dtype=np.int32)
    places = np.arange(len(to), dtype=np.int32)
    return transports_between(axes[to], axes[origin], indptr, places).astype(float)
