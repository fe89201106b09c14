"""Figures of how far distances agree show what they were given."""

import numpy as np
import pytest

from geodis import plots
from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid
from geodis.distances import distance_correlations


@pytest.mark.parametrize("confidence", [None, 0.9])
def test_correlations_have_a_filled_and_a_hollow_point(confidence):
    grid = FactorGrid((4, 5), names=("a", "b"))
    code = grid.factors(range(20)) ** 2.0
    agreed = distance_correlations(grid, code, confidence=confidence, random_state=0)
    axis = plots.plot_distance_correlations(agreed)
    hollow, filled = axis.collections
    key = ("ground truth", "latent")
    both = [agreed.random[key], *(row[key] for row in agreed.factors.values())]
    assert list(filled.get_offsets()[:, 0]) == [one.spearman for one in both]
    assert list(hollow.get_offsets()[:, 0]) == [one.pearson for one in both]
    assert hollow.get_facecolor().tolist() == [[1, 1, 1, 1]]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["random pairs", "a", "b"]
    assert len(axis.lines) == 1 + 3 * (confidence is not None)  # zero, and the intervals


def test_published_points_are_crosses_on_their_lines():
    axis = plots.plot_correlation_by_spacing(
        {"mse": {1: 1.0, 8: 0.5}, "own": {1: 0.9, 8: 0.4}}, {"mse": {8: 0.52}}
    )
    labels = [line.get_label() for line in axis.lines]
    assert labels[0] == "mse" and labels[-2:] == ["own", "published"]
    assert list(axis.lines[1].get_xdata()) == [8]


def test_pairs_are_drawn_by_the_kinds_that_were_asked_for():
    pairs = {"random": {"a": np.arange(3), "b": np.arange(3) ** 2, "c": np.ones(3)}}
    axis = plots.plot_distance_scatter({**pairs, "x": pairs["random"]}, y="b")
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("a distance", "b distance")
    assert [text.get_text() for text in axis.get_legend().get_texts()] == [
        "random pairs",
        "along x",
    ]
    np.testing.assert_array_equal(axis.collections[0].get_offsets()[:, 1], [0, 1, 4])


def test_a_page_has_all_pairs_by_every_kind_and_their_correlations():
    pairs = {
        "random": {"a": np.arange(3.0), "b": np.ones(3)},
        "<x>": {"a": np.ones(2), "b": np.ones(2)},
    }
    rank = {"random": {("a", "b"): 0.12345}, "<x>": {("a", "b"): 1.0}}
    choices = plots.distance_scatter_choices(pairs, rank)
    drawn = plots.to_chart(choices).data
    assert [axis["title"] for axis in drawn["axes"]] == ["a distance", "b distance"]
    assert drawn["columns"]["pairs 0"] == [[0, 1, 2], [1, 1, 1]]
    random, along = drawn["panels"][0]["marks"]
    assert random["more"]["0|1"] == random["more"]["1|0"] == " (rank correlation 0.12)"
    assert along["label"] == "along <x>" and along["color"] == "c0"  # set as text
    titles = [panel.title for panel in choices.panels]
    assert titles == ["all pairs", "random pairs", "along <x>"]
    assert [mark["x"]["columns"] for mark in drawn["panels"][2]["marks"]] == ["pairs 1"]


def test_paper_draws_what_the_page_shows_first():
    pairs = {"random": {"a": np.arange(3.0), "b": np.ones(3)}}
    rank = {"random": {("a", "b"): 0.5}}
    axis = plots.draw_figure(plots.distance_scatter_choices(pairs, rank))
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("a distance", "b distance")
    assert axis.get_xlim()[0] == axis.get_ylim()[0] == 0
    (said,) = axis.get_legend().get_texts()
    assert said.get_text() == "random pairs (rank correlation 0.50)"


@pytest.mark.parametrize(
    ("pairs", "options", "message"),
    [
        ({"random": {"a": np.ones(1)}}, {}, "at least two kinds of distance; got a"),
        ({}, {}, "at least two kinds of distance; got none"),
        ({"r": {"a": np.ones(1), "b": np.ones(1)}}, {"x": "z"}, "x and y must be of a, b; got 'z'"),
    ],
)
def test_bad_input_is_said(pairs, options, message):
    with pytest.raises(InputError, match=message):
        plots.plot_distance_scatter(pairs, **options)


def test_a_page_has_the_same_correlations_and_intervals():
    grid = FactorGrid((4, 5), names=("a", "b"))
    code = grid.factors(range(20)) ** 2.0
    agreed = distance_correlations(grid, code, confidence=0.9, random_state=0)
    figure = plots.distance_correlations_figure(agreed)
    panel = figure.panels[0][0]
    linear, rank = panel.marks
    key = ("ground truth", "latent")
    assert rank.x[1] == pytest.approx(agreed.factors["a"][key].spearman)
    assert linear.x[1] == pytest.approx(agreed.factors["a"][key].pearson)
    assert rank.spans[1] == pytest.approx(agreed.factors["a"][key].spearman_interval)
    assert panel.y.names == ("random pairs", "a", "b")
    assert linear.hollow and rank.label == "ground truth ~ latent"
    drawn = plots.to_chart(figure).svg
    assert drawn.count("data-tip") == 6 and "ground truth ~ latent" in drawn
