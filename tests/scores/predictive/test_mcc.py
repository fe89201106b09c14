"""Mean correlation coefficients: what leaves them alone and what does not."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import geodis as gd
from geodis import scores
from geodis.base.check import InputError
from geodis.scores.predictive.mcc import absolute_correlations, canonical_directions


def drawn(seed=0, n=1000, z=4, f=3):
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n, f))
    return factors @ rng.standard_normal((f, z)) + 0.3 * rng.standard_normal((n, z)), factors


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_order_sign_and_scale_do_not_matter(method):
    latents, factors = drawn()
    plain = float(scores.mcc(latents, factors, method=method))
    moved = latents[:, [2, 0, 3, 1]] * [-1e200, 1e-200, 3, -0.1]
    assert float(scores.mcc(moved, factors, method=method)) == pytest.approx(plain)
    matrix = scores.mcc(latents, factors, method=method).matrix
    rows, columns = linear_sum_assignment(matrix, maximize=True)
    assert plain == pytest.approx(matrix[rows, columns].mean())


def test_monotone_maps_are_seen_through_by_ranks_alone():
    factors = drawn()[1]
    bent = np.exp(3 * factors)
    assert float(scores.mcc(bent, factors, method="spearman")) == pytest.approx(1)
    assert float(scores.mcc(bent, factors)) < 0.6


def test_a_factor_without_a_latent_is_zero_and_a_constant_is_nothing():
    factors = drawn()[1]
    score = scores.mcc(factors[:, :2], factors)
    assert score.per_factor.round(6).tolist() == [1, 1, 0]
    assert score.details["matched"].tolist() == [0, 1, -1]
    assert float(scores.mcc(np.zeros((1000, 3)), factors)) == 0
    left = scores.mcc(factors, np.column_stack([factors[:, 0], np.zeros(1000)]))
    assert float(left) == pytest.approx(1) and np.isnan(left.per_factor[1])


def test_columns_of_a_factor_and_circles_are_matched_one_by_one():
    rng = np.random.default_rng(0)
    angle, size = rng.uniform(0, 360, 2000), rng.standard_normal(2000)
    factors = gd.as_factors({"size": size, "angle": angle}, periods={"angle": 360.0})
    turn = np.deg2rad(angle)
    score = scores.mcc(np.column_stack([np.sin(turn), size, np.cos(turn)]), factors)
    assert float(score) == pytest.approx(1)
    assert score.details["matched"].tolist() == [1, 2, 0]
    with pytest.raises(InputError, match="mcc needs factors that are numbers or ordered; got lab"):
        scores.mcc(angle[:, None], np.array(["a", "b"])[rng.integers(2, size=2000)])


@pytest.mark.parametrize("score", [scores.mcc, scores.weak_mcc])
def test_labels_without_an_order_are_left_out(score):
    latents, factors = drawn()
    named = gd.as_factors({"shape": ["dot", "box"] * 500, "x": factors[:, 0], "y": factors[:, 1]})
    options = {"random_state": 0} if score is scores.weak_mcc else {}
    both, alone = score(latents, named, **options), score(latents, factors[:, :2], **options)
    assert float(both) == pytest.approx(float(alone), abs=1e-12)
    assert np.isnan(both.per_factor).tolist() == [True, False, False]
    assert both.note == "left out, labels without an order: shape" and not alone.note


@pytest.mark.parametrize("method", ["linear", "cca"])
def test_weak_scores_undo_a_linear_map_and_no_bend(method):
    factors = drawn()[1]
    rng = np.random.default_rng(3)
    turned = factors @ rng.standard_normal((3, 5))
    options = {"method": method, "random_state": 0}
    assert float(scores.weak_mcc(turned, factors, **options)) == pytest.approx(1)
    assert float(scores.mcc(turned, factors)) < 0.97
    assert float(scores.weak_mcc(np.exp(2 * turned), factors, **options)) < 0.8
    noise = rng.standard_normal((1000, 5))
    assert float(scores.weak_mcc(noise, factors, **options)) < 0.15
    # Constants and copies have no direction of their own.
    more = np.column_stack([turned, turned[:, 0], np.ones(1000)])
    assert float(scores.weak_mcc(more, factors, **options)) == pytest.approx(1, abs=1e-6)


def test_canonical_directions_maximise_the_correlation():
    a, b = drawn(n=300)
    left, right = canonical_directions(a, b)
    reached = np.diag(absolute_correlations(a @ left, b @ right))
    rng = np.random.default_rng(0)
    tried = absolute_correlations(
        a @ rng.standard_normal((4, 500)), b @ rng.standard_normal((3, 500))
    )
    assert tried.max() <= reached[0] + 1e-12
    assert (np.diff(reached) <= 1e-12).all()


def test_single_neurons_know_ties_and_unequal_factors():
    rng = np.random.default_rng(0)
    factors = np.column_stack([rng.integers(3, size=900), rng.integers(5, size=900)])
    assert float(scores.snc(factors[:, ::-1] * -1.0, factors, random_state=0)) == 1
    one = scores.snc(factors[:, :1] * 1.0, factors, random_state=0)
    assert one.per_factor.tolist() == [1, 0] and one.details["matched"].tolist() == [0, -1]
    noise = float(scores.snc(rng.standard_normal((900, 4)), factors, random_state=0))
    assert noise == pytest.approx((1 / 3 + 1 / 5) / 2, abs=0.08)
