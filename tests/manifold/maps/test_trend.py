"""A trend is a polynomial of the degree that the points can tell."""

import numpy as np
import pytest

from geodis.manifold.maps.factor_map import Geodesic
from geodis.manifold.maps.walk_results import NEAREST, fit_trend, joint_map


@pytest.mark.parametrize(("n", "degree"), [(15, 0), (60, 1), (400, 2)])
def test_its_degree_grows_with_the_points(n, degree):
    assert (
        fit_trend(np.random.default_rng(0).standard_normal((n, 3)), np.ones((n, 1))).degree
        == degree
    )


def test_it_is_the_least_squares_fit():
    rng = np.random.default_rng(0)
    y, points = 3 + rng.standard_normal((500, 2)), rng.standard_normal((500, 4))
    a, b = y.T
    design = np.column_stack([np.ones(500), a, b, a * a, a * b, b * b])
    expected = design @ np.linalg.lstsq(design, points, rcond=None)[0]
    np.testing.assert_allclose(fit_trend(y, points).at(y), expected, atol=1e-8)


def test_terms_that_say_the_same_do_no_harm():
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 600)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])  # the squares add up to 1
    points = np.column_stack([np.cos(2 * angle), circle])
    np.testing.assert_allclose(fit_trend(circle, points).at(circle), points, atol=1e-9)


def test_places_of_samples_decode_to_what_lies_there():
    rng = np.random.default_rng(0)
    y = rng.uniform(-1, 1, (3000, 2))
    points = np.column_stack([y, np.sin(3 * y[:, 0]) * y[:, 1]])
    joint = joint_map(points, [y[:, :1], y[:, 1:]], np.ones(3000, bool), 2)
    inside = np.flatnonzero(np.abs(y).max(axis=1) < 0.8)[:50]
    frames = np.tile(np.eye(2), (50, 1, 1))
    np.testing.assert_allclose(joint.decoded(y[inside], frames), points[inside], atol=2e-3)


def test_surroundings_are_those_of_the_samples():
    y = np.random.default_rng(0).uniform(-1, 1, (4000, 1))
    joint = joint_map(y, [y], np.ones(4000, bool), 1)
    places = np.array([[0.0], [0.5], [1.1], [3.0]])
    along = Geodesic(np.arange(4.0), places, np.ones((4, 1, 1)), np.ones(1))
    near = joint.around(along)
    apart = np.abs(y[:, 0] - places)
    np.testing.assert_array_equal(near.nearest, apart.argmin(axis=1))
    np.testing.assert_allclose(near.gap, apart.min(axis=1))
    np.testing.assert_array_equal(near.left, [False, False, True, True])
    back = joint.around(Geodesic(np.arange(2.0), places[2:], np.ones((2, 1, 1)), -np.ones(1)))
    np.testing.assert_array_equal(back.left, [True, True])
    assert np.all(np.abs(near.spacing[:2] / (2 / 4000) - 0.5) < 0.3)  # twenty on each side


def test_what_is_around_a_place_is_told_by_its_nearest_sample():
    """Against all distances; the samples lie ever more densely."""
    y = np.random.default_rng(0).uniform(0, 1, (200, 1)) ** 2
    joint = joint_map(y, [y], np.ones(200, bool), 1)
    targets = np.linspace(0.02, 0.95, 12)[:, None]
    around = joint.around(Geodesic(targets[:, 0], targets, np.ones((12, 1, 1)), np.ones(1)))
    apart = np.abs(targets - y.T)
    np.testing.assert_array_equal(around.nearest, apart.argmin(axis=1))
    np.testing.assert_allclose(around.gap, apart.min(axis=1), atol=1e-12)
    within = np.sort(np.abs(y[around.nearest] - y.T), axis=1)  # the first is the sample itself
    np.testing.assert_allclose(around.reach, within[:, NEAREST], atol=1e-12)
    np.testing.assert_allclose(around.spacing, within[:, NEAREST] / NEAREST, atol=1e-12)
