"""Figures of distances show what they were given."""

import numpy as np
import pytest

from geodis import plots
from geodis.base.check import InputError
from geodis.data.grids.squares import XYSquares
from geodis.distances import factor_importance


def test_every_matrix_has_a_panel_with_its_largest_distance():
    steps = np.abs(np.subtract.outer(range(3), range(3)))
    first = plots.plot_traversal_matrices(
        {"ground truth": {"x": steps, "y": 2 * steps}, "perceived": {"x": 0 * steps}}, "Title"
    )
    shown = first.figure.axes
    assert [axis.get_title() for axis in shown] == ["x", "y", ""]
    assert [axis.get_xlabel() for axis in shown] == ["up to 2", "up to 4", "up to 0"]
    assert [axis.get_ylabel() for axis in shown] == ["ground truth", "", "perceived"]
    np.testing.assert_array_equal(shown[1].collections[0].get_array(), 2 * steps.ravel())


def test_what_no_traversal_has_is_hatched_and_does_not_look_like_zero():
    axis = plots.plot_traversal_matrices({"perceived": {"x": np.array([[0, np.nan], [2, 0]])}})
    cells, gaps = axis.collections
    assert axis.get_xlabel() == "up to 2" and gaps.get_hatch() and not cells.get_hatch()
    assert len(cells.get_array()) == 3 and len(gaps.get_paths()) == 1
    assert gaps.get_paths()[0].get_extents().bounds == (0.5, -0.5, 1, 1)  # the first row's second


def test_distributions_end_at_one_and_start_at_the_least_distance():
    importance = factor_importance(XYSquares(4), n_pairs=200, random_state=0)
    axis = plots.plot_distance_distribution(importance)
    assert [line.get_label() for line in axis.lines] == [
        "random pairs" if name == "random" else name
        for name in sorted(importance.names, key=lambda name: name == "random")
    ]
    for line in axis.lines:
        name = line.get_label().replace("random pairs", "random")
        x, y = line.get_data()
        assert (x[0], y[0], y[-1]) == (importance.distances[name][0], 0, 1)
        assert x[-2] == importance.distances[name][-1] and x[-1] == axis.get_xlim()[1]
        assert (np.diff(x) >= 0).all() and (np.diff(y[:-1]) > 0).all()


def test_factors_with_the_same_distribution_share_a_curve():
    importance = factor_importance(XYSquares(8), n_pairs=50, random_state=0)
    axis = plots.plot_distance_distribution(importance)
    labels = [line.get_label().replace("\n", " ") for line in axis.lines]
    assert sorted(labels[0].split(", ")) == sorted(XYSquares().names) and labels[1:] == [
        "random pairs"
    ]


def test_no_matrices_are_told():
    with pytest.raises(InputError, match="at least one matrix; got none"):
        plots.plot_traversal_matrices({"perceived": {}})


def test_a_page_has_every_matrix_from_zero_to_its_largest_distance():
    steps = np.abs(np.subtract.outer(range(3), range(3)))
    figure = plots.traversal_matrices_figure({"a": {"x": steps}, "b": {"x": 2 * steps, "y": steps}})
    assert (figure.rows, figure.columns) == (("a", "b"), ("x", "y"))
    cells = [panel.marks[0] for row in figure.panels for panel in row if panel is not None]
    assert [one.high for one in cells] == [2, 4, 2] and {one.low for one in cells} == {0}
    drawn = plots.to_chart(figure).svg
    assert drawn.count("data-tip") == 27
    assert "a distance of&#10;values 0 and 2: 2" in drawn
