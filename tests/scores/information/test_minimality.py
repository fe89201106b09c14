"""Minimality and sufficiency, where factors depend on each other."""

import numpy as np
import pytest

from geodis import scores


def dependent(seed=0, n=4000):
    """Two factors that agree in seven of ten rows."""
    rng = np.random.default_rng(seed)
    first = rng.integers(5, size=n)
    second = np.where(rng.random(n) < 0.7, first, rng.integers(5, size=n))
    return np.column_stack([first, second])


def test_a_perfect_code_of_dependent_factors_scores_one_where_gaps_cannot():
    factors = dependent()
    code = factors[:, ::-1] * 2.0
    assert float(scores.minimality(code, factors)) == pytest.approx(1)
    assert float(scores.sufficiency(code, factors)) == pytest.approx(1)
    assert float(scores.mig(code, factors)) < 0.7


def test_each_sees_its_own_fault():
    factors = dependent()
    rng = np.random.default_rng(1)
    noisy = np.column_stack([factors[:, 0] + 5.0 * rng.integers(4, size=4000), factors[:, 1]])
    fine = scores.minimality(noisy, factors, bins=40)
    assert fine.per_latent[0] == pytest.approx(np.log(5) / np.log(20), abs=0.01)
    assert scores.sufficiency(noisy, factors, bins=40).per_factor[0] == pytest.approx(1)
    coarse = np.column_stack([factors[:, 0] // 2, factors[:, 1]]).astype(float)
    assert scores.minimality(coarse, factors).per_latent[0] == pytest.approx(1)
    assert scores.sufficiency(coarse, factors).per_factor[0] < 0.7


def test_constant_latents_and_noise():
    factors = dependent()
    rng = np.random.default_rng(2)
    code = np.column_stack([factors, np.full(4000, 2.0)])
    score = scores.minimality(code, factors)
    assert np.isnan(score.per_latent[2]) and float(score) == pytest.approx(1)
    assert score.note == "constant latents left out: 1"
    noise = rng.standard_normal((4000, 3))
    assert float(scores.minimality(noise, factors)) < 0.02
    assert float(scores.sufficiency(noise, factors)) < 0.02
    assert float(scores.minimality(np.zeros((4000, 1)), factors)) == 0
