"""Similarity of representations: literal twins, invariances, and unrelated ones."""

import numpy as np
import pytest
from scipy.spatial import procrustes as disparity
from scipy.spatial.distance import pdist
from scipy.stats import ortho_group, spearmanr

from geodis.base.check import InputError
from geodis.distances import cka, procrustes, rsa


def hsic(k, m):
    """Song et al. 2012, eq. 5, letter by letter."""
    n, ones = len(k), np.ones(len(k))
    k, m = k - np.diag(np.diag(k)), m - np.diag(np.diag(m))
    first = np.trace(k @ m) + (ones @ k @ ones) * (ones @ m @ ones) / ((n - 1) * (n - 2))
    return (first - 2 / (n - 2) * ones @ k @ m @ ones) / (n * (n - 3))


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((60, 4))
    return a, a @ rng.standard_normal((4, 3)) + 0.5 * rng.standard_normal((60, 3))


def test_cka_is_its_formula(pair):
    a, b = (rows - rows.mean(axis=0) for rows in pair)
    k, m = a @ a.T, b @ b.T
    assert cka(*pair) == pytest.approx(hsic(k, m) / np.sqrt(hsic(k, k) * hsic(m, m)))


def test_procrustes_is_one_minus_the_disparity(pair):
    a, b = pair
    padded = np.pad(b, ((0, 0), (0, 1)))
    assert procrustes(a, b) == pytest.approx(1 - disparity(a, padded)[2])


def test_rsa_is_the_rank_correlation_of_all_distances(pair):
    a, b = pair
    assert rsa(a, b) == pytest.approx(spearmanr(pdist(a), pdist(b)).statistic)


@pytest.mark.parametrize("measure", [cka, procrustes, rsa])
def test_rotation_scale_and_place_change_nothing(pair, measure):
    a, b = pair
    turned = 7 * a @ ortho_group.rvs(4, random_state=1) + 3
    assert measure(a, turned) == pytest.approx(1)
    assert measure(turned, b) == pytest.approx(measure(a, b))
    assert measure(a, b) == pytest.approx(measure(b, a))


@pytest.mark.parametrize("seed", range(5))
def test_unrelated_ones_are_near_what_is_said(seed):
    a, b = np.random.default_rng(seed).standard_normal((2, 500, 6))
    assert abs(cka(a, b)) < 0.02 and abs(rsa(a, b)) < 0.05 and procrustes(a, b) < 0.06


def test_rows_must_be_the_same():
    with pytest.raises(InputError, match="the same rows, at least 4; got 5 and 6"):
        cka(np.zeros((5, 2)), np.zeros((6, 2)))
    with pytest.raises(InputError, match=r"b must have shape \(n, columns\)"):
        rsa(np.zeros((5, 2)), np.zeros(5))
