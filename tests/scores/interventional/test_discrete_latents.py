"""Gini's variance, and votes of discrete latents."""

import numpy as np
import pytest

from geodis import scores
from geodis.base.check import InputError
from geodis.scores.interventional.factor_vae import gini_variances, merge_discrete
from tests.scores.interventional.conftest import SMALL


def test_ginis_variance_is_the_double_sum(rng):
    codes, rows = rng.integers(4, size=50), rng.integers(50, size=(30, 9))
    for row, found in zip(rows, gini_variances(codes, rows), strict=True):
        unequal = sum(codes[i] != codes[j] for i in row for j in row)
        assert found == pytest.approx(unequal / (2 * 9 * 8))
    # Of two values 0 and 1 it is the variance.
    two = codes % 2
    np.testing.assert_allclose(gini_variances(two, rows), two[rows].var(axis=1, ddof=1))


def test_many_values_are_counted_in_parts(rng, monkeypatch):
    codes, rows = rng.integers(40, size=500), rng.integers(500, size=(23, 60))
    whole = gini_variances(codes, rows)
    monkeypatch.setattr("geodis.scores.interventional.factor_vae.CELLS", 100)
    np.testing.assert_array_equal(gini_variances(codes, rows), whole)


def coded(seed=0, n=3000):
    """A categorical factor whose labels have no order, a number, and probabilities of the first."""
    rng = np.random.default_rng(seed)
    factors = np.column_stack([rng.integers(5, size=n), rng.integers(4, size=n)])
    sharp = 4 * np.eye(5)[factors[:, 0]] + 0.5 * rng.standard_normal((n, 5))
    probabilities = np.exp(sharp) / np.exp(sharp).sum(axis=1, keepdims=True)
    return factors, factors[:, 1] + 0.3 * rng.standard_normal(n), probabilities


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_category_is_one_latent(seed):
    factors, number, probabilities = coded(seed)
    latents = np.column_stack([probabilities, number])
    score = scores.factor_vae(latents, factors, discrete=[range(5)], random_state=seed, **SMALL)
    assert float(score) == 1.0 and score.matrix.shape == (2, 2)
    assert score.details["classifier"].tolist() == [0, 1]


def test_a_column_of_labels_has_no_order(rng):
    factors, number, _ = coded()
    # Labels of the first factor: 4 of 5 times the same, else anything far away.
    label = np.where(rng.random(3000) < 0.8, factors[:, 0], rng.integers(5, size=3000))
    far = np.array([0, 1, 2, 3, 10_000])[label]
    options = {"discrete": [0], "random_state": 0, **SMALL}
    named, renamed = (
        scores.factor_vae(np.column_stack([each, number]), factors, **options)
        for each in (label, far)
    )
    np.testing.assert_array_equal(named.matrix, renamed.matrix)
    assert float(named) > 0.95


def test_a_category_that_says_nothing_is_left_out(rng):
    factors, number, _ = coded()
    even = np.full((3000, 3), 1 / 3) + 0.001 * rng.standard_normal((3000, 3))
    latents = np.column_stack([number, even, np.full(3000, 2.0)])
    score = scores.factor_vae(latents, factors, discrete=[[1, 2, 3], 4], random_state=0, **SMALL)
    assert score.details["active"].tolist() == [True, False, False]
    assert "2 of 3 latents collapsed" in score.note


def test_without_discrete_latents_nothing_changes():
    factors, number, probabilities = coded()
    latents = np.column_stack([probabilities, number])
    one = scores.factor_vae(latents, factors, random_state=0, **SMALL)
    two = scores.factor_vae(latents, factors, discrete=[], random_state=0, **SMALL)
    assert float(one) == float(two) and one.matrix.shape == (6, 2)


@pytest.mark.parametrize(
    ("discrete", "message"),
    [
        ([0, 0], "name every latent once"),
        ([[0, 1], 1], "name every latent once"),
        ([[]], "name every latent once"),
        ([3], "A discrete latent must be between 0 and 2; got 3"),
    ],
)
def test_bad_groups(discrete, message):
    with pytest.raises(InputError, match=message):
        merge_discrete(np.zeros((4, 3)), discrete)
