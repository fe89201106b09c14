"""Points of a flat part -> the graph along which it is unrolled."""

from __future__ import annotations

import numpy as np

from geodis.manifold.flat.periods import Periods, find_periods
from geodis.manifold.flat.unroll import parallel_frame, unrolled_coordinates
from geodis.manifold.local.graph import NeighborGraph, graph_of_neighbors
from geodis.manifold.local.neighbors import nearest_neighbors

MIN_DEGREE, MAX_DEGREE = 10, 400
# On a curve many neighbours are shortcuts, and few leave it in pieces: these are tried.
CURVE_DEGREES = (2, 3, 4, 6, 8, 12, 20)
# Of so many points twenty are a short piece of the curve, and need not be tried.
MANY_ON_CURVE = 1000
# Residuals that grow by so much with more neighbours, and matter, will not fall again.
WORSE, NEGLIGIBLE = 2.0, 1e-3
# Of the points in the largest piece: enough to leave the others rather than to join them by long
# edges.
NEARLY_ALL = 0.95


def unrolled_with_periods(
    points: np.ndarray, subspaces: np.ndarray, graph: NeighborGraph
) -> Periods:
    """The unrolling of all points of a connected graph, with its closed directions."""
    return find_periods(unrolled_coordinates(points, parallel_frame(subspaces, graph), graph))


def curve_graph(
    points: np.ndarray, tangents: np.ndarray, n_jobs: int, rng: np.random.Generator
) -> NeighborGraph | None:
    """The neighbours with which a curve hangs together and unrolls best; None if none do.

    A neighbour across a bend is a shortcut whose step no coordinate explains, so the residual
    grows with the number of neighbours; under noise it falls, because longer steps are less of
    it.
    """
    most = min(CURVE_DEGREES[-1], len(points) - 1)
    near = nearest_neighbors(points, most, n_jobs=n_jobs, random_state=rng)
    best, least = None, (True, np.inf)
    for degree in CURVE_DEGREES:
        graph = graph_of_neighbors(near, min(degree, most))
        if graph.n_pieces > 1:
            continue
        periods = unrolled_with_periods(points, tangents, graph)
        rel = periods.unrolling.rel
        if rel > max(WORSE * least[1], NEGLIGIBLE):
            break
        # A circle with a gap that few neighbours do not bridge unrolls too, as an interval.
        if (found := (not len(periods), rel)) < least:
            best, least = graph, found
    return best


def connected_graph(
    points: np.ndarray, f: int, n_neighbors: int | None, n_jobs: int, rng: np.random.Generator
) -> NeighborGraph:
    """Nearest neighbours, more where layers of a grid leave pieces of many points each."""
    most = len(points) - 1
    degree = n_neighbors or (CURVE_DEGREES[-1] if f == 1 else max(2 * f, MIN_DEGREE))
    while True:
        degree = min(degree, most)
        near = nearest_neighbors(points, degree, n_jobs=n_jobs, random_state=rng)
        graph = graph_of_neighbors(near, degree)
        largest = np.bincount(graph.piece).max()
        if largest > NEARLY_ALL * len(points) or degree >= min(MAX_DEGREE, most):
            return graph
        degree *= 2
