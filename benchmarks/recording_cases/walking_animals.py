"""Cells of animals that walk about a box, by an independent simulator (RatInABox).

Places are visited unevenly, and rows that follow each other are near. A short recording has not
covered its manifold: then only a flag is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.recording_cases.recording import Recording, recordings
from benchmarks.recording_cases.tuned_cells import roots
from benchmarks.zoo_cases.case import Dims
from benchmarks.zoo_cases.clouds import Cloud

SIMULATOR = "ratinabox"
SPREAD = 3.0  # of head direction: exp(3 (cos - 1)), about .6 radian
# Seconds between rows that are kept, and rows: the last are those of a minute.
LONG, SHORT = (0.5, 3000), (0.05, 1200)
EVERY = 0.05  # seconds between steps of the simulator


@cache
def animal(every: float, n: int, seed: int) -> Any:
    """An animal that has walked, and the rows that are kept of its way."""
    from ratinabox.Agent import Agent
    from ratinabox.Environment import Environment

    np.random.seed(seed % 2**32)
    agent = Agent(Environment(params={"scale": 1.0}), params={"dt": EVERY})
    for _ in range(round(n * every / EVERY)):
        agent.update()
    kept = np.arange(n) * round(every / EVERY)
    return (
        agent,
        np.array(agent.history["pos"])[kept],
        np.array(agent.history["head_direction"])[kept],
    )


def rates(kind: str, cells: int, agent: Any, places: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Between 0 and 1, of one kind of cells at every row."""
    from ratinabox.Neurons import GridCells, PlaceCells

    if kind == "head direction":
        angle = np.arctan2(heads[:, 1], heads[:, 0])
        preferred = np.random.uniform(0, 2 * np.pi, cells)
        return np.exp(SPREAD * (np.cos(angle[:, None] - preferred) - 1))
    if kind == "place":
        own = PlaceCells(agent, params={"n": cells, "wall_geometry": "euclidean"})
    else:  # one module, of smooth firing fields
        own = GridCells(
            agent,
            params={
                "n": cells,
                "gridscale_distribution": "delta",
                "gridscale": 0.5,
                "orientation_distribution": "delta",
                "orientation": 0.1,
                "description": "shifted_cosines",
            },
        )
    return own.get_state(evaluate_at=None, pos=places).T


def recorded(
    kinds: tuple[str, ...], cells: int, peak: float, every: float, n: int, seed: int
) -> Cloud:
    agent, places, heads = animal(every, n, seed)
    each = [rates(kind, cells // len(kinds), agent, places, heads) for kind in kinds]
    counts = np.random.default_rng(seed).poisson(peak * np.hstack(each))
    return Cloud(roots(counts))


def walks(kinds: tuple[str, ...], *accepted: Dims) -> Iterator[Recording]:
    for peak, cells, (every, n), covered in (
        (4.0, 150, LONG, True),
        (10.0, 100, LONG, True),
        (30.0, 150, LONG, True),
        (30.0, 150, SHORT, len(accepted[0]) == 1 and accepted[0][0] == 1),
    ):
        yield Recording(
            f"peak {peak:g}, {cells} cells, {n:,} rows, one in {every:g} s",
            partial(recorded, kinds, cells, peak, every, n),
            accepted if covered else (),
            dims=(sum(accepted[0]),) if covered else (),
            slow=True,
            needs=SIMULATOR,
        )


@recordings("walks: head direction", "tuning")
def head_direction() -> Iterator[Recording]:
    yield from walks(("head direction",), (1,))


@recordings("walks: place", "tuning")
def place() -> Iterator[Recording]:
    yield from walks(("place",), (1, 1), (2,))


@recordings("walks: grid", "held-out")
def grid_module() -> Iterator[Recording]:
    yield from walks(("grid",), (2,))


@recordings("walks: head direction x grid", "held-out")
def head_direction_and_grid() -> Iterator[Recording]:
    yield from walks(("head direction", "grid"), (2, 1))
