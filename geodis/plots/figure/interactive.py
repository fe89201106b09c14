"""Figure -> figures of plotly.js, as plain data, which the script beside this file draws.

What begins with "@" is a colour that the script takes from the style of the page, light or dark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from string import Formatter
from typing import Any, Literal, TypeAlias

import numpy as np

from geodis.plots.figure.choices import Choices
from geodis.plots.figure.labels import LONGEST_NAME, escape, label, name_labels, short
from geodis.plots.figure.layout import axis_layout, panel_layout, place_panels
from geodis.plots.figure.linked_views import LinkedViews
from geodis.plots.figure.marks import (
    Bars,
    Cells,
    Dots,
    Figure,
    Numbers,
    Panel,
    Picked,
    PickedEnds,
    PickedLabel,
    Segments,
)
from geodis.plots.figure.views_data import views_data

ChartKind: TypeAlias = Literal["plain", "choices", "views"]
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x")
MOST_TICKS = 30  # names beside a scale that can be read
SIZES = {"tiny": 3, "fine": 5, "small": 5, "middle": 10, "large": 11}


@dataclass(frozen=True)
class Chart:
    """One interactive figure.

    Attributes
    ----------
    name : str
        Of the element on the page.
    about : str
        What it shows, for readers who cannot see it.
    data, layout : as plotly.js takes them
    kind : {"plain", "choices", "views"}
        Of "choices", `data` has the traces and the layout of every panel, and what is filled in;
        of "views" what `views_data` makes, which is drawn without plotly.
    height, min_width : int
        In pixels; a narrow screen scrolls what does not fit.
    """

    name: str
    about: str
    data: Any
    layout: dict[str, Any] = field(default_factory=dict)
    kind: ChartKind = "plain"
    height: int = 380
    min_width: int = 0


def to_chart(figure: Figure | Choices | LinkedViews) -> Chart:
    """Turn a description into what plotly.js takes.

    Examples
    --------
    >>> from geodis.plots.figure.marks import one_panel
    >>> chart = to_chart(one_panel("a", "bars", Panel([Bars([1.0, 2.0], "<b>")])))
    >>> chart.data[0]["y"], chart.data[0]["name"]
    ([1, 2], '&lt;b&gt;')
    """
    if isinstance(figure, Choices):
        return _chart_of_choices(figure)
    if isinstance(figure, LinkedViews):
        return Chart(figure.name, figure.about, views_data(figure), kind="views")
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {}
    for i, row in enumerate(figure.panels):
        for j, panel in enumerate(row):
            if panel is not None:
                number = str(i * len(row) + j + 1) if i + j else ""
                traces += _traces(panel, number)
                _merge(layout, panel_layout(panel, number))
    if figure.rows or figure.columns or len(figure.panels) * len(figure.panels[0]) > 1:
        place_panels(layout, figure)
    layout["showlegend"] = any(trace.get("showlegend") for trace in traces)
    return Chart(
        figure.name, figure.about, traces, layout, "plain", figure.height, figure.min_width
    )


def _chart_of_choices(figure: Choices) -> Chart:
    panels = []
    for panel in figure.panels:
        traces = _traces(panel, "")
        layout = panel_layout(panel, "")
        layout["showlegend"] = any(trace.get("showlegend") for trace in traces)
        panels.append({"data": traces, "layout": layout})
    data = {
        "panels": panels,
        "axes": [axis_layout(axis) for axis in figure.axes],
        "columns": {name: short(values) for name, values in figure.columns.items()},
        "views": [list(view) for view in figure.views.values()],
    }
    return Chart(figure.name, figure.about, data, {}, "choices", figure.height)


def script_of_charts() -> str:
    """The script that draws charts, most with plotly.js: ``drawChart(element, chart, chosen)``."""
    own = files("geodis.plots.figure")
    names = ("interactive.js", "views.js")
    return "".join((own / name).read_text(encoding="utf-8") for name in names)


def _merge(layout: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add parts of a layout; lists of shapes and texts grow."""
    for key, value in more.items():
        layout[key] = layout.get(key, []) + value if isinstance(value, list) else value


def _traces(panel: Panel, number: str) -> list[dict[str, Any]]:
    place = {"xaxis": f"x{number}", "yaxis": f"y{number}"} if number else {}
    makers = [(TRACES[type(mark)], mark) for mark in panel.marks if type(mark) in TRACES]
    return [{**make(mark, panel), **place} for make, mark in makers]


def _dots(mark: Dots, panel: Panel) -> dict[str, Any]:
    symbol = SYMBOLS[mark.marker % len(SYMBOLS)] + "-open" * mark.hollow
    look = {"size": SIZES[mark.size], "color": f"@{mark.color}", "symbol": symbol}
    if mark.values is not None:
        look |= _scale(mark, panel)
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": _places(mark.x),
        "y": _places(mark.y),
        "marker": {**look, "opacity": mark.alpha},
        "cliponaxis": isinstance(mark.x, Picked),  # there a reader looks closer
        **_named(mark.label),
        **_hover(mark.hover, mark.told),
    }
    return trace if mark.spans is None else {**trace, "error_x": _spans(mark)}


