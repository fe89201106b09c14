"""The ends of maps: where they are, and that the rows there differ little otherwise."""

import numpy as np
import pytest

from geodis.plots.geometry.shown_rows import map_ends, moved_elsewhere


def flat(rng, kind, n=3000):
    x, y = rng.uniform(-1, 1, (2, n))
    if kind == "line":
        y = 0.1 * y
    elif kind == "circle":
        x, y = np.cos(np.pi * x), np.sin(np.pi * x)
    elif kind == "disc":
        x, y = np.sqrt(np.abs(x)) * [np.cos(np.pi * y), np.sin(np.pi * y)]
    elif kind == "strip":
        y = 0.4 * y
    return np.column_stack([x, y, 0 * x])


EXPECTED = {
    "line": ["left", "right"],
    "circle": ["left", "right", "bottom", "top"],
    "disc": ["left", "right", "bottom", "top"],
    "square": ["top left", "top right", "bottom left", "bottom right"],
    "strip": ["top left", "top right", "bottom left", "bottom right"],
}
WAYS = {"left": (-1, 0), "right": (1, 0), "bottom": (0, -1), "top": (0, 1)}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", EXPECTED)
def test_a_flat_map_ends_at_its_corners_or_its_sides(kind, seed):
    rng = np.random.default_rng(seed)
    own, other = flat(rng, kind), flat(rng, "square")
    ends, _ = map_ends([own, other], [False, False], np.arange(len(own)))
    assert [name for name, _ in ends] == EXPECTED[kind]
    for name, row in ends:
        way = np.sum([WAYS[word] for word in name.split()], axis=0)
        reach = (own[:, :2] @ way).max()
        assert own[row, :2] @ way > reach - 0.4  # the nearer of those that are close


def test_a_globe_ends_at_both_ends_of_three_axes_and_the_others_stay():
    rng = np.random.default_rng(0)
    globe = rng.standard_normal((4000, 3))
    globe /= np.linalg.norm(globe, axis=1, keepdims=True)
    other = flat(rng, "square", 4000)
    ends, _ = map_ends([globe, other], [True, False], np.arange(4000))
    rows = [row for _, row in ends]
    assert len(set(rows)) == 6
    assert np.abs(globe[rows]).max(axis=1).min() > 0.9
    moved, _ = moved_elsewhere([globe, other])
    assert moved[rows].max() < np.quantile(moved, 0.2)


def test_rows_that_cannot_be_used_are_no_ends():
    line = np.column_stack([np.linspace(-1, 1, 50), np.zeros((50, 2))])
    usable = np.arange(10, 40)
    (ends,) = map_ends([line], [False], usable)
    assert {row for _, row in ends} <= set(usable.tolist())
