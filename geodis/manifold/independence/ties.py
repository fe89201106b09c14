"""Jitter for the coordinates of a grid, whose ties would dominate ranks and spacings."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

# Neighbours at such even distances are those of a grid.
GRID_VARIATION = 0.15
# Of the distance between points evenly spread over the same width: nearer ones repeat a place.
NEARER_THAN_CHANCE = 0.05


def jitter_grid(points: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Points of a grid with jitter of a quarter of a step; other points as they are.

    Within a repeated value, ranks would follow the errors of the coordinates, which depend on the
    other coordinates. The second result is the length below which differences mean nothing.
    """
    places, step = points, _steps(points)
    near = _nearer_than_chance(points)
    repeated = bool(np.median(step) < near)
    if repeated:
        places = _merged(points, near)
        if len(places) == 1:
            return points, 0.0
        step = _steps(places)
    typical = float(np.median(step))
    if not repeated and step.std() > GRID_VARIATION * step.mean():
        return points, 1e-3 * typical
    return points + rng.normal(scale=typical / 4, size=points.shape), 1e-3 * typical


def _steps(points: np.ndarray) -> np.ndarray:
    """Distances from some of the points to their nearest."""
    return KDTree(points).query(points[:: max(1, len(points) // 2000)], 2)[0][:, 1]


def _nearer_than_chance(points: np.ndarray) -> float:
    """A small part of the distance between as many points, spread evenly over the same box."""
    n, f = points.shape
    variances = np.linalg.eigvalsh(np.atleast_2d(np.cov(points.T)))
    widths = np.sqrt(12 * np.maximum(variances, max(1e-12 * variances[-1], 1e-300)))
    return NEARER_THAN_CHANCE * float(np.exp(np.log(widths).mean())) / float(n ** (1 / f))


def _merged(points: np.ndarray, near: float) -> np.ndarray:
    """Places that points repeat up to errors, as where a grid is seen without all directions."""
    scaled = np.rint((points - points.mean(axis=0)) / near)
    cells = np.unique(scaled, axis=0, return_inverse=True)[1].ravel()
    count = np.bincount(cells)
    means = np.stack([np.bincount(cells, column) / count for column in points.T], axis=1)
    # A place at a border of cells is in several.
    pairs = KDTree(means).query_pairs(2 * near, output_type="ndarray")
    joined = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(means), len(means)))
    label = connected_components(joined, directed=False)[1]
    weight = np.bincount(label, count)
    return np.stack([np.bincount(label, count * column) / weight for column in means.T], axis=1)
