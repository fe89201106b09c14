"""Small dense linear algebra: compiled and batched forms are the same."""

import numpy as np
import pytest

from geodis.manifold.linalg import _polar_batched, polar_rows, products_of_pairs


@pytest.mark.parametrize(("k", "d"), [(1, 4), (2, 2), (3, 7), (6, 9), (8, 16), (9, 20)])
@pytest.mark.parametrize("size", [1e-3, 1.0])
def test_the_nearest_orthonormal_rows(k, d, size, rng):
    matrices = np.eye(k, d) + size * rng.standard_normal((50, 3, k, d))
    rows = polar_rows(matrices)
    left, _, right = np.linalg.svd(matrices, full_matrices=False)
    np.testing.assert_allclose(rows, left @ right, atol=1e-6)
    np.testing.assert_allclose(rows, _polar_batched(matrices), atol=1e-6)


def test_directions_that_are_not_determined_stay_short():
    flat = np.zeros((1, 3, 3))
    flat[0, 0, 0] = 2.0
    np.testing.assert_allclose(polar_rows(flat), flat / 2, atol=1e-12)
    assert not polar_rows(np.zeros((2, 2, 3))).any()


@pytest.mark.parametrize("d", [5, 100])
def test_products_of_pairs_of_frames(d, rng):
    frames = rng.standard_normal((9, 3, d))
    i, j = np.array([0, 3, 8]), np.array([8, 3, 1])
    np.testing.assert_allclose(
        products_of_pairs(frames, i, j), frames[i] @ np.swapaxes(frames[j], 1, 2), rtol=1e-12
    )
