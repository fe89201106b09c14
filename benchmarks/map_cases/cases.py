"""Products with known coordinates and distances, clean, noisy and bent.

Every product stands in a space that is turned at random, so that no column belongs to one factor.
Bent by a: every column x of the turned space is wound on a circle of radius 1 / a, an exact
isometry that is no product of immersions, so that the true distances stay what they are. "Wound"
winds every column around six tenths of its circle, however wide it is: as far as it goes without
coming near itself.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from benchmarks.map_cases.factors import (
    CAPPED,
    CIRCLE,
    DISC,
    DOUGHNUT,
    INTERVAL,
    OVAL,
    ROTATIONS,
    SPHERE,
    THREE_SPHERE,
    UNEVEN,
    MapFactor,
)
from geodis.data import random_rotations
from geodis.data.manifolds.directions import accept

Kind: TypeAlias = Literal[
    "clean",
    "noise .02",
    "noise .03",
    "noise .05",
    "bent .5",
    "bent 1",
    "wound",
    "bent .5, noise .02",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
NOISE: dict[Kind, float] = {
    "noise .02": 0.02,
    "noise .03": 0.03,
    "noise .05": 0.05,
    "bent .5, noise .02": 0.02,
}
BEND: dict[Kind, float] = {"bent .5": 0.5, "bent 1": 1.0, "bent .5, noise .02": 0.5}
WOUND = 0.6

PRODUCTS: dict[str, tuple[MapFactor, ...]] = {
    "S^2 x S^2": (SPHERE, SPHERE),
    "SO(3) x S^2": (ROTATIONS, SPHERE),
    "S^3 x S^2": (THREE_SPHERE, SPHERE),
    "ellipsoid x S^2": (OVAL, SPHERE),
    "torus x S^2": (DOUGHNUT, SPHERE),
    "S^2 x circle": (SPHERE, CIRCLE),
    "cap x S^2": (CAPPED, SPHERE),
    "S^2 x interval": (SPHERE, INTERVAL),
    "disc x S^2": (DISC, SPHERE),
    "S^2 x interval x interval": (SPHERE, INTERVAL, INTERVAL),
    "S^2 x S^2, uneven": (UNEVEN, UNEVEN),
    "S^2 x S^2, dependent": (SPHERE, SPHERE),
    "SO(3) x circle": (ROTATIONS, CIRCLE),
    "torus x circle": (DOUGHNUT, CIRCLE),
}
# A product need not be sampled independently: pairs (x, y) with density exp(kappa x . y).
DEPENDENT = {"S^2 x S^2, dependent": 1.5}


@dataclass(frozen=True, eq=False)
class MapSample:
    """Points of a product, with what is true of every factor.

    Attributes
    ----------
    points : ndarray of shape (n, d)
    factors : tuple of m MapFactor
        Largest dimension first.
    coordinates : list of m ndarrays of shape (n, c_j)
        True coordinates: the points of the factor alone, before they are turned, bent and noisy.
    """

    points: np.ndarray
    factors: tuple[MapFactor, ...]
    coordinates: list[np.ndarray]

    @property
    def dims(self) -> tuple[int, ...]:
        """Intrinsic dimension of every factor."""
        return tuple(factor.dim for factor in self.factors)

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of true coordinates of every factor."""
        return tuple(own.shape[1] for own in self.coordinates)

    def distances(self, factor: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """True geodesic distances (s, t) in one factor between rows a (s,) and b (t,)."""
        own = self.coordinates[factor]
        return self.factors[factor].distances(own[a], own[b])


def wound(points: np.ndarray, a: float | np.ndarray) -> np.ndarray:
    """Every column on a circle of radius 1 / a: twice as many columns, all lengths kept."""
    return np.hstack([np.sin(a * points) / a, (1 - np.cos(a * points)) / a])


def dependent(factors: tuple[MapFactor, ...], n: int, kappa: float, key: int) -> list[np.ndarray]:
    """Two spheres with density exp(kappa x . y) with respect to the product's volume."""
    rng = np.random.default_rng([key, 1])

    def propose(size: int) -> np.ndarray:
        seeds = rng.integers(2**31, size=2)
        ends = [f.draw(size, int(s)) for f, s in zip(factors, seeds, strict=True)]
        return np.stack(ends, axis=1)

    def probability(both: np.ndarray) -> np.ndarray:
        return np.exp(kappa * ((both[:, 0] * both[:, 1]).sum(axis=1) - 1))

    return list(accept(n, rng, propose, probability).swapaxes(0, 1))


def draw(product: str, n: int, kind: Kind = "clean", seed: int = 0) -> MapSample:
    """A sample of a product; one seed has the same true coordinates in every kind."""
    factors = PRODUCTS[product]
    key = zlib.crc32(product.encode()) + seed
    rng = np.random.default_rng([key, 0])
    if product in DEPENDENT:
        coordinates = dependent(factors, n, DEPENDENT[product], key)
    else:
        coordinates = [factor.draw(n, key + 7919 * j) for j, factor in enumerate(factors)]
    straight = np.hstack(coordinates)
    points = straight @ random_rotations(1, straight.shape[1], rng)[0]
    if kind in BEND:
        points = wound(points, BEND[kind])
    if kind == "wound":
        points = wound(points, WOUND * 2 * np.pi / np.ptp(points, axis=0))
    if kind in NOISE:
        points = points + NOISE[kind] * rng.standard_normal(points.shape)
    return MapSample(points, factors, coordinates)
