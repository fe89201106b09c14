"""Small dense linear algebra: compiled and batched forms are the same."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geodis.manifold.linalg import (
    _polar_batched,
    largest_eigenvectors,
    polar_rows,
    products_of_pairs,
)


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


def products(decay, size=60, sets=5, seed=0):
    """Symmetric matrices whose eigenvalues fall so fast, (b, m, m)."""
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.standard_normal((sets, size, size)))[0]
    return (directions * decay ** np.arange(size)) @ np.swapaxes(directions, 1, 2), directions


@pytest.mark.parametrize("decay", [0.5, 0.8, 0.99, 1.0 - 1e-6])
@pytest.mark.parametrize("count", [1, 3])
def test_largest_eigenvectors_however_slowly_eigenvalues_fall(decay, count):
    matrices, directions = products(decay)
    found = largest_eigenvectors(matrices, count)
    wanted = directions[..., :count]
    spanned, own = (x @ np.swapaxes(x, 1, 2) for x in (found, wanted))
    assert_allclose(spanned, own, atol=1e-5)
    assert_allclose(np.swapaxes(found, 1, 2) @ found, np.eye(count)[None].repeat(5, 0), atol=1e-9)


def test_eigenvectors_of_a_matrix_do_not_depend_on_the_others():
    matrices = np.concatenate([products(decay)[0] for decay in (0.5, 0.99)])
    together = largest_eigenvectors(matrices, 2)
    for one in (0, 7):
        assert_array_equal(largest_eigenvectors(matrices[one : one + 1], 2)[0], together[one])


def test_eigenvectors_of_zero_matrices_are_finite():
    assert np.isfinite(largest_eigenvectors(np.zeros((2, 40, 40)), 2)).all()
