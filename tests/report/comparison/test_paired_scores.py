"""Differences of scores: none where there is none, the right way round where there is one."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import geodis as gd
from geodis.report.comparison.paired_scores import differences_of, gather_runs, holm, pair_scores

CHEAP = ("mig", "modularity", "sap_continuous")


def factors_of(seed, n=400):
    return np.random.default_rng(seed).integers(4, size=(n, 3))


def code(factors, noise, seed):
    rng = np.random.default_rng(seed)
    return factors + noise * rng.standard_normal(factors.shape)


def paired(runs, factors, models=None, n_resamples=15):
    gathered = gather_runs(runs, factors, models=models, max_points=5000, bins=5)
    tables = [
        gd.score_latents(z, factors, [*CHEAP, "minimality"], bins=5, verbose=0)
        for z in gathered.latents
    ]
    return pair_scores(gathered, tables, {n_resamples: CHEAP}, random_state=0)


@pytest.mark.parametrize("seed", range(4))
def test_equals_do_not_differ_beyond_noise(seed):
    factors = factors_of(seed)
    runs = {name: code(factors, 0.4, 10 * seed + i) for i, name in enumerate("ab")}
    made = paired(runs, factors, n_resamples=30)
    assert {one.by for one in made.differences} == {"rows"} and len(made.differences) == 3
    assert not any(one.beyond_noise for one in made.differences)


def test_a_worse_code_is_behind_by_rows_and_by_seeds():
    factors = factors_of(0)
    by_rows = paired({"good": code(factors, 0.1, 0), "bad": code(factors, 2.0, 1)}, factors)
    runs = {f"{name}{s}": code(factors, noise, s) for name, noise in (("good", 0.1), ("bad", 2.0))
            for s in range(3)}  # fmt: skip
    by_seeds = paired(runs, factors, ["good"] * 3 + ["bad"] * 3)
    for made in (by_rows, by_seeds):
        mig = next(one for one in made.differences if one.score == "mig")
        assert mig.beyond_noise and mig.difference > 0.5
        assert (mig.first, mig.second) == ("good", "bad") and mig.low < mig.difference < mig.high
    assert {one.by for one in by_seeds.differences} == {"seeds"}
    assert list(by_seeds.mean_rank.index[:3]) != ["bad0", "bad1", "bad2"]
    assert by_seeds.mean_rank.idxmin().startswith("good")


@pytest.mark.parametrize("seed", range(3))
def test_seeds_of_one_model_split_in_two_do_not_differ(seed):
    factors = factors_of(seed)
    runs = {str(s): code(factors, 0.5, 100 * seed + s) for s in range(8)}
    made = paired(runs, factors, ["a"] * 4 + ["b"] * 4, n_resamples=0)
    assert not any(one.beyond_noise for one in made.differences)


def test_intervals_surround_what_was_computed_again():
    factors = factors_of(1)
    made = paired({"a": code(factors, 0.3, 0), "b": code(factors, 0.6, 1)}, factors)
    cheap = made.value.index.isin(CHEAP)
    assert (made.low[cheap].to_numpy() < made.value[cheap].to_numpy()).all()
    assert (made.high[cheap].to_numpy() > made.value[cheap].to_numpy()).all()
    assert made.low[~cheap].isna().to_numpy().all()


def test_holm_is_bonferroni_for_the_smallest_and_no_less_for_the_next():
    p = np.array([0.2, 0.001, 0.02, 0.5])
    corrected = holm(p)
    assert corrected[1] == pytest.approx(0.004) and (corrected >= p).all()
    assert (np.diff(corrected[np.argsort(p)]) >= 0).all()
    assert holm(np.array([])).shape == (0,)


def test_one_run_a_model_is_held_against_the_spread_over_the_same_halves():
    """Against Student's t of the differences over the halves, turned so that more is better."""
    rng = np.random.default_rng(0)
    runs = SimpleNamespace(of_model={"a": [0], "b": [1]}, names=("a0", "b0"), seeded=False)
    resampled = {(name, run): rng.standard_normal(12) for name in "xy" for run in runs.names}
    value = pd.DataFrame({"a0": [0.7, 0.2], "b0": [0.4, 0.9]}, index=["x", "y"])
    sign = pd.Series({"x": 1.0, "y": -1.0})
    found = differences_of(runs, value.mul(sign, axis=0), sign, resampled)
    assert [(one.score, one.first, one.second, one.by) for one in found] == [
        ("x", "a", "b", "rows"),
        ("y", "a", "b", "rows"),
    ]
    gaps = [0.3, 0.7]
    spreads = [np.std(resampled[s, "a0"] - resampled[s, "b0"], ddof=1) for s in "xy"]
    raw = [2 * stats.t.sf(gap / spread, 11) for gap, spread in zip(gaps, spreads, strict=True)]
    reach = np.array(spreads) * stats.t.ppf(0.975, 11)
    assert [one.difference for one in found] == pytest.approx(gaps)
    assert [one.p for one in found] == pytest.approx(holm(np.array(raw)))
    assert [one.low for one in found] == pytest.approx(gaps - reach)
    assert [one.high for one in found] == pytest.approx(gaps + reach)
