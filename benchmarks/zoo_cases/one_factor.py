"""Manifolds that are no products: spheres, surfaces, curves, flat pieces that stay whole."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.zoo_cases.case import Case, Dims, family
from benchmarks.zoo_cases.clouds import (
    Cloud,
    Map,
    bumpy,
    flat,
    fourier,
    hexagonal_torus,
    paraboloid,
    patch,
    product,
    push,
    uniform,
)
from benchmarks.zoo_cases.embeddings import tubes, veronese
from geodis.data import bend, random_rotations
from geodis.data.manifolds.flat_products import FlatCase


def whole(spec: str, n: int, k: int, density: float | None = None) -> Case:
    title = f"{spec}, n = {n:,}" + (f", density {density:g}" if density else "")
    return Case(title, partial(product, spec, n, density=density), ((k,),))


@family("one sphere", "tuning")
def one_sphere() -> Iterator[Case]:
    yield whole("S^2", 1500, 2)
    yield whole("S^3", 2000, 3)
    yield whole("S^4", 3000, 4)
    yield whole("S^5", 4000, 5)
    yield whole("S^3", 2000, 3, density=2.0)


def bumps(n: int, seed: int) -> Cloud:
    return bumpy(product("S^2", n, seed))


def fourier_sheet(n: int, p: int, seed: int) -> Cloud:
    return patch(fourier(4, p, d=10), uniform(n, p, seed))


def curled_sphere(n: int, seed: int) -> Cloud:
    """S^2 whose ambient columns are rotated and curled up, which leaves its metric."""
    return push(product("S^2", n, seed).turned(3, seed), tubes(1.0))


@family("one surface", "held-out")
def one_surface() -> Iterator[Case]:
    yield whole("torus(2, .7)", 2000, 2)
    yield whole("ellipsoid(1, 1.5, 2)", 2000, 2)
    yield whole("ellipsoid(1, 1.2, 1.5, 2)", 3000, 3)
    yield whole("H^3", 3000, 3)
    yield Case("sphere with two bumps", partial(bumps, 2000), ((2,),))
    yield Case("Veronese surface", partial(veronese, 2000), ((2,),))
    yield Case("Fourier sheet of dimension 2", partial(fourier_sheet, 2500, 2), ((2,),))
    yield Case("Fourier sheet of dimension 3", partial(fourier_sheet, 4000, 3), ((3,),))
    yield Case("S^2 curled up", partial(curled_sphere, 2000), ((2,),))


def bent_ball(n: int, p: int, seed: int) -> Cloud:
    """A ball of radius 1, rotated and bent isometrically."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((n, p))
    u *= rng.uniform(size=(n, 1)) ** (1 / p) / np.linalg.norm(u, axis=1, keepdims=True)
    points, frames = bend(u, rotation=random_rotations(1, p, rng)[0], scale=0.3)
    return Cloud(points, [frames])


def merged_flat(case: FlatCase, n: int, seed: int) -> Cloud:
    return flat(case, n, seed).merged()


@family("flat and whole", "tuning")
def flat_and_whole() -> Iterator[Case]:
    names: tuple[FlatCase, ...] = ("L-shape", "triangle", "hole")
    for name in names:
        yield Case(name, partial(flat, name, 2000), ((2,),))
    yield Case("disc", partial(bent_ball, 2000, 2), ((2,),))
    yield Case("ball", partial(bent_ball, 2500, 3), ((3,),))
    # Every rotation of equal Gaussians is independent: one factor, or any three directions.
    gaussians: tuple[Dims, ...] = ((3,), (1, 1, 1))
    yield Case("equal Gaussians", partial(merged_flat, "equal Gaussians", 2000), gaussians)
    yield Case("hexagonal torus", partial(hexagonal_torus, 2000), ((2,),))


def knot(t: np.ndarray) -> np.ndarray:
    """The trefoil."""
    return np.hstack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)])


def curve(function: Map, n: int, length: float, seed: int) -> Cloud:
    return patch(function, uniform(n, 1, seed, 0, length))


def surface(function: Map, n: int, seed: int) -> Cloud:
    return patch(function, uniform(n, 2, seed))


@family("curves and patches", "held-out")
def curves() -> Iterator[Case]:
    n, turn = 1500, 2 * np.pi
    circle = partial(curve, tubes(1.0), n, turn)
    yield Case("circle", circle, ((1,),))
    yield Case("trefoil", partial(curve, knot, n, turn), ((1,),))
    yield Case("trefoil, n = 200", partial(curve, knot, 200, turn), ((1,),))
    yield Case("Fourier curve in 8 columns", partial(curve, fourier(5, 1), n, 4.0), ((1,),))
    yield Case("bowl", partial(surface, paraboloid(0.8, 0.5), 2000), ((2,),))
    yield Case("saddle", partial(surface, paraboloid(0.8, -0.8), 2000), ((2,),))
    yield Case("hemisphere", hemisphere, ((2,),))


def hemisphere(seed: int) -> Cloud:
    sphere = product("S^2", 4000, seed)
    return sphere.rows(sphere.points[:, 2] > 0)
