"""BetaVAE score: reference values and scale."""

import numpy as np
import pytest

from geodis import scores
from geodis.data.grids.grid import FactorGrid
from geodis.scores.interventional import beta_vae
from geodis.scores.interventional import fixed_factor as fixed_source
from tests.reference import intervention_and_unsupervised as slow
from tests.scores.interventional.conftest import FILES, SMALL, sample


def test_all_reference_files_are_there():
    assert len(FILES) == 6


def test_differences_equal_the_reference(golden):
    data, book, (n_train, n_eval, size) = golden
    random = np.random.RandomState(int(data["seed"]))
    for part, count in (("train", n_train), ("eval", n_eval)):
        labels, left, right = slow.beta_vae_draws(book, count, size, random)
        np.testing.assert_array_equal(labels, data[f"betavae_{part}_labels"])
        points = beta_vae.pair_differences(book.codebook, left, right)
        np.testing.assert_allclose(points, data[f"betavae_{part}_points"], rtol=0, atol=1e-9)
    few = slow.beta_vae_points(book.codebook, left[:5], right[:5])
    np.testing.assert_allclose(points[:5], few, rtol=0, atol=1e-12)


def test_accuracy_of_the_linear_classifier_equals_the_reference(golden):
    data, book, (n_train, _, _) = golden
    points = np.concatenate([data["betavae_train_points"], data["betavae_eval_points"]])
    labels = np.concatenate([data["betavae_train_labels"], data["betavae_eval_labels"]])
    source = fixed_source.open_source(book.codebook, FactorGrid(book.sizes), "beta_vae")
    score = beta_vae.linear_score(source, points, labels, n_train)
    assert float(score) == pytest.approx(float(data["betavae_eval_accuracy"]), abs=1e-9)
    assert score.details["train_accuracy"] == pytest.approx(float(data["betavae_train_accuracy"]))


def test_standardising_lets_beta_vae_see_small_latents():
    factors, _ = sample(0)
    assert float(scores.beta_vae(factors * 1e-5, factors, random_state=0, **SMALL)) < 0.9
    seen = scores.beta_vae(factors * 1e-5, factors, standardise=True, random_state=0, **SMALL)
    assert float(seen) == 1.0
