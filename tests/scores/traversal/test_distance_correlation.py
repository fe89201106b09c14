"""Distance correlation."""

import numpy as np
import pandas

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
