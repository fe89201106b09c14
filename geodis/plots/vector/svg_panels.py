"""One panel -> SVG: margins as wide as its texts, axes, marks, legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from geodis.plots.figure.labels import LONGEST_NAME, clip
from geodis.plots.figure.marks import Axis, Band, Bars, Cells, Dots, Panel, Segments
from geodis.plots.vector.svg_elements import (
    LETTER,
    color_variable,
    pixels,
    svg_element,
    svg_text,
)
from geodis.plots.vector.svg_marks import bar_elements, mark_elements, value_color, value_range
from geodis.plots.vector.svg_scales import Scale, scale_ends, ticks_of

Ticks = list[tuple[float, str]]
TICK_ROOM, TITLE_ROOM, LINE = 8.0, 20.0, 19.0
BAR_ROOM = 70.0  # for a scale of colours beside the marks
TILT = 35.0  # degrees of long names below an axis
SHOWN_ROOM = 0.94  # of the room of one name, that texts may fill before they are tilted
LONGEST_TITLE = 80
NAME_HEIGHT = 12.0  # of one name beside an axis


class Box(NamedTuple):
    """A rectangle in pixels."""

    left: float
    top: float
    right: float
    foot: float


def panel_svg(panel: Panel, box: Box) -> str:
    """Draw a panel within a box.

    Examples
    --------
    >>> text = panel_svg(Panel([Bars([1.0, 2.0])], Axis(names=("a", "b"))), Box(0, 0, 300, 200))
    >>> text.count("<rect")
    2
    """
    if panel.empty:
        middle = (box.left + box.right) / 2, (box.top + box.foot) / 2
        return svg_text(panel.empty, *middle, color="faint")
    ends = _ends(panel)
    above, legend = _legend(panel, box)
    scaled = next((m for m in panel.marks if isinstance(m, Dots) and m.values is not None), None)
    cells = next((m for m in panel.marks if isinstance(m, Cells)), None)
    beside = BAR_ROOM if scaled is not None else 0.0
    most = int((box.foot - box.top) / NAME_HEIGHT) if panel.y.names else 8
    up = ticks_of(panel.y, *ends[1], most)
    longest = max((len(text) for _, text in up), default=0)
    left = box.left + TICK_ROOM + LETTER * min(longest, LONGEST_NAME)
    left += TITLE_ROOM * bool(panel.y.title)
    right = box.right - beside - (TICK_ROOM if up or panel.x.ticks else 0)
    across = ticks_of(panel.x, *ends[0], max(2, int((right - left) / 70)))
    if panel.x.names:
        across = ticks_of(panel.x, *ends[0], 60)
    below, tilted = _room_below(across, (right - left) / max(len(across), 1))
    top = box.top + above + (LINE if panel.title and scaled is None else 4.0)
    foot = box.foot - below - TITLE_ROOM * bool(panel.x.title)
    x = Scale(*ends[0], left, right, panel.x.log)
    y = Scale(*ends[1], foot, top, panel.y.log)
    if cells is not None:
        y = Scale(*ends[1], top, foot)
    if panel.equal:
        x, y = _equal(x, y)
    names = {"x": panel.x.names, "y": panel.y.names}
    bars = [mark for mark in panel.marks if isinstance(mark, Bars) and mark.shown]
    marks = "".join(
        mark_elements(mark, x, y, names) for mark in panel.marks if not isinstance(mark, Bars)
    )
    parts = [
        _grid(panel, x, y, across, up) if cells is None else "",
        bar_elements(bars, x, y, names) if bars else "",
        marks,
        _axis_texts(panel, x, y, across, up, tilted),
        legend,
        _color_bar(scaled, panel.title, Box(box.right - beside + 14, top, box.right, foot))
        if scaled is not None
        else "",
    ]
    if panel.title and scaled is None:
        parts.append(svg_text(clip(panel.title, LONGEST_TITLE), min(x.start, x.end),
                              top - LINE / 2, anchor="start", font_weight="600"))  # fmt: skip
    return "".join(parts)


def _ends(panel: Panel) -> tuple[tuple[float, float], tuple[float, float]]:
    """From where to where both axes go."""
    xs, ys = [np.empty(0)], [np.empty(0)]
    for mark in panel.marks:
        if isinstance(mark, Dots):
            xs.append(np.asarray(mark.x, float))
            ys.append(np.asarray(mark.y, float))
            xs += [np.asarray(span, float) for span in mark.spans or () if span is not None]
        elif isinstance(mark, Segments):
            ends = np.asarray(mark.ends, float)
            xs.append(ends[..., 0].ravel())
            ys.append(ends[..., 1].ravel())
        elif isinstance(mark, Band):
            ys.append(np.array([mark.low, mark.high]))
        elif isinstance(mark, Bars) and mark.shown:
            ys.append(np.asarray([0.0, *np.asarray(mark.heights, float)]))
            xs.append(np.array([-0.5, len(np.asarray(mark.heights)) - 0.5]))
        elif isinstance(mark, Cells):
            rows, columns = np.shape(mark.values)
            return (-0.5, columns - 0.5), (-0.5, rows - 0.5)
    return scale_ends(panel.x, np.concatenate(xs)), scale_ends(panel.y, np.concatenate(ys))


def _equal(x: Scale, y: Scale) -> tuple[Scale, Scale]:
    """One unit as long across as up, in the middle of the room."""
    wide, tall = abs(x.end - x.start), abs(y.end - y.start)
    unit = min(wide / abs(x.high - x.low), tall / abs(y.high - y.low))
    return _shrunk(x, unit), _shrunk(y, unit)


def _shrunk(scale: Scale, unit: float) -> Scale:
    half = unit * abs(scale.high - scale.low) / 2 * np.sign(scale.end - scale.start)
    middle = (scale.start + scale.end) / 2
    return Scale(scale.low, scale.high, middle - half, middle + half, scale.log)


def _room_below(ticks: Ticks, room: float) -> tuple[float, bool]:
    """Height of the texts below an axis, and whether they are tilted."""
    if not ticks:
        return 2.0, False
    longest = max(len(text) for _, text in ticks)
    if LETTER * longest <= SHOWN_ROOM * room:
        return 20.0, False
    return 16.0 + LETTER * longest * float(np.sin(np.radians(TILT))), True


def _grid(panel: Panel, x: Scale, y: Scale, across: Ticks, up: Ticks) -> str:
    """Faint lines at ticks; of names, stripes or nothing."""
    left, right = sorted((x.start, x.end))
    top, foot = sorted((y.start, y.end))
    lines = ""
    if not panel.x.names:
        places = [pixels(float(x.at(value))) for value, _ in across]
        lines += "".join(f"M{place} {pixels(top)}V{pixels(foot)}" for place in places)
    if not panel.y.names:
        places = [pixels(float(y.at(value))) for value, _ in up]
        lines += "".join(f"M{pixels(left)} {place}H{pixels(right)}" for place in places)
    made = ""
    if lines:
        made += svg_element("path", d=lines, stroke=color_variable("line"), stroke_width="1")
    if panel.striped:
        for stripe in range(0, len(panel.y.names), 2):
            a, b = sorted((float(y.at(stripe - 0.5)), float(y.at(stripe + 0.5))))
            made += svg_element("rect", x=left, y=a, width=right - left, height=b - a,
                                fill=color_variable("line"), fill_opacity="0.35")  # fmt: skip
    zeros = ""
    if panel.x.zero and min(x.low, x.high) <= 0 <= max(x.low, x.high):
        zeros += f"M{pixels(float(x.at(0)))} {pixels(top)}V{pixels(foot)}"
    if panel.y.zero and min(y.low, y.high) <= 0 <= max(y.low, y.high):
        zeros += f"M{pixels(left)} {pixels(float(y.at(0)))}H{pixels(right)}"
    if zeros:
        made += svg_element("path", d=zeros, stroke=color_variable("faint"), stroke_width="1")
    return made


def _axis_texts(panel: Panel, x: Scale, y: Scale, across: Ticks, up: Ticks, tilted: bool) -> str:
    """Texts at ticks, and titles."""
    left, foot = min(x.start, x.end), max(y.start, y.end)
    made = []
    for value, text in across:
        place = float(x.at(value))
        if tilted:
            turn = f"rotate(-{TILT:g} {pixels(place)} {pixels(foot + 10)})"
            made.append(
                svg_text(text, place, foot + 10, anchor="end", color="faint", transform=turn)
            )
        else:
            made.append(svg_text(text, place, foot + 12, color="faint"))
    made += [
        svg_text(text, left - 6, float(y.at(value)), anchor="end", color="faint")
        for value, text in up
    ]
    middle_x, middle_y = (x.start + x.end) / 2, (y.start + y.end) / 2
    if panel.x.title:
        below, _ = _room_below(across, abs(x.end - x.start) / max(len(across), 1))
        made.append(svg_text(clip(panel.x.title, LONGEST_TITLE), middle_x, foot + below + 8,
                             class_="axis-title"))  # fmt: skip
    if panel.y.title:
        longest = max((len(text) for _, text in up), default=0)
        place = left - TICK_ROOM - LETTER * min(longest, LONGEST_NAME) - 8
        turn = f"rotate(-90 {pixels(place)} {pixels(middle_y)})"
        made.append(svg_text(clip(panel.y.title, LONGEST_TITLE), place, middle_y, transform=turn,
                             class_="axis-title"))  # fmt: skip
    return "".join(made)


def _legend(panel: Panel, box: Box) -> tuple[float, str]:
    """Names of the marks in lines above a panel, and how high they are."""
    if panel.legend == "none":
        return 0.0, ""
    entries = [
        (mark.label if isinstance(mark.label, str) else mark.label.text, mark.color)
        for mark in panel.marks
        if isinstance(mark, Dots | Bars | Segments) and mark.label
        if not (isinstance(mark, Bars) and not mark.shown)
    ]
    return legend_lines(entries, box)


def legend_lines(entries: Sequence[tuple[str, str]], box: Box) -> tuple[float, str]:
    """Coloured names in lines at the top of a box: the height that they take, and the elements.

    Examples
    --------
    >>> legend_lines([("a", "c0"), ("b", "c1")], Box(0, 0, 100, 100))[0]
    19.0
    """
    x, line, made = box.left, 0, []
    for text, color in entries:
        text = clip(text)
        wide = 16 + LETTER * len(text) + 14
        if x > box.left and x + wide > box.right:
            x, line = box.left, line + 1
        y = box.top + LINE * (line + 0.5)
        made.append(svg_element("circle", cx=x + 5, cy=y, r=4.5, fill=color_variable(color)))
        made.append(svg_text(text, x + 14, y, anchor="start", class_="legend-text"))
        x += wide
    return (LINE * (line + 1), "".join(made)) if made else (0.0, "")


def _color_bar(mark: Dots, title: str, box: Box) -> str:
    """What colours of values mean."""
    low, high = value_range(np.asarray(mark.values, float))
    steps = 24
    tall = min(box.foot - box.top, 220.0) / steps
    made = [svg_text(clip(title, 12), box.left, box.top + 2, anchor="start", font_size="11")]
    top = box.top + 14
    for step in range(steps):
        color = value_color(1 - step / (steps - 1))
        made.append(svg_element("rect", x=box.left, y=top + step * tall, width=10.0,
                                height=tall + 0.5, fill=color))  # fmt: skip
    ticks = ticks_of(Axis(names=mark.names), low, high, 4)
    for value, text in ticks:
        place = top + (high - value) / (high - low) * steps * tall
        if top - 1 <= place <= top + steps * tall + 1:
            look = {"anchor": "start", "font_size": "10", "color": "faint"}
            made.append(svg_text(clip(text, 8), box.left + 15, place, **look))
    return "".join(made)
