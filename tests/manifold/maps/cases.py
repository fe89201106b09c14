"""Products whose factors' coordinates and distances are known, fitted once a process."""

from __future__ import annotations

from functools import cache

import numpy as np

from geodis import GeoManCER
from geodis.manifold.flat.differences import Edges
from geodis.manifold.maps.refined_map import PieceMap, RefinedMap


def sphere(n, rng, dim=2):
    x = rng.standard_normal((n, dim + 1))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def cap(n, rng, degrees=70):
    z = rng.uniform(np.cos(np.radians(degrees)), 1, n)
    turn, radius = rng.uniform(0, 2 * np.pi, n), np.sqrt(1 - z * z)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), z], axis=1)


def uneven(n, rng, kappa=2.0):
    """Von Mises-Fisher on the sphere."""
    u = rng.uniform(size=n)
    z = 1 + np.log(u + (1 - u) * np.exp(-2 * kappa)) / kappa
    turn, radius = rng.uniform(0, 2 * np.pi, n), np.sqrt(np.maximum(1 - z * z, 0))
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), z], axis=1)


def circle(n, rng):
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


SHAPES = {
    "sphere": sphere,
    "cap": cap,
    "uneven": uneven,
    "circle": circle,
    "S^3": lambda n, rng: sphere(n, rng, 3),
}


def wound(points, rng, amount):
    """An isometric embedding that is no product: turned, every column on a circle."""
    d = points.shape[1]
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    turned = points @ turn * amount
    return np.hstack([np.cos(turned), np.sin(turned)]) / amount


@cache
def fitted(first, second="sphere", n=2000, noise=0.0, bent=0.0, seed=0, **settings):
    """The estimator, and the clean factors."""
    rng = np.random.default_rng(seed)
    parts = SHAPES[first](n, rng), SHAPES[second](n, rng)
    points = np.hstack(parts)
    if bent:
        points = wound(points, rng, bent)
    points = points + noise * rng.standard_normal(points.shape)
    return GeoManCER(verbose=0, **settings).fit(points), parts


def r2(coordinates, true):
    """Of the true coordinates from a linear map."""
    known = np.isfinite(coordinates).all(axis=1)
    x = np.column_stack([coordinates[known], np.ones(known.sum())])
    left = true[known] - x @ np.linalg.lstsq(x, true[known], rcond=None)[0]
    return 1 - (left**2).sum() / ((true[known] - true[known].mean(axis=0)) ** 2).sum()


def matched(est, true):
    """The factor whose map explains a true one best, and its R^2."""
    scores = [r2(est.coordinates(j), true) for j in range(est.n_factors_)]
    return int(np.argmax(scores)), max(scores)


def relative_error(est, j, unit, n_pairs=1500, seed=0):
    """Relative rms error of distances in factor j, where the truth is angles of unit vectors."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(len(unit), size=n_pairs) % 200, rng.integers(len(unit), size=n_pairs)
    true = np.arccos(np.clip((unit[a] * unit[b]).sum(axis=1), -1, 1))
    return np.sqrt(((est.factor_distances(j, a, b) - true) ** 2).mean() / (true**2).mean())


def known_map(
    places: np.ndarray, axes: np.ndarray, coordinates: np.ndarray, frames: np.ndarray
) -> RefinedMap:
    """A map in one piece, of which every point is a carrier."""
    n, k = axes.shape[:2]
    rows, nothing = np.arange(n), np.zeros((n, k))
    piece = PieceMap(rows, places, axes, coordinates, frames, Edges(rows[:0], rows[:0], n))
    return RefinedMap(k, places, axes, coordinates, 0.0, 0 * rows, (piece,), rows, nothing)
