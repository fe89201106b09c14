"""FactorVAE score: reference values, defects of the peers, collapsed latents."""

import numpy as np
import pytest

from geodis import scores
from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid
from geodis.scores.inputs import active_latents
from geodis.scores.interventional import factor_vae
from geodis.scores.interventional import fixed_factor as fixed_source
from tests.reference import intervention_and_unsupervised as slow
from tests.scores.interventional.conftest import EXPECTED, SMALL, sample


def replay(golden):
    data, book, (n_train, n_eval, size) = golden
    random = np.random.RandomState(int(data["seed"]))
    typical = book.rows(book.draw(int(data["num_variance_estimate"]), random))
    variances = book.codebook[typical].var(axis=0, ddof=1)
    parts = [slow.factor_vae_draws(book, count, size, random) for count in (n_train, n_eval)]
    return variances, np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def test_votes_and_their_accuracy_equal_the_reference(golden):
    data, book, (n_train, _, _) = golden
    variances, labels, rows = replay(golden)
    np.testing.assert_allclose(variances, data["factorvae_global_variances"], rtol=1e-9)
    active = active_latents(book.codebook)
    np.testing.assert_array_equal(active, data["factorvae_active_dims_pruned05"])
    votes = factor_vae.vote(book.codebook, rows, variances, active)
    source = fixed_source.open_source(book.codebook, FactorGrid(book.sizes), "factor_vae")
    score = factor_vae.majority_score(source, votes, labels, n_train, active)
    # The reference counts the kept latents only, from 0.
    for votes_of_part, key in ((score.matrix, "train"), (score.details["eval_votes"], "eval")):
        expected = np.zeros_like(votes_of_part)
        expected[active] = data[f"factorvae_{key}_votes_pruned05"][:, : active.sum()].T
        np.testing.assert_array_equal(votes_of_part, expected)
    assert float(score) == pytest.approx(float(data["factorvae_eval_accuracy_pruned05"]), abs=1e-9)
    train = float(data["factorvae_train_accuracy_pruned05"])
    assert score.details["train_accuracy"] == pytest.approx(train, abs=1e-9)


def test_votes_equal_the_twin(golden):
    _, book, _ = golden
    variances, labels, rows = replay(golden)
    labels, rows = labels[:300], rows[:300]
    active = active_latents(book.codebook)
    shape = (book.codebook.shape[1], len(book.sizes))
    counted = factor_vae.count_votes(
        factor_vae.vote(book.codebook, rows, variances, active), labels, shape
    )
    expected = slow.factor_vae_votes(book.codebook, labels, rows, variances, shape[1], active)
    np.testing.assert_array_equal(counted.T, expected)


def test_constant_latents_do_not_take_every_vote():
    """The peer keeps latents of variance 0, whose ratio is NaN, and argmin names the first NaN."""
    with np.load(EXPECTED / "betavae_factorvae_s4.npz", allow_pickle=False) as file:
        book, sizes, peer = file["codebook"], file["factor_sizes"], file["factorvae_eval_accuracy"]
    assert float(peer) < 0.4
    for seed in range(3):
        score = scores.factor_vae(book, FactorGrid(sizes), random_state=seed, **SMALL)
        assert float(score) == 1.0
        assert score.details["active"].sum() == 3 and "3 of 6 latents collapsed" in score.note


def test_factor_vae_ignores_the_scale_of_a_latent():
    factors, rng = sample(3)
    latents = factors + rng.standard_normal(factors.shape)
    plain = scores.factor_vae(latents, factors, random_state=0, **SMALL)
    scaled = scores.factor_vae(latents * [1e-6, 1, 1e6], factors, random_state=0, **SMALL)
    assert float(plain) == float(scaled)


def test_collapse_to_the_prior_is_seen_in_the_variances():
    factors, rng = sample(0)
    latents = np.column_stack([factors - 1.5, 1e-3 * rng.standard_normal((600, 2))])
    log_variances = np.full(latents.shape, -4.0)
    log_variances[:, 3:] = 0
    score = scores.factor_vae(
        latents, factors, log_variances=log_variances, random_state=0, **SMALL
    )
    assert score.details["active"].tolist() == [True] * 3 + [False] * 2
    by_std = scores.factor_vae(latents, factors, min_std=0.05, random_state=0, **SMALL)
    assert by_std.details["active"].tolist() == [True] * 3 + [False] * 2
    with pytest.raises(InputError, match=r"shape of the latents, \(600, 5\)"):
        scores.factor_vae(latents, factors, log_variances=log_variances[:5])


def test_a_batch_needs_two_rows_to_vary():
    factors, _ = sample(0)
    with pytest.raises(InputError, match="batch_size must be at least 2"):
        scores.factor_vae(factors * 1.0, factors, batch_size=1)


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_proportional_latents_changes_nothing(seed):
    """Two latents of one factor tie in every batch, up to rounding."""
    factors = np.random.default_rng(seed).integers(4, size=(200, 2))
    latents = factors[:, :1] * [0.3, 1.7, 0.9]
    values = {
        float(scores.factor_vae(latents[:, order], factors, random_state=0))
        for order in ([0, 1, 2], [1, 0, 2], [2, 1, 0], [2, 0, 1])
    }
    assert len(values) == 1 and values.pop() < 0.7
