"""Scores during training are those of `score_latents` and of the scores themselves."""

import pytest

from geodis import scores
from geodis.base.check import InputError
from geodis.models import VAE, encode, score_during


def test_scores_are_of_the_latents_at_hand(blobs):
    model = VAE(blobs, 2, network="vector")
    values = score_during(blobs, ["mig", "dci", "axis_ratio", "distance_correlation"])(model)
    latents, factors = encode(model, blobs), blobs.factors(range(40))
    assert values["mig"] == pytest.approx(scores.mig(latents, factors).value)
    expected = scores.axis_ratio(latents, blobs, n_traversals=1000)  # all that there are
    assert values["axis_ratio"] == pytest.approx(expected.value, abs=0.1)
    assert {"dci_completeness", "distance_correlation"} < set(values)


def test_the_same_images_are_scored_every_time(blobs):
    model = VAE(blobs, 2, network="vector")
    watch = score_during(blobs, ["mig", "factor_vae", "linearity_ratio"], n=25, random_state=1)
    assert watch(model) == watch(model)


def test_few_images_of_a_large_grid_have_traversals(squares):
    values = score_during(squares, ["linearity_ratio", "axis_ratio"], n=5)(VAE(squares, 3))
    assert 0 < values["axis_ratio"] <= values["linearity_ratio"] <= 1


def test_what_cannot_be_scored_is_refused_before_training(blobs):
    with pytest.raises(InputError, match="beauty"):
        score_during(blobs, ["beauty"])
    with pytest.raises(InputError, match=r"their factors: a FactorGrid, .*; got ndarray"):
        score_during(blobs.images(range(4)))
