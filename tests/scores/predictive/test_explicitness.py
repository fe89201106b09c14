"""Explicitness: reference values, twins, thinned rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis import scores
from geodis.scores.predictive.explicitness import ranked_area
from tests.reference import scores as slow
from tests.scores._golden import NAMES, load, sample

SEEDS = st.integers(0, 2**31)


@pytest.mark.parametrize("name", NAMES)
def test_explicitness_equals_the_reference(name):
    data = load(name)
    scored = scores.explicitness(data["latents"], data["factors"], shuffle=False)
    if np.isnan(data["explicitness_test"]):  # constant latents: tested below
        assert str(data["kind"]) == "dead_const"
        return
    assert float(scored) == pytest.approx(float(data["explicitness_test"]), abs=4e-5)
    assert scored.details["train"] == pytest.approx(float(data["explicitness_train"]), abs=4e-5)
    np.testing.assert_allclose(scored.per_factor, data["explicitness_test_per_factor"], atol=1e-4)
    np.testing.assert_allclose(
        scored.details["train_per_factor"], data["explicitness_train_per_factor"], atol=1e-4
    )


def test_explicitness_with_constant_latents_is_that_without_them():
    """The peer divides by their deviation, which is zero, and raises."""
    data = load("latents_s10")
    latents, factors = data["latents"], data["factors"]
    varying = latents.max(axis=0) > latents.min(axis=0)
    assert np.isnan(data["explicitness_test"]) and not varying.all()
    scored = scores.explicitness(latents, factors, shuffle=False)
    without = scores.explicitness(latents[:, varying], factors, shuffle=False)
    assert float(scored) == pytest.approx(float(without), abs=4e-5)
    assert float(scored) > 0.9


@settings(deadline=None, max_examples=20)
@given(SEEDS)
def test_ranked_area_equals_its_literal_twin(seed):
    rng = np.random.default_rng(seed)
    values, own = rng.integers(0, 5, 30).astype(float), rng.integers(0, 2, 30)
    if 0 < own.sum() < 30:
        scored = ranked_area(values[:, None], own, np.array([1]))
        assert scored == pytest.approx(slow.area(values, own == 1), abs=1e-12)
    assert np.isnan(ranked_area(values[:, None], own, np.array([7])))


def test_many_rows_are_thinned_and_it_is_said():
    latents, factors = sample(0, n=4000)
    scored = scores.explicitness(latents, factors, max_rows=1000, random_state=0)
    assert scored.note == "learnt from 1000 of 3000 training rows (max_rows)"
    everything = scores.explicitness(latents, factors, max_rows=None, random_state=0)
    assert everything.note == ""
    assert float(everything) == pytest.approx(float(scored), abs=0.01)
