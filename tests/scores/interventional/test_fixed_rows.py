"""Rows that share the value of one factor."""

import numpy as np

from geodis.data.grids.grid import FactorGrid
from geodis.scores.interventional import fixed_factor as fixed_source


def sample(seed, n=600, sizes=(3, 4, 5)):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(size, size=n) for size in sizes]), rng


def test_pairs_share_the_value_and_are_two_rows():
    factors, rng = sample(0, n=100)
    rows = fixed_source.SampleRows(factors, 10)
    for k in range(3):
        left, right = rows.pairs(k, 50, 20, rng)
        assert (factors[left, k] == factors[right, k]).all() and (left != right).all()
        batches = rows.batches(k, 50, 20, rng)
        assert (factors[batches, k] == factors[batches[:, :1], k]).all()
        assert len(np.unique(factors[batches[:, 0], k])) == len(np.unique(factors[:, k]))


def test_draws_from_a_grid_fix_one_factor_and_leave_the_others_uniform(rng):
    grid = FactorGrid((3, 4, 5))
    batches = fixed_source.GridRows(grid).batches(1, 400, 30, rng)
    factors = grid.factors(batches.ravel()).reshape(400, 30, 3)
    assert (factors[:, :, 1] == factors[:, :1, 1]).all()
    shares = np.bincount(factors[:, :, 2].ravel()) / batches.size
    np.testing.assert_allclose(shares, 0.2, atol=0.02)
