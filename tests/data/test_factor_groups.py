"""Factors of several columns."""

import numpy as np
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.scores import bin_factors


def known(**options):
    columns = {"size": [1, 2, 3], "x": [0.0, 1.0, 0.0], "y": [1.0, 0.0, 0.0], "z": [0.0, 0.0, 1.0]}
    return gd.as_factors(columns, **options)


def test_groups_follow_names_rows_and_bins():
    factors = known(groups={"direction": ["x", 2, np.int64(3)]})
    assert dict(factors.groups) == {"direction": ("x", "y", "z")}
    assert factors.take([0, 1]).groups == factors.groups
    assert not factors.are_plain
    renamed = gd.as_factors(factors, names=["a", "b", "c", "d"])
    assert dict(renamed.groups) == {"direction": ("b", "c", "d")}
    assert bin_factors(factors, 2).groups == factors.groups
    assert gd.as_factors(factors, groups={}).groups == {}


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([["x", "y"]], "groups must be a mapping of names to columns; got"),
        ({"direction": "xyz"}, "Group 'direction' must be a sequence of columns; got 'xyz'"),
        ({"direction": []}, "Group 'direction' must have a column; got none"),
        ({"direction": ["x", "w"]}, "must name columns among size, x, y, z, .*; got 'w'"),
        ({"direction": [4]}, "or number them from 0; got 4"),
        ({"direction": [True]}, "got True"),
        ({"a": ["x"], "b": ["y", "x"]}, "in one group, once; got 'x' in 'a' and 'b'"),
        ({"size": ["x", "y"]}, "A group needs a name of its own; got 'size', a column"),
    ],
)
def test_groups_that_cannot_be(groups, message):
    with pytest.raises(InputError, match=message):
        known(groups=groups)
