"""Isometric coordinates of a flat part of a manifold, by unrolling along a parallel frame.

On a flat factor, parallel transport around loops is trivial, so a frame at one point extends to a
parallel frame at all points. In this frame, displacements between neighbours are differences of
isometric coordinates, which are unique up to a rotation and a shift.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.csgraph import dijkstra

from geodis.base.check import InputError, check_points, to_numpy
from geodis.base.jobs import blocks
from geodis.manifold.flat.differences import Edges, edges_of, solve_differences
from geodis.manifold.linalg import polar_rows, products_of_pairs
from geodis.manifold.local.graph import NeighborGraph

# Added to the misfit of two tangent spaces, so that the best edges do not dominate.
MISFIT_FLOOR = 0.02
FRAME_ROUNDS, FRAME_TOLERANCE = 4, 1e-4
# Residuals this many times the median are outliers (Cauchy weights).
CAUCHY = 3.0
COORDINATE_ROUNDS = 3
EDGE_BLOCK = 2**16


@dataclass(frozen=True)
class ParallelFrame:
    """A frame transported to every point.

    Attributes
    ----------
    frames : ndarray of shape (n, f, d)
        ``frames[j] frames[i]^T`` is nearly the identity for neighbours i and j.
    misfit : ndarray of shape (e,)
        ``f - |U_i U_j^T|^2`` on every edge: zero where the tangent spaces agree.
    tree : ndarray of int, shape (n,)
        Parent of every point in the tree of best transports; the root is its own parent.
    hol : float
        Root mean square rotation between neighbouring frames, in radians, without the misfit of
        their spans. It measures holonomy and is near zero where the subspaces are flat.
    """

    frames: np.ndarray
    misfit: np.ndarray
    tree: np.ndarray
    hol: float


@dataclass(frozen=True)
class Unrolling:
    """Isometric coordinates of a flat part.

    Attributes
    ----------
    coordinates : ndarray of shape (n, f)
        Mean zero, along the rows of `frames`.
    frames : ndarray of shape (n, f, d)
        The parallel frame: derivatives of the points along the coordinates.
    steps : ndarray of shape (e, f)
        Wanted difference of coordinates along every edge.
    base : ndarray of shape (e,)
        Weights of the edges before robust reweighting.
    weights : ndarray of shape (e,)
        Weights in the last round.
    rel : float
        Weighted share of the squared steps that the coordinates do not explain.
    hol : float
        Rotation of the parallel frame between neighbours.
    turn : float
        ``hol`` times the width of the coordinates in edges: the rotation from one end to the
        other, in radians. It is near zero on a flat part and of order one or more on a curved one
        at any density of points, whereas `hol` (and `rel` on a part of a sphere) may be small.
    edges : Edges
    tree : ndarray of int, shape (n,)
    """

    coordinates: np.ndarray
    frames: np.ndarray
    steps: np.ndarray
    base: np.ndarray
    weights: np.ndarray
    rel: float
    hol: float
    turn: float
    edges: Edges
    tree: np.ndarray


def parallel_frame(subspaces: Any, graph: NeighborGraph) -> ParallelFrame:
    r"""Rotate the frames of flat subspaces so that neighbouring frames agree.

    A frame is transported from the root along a tree of shortest paths. An edge has the cost
    ``(q_ij + max(q_i, q_j) / 2)^2`` with ``q_ij = f - |U_i U_j^T|^2 + .02`` and q_i the mean at
    point i, so that poor tangents are leaves of the tree. Then, a few times, with G = E_j E_i^T on
    every edge, skew matrices A at the points minimise::

        sum_ij w_ij |A_j - A_i + (G - G^T) / 2|^2,      w_ij = median(q) / q_ij, Cauchy

    and every frame is rotated by the Cayley transform of its A.

    Parameters
    ----------
    subspaces : array-like of shape (n, f, d)
        Orthonormal rows spanning the flat part of the tangent space at every point.
    graph : NeighborGraph
        Connected.

    Returns
    -------
    ParallelFrame

    Examples
    --------
    >>> from geodis import neighbor_graph
    >>> angle = np.array([0.0, 0.3, 0.6])
    >>> frames = np.stack([-np.sin(angle), np.cos(angle)], axis=1)[:, None]
    >>> frames[1] *= -1
    >>> path = neighbor_graph(graph=[[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> turned = parallel_frame(frames, path).frames[:, 0]
    >>> bool((turned[:-1] * turned[1:]).sum(axis=1).min() > 0.9)
    True
    """
    subspaces, edges = _check(subspaces, graph)
    f = subspaces.shape[1]
    overlap = _products(subspaces, edges.j, edges.i)
    # Without the floor, the misfit is negative by rounding only.
    q = np.maximum(f - (overlap**2).sum(axis=(1, 2)), 0.0) + MISFIT_FLOOR
    tree = _best_tree(q, edges)
    frames = _transported(subspaces, tree)
    base = np.median(q) / q
    weights = base
    last = np.inf
    for _ in range(FRAME_ROUNDS if f > 1 else 0):
        skew = _skew_part(_products(frames, edges.j, edges.i))
        turn = solve_differences(edges, -skew, weights, tolerance=1e-4)
        residual = np.sqrt(((edges.difference(turn) + skew) ** 2).sum(axis=1))
        weights = base / (1 + (residual / (CAUCHY * np.median(residual) + 1e-12)) ** 2)
        frames = _cayley(turn, f) @ frames
        size = float(np.sqrt((turn**2).sum(axis=1).mean()))
        if size < FRAME_TOLERANCE or size > 0.5 * last:
            break
        last = size
    return ParallelFrame(frames, q - MISFIT_FLOOR, tree, _holonomy(frames, edges, base))


def unrolled_coordinates(points: Any, frame: ParallelFrame, graph: NeighborGraph) -> Unrolling:
    r"""Integrate displacements in the parallel frame to coordinates.

    For an edge let v_i = E_i (x_j - x_i), v_j = E_j (x_j - x_i) and G = E_j E_i^T. The wanted
    step is their mean, corrected for the leading bias of the chord::

        c_ij = (v_i + v_j) / 2 + ((v_i + v_j) - G v_i - G^T v_j) / 6

    and the coordinates minimise ``sum w_ij |u_j - u_i - c_ij|^2`` with weights
    ``(median(q) / q_ij) / (1 + (h_ij / 2 median(h))^4)``, where h is the length of the edge. In
    three rounds of reweighting, edges with large residuals lose weight.

    Parameters
    ----------
    points : array-like of shape (n, d)
    frame : ParallelFrame
    graph : NeighborGraph
        The graph of the frame.

    Returns
    -------
    Unrolling

    Examples
    --------
    >>> from geodis import neighbor_graph
    >>> angle = np.linspace(0, 3, 40)
    >>> arc = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> tangent = np.column_stack([-arc[:, 1], arc[:, 0]])[:, None]
    >>> graph = neighbor_graph(arc, 4)
    >>> u = unrolled_coordinates(arc, parallel_frame(tangent, graph), graph).coordinates
    >>> bool(abs(np.ptp(u) - 3) < 1e-4)  # the length of the arc
    True
    """
    points = check_points(points)
    edges = edges_of(graph)
    frames = frame.frames
    if len(points) != len(frames):
        raise InputError(f"points must have a row for each of {len(frames)}; got {len(points)}.")
    steps = steps_along(points, frames, edges)
    q = frame.misfit + MISFIT_FLOOR
    length = np.sqrt(((points[edges.j] - points[edges.i]) ** 2).sum(axis=1))
    base = (np.median(q) / q) / (1 + (length / (2 * np.median(length))) ** 4)
    start = along_tree(steps, frame.tree, edges)
    coordinates, weights = integrate(edges, steps, base, start)
    rel = unexplained(edges.difference(coordinates) - steps, steps, weights)
    step = np.median(np.sqrt((steps**2).sum(axis=1)))
    width = np.sqrt((coordinates.var(axis=0)).sum())
    turn = float(frame.hol * width / max(step, 1e-300))
    return Unrolling(
        coordinates, frames, steps, base, weights, rel, frame.hol, turn, edges, frame.tree
    )


def integrate(
    edges: Edges, steps: np.ndarray, base: np.ndarray, start: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Integrate steps by reweighted least squares; also return the last weights."""
    weights, values = base, start
    # A floor for the scale of residuals, which is zero or rounding where most edges fit exactly.
    least = 1e-8 * np.sqrt((steps**2).sum(axis=1).max()) + 1e-150
    for _ in range(COORDINATE_ROUNDS):
        values = solve_differences(edges, steps, weights, values, tolerance=1e-5)
        residual = np.sqrt(((edges.difference(values) - steps) ** 2).sum(axis=1))
        typical = np.median(residual[base > 0]) if (base > 0).any() else 0.0
        weights = base / (1 + (residual / (CAUCHY * typical + least)) ** 2)
    assert values is not None
    return values, weights


def along_tree(steps: np.ndarray, tree: np.ndarray, edges: Edges) -> np.ndarray:
    """Sum the steps from the root to every point, by pointer doubling."""
    n = len(tree)
    own = np.flatnonzero(tree != np.arange(n))
    key = np.minimum(own, tree[own]) * n + np.maximum(own, tree[own])
    known = edges.i * n + edges.j  # ascending: rows of a CSR matrix with sorted columns
    place = np.searchsorted(known, key)
    total = np.zeros((n, steps.shape[1]))
    total[own] = np.where((edges.i[place] == own)[:, None], -steps[place], steps[place])
    ancestor = tree.copy()
    while (ancestor != (above := ancestor[ancestor])).any():
        total += total[ancestor]
        ancestor = above
    return total


def steps_along(points: np.ndarray, frames: np.ndarray, edges: Edges) -> np.ndarray:
    """Return the wanted coordinate differences along edges; see `unrolled_coordinates`."""
    steps = np.empty((len(edges), frames.shape[1]))
    for rows in blocks(len(edges), EDGE_BLOCK):
        i, j = edges.i[rows], edges.j[rows]
        chord = (points[j] - points[i])[..., None]
        at_i, at_j = frames[i] @ chord, frames[j] @ chord
        turn = products_of_pairs(frames, j, i)
        both = at_i + at_j
        bias = both - turn @ at_i - np.swapaxes(turn, 1, 2) @ at_j
        steps[rows] = (both / 2 + bias / 6)[..., 0]
    return steps


def _check(subspaces: Any, graph: NeighborGraph) -> tuple[np.ndarray, Edges]:
    subspaces = np.asarray(to_numpy(subspaces, "subspaces"), dtype=float)
    if subspaces.ndim != 3 or len(subspaces) != graph.n_points:
        raise InputError(
            f"subspaces must have shape (n, f, d), a row for each of the {graph.n_points} points "
            f"of the graph; got shape {subspaces.shape}."
        )
    if graph.n_pieces > 1:
        raise InputError(
            f"A parallel frame needs a connected graph; got {graph.n_pieces} pieces. "
            "Unroll each piece separately."
        )
    return subspaces, edges_of(graph)


def _products(frames: np.ndarray, to: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """Return E_to E_origin^T for every pair, shape (e, f, f)."""
    f = frames.shape[1]
    products = np.empty((len(to), f, f))
    for rows in blocks(len(to), EDGE_BLOCK):
        products[rows] = products_of_pairs(frames, to[rows], origin[rows])
    return products


def _best_tree(q: np.ndarray, edges: Edges) -> np.ndarray:
    """Shortest-path tree whose root is central among the points of the best quartile."""
    at_point = edges.mean_at_points(q)
    cost = (q + np.maximum(at_point[edges.i], at_point[edges.j]) / 2) ** 2
    matrix = edges.symmetric(cost)
    # Distances to the two ends of a longest path bound the eccentricity from below, so a point near
    # both ends is central.
    first = int(np.argmax(dijkstra(matrix, indices=int(np.argmin(at_point)))))
    from_first = dijkstra(matrix, indices=first)
    from_second = dijkstra(matrix, indices=int(np.argmax(from_first)))
    best = at_point <= np.quantile(at_point, 0.25)
    root = int(np.argmin(np.where(best, np.maximum(from_first, from_second), np.inf)))
    tree = dijkstra(matrix, indices=root, return_predecessors=True)[1].astype(np.int64)
    tree[root] = root
    return tree


def _transported(subspaces: np.ndarray, tree: np.ndarray) -> np.ndarray:
    """Transport the frame of the root down the tree, by pointer doubling."""
    # From the frame of every point to that of its parent, and in the end to that of the root.
    turn = polar_rows(_products(subspaces, tree, np.arange(len(tree))))
    ancestor = tree.copy()
    while (ancestor != (above := ancestor[ancestor])).any():
        turn = turn[ancestor] @ turn
        ancestor = above
    return polar_rows(turn) @ subspaces


def _skew_part(products: np.ndarray) -> np.ndarray:
    """Return the entries above the diagonal of (G - G^T) / 2, shape (e, f (f - 1) / 2)."""
    a, b = np.triu_indices(products.shape[1], 1)
    return (products[:, a, b] - products[:, b, a]) / 2


def _cayley(turn: np.ndarray, f: int) -> np.ndarray:
    """Return the rotations (I - A / 2)^-1 (I + A / 2) of skew matrices A given by upper entries."""
    a, b = np.triu_indices(f, 1)
    skew = np.zeros((len(turn), f, f))
    skew[:, a, b], skew[:, b, a] = turn, -turn
    return np.linalg.solve(np.eye(f) - skew / 2, np.eye(f) + skew / 2)


def _holonomy(frames: np.ndarray, edges: Edges, weights: np.ndarray) -> float:
    """Return the root mean square rotation angle between neighbouring frames."""
    products = _products(frames, edges.j, edges.i)
    turn = polar_rows(products)
    squared = ((turn - np.eye(frames.shape[1])) ** 2).sum(axis=(1, 2)) / 2
    return float(np.sqrt((weights * squared).sum() / weights.sum()))


def unexplained(left: np.ndarray, steps: np.ndarray, weights: np.ndarray) -> float:
    """Return the weighted share of the squared steps in the residuals."""
    whole = (weights * (steps**2).sum(axis=1)).sum()
    return float((weights * (left**2).sum(axis=1)).sum() / max(whole, 1e-300))
