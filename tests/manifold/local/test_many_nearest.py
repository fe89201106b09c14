"""Thousands of neighbours: the same as those of a tree, in whatever order."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial import KDTree

from geodis import product_manifold
from geodis.manifold.local import tangents
from geodis.manifold.local.many_nearest import leaves_of, many_nearest
from geodis.manifold.local.tangents import searched_tangent_frames


@pytest.mark.parametrize("d", [1, 3, 12])
@pytest.mark.parametrize("count", [1, 40, 499])
def test_the_same_as_a_tree(d, count):
    rng = np.random.default_rng(d)
    points = rng.standard_normal((500, d)) ** 3  # some lie far out
    rows = rng.permutation(500)[:60]
    indices, distances = many_nearest(leaves_of(points), rows, count)
    near, wanted = (x[:, 1:] for x in KDTree(points).query(points[rows], count + 1))
    assert_array_equal(np.sort(indices, axis=1), np.sort(wanted, axis=1))
    assert_allclose(np.sort(distances, axis=1), near, rtol=1e-12)
    assert_array_equal(distances.max(axis=1), distances[:, -1])
    between = np.linalg.norm(points[indices] - points[rows, None], axis=2)
    assert_allclose(distances, between, rtol=1e-12)


def test_what_a_point_gets_does_not_depend_on_the_others_also_between_equal_distances():
    grid = np.stack(np.meshgrid(*[np.arange(14.0)] * 2), axis=-1).reshape(-1, 2)
    leaves, rows = leaves_of(grid), np.arange(0, 196, 7)
    indices, distances = many_nearest(leaves, rows, 30)
    assert all(len(set(row)) == 30 for row in indices.tolist())
    for one in range(0, len(rows), 5):
        alone = many_nearest(leaves, rows[one : one + 1], 30)
        assert_array_equal(alone[0][0], indices[one])
    wanted = KDTree(grid).query(grid[rows], 31)[0][:, 1:]
    assert_allclose(np.sort(distances, axis=1), wanted, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_any_unit_of_length(scale):
    points = np.random.default_rng(0).standard_normal((400, 3))
    rows = np.arange(20)
    indices, distances = many_nearest(leaves_of(points * scale), rows, 50)
    wanted = many_nearest(leaves_of(points), rows, 50)
    assert_array_equal(np.sort(indices, axis=1), np.sort(wanted[0], axis=1))
    assert_allclose(distances[:, -1], scale * wanted[1][:, -1], rtol=1e-9)


def test_tangents_from_many_neighbours_are_those_from_sorted_ones(monkeypatch):
    points = product_manifold("S^2 x S^1", 900, noise=0.05, random_state=0).points
    rows = np.arange(0, 900, 30)
    found = searched_tangent_frames(points, 3, 300, rows=rows)
    monkeypatch.setattr(tangents, "MANY", 900)
    sorted_ones = searched_tangent_frames(points, 3, 300, rows=rows)
    assert_allclose(found.frames, sorted_ones.frames, atol=1e-9)
    assert_allclose(found.residual, sorted_ones.residual, rtol=1e-9)
    assert_allclose(found.radius, sorted_ones.radius, rtol=1e-12)
