"""Paper and page show the same description."""

import json

import numpy as np
import pytest

from geodis import plots
from geodis.base.check import InputError
from geodis.plots import (
    Axis,
    Band,
    Bars,
    Cells,
    Choices,
    Dots,
    Figure,
    Panel,
    Picked,
    PickedEnds,
    PickedLabel,
    Segments,
    draw_figure,
    factor_color,
    one_panel,
    to_chart,
)

HOSTILE = "<script>${x}</script>"


def only_panel(*marks, **more):
    return one_panel("name", "about", Panel(marks, **more))


def test_dots_stand_at_the_same_places_with_their_intervals():
    dots = Dots([1.0, 2.0], [3.0, 4.0], "a", "c1", 1, spans=[(0.5, 1.25), None])
    axis = draw_figure(only_panel(dots))
    (trace,) = to_chart(only_panel(dots)).data
    np.testing.assert_array_equal(axis.collections[0].get_offsets(), [[1, 3], [2, 4]])
    assert (trace["x"], trace["y"]) == ([1, 2], [3, 4])
    np.testing.assert_array_equal(axis.lines[0].get_xdata(), [0.5, 1.25])
    assert trace["error_x"]["arrayminus"] == [0.5, 0] and trace["error_x"]["array"] == [0.25, 0]
    assert trace["marker"]["color"] == "@c1" and trace["marker"]["symbol"] == "square"


def test_colours_of_factors_come_again_after_the_last():
    assert factor_color(0) == factor_color(len(plots.FACTOR_COLORS)) == "c0"
    axis = draw_figure(only_panel(Dots([0.0], [0.0], color=factor_color(1))))
    from matplotlib.colors import to_hex

    assert to_hex(axis.collections[0].get_facecolor()[0]) == plots.FACTOR_COLORS[1].lower()


def test_bars_of_one_panel_stand_side_by_side():
    figure = only_panel(
        Bars([1.0, 2.0], "a"), Bars([3.0, 4.0], "b"), Bars([5.0, 6.0], "c", shown=False)
    )
    axis = draw_figure(figure)
    assert [bar.get_height() for bar in axis.patches] == [1, 2, 3, 4]
    assert axis.patches[0].get_x() + axis.patches[0].get_width() == pytest.approx(
        axis.patches[2].get_x()
    )
    assert [trace["visible"] for trace in to_chart(figure).data] == [True, True, "legendonly"]


def test_cells_have_numbers_names_and_one_scale():
    cells = Cells(np.array([[0.0, 0.5], [np.nan, 2.0]]), 0.0, 2.0, digits=1, hover="{y}, {x}: {z}")
    figure = only_panel(cells, x=Axis(names=("a", HOSTILE)), y=Axis(names=("0", "1")))
    axis, (trace,) = draw_figure(figure), to_chart(figure).data
    assert [text.get_text() for text in axis.texts] == ["0.0", "0.5", "2.0"]
    assert axis.images[0].norm.vmax == trace["zmax"] == 2.0
    assert trace["z"] == [[0, 0.5], [None, 2]] and trace["texttemplate"] == "%{z:.1f}"
    assert trace["hovertemplate"] == "%{y}, %{x}: %{z}<extra></extra>"
    assert axis.get_xticklabels()[0].get_text() == "a"
    assert trace["x"][1] == "&lt;script&gt;&#36;&#123;x}&lt;/script&gt;"


def test_segments_and_bands_are_in_both():
    ends = np.array([[[0.0, 1.0], [2.0, 3.0]]])
    figure = only_panel(
        Segments(ends, np.ones(1), "lines", "c2"), Band(0.1, 10.0, "gap"), y=Axis(log=True)
    )
    axis, chart = draw_figure(figure), to_chart(figure)
    np.testing.assert_array_equal(axis.collections[0].get_segments(), ends)
    assert chart.data[0]["x"] == [0, 2, None] and chart.data[0]["y"] == [1, 3, None]
    assert axis.texts[0].get_text() == chart.layout["annotations"][0]["text"] == "gap"
    assert axis.texts[0].get_position()[1] == pytest.approx(1.0)  # the middle of a log axis
    assert chart.layout["annotations"][0]["y"] == pytest.approx(0.0)  # its logarithm
    assert (chart.layout["shapes"][0]["y0"], chart.layout["shapes"][0]["y1"]) == (0.1, 10.0)


