"""SAP, explicitness and explained variance: laws, degenerate input."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis import scores
from geodis.base.check import InputError
from tests.scores._golden import grid, sample

SEEDS = st.integers(0, 2**31)


@pytest.mark.parametrize("seed", range(3))
def test_a_perfect_code_scores_high(seed):
    factors = grid(sizes=(2, 3), copies=100)
    latents = 10.0 * factors[:, [1, 0]]
    assert float(scores.explicitness(latents, factors, random_state=seed)) == pytest.approx(1)
    linear = scores.informativeness_r2(latents, factors, random_state=seed)
    assert float(linear) == pytest.approx(1)
    assert float(scores.sap(latents, factors, continuous=True, random_state=seed)) > 0.95
    assert float(scores.sap(latents[:, [1]], factors[:, [0]], random_state=seed)) == 1


@pytest.mark.parametrize("seed", range(3))
def test_noise_scores_near_chance(seed):
    factors = grid(sizes=(2, 4), copies=150)
    latents = np.random.default_rng(seed).standard_normal((len(factors), 4))
    assert float(scores.sap(latents, factors, random_state=seed)) < 0.1
    assert float(scores.sap(latents, factors, continuous=True, random_state=seed)) < 0.02
    explicit = scores.explicitness(latents, factors, random_state=seed)
    assert float(explicit) == pytest.approx(0.5, abs=0.06)
    assert explicit.details["rescaled"] == pytest.approx(2 * float(explicit) - 1)
    for method in ("linear", "knn"):
        assert (
            float(scores.informativeness_r2(latents, factors, method=method, random_state=seed))
            < 0.05
        )


@settings(deadline=None, max_examples=8)
@given(SEEDS)
def test_order_of_latents_and_factors_does_not_matter(seed):
    latents, factors = sample(seed, n=120, sizes=(2, 3))
    for score, options in [
        (scores.sap, {}),
        (scores.sap, {"continuous": True}),
        (scores.explicitness, {}),
        (scores.informativeness_r2, {}),
    ]:
        scored = score(latents, factors, random_state=0, **options)
        turned = score(latents[:, ::-1], factors[:, ::-1], random_state=0, **options)
        assert 0 <= float(scored) <= 1
        assert float(turned) == pytest.approx(float(scored), abs=1e-3)
        np.testing.assert_allclose(turned.per_factor[::-1], scored.per_factor, atol=3e-3)


def test_threads_change_nothing():
    latents, factors = sample(0)
    for score in (scores.sap, scores.explicitness):
        one = score(latents, factors, random_state=0)
        two = score(latents, factors, random_state=0, n_jobs=2)
        assert float(one) == float(two)


def test_continuous_factors_are_taken_only_where_they_make_sense():
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((300, 2))
    latents = factors + 0.1 * rng.standard_normal((300, 2))
    assert float(scores.sap(latents, factors, continuous=True, random_state=0)) > 0.9
    for score in (scores.sap, scores.explicitness):
        with pytest.raises(InputError, match="factor 0 is continuous"):
            score(latents, factors)
    labels = pd.DataFrame({"shape": list("abc") * 100})
    with pytest.raises(
        InputError, match=r"sap with continuous=True .* got labels in factor 'shape'"
    ):
        scores.sap(latents, labels, continuous=True)
    with pytest.raises(
        InputError, match=r"informativeness_r2 needs .* got labels in factor 'shape'"
    ):
        scores.informativeness_r2(latents, labels)
    assert np.isfinite(float(scores.sap(latents, labels, random_state=0)))


@pytest.mark.parametrize(
    "score",
    [
        lambda *given: scores.sap(*given, continuous=True, random_state=0),
        lambda *given: scores.informativeness_r2(*given, random_state=0),
    ],
)
def test_labels_beside_numbers_are_left_out(score):
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((300, 2))
    latents = factors + 0.1 * rng.standard_normal((300, 2))
    named = {"shape": list("abc") * 100, "x": factors[:, 0], "y": factors[:, 1]}
    both, alone = score(latents, pd.DataFrame(named)), score(latents, factors)
    assert float(both) == pytest.approx(float(alone), abs=1e-12)
    assert np.isnan(both.per_factor).tolist() == [True, False, False]
    assert both.note == "left out, labels: factor 'shape'"


def test_factors_that_cannot_be_judged_are_left_out():
    latents, factors = sample(0, n=40, sizes=(2, 2))
    lonely = np.zeros(40, int)
    lonely[39] = 1  # held out: no training row has it
    table = pd.DataFrame({"a": factors[:, 0], "lonely": lonely, "same": 5})
    scored = scores.explicitness(latents, table, shuffle=False)
    assert np.isnan(scored.per_factor[1:]).all() and np.isfinite(float(scored))
    assert "with one value: factor 'same'" in scored.note
    assert "too few rows of every value: factor 'lonely'" in scored.note
    with pytest.raises(InputError, match="no factor has them in 1 and 1 rows"):
        scores.explicitness(latents[:2], [0, 1])
    for continuous in (False, True):
        scored = scores.sap(latents, table, continuous=continuous, shuffle=False)
        assert np.isfinite(float(scored)) and np.isnan(scored.per_factor[2])


@pytest.mark.parametrize("score", [scores.sap, scores.explicitness, scores.informativeness_r2])
def test_awkward_latents_give_a_number(score):
    latents, factors = sample(0, n=80, sizes=(2, 3))
    noise = np.random.default_rng(0).standard_normal((80, 512))
    for awkward in (
        np.full((80, 2), 3.3),
        latents[:, :1],
        latents.astype(np.float16),
        (10 * latents).astype(int),
        1e200 * latents,
        1e-200 * latents,
        noise,
    ):
        assert 0 <= float(score(awkward, factors, random_state=0)) <= 1


@pytest.mark.parametrize("score", [scores.sap, scores.informativeness_r2])
def test_two_points_give_a_number(score):
    assert 0 <= float(score([[0.0], [1.0]], [0, 1], random_state=0)) <= 1
