"""Intervals cover what they say, verdicts follow them, and power is that of drawn studies."""

import numpy as np
import pytest

from analyses.shared.studies.verdicts import (
    CANNOT_TELL,
    NOT_REPRODUCED,
    REPRODUCED,
    Interval,
    above_power,
    equal_power,
    jackknife_interval,
    mean_interval,
    proportion_interval,
    spearman_interval,
    spearman_of,
    spearman_power,
    verdict_above,
    verdict_below,
    verdict_equal,
)


@pytest.mark.parametrize(("truth", "n"), [(0.0, 40), (0.5, 40), (0.8, 100)])
def test_intervals_of_rank_correlations_cover_the_truth(truth, n):
    random = np.random.default_rng(0)
    pearson = 2 * np.sin(np.pi * truth / 6)
    inside = 0
    for _ in range(400):
        a = random.standard_normal(n)
        b = pearson * a + np.sqrt(1 - pearson**2) * random.standard_normal(n)
        found = spearman_of(a, b)
        inside += found.low <= truth <= found.high
    assert 0.92 <= inside / 400 <= 0.98


def test_intervals_turn_with_the_sign_and_need_numbers():
    up, down = spearman_interval(0.4, 50), spearman_interval(-0.4, 50)
    assert (up.low, up.high) == pytest.approx((-down.high, -down.low))
    assert np.isnan(spearman_of([1, 1, 1, 1, 1, 1], range(6)).value)
    missing = spearman_of([1, 2, 3, np.nan, 5, 6], [1, 2, 3, 4, 5, np.inf])
    assert missing.n == 4 and (missing.low, missing.high) == (-1, 1)


def test_a_verdict_needs_the_whole_interval():
    found = Interval(0.5, 0.4, 0.6, 30)
    assert verdict_above(found, 0.3) == REPRODUCED == verdict_below(found, 0.7)
    assert verdict_above(found, 0.7) == NOT_REPRODUCED == verdict_below(found, 0.3)
    assert verdict_above(found, 0.5) == CANNOT_TELL == verdict_below(found, 0.5)
    assert verdict_equal(found, 0.5, 0.2) == REPRODUCED
    assert verdict_equal(found, 0.9, 0.2) == NOT_REPRODUCED
    assert verdict_equal(found, 0.5, 0.05) == CANNOT_TELL
    lost = Interval(float("nan"), -1, 1, 0)
    assert {verdict_above(lost, 0), verdict_below(lost, 0), verdict_equal(lost, 0, 1)} == {
        CANNOT_TELL
    }


def test_power_is_the_level_without_an_effect_and_grows_with_runs():
    assert spearman_power(0.0, 50) == pytest.approx(0.025, abs=0.015)
    powers = [spearman_power(0.4, n) for n in (10, 30, 90)]
    assert powers == sorted(powers) and powers[0] < 0.4 and powers[-1] > 0.95
    assert spearman_power(0.8, 60, 0.5) < spearman_power(0.8, 60, 0.0)
    assert spearman_power(0.9, 4) == 0


def test_an_interval_that_leaves_out_what_matters_is_not_reproduced():
    small, wide = Interval(0.05, -0.1, 0.2, 60), Interval(0.05, -0.3, 0.4, 60)
    assert verdict_above(small, 0.0) == CANNOT_TELL == verdict_below(small, 0.0)
    assert verdict_above(small, 0.0, 0.3) == NOT_REPRODUCED == verdict_below(small, 0.0, 0.3)
    assert verdict_above(wide, 0.0, 0.3) == CANNOT_TELL == verdict_below(wide, 0.0, 0.3)
    # A small difference that is there is still one.
    assert verdict_above(Interval(0.1, 0.01, 0.2, 60), 0.0, 0.3) == REPRODUCED
    # No difference that matters, where that is the claim.
    assert verdict_below(small, 0.3, 0.3) == REPRODUCED
    assert verdict_below(Interval(0.2, 0.05, 0.35, 60), 0.3, 0.3) == NOT_REPRODUCED


def test_the_jackknife_of_a_mean_is_students_interval():
    values = np.random.default_rng(0).standard_normal(9)
    left_out = [np.delete(values, row).mean() for row in range(9)]
    found, known = jackknife_interval(values.mean(), left_out, 9), mean_interval(values)
    assert (found.low, found.high) == pytest.approx((known.low, known.high))
    assert jackknife_interval(0.5, [0.4, 0.6], 2).high == np.inf


@pytest.mark.parametrize("truth", [0.05, 0.4])
def test_intervals_of_shares_of_trials_cover_the_truth(truth):
    drawn = np.random.default_rng(0).binomial(12, truth, 500)
    inside = [proportion_interval(int(wins), 12) for wins in drawn]
    assert np.mean([one.low <= truth <= one.high for one in inside]) >= 0.95
    assert proportion_interval(12, 12).high == 1.0 and np.isnan(proportion_interval(0, 0).value)


def test_power_by_the_width_of_an_interval_is_that_of_drawn_ones():
    half, random = 0.1, np.random.default_rng(0)
    drawn = random.normal(0.3, half / 1.96, 4000)
    wide = Interval(0.3, 0.2, 0.4, 50)
    assert above_power(wide, 0.3, 0.15) == pytest.approx(np.mean(drawn - half > 0.15), abs=0.02)
    within = np.mean((drawn - half > 0.15) & (drawn + half < 0.45))
    assert equal_power(wide, 0.3, 0.15) == pytest.approx(within, abs=0.02)
    unknown = Interval(0.3, -np.inf, np.inf, 2)
    assert above_power(unknown, 0.5) == equal_power(unknown, 0.3, 0.1) == 0.0
    assert equal_power(wide, 0.3, 0.05) == 0.0
