"""Neighbours among few points by all distances, and what is remembered of them."""

import numpy as np
import pytest

from geodis.manifold.local.exact_search import Searches, searcher
from geodis.manifold.local.many_nearest import is_sooner, nearest_of_few
from geodis.manifold.local.neighbors import neighbors_at
from tests.reference import manifold as reference


@pytest.mark.parametrize("d", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("count", [1, 7, 40])
def test_neighbors_equal_their_literal_twin(d, count, rng):
    points = rng.standard_normal((90, d))
    indices, distances = nearest_of_few(points, np.arange(90), count)
    expected, lengths = reference.nearest_neighbors(points, count)
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_allclose(distances, lengths, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e-150, 1.0, 1e150, 1e300])
def test_any_unit_of_length_will_do(scale, rng):
    points = rng.standard_normal((60, 3)) * scale
    indices, _ = nearest_of_few(points, np.arange(60), 10)
    assert all(len({i, *near}) == 11 for i, near in enumerate(indices))
    if 1e-151 < scale < 1e151:  # beyond, squares of distances are no numbers
        np.testing.assert_array_equal(indices, reference.nearest_neighbors(points, 10)[0])


def test_of_equally_near_points_the_first_comes_first():
    grid = np.stack(np.meshgrid(*2 * [np.arange(12.0)]), axis=-1).reshape(-1, 2)
    indices, distances = nearest_of_few(grid, np.arange(len(grid)), 30)
    tied = np.diff(distances, axis=1) == 0
    assert (np.diff(distances, axis=1) >= 0).all()
    assert tied.any() and (np.diff(indices, axis=1)[tied] > 0).all()


def test_dense_places_beside_empty_ones(rng):
    dense = rng.standard_normal((300, 2)) * np.where(np.arange(300) % 3 == 0, 1.0, 1e-9)[:, None]
    indices, distances = nearest_of_few(dense, np.arange(300), 150)
    exact = np.linalg.norm(dense[indices] - dense[:, None], axis=2)
    every = np.sort(np.linalg.norm(dense[:, None] - dense, axis=2), axis=1)[:, 1:151]
    np.testing.assert_allclose(distances, exact, rtol=1e-9)
    np.testing.assert_allclose(distances, every, rtol=1e-9)


def test_either_search_finds_the_same(rng):
    points, rows = rng.standard_normal((1000, 4)), np.arange(3, 900, 7)
    assert is_sooner(1000, 4, 50)
    found = neighbors_at(points, rows, 50)
    indices, distances = searcher(points)(points[rows], 51)
    np.testing.assert_array_equal(found.indices, indices[:, 1:])
    np.testing.assert_allclose(found.distances, distances[:, 1:], rtol=1e-12)


def test_what_was_searched_for_is_not_searched_for_again(rng, monkeypatch):
    points, searches = rng.standard_normal((500, 3)), Searches()
    whole = neighbors_at(points, np.arange(500), 20, search=searches.among(points))
    monkeypatch.setattr("geodis.manifold.local.exact_search.nearest_of_few", None)
    rows = np.array([4, 17, 3])
    again = neighbors_at(points, rows, 12, search=searches.among(points))
    np.testing.assert_array_equal(again.indices, whole.indices[rows, :12])
    np.testing.assert_array_equal(again.distances, whole.distances[rows, :12])
    with pytest.raises(TypeError):  # more than is known is searched for
        neighbors_at(points, rows, 50, search=searches.among(points))
