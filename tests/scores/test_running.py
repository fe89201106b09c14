"""One job: what the score is called with for its value, its chance level and its interval."""

import numpy as np

from geodis.data.factors import as_factors
from geodis.scores.card import Score
from geodis.scores.registry import ScoreEntry
from geodis.scores.score_latents import Job, run_job


def numbered_job(function, **options):
    """A score of 50 rows whose latents and factors are the numbers of the rows."""
    numbers = np.arange(50)
    given = {"n_chance": 0, "n_resamples": 0, **options}
    entry = ScoreEntry("own", "predictive", function, halves=given.pop("halves", False))
    factors = as_factors(numbers[:, None])
    return Job(entry, numbers[:, None] * 1.0, factors, {}, (7, 0), **given)


def test_chance_is_the_mean_over_different_permutations_of_the_rows():
    orders, values = [], []

    def agreement(latents, factors):
        np.testing.assert_array_equal(factors.values[:, 0], np.arange(50))
        orders.append(latents[:, 0].astype(int))
        values.append(float(latents[:, 0] @ factors.values[:, 0]))
        return Score("own", values[-1])

    outcome = run_job(numbered_job(agreement, n_chance=5), 0.9)
    np.testing.assert_array_equal(orders[0], np.arange(50))
    assert len({tuple(order) for order in orders}) == 6
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), np.arange(50))
    assert outcome.values == {"own": values[0]}
    assert outcome.chance == {"own": np.mean(values[1:])}


def test_resampled_rows_differ_and_keep_latents_and_factors_together():
    drawn = []

    def mean(latents, factors):
        np.testing.assert_array_equal(latents[:, 0], factors.values[:, 0])
        drawn.append(latents[:, 0].astype(int))
        return Score("own", float(latents.mean()))

    outcome = run_job(numbered_job(mean, n_resamples=8), 0.9)
    assert len({tuple(rows) for rows in drawn}) == 9
    assert all(len(rows) == 50 for rows in drawn)
    assert outcome.low["own"] < outcome.values["own"] < outcome.high["own"]
    drawn.clear()
    run_job(numbered_job(mean, n_resamples=3, halves=True), 0.9)
    assert all(len(np.unique(rows)) == len(rows) == 25 for rows in drawn[1:])
