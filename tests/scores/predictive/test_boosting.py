"""Boosted trees on binned latents."""

import numpy as np
import pytest

from geodis.scores.predictive.boosting import bin_for_splits, boost
from tests.reference import scores as slow
from tests.scores._golden import sample


def fitted(latents, codes, **options):
    binned = bin_for_splits(latents, latents, options.pop("bins", 2048))
    return boost(*binned, codes, **options)


@pytest.mark.parametrize("seed", range(3))
def test_importances_equal_the_literal_twin(seed):
    latents, factors = sample(seed, n=50, sizes=(3, 4))
    boosted = fitted(latents, factors[:, 0], n_stages=4)
    expected = slow.boosted_importance(latents, factors[:, 0], stages=4)
    np.testing.assert_allclose(boosted.importance, expected, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_agree_with_scikit_learn(seed, classes):
    from sklearn.ensemble import GradientBoostingClassifier

    latents, factors = sample(seed, n=400, sizes=(classes, 3), noise=0.5)
    codes = factors[:, 0]
    peer = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(latents, codes)
    boosted = fitted(latents, codes, n_stages=20)
    np.testing.assert_allclose(boosted.importance, peer.feature_importances_, atol=5e-3)
    assert (boosted.train == peer.predict(latents)).mean() > 0.99
    np.testing.assert_array_equal(boosted.train, boosted.test)


@pytest.mark.parametrize("seed", range(3))
def test_regression_agrees_with_scikit_learn(seed):
    from sklearn.ensemble import GradientBoostingRegressor

    rng = np.random.default_rng(seed)
    latents = rng.standard_normal((300, 4))
    target = latents[:, 0] ** 2 + latents[:, 1] + 0.1 * rng.standard_normal(300)
    peer = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(latents, target)
    boosted = fitted(latents, target, regression=True, n_stages=20)
    np.testing.assert_allclose(boosted.importance, peer.feature_importances_, atol=5e-3)
    np.testing.assert_allclose(boosted.train, peer.predict(latents), atol=2e-2)


@pytest.mark.parametrize("seed", range(3))
def test_order_and_monotone_maps_of_latents_do_not_matter(seed):
    latents, factors = sample(seed)
    plain = fitted(latents, factors[:, 1]).importance
    bent = fitted(np.exp(2 * latents), factors[:, 1]).importance
    np.testing.assert_allclose(bent, plain, atol=1e-12)
    # Equal gains from different rows, as of single rows of one class, still follow an order.
    turned = fitted(latents[:, ::-1], factors[:, 1]).importance
    np.testing.assert_allclose(turned[::-1], plain, atol=5e-3)


def test_latents_that_split_equally_well_share_what_the_split_gains():
    """The peer draws lots, so that its importances of duplicates change with the seed."""
    latents, factors = sample(0)
    single = fitted(latents, factors[:, 0]).importance
    doubled = fitted(np.column_stack([latents, 3 * latents[:, 0]]), factors[:, 0]).importance
    assert doubled[0] == pytest.approx(doubled[4], abs=1e-12)
    assert doubled[0] == pytest.approx(single[0] / 2, abs=1e-3)
    # Where a third latent splits equally well, it shares with two instead of with one.
    np.testing.assert_allclose(doubled[1:4], single[1:], atol=1e-3)


def test_bins_have_edges_between_values_and_even_sizes():
    column = np.random.default_rng(0).standard_normal((1000, 1))
    codes, others, counts = bin_for_splits(column, column + 1e-12, 10)
    assert counts.tolist() == [10]
    np.testing.assert_array_equal(np.bincount(codes[0]), [100] * 10)
    np.testing.assert_array_equal(codes, others)
    order = np.argsort(column[:, 0])
    assert (np.diff(codes[0, order].astype(int)) >= 0).all()
    heavy = np.concatenate([np.zeros(900), np.arange(100)])[:, None]
    assert bin_for_splits(heavy, heavy, 10)[2].tolist() == [2]  # zeros cannot be split


@pytest.mark.parametrize("regression", [False, True])
def test_nothing_to_learn_gives_no_importance(regression):
    latents, factors = sample(0, n=60)
    alone = fitted(latents, np.full(60, 4), regression=regression)
    assert not alone.importance.any() and (alone.test == 4).all()
    constant = fitted(0 * latents, factors[:, 0], regression=regression)
    assert not constant.importance.any() and len(np.unique(constant.test)) == 1
