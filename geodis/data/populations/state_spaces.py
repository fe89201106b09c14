"""State spaces that cells are tuned to: states at random or along a walk, and their frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from geodis.base.check import InputError
from geodis.data.manifolds.draws import circle_points, orthogonal_complement, unit_vectors
from geodis.data.manifolds.turns import turns_about

# A state, where it lies for the tuning, and the directions in which it can change: (n, p) and
# (n, k, p) of states (n, s).
Placed = tuple[np.ndarray, np.ndarray]
# Directions of the three waves of a grid, 120 degrees apart, and a cell of the lattice on which
# all three come back: the third is minus the sum of the others.
_TURNS = np.arange(3) * 2 * np.pi / 3
WAVES = np.stack([np.cos(_TURNS), np.sin(_TURNS)])
CELL = 2 * np.pi * np.array([[1, 1 / np.sqrt(3)], [0, 2 / np.sqrt(3)]])


@dataclass(frozen=True)
class StateSpace:
    """A space of states with the width of the tuning of cells to it.

    Attributes
    ----------
    name : str
    dim : int
    width : float
        Of the tuning, where a spec names none.
    draw : callable
        (n, rng) -> states (n, s), uniform.
    walk : callable
        (starts (1, s), steps (n - 1, k)) -> states (n, s) along a path.
    place : callable
        states -> points (n, p) whose distances are those of the tuning, and frames (n, k, p).
    """

    name: str
    dim: int
    width: float
    draw: Callable[[int, np.random.Generator], np.ndarray]
    walk: Callable[[np.ndarray, np.ndarray], np.ndarray]
    place: Callable[[np.ndarray], Placed]


def added(start: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Steps one after the other."""
    return start + np.vstack([np.zeros_like(start), np.cumsum(steps, axis=0)])


def reflected(start: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Steps one after the other in [0, 1], back from its walls.

    Examples
    --------
    >>> reflected(np.array([[0.8]]), np.array([[0.3], [-0.3]])).ravel().round(6).tolist()
    [0.8, 0.9, 0.8]
    """
    return 1 - np.abs(np.mod(added(start, steps), 2) - 1)


def along_great_circles(start: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Steps on the unit sphere, each along the great circle on which the last one left it.

    With turns T_i about axes orthogonal to e_0, state t is Q T_1 ... T_t e_0 where Q e_0 starts.
    """
    turns = turns_about(np.pad(steps, ((0, 0), (1, 0))))
    shift = 1
    while shift < len(turns):  # products of 2, 4, 8, ... turns
        turns[shift:] = turns[:-shift] @ turns[shift:]
        shift *= 2
    first = np.concatenate([start[:, None], orthogonal_complement(start)], axis=1)[0].T
    return np.vstack([start, turns[:, :, 0] @ first.T])


def _ring(states: np.ndarray) -> Placed:
    points, along = circle_points(states[:, 0])
    return points, along[:, None]


def _grid(states: np.ndarray) -> Placed:
    angle = states @ WAVES  # (n, 3)
    cos, sin = np.cos(angle), np.sin(angle)
    slopes = np.concatenate([-sin[:, None] * WAVES, cos[:, None] * WAVES], axis=2)
    return np.hstack([cos, sin]), slopes


def _flat(states: np.ndarray) -> Placed:
    n, k = states.shape
    return states, np.broadcast_to(np.eye(k), (n, k, k))


SPACES = {
    space.name: space
    for space in (
        StateSpace("ring", 1, 0.6, lambda n, r: r.uniform(0, 2 * np.pi, (n, 1)), added, _ring),
        StateSpace("grid", 2, 0.85, lambda n, r: r.uniform(size=(n, 2)) @ CELL, added, _grid),
        StateSpace("track", 1, 0.15, lambda n, r: r.uniform(size=(n, 1)), reflected, _flat),
        StateSpace("arena", 2, 0.2, lambda n, r: r.uniform(size=(n, 2)), reflected, _flat),
        StateSpace(
            "sphere",
            2,
            0.6,
            lambda n, r: unit_vectors(n, 3, r),
            along_great_circles,
            lambda states: (states, orthogonal_complement(states)),
        ),
    )
}


def read_states(spec: str | Sequence[str]) -> list[StateSpace]:
    """State spaces of a spec, as "ring x grid" or a list of names.

    Examples
    --------
    >>> [space.dim for space in read_states("ring x grid")]
    [1, 2]
    """
    names = spec.replace("×", "x").replace("*", "x").split(" x ") if isinstance(spec, str) else spec
    read = [str(name).strip().lower() for name in names]
    unknown = [name for name in read if name not in SPACES]
    if unknown or not read:
        raise InputError(
            f"states must be {', '.join(SPACES)}, or several of them joined by ' x '; got {spec!r}."
        )
    return [SPACES[name] for name in read]
