"""Points with the true tangents of their factors, and what can be done to both together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geodis.data import flat_sample, product_manifold, random_rotations
from geodis.data.manifolds.directions import orthogonal_complement
from geodis.data.manifolds.flat_products import FlatCase

STEP = 1e-5  # of central differences: errors near 1e-10

Map = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points (n, d) and for every true factor orthonormal tangents (n, k_j, d).

    No tangents where they are not known, rows of NaN where they are not known at a point. Where
    `piece` numbers the pieces (n,) of a sample, nothing tells which factor of one is which of
    another.
    """

    points: np.ndarray
    tangents: list[np.ndarray] = field(default_factory=list)
    piece: np.ndarray | None = None

    @property
    def dims(self) -> tuple[int, ...]:
        """Dimension of every factor with known tangents."""
        return tuple(frames.shape[1] for frames in self.tangents)

    def rows(self, index: np.ndarray) -> Cloud:
        """The points of an index or mask."""
        return Cloud(self.points[index], [frames[index] for frames in self.tangents])

    def moved(self, by: np.ndarray | float) -> Cloud:
        """Points displaced, by noise or as a whole; tangents as they were."""
        return Cloud(self.points + by, self.tangents)

    def without_truth(self) -> Cloud:
        """The points alone."""
        return Cloud(self.points)

    def merged(self) -> Cloud:
        """All factors as one."""
        return Cloud(self.points, [orthonormal(np.concatenate(self.tangents, axis=1))])

    def turned(self, d: int, seed: int) -> Cloud:
        """Padded with zeros to d columns and rotated at random."""
        rotation = random_rotations(1, d, np.random.default_rng([seed, 1]))[0]
        turn = rotation[: self.points.shape[1]]
        return Cloud(self.points @ turn, [frames @ turn for frames in self.tangents])


def orthonormal(frames: np.ndarray, rank: int | None = None) -> np.ndarray:
    """Orthonormal rows spanning rows (n, k, d): their directions of largest extent."""
    rank = frames.shape[1] if rank is None else rank
    return np.linalg.svd(frames, full_matrices=False)[2][:, :rank]


def push(cloud: Cloud, function: Map, ranks: Sequence[int] | None = None) -> Cloud:
    """The image under a smooth map of the ambient space, tangents by central differences.

    Ranks are needed where a map is constant along some directions of a factor.
    """
    ranks = cloud.dims if ranks is None else ranks
    x = cloud.points
    tangents = []
    for frames, rank in zip(cloud.tangents, ranks, strict=True):
        slopes = [function(x + STEP * t) - function(x - STEP * t) for t in frames.swapaxes(0, 1)]
        tangents.append(orthonormal(np.stack(slopes, axis=1) / (2 * STEP), rank))
    return Cloud(function(x), tangents)


def patch(function: Map, latents: np.ndarray, dims: Sequence[int] | None = None) -> Cloud:
    """The image of latents (n, p), whose columns are grouped into factors; one by default."""
    n, p = latents.shape
    frames = np.broadcast_to(np.eye(p), (n, p, p))
    groups = np.split(frames, np.cumsum(dims)[:-1], axis=1) if dims else [frames]
    return push(Cloud(latents, groups), function)


def product(spec: str, n: int, seed: int, **options: Any) -> Cloud:
    """A product of the package's own spaces."""
    sample = product_manifold(spec, n, random_state=seed, **options)
    return Cloud(sample.points, sample.tangents)


def flat(case: FlatCase, n: int, seed: int, **options: Any) -> Cloud:
    """A bent flat product of the package."""
    sample = flat_sample(case, n, random_state=seed, **options)
    return Cloud(sample.points, sample.tangents)


def beside(*clouds: Cloud) -> Cloud:
    """The product of clouds of equal length: columns side by side."""
    widths = [cloud.points.shape[1] for cloud in clouds]
    starts, total = np.cumsum([0, *widths]), sum(widths)
    tangents = [
        np.pad(frames, ((0, 0), (0, 0), (start, total - start - width)))
        for cloud, start, width in zip(clouds, starts[:-1], widths, strict=True)
        for frames in cloud.tangents
    ]
    return Cloud(np.hstack([cloud.points for cloud in clouds]), tangents)


def below(*clouds: Cloud) -> Cloud:
    """Clouds of equal dimensions as pieces of one: rows below each other."""
    tangents = zip(*(cloud.tangents for cloud in clouds), strict=True)
    points = np.vstack([cloud.points for cloud in clouds])
    piece = np.repeat(np.arange(len(clouds)), [len(cloud.points) for cloud in clouds])
    return Cloud(points, [np.concatenate(frames) for frames in tangents], piece)


def sphere_at(directions: np.ndarray) -> Cloud:
    """The unit sphere at given directions, of any length but zero."""
    points = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return Cloud(points, [orthogonal_complement(points)])


def circle_at(angles: np.ndarray) -> Cloud:
    """The unit circle at given angles."""
    return patch(lambda t: np.hstack([np.cos(t), np.sin(t)]), angles[:, None])


def uniform(n: int, p: int, seed: int, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    """Latents (n, p) drawn uniformly."""
    return np.random.default_rng([seed, 2]).uniform(low, high, (n, p))


def bumpy(cloud: Cloud, height: float = 0.3) -> Cloud:
    """A unit sphere with two bumps of different width."""

    def function(x: np.ndarray) -> np.ndarray:
        first, second = np.eye(2, x.shape[1])
        near = [np.exp(-c * ((x - p) ** 2).sum(axis=1)) for c, p in ((3, first), (5, -second))]
        return x * (1 + height * (near[0] + 0.7 * near[1]))[:, None]

    return push(cloud, function)


def paraboloid(a: float, b: float) -> Map:
    """The surface (x, y, a x^2 + b y^2)."""
    return lambda u: np.column_stack([u, u**2 @ [a, b]])


def fourier(waves: int, p: int = 2, d: int = 8, frequency: float = 1.5) -> Map:
    """Random Fourier features of p latents: d cosines with amplitude 1 / sqrt(d).

    Not every draw of waves is clearly curved on [-1, 1]^p, because many of them together are
    flat; numbers 4 and 7 are: median |curvature| times the area is above 1.6, as for a saddle of
    .4 (x^2 - y^2).
    """
    rng = np.random.default_rng([waves, 3])
    directions = rng.normal(scale=frequency, size=(p, d))
    phases = rng.uniform(0, 2 * np.pi, d)
    return lambda u: np.cos(u @ directions + phases) / np.sqrt(d)


def hexagonal(plane: np.ndarray) -> np.ndarray:
    """The flat torus with a hexagonal lattice: three circles along directions 120 degrees apart.

    With sum_j k_j k_j^T = 3/2 I the map from the plane is an isometry up to scale.
    """
    angle = np.arange(3) * 2 * np.pi / 3
    waves = plane @ np.stack([np.cos(angle), np.sin(angle)])
    return np.hstack([np.cos(waves), np.sin(waves)])


def hexagonal_torus(n: int, seed: int) -> Cloud:
    """Uniform points of the hexagonal torus."""
    # One cell of the lattice that is dual to the first two waves; the third is minus their sum.
    cell = 2 * np.pi * np.array([[1, 1 / np.sqrt(3)], [0, 2 / np.sqrt(3)]])
    return patch(hexagonal, uniform(n, 2, seed, 0, 1) @ cell)
