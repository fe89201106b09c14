"""Isometrically bent flat products with known factors, for tests of unrolling.

Coordinates u (n, f), one column per latent variable, are drawn, optionally rotated, and every
column of the result y = u A^T is bent along a plane curve of unit speed. The map from u to the
points is an isometric immersion for any curves, so distances along the surface are those of u,
and the directions of the latent variables are known at every point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from geodis.base.check import check_choice, check_int, check_random_state, check_real
from geodis.data.manifolds.directions import circle_points, random_rotations, unit_vectors

FlatCase: TypeAlias = Literal[
    "rectangle", "swiss roll", "box", "box, tightly bent", "box, each on its own curve",
    "exponential", "beta(2, 2)", "beta(.5, .5)", "equal Gaussians", "disc x interval",
    "ball x interval", "disc x disc", "box of dimension 5", "correlated .3", "circle x interval",
    "circle x circle", "L-shape", "triangle", "hole",
]  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class FlatSample:
    """Points of a bent flat product, with the latent variables that generated them.

    Attributes
    ----------
    points : ndarray of shape (n, d)
    coordinates : ndarray of shape (n, f)
        The latent variables, in units of length along the surface.
    tangents : list of m ndarrays of shape (n, f_j, d)
        Orthonormal rows along the latent variables of each factor, before noise.
    side : float
        Length of a typical side; the noise is given relative to it.
    name : str
    """

    points: np.ndarray
    coordinates: np.ndarray
    tangents: list[np.ndarray]
    side: float
    name: str

    @property
    def factor_dims(self) -> tuple[int, ...]:
        """Dimension of every factor."""
        return tuple(frames.shape[1] for frames in self.tangents)

    def __repr__(self) -> str:
        n, d = self.points.shape
        return f"FlatSample({self.name!r}, n={n}, d={d}, factor_dims={self.factor_dims})"


def involute(length: np.ndarray, scale: float, start: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the involute of a circle, a spiral of unit speed, at arc length ``start + length``.

    With phi = sqrt(2 s / scale) the point is ``scale (cos phi + phi sin phi, sin phi - phi cos
    phi)`` and the tangent ``(cos phi, sin phi)``; neighbouring turns are 2 pi scale apart.

    Examples
    --------
    >>> point, tangent = involute(np.array([0.0]), scale=2.0, start=np.pi**2)
    >>> point.round(4).tolist(), tangent.round(4).tolist()
    ([[-2.0, 6.2832]], [[-1.0, 0.0]])
    """
    phi = np.sqrt(2 * (start + length) / scale)
    cos, sin = np.cos(phi), np.sin(phi)
    points = scale * np.stack([cos + phi * sin, sin - phi * cos], axis=-1)
    return points, np.stack([cos, sin], axis=-1)


