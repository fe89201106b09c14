"""Bins of latents and of factors."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis.base.check import InputError
from geodis.data.factors import Factors
from geodis.scores import bin_factors
from geodis.scores.binning import bin_columns
from tests import reference_scores as slow
from tests.scores._golden import NAMES, load


@pytest.mark.parametrize("name", NAMES)
def test_equal_width_equals_the_reference(name):
    data = load(name)
    binned = bin_columns(data["latents"].astype(float))
    np.testing.assert_array_equal(binned + 1, data["discretized_latents"])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(-5, 5), min_size=2, max_size=30), st.integers(2, 7))
def test_equal_their_literal_twins(values, count):
    column = np.array(values, float)
    for method, twin in (("equal_width", slow.bins), ("quantile", slow.quantile_bins)):
        binned = bin_columns(column[:, None], count, method)[:, 0]
        np.testing.assert_array_equal(binned, twin(values, count))


@pytest.mark.parametrize("seed", range(3))
def test_quantile_bins_see_order_alone_and_are_even(seed):
    column = np.random.default_rng(seed).standard_normal((1000, 1))
    binned = bin_columns(column, 20, "quantile")
    np.testing.assert_array_equal(binned, bin_columns(np.exp(3 * column), 20, "quantile"))
    assert set(np.bincount(binned[:, 0])) == {50}


def test_only_continuous_factors_are_binned_and_names_stay():
    angle = np.linspace(0, 1, 40) ** 2
    frame = pd.DataFrame({"angle": angle, "shape": list("ab") * 20}, index=range(5, 45))
    binned = bin_factors(frame, bins=4, method="quantile")
    assert list(binned.columns) == ["angle", "shape"] and binned.index.equals(frame.index)
    assert np.bincount(binned["angle"]).tolist() == [10] * 4
    assert binned["shape"].tolist() == [0, 1] * 20
    loaded = Factors(np.column_stack([angle, np.arange(40) % 2]), ("angle", "shape"))
    again = bin_factors(loaded, bins=4)
    assert again.names == loaded.names
    np.testing.assert_array_equal(np.unique(again.values[:, 0]), range(4))


def test_bad_bins_are_refused():
    with pytest.raises(InputError, match="bins must be at least 2; got 1"):
        bin_factors(np.linspace(0, 1, 9), bins=1)
    with pytest.raises(InputError, match="method must be one of 'equal_width', 'quantile'"):
        bin_columns(np.zeros((3, 1)), 5, "equal")
