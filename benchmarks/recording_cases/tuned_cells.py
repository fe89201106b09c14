"""Populations on ten state spaces, as square roots of Poisson counts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.recording_cases.recording import Recording, recordings
from benchmarks.zoo_cases.case import Dims
from benchmarks.zoo_cases.clouds import Cloud
from geodis import sample_population

# Spikes at the peak of a tuning curve, and cells.
RECORDED = ((1, 200), (2, 100), (4, 100), (4, 300), (10, 50), (10, 200), (30, 100), (50, 500))
LEAST_PEAK = 4
CURVES, MORE = 2000, 3000  # states: for one dimension or two, and for more


def roots(counts: np.ndarray) -> np.ndarray:
    """Counts with a spread of one, whatever their mean (Anscombe 1948)."""
    return 2 * np.sqrt(counts + 3 / 8)


def population(spec: str, n: int, cells: int, peak: float, joint: bool, seed: int) -> Cloud:
    sample = sample_population(spec, n, cells=cells, peak=peak, joint=joint, random_state=seed)
    return Cloud(roots(sample.counts), sample.tangents(roots))


def populations(spec: str, *accepted: Dims, joint: bool = False) -> Iterator[Recording]:
    dim = sum(accepted[0])
    n = CURVES if dim < 3 else MORE
    for peak, cells in RECORDED:
        yield Recording(
            f"peak {peak}, {cells} cells, n = {n:,}",
            partial(population, spec, n, cells, float(peak), joint),
            accepted,
            dims=(dim,),
            within=peak >= LEAST_PEAK,
        )


@recordings("cells: ring", "tuning")
def ring() -> Iterator[Recording]:
    yield from populations("ring", (1,))


@recordings("cells: ring x ring, each for both", "tuning")
def rings() -> Iterator[Recording]:
    yield from populations("ring x ring", (1, 1), joint=True)


@recordings("cells: sphere x ring", "tuning")
def sphere_and_ring() -> Iterator[Recording]:
    yield from populations("sphere x ring", (2, 1))


@recordings("cells: arena", "tuning")
def arena() -> Iterator[Recording]:
    yield from populations("arena", (1, 1), (2,))


@recordings("cells: grid x ring", "tuning")
def grid_and_ring() -> Iterator[Recording]:
    yield from populations("grid x ring", (2, 1))


@recordings("cells: grid", "held-out")
def grid() -> Iterator[Recording]:
    yield from populations("grid", (2,))


@recordings("cells: sphere", "held-out")
def sphere() -> Iterator[Recording]:
    yield from populations("sphere", (2,))


@recordings("cells: sphere x sphere", "held-out")
def spheres() -> Iterator[Recording]:
    yield from populations("sphere x sphere", (2, 2))


@recordings("cells: track x ring", "held-out")
def track_and_ring() -> Iterator[Recording]:
    yield from populations("track x ring", (1, 1))


@recordings("cells: arena x ring, each for both", "held-out")
def arena_and_ring() -> Iterator[Recording]:
    yield from populations("arena x ring", (1, 1, 1), (2, 1), joint=True)
