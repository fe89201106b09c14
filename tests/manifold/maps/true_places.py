"""Products with known coordinates, plainly embedded or bent: what a point shows of each factor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.spatial.transform import Rotation

import geodis as gd
from geodis.data.manifolds.directions import random_rotations

DIMS = {"S^2": 2, "SO(3)": 3, "S^1": 1}
WIDTHS = {"S^2": 3, "SO(3)": 9, "S^1": 2}


@dataclass(frozen=True)
class TrueProduct:
    """A fit of a product, and what undoes its embedding.

    Attributes
    ----------
    names : tuple of str
        True factors.
    points : ndarray of shape (n, d)
        As they were fitted.
    true : ndarray of shape (n, w)
        True coordinates side by side, without noise.
    undo : callable
        Points (s, d) -> true coordinates (s, w), for points on the clean manifold.
    est : GeoManCER
    found : tuple of int
        For each true factor the found one.
    """

    names: tuple[str, ...]
    points: np.ndarray
    true: np.ndarray
    undo: Callable[[np.ndarray], np.ndarray]
    est: gd.GeoManCER
    found: tuple[int, ...]

    def angles(self, true_factor: int, points: np.ndarray, row: int) -> np.ndarray:
        """Geodesic distance of points to the true place of a row, in one factor, in radians."""
        return angle(
            self.names[true_factor],
            self.part(self.undo(points), true_factor),
            self.part(self.true[row : row + 1], true_factor),
        )

    def part(self, true: np.ndarray, true_factor: int) -> np.ndarray:
        """The columns of one true factor."""
        stops = np.cumsum([WIDTHS[name] for name in self.names])
        return true[:, stops[true_factor] - WIDTHS[self.names[true_factor]] : stops[true_factor]]


def angle(name: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Angle between places of a sphere, a circle or the rotations, brought onto it first."""
    if name == "SO(3)":
        u, _, v = np.linalg.svd(a.reshape(-1, 3, 3))
        return Rotation.from_matrix(u @ v @ np.swapaxes(b.reshape(-1, 3, 3), 1, 2)).magnitude()
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    return 2 * np.arctan2(np.linalg.norm(a - b, axis=1), np.linalg.norm(a + b, axis=1))


def wound(points: np.ndarray, curvature: float, turn: np.ndarray) -> np.ndarray:
    """Turn the space, and wind every column on a circle: an isometry, and no product."""
    z = points @ turn * curvature
    return np.hstack([np.sin(z), 1 - np.cos(z)]) / curvature


def unwound(points: np.ndarray, curvature: float, turn: np.ndarray) -> np.ndarray:
    """Undo `wound`."""
    half = points.shape[1] // 2
    z = np.arctan2(curvature * points[:, :half], 1 - curvature * points[:, half:])
    return z @ turn.T / curvature


@cache
def fitted_product(
    spec: str, n: int, seed: int, noise: float = 0.0, bent: float = 0.0
) -> TrueProduct:
    """Fit a product, of which dimension and number of factors are told."""
    sample = gd.product_manifold(spec, n, random_state=seed)
    names, true = sample.names, sample.points
    rng = np.random.default_rng([seed, 1])
    turn = random_rotations(1, true.shape[1], rng)[0]
    points, undo = true, lambda x: x
    if bent:
        points = wound(true, bent, turn)
        undo = lambda x: unwound(x, bent, turn)  # noqa: E731
    points = points + noise * rng.standard_normal(points.shape)
    dims = [DIMS[name] for name in names]
    est = gd.GeoManCER(sum(dims), len(dims), verbose=0).fit(points)
    return TrueProduct(names, points, true, undo, est, matched(sample, est, bent, turn))


def matched(
    sample: gd.ManifoldSample, est: gd.GeoManCER, bent: float, turn: np.ndarray
) -> tuple[int, ...]:
    """For each true factor, the found one whose directions are most like it."""
    found = []
    for frames in sample.tangents:
        rows = frames[:100]
        if bent:
            step = 1e-5
            ends = sample.points[:100, None] + step * rows
            begun = wound(sample.points[:100], bent, turn)
            flat = wound(ends.reshape(-1, rows.shape[2]), bent, turn).reshape(*rows.shape[:2], -1)
            rows = (flat - begun[:, None]) / step
        shares = [
            ((est.subspace(j)[:100] @ np.swapaxes(rows, 1, 2)) ** 2).sum()
            for j in range(est.n_factors_)
        ]
        found.append(int(np.argmax(shares)))
    return tuple(found)
