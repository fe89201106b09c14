"""Shares of variance: intervals cover the truth, noise explains nothing, power is as drawn."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analyses.shared.studies.variance_shares import share_interval, share_of, share_power
from analyses.shared.studies.verdicts import CANNOT_TELL, verdict_equal


def study(truth, groups, size, random):
    """Scores whose group means have the true share of the variance."""
    means = random.standard_normal(groups)
    means -= means.mean()
    means *= np.sqrt(truth / (1 - truth)) / means.std() if truth else 0
    scores = means[:, None] + random.standard_normal((groups, size))
    group = np.repeat(np.arange(groups), size)
    return pd.DataFrame({"method": group, "score": scores.ravel()})


@pytest.mark.parametrize(("truth", "groups", "size"), [(0.0, 6, 9), (0.3, 6, 9), (0.7, 18, 3)])
def test_intervals_of_shares_cover_the_truth(truth, groups, size):
    random = np.random.default_rng(1)
    found = [share_of(study(truth, groups, size, random), ["method"], "score") for _ in range(200)]
    inside = np.mean([one.low <= truth <= one.high for one in found])
    assert 0.91 <= inside <= 1.0 if truth == 0 else 0.91 <= inside <= 0.99
    assert np.mean([one.value for one in found]) == pytest.approx(truth, abs=0.05)


def test_the_lower_end_leaves_zero_where_the_test_of_variances_does():
    n, groups = 40, 4
    critical = stats.f.ppf(0.975, groups - 1, n - groups)
    share = critical * (groups - 1) / (critical * (groups - 1) + n - groups)
    assert share_interval(share - 0.01, n, groups)[0] == 0
    assert 0 < share_interval(share + 0.01, n, groups)[0] < 0.05


def test_what_says_nothing_has_the_whole_range():
    assert share_interval(0.9, 6, 6) == (0.0, 1.0)
    assert share_interval(0.9, 6, 1) == (0.0, 1.0)
    assert share_interval(float("nan"), 60, 6) == (0.0, 1.0)
    low, high = share_interval(0.0, 60, 6)
    assert low == 0 and 0.1 < high < 0.2
    low, high = share_interval(1.0, 60, 6)
    assert low > 0.99 and high == 1.0


def test_intervals_narrow_with_runs_and_so_power_grows():
    widths = [np.diff(share_interval(0.5, n, 6))[0] for n in (24, 96, 384)]
    assert widths == sorted(widths, reverse=True)
    powers = [share_power(0.3, 6, size, 0.3, 0.15, draws=100) for size in (3, 30, 300)]
    assert powers == sorted(powers) and powers[-1] == 1.0
    assert share_power(0.3, 6, 1, 0.3, 0.15) == 0


@pytest.mark.parametrize(("truth", "published"), [(0.3, 0.3), (0.2, 0.6), (0.7, 0.5)])
def test_power_is_the_share_of_drawn_studies_with_a_verdict(truth, published):
    random = np.random.default_rng(2)
    groups, size, margin = 6, 20, 0.2
    told = []
    for _ in range(150):
        found = share_of(study(truth, groups, size, random), ["method"], "score")
        told.append(verdict_equal(found, published, margin) != CANNOT_TELL)
    power = share_power(truth, groups, size, published, margin)
    assert np.mean(told) == pytest.approx(power, abs=0.13)


def crossed_study(method, both, strengths, seeds, random):
    """Scores of six methods, of which strengths explain so much more."""
    of_method = random.standard_normal((6, 1, 1))
    of_method -= of_method.mean()
    of_strength = random.standard_normal((6, strengths, 1))
    of_strength -= of_strength.mean(axis=1, keepdims=True)
    scores = np.sqrt(1 - both) * random.standard_normal((6, strengths, seeds))
    scores += np.sqrt(method) * of_method / of_method.std()
    scores += np.sqrt(both - method) * of_strength / of_strength.std()
    places = np.indices(scores.shape)
    return pd.DataFrame(
        {"method": places[0].ravel(), "place": places[1].ravel(), "score": scores.ravel()}
    )


@pytest.mark.parametrize("seeds", [2, 10])
@pytest.mark.parametrize(("method", "both"), [(0.26, 0.72), (0.41, 0.77), (0.1, 0.3)])
def test_intervals_beside_crossed_strengths_cover_the_truth(method, both, seeds):
    """Their variance is part of the total, and no noise: without that, intervals are too wide."""
    random = np.random.default_rng(7)
    n, noise, draws = 36 * seeds, 1 - both, 400
    squares = noise * np.array(
        [
            random.noncentral_chisquare(5, n * method / noise, draws),
            random.noncentral_chisquare(30, n * (both - method) / noise, draws),
            random.chisquare(n - 36, draws),
        ]
    )
    shares = (squares / squares.sum(axis=0)).T
    found = [share_interval(one, n, 6, one + other, 36) for one, other, _ in shares]
    assert 0.93 <= np.mean([low <= method <= high for low, high in found]) <= 0.98
    alone = [share_interval(one, n, 6) for one, _, _ in shares]
    assert np.mean(np.diff(found)) < np.mean(np.diff(alone))


def test_power_beside_crossed_strengths_is_that_of_drawn_studies():
    random = np.random.default_rng(3)
    studies = [crossed_study(0.41, 0.77, 6, 2, random) for _ in range(150)]
    found = [share_of(one, ["method"], "score", ["place"]) for one in studies]
    assert np.mean([one.value for one in found]) == pytest.approx(0.41, abs=0.02)
    told = [verdict_equal(one, 0.41, 0.15) != CANNOT_TELL for one in found]
    power = share_power(0.41, 6, 12, 0.41, 0.15, 0.77, 6)
    assert np.mean(told) == pytest.approx(power, abs=0.1)
    assert power > share_power(0.41, 6, 12, 0.41, 0.15)
    assert share_power(0.41, 6, 6, 0.41, 0.15, 0.77, 6) == 0  # one seed says nothing of noise
