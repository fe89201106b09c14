"""Samplings that are none: grids and trajectories are said, samples in any order are not."""

import itertools

import numpy as np
import pytest
from scipy.spatial import KDTree

from geodis import Sprites, XYSquares, nearest_neighbors, product_manifold
from geodis.manifold.preparation.sampling_checks import path_doubts, sampling_doubts


def said(points, count=20, **options):
    return sampling_doubts(points, nearest_neighbors(points, count, n_jobs=1), **options)


def grid(*sizes):
    return np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), -1).reshape(
        -1, len(sizes)
    ) / max(sizes)


def walk(n, step, spheres=2, noise=0.0, seed=0):
    """A random walk on a product of spheres."""
    rng = np.random.default_rng(seed)
    x, rows = np.eye(3)[:spheres], []
    for _ in range(n):
        move = step * rng.standard_normal(x.shape)
        x = x + move - (move * x).sum(axis=1, keepdims=True) * x
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
        rows.append(x.ravel())
    return np.array(rows) + noise * rng.standard_normal((n, 3 * spheres))


def images(scenes, factors):
    return scenes.images(scenes.index(factors)).reshape(len(factors), -1).astype(float)


def as_sprites():
    ranges = [0], [5], range(0, 40, 5), range(0, 32, 4), range(0, 32, 4)
    return images(Sprites(32), np.array(list(itertools.product(*ranges))))


def as_squares():
    squares = XYSquares(n_squares=1, rgb=False, image_size=32, spacing=1, grid_size=24)
    return images(squares, grid(24, 24) * 24)


def embedded(u, seed=1, strength=0.15):
    """A curved map into twenty columns."""
    map_ = np.random.default_rng(seed).standard_normal((u.shape[1], 20))
    return np.sin(strength * u @ map_)


GRIDS = {
    "50 x 50": lambda: grid(50, 50),
    "shuffled": lambda: np.random.default_rng(0).permutation(grid(50, 50)),
    "sheared": lambda: grid(50, 50) @ np.array([[1, 0.6], [0, 1]]),
    "uneven sides": lambda: grid(50, 50) * [1, 2.3],
    "bent": lambda: np.column_stack(
        [np.cos(2 * grid(50, 50)[:, 0]), np.sin(2 * grid(50, 50)[:, 0]), grid(50, 50)[:, 1]]
    ),
    "warped": lambda: np.column_stack(
        [np.exp(grid(50, 50)[:, :1]) * f(2 * grid(50, 50)[:, 1:]) for f in (np.cos, np.sin)]
    ),
    "four factors": lambda: grid(7, 7, 7, 7),
    "four factors embedded": lambda: embedded(8 * grid(7, 7, 7, 7)),
    "circles": lambda: np.hstack(
        [np.cos(2 * np.pi * grid(12, 12, 12)), np.sin(2 * np.pi * grid(12, 12, 12))]
    ),
    "sprites": as_sprites,
    "squares": as_squares,
}


@pytest.mark.parametrize("name", GRIDS)
def test_grids_are_said(name):
    (doubt,) = said(GRIDS[name]())
    assert doubt.code == "grid" and "draw the values" in doubt


def along_one_column(x):
    return x[np.argsort(x[:, 0])]


def in_space(x):
    return x[KDTree(x, leafsize=1).indices]


def in_cells(x):
    return x[np.lexsort((x[:, 0], np.round(x[:, 1], 1)))]


SAMPLES = ["S^2", "T^2", "S^2 x S^1", "S^2 x S^2", "SO(3) x S^2"]


@pytest.mark.parametrize("order", [lambda x: x, along_one_column, in_space, in_cells])
@pytest.mark.parametrize("spec", SAMPLES)
def test_random_samples_in_any_order_are_not(spec, order):
    for n in (300, 3000):
        assert not said(order(product_manifold(spec, n, random_state=n).points))


