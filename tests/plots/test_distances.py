"""Figures of distances show what they were given."""

import numpy as np
import pytest

from geodis import plots
from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid
from geodis.data.grids.squares import XYSquares
from geodis.distances import distance_correlations, factor_importance


def test_every_matrix_has_a_panel_with_its_largest_distance():
    steps = np.abs(np.subtract.outer(range(3), range(3)))
    first = plots.plot_traversal_matrices(
        {"ground truth": {"x": steps, "y": 2 * steps}, "perceived": {"x": 0 * steps}}, "Title"
    )
    shown = [axis for axis in first.figure.axes if axis.get_visible()]
    assert [axis.get_title() for axis in shown] == ["x", "y", ""]
    assert [axis.get_xlabel() for axis in shown] == ["up to 2", "up to 4", "up to 0"]
    assert [axis.get_ylabel() for axis in shown] == ["ground truth", "", "perceived"]
    np.testing.assert_array_equal(shown[1].images[0].get_array(), 2 * steps)


def test_what_no_traversal_has_is_hatched_and_does_not_look_like_zero():
    axis = plots.plot_traversal_matrices({"perceived": {"x": np.array([[0, np.nan], [2, 0]])}})
    assert axis.patch.get_hatch() and axis.get_xlabel() == "up to 2"
    drawn = axis.images[0].make_image(None, unsampled=True)[0]
    assert drawn[0, 0, 3] == 255 and drawn[0, 1, 3] == 0


def test_distributions_end_at_one_and_start_at_the_least_distance():
    found = factor_importance(XYSquares(4), n_pairs=200, random_state=0)
    axis = plots.plot_distance_distribution(found)
    assert [line.get_label() for line in axis.lines] == [
        "any two" if name == "random" else name
        for name in sorted(found.names, key=lambda name: name == "random")
    ]
    for line in axis.lines:
        name = line.get_label().replace("any two", "random")
        x, y = line.get_data()
        assert (x[0], y[0], y[-1]) == (found.distances[name][0], 0, 1)
        assert x[-2] == found.distances[name][-1] and x[-1] == axis.get_xlim()[1]
        assert (np.diff(x) >= 0).all() and (np.diff(y[:-1]) > 0).all()


def test_factors_with_the_same_distribution_share_a_curve():
    found = factor_importance(XYSquares(8), n_pairs=50, random_state=0)
    axis = plots.plot_distance_distribution(found)
    labels = [line.get_label().replace("\n", " ") for line in axis.lines]
    assert sorted(labels[0].split(", ")) == sorted(XYSquares().names) and labels[1:] == ["any two"]


@pytest.mark.parametrize("confidence", [None, 0.9])
def test_correlations_have_a_filled_and_a_hollow_point(confidence):
    grid = FactorGrid((4, 5), names=("a", "b"))
    code = grid.factors(range(20)) ** 2.0
    found = distance_correlations(grid, code, confidence=confidence, random_state=0)
    axis = plots.plot_distance_correlations(found)
    hollow, filled = axis.lines[:2]
    key = ("ground truth", "latent")
    items = [found.random[key], *(row[key] for row in found.factors.values())]
    assert list(filled.get_xdata()) == [item.spearman for item in items]
    assert list(hollow.get_xdata()) == [item.pearson for item in items]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["any two", "a", "b"]
    assert len(axis.lines) == 3 + 3 * (confidence is not None)


def test_published_points_are_crosses_on_their_lines():
    axis = plots.plot_correlation_by_spacing(
        {"mse": {1: 1.0, 8: 0.5}, "own": {1: 0.9, 8: 0.4}}, {"mse": {8: 0.52}}
    )
    labels = [line.get_label() for line in axis.lines]
    assert labels[0] == "mse" and labels[-2:] == ["own", "published"]
    assert list(axis.lines[1].get_xdata()) == [8]


def test_no_matrices_are_told():
    with pytest.raises(InputError, match="none came"):
        plots.plot_traversal_matrices({"perceived": {}})
