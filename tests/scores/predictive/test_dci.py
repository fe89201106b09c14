"""DCI: reference values, methods, laws, degenerate input."""

from typing import get_args

import numpy as np
import pandas as pd
import pytest

from geodis import scores
from geodis.base.check import InputError
from geodis.scores.predictive.importance_models import ImportanceModel
from tests.scores._golden import NAMES, grid, load, sample

METHODS = get_args(ImportanceModel)
FAST = [method for method in METHODS if method != "exact"]


def assert_near_the_reference(scored, data, tolerance, of_matrix):
    assert float(scored) == pytest.approx(float(data["dci_disentanglement"]), abs=tolerance)
    expected = float(data["dci_completeness"])
    assert scored.details["completeness"] == pytest.approx(expected, abs=tolerance)
    np.testing.assert_allclose(scored.matrix, data["dci_importance"], atol=of_matrix)
    np.testing.assert_allclose(scored.matrix.sum(axis=0), 1)


@pytest.mark.parametrize("name", NAMES)
def test_histograms_are_near_the_reference(name):
    data = load(name)
    scored = scores.dci(data["latents"], data["factors"], shuffle=False, random_state=0)
    assert_near_the_reference(scored, data, 0.0035, 0.02)
    for part in ("train", "test"):
        expected = float(data[f"dci_informativeness_{part}"])
        key = "informativeness" + ("_train" if part == "train" else "")
        assert scored.details[key] == pytest.approx(expected, abs=0.015)


def test_coarse_bins_are_near_the_reference():
    data = load("latents_s12")  # the file that bins move most
    scored = scores.dci(data["latents"], data["factors"], bins=2048, shuffle=False)
    assert_near_the_reference(scored, data, 0.006, 0.02)
    coarse = scores.dci(data["latents"], data["factors"], bins=256, shuffle=False)
    assert abs(float(coarse) - float(data["dci_disentanglement"])) > 0.02


@pytest.mark.parametrize("name", ["latents_s02", "latents_s06"])
def test_exact_equals_the_reference(name):
    data = load(name)
    scored = scores.dci(
        data["latents"], data["factors"], method="exact", shuffle=False, random_state=0
    )
    assert_near_the_reference(scored, data, 2e-3, 4e-3)
    expected = float(data["dci_informativeness_test"])
    assert scored.details["informativeness"] == pytest.approx(expected, abs=6e-3)
    # The peer draws lots between splits that are equally good, here with another seed.
    np.testing.assert_allclose(scored.per_latent, data["dci_disentanglement_per_code"], atol=2e-2)


@pytest.mark.parametrize("method", METHODS)
def test_a_perfect_code_scores_one(method):
    factors = grid(sizes=(2, 3), copies=20)
    scored = scores.dci(np.exp(factors[:, [1, 0]]), factors, method=method, random_state=0)
    high = 1 - 1e-8 if method in ("histogram", "exact") else 0.9
    assert float(scored) >= high and scored.details["completeness"] >= high
    assert scored.details["informativeness"] > 0.9
    np.testing.assert_array_equal(scored.matrix.argmax(axis=0), [1, 0])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", FAST)
