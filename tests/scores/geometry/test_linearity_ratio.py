"""Linearity ratio."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from geodis import scores
from geodis.data.grids.grid import FactorGrid

cases = st.tuples(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(2, 9))


def drawn(case):
    seed, size, z = case
    rng = np.random.default_rng(seed)
    grid = FactorGrid((size, 3))
    return rng, grid, rng.standard_normal((len(grid), z)) * rng.uniform(0, 3, z)


@given(cases)
@settings(deadline=None, max_examples=40)
def test_linearity_is_invariant_to_rotation(case):
    rng, grid, code = drawn(case)
    turn = ortho_group.rvs(code.shape[1], random_state=np.random.RandomState(case[0] % 2**31))
    for spread in ("variance", "std"):
        first = float(scores.linearity_ratio(code, grid, spread=spread))
        second = float(scores.linearity_ratio(code @ turn, grid, spread=spread))
        assert first == pytest.approx(second, abs=1e-8)
    assert rng


def test_two_values_are_a_line_by_definition_and_it_is_said(rng):
    grid = FactorGrid((2, 5), names=("two", "five"))
    scored = scores.linearity_ratio(rng.standard_normal((10, 3)), grid)
    assert scored.per_factor[0] == pytest.approx(1) and "two points" in scored.note
    still = scores.linearity_ratio(np.ones((10, 3)), grid)
    assert still.per_factor[0] == 0 and "1 wherever latents move" in still.note
