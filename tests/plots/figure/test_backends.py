"""Paper and page show the same description."""

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


def test_a_figure_of_choices_goes_to_the_script_of_the_page():
    chart = to_chart(Choices("cloud", "points", "cloud", {"axes": []}, 520))
    assert (chart.kind, chart.data, chart.height) == ("cloud", {"axes": []}, 520)


def test_one_row_and_one_column_keep_their_names():
    figure = Figure("f", "f", [[Panel([Cells(np.eye(2), 0.0, 1.0)])]], ("row",), ("column",))
    axis, chart = draw_figure(figure), to_chart(figure)
    assert (axis.get_title(), axis.get_ylabel()) == ("column", "row")
    assert [text["text"] for text in chart.layout["annotations"]] == ["column", "row"]
