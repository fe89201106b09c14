"""How the points are spread: densities, holes, boundaries, scales and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.zoo_cases.case import Case, Dims, family
from benchmarks.zoo_cases.clouds import Cloud, Map, product
from benchmarks.zoo_cases.one_factor import whole
from benchmarks.zoo_cases.products import of_spec


def kept(spec: str, n: int, probability: Map, seed: int) -> Cloud:
    """About n points of a product, each kept with a probability that depends on it."""
    trial = product(spec, 20_000, seed)
    chance = np.random.default_rng([seed, 7]).uniform(size=len(trial.points))
    rows = np.flatnonzero(chance < probability(trial.points))
    return trial.rows(rows[:n])


def dense(spec: str, n: int, dims: Dims, density: float) -> Case:
    draw = partial(product, spec, n, density=density)
    return Case(f"{spec}, density {density:g}", draw, (dims,))


@family("uneven density", "tuning")
def uneven_density() -> Iterator[Case]:
    for density in (1.0, 3.0, 8.0):
        yield dense("S^2 x S^2", 3000, (2, 2), density)
    yield dense("S^2 x SO(3)", 3500, (3, 2), 3.0)


def thinned(rate: float) -> Map:
    """Points where x_0 and the first column of the next sphere agree are likelier."""
    return lambda x: np.exp(rate * (x[:, 0] * x[:, 3] - 1))


def tilted(rate: float) -> Map:
    return lambda x: np.exp(rate * (x[:, 0] - 1))


@family("dependent density", "held-out")
def dependent_density() -> Iterator[Case]:
    for rate in (1.0, 2.0):
        draw = partial(kept, "S^2 x S^2", 3000, thinned(rate))
        yield Case(f"S^2 x S^2, rate {rate:g}", draw, ((2, 2),))
    draw = partial(kept, "S^2 x S^1", 2500, thinned(2.0))
    yield Case("S^2 x S^1, rate 2", draw, ((2, 1),))
    draw = partial(kept, "torus(2, .7) x S^2", 3000, tilted(0.8))
    yield Case("torus(2, .7) x S^2, denser on one side", draw, ((2, 2),))


def outside_caps(*starts: int) -> Map:
    """Outside three caps about the axes of every factor whose columns begin at `starts`."""
    columns = [start + j for start in starts for j in range(3)]
    return lambda x: np.asarray((x[:, columns] < 0.8).all(axis=1))


HOLES: dict[str, tuple[str, int, Dims, Map]] = {
    "three in the first of S^2 x S^2": ("S^2 x S^2", 3000, (2, 2), outside_caps(0)),
    "three in both of S^2 x S^2": ("S^2 x S^2", 3000, (2, 2), outside_caps(0, 3)),
    "where both are high, S^2 x S^2": ("S^2 x S^2", 3000, (2, 2), lambda x: x[:, 2] + x[:, 5] < 1),
    "three in S^2 of S^2 x S^1": ("S^2 x S^1", 2500, (2, 1), outside_caps(0)),
}


@family("holes", "tuning")
def holes() -> Iterator[Case]:
    for title, (spec, n, dims, inside) in HOLES.items():
        yield Case(title, partial(kept, spec, n, inside), (dims,))


def above(*columns: int, height: float) -> Map:
    return lambda x: np.asarray((x[:, list(columns)] > height).all(axis=1))


BOUNDARIES: dict[str, tuple[str, int, Dims, Map]] = {
    "hemisphere x S^2": ("S^2 x S^2", 3000, (2, 2), above(2, height=0.0)),
    "two caps, z > .5": ("S^2 x S^2", 1200, (2, 2), above(2, 5, height=0.5)),
    "hemisphere x hemisphere": ("S^2 x S^2", 3000, (2, 2), above(2, 5, height=0.0)),
    "cap z > .5 x S^1": ("S^2 x S^1", 2500, (2, 1), above(2, height=0.5)),
    "half of S^3 x cap": ("S^3 x S^2", 3000, (3, 2), above(0, 6, height=0.2)),
}


@family("boundaries", "held-out")
def boundaries() -> Iterator[Case]:
    for title, (spec, n, dims, inside) in BOUNDARIES.items():
        yield Case(title, partial(kept, spec, n, inside), (dims,))


@family("unequal scales", "tuning")
def scales() -> Iterator[Case]:
    yield of_spec("S^2 x S^2(2)", 3000, 2, 2)
    yield of_spec("S^2 x S^2(3)", 3000, 2, 2)
    yield of_spec("S^2 x S^2(5)", 4000, 2, 2)
    yield of_spec("S^2 x S^2(10)", 4000, 2, 2)
    yield of_spec("S^2 x S^1(5)", 2500, 2, 1)
    yield of_spec("S^3 x S^2(3)", 4000, 3, 2)


@family("long and thin", "held-out")
def long_and_thin() -> Iterator[Case]:
    yield of_spec("ellipsoid(1, 1, 5) x ellipsoid(1, 1, 5)", 3000, 2, 2)
    yield of_spec("ellipsoid(1, 1, 3) x S^2", 3000, 2, 2)
    yield of_spec("ellipsoid(1, 3, 3) x S^1(2)", 3000, 2, 1)
    yield of_spec("SO(3) x S^2(5)", 4000, 3, 2)
    yield of_spec("torus(3, .4) x S^1", 3000, 2, 1)
    yield of_spec("S^1 x S^1(10)", 2000, 1, 1)
    yield whole("ellipsoid(1, 1, 6)", 2000, 2)


@family("numbers of points", "tuning")
def numbers() -> Iterator[Case]:
    for n in (100, 200, 400, 1000, 20_000):
        yield of_spec("S^2 x S^2", n, 2, 2)
    yield of_spec("S^1 x S^1", 100, 1, 1)
    yield of_spec("S^2 x S^1", 300, 2, 1)


@family("numbers of points, other spaces", "held-out")
def other_numbers() -> Iterator[Case]:
    for n in (300, 800):
        yield of_spec("S^3 x S^2", n, 3, 2)
    for n in (150, 600, 20_000):
        yield of_spec("torus(2, .7) x S^1", n, 2, 1)
    yield of_spec("SO(3) x S^2", 700, 3, 2)
    yield of_spec("S^2 x S^2 x S^2", 1000, 2, 2, 2)
