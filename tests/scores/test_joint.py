"""Mutual information between columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis.scores._joint import (
    class_information,
    continuous_information,
    corrected_information,
    discrete_information,
    entropy,
    without_ties,
)
from tests import reference_scores as slow

CODES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=25)


@settings(deadline=None, max_examples=50)
@given(CODES)
def test_counts_equal_their_literal_twins(pairs):
    a, b = np.array(pairs).T
    found = discrete_information(a[:, None], b[:, None])[0, 0]
    assert found == pytest.approx(slow.information(a.tolist(), b.tolist()), abs=1e-12)
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


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 4))
def test_neighbours_equal_their_literal_twins(seed, k):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, 30)
    x = without_ties(codes + rng.standard_normal(30).round(1), rng)
    assert class_information(x, codes, k) == pytest.approx(
        slow.class_information(x, codes.tolist(), k), abs=1e-12
    )
    u, v = rng.standard_normal((2, 30))
    u, v = ((w - w.mean()) / w.std() for w in (u, u + v))  # as the function scales them
    assert continuous_information(u, v, k) == pytest.approx(
        slow.continuous_information(u, v, k), abs=1e-12
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_neighbours_find_the_information_of_a_gaussian(correlation, seed):
    x, noise = np.random.default_rng(seed).standard_normal((2, 4000))
    y = correlation * x + np.sqrt(1 - correlation**2) * noise
    expected = -0.5 * np.log(1 - correlation**2)
    assert continuous_information(x, 100 * y) == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_neighbours_find_the_information_of_shifted_classes(seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, 4000)
    overlapping = codes // 2 + rng.uniform(size=4000)  # tells two of four classes apart exactly
    assert class_information(overlapping, codes) == pytest.approx(np.log(2), abs=0.05)
    alone = codes.copy()
    alone[0] = 9  # a class of one row has no neighbours
    assert class_information(overlapping, alone) == pytest.approx(np.log(2), abs=0.05)


def test_nothing_to_learn_from_gives_zero():
    assert class_information(np.array([0.0, 1.0]), np.array([0, 1])) == 0
