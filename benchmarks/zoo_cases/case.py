"""What a case of the zoo is, and the registry of families."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Literal, TypeAlias, get_args

from benchmarks.zoo_cases.clouds import Cloud

Half: TypeAlias = Literal["tuning", "held-out"]
HALVES: tuple[Half, ...] = get_args(Half)
Dims: TypeAlias = tuple[int, ...]

# In the order of the tables.
MODULES = (
    "products",
    "embeddings",
    "one_factor",
    "homogeneous",
    "warped",
    "noise",
    "sampling",
    "defects",
    "discrete",
    "told",
    "real",
)


@dataclass(frozen=True, eq=False)
class Case:
    """One data set with its truth.

    Attributes
    ----------
    title : str
        Within its family; `name` is both.
    draw : callable
        From a seed to a `Cloud`, points with the true tangents of their factors.
    accepted : tuple of tuple of int
        Factor dimensions that are right, each largest first. Empty where no answer is right, so
        that one must be flagged or refused.
    strength : float or None
        How far from a product, in the family's own parameter, where it is graded.
    fit : mapping
        Keywords for `GeoManCER`.
    real : bool
        Nobody knows the truth: only a crash and an unflagged claim of several factors are wrong.
    family, half, group : str
        Filled in by the registry; the group is the module.
    """

    title: str
    draw: Callable[[int], Cloud]
    accepted: tuple[Dims, ...]
    strength: float | None = None
    fit: Mapping[str, Any] = field(default_factory=dict)
    real: bool = False
    family: str = ""
    half: Half = "tuning"
    group: str = ""

    @property
    def name(self) -> str:
        """Family and title, unique in the zoo."""
        return f"{self.family}: {self.title}"

    def cloud(self, seed: int) -> Cloud:
        """Points and truth; the cases of one seed are drawn independently."""
        return self.draw(zlib.crc32(self.name.encode()) + seed)


@dataclass(frozen=True)
class Family:
    """Cases that share a construction; all of them belong to one half."""

    name: str
    half: Half
    group: str
    make: Callable[[], Iterator[Case]]

    def cases(self) -> list[Case]:
        """Its cases, with family, half and group filled in."""
        return [
            replace(case, family=self.name, half=self.half, group=self.group)
            for case in self.make()
        ]


FAMILIES: dict[str, Family] = {}

Maker: TypeAlias = Callable[[], Iterator[Case]]


def family(name: str, half: Half) -> Callable[[Maker], Maker]:
    """Register the generator below as a family of the zoo."""

    def register(make: Maker) -> Maker:
        if name in FAMILIES:
            raise ValueError(f"A family must have a name of its own; got a second {name!r}.")
        FAMILIES[name] = Family(name, half, make.__module__.rsplit(".", 1)[-1], make)
        return make

    return register


def all_families() -> list[Family]:
    """Every family, in the order of the modules."""
    for module in MODULES:
        import_module(f"benchmarks.zoo_cases.{module}")
    return list(FAMILIES.values())


def all_cases() -> list[Case]:
    """Every case of every family."""
    return [case for kind in all_families() for case in kind.cases()]
