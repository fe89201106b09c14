"""Figure -> figures of plotly.js, as plain data.

Colours that begin with "@" are filled in by the page, for light and dark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter
from typing import Any, Literal, TypeAlias

import numpy as np

from geodis.plots.figure.labels import LONGEST_NAME, escape, label, name_labels, short
from geodis.plots.figure.layout import panel_layout, place_panels
from geodis.plots.figure.marks import (
    FACTORS,
    Bars,
    Cells,
    Choices,
    Dots,
    Figure,
    Panel,
    Segments,
)

ChartKind: TypeAlias = Literal["plain", "cloud", "scatter"]
PALETTE = tuple(f"@{color}" for color in FACTORS)
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x")
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
    kind : {"plain", "cloud", "scatter"}
        "plain", or the function of the page that draws it from `data`.
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


def to_chart(figure: Figure | Choices) -> Chart:
    """Turn a description into what plotly.js takes.

    Examples
    --------
    >>> from geodis.plots.figure.marks import one_panel
    >>> chart = to_chart(one_panel("a", "bars", Panel([Bars([1.0, 2.0], "<b>")])))
    >>> chart.data[0]["y"], chart.data[0]["name"]
    ([1, 2], '&lt;b&gt;')
    """
    if isinstance(figure, Choices):
        return Chart(figure.name, figure.about, figure.data, {}, figure.kind, figure.height)
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
        look |= {"color": short(mark.values), "colorscale": "Viridis"}
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": short(mark.x),
        "y": short(mark.y),
        "marker": {**look, "opacity": mark.alpha},
        "cliponaxis": False,
        **_named(mark.label),
        **_hover(mark.hover, mark.told),
    }
    return trace if mark.spans is None else {**trace, "error_x": _spans(mark)}


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
    broken = np.concatenate([mark.ends, np.full((len(mark.ends), 1, 2), np.nan)], axis=1)
    x, y = short(broken.reshape(-1, 2).T)
    look = {"type": "scatter", "mode": "lines", "x": x, "y": y, "hoverinfo": "skip"}
    return {**look, "line": {"color": f"@{mark.color}", "width": 2}, **_named(mark.label)}


TRACES: dict[type, Callable[[Any, Panel], dict[str, Any]]] = {
    Dots: _dots,
    Bars: _bars,
    Cells: _cells,
    Segments: _segments,
}


def _named(text: str) -> dict[str, Any]:
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
