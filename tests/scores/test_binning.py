"""Bins of latents and of factors."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis import scores
from geodis.base.check import InputError
from geodis.data.factors import Factors, as_factors
from geodis.data.grids.grid import FactorGrid
from geodis.scores import bin_factors, score_latents
from geodis.scores.binning import bin_columns
from tests.reference import scores as slow
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
    assert binned.names == ("angle", "shape") and binned.kinds == ("numbers", "labels")
    assert np.bincount(binned.values[:, 0].astype(int)).tolist() == [10] * 4
    assert binned.values[:, 1].tolist() == [0, 1] * 20
    loaded = Factors(np.column_stack([angle, np.arange(40) % 2]), ("angle", "shape"))
    again = bin_factors(loaded, bins=4)
    assert again.names == loaded.names
    np.testing.assert_array_equal(np.unique(again.values[:, 0]), range(4))


@pytest.mark.parametrize("table", [dict, pd.DataFrame, as_factors])
def test_binned_factors_keep_their_kinds_and_values(table):
    rng = np.random.default_rng(0)
    size = pd.Categorical(["low", "high"] * 20, categories=["low", "middle", "high"], ordered=True)
    columns = {
        "angle": np.linspace(0, 359, 40),
        "turn": np.tile([0.0, 90.0, 180.0, 270.0], 10),
        "size": size,
        "shape": pd.Categorical(["dot"] * 40, categories=["box", "dot"]),
    }
    known = as_factors(table(columns), periods={"angle": 360, "turn": 360})
    binned = bin_factors(known, bins=4)
    assert binned.kinds == ("cyclic", "cyclic", "ordered", "labels")
    assert binned.categories == known.categories and binned.periods == {"turn": 360, "angle": 4}
    np.testing.assert_array_equal(binned.values[:, 1:], known.values[:, 1:])
    assert set(binned.values[:, 0]) == {0, 1, 2, 3}
    assert bin_factors(table(columns), bins=4).names == known.names

    # So the same scores apply as with bins=4.
    code = rng.normal(size=(40, 3))
    labelled = as_factors(columns)
    first = score_latents(code, labelled, ["predictive"], bins=4, chance=False, verbose=False)
    second = score_latents(code, binned, ["predictive"], chance=False, verbose=False)
    assert first.skipped.keys() == second.skipped.keys()


def test_arrays_of_numbers_stay_arrays():
    for numbers in (np.linspace(0, 1, 40)[:, None], np.linspace(0, 1, 40).tolist()):
        assert isinstance(bin_factors(numbers, bins=3), np.ndarray)
    assert bin_factors(np.array(["b", "a"])).kinds == ("labels",)


def test_bad_bins_are_refused():
    with pytest.raises(InputError, match="bins must be between 2 and 4096; got 1"):
        bin_factors(np.linspace(0, 1, 9), bins=1)
    with pytest.raises(InputError, match="method must be one of 'equal_width', 'quantile'"):
        bin_columns(np.zeros((3, 1)), 5, "equal")


def test_more_bins_than_can_be_counted_are_refused():
    factors = np.array([0, 1, 0, 1])
    calls = (
        lambda: scores.mig(factors[:, None], factors, bins=10**9),
        lambda: scores.mutual_information(factors[:, None], factors, bins=10**9),
        lambda: scores.mutual_info_score(factors[:, None], bins=10**9),
        lambda: scores.bin_factors(np.linspace(0, 1, 600), bins=10**9),
        lambda: scores.score_latents(factors[:, None], factors, bins=10**9, verbose=False),
    )
    for call in calls:
        with pytest.raises(InputError, match="bins must be between 2 and 4096; got 1000000000"):
            call()
    assert float(scores.mig(factors[:, None], factors, bins=4096)) == 1


@pytest.mark.parametrize("method", ["equal_width", "quantile"])
def test_bins_of_a_circle_still_go_round(method):
    angle = np.random.default_rng(0).uniform(-400, 800, 600)
    table = {"angle": angle, "x": np.cos(angle), "kept": np.arange(600) % 4}
    known = as_factors(table, periods={"angle": 360.0, "kept": 4.0})
    binned = bin_factors(known, 6, method)
    assert dict(binned.periods) == {"angle": 6.0, "kept": 4.0}
    assert binned.values[:, 0].tolist() == (np.floor(angle / 60) % 6).tolist()
    grid = FactorGrid.from_arrays(None, binned)
    assert grid.kinds == ("cyclic", "numbers", "cyclic")
