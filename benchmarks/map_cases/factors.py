"""Factors with known coordinates and known geodesic distances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchmarks.map_cases.geodesics import path_distances
from geodis.data import product_manifold
from geodis.data.manifolds.directions import circle_points

Distances = Callable[[np.ndarray, np.ndarray], np.ndarray]

CAP = 1.2  # radians from the pole to the edge: less than a half turn, so that caps are convex
ELLIPSOID, TORUS = (1.0, 1.3, 1.6), (2.0, 0.7)


@dataclass(frozen=True)
class MapFactor:
    """One factor of a product.

    Attributes
    ----------
    name : str
    kind : str
        What it should be called: "sphere", "SO(3)", "circle", "interval", "sheet", "cap", ...
    dim : int
        Intrinsic dimension.
    draw : callable
        (n, seed) -> true coordinates (n, c), the points of an isometric embedding.
    distances : callable
        True coordinates (s, c) and (t, c) -> geodesic distances (s, t).
    """

    name: str
    kind: str
    dim: int
    draw: Callable[[int, int], np.ndarray]
    distances: Distances

    @property
    def width(self) -> int:
        """Number of true coordinates c."""
        return self.draw(1, 0).shape[1]


def of_spec(spec: str, density: float | None = None) -> Callable[[int, int], np.ndarray]:
    """Points of one of the package's own spaces."""
    return lambda n, seed: product_manifold(spec, n, density=density, random_state=seed).points


def sphere_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Angles between unit vectors, with full accuracy where they are small."""
    chord = np.linalg.norm(a[:, None] - b, axis=2)
    return 2 * np.arcsin(np.minimum(chord / 2, 1))


def rotation_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The angle of R^T Q, times sqrt(2): a rotation by t moves its nine entries by sqrt(2) t.

    |R - Q| = 2 sqrt(2) sin(t / 2).
    """
    chord = np.linalg.norm(a[:, None] - b, axis=2)
    return 2 * np.sqrt(2) * np.arcsin(np.minimum(chord / np.sqrt(8), 1))


def straight_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.linalg.norm(a[:, None] - b, axis=2)


def surface_distances(draw: Callable[[int, int], np.ndarray]) -> Distances:
    """Shortest paths through many points of a surface; the same ends are not asked again."""

    @lru_cache(maxsize=32)
    def known(a: bytes, b: bytes) -> np.ndarray:
        starts, ends = (np.frombuffer(points).reshape(-1, 3) for points in (a, b))
        return path_distances(draw, starts, ends)

    return lambda a, b: known(a.tobytes(), b.tobytes())


def cap(n: int, seed: int) -> np.ndarray:
    """Uniform points of the unit sphere up to `CAP` from the pole."""
    rng = np.random.default_rng(seed)
    height, angle = rng.uniform(np.cos(CAP), 1, n), rng.uniform(0, 2 * np.pi, n)
    ring = np.sqrt(1 - height**2)
    return np.column_stack([ring * np.cos(angle), ring * np.sin(angle), height])


def disc(n: int, seed: int) -> np.ndarray:
    """Uniform points of the flat unit disc, which unlike a square is no product."""
    rng = np.random.default_rng(seed)
    return np.sqrt(rng.uniform(size=(n, 1))) * circle_points(rng.uniform(0, 2 * np.pi, n))[0]


SPHERE = MapFactor("S^2", "sphere", 2, of_spec("S^2"), sphere_distances)
UNEVEN = MapFactor("S^2 uneven", "sphere", 2, of_spec("S^2", 2.0), sphere_distances)
THREE_SPHERE = MapFactor("S^3", "S^3", 3, of_spec("S^3"), sphere_distances)
ROTATIONS = MapFactor("SO(3)", "SO(3)", 3, of_spec("SO(3)"), rotation_distances)
CIRCLE = MapFactor("circle", "circle", 1, of_spec("S^1"), sphere_distances)
INTERVAL = MapFactor("interval", "interval", 1, of_spec("R^1"), straight_distances)
DISC = MapFactor("disc", "sheet", 2, disc, straight_distances)
CAPPED = MapFactor("cap", "cap", 2, cap, sphere_distances)
OVAL_POINTS, TORUS_POINTS = of_spec(f"ellipsoid{ELLIPSOID}"), of_spec(f"torus{TORUS}")
OVAL = MapFactor("ellipsoid", "sphere", 2, OVAL_POINTS, surface_distances(OVAL_POINTS))
DOUGHNUT = MapFactor("torus", "torus", 2, TORUS_POINTS, surface_distances(TORUS_POINTS))
