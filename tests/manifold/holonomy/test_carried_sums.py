import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal

from geodis.manifold.holonomy.diffusion import WIDTH, sum_eights


@njit
def summed(out, at, keep, weights, first, rows, begin, step, count):
    sum_eights(out, at, keep, weights, first, rows, begin, step, count)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 7, 8, 11])
@pytest.mark.parametrize("keep", [False, True])
def test_weighted_rows_are_added_where_they_should(count, keep, rng):
    rows = rng.standard_normal((13, 3, WIDTH)).astype(np.float32)
    weights = rng.standard_normal((2, 12)).astype(np.float32)
    out = rng.standard_normal((3, 10)).astype(np.float32)
    before = out.copy()
    summed(out, 7, keep, weights, 12, rows, WIDTH, 3 * WIDTH, count)
    expected = before.ravel()
    chosen = slice(7, 7 + WIDTH)
    sums = weights[1, :count].astype(float) @ rows[:count, 1].astype(float)
    expected[chosen] = keep * expected[chosen] + sums
    assert_allclose(out.ravel()[chosen], expected[chosen], atol=1e-5)
    others = np.delete(np.arange(30), np.arange(7, 7 + WIDTH))
    assert_array_equal(out.ravel()[others], before.ravel()[others])
