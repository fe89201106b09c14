"""The entangling map: what theorem 1 of Locatello et al. (2019) and its proof say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from geodis.base.check import InputError
from geodis.data.entangling import entangle, entangling_matrix

DRAWS = {
    "uniform": lambda rng, n, d: rng.uniform(size=(n, d)),
    "normal": lambda rng, n, d: rng.standard_normal((n, d)),
    "empirical": lambda rng, n, d: rng.exponential(size=(n, d)),
}


@given(d=st.integers(2, 9), alpha=st.floats(0.01, 0.49))
def test_the_matrix_is_orthogonal_and_has_no_zero(d, alpha):
    matrix = entangling_matrix(d, alpha)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(d), atol=1e-12)
    assert (np.abs(matrix) > 1e-6).all()


@pytest.mark.parametrize("kind", DRAWS)
def test_every_output_depends_on_every_input_and_the_distribution_stays(kind):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        points = DRAWS[kind](rng, 4000, 3)
        mixed = entangle(points, kind)
        for before, after in zip(points.T, mixed.T, strict=True):
            assert stats.kstest(before, after).pvalue > 1e-3
        # Independent again, and each output follows each input.
        rank = np.abs(stats.spearmanr(np.column_stack([points, mixed])).statistic)
        assert rank[3:, 3:][~np.eye(3, dtype=bool)].max() < 0.06
        assert rank[3:, :3].min() > 0.2


def test_partial_derivatives_do_not_vanish(rng):
    laws = [stats.expon(), stats.uniform(-1, 2), stats.norm(3, 2)]
    points = np.column_stack([law.rvs(20, random_state=rng) for law in laws])
    step = 1e-6
    for j in range(3):
        moved = points.copy()
        moved[:, j] += step
        slope = (entangle(moved, laws) - entangle(points, laws)) / step
        assert (np.abs(slope) > 1e-6).all()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), d=st.integers(2, 5), alpha=st.floats(0.05, 0.45))
def test_the_map_is_its_own_inverse(seed, d, alpha):
    rng = np.random.default_rng(seed)
    laws = [stats.expon(), stats.uniform(-1, 2), stats.norm(3, 2), stats.gamma(3), stats.t(5)][:d]
    points = np.column_stack([law.rvs(50, random_state=rng) for law in laws])
    there = entangle(points, laws, alpha=alpha)
    np.testing.assert_allclose(entangle(there, laws, alpha=alpha), points, rtol=1e-6, atol=1e-6)
    assert not np.allclose(there, points, atol=0.1)


def test_empirical_marginals_are_kept_to_the_last_digit(rng):
    points = rng.integers(5, size=(300, 3)).astype(float)
    mixed = entangle(points)
    np.testing.assert_array_equal(np.sort(mixed, axis=0), np.sort(points, axis=0))


def test_given_distributions_agree_with_their_names(rng):
    points = rng.uniform(size=(100, 2))
    same = entangle(points, [stats.uniform(), stats.uniform()])
    np.testing.assert_allclose(same, entangle(points, "uniform"), atol=1e-12)
    normal = rng.standard_normal((100, 2))
    same = entangle(normal, [stats.norm(), stats.norm()])
    np.testing.assert_allclose(same, entangle(normal, "normal"), atol=1e-6)


def test_a_mixing_of_ones_own(rng):
    points = rng.standard_normal((50, 3))
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    np.testing.assert_allclose(entangle(points, "normal", mixing=turn), points @ turn.T)
    with pytest.raises(InputError, match="which is not orthogonal"):
        entangle(points, "normal", mixing=np.ones((3, 3)))
    with pytest.raises(InputError, match=r"shape \(3, 3\); got shape \(2, 2\)"):
        entangle(points, "normal", mixing=np.eye(2))


def test_bad_input_is_refused(rng):
    points = rng.uniform(size=(10, 2))
    with pytest.raises(InputError, match="minimum of 2 is required"):
        entangle(points[:, :1])
    with pytest.raises(InputError, match="alpha must be strictly between 0 and"):
        entangle(points, alpha=0.5)
    with pytest.raises(InputError, match=r"needs coordinates in \[0, 1\]"):
        entangle(points * 2, "uniform")
    with pytest.raises(InputError, match="2 distributions with cdf and ppf"):
        entangle(points, [stats.norm()])
    with pytest.raises(InputError, match="marginals must be one of"):
        entangle(points, "cauchy")
