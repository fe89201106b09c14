"""Flatness."""

import numpy as np
import pytest

from geodis import scores
from geodis.data.grids.grid import FactorGrid


def test_repeated_rows_are_one_value_for_flatness(rng):
    grid = FactorGrid((5, 6))
    code = grid.factors(range(30)).astype(float)
    rows = rng.permutation(np.repeat(np.arange(30), 3))
    noisy = code[rows] + 1e-6 * rng.standard_normal((90, 2))
    assert float(scores.flatness(noisy, grid.factors(rows))) == pytest.approx(1, abs=1e-4)
    assert float(scores.axis_ratio(noisy, grid.factors(rows))) == pytest.approx(1, abs=1e-4)
