"""Values and samples that are not continuous: rounding, whole numbers, grids, slow walks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.signal import lfilter

from benchmarks.zoo_cases.case import Case, Dims, family
from benchmarks.zoo_cases.clouds import (
    Cloud,
    beside,
    circle_at,
    hexagonal,
    patch,
    product,
    sphere_at,
)
from geodis.data import XYSquares, bent_sample, grid_coordinates, random_rotations

Cut = Callable[[np.ndarray], np.ndarray]


def cut_off(spec: str, n: int, d: int, cut: Cut, seed: int) -> Cloud:
    """A product in d columns whose values are cut off; the tangents are those before."""
    cloud = product(spec, n, seed).turned(d, seed)
    return Cloud(cut(cloud.points).astype(float), cloud.tangents)


def decimals(places: int) -> Cut:
    return lambda x: np.round(x, places)


def whole_numbers(steps: int) -> Cut:
    return lambda x: np.round(steps * x)


@family("rounded values", "tuning")
def rounded() -> Iterator[Case]:
    made: tuple[tuple[str, int, int, int, Dims], ...] = (
        ("S^2 x S^2", 3000, 10, 1, (2, 2)),
        ("S^2 x S^2", 3000, 10, 2, (2, 2)),
        ("S^2 x S^2", 3000, 20, 1, (2, 2)),
        ("S^2 x S^1", 2000, 12, 2, (2, 1)),
        ("S^3", 2000, 10, 1, (3,)),
    )
    for spec, n, d, places, dims in made:
        draw = partial(cut_off, spec, n, d, decimals(places))
        yield Case(f"{spec}, {places} decimal{'s' * (places > 1)} in {d} columns", draw, (dims,))


@family("whole numbers and short floats", "held-out")
def short() -> Iterator[Case]:
    for steps in (10, 40):
        draw = partial(cut_off, "S^2 x S^2", 3000, 15, whole_numbers(steps))
        yield Case(f"S^2 x S^2, {steps} steps a unit in 15 columns", draw, ((2, 2),))
    draw = partial(cut_off, "S^3 x S^1", 2500, 10, whole_numbers(25))
    yield Case("S^3 x S^1, 25 steps a unit in 10 columns", draw, ((3, 1),))
    draw = partial(cut_off, "SO(3) x S^2", 3500, 12, lambda x: x.astype(np.float16))
    yield Case("SO(3) x S^2, half precision", draw, ((3, 2),))
    draw = partial(cut_off, "S^2", 2000, 12, decimals(1))
    yield Case("S^2, 1 decimal in 12 columns", draw, ((2,),))


def grid_of(*sizes: int) -> np.ndarray:
    """A full grid of [0, 1], without its upper ends."""
    return grid_coordinates(sizes, step=1.0) / sizes


def bent_grid(sizes: tuple[int, ...], turn: bool, seed: int) -> Cloud:
    p = len(sizes)
    rotation = random_rotations(1, p, np.random.default_rng(seed))[0] if turn else None
    sample = bent_sample(grid_coordinates(sizes), (1,) * p, rotation=rotation)
    return Cloud(sample.points, sample.tangents)


def plane_grid(seed: int) -> Cloud:
    """50 x 50 latents in a plane of three columns."""
    return patch(lambda u: u, grid_of(50, 50), (1, 1)).turned(3, seed)


def torus_grid(seed: int) -> Cloud:
    a, b = (2 * np.pi * grid_of(50, 50)).T
    return beside(circle_at(a), circle_at(b)).turned(4, seed)


def globe_grid(seed: int) -> Cloud:
    """50 latitudes and 50 longitudes: points crowd at the poles."""
    a, b = (grid_of(50, 50) * [np.pi, 2 * np.pi]).T
    a = a + np.pi / 100  # no latitude at a pole
    sphere = np.column_stack([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)])
    return sphere_at(sphere).turned(3, seed)


def squares(blur: float, seed: int) -> Cloud:
    """Images of a square at 50 x 50 positions, every second pixel of 64 x 64, blurred before."""
    grid = XYSquares(spacing=1, square_size=8, grid_size=50, n_squares=1, rgb=False)
    images = grid.images(np.arange(len(grid))).reshape(-1, 64, 64) / 255.0
    return Cloud(gaussian_filter(images, (0, blur, blur))[:, ::2, ::2].reshape(len(images), -1))


@family("grids", "tuning")
def grids() -> Iterator[Case]:
    yield Case("50 x 50 latents in a plane", plane_grid, ((1, 1),))
    yield Case("50 x 50 bent", partial(bent_grid, (50, 50), False), ((1, 1),))
    yield Case("50 x 50 turned and bent", partial(bent_grid, (50, 50), True), ((1, 1),))
    yield Case("50 x 50 of a torus", torus_grid, ((1, 1),))
    yield Case("50 x 50 of a globe", globe_grid, ((2,),))
    yield Case("14 x 14 x 14 turned and bent", partial(bent_grid, (14,) * 3, True), ((1, 1, 1),))
    # Translations of one image: flat, and a product of two intervals.
    yield Case("50 x 50 images of a square, blurred", partial(squares, 3.0), ((1, 1), (2,)))


def hexagonal_grid(seed: int) -> Cloud:
    cell = 2 * np.pi * np.array([[1, 1 / np.sqrt(3)], [0, 2 / np.sqrt(3)]])
    return patch(hexagonal, grid_of(45, 45) @ cell).turned(6, seed)


def globe_and_circle(seed: int) -> Cloud:
    a, b, c = (grid_of(16, 24, 12) * [np.pi, 2 * np.pi, 2 * np.pi]).T
    a = a + np.pi / 32
    globe = np.column_stack([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)])
    return beside(sphere_at(globe), circle_at(c))


@family("other grids", "held-out")
def other_grids() -> Iterator[Case]:
    yield Case("45 x 45 of a hexagonal torus", hexagonal_grid, ((2,),))
    yield Case("globe 16 x 24 x circle 12", globe_and_circle, ((2, 1),))
    yield Case("100 x 20 turned and bent", partial(bent_grid, (100, 20), True), ((1, 1),))
    yield Case("32 x 32 x 4 turned and bent", partial(bent_grid, (32, 32, 4), True), ((1, 1, 1),))
    yield Case("50 x 50 images of a square", partial(squares, 0.0), ((1, 1), (2,)))


def walk_on_sphere(n: int, k: int, step: float, rng: np.random.Generator) -> Cloud:
    """The direction of an Ornstein-Uhlenbeck walk in R^(k + 1)."""
    ratio = np.sqrt(1 - step**2)
    steps = step * rng.standard_normal((n, k + 1))
    steps[0] /= step  # begins where the walk would be in the long run
    return sphere_at(lfilter([1.0], [1.0, -ratio], steps, axis=0))


def walk_on_circle(n: int, step: float, rng: np.random.Generator) -> Cloud:
    return circle_at(np.cumsum(step * rng.standard_normal(n)))


def spheres_walk(n: int, ks: tuple[int, ...], step: float, seed: int) -> Cloud:
    rng = np.random.default_rng(seed)
    return beside(*(walk_on_sphere(n, k, step, rng) for k in ks))


def band_walk(n: int, step: float, seed: int) -> Cloud:
    rng = np.random.default_rng(seed)
    return beside(walk_on_sphere(n, 2, step, rng), walk_on_circle(n, step, rng))


@family("slow walks", "held-out")
def walks() -> Iterator[Case]:
    for step in (0.05, 0.2, 0.5):
        draw = partial(spheres_walk, 4000, (2, 2), step)
        yield Case(f"S^2 x S^2, step {step:g}", draw, ((2, 2),))
    for step in (0.05, 0.3):
        yield Case(f"S^2 x S^1, step {step:g}", partial(band_walk, 3000, step), ((2, 1),))
    yield Case("S^3, step .1", partial(spheres_walk, 3000, (3,), 0.1), ((3,),))
