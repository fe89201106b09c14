"""Unsupervised disentanglement ranking."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis import scores
from geodis.base.check import InputError
from geodis.scores.unsupervised.udr import matching_strength
from tests.reference import intervention_and_unsupervised as slow


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_udr_equals_the_twin_for_any_similarity(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.uniform(size=(4, 3))
    expected = slow.udr_pair(matrix, np.ones(4, bool), np.ones(3, bool))
    assert matching_strength(matrix) == pytest.approx(expected, abs=1e-12)
    assert 0 <= matching_strength(matrix) <= 1


@pytest.mark.parametrize("similarity", ["lasso", "spearman"])
def test_udr_ranks_models_that_agree_above_those_that_mix(similarity):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        z = rng.standard_normal((2000, 4))

        def axes(z=z, rng=rng):
            return z[:, rng.permutation(4)] * rng.choice([-2.0, 3.0], 4)

        def mixed(z=z, rng=rng):
            return z @ np.linalg.qr(rng.standard_normal((4, 4)))[0]

        ranked = scores.udr([axes(), axes(), axes(), mixed(), mixed()], similarity=similarity)
        models = ranked.details["models"]
        assert models[:3].min() > models[3:].max() + 0.05
        assert float(ranked) == models.max() <= 1
        assert (np.diag(ranked.details["pairs"]) == 0).all()


def test_udr_ignores_latents_that_are_not_in_use(rng):
    z = rng.standard_normal((500, 2))
    noisy = np.column_stack([z, 0.01 * rng.standard_normal((500, 3))])
    spread = np.column_stack([np.full((500, 2), -4.0), np.zeros((500, 3))])
    plain = scores.udr([z, z], similarity="spearman")
    filtered = scores.udr([z, noisy], similarity="spearman", log_variances=[spread[:, :2], spread])
    assert float(filtered) == pytest.approx(float(plain), abs=1e-12)
    assert filtered.details["active"].tolist() == [2, 2]
    constant = scores.udr([z, z, np.ones((500, 2))])
    assert constant.details["models"][2] == 0 and "1 models use no latent" in constant.note


def test_udr_says_what_it_needs(rng):
    z = rng.standard_normal((20, 2))
    with pytest.raises(InputError, match="needs two at least; got 1"):
        scores.udr([z])
    with pytest.raises(InputError, match="same observations from every model; got 20, 10 rows"):
        scores.udr([z, z[:10]])
    with pytest.raises(InputError, match="must be 2 arrays, one a model; got 1"):
        scores.udr([z, z], log_variances=[z])
    with pytest.raises(InputError, match="similarity must be one of"):
        scores.udr([z, z], similarity="pearson")


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_where_no_latent_is_active_nothing_matches(shape):
    assert matching_strength(np.zeros(shape)) == 0
