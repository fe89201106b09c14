"""Products of manifolds, turned into 6 to 500 columns, under even noise."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.recording_cases.recording import Recording, recordings
from benchmarks.zoo_cases.case import Dims
from benchmarks.zoo_cases.noise import isotropic, noisy

# Noise in units of the radius of a sphere, and columns beyond those that the product takes.
LEVELS = ((0.0, 0), (0.03, 0), (0.03, 50), (0.05, 200), (0.1, 10), (0.1, 100), (0.2, 50), (0.3, 15))
WIDE = (0.1, 500)
MOST_NOISE = 0.1


def products(spec: str, columns: int, *accepted: Dims, n: int = 3000) -> Iterator[Recording]:
    for sigma, d in (*LEVELS, WIDE):
        wide = max(columns, d)
        yield Recording(
            f"noise {sigma:g} in {wide} columns, n = {n:,}",
            partial(noisy, spec, n, wide, isotropic, sigma),
            accepted,
            dims=(sum(accepted[0]),),
            within=sigma <= MOST_NOISE,
        )


@recordings("noisy: S^2 x S^2", "tuning")
def spheres() -> Iterator[Recording]:
    yield from products("S^2 x S^2", 6, (2, 2))


@recordings("noisy: S^2 x S^1", "tuning")
def sphere_and_circle() -> Iterator[Recording]:
    yield from products("S^2 x S^1", 6, (2, 1), n=2000)


@recordings("noisy: S^3 x S^2", "tuning")
def larger() -> Iterator[Recording]:
    yield from products("S^3 x S^2", 7, (3, 2), n=4000)


@recordings("noisy: SO(3) x S^1", "held-out")
def rotations_and_circle() -> Iterator[Recording]:
    yield from products("SO(3) x S^1", 11, (3, 1))


@recordings("noisy: S^1 x S^1", "held-out")
def circles() -> Iterator[Recording]:
    yield from products("S^1 x S^1", 6, (1, 1), n=1500)


@recordings("noisy: S^2 x S^2 x S^1", "held-out")
def three() -> Iterator[Recording]:
    yield from products("S^2 x S^2 x S^1", 8, (2, 2, 1), n=4000)
