"""SAP, explicitness and explained variance: reference values, laws, degenerate input."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis import scores
from geodis.base.check import InputError
from geodis.scores.predictive import ranked_area, squared_correlation
from tests import reference_scores as slow
from tests.scores._golden import NAMES, grid, load, sample

SEEDS = st.integers(0, 2**31)


@pytest.mark.parametrize("name", NAMES)
def test_sap_equals_the_reference(name):
    data = load(name)
    latents, factors = data["latents"], data["factors"]
    found = scores.sap(latents, factors, continuous=True, shuffle=False)
    np.testing.assert_allclose(found.matrix, data["sap_cont_matrix"], atol=1e-9)
    assert float(found) == pytest.approx(float(data["sap_cont"]), abs=1e-9)
    found = scores.sap(latents, factors, shuffle=False)
    np.testing.assert_allclose(found.matrix, data["sap_disc_matrix"], atol=3e-3)
    assert float(found) == pytest.approx(float(data["sap_disc"]), abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_explicitness_equals_the_reference(name):
    data = load(name)
    found = scores.explicitness(data["latents"], data["factors"], shuffle=False)
    if np.isnan(data["explicitness_test"]):  # constant latents: tested below
        assert str(data["kind"]) == "dead_const"
        return
    assert float(found) == pytest.approx(float(data["explicitness_test"]), abs=4e-5)
    assert found.details["train"] == pytest.approx(float(data["explicitness_train"]), abs=4e-5)
    np.testing.assert_allclose(found.per_factor, data["explicitness_test_per_factor"], atol=1e-4)
    np.testing.assert_allclose(
        found.details["train_per_factor"], data["explicitness_train_per_factor"], atol=1e-4
    )


def test_explicitness_with_constant_latents_is_that_without_them():
    """The peer divides by their deviation, which is zero, and raises."""
    data = load("latents_s10")
    latents, factors = data["latents"], data["factors"]
    varying = latents.max(axis=0) > latents.min(axis=0)
    assert np.isnan(data["explicitness_test"]) and not varying.all()
    found = scores.explicitness(latents, factors, shuffle=False)
    without = scores.explicitness(latents[:, varying], factors, shuffle=False)
    assert float(found) == pytest.approx(float(without), abs=4e-5)
    assert float(found) > 0.9


@settings(deadline=None, max_examples=20)
@given(SEEDS)
def test_squared_correlation_equals_its_literal_twin(seed):
    x, y = np.random.default_rng(seed).standard_normal((2, 20, 2))
    expected = [[slow.squared_correlation(a, b) for b in y.T] for a in x.T]
    np.testing.assert_allclose(squared_correlation(x, y), expected, atol=1e-12)


def test_squared_correlation_does_not_depend_on_units():
    """The peer zeroes latents of variance up to 1e-12, however well they predict."""
    latents, factors = sample(0)
    expected = squared_correlation(latents, factors)
    for scale in (1e-160, 1e-8, 1e8, 1e160):
        np.testing.assert_allclose(squared_correlation(scale * latents, factors), expected)
    assert not squared_correlation(np.full((600, 2), 0.1), factors).any()


@settings(deadline=None, max_examples=20)
@given(SEEDS)
def test_ranked_area_equals_its_literal_twin(seed):
    rng = np.random.default_rng(seed)
    values, own = rng.integers(0, 5, 30).astype(float), rng.integers(0, 2, 30)
    if 0 < own.sum() < 30:
        found = ranked_area(values[:, None], own, np.array([1]))
        assert found == pytest.approx(slow.area(values, own == 1), abs=1e-12)
    assert np.isnan(ranked_area(values[:, None], own, np.array([7])))


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
        found = score(latents, factors, random_state=0, **options)
        turned = score(latents[:, ::-1], factors[:, ::-1], random_state=0, **options)
        assert 0 <= float(found) <= 1
        assert float(turned) == pytest.approx(float(found), abs=1e-3)
        np.testing.assert_allclose(turned.per_factor[::-1], found.per_factor, atol=3e-3)


@pytest.mark.parametrize("seed", range(3))
def test_a_duplicate_of_a_latent_closes_the_gap(seed):
    latents, factors = sample(seed)
    doubled = np.column_stack([latents, -latents[:, 0]])
    for continuous in (False, True):
        found = scores.sap(doubled, factors, continuous=continuous, random_state=seed)
        assert found.per_factor[0] == pytest.approx(0, abs=1e-12)
        assert found.per_factor[1] > 0.2


@pytest.mark.parametrize("seed", range(3))
def test_explained_variance_is_that_of_the_model(seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(-np.pi, np.pi, 3000)
    latents = np.column_stack([np.cos(angle), np.sin(angle)])
    factors = np.column_stack([np.cos(angle) + rng.standard_normal(3000), np.cos(2 * angle)])
    linear = scores.informativeness_r2(latents, factors, random_state=seed)
    np.testing.assert_allclose(linear.per_factor, [1 / 3, 0], atol=0.06)
    near = scores.informativeness_r2(latents, factors, method="knn", random_state=seed)
    assert near.per_factor[1] > 0.99
    assert near.details["raw_per_factor"][0] < linear.per_factor[0]


def test_rows_are_shuffled_unless_told_otherwise():
    """In a grid, the last rows hold values of the first factor that the first rows never had."""
    factors = grid(sizes=(4, 5, 4), copies=1)
    latents = factors.astype(float)
    sorted_rows = scores.sap(latents, factors, shuffle=False)
    shuffled = scores.sap(latents, factors, random_state=0)
    assert sorted_rows.matrix[0, 0] == 0 and shuffled.matrix[0, 0] > 0.3
    again = scores.sap(latents, factors, random_state=0)
    np.testing.assert_array_equal(shuffled.matrix, again.matrix)


def test_many_rows_are_thinned_and_it_is_said():
    latents, factors = sample(0, n=4000)
    found = scores.explicitness(latents, factors, max_rows=1000, random_state=0)
    assert found.note == "learnt from 1000 of 3000 training rows (max_rows)"
    everything = scores.explicitness(latents, factors, max_rows=None, random_state=0)
    assert everything.note == ""
    assert float(everything) == pytest.approx(float(found), abs=0.01)


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
    with pytest.raises(InputError, match=r"sap with continuous=True .* 'shape' has labels"):
        scores.sap(latents, labels, continuous=True)
    with pytest.raises(InputError, match=r"informativeness_r2 needs .* 'shape' has labels"):
        scores.informativeness_r2(latents, labels)
    assert np.isfinite(float(scores.sap(latents, labels, random_state=0)))


def test_factors_that_cannot_be_judged_are_left_out():
    latents, factors = sample(0, n=40, sizes=(2, 2))
    lonely = np.zeros(40, int)
    lonely[39] = 1  # held out: no training row has it
    table = pd.DataFrame({"a": factors[:, 0], "lonely": lonely, "same": 5})
    found = scores.explicitness(latents, table, shuffle=False)
    assert np.isnan(found.per_factor[1:]).all() and np.isfinite(float(found))
    assert "with one value: factor 'same'" in found.note
    assert "too few rows of every value: factor 'lonely'" in found.note
    with pytest.raises(InputError, match="no factor has them in 1 and 1 rows"):
        scores.explicitness(latents[:2], [0, 1])
    for continuous in (False, True):
        found = scores.sap(latents, table, continuous=continuous, shuffle=False)
        assert np.isfinite(float(found)) and np.isnan(found.per_factor[2])


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


@pytest.mark.parametrize("share", [0, 1, 1.5])
def test_bad_shares_are_refused(share):
    with pytest.raises(InputError, match="train_share must"):
        scores.sap([[0.0], [1.0]], [0, 1], train_share=share)
