"""Marks -> elements of SVG at the places that two scales give."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from io import BytesIO
from typing import Any

import numpy as np

from geodis.base.text import fixed
from geodis.plots.figure.labels import clip
from geodis.plots.figure.marks import Band, Bars, Cells, Dots, Mark, Segments
from geodis.plots.vector.svg_elements import (
    PALETTE,
    color_variable,
    pixels,
    svg_element,
    svg_text,
)
from geodis.plots.vector.svg_scales import Scale

RADII = {"tiny": 1.2, "fine": 1.8, "small": 2.3, "middle": 4.0, "large": 5.0}
# Outlines of markers within a square from -1 to 1; the first is a circle.
OUTLINES = (
    "",
    "M-.9-.9H.9V.9H-.9Z",
    "M0-1.1L1 .8H-1Z",
    "M0-1.2L1.2 0L0 1.2L-1.2 0Z",
    "M0 1.1L1-.8H-1Z",
    "M-.4-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
    "M-1-.6L-.6-1L0-.4L.6-1L1-.6L.4 0L1 .6L.6 1L0 .4L-.6 1L-1 .6L-.4 0Z",
)
GROUP = 0.8  # of the room of a name, for all of its bars
WIDEST_BAR = 60.0
MOST_CELLS = 900  # more are one image, for a page of so many elements would be slow
DARK = 0.55  # from this share of the scale on, numbers are written in the colour of the paper
# Viridis without its dark end, which would be lost on a dark page.
VIRIDIS = ("#46337e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725")


def mark_elements(mark: Mark, x: Scale, y: Scale, names: Mapping[str, Sequence[str]]) -> str:
    """The elements of one mark.

    Parameters
    ----------
    mark : Mark
        With places of its own, as `Choices.figure` gives them.
    x, y : Scale
    names : mapping of "x" and "y" to sequence of str
        Of the axes, for what the pointer is told.
    """
    return DRAWN_AS[type(mark)](mark, x, y, names)


def value_color(part: float) -> str:
    """A colour for a share of a scale.

    Examples
    --------
    >>> value_color(0.0), value_color(1.0)
    ('#46337e', '#fde725')
    """
    place = min(max(part, 0.0), 1.0) * (len(VIRIDIS) - 1)
    below = min(int(place), len(VIRIDIS) - 2)
    far = place - below
    red, green, blue = (
        round(a + far * (b - a))
        for a, b in zip(_rgb(VIRIDIS[below]), _rgb(VIRIDIS[below + 1]), strict=True)
    )
    return f"#{red:02x}{green:02x}{blue:02x}"


@cache
def _rgb(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def _tips(mark: Dots | Bars, columns: Mapping[str, Sequence[Any]], count: int) -> list[str | None]:
    """What the pointer is told of every entry."""
    if not mark.hover:
        return [None] * count
    label = mark.label if isinstance(mark.label, str) else mark.label.text
    every: Mapping[str, Sequence[Any]] = {**columns, **mark.told}
    return [
        mark.hover.format(label=label, **{name: values[i] for name, values in every.items()})
        for i in range(count)
    ]


def _dots(mark: Dots, x: Scale, y: Scale, names: Mapping[str, Sequence[str]]) -> str:
    xs, ys = np.asarray(mark.x, dtype=float), np.asarray(mark.y, dtype=float)
    across, up, radius = x.at(xs), y.at(ys), RADII[mark.size]
    tips = _tips(mark, {"x": _named(xs, names["x"]), "y": _named(ys, names["y"])}, len(xs))
    colors = _dot_colors(mark, len(xs))
    made = [_span(span, x, up[i]) for i, span in enumerate(mark.spans or ())]
    outline = OUTLINES[mark.marker % len(OUTLINES)]
    for i in np.flatnonzero(np.isfinite(across) & np.isfinite(up)):
        look: dict[str, Any] = {"data_tip": tips[i]}
        if colors is not None:
            look["fill"] = colors[i]
        if outline:
            turned = f"translate({pixels(across[i])} {pixels(up[i])}) scale({radius})"
            made.append(svg_element("path", d=outline, transform=turned, **look))
        else:
            made.append(svg_element("circle", cx=across[i], cy=up[i], r=radius, **look))
    for i, note in enumerate(mark.notes):
        made.append(svg_text(note, across[i], up[i] - 12, font_size="9"))
    own = color_variable(mark.color)
    hollow = {"fill": color_variable("paper"), "stroke": own, "stroke_width": "1.5"}
    look = hollow if mark.hollow else {"fill": own}
    return svg_element("g", "".join(made), opacity=f"{mark.alpha:g}", **look)


def _dot_colors(mark: Dots, count: int) -> list[str] | None:
    if mark.values is None:
        return None
    values = np.asarray(mark.values, dtype=float)
    low, high = value_range(values)
    return [
        value_color((value - low) / (high - low)) if np.isfinite(value) else PALETTE["pale"]
        for value in values[:count]
    ]


def value_range(values: np.ndarray) -> tuple[float, float]:
    """Least and greatest, apart even where all are the same.

    Examples
    --------
    >>> value_range(np.array([2.0, np.nan, 5.0])), value_range(np.array([1.0]))
    ((2.0, 5.0), (1.0, 2.0))
    """
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    return low, high if high > low else low + 1.0


def _named(values: np.ndarray, names: Sequence[str]) -> Sequence[Any]:
    """Names at whole places; numbers where there are none."""
    if not names:
        return [int(value) if float(value).is_integer() else float(value) for value in values]
    return [names[int(value)] if 0 <= value < len(names) else value for value in values]


def _span(span: tuple[float, float] | None, x: Scale, up: float) -> str:
    if span is None:
        return ""
    left, right = x.at(span)
    return svg_element("path", d=f"M{pixels(left)} {pixels(up)}H{pixels(right)}",
                       stroke=color_variable("ink"), stroke_width="1.3")  # fmt: skip


def bar_elements(
    bars: Sequence[Bars], x: Scale, y: Scale, names: Mapping[str, Sequence[str]]
) -> str:
    """Bars side by side over the same names."""
    width = GROUP / max(len(bars), 1)
    made = []
    for k, mark in enumerate(bars):
        heights = np.asarray(mark.heights, dtype=float)
        places = np.arange(len(heights))
        left = x.at(places + (k - len(bars) / 2) * width)
        wide = x.at(places + (k + 1 - len(bars) / 2) * width) - left
        if len(bars) == 1:  # few bars need not fill the page
            spare = np.maximum(wide - WIDEST_BAR, 0)
            left, wide = left + spare / 2, wide - spare
        foot, top = y.at(0.0), y.at(heights)
        tips = _tips(mark, {"x": _named(places, names["x"]), "y": heights.tolist()}, len(heights))
        own = [
            svg_element("rect", x=left[i], y=min(foot, top[i]), width=max(wide[i] - 1, 1),
                        height=max(abs(foot - top[i]), 0.5), data_tip=tips[i])
            for i in np.flatnonzero(np.isfinite(heights))
        ]  # fmt: skip
        made.append(svg_element("g", "".join(own), fill=color_variable(mark.color)))
    return "".join(made)


def _cells(mark: Cells, x: Scale, y: Scale, names: Mapping[str, Sequence[str]]) -> str:
    values = np.asarray(mark.values, dtype=float)
    rows, columns = values.shape
    high = mark.high if mark.high > mark.low else mark.low + 1.0
    left, right = x.at(np.arange(columns) - 0.5), x.at(np.arange(columns) + 0.5)
    top, foot = y.at(np.arange(rows) - 0.5), y.at(np.arange(rows) + 0.5)
    part = np.clip((values - mark.low) / (high - mark.low), 0, 1)
    if values.size > MOST_CELLS:
        return _cell_image(part, left.min(), top.min(), right.max(), foot.max())
    gap = 1.0 if rows * columns <= 200 else 0.0
    made = []
    for i, j in np.ndindex(rows, columns):
        place = {"x": left[j], "y": top[i], "width": right[j] - left[j] - gap,
                 "height": foot[i] - top[i] - gap}  # fmt: skip
        if not np.isfinite(values[i, j]):
            look = {"fill": "none", "stroke": color_variable("line"), "stroke_dasharray": "3 3"}
            made.append(svg_element("rect", **place, **look))
            continue
        color, strength = _cell_color(mark, part[i, j])
        made.append(
            svg_element("rect", **place, fill=color_variable(color), fill_opacity=f"{strength:.3g}",
                        data_tip=_cell_tip(mark, values[i, j], i, j, names))
        )  # fmt: skip
        if mark.digits is not None:
            text = fixed(values[i, j], mark.digits)
            ink = "paper" if strength > DARK else "ink"
            middle = (left[j] + right[j]) / 2, (top[i] + foot[i]) / 2
            made.append(svg_text(text, *middle, color=ink, font_size="10", pointer_events="none"))
    return "".join(made)


def _cell_color(mark: Cells, part: float) -> tuple[str, float]:
    if mark.diverging:
        return ("high" if part >= 0.5 else "accent"), abs(2 * part - 1)
    return "high", part


def _cell_tip(
    mark: Cells, value: float, i: int, j: int, names: Mapping[str, Sequence[str]]
) -> str | None:
    if not mark.hover:
        return None
    told = {"x": names["x"][j] if names["x"] else j, "y": names["y"][i] if names["y"] else i}
    return mark.hover.format(z=value, **told)


def _cell_image(part: np.ndarray, left: float, top: float, right: float, foot: float) -> str:
    """A matrix of many cells: their strengths as an image, in the colour of the scale."""
    from PIL import Image

    strength = np.rint(255 * np.nan_to_num(part)).astype(np.uint8)
    color = np.broadcast_to(np.array(_rgb(PALETTE["c0"]), dtype=np.uint8), (*part.shape, 3))
    file = BytesIO()
    Image.fromarray(np.dstack([color, strength]), "RGBA").save(file, "PNG", optimize=True)
    text = base64.b64encode(file.getvalue()).decode("ascii")
    return svg_element(
        "image", x=left, y=top, width=right - left, height=foot - top,
        preserveAspectRatio="none", style="image-rendering:pixelated",
        href=f"data:image/png;base64,{text}",
    )  # fmt: skip


def _segments(mark: Segments, x: Scale, y: Scale, names: Mapping[str, Sequence[str]]) -> str:
    ends = np.asarray(mark.ends, dtype=float)
    across, up = x.at(ends[..., 0]), y.at(ends[..., 1])
    path = "".join(
        f"M{pixels(a[0])} {pixels(b[0])}L{pixels(a[1])} {pixels(b[1])}"
        for a, b in zip(across, up, strict=True)
    )
    alpha = float(np.mean(mark.alpha)) if len(ends) else 1.0
    return svg_element("path", d=path or "M0 0", fill="none", stroke_width="1.4",
                       stroke=color_variable(mark.color), opacity=f"{alpha:.2g}")  # fmt: skip


def _band(mark: Band, x: Scale, y: Scale, names: Mapping[str, Sequence[str]]) -> str:
    low, high = float(y.at(mark.low)), float(y.at(mark.high))
    top, tall = min(low, high), abs(high - low)
    wide = abs(x.end - x.start)
    box = svg_element("rect", x=min(x.start, x.end), y=top, width=wide, height=tall,
                      fill=color_variable("faint"), fill_opacity="0.15")  # fmt: skip
    return box + svg_text(clip(mark.text), (x.start + x.end) / 2, top + tall / 2)


DRAWN_AS: dict[type, Callable[[Any, Scale, Scale, Mapping[str, Sequence[str]]], str]] = {
    Dots: _dots,
    Cells: _cells,
    Segments: _segments,
    Band: _band,
}
