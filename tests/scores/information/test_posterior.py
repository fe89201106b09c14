"""Scores of what a Gaussian encoder draws: known answers, and draws as a twin."""

import numpy as np
import pytest

import geodis as gd
from geodis import scores
from geodis.base.check import InputError
from geodis.scores.information.estimates import class_information, mixture_information


def encoded(seed=0, n=1500):
    rng = np.random.default_rng(seed)
    factors = rng.integers(4, size=(n, 2))
    means = np.column_stack([factors[:, 0], factors.sum(axis=1), rng.standard_normal(n)])
    return means.astype(float), factors


def test_information_is_that_of_draws():
    means, factors = encoded()
    spread = np.log(np.array([0.3, 0.8, 0.5])) * 2 + np.zeros_like(means)
    matrix = mixture_information(means, spread, factors)
    rng = np.random.default_rng(1)
    drawn = np.repeat(means, 8, axis=0)
    drawn = drawn + np.repeat(np.exp(spread / 2), 8, axis=0) * rng.standard_normal(drawn.shape)
    for i in range(3):
        for j in range(2):
            expected = class_information(drawn[:, i], np.repeat(factors[:, j], 8))
            assert matrix[i, j] == pytest.approx(expected, abs=0.03)


def test_sharp_posteriors_are_their_means_and_wide_ones_say_nothing():
    means, factors = encoded()
    sharp = scores.mig(means, factors, log_variances=np.full(means.shape, -30.0))
    assert float(sharp) == pytest.approx(float(scores.mig(means, factors, bins=200)), abs=0.02)
    values = [
        float(scores.mig(means, factors, log_variances=np.full(means.shape, level)))
        for level in (-3.0, -1.0, 0.0, 3.0)
    ]
    assert (np.diff(values) < 0).all() and values[-1] < 0.02
    with pytest.raises(InputError, match="log_variances must have the shape of the latents"):
        scores.mig(means, factors, log_variances=np.zeros(3))


def test_the_table_has_both():
    means, factors = encoded(n=600)
    spread = np.full(means.shape, -1.0)
    table = gd.score_latents(means, factors, ["mig", "windin"], log_variances=spread, verbose=False)
    assert table["mig"] == float(scores.mig(means, factors))
    assert table["mig_sampled"] == float(scores.mig(means, factors, log_variances=spread))
    assert table["mig_sampled"] < table["mig"]
    assert table.frame.loc["mig_sampled", "chance"] < 0.05
    assert table.frame.loc["mig_sampled", "question"] == "completeness"
    assert table["windin"] > 0 and np.isnan(table.frame.loc["windin", "chance"])
    alone = gd.score_latents(means, factors, ["windin"], verbose=False)
    assert "needs the log_variances of a Gaussian encoder" in alone.skipped["windin"]


def test_windin_of_gaussians_is_what_it_must_be():
    # Means N(0, 1), posteriors of variance v: each latent says log(1 + 1/v) / 2 of its input.
    rng = np.random.default_rng(0)
    means = rng.standard_normal((3000, 2))
    spread = np.full(means.shape, np.log(0.25))
    score = scores.windin(means, log_variances=spread, random_state=0)
    expected = 0.5 * np.log(1 + 1 / 0.25)
    assert score.details["informativeness"] == pytest.approx([expected] * 2, abs=0.06)
    assert float(score) == pytest.approx(expected, abs=0.1)
    # Latents of correlated means share I(z_1; z_2), which neither has alone.
    mixed = means @ np.linalg.cholesky([[1.0, 0.9], [0.9, 1.0]]).T
    shared = -0.5 * np.log(1 - (0.9 / 1.25) ** 2)
    both = scores.windin(mixed, log_variances=spread, random_state=0)
    assert float(both) == pytest.approx(expected - shared, abs=0.1)


def test_windin_gives_weight_to_what_is_used():
    rng = np.random.default_rng(0)
    means = np.column_stack([rng.standard_normal(1000), np.zeros(1000)])
    spread = np.column_stack([np.full(1000, -2.0), np.zeros(1000)])
    score = scores.windin(means, log_variances=spread, random_state=0)
    assert score.per_latent[1] == pytest.approx(0, abs=0.1)
    assert float(score) == pytest.approx(score.per_latent[0], abs=0.1)
