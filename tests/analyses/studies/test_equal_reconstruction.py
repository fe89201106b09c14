"""Models compared where they reconstruct alike: known answers and what does not change them."""

import numpy as np
import pandas as pd
import pytest

from analyses.shared.studies.equal_reconstruction import gain_at_equal, gains_by_seed

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
