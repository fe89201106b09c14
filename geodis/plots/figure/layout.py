"""Panels -> the axes, shapes and texts of plotly.js around their marks."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.plots.figure.labels import LONGEST_LABEL, label, name_labels, short
from geodis.plots.figure.marks import Axis, Band, Cells, Figure, Panel

LONGEST_TITLE = 16
NO_TICKS = {"showticklabels": False, "ticks": "", "showgrid": False, "zeroline": False}
OUTSIDE = {"xref": "paper", "yref": "paper", "showarrow": False}
MARGIN = 0.06  # of the room of a panel of several


def panel_layout(panel: Panel, number: str) -> dict[str, Any]:
    """Axes, shapes and texts of one panel."""
    cells = any(isinstance(mark, Cells) for mark in panel.marks)
    across, up = axis_layout(panel.x, cells), axis_layout(panel.y, cells)
    if cells:
        across, up = {**across, "side": "top"}, {**up, "autorange": "reversed"}
    if panel.equal and cells:
        across |= {"constrain": "domain"}
        up |= {"constrain": "domain"}
    elif panel.equal:  # in a space, zero is a place like any other
        across |= {"zeroline": False}
        up |= {"zeroline": False}
    if panel.equal:
        up |= {"scaleanchor": f"x{number}"}
    bands = [mark for mark in panel.marks if isinstance(mark, Band)]
    return {
        f"xaxis{number}": across,
        f"yaxis{number}": up,
        "shapes": [_shaded(band, number) for band in bands],
        "annotations": [_said(band, panel.y.log, number) for band in bands],
    }


def axis_layout(axis: Axis, cells: bool = False) -> dict[str, Any]:
    """One axis: its title, its ticks and how far it goes."""
    made: dict[str, Any] = {} if axis.ticks else dict(NO_TICKS)
    if axis.title:
        made["title"] = {"text": label(axis.title, 2 * LONGEST_LABEL)}
    if axis.log:
        made |= {"type": "log", "exponentformat": "power"}
    if axis.names and cells:
        made["type"] = "category"
    elif axis.names:
        made |= {"tickvals": list(range(len(axis.names))), "ticktext": name_labels(axis.names)}
    if axis.limits is not None:
        made["range"] = short(np.log10(axis.limits) if axis.log else axis.limits)
    if axis.from_zero:
        made["rangemode"] = "tozero"
    if axis.whole and axis.limits is not None:
        made["dtick"] = max(1, int(axis.limits[1] - axis.limits[0]) // 10)
    return made


def _shaded(band: Band, number: str) -> dict[str, Any]:
    place = {"xref": f"x{number} domain", "x0": 0, "x1": 1, "yref": f"y{number}"}
    look = {"type": "rect", "fillcolor": "@faint", "opacity": 0.15, "line": {"width": 0}}
    return {**place, **look, "y0": band.low, "y1": band.high}


def _said(band: Band, log: bool, number: str) -> dict[str, Any]:
    """The text of a band, in its middle; plotly wants the place on a log axis as its logarithm."""
    low, high = (np.log10(band.low), np.log10(band.high)) if log else (band.low, band.high)
    place = {"xref": f"x{number} domain", "x": 0.5, "yref": f"y{number}", "y": (low + high) / 2}
    return {**place, "text": label(band.text), "showarrow": False}


def place_panels(layout: dict[str, Any], figure: Figure) -> None:
    """Rooms of the panels side by side, and the names of rows and columns around them."""
    count = len(figure.panels[0])
    wide, high = 1 / count, 1 / len(figure.panels)
    for i in range(len(figure.panels)):
        for j in range(count):
            number = str(i * count + j + 1) if i + j else ""
            if f"xaxis{number}" in layout:
                top, left = 1 - i * high, j * wide
                layout[f"xaxis{number}"] |= {
                    "domain": [left + MARGIN * wide, left + (1 - MARGIN) * wide],
                    "anchor": f"y{number}",
                }
                layout[f"yaxis{number}"] |= {
                    "domain": [top - (1 - MARGIN) * high, top - MARGIN * high],
                    "anchor": f"x{number}",
                }
    layout["annotations"] = [
        *layout["annotations"],
        *(_column_name(name, (j + 0.5) * wide) for j, name in enumerate(figure.columns)),
        *(_row_name(name, 1 - (i + 0.5) * high) for i, name in enumerate(figure.rows)),
    ]
    layout["margin"] = {"l": 36, "r": 8, "t": 36, "b": 8}


def _column_name(name: str, x: float) -> dict[str, Any]:
    text = label(name, LONGEST_TITLE)
    return {**OUTSIDE, "text": text, "x": x, "y": 1.0, "yanchor": "bottom"}


def _row_name(name: str, y: float) -> dict[str, Any]:
    turned = {"textangle": -90, "xanchor": "right", "yanchor": "middle"}
    return {**OUTSIDE, **turned, "text": label(name), "x": -0.005, "y": y}
