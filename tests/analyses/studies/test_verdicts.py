"""Intervals cover what they say, verdicts follow them, and power is that of drawn studies."""

import numpy as np
import pytest

from analyses.shared.studies.verdicts import (
    CANNOT_TELL,
    NOT_REPRODUCED,
    REPRODUCED,
    Interval,
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
