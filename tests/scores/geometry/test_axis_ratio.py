"""Axis-alignment ratio and orientation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis import scores
from geodis.data.grids.grid import FactorGrid

SEEDS = (0, 1, 2)
cases = st.tuples(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(2, 9))


def drawn(case):
    seed, size, z = case
    rng = np.random.default_rng(seed)
    grid = FactorGrid((size, 3))
    return rng, grid, rng.standard_normal((len(grid), z)) * rng.uniform(0, 3, z)


@given(cases)
@settings(deadline=None, max_examples=40)
def test_no_axis_is_better_than_the_best_line(case):
    _, grid, code = drawn(case)
    axis, linear = scores.axis_ratio(code, grid), scores.linearity_ratio(code, grid)
    assert (axis.per_factor <= linear.per_factor + 1e-12).all()
    assert float(axis) <= float(linear) + 1e-12
    turned = scores.axis_orientation(code, grid)
    assert 0 <= float(turned) <= 1 + 1e-12
    assert float(turned) * float(linear) == pytest.approx(float(axis), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_value_of_isotropic_noise_is_known(seed):
    # Variances of S normal numbers are chi-squared: their expected largest share by simulation,
    # written without the library. Long traversals have almost equal shares.
    z, size = 5, 8
    rng = np.random.default_rng(100)
    chi = rng.chisquare(size - 1, (200_000, z))
    expected = ((chi.max(1) / chi.sum(1)).mean() - 1 / z) / (1 - 1 / z)
    grid = FactorGrid((size, 3000))
    noise = np.random.default_rng(seed).standard_normal((len(grid), z))
    scored = scores.axis_ratio(noise, grid)
    assert scored.per_factor[0] == pytest.approx(expected, abs=0.01)
    assert scored.per_factor[1] == pytest.approx(0, abs=0.02)
    assert scores.linearity_ratio(noise, grid).per_factor[1] == pytest.approx(0, abs=0.03)


def test_a_latent_that_stands_for_the_factor_everywhere_pools(rng):
    grid = FactorGrid((6, 40))
    factors = grid.factors(range(240))
    code = np.zeros((240, 4))
    code[np.arange(240), factors[:, 1] % 4] = factors[:, 0]  # another latent on every traversal
    assert scores.axis_ratio(code, grid).per_factor[0] == pytest.approx(1)
    assert scores.axis_ratio(code, grid, pooled=True).per_factor[0] == pytest.approx(0)
    matrix = scores.axis_ratio(code, grid).matrix
    assert matrix is not None
    np.testing.assert_allclose(matrix[:, 0], 0.25)
