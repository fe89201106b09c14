"""Description -> what a page holds of it: SVG, or plain data that the scripts beside this draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Formatter
from typing import Any, Literal, TypeAlias

import numpy as np

from geodis.plots.figure.choices import Choices
from geodis.plots.figure.labels import LONGEST_NAME, clip, short
from geodis.plots.figure.linked_views import LinkedViews
from geodis.plots.figure.marks import (
    Axis,
    Dots,
    Figure,
    Mark,
    Panel,
    Picked,
    PickedEnds,
    PickedLabel,
    Segments,
)
from geodis.plots.figure.views_data import views_data
from geodis.plots.style import value_color
from geodis.plots.vector.svg_figure import figure_svg

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
        Of the element on the page.
    about : str
        What it shows, for readers who cannot see it.
    kind : {"svg", "choices", "views"}
        "svg" needs no script; the others are drawn by one.
    data : object
        For the script: what can be chosen, or what `views_data` makes.
    svg : str
        What is seen without choosing.
    height : int
        In pixels, of what a script draws.
    """

    name: str
    about: str
    kind: ChartKind = "svg"
    data: Any = None
    svg: str = ""
    height: int = 380


def to_chart(figure: Figure | Choices | LinkedViews) -> Chart:
    """Turn a description into what a page holds.

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
    """The script that draws what is chosen: ``drawChart(element, chart, chosen)``."""
    return "".join((files(room) / name).read_text(encoding="utf-8") for room, name in SCRIPTS)


def choices_data(figure: Choices) -> dict[str, Any]:
    """Everything that can be chosen, as plain data; the script sets texts as text."""
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
        "told": {name: [_told(one) for one in values] for name, values in mark.told.items()},
    }


def _places(places: Any) -> Any:
    if isinstance(places, Picked):
        some = {} if places.rows is None else {"rows": places.rows.tolist()}
        return {"columns": places.columns, "along": places.along, **some}
    return short(places)


def _values(mark: Dots) -> dict[str, Any]:
    """Colours by a scale, and what stands beside it."""
    if mark.values is None:
        return {}
    values = np.asarray(mark.values, dtype=float)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    high = high if high > low else low + 1.0
    told = [low + step * (high - low) for step in (0.0, 0.25, 0.5, 0.75, 1.0)]
    texts = [f"{value:.3g}" for value in told]
    if mark.names:
        told = list(range(len(mark.names))) if len(mark.names) <= 12 else [low, high]
        texts = [clip(mark.names[int(value)], LONGEST_NAME) for value in told]
    legend = [[t, value_color((v - low) / (high - low))] for v, t in zip(told, texts, strict=True)]
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
    """A text with fields, in pieces: literal, name of the field, its digits."""
    return [
        (literal, name or "", digits or "")
        for literal, name, digits, _ in Formatter().parse(template)
    ]


def _told(value: Any) -> Any:
    return clip(value, LONGEST_NAME) if isinstance(value, str) else short([value])[0]
