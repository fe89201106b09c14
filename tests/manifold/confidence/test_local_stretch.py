"""Lengths beside those in a map: known stretches, and none where the map is isometric."""

import numpy as np
import pytest

import geodis as gd
from geodis.manifold.confidence.stretch import local_stretches
from geodis.manifold.flat.differences import edges_of
from tests.manifold.maps.cases import known_map


def known(points, axes, coordinates):
    frames = np.swapaxes(axes, 1, 2)[:, : coordinates.shape[1]]
    return known_map(points, axes, coordinates, frames)


@pytest.fixture
def spheres():
    sample = gd.product_manifold("S^2 x S^2", 2000, rotate=False, random_state=0)
    edges = edges_of(gd.neighbor_graph(sample.points, 20))
    return sample.points, sample.tangents, edges


def test_true_maps_are_isometric(spheres):
    points, (first, second), edges = spheres
    maps = [known(points, first[..., :3], points[:, :3])]
    maps += [known(points, second[..., 3:], points[:, 3:])]
    axes = np.concatenate([first, second], axis=1)
    found = local_stretches(maps, points, axes, np.arange(2000), edges)
    for own in found:
        assert np.abs(own.logs).max() < 1e-3
        assert abs(own.scale - 1) < 1e-4


def test_a_map_that_is_twice_as_large_is_seen(spheres):
    points, (first, second), edges = spheres
    maps = [known(points, first[..., :3], 2 * points[:, :3])]
    maps += [known(points, second[..., 3:], points[:, 3:])]
    axes = np.concatenate([first, second], axis=1)
    large, right = local_stretches(maps, points, axes, np.arange(2000), edges)
    assert np.allclose(large.logs, -np.log(2) * np.eye(2), atol=1e-3)
    assert abs(large.scale - 2) < 1e-3
    assert abs(right.scale - 1) < 1e-3


def test_points_and_edges_may_be_some_of_all(spheres):
    points, (first, second), _ = spheres
    rows = np.arange(0, 2000, 2)
    edges = edges_of(gd.neighbor_graph(points[rows], 20))
    maps = [known(points, first[..., :3], points[:, :3])]
    maps += [known(points, second[..., 3:], points[:, 3:])]
    axes = np.concatenate([first, second], axis=1)
    own = local_stretches(maps, points, axes, rows, edges)[0]
    assert np.array_equal(own.positions, points[rows, :3])
    assert np.abs(own.logs).max() < 3e-3
