"""More neighbours where the measured error falls, and errors that fall with more points."""

import numpy as np
import pytest

from geodis import product_manifold
from geodis.manifold import tangent_frames
from geodis.manifold.local import neighborhood_size
from geodis.manifold.local.angles import principal_angles
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.local.neighborhood_size import (
    balanced_n_neighbors,
    more_neighbors,
    most_neighbors,
)
from geodis.manifold.local.neighbors import neighbors_at


def chosen(points, dim):
    search = searcher(points)
    count = balanced_n_neighbors(points, dim, search, random_state=0)
    return (
        search,
        count,
        more_neighbors(points, dim, count, most_neighbors(len(points), dim), search),
    )


def of_projections(points):
    """Tangents (n, 4, 6) of S^2 x S^2 where noisy points project to it."""
    frames = np.zeros((len(points), 4, 6))
    for j in (0, 1):
        part = slice(3 * j, 3 * j + 3)
        normal = points[:, part] / np.linalg.norm(points[:, part], axis=1, keepdims=True)
        frames[:, 2 * j : 2 * j + 2, part] = np.linalg.svd(normal[:, None])[2][:, 1:]
    return frames


def error_at_projections(n, noise, seed):
    sample = product_manifold("S^2 x S^2", n, rotate=False, noise=noise, random_state=seed)
    search, _, count = chosen(sample.points, 4)
    rows = np.arange(0, n, n // 200)
    near = neighbors_at(sample.points, rows, count, search=search)
    frames = tangent_frames(sample.points, near, 4, centres=sample.points[rows]).frames
    return principal_angles(frames, of_projections(sample.points[rows])).mean()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("noise", "bound"), [(0.05, 0.027), (0.1, 0.044)])
def test_the_error_falls_with_the_number_of_points(noise, bound, seed):
    few, many = (error_at_projections(n, noise, seed) for n in (4_000, 16_000))
    assert many < 0.7 * few and few < bound


@pytest.mark.parametrize("seed", range(2))
def test_spheres_under_noise_get_more_and_clean_ones_the_same(seed):
    noisy, clean = (
        product_manifold("S^2 x S^2", 4_000, noise=noise, random_state=seed).points
        for noise in (0.05, 0.0)
    )
    _, before, after = chosen(noisy, 4)
    assert 1.5 * before < after <= 1_000
    _, before, after = chosen(clean, 4)
    assert before == after


def test_never_more_than_asked():
    points = product_manifold("S^2 x S^2", 4_000, noise=0.1, random_state=0).points
    search = searcher(points)
    assert more_neighbors(points, 4, 100, 200, search) <= 200
    assert more_neighbors(points, 4, 800, 10_000, search) == 800  # a quarter of the points


@pytest.mark.parametrize("bend", [0.016, 0.085, 0.5, 30.0])
def test_the_number_of_neighbours_has_the_least_predicted_error(bend, monkeypatch):
    """Against s^2 v + beta r^4 / 4 where noise, variance and what is left are known exactly."""
    tried = {}

    def measured(points, rows, near, dim, n_jobs):
        count = near.indices.shape[1]
        radius, variance = (count / 5000) ** 0.5, 1 / count
        misfit = 0.01**2 + bend * radius**6
        tried[count] = misfit * variance / radius**2 + bend * radius**4 / 4
        return misfit, variance / radius**2, radius

    monkeypatch.setattr(neighborhood_size, "_try_neighborhood", measured)
    points = np.random.default_rng(0).standard_normal((5000, 5))
    count = balanced_n_neighbors(points, 2, searcher(points), random_state=0)
    assert count == min(tried, key=tried.get)
    assert min(tried) < count < max(tried)
