"""Intervals by resampling."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from geodis import scores
from geodis.base.check import InputError
from geodis.scores.intervals import around, intervals_of_rows
from tests.scores._golden import grid, sample


@pytest.mark.parametrize("rows", ["bootstrap", "halves"])
def test_intervals_hold_as_many_scores_of_other_samples_as_they_promise(rows):
    options = {"n_resamples": 60, "rows": rows, "verbose": False}
    truth = np.mean([float(scores.mig(*sample(seed, n=250))) for seed in range(1000, 1200)])
    held = 0
    for seed in range(60):
        low, high = scores.bootstrap_interval(
            scores.mig, *sample(seed, n=250), random_state=seed, **options
        )
        assert low < high
        held += low <= truth <= high
    assert 0.8 <= held / 60 <= 1.0


@pytest.mark.parametrize("seed", range(3))
def test_more_rows_narrow_the_interval_as_their_root(seed):
    def width(n):
        low, high = scores.bootstrap_interval(
            scores.mig, *sample(seed, n=n), random_state=seed, verbose=False
        )
        return high - low

    assert 1.3 < width(300) / width(1200) < 3.2


def test_the_interval_of_a_perfect_code_is_narrow():
    factors = grid()
    low, high = scores.bootstrap_interval(
        scores.mig, factors, factors, n_resamples=20, random_state=0, verbose=False
    )
    assert 0.99 < low <= 1 <= high < 1.01


def test_options_reach_the_score_and_labels_are_taken():
    latents, factors = sample(0, n=100)
    options = {"n_resamples": 10, "random_state": 0, "verbose": False}
    bounds = scores.bootstrap_interval(scores.mig, latents, factors, bins=4, **options)
    assert bounds != scores.bootstrap_interval(scores.mig, latents, factors, **options)
    labels = pd.DataFrame({j: [f"v{v}" for v in factors[:, j]] for j in range(3)})
    assert bounds == scores.bootstrap_interval(scores.mig, latents, labels, bins=4, **options)


def test_resampled_factors_keep_their_kinds():
    codes = np.random.default_rng(0).integers(3, size=(60, 2))
    named = pd.DataFrame({"shape": np.array(["a", "b", "c"])[codes[:, 0]], "x": codes[:, 1]})
    seen = []

    def score(latents, factors):
        seen.append(factors)
        return float(len(latents))

    options = {"n_resamples": 2, "random_state": 0, "verbose": False}
    scores.bootstrap_interval(score, codes, named, **options)
    assert seen[0] is named
    for drawn in seen[1:]:
        assert drawn.names == ("shape", "x") and drawn.kinds == ("labels", "numbers")
    scores.bootstrap_interval(score, codes, codes, **options)
    assert all(isinstance(drawn, np.ndarray) for drawn in seen[-3:])


def test_scores_that_hold_rows_out_take_halves():
    latents, factors = sample(0, n=200)

    def seeded(z, v):
        return scores.sap(z, v, random_state=0)

    low, high = scores.bootstrap_interval(
        seeded, latents, factors, rows="halves", n_resamples=20, random_state=0, verbose=False
    )
    assert low < float(seeded(latents, factors)) < high


def test_bad_settings_are_refused():
    with pytest.raises(InputError, match="rows must be one of 'bootstrap', 'halves'"):
        scores.bootstrap_interval(scores.mig, [[0.0], [1.0]], [0, 1], rows="all")
    with pytest.raises(InputError, match="n_resamples must be at least 2"):
        scores.bootstrap_interval(scores.mig, [[0.0], [1.0]], [0, 1], n_resamples=1)


def test_resampled_rows_without_a_score_are_passed_over():
    latents, factors = sample(0, n=60)
    calls = []

    def sometimes(z, v):
        calls.append(len(z))
        if len(calls) % 3 == 2:
            raise InputError("no class.")
        return float(scores.mig(z, v))

    low, high = scores.bootstrap_interval(
        sometimes, latents, factors, n_resamples=12, random_state=0, verbose=False
    )
    assert len(calls) == 13 and low < high
    options = {"n_resamples": 4, "verbose": False}

    def once(z, v):
        if z is latents:
            return 1.0
        raise InputError("no class.")

    with pytest.raises(InputError, match="got one in 0 of 4: no class"):
        scores.bootstrap_interval(once, latents, factors, **options)
    with pytest.raises(InputError, match="needs finite scores"):
        scores.bootstrap_interval(lambda z, v: np.inf, latents, factors, **options)


def test_an_interval_is_the_spread_around_the_value():
    low, high = intervals_of_rows({"a": 1.0, "b": 2.0}, [{"a": 3.0}, {"a": 5.0}, {"c": 1.0}], 0.5)
    reach = np.sqrt(2)  # spread of 3 and 5, and 1 for the quartile of Cauchy's distribution
    assert low == {"a": pytest.approx(1 - reach)} and high == {"a": pytest.approx(1 + reach)}


def test_quantiles_of_many_and_the_spread_of_few():
    many = np.linspace(0, 1, 101)
    assert around(2.0, many, 0.5) == pytest.approx((1.75, 2.25))
    few = many[:99]
    reach = stats.t.ppf(0.75, 98) * few.std(ddof=1)
    assert around(2.0, few, 0.5) == pytest.approx((2 - reach, 2 + reach))


@pytest.mark.parametrize("count", [6, 30])
def test_few_resamplings_hold_what_they_promise(count):
    """Means of 100 numbers, whose bootstrap spread is known: quantiles would hold .72 and .89."""
    rng = np.random.default_rng(count)
    held = 0
    for _ in range(800):
        x = rng.standard_normal(100)
        means = x[rng.integers(100, size=(count, 100))].mean(axis=1)
        low, high = around(float(x.mean()), means, 0.95)
        held += low <= 0 <= high
    assert 0.92 < held / 800 < 0.97
