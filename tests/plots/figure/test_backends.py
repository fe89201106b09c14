"""Descriptions of figures, drawn by matplotlib: for paper, and as SVG for a page."""

import json
import re
from xml.etree import ElementTree

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
    figure_svg,
    one_panel,
    to_chart,
)

HOSTILE = "<script>${x}</script>"


def only_panel(*marks, **more):
    return one_panel("name", "about", Panel(marks, **more))


def read(figure, of_page=True):
    """The elements of the SVG, by what they are called."""
    root = ElementTree.fromstring(figure_svg(figure, of_page=of_page))
    every: dict = {}
    for element in root.iter():
        every.setdefault(element.tag.split("}")[-1], []).append(element)
    return every


def texts(every):
    return [element.text for element in every.get("text", [])]


def hover_texts(every):
    elements = [element for of_kind in every.values() for element in of_kind]
    return [one.get("data-tip") for one in elements if one.get("data-tip") is not None]


def test_dots_stand_at_their_places_with_their_intervals():
    dots = Dots([1.0, 2.0], [3.0, 4.0], "a", "c1", spans=[(0.5, 1.25), None])
    axis = draw_figure(only_panel(dots))
    np.testing.assert_array_equal(axis.collections[0].get_offsets(), [[1, 3], [2, 4]])
    np.testing.assert_array_equal(axis.lines[0].get_xdata(), [0.5, 1.25])


def test_colours_are_those_of_the_page_or_their_own():
    dots = only_panel(Dots([0.0], [0.0], color=factor_color(1), marker=1))
    assert factor_color(0) == factor_color(len(plots.FACTOR_COLORS)) == "c0"
    from matplotlib.colors import to_hex

    shown = draw_figure(only_panel(Dots([0.0], [0.0], color="c1")))
    assert to_hex(shown.collections[0].get_facecolor()[0]) == plots.FACTOR_COLORS[1].lower()
    page, file = figure_svg(dots, of_page=True), figure_svg(dots)
    assert "fill: var(--c1)" in page and "#" not in re.sub(r'"#name|url\(#name', "", page)
    assert "fill: #d55e00" in file and "var(" not in file


def test_bars_of_one_panel_stand_side_by_side():
    figure = only_panel(Bars([1.0, 2.0], "a", hover="{label} {y}"), Bars([3.0, 4.0], "b"))
    axis = draw_figure(figure)
    assert [bar.get_height() for bar in axis.patches] == [1, 2, 3, 4]
    assert axis.patches[0].get_x() + axis.patches[0].get_width() == pytest.approx(
        axis.patches[2].get_x()
    )
    assert hover_texts(read(figure)) == ["a 1.0", "a 2.0"]


def test_cells_have_numbers_names_and_one_scale():
    cells = Cells(np.array([[0.0, 0.5], [np.nan, 2.0]]), 0.0, 2.0, digits=1, hover="{y}, {x}: {z}")
    figure = only_panel(cells, x=Axis(names=("a", HOSTILE)), y=Axis(names=("0", "1")))
    axis, every = draw_figure(figure), read(figure)
    assert [text.get_text() for text in axis.texts] == ["0.0", "0.5", "2.0"]
    assert [text for text in texts(every) if text in ("0.0", "0.5", "2.0")] == ["0.0", "0.5", "2.0"]
    assert hover_texts(every) == ["0, a: 0.0", f"0, {HOSTILE}: 0.5", f"1, {HOSTILE}: 2.0"]
    np.testing.assert_allclose(axis.collections[0].get_array(), [0, 0.5, 2])
    strengths = draw_figure(figure).collections[0].cmap([0.0, 0.25, 1.0])[:, 3]
    np.testing.assert_allclose(strengths, [0, 0.25, 1], atol=0.01)
    assert axis.get_xticklabels()[0].get_text() == "a"


def test_many_cells_are_one_image():
    figure = only_panel(Cells(np.random.default_rng(0).uniform(size=(40, 40)), 0.0, 1.0))
    assert len(read(figure)["image"]) == 1
    assert len(figure_svg(figure, of_page=True)) < 20_000


