"""Distance correlation."""

import numpy as np
import pandas
import pytest

from geodis import scores
from geodis.data.grids.grid import FactorGrid


def grid_and_code(seed, sizes=(4, 5, 6), z=7):
    rng = np.random.default_rng(seed)
    grid = FactorGrid(sizes)
    factors = grid.factors(range(len(grid)))
    code = factors @ rng.standard_normal((len(sizes), z))
    return grid, code + 0.5 * rng.standard_normal(code.shape)


def test_what_is_left_out_is_said_once(rng):
    grid = FactorGrid((1, 2, 6, 7), names=("one", "two", "six", "seven"))
    rows = rng.permutation(len(grid))[:75]
    code = rng.standard_normal((len(grid), 3))
    table = pandas.DataFrame(grid.factors(rows), columns=list(grid.names))
    for scored in (
        scores.distance_correlation(code, grid, random_state=0),
        scores.distance_correlation(code[rows], table, random_state=0),
    ):
        assert np.isnan(scored.per_factor).tolist() == [True, True, False, False]
        assert scored.note.count("one value: one.") == scored.note.count("no order: two.") == 1
        assert scored.note.count("Left out") == 2


def test_distance_correlation_has_a_global_value_and_intervals(rng):
    grid, code = grid_and_code(0)
    scored = scores.distance_correlation(code, grid, confidence=0.9, n_pairs=500, random_state=0)
    assert -1 <= scored.details["global"] <= 1
    low, high = scored.details["intervals"]["factor 0"]
    assert low <= scored.per_factor[0] <= high
    lifted = scores.distance_correlation(
        rng.standard_normal(code.shape), grid, self_pairs=True, random_state=0
    )
    assert float(lifted) > 0.3


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("offset", [0.0, 10.0])
def test_a_linear_code_is_perfect_in_any_precision(seed, dtype, offset):
    grid = FactorGrid((8, 8, 8))
    factors = grid.factors(range(512))
    turn = np.random.default_rng(seed).standard_normal((3, 3))
    for matrix in (turn, np.diag([0.1, 0.3, 0.7])):
        code = (offset + factors @ matrix).astype(dtype)
        for kind in ("l1", "l2"):
            score = scores.distance_correlation(code, grid, kind=kind, random_state=0)
            assert float(score) == pytest.approx(1, abs=1e-9)
        table = scores.score_latents(code, factors, ["distance_correlation"], chance=0)
        assert table["distance_correlation"] == pytest.approx(1, abs=1e-9)


def test_an_encoder_in_single_precision_is_compared_in_it():
    images = np.zeros((512, 1, 1, 3))
    factors = FactorGrid((8, 8, 8)).factors(range(512))
    images[:, 0, 0] = factors / 7
    grid = FactorGrid.from_arrays(images, factors)
    turn = np.random.default_rng(0).standard_normal((3, 3)).astype(np.float32)
    score = scores.distance_correlation(lambda x: x[:, 0, 0] @ turn, grid, random_state=0)
    assert float(score) == pytest.approx(1, abs=1e-9)


def test_small_true_differences_are_no_ties():
    """A code bent by a thousandth is not linear, in single precision either."""
    grid = FactorGrid((12,))
    bent = (np.arange(12.0) + 1e-3 * np.arange(12.0) ** 2).astype(np.float32)[:, None]
    assert 0.9 < float(scores.distance_correlation(bent, grid, random_state=0)) < 0.9999
