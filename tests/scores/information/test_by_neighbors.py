"""Mutual information between columns, from nearest neighbours."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis.scores.information.estimates import class_information, continuous_information, jittered
from tests.reference import scores as slow


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 4))
def test_neighbours_equal_their_literal_twins(seed, k):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, 30)
    x = jittered(codes + rng.standard_normal(30).round(1), rng.standard_normal(30))
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
