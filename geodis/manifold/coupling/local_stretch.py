"""Steps and their maps -> at every point, how much longer a factor is there than its map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geodis.base.compiled import njit
from geodis.manifold.flat.differences import Edges
from geodis.manifold.maps.edge_steps import steps_within
from geodis.manifold.maps.factor_map import FactorMap

# Steps that turn by more than so many radians, all factors together, count less.
STEEP = 0.6
# A map that collapses a direction does not tell lengths along it: beyond, they are infinite.
LONGEST = 10.0
RIDGE = 1e-6


@dataclass(frozen=True)
class LocalStretch:
    """What lengths in one factor are beside those in its map, at every point that carries it.

    Attributes
    ----------
    positions : ndarray of shape (c, r)
        In the map.
    frames : ndarray of shape (c, r, k_j)
        Where the map takes the factor's axes.
    logs : ndarray of shape (c, k_j, k_j)
        Symmetric, in the frame: a unit step in the map along v is longer in the factor by the
        relative amount v^T L v, to first order. Zero where the map is isometric.
    scale : float
        How long steps are in the map, as a part of what they are in the factor: the median over
        the points.
    """

    positions: np.ndarray
    frames: np.ndarray
    logs: np.ndarray
    scale: float


def local_stretches(
    maps: Sequence[FactorMap],
    places: np.ndarray,
    axes: np.ndarray,
    rows: np.ndarray,
    edges: Edges,
    *,
    n_jobs: int | None = None,
) -> tuple[LocalStretch, ...]:
    """Compare steps along edges with those in the maps, all factors together.

    With c the step along an edge in all axes, u that in the frames of all maps, side by side, and
    A the regression of c on u over a point's edges, lengths in factor j alone, the others held
    still, have the metric ``G = A_j^T A_j`` in the coordinates of the map, where A_j are the
    columns of j; and ``L = log(G) / 2``.

    Parameters
    ----------
    maps : sequence of FactorMap
    places : ndarray of shape (n, d)
    axes : ndarray of shape (n, k, d)
        Of all factors, in the order of the maps.
    rows : ndarray of int, shape (c,)
        Points that carry every map.
    edges : Edges
        Between them.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    tuple of LocalStretch
        One for every map.
    """
    bounds = np.cumsum([0, *(own.dim for own in maps)])
    stops = bounds[1:-1]
    own_places = places[rows]
    positions = [own.coordinates[rows] for own in maps]
    frames = [_frames_at(own, rows) for own in maps]
    along, within = [], []
    for j, columns in enumerate(np.split(np.arange(bounds[-1]), stops)):
        own_axes = axes[np.ix_(rows, columns)]
        along.append(steps_within(own_places, own_axes, edges.i, edges.j, n_jobs=n_jobs))
        as_rows = np.swapaxes(frames[j], 1, 2)
        within.append(steps_within(positions[j], as_rows, edges.i, edges.j, n_jobs=n_jobs))
    turning = np.sqrt(sum(steps.turning**2 for steps in along))
    product, squares = _moments_at_points(
        edges.i,
        edges.j,
        np.hstack([steps.out for steps in along]),
        np.hstack([steps.back for steps in along]),
        np.hstack([steps.out for steps in within]),
        np.hstack([steps.back for steps in within]),
        1 / (1 + (turning / STEEP) ** 4),
        edges.n,
    )
    k = int(bounds[-1])
    ridge = RIDGE * np.trace(squares, axis1=1, axis2=2)[:, None, None] / k + np.finfo(float).tiny
    slopes = product @ np.linalg.inv(squares + ridge * np.eye(k))
    found = []
    for position, frame, columns in zip(
        positions, frames, np.split(slopes, stops, axis=2), strict=True
    ):
        values, vectors = np.linalg.eigh(np.swapaxes(columns, 1, 2) @ columns)
        logs = np.log(np.clip(values, LONGEST**-2, LONGEST**2)) / 2
        scale = 1 / np.sqrt(np.median(values.mean(axis=1)))
        stretch = (vectors * logs[:, None]) @ np.swapaxes(vectors, 1, 2)
        found.append(LocalStretch(position, frame, stretch, float(scale)))
    return tuple(found)


def _frames_at(own: FactorMap, rows: np.ndarray) -> np.ndarray:
    """Frames (c, r, k_j) of a map at points that carry it."""
    carriers, frames = own.tangents()
    return np.ascontiguousarray(frames[np.searchsorted(carriers, rows)])


@njit(nogil=True, cache=True)
def _moments_at_points(
    i: np.ndarray,
    j: np.ndarray,
    out: np.ndarray,
    back: np.ndarray,
    map_out: np.ndarray,
    map_back: np.ndarray,
    weights: np.ndarray,
    n: int,
) -> tuple[np.ndarray, np.ndarray]:  # pragma: no cover
    """Sums over the edges of every point of c u^T and of u u^T, shape (n, k, k)."""
    k = out.shape[1]
    product, squares = np.zeros((n, k, k)), np.zeros((n, k, k))
    for e in range(len(i)):
        p, q = i[e], j[e]
        for a in range(k):
            for b in range(k):
                product[p, a, b] += weights[e] * out[e, a] * map_out[e, b]
                product[q, a, b] += weights[e] * back[e, a] * map_back[e, b]
                squares[p, a, b] += weights[e] * map_out[e, a] * map_out[e, b]
                squares[q, a, b] += weights[e] * map_back[e, a] * map_back[e, b]
    return product, squares