def circle(length: np.ndarray, circumference: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a circle at arc length and its tangent, each of shape (n, 2)."""
    points, tangents = circle_points(2 * np.pi * length / circumference)
    return circumference / (2 * np.pi) * points, tangents


def bend(
    coordinates: np.ndarray,
    *,
    rotation: np.ndarray | None = None,
    scale: float = 0.15,
    start: float = 0.5,
    closed: dict[int, float] | None = None,
    straight: tuple[int, ...] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """Bend flat coordinates isometrically into twice as many dimensions.

    Parameters
    ----------
    coordinates : ndarray of shape (n, f)
    rotation : ndarray of shape (f, f), optional
        Applied first, so that the curves mix the coordinates.
    scale, start : float
        Parameters of the spirals; see `involute`.
    closed : dict of int to float, optional
        Columns bent into circles, and their circumferences.
    straight : tuple of int
        Columns that are not bent.

    Returns
    -------
    points : ndarray of shape (n, 2 f)
    frames : ndarray of shape (n, f, 2 f)
        Orthonormal rows: derivatives of the points along the coordinates.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> points, frames = bend(square)
    >>> points.shape, bool(np.allclose(frames @ np.swapaxes(frames, 1, 2), np.eye(2)))
    ((3, 4), True)
    """
    n, f = coordinates.shape
    rotation = np.eye(f) if rotation is None else rotation
    flat = coordinates @ rotation.T
    points = np.empty((n, 2 * f))
    frames = np.zeros((n, f, 2 * f))
    for a, column in enumerate(flat.T):
        if closed and a in closed:
            own, tangent = circle(column, closed[a])
        elif a in straight:
            own, tangent = np.outer(column, [1.0, 0.0]), np.broadcast_to([1.0, 0.0], (n, 2))
        else:
            own, tangent = involute(column - column.min(), scale, start)
        points[:, 2 * a : 2 * a + 2] = own
        frames[:, a, 2 * a : 2 * a + 2] = tangent
    return points, np.swapaxes(rotation, 0, 1) @ frames


@dataclass(frozen=True)
class _Case:
    """Definition of a named sample."""

    draw: Callable[[int, np.random.Generator], np.ndarray]
    dims: tuple[int, ...]
    mixed: bool = True  # rotated before bending
    side: float = 1.0
    bending: Mapping[str, Any] = field(default_factory=dict)  # options of `bend`


def _uniform(*sides: float) -> Callable[[int, np.random.Generator], np.ndarray]:
    return lambda n, rng: rng.uniform(size=(n, len(sides))) * sides


def _ball(n: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    """Draw uniform points of the ball of radius .6, which is about as wide as a unit interval."""
    return 0.6 * unit_vectors(n, dim, rng) * rng.uniform(size=(n, 1)) ** (1 / dim)


def _correlated(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw uniform marginals on [0, 1] with pairwise correlations near .3 (a Gaussian copula)."""
    from scipy.stats import norm

    covariance = 0.31 + 0.69 * np.eye(3)
    return norm.cdf(rng.multivariate_normal(np.zeros(3), covariance, n))


def _keep(inside: Callable[[np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    """Return a function that draws uniform points of a part of the unit square."""

    def draw(n: int, rng: np.random.Generator) -> np.ndarray:
        square = rng.uniform(size=(6 * n + 100, 2))
        return square[inside(square)][:n]

    return draw


WIDE = {"scale": 0.6, "start": 4.0}  # for distributions with tails
CASES: dict[FlatCase, _Case] = {
    "rectangle": _Case(_uniform(1, 3), (1, 1), bending={"scale": 0.2}),
    "swiss roll": _Case(_uniform(8, 2), (1, 1), False, 2.0, {"scale": 0.25, "straight": (1,)}),
    "box": _Case(_uniform(1, 1, 1), (1, 1, 1)),
    "box, tightly bent": _Case(
        _uniform(1, 1, 1), (1, 1, 1), bending={"scale": 0.08, "start": 0.25}
    ),
    "box, each on its own curve": _Case(_uniform(1, 1, 1), (1, 1, 1), mixed=False),
    "exponential": _Case(lambda n, rng: rng.exponential(size=(n, 3)), (1, 1, 1), bending=WIDE),
    "beta(2, 2)": _Case(lambda n, rng: rng.beta(2, 2, (n, 3)), (1, 1, 1)),
    "beta(.5, .5)": _Case(lambda n, rng: rng.beta(0.5, 0.5, (n, 3)), (1, 1, 1)),
    "equal Gaussians": _Case(lambda n, rng: rng.standard_normal((n, 3)), (1, 1, 1), bending=WIDE),
    "disc x interval": _Case(
        lambda n, rng: np.column_stack([_ball(n, 2, rng), rng.uniform(size=n)]), (2, 1)
    ),
    "ball x interval": _Case(
        lambda n, rng: np.column_stack([_ball(n, 3, rng), rng.uniform(size=n)]), (3, 1)
    ),
    "disc x disc": _Case(
        lambda n, rng: np.column_stack([_ball(n, 2, rng), _ball(n, 2, rng)]), (2, 2)
    ),
    "box of dimension 5": _Case(_uniform(1, 1, 1, 1, 1), (1,) * 5),
    "correlated .3": _Case(_correlated, (1, 1, 1)),
    "circle x interval": _Case(_uniform(3, 1), (1, 1), False, bending={"closed": {0: 3.0}}),
    "circle x circle": _Case(_uniform(3, 2), (1, 1), False, bending={"closed": {0: 3.0, 1: 2.0}}),
    "L-shape": _Case(_keep(lambda x: (x[:, 0] < 0.4) | (x[:, 1] < 0.4)), (2,)),
    "triangle": _Case(_keep(lambda x: x.sum(axis=1) < 1), (2,)),
    "hole": _Case(_keep(lambda x: ((x - 0.5) ** 2).sum(axis=1) > 0.09), (2,)),
}


def flat_sample(
    case: FlatCase, n: int, *, noise: float = 0.0, pad: int = 0, random_state: Any = None
) -> FlatSample:
    """Draw one of the named flat samples.

    Parameters
    ----------
    case : str
        A key of `CASES`: "box" is the unit cube, rotated and bent along three spirals.
    n : int
    noise : float
        Standard deviation of the noise in every ambient coordinate, relative to the side.
    pad : int
        Number of ambient coordinates without signal to append.
    random_state : int, Generator or None

    Returns
    -------
    FlatSample

    Examples
    --------
    >>> flat_sample("disc x interval", 100, random_state=0)
    FlatSample('disc x interval', n=100, d=6, factor_dims=(2, 1))
    """
    made = CASES[check_choice(case, "case", tuple(CASES))]
    n = check_int(n, "n", low=1)
    rng = check_random_state(random_state)
    u = made.draw(n, rng)
    return bent_sample(
        u,
        made.dims,
        rotation=random_rotations(1, u.shape[1], rng)[0] if made.mixed else None,
        side=made.side,
        noise=noise,
        pad=pad,
        name=case,
        random_state=rng,
        **made.bending,
    )


def grid_coordinates(
    sizes: tuple[int, ...],
    *,
    step: float | None = None,
    jitter: float = 0.0,
    random_state: Any = None,
) -> np.ndarray:
    """Return the coordinates of a full grid, shape (prod sizes, f).

    Every factor spans [0, 1], or has the given step; jitter is uniform, in units of the step.

    Examples
    --------
    >>> grid_coordinates((2, 3)).tolist()
    [[0.0, 0.0], [0.0, 0.5], [0.0, 1.0], [1.0, 0.0], [1.0, 0.5], [1.0, 1.0]]
    """
    rng = check_random_state(random_state)
    steps = [1 / (size - 1) if step is None else step for size in sizes]
    whole = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), axis=-1)
    whole = whole.reshape(-1, len(sizes)).astype(float)
    whole += jitter * rng.uniform(-0.5, 0.5, whole.shape)
    return whole * steps


def bent_sample(
    coordinates: np.ndarray,
    factor_dims: tuple[int, ...],
    *,
    rotation: np.ndarray | None = None,
    scale: float = 0.15,
    start: float = 0.5,
    closed: dict[int, float] | None = None,
    straight: tuple[int, ...] = (),
    side: float = 1.0,
    noise: float = 0.0,
    pad: int = 0,
    name: str = "given coordinates",
    random_state: Any = None,
) -> FlatSample:
    """Bend given coordinates (n, f) and add noise; see `bend` and `flat_sample`."""
    rng = check_random_state(random_state)
    points, frames = bend(
        coordinates, rotation=rotation, scale=scale, start=start, closed=closed, straight=straight
    )
    points = np.pad(points, ((0, 0), (0, check_int(pad, "pad", low=0))))
    frames = np.pad(frames, ((0, 0), (0, 0), (0, pad)))
    sigma = check_real(noise, "noise", low=0) * side
    points = points + sigma * rng.standard_normal(points.shape) if sigma else points
    bounds = np.cumsum(factor_dims)[:-1]
    return FlatSample(points, coordinates, np.split(frames, bounds, axis=1), side, name)
