import numpy as np
import pytest

from geodis import principal_components
from geodis.base.check import InputError


@pytest.mark.parametrize("n", [5, 400])
def test_equal_to_the_singular_value_decomposition(n, rng):
    points = rng.standard_normal((n, 12)) * np.arange(1, 13)
    found = principal_components(points)
    _, singular, rows = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    count = min(n - 1, 12)
    np.testing.assert_allclose(found.variances[:count], singular[:count] ** 2 / n)
    np.testing.assert_allclose(np.abs((found.axes[:count] * rows[:count]).sum(axis=1)), 1)
    np.testing.assert_allclose(found.explained.sum(), 1)


def test_many_columns_are_sketched_to_the_same_answer(rng):
    points = rng.standard_normal((150, 20)) @ rng.standard_normal((20, 2500))
    found = principal_components(points, random_state=1)
    singular = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    assert len(found.variances) == 100
    np.testing.assert_allclose(found.variances[:20], singular[:20] ** 2 / 150, rtol=1e-6)
    np.testing.assert_allclose(found.explained.sum(), 1)
    np.testing.assert_allclose(found.axes[:20] @ found.axes[:20].T, np.eye(20), atol=1e-10)


def test_projection_keeps_distances_of_points_in_a_subspace(rng):
    points = rng.standard_normal((50, 3)) @ np.linalg.qr(rng.standard_normal((10, 3)))[0].T
    projected = principal_components(points).project(points, 3)
    np.testing.assert_allclose(
        np.linalg.norm(projected[1:] - projected[:-1], axis=1),
        np.linalg.norm(points[1:] - points[:-1], axis=1),
    )


def test_constant_points_have_no_variance():
    found = principal_components(np.ones((4, 3)))
    assert found.total_variance == 0
    np.testing.assert_array_equal(found.explained, np.zeros(3))


def test_too_many_components_are_refused():
    with pytest.raises(InputError, match="n_components must be between 1 and 3; got 4"):
        principal_components(np.eye(5)[:, :3], 4)
