"""Simulated spike counts of cells tuned to latent states, with the true tangents of the factors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state, check_real
from geodis.data.manifolds.directions import (
    circle_points,
    orthogonal_complement,
    turns_about,
    unit_vectors,
)

# State spaces to which cells are tuned: sampling, walks, embeddings and tangent frames.

# The embedding of states (n, s) that determines the tuning: points (n, p) and frames (n, k, p).
Placed = tuple[np.ndarray, np.ndarray]
# Directions of the three waves of a grid, 120 degrees apart, and a unit cell of the lattice on
# which all three are periodic: the third wave vector is minus the sum of the others.
_TURNS = np.arange(3) * 2 * np.pi / 3
WAVES = np.stack([np.cos(_TURNS), np.sin(_TURNS)])
CELL = 2 * np.pi * np.array([[1, 1 / np.sqrt(3)], [0, 2 / np.sqrt(3)]])


@dataclass(frozen=True)
class StateSpace:
    """A space of states, and the width of the tuning curves of cells.

    Attributes
    ----------
    name : str
    dim : int
    width : float
        Width of the tuning curves, unless the caller gives another.
    draw : callable
        (n, rng) -> uniform states (n, s).
    walk : callable
        (starts (1, s), steps (n - 1, k)) -> states (n, s) along a path.
    place : callable
        states -> points (n, p), whose distances determine the tuning, and frames (n, k, p).
    """

    name: str
    dim: int
    width: float
    draw: Callable[[int, np.random.Generator], np.ndarray]
    walk: Callable[[np.ndarray, np.ndarray], np.ndarray]
    place: Callable[[np.ndarray], Placed]


def added(start: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Add steps cumulatively to a start."""
    return start + np.vstack([np.zeros_like(start), np.cumsum(steps, axis=0)])


def reflected(start: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Add steps cumulatively in [0, 1], with reflection at the walls.

    Examples
    --------
    >>> reflected(np.array([[0.8]]), np.array([[0.3], [-0.3]])).ravel().round(6).tolist()
    [0.8, 0.9, 0.8]
    """
    return 1 - np.abs(np.mod(added(start, steps), 2) - 1)


def along_great_circles(start: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Walk on the unit sphere, each step relative to the direction of the previous one.

    With rotations T_i about axes orthogonal to e_0, state t is Q T_1 ... T_t e_0, where Q e_0 is
    the start.
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
    """Return the state spaces of a spec such as "ring x grid" or a list of names.

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
            f"states must be one or several of {', '.join(SPACES)} joined by ' x '; got {spec!r}."
        )
    return [SPACES[name] for name in read]


# The mean slope of a function of counts is tabulated at so many rates, evenly in their square root;
# counts beyond so many standard deviations above the rate are neglected.
TABLED, DEVIATIONS = 300, 8.0


@dataclass(frozen=True, eq=False, repr=False)
class PopulationSample:
    """Spike counts of cells tuned to states, and the states.

    Attributes
    ----------
    counts : ndarray of int, shape (n, c)
        Spike counts of every cell at every state.
    rates : ndarray of shape (n, c)
        Their means.
    states : list of m ndarrays of shape (n, s_j)
        States of every factor: an angle, a position, a position in the plane of a periodic
        grid, or a unit vector.
    preferred : list of m ndarrays of shape (c_j, s_j)
        States preferred by the cells tuned to each factor.
    slopes : list of m ndarrays of shape (n, k_j, c)
        Derivatives of the rates along every factor.
    names : tuple of m str
    """

    counts: np.ndarray
    rates: np.ndarray
    states: list[np.ndarray]
    preferred: list[np.ndarray]
    slopes: list[np.ndarray]
    names: tuple[str, ...]

    @property
    def factor_dims(self) -> tuple[int, ...]:
        """Dimension k_j of every factor."""
        return tuple(slopes.shape[1] for slopes in self.slopes)

    @property
    def dim(self) -> int:
        """Intrinsic dimension k, the sum of `factor_dims`."""
        return sum(self.factor_dims)

    def tangents(self, function: Callable[[Any], Any] | None = None) -> list[np.ndarray]:
        r"""Return the true tangents of the factors in the counts, or in a function of each count.

        The measurements at a state x scatter around E f(N), with N Poisson-distributed with rate
        r(x), and for the Poisson distribution::

            d E f(N) / dr = E [f(N + 1) - f(N)]

        Parameters
        ----------
        function : callable, optional
            Applied to an array of counts, such as `numpy.sqrt`; by default the identity.

        Returns
        -------
        list of m ndarrays of shape (n, k_j, c)
            Orthonormal rows.
        """
        slope = 1.0 if function is None else mean_slope(function, self.rates)[:, None]
        return [np.linalg.svd(slope * own, full_matrices=False)[2] for own in self.slopes]

    def __repr__(self) -> str:
        n, c = self.counts.shape
        return f"PopulationSample({' x '.join(self.names)!r}, n={n}, cells={c}, dim={self.dim})"