def test_segments_and_bands_are_drawn():
    ends = np.array([[[0.0, 1.0], [2.0, 3.0]]])
    figure = only_panel(
        Segments(ends, np.ones(1), "lines", "c2"), Band(0.1, 10.0, "gap"), y=Axis(log=True)
    )
    axis = draw_figure(figure)
    np.testing.assert_array_equal(axis.collections[0].get_segments(), ends)
    assert axis.texts[0].get_text() == "gap" and "gap" in texts(read(figure))
    assert axis.texts[0].get_position()[1] == pytest.approx(1.0)  # the middle of a log axis


def test_the_pointer_is_told_what_was_asked_for_and_no_markup():
    dots = Dots([1.0], [2.0], HOSTILE, hover="{label}\nx {x:.2f}, <{who}>", told={"who": [HOSTILE]})
    assert "<script" not in figure_svg(only_panel(dots), of_page=True)
    told = f"{HOSTILE}\nx 1.00, <{HOSTILE}>"
    assert hover_texts(read(only_panel(dots))) == [told]


def test_places_that_are_not_finite_take_no_hover_text_of_others():
    dots = Dots([1.0, np.nan, 3.0], [1.0, 2.0, 3.0], hover="{x}, {y}")
    assert hover_texts(read(only_panel(dots))) == ["1, 1", "3, 3"]


@pytest.mark.parametrize("of_page", [True, False])
def test_a_page_of_several_figures_has_every_id_once(of_page):
    panel = Panel([Dots([1.0, 2.0], [3.0, 4.0]), Cells(np.array([[np.nan, 1.0]]), 0.0, 1.0)])
    ids: list[str] = []
    for name in ("a", "b"):
        text = figure_svg(one_panel(name, "some", panel), of_page=of_page)
        own = re.findall(r' id="([^"]*)"', text)
        used = re.findall(r'(?:href="|url\()#([^")]*)', text)
        assert set(used) == set(own) and "<style" not in text
        ids += own
    assert ids and len(ids) == len(set(ids))


def test_texts_of_any_script_are_text():
    dots = Dots([1.0], [1.0], "\u8272\u76f8 \ud800\x01")
    assert any("\u8272\u76f8" in text for text in texts(read(only_panel(dots, legend="beside"))))


def test_panels_stand_in_rows_and_columns_with_their_names():
    panel = Panel([Cells(np.eye(2), 0.0, 1.0)], equal=True)
    figure = Figure("f", "f", [[panel, panel], [panel, None]], ("r", "$s"), ("c", HOSTILE))
    axis = draw_figure(figure)
    assert len(axis.figure.axes) == 3
    assert {"c", HOSTILE, "r", "$s"} <= set(texts(read(figure)))
    assert axis.get_title() == "c" and axis.get_ylabel() == "r"
    assert axis.figure.axes[2].get_ylabel() == r"\$s"
    with pytest.raises(InputError, match="One axis holds one panel; got a figure of 4"):
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
    assert axis.get_ylabel() == "<v>" and "<v>" in texts(read(choices))
    assert (chart.kind, chart.height) == ("choices", 420)
    assert chart.data["columns"]["p"] == [[0, 1, 2], [0, 0, 4]]
    points, line = chart.data["panels"][0]["marks"]
    assert points["x"] == {"columns": "p", "along": "x", "rows": [2, 0]}
    assert (line["columns"], line["directions"], line["rows"]) == ("p", "d", [1])
    json.dumps(chart.data)
    across = choices.figure(0, 1, 0).panels[0][0].marks
    assert across[0].label == "a" and across[0].x.tolist() == [4, 0]


def test_codes_have_their_names_beside_the_scale():
    dots = Dots([0.0, 1.0], [0.0, 1.0], values=[0, 1], names=("a", "<b>"))
    figure = only_panel(dots, title="<kind>")
    assert {"<kind>", "a", "<b>"} <= set(texts(read(figure)))
    beside = draw_figure(figure).figure.axes[1]
    assert beside.get_yticklabels()[0].get_text() == "a"


def test_one_row_and_one_column_keep_their_names():
    figure = Figure("f", "f", [[Panel([Cells(np.eye(2), 0.0, 1.0)])]], ("row",), ("column",))
    axis = draw_figure(figure)
    assert (axis.get_title(), axis.get_ylabel()) == ("column", "row")