def test_the_pointer_is_told_what_was_asked_for_and_no_markup():
    dots = Dots([1.0], [2.0], HOSTILE, hover="{label}\nx {x:.2f}, <{who}>", told={"who": [HOSTILE]})
    (trace,) = to_chart(only_panel(dots)).data
    assert trace["hovertemplate"] == (
        "%{fullData.name}<br>x %{x:.2f}, &lt;%{customdata[0]}&gt;<extra></extra>"
    )
    for text in (trace["name"], trace["customdata"][0][0]):
        assert "<" not in text and "{" not in text and "$" not in text


def test_panels_stand_in_rows_and_columns_with_their_names():
    panel = Panel([Cells(np.eye(2), 0.0, 1.0)], equal=True)
    figure = Figure("f", "f", [[panel, panel], [panel, None]], ("r", "$s"), ("c", HOSTILE))
    axis, chart = draw_figure(figure), to_chart(figure)
    assert len(axis.figure.axes) == len(chart.data) == 3
    assert [trace.get("xaxis", "x") for trace in chart.data] == ["x", "x2", "x3"]
    first, below = chart.layout["yaxis"]["domain"], chart.layout["yaxis3"]["domain"]
    assert below[1] < first[0] and chart.layout["xaxis2"]["domain"][0] > 0.5
    said = [text["text"] for text in chart.layout["annotations"]]
    assert said[0] == "c" and said[2:] == ["r", "&#36;s"] and "<" not in said[1]
    assert axis.get_title() == "c" and axis.get_ylabel() == "r"
    assert axis.figure.axes[2].get_ylabel() == r"\$s"
    with pytest.raises(InputError, match="One axis shows one panel; got a figure of 4"):
        draw_figure(figure, plots.new_axis())


def test_what_is_chosen_is_filled_in_on_paper_and_left_to_the_page():
    rows = np.array([2, 0])
    dots = Dots(Picked("p", "x", rows), Picked("p", "y", rows), PickedLabel("a", {(0, 1): HOSTILE}))
    lines = Segments(PickedEnds("p", "d", np.array([1]), 0.25), np.ones(1), "lines")
    columns = {"p": np.array([[0.0, 1, 2], [0, 0, 4]]), "d": np.array([[1.0], [0.0]])}
    axes = [Axis("u"), Axis("<v>")]
    choices = Choices("c", "points", [Panel([dots, lines], equal=True)], axes, columns, y=1)
    axis, chart = draw_figure(choices), to_chart(choices)
    np.testing.assert_array_equal(axis.collections[0].get_offsets(), [[2, 4], [0, 0]])
    np.testing.assert_array_equal(axis.collections[1].get_segments(), [[[0, 0], [2, 0]]])
    assert axis.get_ylabel() == "<v>"
    assert (chart.kind, chart.height) == ("choices", 420)
    assert chart.data["columns"]["p"] == [[0, 1, 2], [0, 0, 4]]
    points, line = chart.data["panels"][0]["data"]
    assert points["x"] == {"columns": "p", "along": "x", "rows": [2, 0]}
    assert line["y"] == {
        "columns": "p", "along": "y", "rows": [1], "half": 0.25, "directions": "d"
    }  # fmt: skip
    assert "<" not in json.dumps(chart.data)
    across = choices.figure(0, 1, 0).panels[0][0].marks
    assert across[0].label == "a" and across[0].x.tolist() == [4, 0]


def test_codes_have_their_names_beside_the_scale():
    dots = Dots([0.0, 1.0], [0.0, 1.0], values=[0, 1], names=("a", HOSTILE))
    figure = only_panel(dots, title="<kind>")
    (trace,) = to_chart(figure).data
    bar = trace["marker"]["colorbar"]
    assert bar["title"]["text"] == "&lt;kind&gt;" and bar["tickvals"] == [0, 1]
    assert bar["ticktext"][0] == "a" and "<" not in bar["ticktext"][1]
    beside = draw_figure(figure).figure.axes[1]
    assert beside.get_yticklabels()[0].get_text() == "a"


def test_one_row_and_one_column_keep_their_names():
    figure = Figure("f", "f", [[Panel([Cells(np.eye(2), 0.0, 1.0)])]], ("row",), ("column",))
    axis, chart = draw_figure(figure), to_chart(figure)
    assert (axis.get_title(), axis.get_ylabel()) == ("column", "row")
    assert [text["text"] for text in chart.layout["annotations"]] == ["column", "row"]
