import numpy as np
import pytest

from geodis import Factors, plots, score_latents
from geodis.base.check import InputError


def test_points_have_a_panel_for_every_factor_and_a_legend_for_labels():
    factors = Factors(
        np.column_stack([np.arange(6.0), np.arange(6) % 2]), ("x", "$kind"), {"$kind": ("a", "$b")}
    )
    axis = plots.plot_points_by_factor(np.random.default_rng(0).normal(size=(6, 3)), factors)
    panels = [panel for panel in axis.figure.axes if panel.get_title(loc="left")]
    assert [panel.get_title(loc="left") for panel in panels] == ["x", r"\$kind"]
    assert [text.get_text() for text in panels[1].get_legend().get_texts()] == ["a", r"\$b"]
    np.testing.assert_array_equal(panels[0].collections[0].get_array(), np.arange(6))


def test_points_are_where_the_view_puts_them():
    points, view = np.eye(3), np.array([[0.0, 1, 0], [1, 0, 0]])
    axis = plots.plot_points_by_factor(points, np.arange(3), view)
    expected = (points - points.mean(axis=0)) @ view.T
    np.testing.assert_allclose(axis.collections[0].get_offsets(), expected)


def test_pairs_are_drawn_by_the_kinds_that_were_asked_for():
    pairs = {"random": {"a": np.arange(3), "b": np.arange(3) ** 2, "c": np.ones(3)}}
    axis = plots.plot_distance_scatter({**pairs, "x": pairs["random"]}, y="b")
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("a distance", "b distance")
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["any two", "along x"]
    np.testing.assert_array_equal(axis.collections[0].get_offsets()[:, 1], [0, 1, 4])


def test_bars_are_the_parts_of_the_scores():
    rng = np.random.default_rng(0)
    factors = rng.integers(3, size=(200, 2))
    table = score_latents(factors + 0.0, factors, ["mig", "modularity"], verbose=0)
    axis = plots.plot_scores_per_factor(table, ["mig"])
    heights = [bar.get_height() for bar in axis.patches]
    np.testing.assert_allclose(heights, np.array(table.scores["mig"].per_factor))


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.plot_points_by_factor(np.eye(3), np.arange(2)), "3 and 2 came"),
        (lambda: plots.plot_distance_scatter({"random": {"a": np.ones(1)}}), "Two kinds"),
        (
            lambda: plots.plot_distance_scatter({"r": {"a": np.ones(1), "b": np.ones(1)}}, x="z"),
            "'z' came",
        ),
    ],
)
def test_bad_input_is_said(draw, message):
    with pytest.raises(InputError, match=message):
        draw()
