"""Figure -> matplotlib, as papers need it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.base.text import fixed
from geodis.plots.figure.choices import Choices
from geodis.plots.figure.linked_views import LinkedViews
from geodis.plots.figure.marks import (
    FACTORS,
    Axis,
    Band,
    Bars,
    Cells,
    Color,
    Dots,
    Figure,
    Panel,
    Segments,
)
from geodis.plots.figure.views_on_paper import draw_views
from geodis.plots.style import ACCENT, FACTOR_COLORS, FAINT, INK, MARKERS, new_axes

COLORS: dict[Color, str] = {
    "main": INK,
    "accent": ACCENT,
    "faint": FAINT,
    "pale": "#c4c4c4",
    **dict(zip(FACTORS, FACTOR_COLORS, strict=True)),
}
SIZES = {"tiny": 1.5, "fine": 4, "small": 10, "middle": 36, "large": 50}
SHADES = ("Blues", "Purples", "Greens", "Oranges")
TILTED: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
LEGENDS: dict[str, dict[str, Any]] = {
    "inside": {"loc": "lower right"},
    "beside": {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "fontsize": 9},
    "below": {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "ncols": 3},
}
HIDDEN = {"open": ("top", "right"), "box": (), "none": ("top", "right", "bottom", "left")}
MOST_TICKS = 30  # names beside a scale that can be read
GROUP = 0.8  # of the room of a name, for all of its bars


def plain_text(text: Any) -> str:
    r"""Text that matplotlib shows as it is: a dollar sign would start a formula.

    Examples
    --------
    >>> plain_text("$x")
    '\\$x'
    """
    return str(text).replace("$", r"\$")


def draw_figure(figure: Figure | Choices | LinkedViews, axis: Any = None, whole: Any = None) -> Any:
    """Draw every panel, on a given axis if there is only one; return the first axis.

    `whole` is a figure or subfigure of matplotlib that takes all panels.

    Of what a reader would choose, the first is drawn.

    Examples
    --------
    >>> from geodis.plots.figure.marks import one_panel
    >>> axis = draw_figure(one_panel("a", "bars", Panel([Bars([1.0, 2.0])])))
    >>> float(axis.patches[1].get_height())
    2.0
    """
    if isinstance(figure, Choices):
        figure = figure.figure()
    if isinstance(figure, LinkedViews) and axis is None:
        return draw_views(figure, whole)
    if isinstance(figure, LinkedViews):
        raise InputError("Linked views have axes of their own; got one to draw on.")
    count = sum(len(row) for row in figure.panels)
    if count == 1 and figure.panels[0][0] is not None:
        axis = new_axes(1, 1, *figure.size, whole)[0, 0] if axis is None else axis
        draw_panel(axis, figure.panels[0][0])
        _name_grid(np.array([[axis]]), figure)
        return axis
    if axis is not None:
        raise InputError(f"One axis shows one panel; got a figure of {count}.")
    axes = new_axes(len(figure.panels), len(figure.panels[0]), *figure.size, whole)
    drawn = []
    for line, row in zip(axes, figure.panels, strict=True):
        for place, panel in zip(line, row, strict=True):
            if panel is None:
                place.remove()
            else:
                drawn.append(draw_panel(place, panel))
    _name_grid(axes, figure)
    return drawn[0]


def _name_grid(axes: Any, figure: Figure) -> None:
    """Names of rows and columns, a title and a legend for all."""
    for axis, name in zip(axes[0], figure.columns, strict=False):
        axis.set_title(plain_text(name), fontsize=9)
    for axis, name in zip(axes[:, 0], figure.rows, strict=False):
        axis.set_ylabel(plain_text(name), fontsize=9)
    whole = axes[0, 0].figure
    if figure.title:
        whole.suptitle(plain_text(figure.title), fontsize=10, x=0.01, ha="left")
    if figure.legend:
        entries = axes[0, 0].get_legend_handles_labels()
        apart = whole.get_layout_engine() is not None  # else it would lie on the panels
        place = "outside lower center" if apart else "lower center"
        whole.legend(*entries, loc=place, ncols=axes.shape[1], frameon=False)


def draw_panel(axis: Any, panel: Panel) -> Any:
    """Draw the marks of a panel on an axis, and the axis; return it."""
    if panel.empty:
        axis.text(0.5, 0.5, panel.empty, ha="center", va="center", transform=axis.transAxes)
        axis.set_axis_off()
        return axis
    _scale(axis, panel)
    _draw_bars(axis, [mark for mark in panel.marks if isinstance(mark, Bars) and mark.shown])
    for mark in panel.marks:
        if not isinstance(mark, Bars):
            DRAWN[type(mark)](axis, mark)
    _mark_axes(axis, panel)
    if panel.title:
        axis.set_title(plain_text(panel.title), loc="left", fontsize=10)
    if panel.note and panel.x.title:
        axis.set_xlabel(plain_text(f"{panel.x.title}\n{panel.note}"))
    elif panel.note:
        axis.set_xlabel(plain_text(panel.note), fontsize=8, color=FAINT)
    if panel.legend != "none":
        axis.legend(frameon=False, **LEGENDS[panel.legend])
    for side in HIDDEN[panel.frame]:
        axis.spines[side].set_visible(False)
    return axis


def _scale(axis: Any, panel: Panel) -> None:
    for name, one in (("x", panel.x), ("y", panel.y)):
        if one.log:
            axis.set(**{f"{name}scale": "log"})


def _mark_axes(axis: Any, panel: Panel) -> None:
    """Names, ticks, limits and lines."""
    for name, one in (("x", panel.x), ("y", panel.y)):
        _mark_axis(axis, name, one)
    if panel.striped:
        for stripe in range(0, len(panel.y.names), 2):
            axis.axhspan(stripe - 0.5, stripe + 0.5, color="#f3f3f3", linewidth=0, zorder=-1)
    if panel.equal:
        axis.set_aspect("equal", adjustable="box")


def _mark_axis(axis: Any, name: str, one: Axis) -> None:
    if one.title:
        axis.set(**{f"{name}label": plain_text(one.title)})
    if not one.ticks:
        axis.set(**{f"{name}ticks": []})
    elif one.names:
        style = TILTED if one.tilted else {}
        set_ticks = getattr(axis, f"set_{name}ticks")
        set_ticks(range(len(one.names)), [plain_text(text) for text in one.names], **style)
    if one.whole:
        getattr(axis, f"{name}axis").get_major_locator().set_params(integer=True)
    if one.limits is not None:
        axis.set(**{f"{name}lim": one.limits})
    if one.from_zero:
        getattr(axis, f"set_{name}lim")(0)
    if one.zero:
        {"x": axis.axvline, "y": axis.axhline}[name](0, color=FAINT, lw=0.8)


def _draw_bars(axis: Any, bars: list[Bars]) -> None:
    width = GROUP / max(len(bars), 1)
    for k, mark in enumerate(bars):
        place = np.arange(len(mark.heights)) + (k - (len(bars) - 1) / 2) * width
        heights = np.asarray(mark.heights, dtype=float)
        label = plain_text(mark.label)
        axis.bar(place, heights, width, color=COLORS[mark.color], label=label)
    if bars:
        axis.tick_params(axis="x", length=0)


def _draw_dots(axis: Any, mark: Dots) -> None:
    color = COLORS[mark.color]
    style: dict[str, Any] = {"color": color, "linewidths": 0}
    if mark.values is not None:
        style = {"c": np.asarray(mark.values), "cmap": "viridis", "linewidths": 0}
    elif mark.hollow:
        style = {"facecolor": "white", "edgecolor": color}
    shown = axis.scatter(
        np.asarray(mark.x),
        np.asarray(mark.y),
        s=SIZES[mark.size],
        marker=MARKERS[mark.marker % len(MARKERS)],
        alpha=mark.alpha,
        label=plain_text(mark.label) or None,
        clip_on=mark.spans is None and not mark.hollow,
        zorder=0 if mark.size == "tiny" else 3,
        **style,
    )
    if mark.values is not None:
        bar = axis.figure.colorbar(shown, ax=axis, shrink=0.8)
        bar.outline.set_visible(False)
        if mark.names and len(mark.names) <= MOST_TICKS:
            bar.set_ticks(range(len(mark.names)), labels=[plain_text(one) for one in mark.names])
    for span, y in zip(mark.spans or (), np.asarray(mark.y), strict=False):
        if span is not None:
            axis.plot(span, [y, y], color=color, lw=1.2)
    for x, y, note in zip(np.asarray(mark.x), np.asarray(mark.y), mark.notes, strict=False):
        above: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": 8}
        axis.annotate(plain_text(note), (x, y), (0, 7), **above)


def _draw_cells(axis: Any, mark: Cells) -> None:
    """Coloured cells with their numbers, white on dark."""
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    palette = colormaps["RdBu" if mark.diverging else SHADES[mark.shade % len(SHADES)]]
    scale = Normalize(mark.low, mark.high if mark.high > mark.low else mark.low + 1)
    axis.patch.set(facecolor="#dddddd", hatch="///", edgecolor=FAINT)  # shows where NaN is
    shown = axis.imshow(
        np.asarray(mark.values, float), palette, scale, interpolation="nearest", aspect="auto"
    )
    axis.tick_params(length=0)
    if mark.bar:
        bar = axis.figure.colorbar(shown, ax=axis, shrink=0.8)
        bar.outline.set_visible(False)
        bar.set_label(plain_text(mark.unit))
    if mark.digits is None:
        return
    for (i, j), value in np.ndenumerate(mark.values):
        if np.isfinite(value):
            red, green, blue, _ = palette(scale(value))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7}
            axis.text(j, i, fixed(value, mark.digits), color="white" if dark else "k", **style)


def _draw_segments(axis: Any, mark: Segments) -> None:
    from matplotlib.collections import LineCollection

    color = COLORS[mark.color]
    lines = LineCollection(
        list(np.asarray(mark.ends)), colors=color, alpha=mark.alpha, linewidths=1.3
    )
    axis.add_collection(lines)
    axis.plot([], [], color=color, label=plain_text(mark.label))


def _draw_band(axis: Any, mark: Band) -> None:
    axis.axhspan(mark.low, mark.high, color=FAINT, alpha=0.15, linewidth=0)
    log = axis.get_yscale() == "log"
    middle = np.sqrt(mark.low * mark.high) if log else (mark.low + mark.high) / 2
    place = axis.get_yaxis_transform()
    axis.text(0.5, middle, plain_text(mark.text), ha="center", va="center", transform=place)


DRAWN: dict[type, Callable[[Any, Any], None]] = {
    Dots: _draw_dots,
    Cells: _draw_cells,
    Segments: _draw_segments,
    Band: _draw_band,
}
