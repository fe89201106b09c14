"""What a factor is called above its picture, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from geodis.base.check import InputError
from geodis.manifold.topology.space_names import UNKNOWN

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER
    from geodis.manifold.topology.topology_of import Topology

# Name of a space -> what to call one of the kind.
WORDS = {
    "interval": "an open line",
    "circle": "a circle",
    "sheet": "a sheet with an edge",
    "cap": "a cap, curved like a part of a ball",
    "saddle": "a saddle with an edge",
    "cylinder": "a cylinder",
    "Moebius band": "a Moebius band",
    "sphere": "a sphere",
    "torus": "a torus, which goes around in two ways",
    "Klein bottle": "a Klein bottle",
    "projective plane": "a projective plane",
    "block": "a block with a surface",
    "SO(3)": "all rotations of an object, SO(3)",
    "S^3": "a sphere of dimension 3",
    "3-torus": "a torus, which goes around in three ways",
    "S^2 x S^1": "a sphere times a circle",
}

ROUND = ("circle", "sphere", "S^3")  # spaces whose radius is part of the title


def factor_titles(est: GeoManCER) -> tuple[str, ...]:
    """What every factor is called, such as "Factor 0: a sphere of radius 1.0"."""
    return tuple(
        f"Factor {j}: {words or _by_dimension(int(dim))}"
        for j, (words, dim) in enumerate(zip(words_of(est), est.factor_dims_, strict=True))
    )


def words_of(est: GeoManCER) -> tuple[str, ...]:
    """What kind of space every factor is, such as "a sphere of radius 1.0"; empty if unknown."""
    return tuple(map(_words, est.topology_))


def _by_dimension(dim: int) -> str:
    return f"a {dim}-dimensional space of unknown topology"


def _words(topology: Topology) -> str:
    name, radius, size = topology.name, topology.radius, topology.size
    if name == UNKNOWN:
        return ""
    words = WORDS.get(name, name)
    if name == "circle" and size is not None:
        radius = size / (2 * np.pi)
    if radius is not None and name in ROUND:
        return f"{words} of radius {_measure(radius)}"
    if name == "interval" and size is not None:
        return f"{words} of length {_measure(size)}"
    return words


def _measure(value: float) -> str:
    """Two digits, a decimal at least where it is small."""
    return f"{value:.1f}" if 0.95 <= value < 100 else f"{value:.2g}"


def check_titles(names: object, count: int) -> tuple[str, ...]:
    """Titles that were given, one for every factor."""
    if isinstance(names, str) or not hasattr(names, "__len__"):
        raise InputError(f"names must be a sequence of {count} texts; got {names!r}.")
    titles = tuple(str(name) for name in names)  # type: ignore[attr-defined]
    if len(titles) != count:
        raise InputError(f"names must be {count}, one for every factor; got {len(titles)}.")
    return titles
