"""SAP: reference values, twins, shuffling."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis import scores
from geodis.base.check import InputError
from geodis.scores.predictive.sap import squared_correlation
from tests.reference import scores as slow
from tests.scores._golden import NAMES, grid, load, sample

SEEDS = st.integers(0, 2**31)


@pytest.mark.parametrize("name", NAMES)
def test_sap_equals_the_reference(name):
    data = load(name)
    latents, factors = data["latents"], data["factors"]
    scored = scores.sap(latents, factors, continuous=True, shuffle=False)
    np.testing.assert_allclose(scored.matrix, data["sap_cont_matrix"], atol=1e-9)
    assert float(scored) == pytest.approx(float(data["sap_cont"]), abs=1e-9)
    scored = scores.sap(latents, factors, shuffle=False)
    np.testing.assert_allclose(scored.matrix, data["sap_disc_matrix"], atol=3e-3)
    assert float(scored) == pytest.approx(float(data["sap_disc"]), abs=1e-9)


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


@pytest.mark.parametrize("seed", range(3))
def test_a_duplicate_of_a_latent_closes_the_gap(seed):
    latents, factors = sample(seed)
    doubled = np.column_stack([latents, -latents[:, 0]])
    for continuous in (False, True):
        scored = scores.sap(doubled, factors, continuous=continuous, random_state=seed)
        assert scored.per_factor[0] == pytest.approx(0, abs=1e-12)
        assert scored.per_factor[1] > 0.2


def test_rows_are_shuffled_unless_told_otherwise():
    """In a grid, the last rows hold values of the first factor that the first rows never had."""
    factors = grid(sizes=(4, 5, 4), copies=1)
    latents = factors.astype(float)
    sorted_rows = scores.sap(latents, factors, shuffle=False)
    shuffled = scores.sap(latents, factors, random_state=0)
    assert sorted_rows.matrix[0, 0] == 0 and shuffled.matrix[0, 0] > 0.3
    again = scores.sap(latents, factors, random_state=0)
    np.testing.assert_array_equal(shuffled.matrix, again.matrix)


@pytest.mark.parametrize("share", [0, 1, 1.5])
def test_bad_shares_are_refused(share):
    with pytest.raises(InputError, match="train_share must"):
        scores.sap([[0.0], [1.0]], [0, 1], train_share=share)
