"""Downstream accuracy from few and from many rows."""

from typing import get_args

import numpy as np
import pytest

from geodis.base.check import InputError
from geodis.scores import downstream, score_latents
from geodis.scores.predictive.downstream import DownstreamModel
from tests.scores._golden import grid, sample

MODELS = get_args(DownstreamModel)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_more_rows_help_and_a_good_code_needs_few(model, seed):
    latents, factors = sample(seed, n=2400, sizes=(3, 3), noise=0.15, spare=4)
    scored = downstream(latents, factors, model=model, sizes=(10, 100, 1000), random_state=seed)
    few, some, many = scored.details["accuracy"]
    assert few < some <= many + 0.02 and many > 0.95 and float(scored) == many
    assert scored.details["efficiency"] == pytest.approx(some / many)
    assert scored.details["accuracy_per_factor"].shape == (3, 2)
    np.testing.assert_array_equal(scored.per_factor, scored.details["accuracy_per_factor"][-1])
    hidden = np.sin(9 * latents @ np.random.default_rng(seed).standard_normal((6, 6)))
    worse = downstream(hidden, factors, model=model, sizes=(10, 100, 1000), random_state=seed)
    assert float(worse) < many


@pytest.mark.parametrize("model", MODELS)
def test_noise_scores_at_chance(model):
    factors = grid(sizes=(4, 2), copies=150)
    noise = np.random.default_rng(0).standard_normal((len(factors), 3))
    scored = downstream(noise, factors, model=model, sizes=(100, 800), random_state=0)
    np.testing.assert_allclose(scored.per_factor, [0.25, 0.5], atol=0.1)
    assert scored.details["efficiency"] == pytest.approx(1, abs=0.2)


def test_agrees_with_scikit_learn_on_the_same_rows():
    from sklearn.ensemble import GradientBoostingClassifier

    latents, factors = sample(0, n=800, sizes=(4,), noise=0.5)
    scored = downstream(latents, factors, model="trees", sizes=(400,), random_state=0)
    order = np.random.default_rng(0).permutation(800)
    test, train = order[:200], order[200:600]
    peer = GradientBoostingClassifier(random_state=0).fit(latents[train], factors[train, 0])
    assert float(scored) == pytest.approx(peer.score(latents[test], factors[test, 0]), abs=0.05)


@pytest.mark.parametrize("model", MODELS)
def test_sizes_beyond_the_rows_are_replaced_once_and_said(model):
    latents, factors = sample(0, n=200)
    scored = downstream(latents, factors, model=model, random_state=0)
    assert scored.details["sizes"].tolist() == [10, 100, 150]
    assert scored.details["efficiency_sizes"] == (100, 150)
    assert scored.note == "150 rows to learn from instead of 10000"


@pytest.mark.parametrize("model", MODELS)
def test_awkward_input_gives_a_number(model):
    latents, factors = sample(0, n=60, sizes=(2, 3))
    table = np.column_stack([factors, np.zeros(60)])
    for awkward in (np.zeros((60, 2)), 1e200 * latents, latents.astype(np.float16)):
        scored = downstream(awkward, table, model=model, sizes=(1, 30), random_state=0)
        assert 0 <= float(scored) <= 1 and np.isnan(scored.per_factor[2])
        assert "factor 2" in scored.note
    assert 0 <= float(downstream(latents[:2], [0, 1], model=model, random_state=0)) <= 1


def test_bad_settings_are_refused():
    with pytest.raises(InputError, match="sizes must hold at least one"):
        downstream([[0.0], [1.0]], [0, 1], sizes=())
    with pytest.raises(InputError, match="model must be one of 'logistic', 'trees'"):
        downstream([[0.0], [1.0]], [0, 1], model="svm")


def test_there_is_no_efficiency_of_one_size_against_itself():
    factors = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (10, 1))
    assert np.isnan(downstream(factors, factors, random_state=0).details["efficiency"])
    table = score_latents(factors, factors, ["downstream_logistic"], verbose=False)
    assert list(table.frame.index) == ["downstream_logistic_10", "downstream_logistic_30"]
