"""A recording with its truth, and the families of recordings, whole in one of two halves."""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

import numpy as np

from benchmarks.zoo_cases.case import Case, Dims, Half
from benchmarks.zoo_cases.clouds import Cloud
from geodis.base.write import whole_file

# In the order of the tables.
MODULES = ("tuned_cells", "noisy_products", "walking_animals", "pictures", "built_in_tables")
# Where slow draws are kept between runs.
CACHE = Path(os.environ.get("GEODIS_CASES", Path(tempfile.gettempdir()) / "geodis-cases"))


@dataclass(frozen=True, eq=False)
class Recording(Case):
    """A case whose dimension is judged on its own.

    Attributes
    ----------
    dims : tuple of int
        Intrinsic dimensions that are right; none where nobody knows.
    within : bool
        Whether it is asked for: counts from a peak of 4 on, noise up to .1.
    slow : bool
        The draw is kept in a file.
    needs : str
        A package without which it cannot be drawn.
    """

    dims: Dims = ()
    within: bool = True
    slow: bool = False
    needs: str = ""

    def cloud(self, seed: int) -> Cloud:
        """Points and truth; slow ones from their file where they were drawn before."""
        if not self.slow:
            return super().cloud(seed)
        path = CACHE / f"{zlib.crc32(f'{self.name} {seed}'.encode()):08x}.npz"
        if not path.exists():
            drawn = super().cloud(seed).points
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as temporary, temporary.open("wb") as file:
                np.savez(file, points=drawn.astype(np.float32))
        with np.load(path, allow_pickle=False) as stored:
            return Cloud(stored["points"].astype(float))


Maker: TypeAlias = Callable[[], Iterator[Recording]]
FAMILIES: dict[str, tuple[Half, str, Maker]] = {}


def recordings(name: str, half: Half) -> Callable[[Maker], Maker]:
    """Register the generator below as a family of recordings; halves are fixed by these lines."""

    def register(make: Maker) -> Maker:
        if name in FAMILIES:
            raise ValueError(f"A family must have a name of its own; got a second {name!r}.")
        FAMILIES[name] = half, make.__module__.rsplit(".", 1)[-1], make
        return make

    return register


def all_cases() -> list[Recording]:
    """Every recording of every family."""
    for module in MODULES:
        import_module(f"benchmarks.recording_cases.{module}")
    return [
        replace(case, family=name, half=half, group=group)
        for name, (half, group, make) in FAMILIES.items()
        for case in make()
    ]


def factors(*accepted: Dims) -> tuple[tuple[Dims, ...], Dims]:
    """Accepted factor dimensions, and the dimensions that they add up to."""
    return accepted, tuple(sorted({sum(dims) for dims in accepted}))
