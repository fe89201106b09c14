"""Distances around a flat torus, against every lattice vector nearby."""

import itertools

import numpy as np
import pytest

from geodis.manifold.maps.closed_coordinates import closed_coordinates

LATTICES = {
    "circle": [[2.0]],
    "circle in a plane": [[1.2, 1.6]],
    "square": [[1.0, 0.0], [0.0, 1.0]],
    "hexagonal": [[1.0, 0.0], [0.5, 0.75**0.5]],
    "obtuse": [[1.0, 0.0], [-0.4, 1.1]],
    "cubic, face-centred": [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]],
}


@pytest.mark.parametrize("lattice", LATTICES)
def test_the_shortest_way_is_the_shortest_over_all_lattice_vectors_nearby(lattice):
    periods = np.array(LATTICES[lattice])
    b, dim = periods.shape
    closed = closed_coordinates(periods, dim)
    differences = np.random.default_rng(0).uniform(-2, 2, (500, dim))
    cells = np.array(list(itertools.product(range(-6, 7), repeat=b)))
    ways = differences[:, None] + cells @ periods  # (p, cells, dim)
    true = np.linalg.norm(ways, axis=2).min(axis=1)
    np.testing.assert_allclose(closed.distances(differences), true, rtol=1e-9)
    moved = closed.shortest(differences) - differences
    whole = moved @ np.linalg.pinv(periods)
    np.testing.assert_allclose(whole, np.rint(whole), atol=1e-9)
    np.testing.assert_allclose(whole @ periods, moved, atol=1e-9)


def test_without_periods_a_difference_is_its_own_shortest_way():
    differences = np.random.default_rng(1).standard_normal((5, 2))
    closed = closed_coordinates(np.empty((0, 2)), 2)
    np.testing.assert_array_equal(closed.shortest(differences), differences)
