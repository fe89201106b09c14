"""Mutual information between columns, from counts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis.scores.information.estimates import corrected_information, discrete_information, entropy
from tests.reference import scores as slow

CODES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=25)


@settings(deadline=None, max_examples=50)
@given(CODES)
def test_counts_equal_their_literal_twins(pairs):
    a, b = np.array(pairs).T
    information = discrete_information(a[:, None], b[:, None])[0, 0]
    assert information == pytest.approx(slow.information(a.tolist(), b.tolist()), abs=1e-12)
    corrected, entropies = corrected_information(a[:, None], b[:, None])
    expected = slow.corrected(a.tolist(), b.tolist())
    assert (corrected[0, 0], entropies[0]) == pytest.approx(expected, abs=1e-12)


@settings(deadline=None, max_examples=50)
@given(CODES)
def test_information_is_symmetric_bounded_and_exact_for_constants(pairs):
    codes = np.array(pairs)
    matrix, entropies = discrete_information(codes, codes), entropy(codes)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    np.testing.assert_allclose(matrix.diagonal(), entropies, atol=1e-12)
    assert (matrix <= np.minimum.outer(entropies, entropies) + 1e-12).all()
    assert not discrete_information(0 * codes, codes).any()


@pytest.mark.parametrize("seed", range(3))
def test_correction_takes_off_what_chance_shows(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 20, (1000, 8)), rng.integers(0, 6, (1000, 8))
    counted = discrete_information(a, b).mean()
    assert counted > 0.04 and corrected_information(a, b)[0].mean() < counted / 4
    information, entropies = corrected_information(b[:, :1], b[:, :1])
    assert information[0, 0] == pytest.approx(entropies[0], abs=1e-12)
