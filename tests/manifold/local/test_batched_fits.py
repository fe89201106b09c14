"""Leading directions by iteration: those of the whole, or the whole."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geodis.manifold.local.batched_fits import largest_eigenvectors


def products(decay, size=60, sets=5, seed=0):
    """Symmetric matrices whose eigenvalues fall so fast, (b, m, m)."""
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.standard_normal((sets, size, size)))[0]
    return (directions * decay ** np.arange(size)) @ np.swapaxes(directions, 1, 2), directions


@pytest.mark.parametrize("decay", [0.5, 0.8, 0.99, 1.0 - 1e-6])
@pytest.mark.parametrize("count", [1, 3])
def test_they_are_those_of_the_whole_however_slowly_eigenvalues_fall(decay, count):
    matrices, directions = products(decay)
    found = largest_eigenvectors(matrices, count)
    wanted = directions[..., :count]
    spanned, own = (x @ np.swapaxes(x, 1, 2) for x in (found, wanted))
    assert_allclose(spanned, own, atol=1e-5)
    assert_allclose(np.swapaxes(found, 1, 2) @ found, np.eye(count)[None].repeat(5, 0), atol=1e-9)


def test_what_a_matrix_gets_does_not_depend_on_the_others():
    matrices = np.concatenate([products(decay)[0] for decay in (0.5, 0.99)])
    together = largest_eigenvectors(matrices, 2)
    for one in (0, 7):
        assert_array_equal(largest_eigenvectors(matrices[one : one + 1], 2)[0], together[one])


def test_no_neighbours_that_differ_give_no_nan():
    assert np.isfinite(largest_eigenvectors(np.zeros((2, 40, 40)), 2)).all()