def sample_population(
    spec: str | Sequence[str],
    n: int,
    *,
    cells: int = 100,
    peak: float = 10.0,
    width: float | None = None,
    joint: bool = False,
    step: float | None = None,
    random_state: Any = None,
) -> PopulationSample:
    r"""Draw spike counts of a population of tuned cells.

    Parameters
    ----------
    spec : str or sequence of str
        State spaces joined by ``x``: "ring" (head direction), "grid" (the torus of grid cells),
        "track", "arena" (positions), "sphere" (gaze); for example "ring x grid".
    n : int
        Number of states.
    cells : int
        Total number of cells, with uniform preferred states, divided evenly among the factors.
    peak : float
        Expected number of spikes of a cell at its preferred state.
    width : float, optional
        Width of the tuning, in units of the state space (rings and spheres have radius 1, tracks
        and arenas side 1); by default a suitable width for each.
    joint : bool
        Tune every cell to all factors jointly.
    step : float, optional
        If given, the states follow a random walk with normal steps of this standard deviation in
        every direction; otherwise they are independent.
    random_state : int, Generator or None

    Returns
    -------
    PopulationSample
        ``counts`` are Poisson-distributed; a cell that prefers c has at state x the rate::

            rate = peak exp(-sum_j |x_j - c_j|^2 / (2 width_j^2))

        where the sum is over the factors to which the cell is tuned.

    Examples
    --------
    >>> sample = sample_population("ring x grid", 500, cells=60, random_state=0)
    >>> sample
    PopulationSample('ring x grid', n=500, cells=60, dim=3)
    >>> sample.counts.dtype, [states.shape for states in sample.states]
    (dtype('int64'), [(500, 1), (500, 2)])
    """
    from scipy.spatial.distance import cdist

    spaces = read_states(spec)
    n = check_int(n, "n", low=1)
    cells = check_int(cells, "cells", low=len(spaces))
    peak = check_real(peak, "peak", low=0)
    widths = [s.width if width is None else check_real(width, "width", low=1e-6) for s in spaces]
    step = None if step is None else check_real(step, "step", low=0)
    seeds = check_random_state(random_state).integers(2**63, size=3)
    states_rng, cells_rng, counts_rng = map(np.random.default_rng, seeds)
    states = [_states(space, n, step, states_rng) for space in spaces]
    tuned = [np.arange(cells)] * len(spaces) if joint else np.array_split(range(cells), len(spaces))
    exponent = np.zeros((n, cells))
    preferred = [
        space.draw(len(which), cells_rng) for space, which in zip(spaces, tuned, strict=True)
    ]
    pulls = []  # derivatives of the exponent along every factor
    for j, (space, w, which) in enumerate(zip(spaces, widths, tuned, strict=True)):
        points, frames = space.place(states[j])  # (n, p), (n, k, p)
        centres = space.place(preferred[j])[0]  # (c_j, p)
        exponent[:, which] -= cdist(points, centres, "sqeuclidean") / (2 * w**2)
        pull = np.zeros((n, space.dim, cells))
        toward = np.einsum("nkp,cp->nkc", frames, centres)
        pull[..., which] = (toward - (frames @ points[..., None])) / w**2
        pulls.append(pull)
    rates = peak * np.exp(exponent)
    return PopulationSample(
        counts=counts_rng.poisson(rates),
        rates=rates,
        states=states,
        preferred=preferred,
        slopes=[rates[:, None] * pull for pull in pulls],
        names=tuple(space.name for space in spaces),
    )


def mean_slope(function: Callable[[Any], Any], rates: np.ndarray) -> np.ndarray:
    """Return E [f(N + 1) - f(N)] for Poisson counts N with these rates.

    Examples
    --------
    >>> mean_slope(np.square, np.array([0.0, 3.0])).round(6).tolist()  # E [2 N + 1]
    [1.0, 7.0]
    """
    from scipy.stats import poisson

    roots = np.linspace(0, np.sqrt(rates.max()), TABLED)
    most = int(np.ceil(rates.max() + DEVIATIONS * np.sqrt(rates.max()) + DEVIATIONS**2))
    counts = np.arange(most + 1)
    steps = np.asarray(function(counts + 1) - function(counts), dtype=float)
    means = poisson.pmf(counts, roots[:, None] ** 2) @ steps
    return np.interp(np.sqrt(rates), roots, means)


def _states(space: StateSpace, n: int, step: float | None, rng: np.random.Generator) -> np.ndarray:
    """Draw independent states, or states along a walk."""
    if step is None:
        return space.draw(n, rng)
    return space.walk(space.draw(1, rng), step * rng.standard_normal((n - 1, space.dim)))
