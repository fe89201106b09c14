"""Factors of any shape as blocks of numbers."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import geodis as gd
from geodis.base.check import InputError
from geodis.scores.groups import factor_blocks, varying_blocks


def test_every_kind_and_the_order_of_factors():
    factors = gd.as_factors(
        {
            "x": [0.0, 1.0, 2.0, 3.0],
            "shape": ["box", "dot", "line", "dot"],
            "y": [0.0, 0.0, 2.0, 2.0],
            "angle": [0.0, 90.0, 180.0, 270.0],
        },
        periods={"angle": 360.0},
        groups={"place": ["x", "y"]},
    )
    blocks = factor_blocks(factors)
    assert [block.name for block in blocks] == ["place", "shape", "angle"]
    assert [block.columns for block in blocks] == [(0, 2), (1,), (3,)]
    assert [block.numeric for block in blocks] == [True, False, True]
    assert [block.cyclic for block in blocks] == [False, False, True]
    for block in blocks:
        assert np.allclose(block.values.mean(axis=0), 0)
        assert (block.values**2).sum(axis=1).mean() == pytest.approx(1)
    place, shape, angle = (block.values for block in blocks)
    # The columns of a factor keep their unit, labels are all as far apart, angles go round.
    raw = np.column_stack([[0.0, 1.0, 2.0, 3.0], [0.0, 0.0, 2.0, 2.0]])
    assert np.ptp(pdist(place) / pdist(raw)) < 1e-12
    distances = pdist(shape)[[0, 1, 3, 5]]
    assert np.ptp(distances) < 1e-12 and pdist(shape)[4] == 0
    assert np.linalg.norm(angle[0] - angle[1]) == pytest.approx(np.linalg.norm(angle[0] - angle[3]))


def test_values_of_any_size_and_constants():
    blocks = factor_blocks(np.array([[1e300, 0.1, 1e-300], [2e300, 0.1, 2e-300]]))
    assert [block.varies for block in blocks] == [True, False, True]
    assert np.allclose(np.abs(blocks[0].values), 1) and np.allclose(np.abs(blocks[2].values), 1)
    _, varying = varying_blocks(np.array([[1, 2], [1, 3]]), 2)
    assert varying.kept.tolist() == [1] and varying.note == "left out, with one value: factor 0"
    with pytest.raises(InputError, match="needs a factor with at least two values; got 1 with one"):
        varying_blocks([3, 3], 2)
    with pytest.raises(InputError, match="must have as many rows; got 3 and 2"):
        varying_blocks([3, 4], 3)
