"""The information scores: reference values, twins, laws, degenerate input."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis import scores
from geodis.base.check import InputError
from tests.reference import scores as slow
from tests.scores._golden import NAMES, grid, load, sample

GAPS = [scores.mig, scores.robust_mig, scores.mig_sup]
ALL = [*GAPS, scores.modularity, scores.completeness]
SEEDS = st.integers(0, 2**31)


@pytest.mark.parametrize("name", NAMES)
def test_equal_the_reference(name):
    data = load(name)
    latents, factors = data["latents"], data["factors"]
    information = scores.mutual_information(latents, factors)
    np.testing.assert_allclose(information.matrix, data["mutual_info"], atol=1e-9)
    np.testing.assert_allclose(
        information.details["factor_entropy"], data["factor_entropy"], atol=1e-9
    )
    assert float(scores.mig(latents, factors)) == pytest.approx(float(data["mig"]), abs=1e-9)
    modularity = scores.modularity(latents, factors)
    assert float(modularity) == pytest.approx(float(data["modularity"]), abs=1e-9)


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_equal_their_literal_twins(seed):
    latents, factors = sample(seed, n=40, sizes=(2, 3))
    bins = 5
    matrix = slow.information_matrix(latents, factors, bins)
    scored = scores.mutual_information(latents, factors, bins=bins)
    np.testing.assert_allclose(scored.matrix, matrix, atol=1e-12)
    assert float(scores.mig(latents, factors, bins=bins)) == pytest.approx(
        slow.mig(latents, factors, bins), abs=1e-12
    )
    assert float(scores.mig_sup(latents, factors, bins=bins)) == pytest.approx(
        slow.mig_sup(latents, factors, bins), abs=1e-12
    )
    assert float(scores.modularity(latents, factors, bins=bins)) == pytest.approx(
        slow.modularity(matrix), abs=1e-12
    )
    assert float(scores.completeness(latents, factors, bins=bins)) == pytest.approx(
        slow.compactness(latents, factors, bins), abs=1e-12
    )


@pytest.mark.parametrize("score", ALL)
def test_a_perfect_code_scores_one(score):
    factors = grid()
    for latents in (factors, -3.0 * factors + 7, np.exp(factors / 2)[:, [2, 0, 1]]):
        assert float(score(latents, factors)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("method", ["equal_width", "quantile"])
def test_spare_latents_leave_the_factor_side_alone(method):
    factors = grid()
    latents = np.column_stack([factors, np.zeros(len(factors))])
    assert float(scores.mig(latents, factors, method=method)) == pytest.approx(1, abs=1e-12)
    assert float(scores.completeness(latents, factors, method=method)) == pytest.approx(1)
    side = scores.mig_sup(latents, factors, method=method)
    assert float(side) == pytest.approx(0.75) and side.details["weighted"] == pytest.approx(1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("score", [*GAPS, scores.completeness])
def test_noise_scores_near_zero(score, seed):
    rng = np.random.default_rng(seed)
    factors = grid(copies=60)
    assert float(score(rng.standard_normal((len(factors), 5)), factors)) < 0.1


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_scores_stay_in_range_whatever_the_order(seed):
    latents, factors = sample(seed, n=150)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(150)
    mixed = latents[rows][:, rng.permutation(4)], factors[rows][:, rng.permutation(3)]
    for score in ALL:
        value = float(score(latents, factors))
        assert 0 <= value <= 1
        assert float(score(*mixed)) == pytest.approx(value, abs=1e-12)


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.floats(0.1, 4))
def test_quantile_bins_ignore_monotone_maps(seed, power):
    latents, factors = sample(seed, n=150)
    bent = np.sign(latents) * np.abs(latents) ** power
    exact = float(scores.robust_mig(latents, factors))
    assert float(scores.robust_mig(bent, factors)) == pytest.approx(exact, abs=1e-12)
    for score in ALL:
        if score is not scores.robust_mig:
            assert float(score(bent, factors, method="quantile")) == pytest.approx(
                float(score(latents, factors, method="quantile")), abs=1e-12
            )


@pytest.mark.parametrize("seed", range(3))
def test_affine_maps_change_nothing_and_outliers_little_where_bins_are_even(seed):
    latents, factors = sample(seed)
    for score in ALL:
        moved = float(score(4 * latents - 2, factors))  # powers of two: no value crosses an edge
        assert moved == pytest.approx(float(score(latents, factors)), abs=1e-2)
    outlier = latents.copy()
    outlier[0] = 1e6
    assert float(scores.mig(outlier, factors)) < 0.05 < float(scores.mig(latents, factors))
    robust = float(scores.robust_mig(latents, factors))
    assert float(scores.robust_mig(outlier, factors)) == pytest.approx(robust, abs=0.02)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("score", [scores.mig, scores.robust_mig, scores.completeness])
def test_a_duplicate_of_a_latent_lowers_the_factor_side(score, seed):
    latents, factors = sample(seed)
    doubled = np.column_stack([latents, latents[:, 0]])
    assert float(score(doubled, factors)) < float(score(latents, factors)) - 0.05
    assert score(doubled, factors).per_factor[0] < 0.6


@pytest.mark.parametrize("score", [scores.mig_sup, scores.modularity])
def test_a_latent_that_mixes_factors_lowers_the_latent_side(score):
    factors = grid(sizes=(4, 4))
    latents = np.column_stack([factors[:, 0], factors.sum(axis=1)])
    assert score(latents, factors).per_latent[0] == pytest.approx(1)
    assert score(latents, factors).per_latent[1] == pytest.approx(0, abs=1e-12)


def test_constant_latents_know_nothing():
    latents, factors = sample(0)
    latents[:, 1] = 0.1
    for method in ("equal_width", "quantile", "knn"):
        score = scores.mutual_information(latents, factors, method=method, random_state=0)
        assert not score.matrix[1].any()
    assert scores.modularity(latents, factors).per_latent[1] == 0
    assert "constant latents left out: 1" in scores.completeness(latents, factors).note
    for score in ALL:
        assert float(score(np.zeros((600, 2)), factors)) == 0


def test_factors_with_one_value_are_left_out():
    """Their entropy is zero: the peer divides by it."""
    latents, factors = sample(0)
    frame = pd.DataFrame(factors, columns=["a", "b", "c"]).assign(same="x")
    for score in ALL:
        scored = score(latents, frame)
        assert float(scored) == float(score(latents, factors))
        assert "with one value: factor 'same'" in scored.note
        assert scored.factor_names == ("a", "b", "c", "same")
        assert scored.matrix.shape == (4, 4) and not scored.matrix[:, 3].any()
        assert scored.per_factor is None or np.isnan(scored.per_factor[3])
    with pytest.raises(InputError, match="at least two values; got 1 with one"):
        scores.mig(latents, np.zeros(600))


def test_one_factor_and_one_latent_are_defined():
    """Modularity of one factor divides by f - 1 = 0 in the peer, and a gap needs two latents."""
    latents, factors = sample(0)
    for score in ALL:
        assert 0 < float(score(latents, factors[:, 0])) <= 1
        assert 0 < float(score(latents[:, :1], factors)) <= 1
    assert float(scores.modularity(latents[:, :1], factors[:, :1])) == 1


@pytest.mark.parametrize("score", ALL)
def test_any_kind_of_array_gives_the_same_score(score):
    torch = pytest.importorskip("torch")
    latents, factors = sample(0)
    latents = np.round(latents * 8)  # exact in half precision
    expected = float(score(latents, factors))
    for kind in (np.float16, np.float32, np.int64):
        assert float(score(latents.astype(kind), factors)) == pytest.approx(expected)
    assert float(score(torch.tensor(latents), torch.tensor(factors))) == pytest.approx(expected)
    labels = pd.DataFrame({j: pd.Categorical([f"v{v}" for v in factors[:, j]]) for j in range(3)})
    assert float(score(latents, labels)) == pytest.approx(expected)


@pytest.mark.parametrize("score", ALL)
def test_few_rows_and_many_latents_give_a_number(score):
    rng = np.random.default_rng(0)
    assert 0 <= float(score(rng.standard_normal((2, 3)), [[0, 1], [1, 0]])) <= 1
    assert 0 <= float(score(rng.standard_normal((60, 512)), grid()[:60])) <= 1
    factors = np.zeros(60, int)
    factors[7] = 1  # a class of one row
    assert 0 <= float(score(rng.standard_normal((60, 3)), factors)) <= 1


def test_unknown_methods_are_refused():
    with pytest.raises(InputError, match="method must be one of 'equal_width', 'quantile', 'knn'"):
        scores.mig([[0.0], [1.0]], [0, 1], method="kde")