def test_noise_scores_near_zero(method, seed):
    factors = grid(sizes=(3, 4), copies=40)
    noise = np.random.default_rng(seed).standard_normal((len(factors), 5))
    scored = scores.dci(noise, factors, method=method, random_state=seed)
    informative = scored.details["informativeness"]
    if method == "lasso":  # a few weights may survive, but they explain nothing
        assert informative < 0.05
    else:
        assert float(scored) < 0.15 and scored.details["completeness"] < 0.15
        assert informative == pytest.approx((1 / 3 + 1 / 4) / 2, abs=0.1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", FAST)
def test_mixed_latents_score_lower_than_separate_ones(method, seed):
    latents, factors = sample(seed, n=400, sizes=(4, 4), spare=0)
    turn = np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
    separate = scores.dci(latents, factors, method=method, random_state=seed)
    mixed = scores.dci(latents @ turn, factors, method=method, random_state=seed)
    assert float(mixed) < float(separate) - 0.2
    assert mixed.details["completeness"] < separate.details["completeness"] - 0.2


def test_order_of_latents_and_factors_does_not_matter():
    latents, factors = sample(0, n=300)
    scored = scores.dci(latents, factors, random_state=0)
    turned = scores.dci(latents[:, ::-1], factors[:, ::-1], random_state=0)
    np.testing.assert_allclose(turned.matrix[::-1, ::-1], scored.matrix, atol=5e-3)
    assert float(turned) == pytest.approx(float(scored), abs=5e-3)


@pytest.mark.parametrize("seed", [0, 16, 26])
def test_rounding_below_zero_is_no_importance(seed):
    """In these samples the importance of an unused latent comes out at -1e-18 to -3e-17."""
    rng = np.random.default_rng(seed)
    factor, latents = rng.integers(3, size=134), rng.normal(size=(134, 8))
    latents[:, 0] = factor + 0.1 * rng.normal(size=134)
    scored = scores.dci(latents, factor, method="exact", shuffle=False, random_state=0)
    assert scored.matrix.min() == 0 and scored.matrix[0] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_a_duplicate_of_a_latent_lowers_completeness(seed):
    latents, factors = sample(seed)
    doubled = np.column_stack([latents, latents[:, 0]])
    plain = scores.dci(latents, factors, random_state=seed)
    scored = scores.dci(doubled, factors, random_state=seed)
    assert scored.per_factor[0] < plain.per_factor[0] - 0.2
    assert float(scored) == pytest.approx(float(plain), abs=0.05)


@pytest.mark.parametrize("method", FAST)
def test_continuous_factors_are_regressed_upon(method):
    rng = np.random.default_rng(0)
    factors = rng.uniform(size=(400, 2))
    scored = scores.dci(3 * factors, factors, method=method, random_state=0)
    assert float(scored) > 0.9 and scored.details["informativeness"] > 0.98
    with pytest.raises(InputError, match="factor 0 is continuous"):
        scores.dci(factors, factors, method="exact")


def test_labels_are_refused_by_the_lasso_alone():
    latents, factors = sample(0, n=200, sizes=(3, 2))
    table = pd.DataFrame(np.array(list("abc"))[factors], columns=["shape", "colour"])
    expected = scores.dci(latents, factors, random_state=0)
    assert float(scores.dci(latents, table, random_state=0)) == float(expected)
    with pytest.raises(InputError, match=r"method='lasso' needs .* got labels in factor 'shape'"):
        scores.dci(latents, table, method="lasso")


def test_many_rows_are_thinned_and_it_is_said():
    latents, factors = sample(0, n=2000)
    scored = scores.dci(latents, factors, max_rows=500, random_state=0)
    assert scored.note == "learnt from 500 of 1500 training rows (max_rows)"
    everything = scores.dci(latents, factors, max_rows=None, random_state=0)
    assert everything.note == "" and float(everything) == pytest.approx(float(scored), abs=0.15)


def test_threads_change_nothing():
    latents, factors = sample(0, n=300)
    one = scores.dci(latents, factors, random_state=3)
    two = scores.dci(latents, factors, random_state=3, n_jobs=2)
    np.testing.assert_array_equal(one.matrix, two.matrix)


@pytest.mark.parametrize("method", FAST)
def test_awkward_input_gives_a_number(method):
    latents, factors = sample(0, n=60, sizes=(2, 3))
    lonely = np.zeros(60, int)
    lonely[-1] = 1
    table = np.column_stack([factors, lonely, 0 * lonely])
    for awkward in (
        np.full((60, 2), 3.3),
        latents[:, [0, 0, 0]],
        latents[:, :1],
        latents.astype(np.float16),
        1e200 * latents,
        1e-200 * latents,
    ):
        scored = scores.dci(awkward, table, method=method, shuffle=False)
        assert 0 <= float(scored) <= 1 and 0 <= scored.details["completeness"] <= 1
        assert "factor 3" in scored.note and not scored.matrix[:, 2:].any()
    assert 0 <= float(scores.dci(latents[:2], [0, 1], method=method)) <= 1
    one = scores.dci(latents, factors[:, 0], method=method, random_state=0)
    assert float(one) == pytest.approx(1)  # the peer returns NaN for one factor


@pytest.mark.parametrize("method", ["histogram", "lasso"])
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_latents_changes_nothing(method, seed):
    rng = np.random.default_rng(seed)
    factors = rng.integers(5, size=(1000, 3))
    latents = factors @ rng.standard_normal((3, 6)) + 0.3 * rng.standard_normal((len(factors), 6))
    # A few levels, so that splits tie.
    latents[:, 3:] = np.round(latents[:, 3:])
    order = rng.permutation(6)
    first, second = (
        scores.dci(z, factors, method=method, random_state=0) for z in (latents, latents[:, order])
    )
    np.testing.assert_allclose(second.matrix, first.matrix[order], atol=1e-9)
    for part in ("completeness", "informativeness"):
        assert second.details[part] == pytest.approx(first.details[part], abs=1e-12)
    assert float(second) == pytest.approx(float(first), abs=1e-12)
