"""True products in embeddings that are no products of immersions, and curved patches.

An isometric immersion of the ambient space, after a rotation that mixes the factors' columns,
keeps the product metric exactly: here each column x becomes a plane or space curve c(x) of unit
speed, so that the displacement's length is that of the ambient space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.special import fresnel

from benchmarks.zoo_cases.case import Case, Dims, family
from benchmarks.zoo_cases.clouds import (
    Cloud,
    Map,
    beside,
    flat,
    fourier,
    paraboloid,
    patch,
    product,
    push,
    sphere_at,
    uniform,
)
from geodis.data import involute


def tubes(a: float) -> Map:
    """Circles of radius 1 / a."""
    return lambda x: np.hstack([np.cos(a * x), np.sin(a * x)]) / a


def helices(radius: float, rise: float) -> Map:
    """Helices, three columns for one."""
    c = np.hypot(radius, rise)
    return lambda x: np.hstack([radius * np.cos(x / c), radius * np.sin(x / c), rise * x / c])


def catenaries(a: float) -> Map:
    """Catenaries y = a cosh(t / a) by their arc length x = a sinh(t / a)."""
    return lambda x: np.hstack([a * np.arcsinh(x / a), np.hypot(a, x)])


def clothoids(a: float) -> Map:
    """Curves whose curvature pi a^2 x grows along them."""
    return lambda x: np.hstack(fresnel(a * x)) / a


def spirals(scale: float) -> Map:
    """Involutes of a circle; three units away from their cusp."""

    def function(x: np.ndarray) -> np.ndarray:
        return involute(x.ravel() + 3.0, scale, 0.0)[0].reshape(len(x), -1)

    return function


def mixed(spec: str, n: int, curve: Map, seed: int) -> Cloud:
    """A product whose ambient space is rotated and then curled up, column by column."""
    straight = product(spec, n, seed)
    return push(straight.turned(straight.points.shape[1], seed), curve)


def bent(spec: str, n: int, curve: Map, how: str, *dims: int) -> Case:
    return Case(f"{spec}, {how}", partial(mixed, spec, n, curve), (dims,))


@family("mixed by tubes", "tuning")
def by_tubes() -> Iterator[Case]:
    for a in (0.5, 1.0, 1.5):
        yield bent("S^2 x S^2", 3000, tubes(a), f"a = {a}", 2, 2)
    for a in (0.5, 1.0):
        yield bent("S^3 x S^2", 3500, tubes(a), f"a = {a}", 3, 2)
        yield bent("SO(3) x S^2", 3500, tubes(a), f"a = {a}", 3, 2)
    yield bent("S^2 x S^1", 2500, tubes(1.0), "a = 1", 2, 1)
    yield bent("S^2 x S^2 x SO(3)", 5000, tubes(0.5), "a = .5", 3, 2, 2)


@family("mixed by spirals", "held-out")
def by_spirals() -> Iterator[Case]:
    for scale in (0.3, 0.6):
        yield bent("S^2 x S^2", 3000, spirals(scale), f"scale {scale}", 2, 2)
        yield bent("ellipsoid(1, 1.3, 1.6) x S^2", 3000, spirals(scale), f"scale {scale}", 2, 2)
    yield bent("SO(3) x S^1", 3000, spirals(0.6), "scale .6", 3, 1)


@family("mixed by helices", "tuning")
def by_helices() -> Iterator[Case]:
    for radius, rise in ((0.5, 0.5), (1.0, 0.3)):
        how = f"radius {radius}, rise {rise}"
        yield bent("S^2 x S^2", 3000, helices(radius, rise), how, 2, 2)
    yield bent("S^3 x S^1", 2500, helices(0.8, 0.4), "radius .8, rise .4", 3, 1)
    yield bent("torus(2, .7) x S^2", 3500, helices(1.0, 1.0), "radius 1, rise 1", 2, 2)


@family("mixed by catenaries and clothoids", "held-out")
def by_others() -> Iterator[Case]:
    yield bent("S^2 x S^2", 3000, catenaries(0.7), "catenaries", 2, 2)
    yield bent("S^3 x S^2", 3500, catenaries(1.0), "catenaries", 3, 2)
    yield bent("S^2 x S^2", 3000, clothoids(0.5), "clothoids", 2, 2)
    yield bent("SO(3) x S^2", 3500, clothoids(0.4), "clothoids", 3, 2)
    yield bent("S^2 x S^1 x S^1", 3500, catenaries(1.0), "catenaries", 2, 1, 1)


def segre(spec: str, n: int, widths: tuple[int, ...], beside_first: bool, seed: int) -> Cloud:
    """Tensor products of unit vectors: |d(x y^T)|^2 = |dx|^2 + |dy|^2, exactly a product metric.

    Opposite pairs fall together, which leaves the local product as it is.
    """

    def function(points: np.ndarray) -> np.ndarray:
        first, *others = np.split(points, np.cumsum(widths)[:-1], axis=1)
        tensor = first
        for other in others:
            tensor = (tensor[:, :, None] * other[:, None, :]).reshape(len(points), -1)
        return np.hstack([first, tensor]) if beside_first else tensor

    return push(product(spec, n, seed), function)


@family("tensor products of spheres", "held-out")
def tensors() -> Iterator[Case]:
    made: tuple[tuple[str, int, tuple[int, ...], Dims], ...] = (
        ("S^2 x S^2", 3000, (3, 3), (2, 2)),
        ("S^3 x S^2", 3500, (4, 3), (3, 2)),
        ("S^2 x S^1", 2000, (3, 2), (2, 1)),
        ("S^2 x S^2 x S^2", 5000, (3, 3, 3), (2, 2, 2)),
    )
    for spec, n, widths, dims in made:
        yield Case(spec, partial(segre, spec, n, widths, False), (dims,))
    first = partial(segre, "S^2 x S^2", 3000, (3, 3), True)
    yield Case("S^2 x S^2, the first beside the tensor", first, ((2, 2),))


Maker = Callable[[int], Cloud]


def fourier_patch(n: int, frequency: float, waves: int, seed: int) -> Cloud:
    return patch(fourier(waves, frequency=frequency), uniform(n, 2, seed))


def fourier_pair(n: int, frequency: float, seed: int) -> Cloud:
    return beside(fourier_patch(n, frequency, 4, seed), fourier_patch(n, frequency, 7, seed + 1))


def fourier_and(spec: str, n: int, seed: int) -> Cloud:
    return beside(fourier_patch(n, 1.5, 4, seed), product(spec, n, seed + 1))


@family("Fourier patches", "tuning")
def fourier_patches() -> Iterator[Case]:
    yield Case("two, frequency 1", partial(fourier_pair, 3000, 1.0), ((2, 2),))
    yield Case("two, frequency 1.5", partial(fourier_pair, 4000, 1.5), ((2, 2),))
    yield Case("beside S^2", partial(fourier_and, "S^2", 3000), ((2, 2),))
    yield Case("beside S^1", partial(fourier_and, "S^1", 2500), ((2, 1),))


def surface_and(surface: Map, other: Maker, n: int, seed: int) -> Cloud:
    return beside(patch(surface, uniform(n, 2, seed)), other(seed + 1))


def veronese(n: int, seed: int) -> Cloud:
    """Entries of x x^T for x on S^2: the projective plane, sqrt(2) times as large."""
    return push(
        sphere_at(np.random.default_rng(seed).standard_normal((n, 3))),
        lambda x: (x[:, :, None] * x[:, None, :]).reshape(len(x), -1),
    )


@family("quadratic patches", "held-out")
def quadratic_patches() -> Iterator[Case]:
    n = 3000
    saddle, bowl = paraboloid(0.8, -0.8), paraboloid(0.7, 0.5)
    made: dict[str, tuple[Map, Maker, Dims]] = {
        "bowl x S^2": (bowl, partial(product, "S^2", n), (2, 2)),
        "saddle x S^1": (saddle, partial(product, "S^1", n), (2, 1)),
        "saddle x Veronese surface": (saddle, partial(veronese, n), (2, 2)),
        "saddle x rectangle": (saddle, partial(flat, "rectangle", n), (2, 1, 1)),
    }
    for title, (surface, other, dims) in made.items():
        yield Case(title, partial(surface_and, surface, other, n), (dims,))
    bowls = partial(surface_and, bowl, lambda seed: patch(saddle, uniform(n, 2, seed)), n)
    yield Case("bowl x saddle", bowls, ((2, 2),))
