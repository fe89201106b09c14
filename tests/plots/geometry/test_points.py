import numpy as np
import pytest

from geodis import Factors, plots
from geodis.base.check import InputError
from geodis.plots.geometry.points import factor_colorings


def test_points_have_a_panel_for_every_factor_and_a_legend_for_labels():
    factors = Factors(
        np.column_stack([np.arange(8.0), np.arange(8) % 2]), ("x", "$kind"), {"$kind": ("a", "$b")}
    )
    axis = plots.plot_points_by_factor(np.random.default_rng(0).normal(size=(8, 3)), factors)
    panels = [panel for panel in axis.figure.axes if panel.get_title(loc="left")]
    assert [panel.get_title(loc="left") for panel in panels] == ["x", r"\$kind"]
    assert [text.get_text() for text in panels[1].get_legend().get_texts()] == ["a", r"\$b"]
    np.testing.assert_array_equal(panels[0].collections[0].get_array(), np.arange(8))


def test_points_are_where_the_view_puts_them():
    points, view = np.eye(3), np.array([[0.0, 1, 0], [1, 0, 0]])
    axis = plots.plot_points_by_factor(points, np.arange(3), view)
    expected = (points - points.mean(axis=0)) @ view.T
    shown = [dots.get_offsets()[0] for dots in axis.collections]  # a value each has its own colour
    np.testing.assert_allclose(shown, expected)


def test_few_values_have_a_colour_each_and_many_labels_share_a_scale():
    values = np.column_stack([np.arange(12) % 3 + 0.5, np.arange(12), np.arange(12)])
    words = tuple("abcdefghijkl")
    few, many, named = factor_colorings(Factors(values, ("x", "y", "z"), {"z": words}))
    assert few.labels == ("0.5", "1.5", "2.5") and few.values.tolist() == [0, 1, 2] * 4
    assert many.labels == many.names == ()
    assert named.names == words and named.of_rows(np.array([3])).values.tolist() == [3]


def test_bad_input_is_said():
    with pytest.raises(InputError, match="as many rows; got 3 and 2"):
        plots.plot_points_by_factor(np.eye(3), np.arange(2))
    with pytest.raises(InputError, match="One axis holds one panel; got a figure of 2"):
        plots.plot_points_by_factor(np.eye(2), np.eye(2), axis=plots.new_axis())
