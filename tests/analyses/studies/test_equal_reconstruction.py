"""Models compared where they reconstruct alike: known answers and what does not change them."""

import numpy as np
import pandas as pd
import pytest

from analyses.shared.studies.equal_reconstruction import (
    curve_gains_by_seed,
    gain_at_equal,
    gain_both_ways,
    gains_by_seed,
)

CURVE = (np.array([-40.0, -20.0, -10.0]), np.array([0.6, 0.5, 0.1]))


def test_a_curve_gains_nothing_on_itself_and_a_shift_on_a_shifted_one():
    assert gain_at_equal(CURVE, CURVE) == 0
    assert gain_at_equal(CURVE, (CURVE[0], CURVE[1] + 0.2)) == pytest.approx(0.2)


def test_the_order_of_strengths_does_not_matter_and_what_is_beyond_is_left_out():
    turned = (CURVE[0][::-1], CURVE[1][::-1])
    own = ([-30.0, -15.0, -5.0], [0.55, 0.9, 9.0])  # the last reconstructs better than any
    assert gain_at_equal(CURVE, own) == gain_at_equal(turned, own) == pytest.approx(0.3)
    assert np.isnan(gain_at_equal(CURVE, ([0.0], [1.0])))


def test_seeds_are_compared_with_their_own_reference():
    rows = pd.DataFrame(
        [
            {"name": name, "seed": seed, "x": x, "y": y + seed}
            for seed in (0, 1)
            for name, x, y in [("old", 0.0, 0.0), ("old", 2.0, 2.0), ("new", 1.0, 1.5)]
        ]
        + [{"name": "new", "seed": 2, "x": 1.0, "y": 0.0}]  # nothing to compare it with
    )
    assert gains_by_seed(rows, "new", "old", "x", "y") == {0: 0.5, 1: 0.5}


def test_both_ways_turned_round_are_the_opposite_and_count_every_point(rng):
    for _ in range(20):
        one, other = (
            (rng.uniform(-40, -10, size), rng.uniform(0, 1, size)) for size in rng.integers(3, 9, 2)
        )
        ahead, back = gain_both_ways(one, other, 12.0), gain_both_ways(other, one, 12.0)
        assert ahead.gain == pytest.approx(-back.gain, nan_ok=True)
        assert ahead.compared == back.compared
        assert ahead.compared + ahead.left_out == len(one[0]) + len(other[0])


def test_a_shifted_curve_gains_its_shift_both_ways_and_nothing_is_joined_over_wide_gaps():
    shifted = (CURVE[0] + 1, CURVE[1] + 0.2)
    assert gain_both_ways(CURVE, (CURVE[0], CURVE[1] + 0.2)).gain == pytest.approx(0.2)
    found = gain_both_ways(CURVE, shifted, widest=10.0)
    assert (found.compared, found.left_out) == (2, 4)  # -19 on the one, -10 on the other
    slope = (0.5 - 0.1) / 10
    assert found.gain == pytest.approx(0.2 + slope)
    # Where points coincide nothing is joined, however far apart their neighbours are.
    assert gain_both_ways(CURVE, CURVE, widest=0.0).compared == 6


def test_seeds_of_other_strengths_are_another_question():
    rows = pd.DataFrame(
        [
            {"name": name, "seed": seed, "beta": beta, "x": -beta, "y": 0.1 * (name == "new")}
            for seed, betas in ((0, (1, 2, 3)), (1, (1, 3)), (2, (1, 2, 3)))
            for name in ("old", "new")
            for beta in betas
            if (seed, name, beta) != (2, "old", 2)
        ]
    )
    for strengths, seeds in (((1, 2, 3), [0]), ((1, 3), [1])):
        found = curve_gains_by_seed(rows, "new", "old", "x", "y", strengths)
        assert list(found) == seeds
        assert [one.gain for one in found.values()] == pytest.approx([0.1])
