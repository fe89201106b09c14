"""T-MEX: exclusive measurements of dependent factors, and what is not."""

import numpy as np
import pytest

import geodis as gd
from geodis import scores
from geodis.base.check import InputError


def chained(seed, n=1200):
    """Three factors, each half of the next."""
    rng = np.random.default_rng(seed)
    first = rng.standard_normal(n)
    second = 0.7 * first + 0.7 * rng.standard_normal(n)
    third = 0.7 * second + 0.7 * rng.standard_normal(n)
    return np.column_stack([first, second, third])


def test_exclusive_measurements_of_dependent_factors():
    wrong = 0
    for seed in range(10):
        factors = chained(seed)
        rng = np.random.default_rng(seed)
        code = np.tanh(factors[:, [2, 0, 1]]) + 0.1 * rng.standard_normal(factors.shape)
        score = scores.t_mex(code, factors, random_state=seed)
        assert score.details["missing"] == 0
        assert score.details["matched"].tolist() == [1, 2, 0]
        wrong += score.details["hamming"]
    assert wrong <= 10  # of 60 tests at the level of one in twenty, and some luck


def test_what_leaks_and_what_is_missing_is_counted():
    factors = chained(0)
    rng = np.random.default_rng(0)
    leaking = factors + 0.1 * rng.standard_normal(factors.shape)
    leaking[:, 0] += 0.5 * factors[:, 2]
    score = scores.t_mex(leaking, factors, random_state=0)
    assert score.matrix[0, 2] < 1e-6 and score.details["unwanted"] >= 1 / 6
    noise = scores.t_mex(rng.standard_normal((1200, 3)), factors, random_state=0)
    assert noise.details["missing"] >= 2 / 3 and float(noise) > 0.3
    table = gd.score_latents(leaking, factors, ["t_mex"], verbose=False)
    assert table.frame.loc["t_mex", "better"] == "lower"
    assert table["t_mex"] < table.frame.loc["t_mex", "chance"]


def test_groups_and_factors_of_several_columns():
    rng = np.random.default_rng(0)
    angle, size = rng.uniform(0, 360, 1500), rng.standard_normal(1500)
    factors = gd.as_factors({"angle": angle, "size": size}, periods={"angle": 360.0})
    turn = np.deg2rad(angle)
    code = np.column_stack([size, np.cos(turn), np.sin(turn)])
    code += 0.1 * rng.standard_normal(code.shape)
    score = scores.t_mex(code, factors, groups=[[1, 2], [0]], random_state=0)
    assert float(score) == 0 and score.matrix.shape == (2, 2)
    with pytest.raises(InputError, match="needs at least 20 rows with values; got 10"):
        scores.t_mex(code[:10], factors.take(slice(10)))
