"""Figures of a page: SVG, or plain data that the scripts in this folder draw."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from io import BytesIO
from string import Formatter
from typing import Any, Literal, TypeAlias
from xml.etree import ElementTree

import numpy as np

from geodis.base.text import printable
from geodis.plots.figure.linked_views import Choices, LinkedViews, views_data
from geodis.plots.figure.marks import (
    LONGEST_NAME,
    Axis,
    Dots,
    Figure,
    Mark,
    Panel,
    Picked,
    PickedEnds,
    PickedLabel,
    Segments,
    clip,
    short,
)
from geodis.plots.figure.matplotlib_figure import COLORS, LINE_BREAK, draw_figure
from geodis.plots.style import STRIPE, forget_figure, value_color

# SVG drawn by matplotlib: a standalone file, or part of a page in its colours.

WIDE = 720.0  # width in pixels of a figure on a page
PIXELS_PER_INCH = 86.4  # 10-point text is 12 pixels high
LEAST_SHOWN = 0.62  # smallest scale of a figure on narrow screens, which then scroll
SVG, LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
# Colours of a drawing -> variables of the style sheet, which differ in light and dark mode.
VARIABLES: dict[str, str] = {color.lower(): name for name, color in COLORS.items()}
VARIABLES |= {"#ffffff": "paper", "#000000": "ink", STRIPE: "panel"}
HEX = re.compile(r"#[0-9a-f]{6}\b")
LONG_NUMBER = re.compile(r"(\d+\.\d)\d+")
REFERENCE = re.compile(r"#([\w.-]+)")
PLACES = ("d", "x", "y", "width", "height", "transform")  # attributes with numbers
COLOR_OF = {name: color for color, name in VARIABLES.items()}
VARIABLE = re.compile(r"var\(--(\w+)\)")
PAGE_STYLE = re.compile(r'style="width:100%[^"]*"')
FONT = "'DejaVu Sans',Verdana,sans-serif"


def figure_svg(figure: Figure | Choices | LinkedViews, *, of_page: bool = False) -> str:
    """Draw a figure as SVG.

    Parameters
    ----------
    figure : Figure, Choices or LinkedViews
        For `Choices`, the first choice is drawn.
    of_page : bool
        Use the colour variables of a page, and add tooltips; otherwise the SVG is standalone.

    Returns
    -------
    str

    Examples
    --------
    >>> from geodis.plots.figure.marks import Bars, Panel, one_panel
    >>> text = figure_svg(one_panel("a", "two bars", Panel([Bars([1.0, 2.0], color="c1")])))
    >>> text.startswith("<svg"), "Two bars" in text, "#d55e00" in text
    (True, True, True)
    """
    drawn = figure.figure() if isinstance(figure, Choices) else figure
    if isinstance(drawn, Figure):
        wide = max(WIDE, float(drawn.min_width))
        drawn = replace(drawn, size=(wide / PIXELS_PER_INCH, drawn.height / PIXELS_PER_INCH))
    text = axis_svg(draw_figure(drawn, hover=True), figure.name, figure.about)
    return text if of_page else as_file(text)


def views_svg(figure: LinkedViews) -> str:
    """Draw linked views as a standalone SVG file, in their first coloring.

    Examples
    --------
    >>> import numpy as np
    >>> from geodis.plots.figure.linked_views import SpotColors, View
    >>> view = View("<here>", "", np.zeros((1, 3)))
    >>> text = views_svg(LinkedViews("v", "", [view], [SpotColors("all", [["#ff0000"]])]))
    >>> "&lt;here&gt;" in text
    True
    """
    return figure_svg(figure)


def axis_svg(axis: Any, name: str, about: str) -> str:
    """Convert the figure of a matplotlib axis to SVG for a page, with text as text."""
    from matplotlib import rc_context

    file, figure = BytesIO(), axis.figure.figure
    tight = "tight" if figure.get_layout_engine() is None else None
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}), warnings.catch_warnings():
        # The browser draws glyphs that the font of matplotlib lacks.
        warnings.simplefilter("ignore", UserWarning)
        figure.savefig(file, format="svg", bbox_inches=tight, metadata={"Date": None})
    forget_figure(figure)
    root = ElementTree.fromstring(printable(file.getvalue().decode("utf-8")))
    _name_ids(root, name)
    _strip(root)
    for element in root.iter():
        _shorten(element)
    for parent in list(root.iter()):
        _add_tooltips(parent)
    root.attrib |= {"role": "img", "aria-label": f"{about[:1].upper()}{about[1:]}"}
    root.set("stroke-linejoin", "round")
    wide = float(root.attrib["viewBox"].split()[2]) * PIXELS_PER_INCH / 72
    del root.attrib["width"], root.attrib["height"]
    least = min(wide, LEAST_SHOWN * max(wide, WIDE))
    root.set("style", f"width:100%;min-width:{least:.0f}px;max-width:{wide:.0f}px")
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", LINK)
    return ElementTree.tostring(root, encoding="unicode")


def as_file(page_svg: str) -> str:
    """Make the SVG of a page standalone, with light colours and its own font."""
    text = PAGE_STYLE.sub(f'style="background:#fff;font-family:{FONT}"', page_svg, count=1)
    return VARIABLE.sub(lambda found: COLOR_OF[found[1]], text)


def _name_ids(root: ElementTree.Element, name: str) -> None:
    """Keep only ids that are referred to, and make them unique on a page."""
    texts = [value for element in root.iter() for value in element.attrib.values()]
    used = {found for text in texts if "#" in text for found in REFERENCE.findall(text)}
    for element in root.iter():
        own = element.attrib.pop("id", "")
        if own in used:
            element.set("id", f"{name}-{own}")
        for key in (f"{{{LINK}}}href", "clip-path", "style"):
            text = element.get(key, "")
            found = REFERENCE.search(text)
            if found and found[1] in used and (text.startswith("#") or "url(#" in text):
                element.set(key, text.replace(f"#{found[1]}", f"#{name}-{found[1]}"))


def _strip(root: ElementTree.Element) -> None:
    """Remove metadata, styles that would apply to a whole page, and white space."""
    for parent in root.iter():
        for child in list(parent):
            if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style"):
                parent.remove(child)
            child.tail = None
        if parent.tag not in (f"{{{SVG}}}text", f"{{{SVG}}}tspan"):
            parent.text = None


def _shorten(element: ElementTree.Element) -> None:
    """Round coordinates to one decimal, and replace colours by variables of the page."""
    for key in PLACES:
        if text := element.get(key):
            element.set(key, LONG_NUMBER.sub(r"\1", text.replace("\n", "")))
    style = element.get("style", "")
    if element.tag == f"{{{SVG}}}text":
        style = re.sub(r"font-family:[^;]*;?|font: [\d.]+px[^;]*;?", "", style)
        style += "" if "fill:" in style else "; fill: #000000"
    if style:
        element.set("style", HEX.sub(_page_color, style))


def _page_color(found: re.Match[str]) -> str:
    return f"var(--{VARIABLES[found[0]]})" if found[0] in VARIABLES else found[0]


def _add_tooltips(parent: ElementTree.Element) -> None:
    """Replace the links that matplotlib wrote by tooltips of the marks in them."""
    for place, child in enumerate(list(parent)):
        if child.tag == f"{{{SVG}}}a" and len(child):
            mark = child[0]
            mark.set("data-tip", child.get(f"{{{LINK}}}href", "").replace(LINE_BREAK, "\n"))
            parent[place] = mark


ChartKind: TypeAlias = Literal["svg", "choices", "views"]
RADII = {"tiny": 1.2, "fine": 1.8, "small": 2.3, "middle": 4.0, "large": 5.0}
SCRIPTS = (
    ("geodis.plots.vector", "choices.js"),
    ("geodis.plots.figure", "views_table.js"),
    ("geodis.plots.figure", "views.js"),
)


@dataclass(frozen=True)
class Chart:
    """One figure of a page.

    Attributes
    ----------
    name : str
        Name of the element on the page.
    about : str
        Description for screen readers.
    kind : {"svg", "choices", "views"}
        "svg" is static; the others are drawn by a script.
    data : object
        Input of the script: `choices_data` or `views_data`.
    svg : str
        The static figure.
    height : int
        Height in pixels of a figure drawn by a script.
    """

    name: str
    about: str
    kind: ChartKind = "svg"
    data: Any = None
    svg: str = ""
    height: int = 380


def to_chart(figure: Figure | Choices | LinkedViews) -> Chart:
    """Convert a description to a figure of a page.

    Examples
    --------
    >>> from geodis.plots.figure.marks import Bars, one_panel
    >>> chart = to_chart(one_panel("a", "bars", Panel([Bars([1.0, 2.0])])))
    >>> chart.kind, chart.svg[:4], chart.data
    ('svg', '<svg', None)
    """
    if isinstance(figure, Choices):
        return Chart(figure.name, figure.about, "choices", choices_data(figure), "", figure.height)
    if isinstance(figure, LinkedViews):
        return Chart(figure.name, figure.about, "views", views_data(figure))
    return Chart(figure.name, figure.about, "svg", None, figure_svg(figure, of_page=True))


def script_of_charts() -> str:
    """Return the script that draws figures: ``drawChart(element, chart, chosen)``."""
    return "".join((files(room) / name).read_text(encoding="utf-8") for room, name in SCRIPTS)


def choices_data(figure: Choices) -> dict[str, Any]:
    """Return all panels, axes and views as plain data; the script inserts texts as text."""
    return {
        "panels": [_panel(panel) for panel in figure.panels],
        "axes": [_axis(axis) for axis in figure.axes],
        "columns": {name: short(values) for name, values in figure.columns.items()},
        "views": [list(view) for view in figure.views.values()],
    }


def _panel(panel: Panel) -> dict[str, Any]:
    marks = [_mark(mark) for mark in panel.marks if isinstance(mark, Dots | Segments)]
    return {"title": clip(panel.title), "equal": panel.equal, "marks": marks}


def _axis(axis: Axis) -> dict[str, Any]:
    names = [clip(name, LONGEST_NAME) for name in axis.names]
    limits = None if axis.limits is None else short(axis.limits)
    return {"title": clip(axis.title), "zero": axis.from_zero, "names": names, "limits": limits}


def _mark(mark: Mark) -> dict[str, Any]:
    if isinstance(mark, Segments):
        look = {"kind": "lines", "color": mark.color, **_labelled(mark.label)}
        if isinstance(mark.ends, PickedEnds):
            ends = mark.ends
            return {**look, "columns": ends.columns, "rows": ends.rows.tolist(), "half": ends.half,
                    "directions": ends.directions}  # fmt: skip
        return {**look, "ends": short(mark.ends)}
    assert isinstance(mark, Dots)
    return {
        "kind": "dots",
        "x": _places(mark.x),
        "y": _places(mark.y),
        "color": mark.color,
        "radius": RADII[mark.size],
        "marker": mark.marker,
        "alpha": mark.alpha,
        **_labelled(mark.label),
        **_values(mark),
        "hover": _pieces(mark.hover),
        "told": {name: [_hover_value(one) for one in values] for name, values in mark.told.items()},
    }


def _places(places: Any) -> Any:
    if isinstance(places, Picked):
        some = {} if places.rows is None else {"rows": places.rows.tolist()}
        return {"columns": places.columns, "along": places.along, **some}
    return short(places)


def _values(mark: Dots) -> dict[str, Any]:
    """Return the colours of the values, and their legend."""
    if mark.values is None:
        return {}
    values = np.asarray(mark.values, dtype=float)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    high = high if high > low else low + 1.0
    ticks = [low + step * (high - low) for step in (0.0, 0.25, 0.5, 0.75, 1.0)]
    texts = [f"{value:.3g}" for value in ticks]
    if mark.names:
        ticks = list(range(len(mark.names))) if len(mark.names) <= 12 else [low, high]
        texts = [clip(mark.names[int(value)], LONGEST_NAME) for value in ticks]
    legend = [[t, value_color((v - low) / (high - low))] for v, t in zip(ticks, texts, strict=True)]
    colors = [
        value_color((v - low) / (high - low)) if np.isfinite(v) else "#c4c4c4" for v in values
    ]
    return {"colors": colors, "values": short(values), "legend": legend}


def _labelled(label: str | PickedLabel) -> dict[str, Any]:
    if isinstance(label, PickedLabel):
        more = {f"{x}|{y}": text for (x, y), text in label.more.items()}
        return {"label": label.text, "more": more}
    return {"label": label}


def _pieces(template: str) -> list[Sequence[str]]:
    """Split a template into pieces (literal text, name of the field, format)."""
    return [
        (literal, name or "", digits or "")
        for literal, name, digits, _ in Formatter().parse(template)
    ]


def _hover_value(value: Any) -> Any:
    return clip(value, LONGEST_NAME) if isinstance(value, str) else short([value])[0]
