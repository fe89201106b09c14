"""Recordings whose states are known, in coordinates without a seam."""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from benchmarks.recording_cases.recording import Recording, all_cases
from benchmarks.recording_cases.tuned_cells import roots
from benchmarks.recording_cases.walking_animals import SIMULATOR, animal
from benchmarks.zoo_cases.case import Half
from geodis import sample_population
from geodis.data.population import SPACES
from geodis.manifold import kept_directions

# Peaks and cells of the populations that are taken, and rows of every recording.
TAKEN = ((4, 300), (10, 50), (10, 200), (30, 100))
ROWS = 1500
# Families whose rows are in the order of time, a second from one to the next.
WALKS = ("walks: head direction", "walks: place")
# What a factor is called where it is found, in one or in several parts, and its Betti numbers.
CALLED: dict[str, tuple[tuple[str, ...], ...]] = {
    "ring": (("circle",),),
    "grid": (("torus",),),
    "track": (("interval",),),
    "arena": (("sheet",), ("interval", "interval")),
    "sphere": (("sphere",),),
}
FLAT = {"cap": "sheet", "saddle": "sheet"}
BETTI = {
    "ring": (1, 1, 0),
    "grid": (1, 2, 1),
    "track": (1, 0, 0),
    "arena": (1, 0, 0),
    "sphere": (1, 0, 1),
}


@dataclass(frozen=True, eq=False)
class KnownStates:
    """Rows (n, d) with the true coordinates of every factor.

    Attributes
    ----------
    name, family : str
    half : {"tuning", "held-out"}
    points : ndarray of shape (n, d)
    spaces : tuple of str
    coordinates : list of m ndarrays of shape (n, c_j)
    """

    name: str
    family: str
    half: Half
    points: np.ndarray
    spaces: tuple[str, ...]
    coordinates: list[np.ndarray]

    @property
    def factors(self) -> tuple[str, ...]:
        """The same, by the name that samples of maps have for it."""
        return self.spaces

    @property
    def widths(self) -> tuple[int, ...]:
        """True coordinates of every factor."""
        return tuple(own.shape[1] for own in self.coordinates)

    @property
    def dim(self) -> int:
        """Of the whole, the sum over the factors."""
        return sum(SPACES[name].dim for name in self.spaces)

    @property
    def rings(self) -> list[np.ndarray]:
        """The angle (n,) of every ring."""
        pairs = zip(self.spaces, self.coordinates, strict=True)
        return [np.arctan2(own[:, 1], own[:, 0]) for name, own in pairs if name == "ring"]

    @property
    def betti(self) -> tuple[int, int]:
        """Of the product, in degrees one and two (Kuenneth)."""
        total = np.array([1, 0, 0])
        for name in self.spaces:
            total = np.convolve(total, BETTI[name])[:3]
        return int(total[1]), int(total[2])

    @cached_property
    def kept(self) -> np.ndarray:
        """Along the directions that geodis keeps; all methods of others get these."""
        return kept_directions(self.points).project(self.points)


def named(spaces: Sequence[str], names: Sequence[str]) -> bool:
    """Whether found names are those of the factors; of a patch any, whatever its curvature."""
    alike = sorted(FLAT.get(name, name) for name in names)
    ways = product(*(CALLED[space] for space in spaces))
    return alike in [sorted(name for own in way for name in own) for way in ways]


def placed(space: str, states: np.ndarray) -> np.ndarray:
    return SPACES[space].place(states)[0]


def of_population(case: Recording, seed: int) -> KnownStates:
    """The first rows of a population of `tuned_cells`."""
    draw: Any = case.draw
    spec, n, cells, peak, joint = draw.args
    own = zlib.crc32(case.name.encode()) + seed
    sample = sample_population(spec, n, cells=cells, peak=peak, joint=joint, random_state=own)
    coordinates = [
        placed(s, states[:ROWS]) for s, states in zip(sample.names, sample.states, strict=True)
    ]
    points = roots(sample.counts[:ROWS])
    return KnownStates(case.name, case.family, case.half, points, sample.names, coordinates)


def of_walk(case: Recording, seed: int) -> KnownStates:
    """Every so many rows of a walk of `walking_animals`, of one kind of cells."""
    draw: Any = case.draw
    kinds, _, _, every, n = draw.args
    _, places, heads = animal(every, n, zlib.crc32(case.name.encode()) + seed)
    taken = np.arange(0, n, max(1, n // ROWS))
    space, states = {
        "head direction": ("ring", np.arctan2(heads[:, 1], heads[:, 0])[:, None]),
        "place": ("arena", places),
    }[kinds[0]]
    points = case.cloud(seed).points[taken]
    known = [placed(space, states[taken])]
    return KnownStates(case.name, case.family, case.half, points, (space,), known)


def names_of_known() -> dict[str, Recording]:
    """Recordings whose states can be had, in the order of the tables."""
    labels = [f"peak {peak}, {cells} cells" for peak, cells in TAKEN]
    found = {}
    for case in all_cases():
        population = case.group == "tuned_cells" and any(label in case.name for label in labels)
        walk = case.family in WALKS and case.dims and "0.5 s" in case.name
        if population or (walk and importlib.util.find_spec(SIMULATOR)):
            found[case.name] = case
    return found


def known_states(names: list[str], seed: int) -> Iterator[KnownStates]:
    cases = names_of_known()
    for name in names:
        case = cases[name]
        make = of_population if case.group == "tuned_cells" else of_walk
        yield make(case, seed)
