"""Kinds of factor with known names, one sample each: what `names` asks about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from geodis.data.manifolds.products import product_manifold

Draw = Callable[[int, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Kind:
    """One kind of factor: how it is drawn, its dimension, and the names that are right."""

    name: str
    dim: int
    right: tuple[str, ...]
    half: str  # "tuning" or "held-out": most thresholds were chosen on the first
    draw: Draw


def _space(spec: str) -> Draw:
    def draw(n: int, rng: np.random.Generator) -> np.ndarray:
        return product_manifold(spec, n, random_state=rng).points

    return draw


def _arc(n: int, rng: np.random.Generator) -> np.ndarray:
    """Three quarters of a circle."""
    angle = rng.uniform(0, 1.5 * np.pi, n)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _spiral(n: int, rng: np.random.Generator) -> np.ndarray:
    """An open helix of two and a half turns."""
    angle = rng.uniform(0, 5 * np.pi, n)
    return np.stack([np.cos(angle), np.sin(angle), 0.15 * angle], axis=1)


# Turns of a roll lie 2 pi PITCH apart. With a sphere beside it, 4,000 points lie in four
# dimensions: 64 neighbours reach out 1.1, which a gap of 1.6 keeps apart and one of 1.0, the tight
# roll's, does not; there "unknown" is as good as it gets.
PITCH, TIGHT_PITCH = 0.25, 0.163


def _rolled(n: int, rng: np.random.Generator, pitch: float, width: float) -> np.ndarray:
    """A Swiss roll, 1.5 turns, uniform in area."""
    low, high = 1.5 * np.pi, 4.5 * np.pi
    turn = np.sqrt(low**2 + (high**2 - low**2) * rng.uniform(size=n))
    across = rng.uniform(0, width, n)
    return np.stack([pitch * turn * np.cos(turn), pitch * turn * np.sin(turn), across], axis=1)


def _roll(n: int, rng: np.random.Generator) -> np.ndarray:
    return _rolled(n, rng, PITCH, 1.0)


def _tight_roll(n: int, rng: np.random.Generator) -> np.ndarray:
    return _rolled(n, rng, TIGHT_PITCH, 2.0)


def _cap(n: int, rng: np.random.Generator) -> np.ndarray:
    """The part of the unit sphere within 60 degrees of a pole."""
    height, angle = rng.uniform(0.5, 1, n), rng.uniform(0, 2 * np.pi, n)
    width = np.sqrt(1 - height**2)
    return np.stack([width * np.cos(angle), width * np.sin(angle), height], axis=1)


def _cylinder(n: int, rng: np.random.Generator) -> np.ndarray:
    """A circle times an interval of length two."""
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.stack([np.cos(angle), np.sin(angle), rng.uniform(-1, 1, n)], axis=1)


KINDS = (
    Kind("circle", 1, ("circle",), "held-out", _space("S^1")),
    Kind("trefoil", 1, ("circle",), "tuning", _space("knot(2, 3)")),
    Kind("arc", 1, ("interval",), "tuning", _arc),
    Kind("helix", 1, ("interval",), "held-out", _spiral),
    Kind("square", 2, ("sheet",), "tuning", _space("R^2")),
    Kind("Swiss roll", 2, ("sheet",), "held-out", _roll),
    Kind("tight Swiss roll", 2, ("sheet",), "held-out", _tight_roll),
    Kind("cap", 2, ("cap",), "held-out", _cap),
    Kind("cylinder", 2, ("cylinder",), "tuning", _cylinder),
    Kind("Moebius band", 2, ("Moebius band",), "tuning", _space("Moebius(1.5, .5)")),
    Kind("S^2", 2, ("sphere",), "tuning", _space("S^2")),
    Kind("ellipsoid", 2, ("sphere",), "held-out", _space("ellipsoid(1, 1.3, 1.7)")),
    Kind("torus of revolution", 2, ("torus",), "tuning", _space("torus(2, .8)")),
    Kind("flat torus", 2, ("torus",), "held-out", _space("T^2")),
    Kind("Klein bottle", 2, ("Klein bottle",), "held-out", _space("Klein(2, .8)")),
    Kind("RP^2", 2, ("projective plane",), "tuning", _space("Gr(3, 1)")),
    Kind("SO(3)", 3, ("SO(3)",), "held-out", _space("SO(3)")),
    Kind("S^3", 3, ("S^3",), "tuning", _space("S^3")),
    Kind("S^4", 4, ("S^4",), "tuning", _space("S^4")),
    Kind("CP^2", 4, ("CP^2",), "tuning", _space("CP^2")),
    Kind("S^2 x S^2", 4, ("S^2 x S^2",), "held-out", _space("S^2 x S^2")),
)
