"""Steps and their maps -> at every point, how much longer a factor is there than its map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geodis.manifold.flat.differences import Edges
from geodis.manifold.maps.edge_steps import Steps, edge_moments, steps_within
from geodis.manifold.maps.factor_map import FactorMap

# Steps that turn by more than so many radians, all factors together, count less.
STEEP = 0.6
# A map that collapses a direction has no lengths along it: beyond, they are infinite.
LONGEST = 10.0
RIDGE = 1e-6


@dataclass(frozen=True)
class LocalStretch:
    """Lengths in one factor relative to those in its map, at every point that carries it.

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
    stops = np.cumsum([own.dim for own in maps])
    k, stops = int(stops[-1]), stops[:-1]
    positions = [own.coordinates[rows] for own in maps]
    frames = [_frames_at(own, rows) for own in maps]
    i, j, n = edges.i, edges.j, edges.n
    in_space, in_maps = [], []
    for own_axes, position, frame in zip(
        np.split(axes[rows], stops, axis=1), positions, frames, strict=True
    ):
        in_space.append(steps_within(places[rows], own_axes, i, j, n_jobs=n_jobs))
        as_rows = np.swapaxes(frame, 1, 2)
        in_maps.append(steps_within(position, as_rows, i, j, n_jobs=n_jobs))
    c, u = _side_by_side(in_space), _side_by_side(in_maps)
    weights = 1 / (1 + (c.turning / STEEP) ** 4)[:, None]
    product = edge_moments(i, j, n, (weights * c.out, u.out), (weights * c.back, u.back))
    squares = edge_moments(i, j, n, (weights * u.out, u.out), (weights * u.back, u.back))
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


def _side_by_side(steps: Sequence[Steps]) -> Steps:
    """Steps within all factors together."""
    out, back = np.hstack([own.out for own in steps]), np.hstack([own.back for own in steps])
    return Steps(out, back, np.sqrt(sum(own.turning**2 for own in steps)))


def _frames_at(own: FactorMap, rows: np.ndarray) -> np.ndarray:
    """Frames (c, r, k_j) of a map at points that carry it."""
    carriers, frames = own.tangents()
    return np.ascontiguousarray(frames[np.searchsorted(carriers, rows)])
