"""Flatness."""

import numpy as np
import pytest

from geodis import scores
from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid


def test_repeated_rows_are_one_value_for_flatness(rng):
    grid = FactorGrid((5, 6))
    code = grid.factors(range(30)).astype(float)
    rows = rng.permutation(np.repeat(np.arange(30), 3))
    noisy = code[rows] + 1e-6 * rng.standard_normal((90, 2))
    assert float(scores.flatness(noisy, grid.factors(rows))) == pytest.approx(1, abs=1e-4)
    assert float(scores.axis_ratio(noisy, grid.factors(rows))) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [1.0, 0.1, 1e-200])
def test_a_factor_that_is_not_encoded_is_flat_at_any_scale(seed, dtype, scale):
    rng = np.random.default_rng(seed)
    grid = FactorGrid((4, 5, 3))
    rows = rng.integers(60, size=400)  # unequal counts: averages of equal numbers round
    values = grid.factors(rows)
    code = (scale * values[:, :2]).astype(dtype)
    if not code.any():  # below the range of single precision
        return
    per_factor = scores.flatness(code, values).per_factor
    np.testing.assert_allclose(per_factor, [1, 1, 0], atol=1e-6)
    # A projection leaves rounding of another kind, in every row its own.
    turned = code @ np.linalg.qr(rng.standard_normal((2, 2)))[0].astype(dtype)
    assert scores.flatness(turned + dtype(3.7) * dtype(scale), values).per_factor[2] == 0


def test_labels_without_an_order_have_no_way_through_them():
    grid = FactorGrid((5, 4), names=("shape", "x"), kinds=("labels", "numbers"))
    code = grid.factors(range(20)).astype(float)
    scored = scores.flatness(code, grid)
    assert np.isnan(scored.per_factor[0]) and scored.per_factor[1] == 1
    assert "Left out, for their values have no order: shape." in scored.note
    alone = FactorGrid((5, 2), names=("shape", "kind"), kinds=("labels", "labels"))
    assert np.isnan(scores.flatness(alone.factors(range(10)), alone).per_factor[0])
    with pytest.raises(InputError, match="whose values have an order; got shape"):
        scores.flatness(np.arange(5.0)[:, None], {"shape": list("abcde")})


def test_a_constant_code_is_flat():
    rows = np.random.default_rng(0).integers(60, size=400)
    values = FactorGrid((4, 5, 3)).factors(rows)
    assert float(scores.flatness(np.full((400, 2), 3.7), values)) == 0
    noise = 1e-16 * np.random.default_rng(1).standard_normal((400, 2))
    assert float(scores.flatness(3.7 + noise, values)) == 0
