"""Latents on a scale that leaves room for squares."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from geodis.scores.inputs import of_order_one


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=9))
def test_powers_of_two_lose_nothing(values):
    column = np.array(values)[:, None]
    scaled = of_order_one(column)
    largest = np.abs(column).max()
    assert np.abs(scaled).max() <= 1 and (largest == 0 or np.abs(scaled).max() >= 0.5)
    if largest > 0:
        kept = np.abs(column) > largest * 1e-250  # smaller ones may be denormal
        ratio = (scaled[kept] / np.abs(scaled).max()).ravel()
        np.testing.assert_array_equal(ratio, (column[kept] / largest).ravel())
