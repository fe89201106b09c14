"""Axes, graph -> what parallel transport around loops does to each factor."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, dijkstra

from geodis.base.check import check_int, check_random_state
from geodis.manifold.holonomy.connection import transports_between
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.graph import NeighborGraph

MAX_POINTS = 20_000


@dataclass(frozen=True)
class Holonomy:
    """Parallel transport around loops of the graph.

    Attributes
    ----------
    angles : ndarray of shape (loops, m)
        Largest angle by which the transport turns a direction of each factor: near zero for a
        flat factor, spread over [0, pi] for a curved one.
    leakage : ndarray of shape (loops,)
        Sine of the angle by which transport carries directions out of their factor: near zero
        when the factors are right.
    lengths : ndarray of int, shape (loops,)
        Edges of each loop.
    """

    angles: np.ndarray
    leakage: np.ndarray
    lengths: np.ndarray

    def __str__(self) -> str:
        """One line a factor."""
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
    """Transport around fundamental loops of a breadth-first tree from one point.

    Every edge that is not in the tree closes a loop through the root. The transport from each
    point to the root is composed along the tree; that around the loop of edge (i, j) is
    ``H = T_i Q_ij T_j^T``, in the axes at the root.

    Parameters
    ----------
    axes : ndarray of shape (n, k, d)
        Rows grouped by factor.
    factor_dims : tuple of int
    graph : NeighborGraph
        Of the same points; the piece of the root is used, up to 20,000 points around it.
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
    """Transports from points `origin` to points `to`, pair by pair, shape (p, k, k)."""
    indptr = np.arange(len(to) + 1, dtype=np.int32)
    places = np.arange(len(to), dtype=np.int32)
    return transports_between(axes[to], axes[origin], indptr, places).astype(float)