def _places(places: Numbers | Picked) -> Any:
    if isinstance(places, Picked):
        some = {} if places.rows is None else {"rows": places.rows.tolist()}
        return {"columns": places.columns, "along": places.along, **some}
    return short(places)


def _scale(mark: Dots, panel: Panel) -> dict[str, Any]:
    """Colours of values, and the scale beside."""
    bar: dict[str, Any] = {"thickness": 12, "outlinewidth": 0}
    bar["title"] = {"text": label(panel.title), "side": "right"}
    if mark.names and len(mark.names) <= MOST_TICKS:
        bar |= {"tickvals": list(range(len(mark.names))), "ticktext": name_labels(mark.names)}
    look = {"colorscale": "@points", "showscale": True, "colorbar": bar}
    return {"color": short(mark.values), **look}


def _spans(mark: Dots) -> dict[str, Any]:
    """Intervals as lengths from the points, none where there is none."""
    centres = np.asarray(mark.x, dtype=float)
    spans = zip(mark.spans or (), centres, strict=True)
    ends = np.array([(x, x) if span is None else span for span, x in spans], dtype=float)
    below, above = np.maximum(centres - ends[:, 0], 0), np.maximum(ends[:, 1] - centres, 0)
    look = {"type": "data", "symmetric": False, "thickness": 1.5, "width": 4}
    return {**look, "array": short(above), "arrayminus": short(below)}


def _bars(mark: Bars, panel: Panel) -> dict[str, Any]:
    return {
        "type": "bar",
        "x": list(range(len(mark.heights))),
        "y": short(mark.heights),
        "visible": True if mark.shown else "legendonly",
        "marker": {"color": f"@{mark.color}"},
        **_named(mark.label),
        **_hover(mark.hover, mark.told),
    }


def _cells(mark: Cells, panel: Panel) -> dict[str, Any]:
    trace: dict[str, Any] = {
        "type": "heatmap",
        "z": short(mark.values),
        "colorscale": "@scale",
        "zmin": mark.low,
        "zmax": mark.high if mark.high > mark.low else mark.low + 1,
        "showscale": mark.bar,
        **_hover(mark.hover, {}),
    }
    for name, axis in (("x", panel.x), ("y", panel.y)):
        if axis.names:
            trace |= {name: name_labels(axis.names), f"{name}gap": 1}
    if mark.bar:
        trace["colorbar"] = {"thickness": 12, "outlinewidth": 0}
    if mark.digits is not None:
        trace["texttemplate"] = f"%{{z:.{mark.digits}f}}"
    return trace


def _segments(mark: Segments, panel: Panel) -> dict[str, Any]:
    if isinstance(mark.ends, PickedEnds):
        x, y = _picked_ends(mark.ends)
    else:
        broken = np.concatenate([mark.ends, np.full((len(mark.ends), 1, 2), np.nan)], axis=1)
        x, y = short(broken.reshape(-1, 2).T)
    look = {"type": "scatter", "mode": "lines", "x": x, "y": y, "hoverinfo": "skip"}
    return {**look, "line": {"color": f"@{mark.color}", "width": 2}, **_named(mark.label)}


def _picked_ends(ends: PickedEnds) -> list[dict[str, Any]]:
    line = {"columns": ends.columns, "rows": ends.rows.tolist(), "half": ends.half}
    return [{**line, "directions": ends.directions, "along": along} for along in ("x", "y")]


TRACES: dict[type, Callable[[Any, Panel], dict[str, Any]]] = {
    Dots: _dots,
    Bars: _bars,
    Cells: _cells,
    Segments: _segments,
}


def _named(text: str | PickedLabel) -> dict[str, Any]:
    if isinstance(text, PickedLabel):
        more = {f"{x}|{y}": escape(added) for (x, y), added in text.more.items()}
        return {"name": {"text": label(text.text), "more": more}, "showlegend": True}
    return {"name": label(text), "showlegend": bool(text)}


def _hover(template: str, told: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """What the pointer is told; the entries of `told` travel beside the points."""
    if not template:
        return {"hoverinfo": "skip"}
    names = list(told)
    columns = [[_told(value) for value in told[name]] for name in names]
    more = {"customdata": [list(row) for row in zip(*columns, strict=True)]} if names else {}
    return {**more, "hovertemplate": f"{_template(template, names)}<extra></extra>"}


def _told(value: Any) -> Any:
    return label(value, LONGEST_NAME) if isinstance(value, str) else short([value])[0]


def _template(text: str, told: Sequence[str]) -> str:
    """Text with fields of Python -> the same for plotly.js."""
    pieces = []
    for literal, name, digits, _ in Formatter().parse(text):
        pieces.append(escape(literal).replace("\n", "<br>"))
        if name is not None:
            known = f"customdata[{told.index(name)}]" if name in told else name
            known = "fullData.name" if name == "label" else known
            pieces.append(f"%{{{known}{':' * bool(digits)}{digits or ''}}}")
    return "".join(pieces)
