"""Noise of five kinds in 10 to 200 columns; the truth is that of the points without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.stats import poisson

from benchmarks.zoo_cases.case import Case, Dims, family
from benchmarks.zoo_cases.clouds import (
    Cloud,
    Map,
    beside,
    hexagonal_torus,
    product,
    push,
    sphere_at,
    uniform,
)

Noise = Callable[[Cloud, float, np.random.Generator], np.ndarray]


def isotropic(cloud: Cloud, sigma: float, rng: np.random.Generator) -> np.ndarray:
    return sigma * rng.standard_normal(cloud.points.shape)


def normal_only(cloud: Cloud, sigma: float, rng: np.random.Generator) -> np.ndarray:
    """Isotropic noise less its part along the manifold."""
    noise = isotropic(cloud, sigma, rng)
    frames = cloud.merged().tangents[0]
    along = (frames @ noise[:, :, None]).swapaxes(1, 2) @ frames
    return noise - along[:, 0]


def uneven(cloud: Cloud, sigma: float, rng: np.random.Generator) -> np.ndarray:
    """Every column with a spread of its own, log-normal: two thirds within a factor of 1.8."""
    d = cloud.points.shape[1]
    return isotropic(cloud, sigma, rng) * np.exp(0.6 * rng.standard_normal(d))


def heavy(cloud: Cloud, sigma: float, rng: np.random.Generator) -> np.ndarray:
    """Student's t with 3 degrees of freedom, column by column."""
    return sigma * rng.standard_t(3, size=cloud.points.shape)


def noisy(spec: str, n: int, d: int, noise: Noise, sigma: float, seed: int) -> Cloud:
    cloud = product(spec, n, seed).turned(d, seed)
    return cloud.moved(noise(cloud, sigma, np.random.default_rng([seed, 5])))


SPHERES, BAND = ("S^2 x S^2", (2, 2)), ("S^2 x S^1", (2, 1))
MIXED, LARGER = ("SO(3) x S^1", (3, 1)), ("S^3 x S^2", (3, 2))
Made = tuple[tuple[str, Dims], int, int, float]


def cases_of(noise: Noise, *made: Made) -> Iterator[Case]:
    for (spec, dims), n, d, sigma in made:
        draw = partial(noisy, spec, n, d, noise, sigma)
        yield Case(f"{spec}, {sigma:g} in {d} columns, n = {n:,}", draw, (dims,))


@family("isotropic noise", "tuning")
def isotropic_noise() -> Iterator[Case]:
    yield from cases_of(
        isotropic,
        (SPHERES, 3000, 10, 0.03),
        (SPHERES, 3000, 10, 0.1),
        (SPHERES, 3000, 50, 0.03),
        (SPHERES, 3000, 50, 0.1),
        (SPHERES, 3000, 200, 0.03),
        (BAND, 2000, 20, 0.05),
        (MIXED, 3000, 20, 0.05),
        (SPHERES, 10_000, 10, 0.02),
    )


@family("noise along the normal", "held-out")
def normal_noise() -> Iterator[Case]:
    yield from cases_of(
        normal_only,
        (SPHERES, 3000, 10, 0.03),
        (SPHERES, 3000, 10, 0.1),
        (BAND, 2500, 50, 0.05),
        (LARGER, 4000, 20, 0.03),
        (SPHERES, 3000, 200, 0.03),
    )


@family("uneven noise", "held-out")
def uneven_noise() -> Iterator[Case]:
    yield from cases_of(
        uneven,
        (SPHERES, 3000, 10, 0.03),
        (SPHERES, 3000, 50, 0.05),
        (BAND, 2500, 20, 0.03),
        (LARGER, 4000, 100, 0.03),
    )


@family("heavy noise", "tuning")
def heavy_noise() -> Iterator[Case]:
    yield from cases_of(
        heavy,
        (SPHERES, 3000, 10, 0.02),
        (SPHERES, 3000, 50, 0.03),
        (BAND, 2000, 20, 0.05),
        (LARGER, 4000, 10, 0.02),
    )


def mean_root() -> Map:
    """The mean of the square root of a Poisson count, as a smooth function of its rate."""
    roots = np.linspace(0, 9, 400)  # of rates up to 81
    counts = np.arange(250)
    means = poisson.pmf(counts, roots[:, None] ** 2) @ np.sqrt(counts)
    spline = CubicSpline(roots, means)
    return lambda rate: spline(np.sqrt(rate))


def population(latents: Cloud, centres: np.ndarray, kappa: float, peak: float, seed: int) -> Cloud:
    """Square roots of the counts of cells tuned to unit vectors: peak exp(kappa (<x, c> - 1))."""

    def rates(x: np.ndarray) -> np.ndarray:
        return peak * np.exp(kappa * (x @ centres.T - 1))

    mean = mean_root()
    clean = push(latents, lambda x: mean(rates(x)))
    counts = np.random.default_rng([seed, 6]).poisson(rates(latents.points))
    return Cloud(np.sqrt(counts), clean.tangents)


def ring(n: int, cells: int, peak: float, seed: int) -> Cloud:
    latents = product("S^1", n, seed)
    return population(latents, product("S^1", cells, seed + 1).points, 3.0, peak, seed)


def ball(n: int, cells: int, peak: float, seed: int) -> Cloud:
    latents = product("S^2", n, seed)
    return population(latents, product("S^2", cells, seed + 1).points, 3.0, peak, seed)


def track(n: int, cells: int, peak: float, seed: int) -> Cloud:
    """Cells along an interval, as an arc of a third of the circle."""
    arcs = np.pi / 3 * uniform(n, 1, seed), 1.3 * np.pi / 3 * uniform(cells, 1, seed + 1)
    latents, centres = (sphere_at(np.hstack([np.cos(t), np.sin(t)])) for t in arcs)
    return population(latents, centres.points, 15.0, peak, seed)


def hexagons(n: int, cells: int, peak: float, seed: int) -> Cloud:
    """Grid cells of one module: tuned to the hexagonal torus, whose three circles are as long."""
    latents, centres = hexagonal_torus(n, seed), hexagonal_torus(cells, seed + 1)
    return population(latents, centres.points / 3, 4.0, peak, seed)


Population = Callable[[int, int, float, int], Cloud]


def recording(parts: tuple[Population, ...], n: int, cells: int, peak: float, seed: int) -> Cloud:
    """Populations side by side, each tuned to a factor of its own."""
    return beside(*(part(n, cells, peak, seed + 10 * j) for j, part in enumerate(parts)))


def recorded(title: str, parts: tuple[Population, ...], dims: Dims, cells: int, peak: int) -> Case:
    draw = partial(recording, parts, 2000, cells, float(peak))
    return Case(f"{title}, peak {peak}, {cells * len(parts)} cells", draw, (dims,))


@family("counts of rings and spheres", "tuning")
def counts() -> Iterator[Case]:
    yield recorded("ring", (ring,), (1,), 100, 10)
    for peak in (4, 50):
        yield recorded("ring x ring", (ring, ring), (1, 1), 60, peak)
    for peak in (10, 50):
        yield recorded("S^2 x ring", (ball, ring), (2, 1), 80, peak)


@family("counts of other populations", "held-out")
def other_counts() -> Iterator[Case]:
    yield recorded("grid module", (hexagons,), (2,), 120, 20)
    yield recorded("head direction x grid module", (ring, hexagons), (2, 1), 90, 50)
    yield recorded("ring x track", (ring, track), (1, 1), 60, 20)
    for peak in (10, 50):
        yield recorded("S^2 x S^2", (ball, ball), (2, 2), 80, peak)