def test_rounding_copies_and_noise_are_no_grid():
    points = product_manifold("S^2 x S^2", 2000, random_state=0).points
    noise = np.random.default_rng(0).standard_normal(points.shape)
    for changed in (
        np.round(points, 1),
        np.round(points, 2),
        np.repeat(points[:500], 4, axis=0),
        np.repeat(points[:500], 4, axis=0) + 1e-9 * noise,
        np.vstack([points[:1000], points[:1000] + 1e-3 * noise[:1000]]),
        points + 0.05 * noise,
        np.random.default_rng(1).standard_normal((1500, 50)),
    ):
        assert not said(changed)


def test_part_of_a_grid_of_images_is_a_sample():
    sprites = Sprites(32)
    rows = np.random.default_rng(0).choice(len(sprites), 700, replace=False)
    assert not said(sprites.images(rows).reshape(700, -1).astype(float))


@pytest.mark.parametrize(
    ("step", "noise", "n"), [(0.05, 0.0, 3000), (0.02, 0.0, 1000), (0.05, 0.02, 3000)]
)
def test_slow_walks_are_said(step, noise, n):
    (doubt,) = said(walk(n, step, noise=noise))
    assert doubt.code == "trajectory" and "record for longer" in doubt


@pytest.mark.parametrize(
    ("step", "spheres"),
    [(0.5, 2), (0.2, 1)],  # all of the manifold many times
)
def test_walks_that_have_covered_their_manifold_are_not(step, spheres):
    assert not said(walk(3000, step, spheres))


def test_a_slow_walk_with_shuffled_rows_is_not_known():
    assert not said(np.random.default_rng(0).permutation(walk(1000, 0.05)))


def test_curves_and_few_points_are_not_judged():
    angle = np.linspace(0, 2 * np.pi, 500, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    assert said(circle) and not said(circle, dim=1)
    assert not said(grid(8, 8))
    assert not said(grid(50, 50), count=3)


def test_scale_does_not_matter():
    points = walk(1500, 0.05)
    assert said(points) == said(1e6 * points) == said(1e-6 * points)


def on_curve(angle, noise=0.0, seed=0):
    curve = np.column_stack([np.cos(angle), np.sin(angle), 0.3 * np.cos(2 * angle)])
    return curve + noise * np.random.default_rng(seed).standard_normal(curve.shape)


def of_path(points, **options):
    return path_doubts(points, nearest_neighbors(points, 20, n_jobs=1), **options)


def crossing(n, noise, seed=0):
    """A path in a plane that crosses itself once."""
    t = np.linspace(-1.6, 1.6, n)
    path = np.column_stack([t**3 - t, t**2, np.zeros(n)])
    return path + noise * np.random.default_rng(seed).standard_normal(path.shape)


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_path_that_crosses_itself_is_no_circle(noise):
    (doubt,) = of_path(crossing(800, noise), closed=True)
    assert doubt.code == "path" and "closes where rows of other times cross it" in doubt


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("turns", [1.0, 2.0, 3.5])
def test_circles_passed_once_from_end_to_end_or_again_are_all_there(turns, noise):
    angle = np.linspace(0, 2 * np.pi * turns, 800, endpoint=False)
    assert not of_path(on_curve(angle, noise), closed=True)


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_samples_of_a_curve_in_other_orders_are_no_path(noise):
    angle = np.random.default_rng(1).uniform(0, 2 * np.pi, 800)
    for order in (np.arange(800), np.argsort(np.cos(angle)), np.argsort(angle)):
        assert not of_path(on_curve(angle[order], noise), closed=True)
    assert not of_path(on_curve(angle / 2, noise))


def test_a_slow_walk_back_and_forth_on_an_arc_is_said():
    rng = np.random.default_rng(0)
    slow = np.abs(np.cumsum(0.03 * rng.standard_normal(1200)))
    (doubt,) = of_path(on_curve(slow % np.pi, 0.02), noise=0.02)
    assert doubt.code == "slow-walk-on-curve" and "independent ones" in doubt
    fast = np.abs(np.cumsum(0.6 * rng.standard_normal(3000)))
    assert not of_path(on_curve(np.abs(fast % (2 * np.pi) - np.pi), 0.02), noise=0.02)
