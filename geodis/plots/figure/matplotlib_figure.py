"""Draw a `Figure` with matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.base.text import fixed, printable
from geodis.plots.figure.linked_views import Choices, LinkedViews
from geodis.plots.figure.linked_views_matplotlib import draw_views
from geodis.plots.figure.marks import (
    FACTORS,
    Axis,
    Band,
    Bars,
    Cells,
    Color,
    Dots,
    Figure,
    Mark,
    Panel,
    Segments,
    clip,
)
from geodis.plots.style import (
    ACCENT,
    FACTOR_COLORS,
    FAINT,
    INK,
    MARKERS,
    PALE,
    STRIPE,
    VIRIDIS,
    new_axes,
)

COLORS: dict[Color, str] = {
    "main": INK,
    "accent": ACCENT,
    "faint": FAINT,
    "pale": PALE,
    **dict(zip(FACTORS, FACTOR_COLORS, strict=True)),
}
SIZES = {"tiny": 1.5, "fine": 4, "small": 10, "middle": 36, "large": 50}
# Colour of the largest entry, for each kind of matrix.
SHADES = (INK, FACTOR_COLORS[3], FACTOR_COLORS[2], FACTOR_COLORS[1])
MOST_CELLS = 900  # larger matrices are drawn as one image, which keeps pages fast
DARK = 0.55  # opacity above which numbers in cells are white
TILTED: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
LEGENDS: dict[str, dict[str, Any]] = {
    "inside": {"loc": "lower right"},
    "beside": {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "fontsize": 9},
}
HIDDEN = {"open": ("top", "right"), "box": (), "none": ("top", "right", "bottom", "left")}
MOST_TICKS = 30  # labels that fit beside a colour bar
GROUP = 0.8  # width of a group of bars, as a share of the distance between names
LETTER = 0.085  # width in inches of a 10-point letter
SHORT_NAME = 3  # crowded names up to this length are thinned out, longer ones are rotated
LINE_BREAK = "\u2028"  # replaces line breaks in tooltips, as XML attributes cannot hold them


def plain_text(text: Any) -> str:
    r"""Escape dollar signs, which would start a formula in matplotlib.

    Examples
    --------
    >>> plain_text("$x")
    '\\$x'
    """
    return printable(text).replace("$", r"\$")


def draw_figure(
    figure: Figure | Choices | LinkedViews,
    axis: Any = None,
    whole: Any = None,
    *,
    hover: bool = False,
) -> Any:
    """Draw a figure and return its first axis.

    Parameters
    ----------
    figure : Figure, Choices or LinkedViews
        For `Choices`, the first choice is drawn.
    axis : matplotlib axis, optional
        Where to draw a figure of a single panel.
    whole : matplotlib Figure or SubFigure, optional
        Where to draw all panels.
    hover : bool
        Store the tooltips of marks as their links, which `figure_svg` reads.

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
        raise InputError("Linked views make their own axes; got an axis to draw on.")
    count = sum(len(row) for row in figure.panels)
    if count == 1 and figure.panels[0][0] is not None:
        axis = new_axes(1, 1, *figure.size, whole)[0, 0] if axis is None else axis
        draw_panel(axis, figure.panels[0][0], hover=hover)
        _name_grid(np.array([[axis]]), figure)
        return axis
    if axis is not None:
        raise InputError(f"One axis holds one panel; got a figure of {count}.")
    axes = new_axes(len(figure.panels), len(figure.panels[0]), *figure.size, whole)
    drawn = []
    for line, row in zip(axes, figure.panels, strict=True):
        for place, panel in zip(line, row, strict=True):
            if panel is None:
                place.remove()
            else:
                drawn.append(draw_panel(place, panel, hover=hover))
    _name_grid(axes, figure)
    return drawn[0]


def _name_grid(axes: Any, figure: Figure) -> None:
    """Write the names of rows and columns, and the title of the figure."""
    for column, name in zip(axes.T, figure.columns, strict=False):
        _first_drawn(column).set_title(plain_text(clip(name)), fontsize=9)
    for row, name in zip(axes, figure.rows, strict=False):
        _first_drawn(row).set_ylabel(plain_text(clip(name)), fontsize=9)
    if figure.title:
        whole = _first_drawn(axes.ravel()).figure
        whole.suptitle(plain_text(figure.title), fontsize=10, x=0.01, ha="left")


def _first_drawn(axes: Sequence[Any]) -> Any:
    """Return the first axis that was not removed."""
    return next(axis for axis in axes if axis.figure is not None)


def draw_panel(axis: Any, panel: Panel, *, hover: bool = False) -> Any:
    """Draw the marks of a panel and format the axis; return the axis."""
    if panel.empty:
        axis.text(
            0.5, 0.5, plain_text(panel.empty), ha="center", va="center", transform=axis.transAxes
        )
        axis.set_axis_off()
        return axis
    axis.set(xscale="log" if panel.x.log else "linear", yscale="log" if panel.y.log else "linear")
    bars = [mark for mark in panel.marks if isinstance(mark, Bars)]
    for k, group in enumerate(bars):
        _draw_bars(axis, group, k, len(bars), _hover_texts(group, panel) if hover else [])
    for mark in panel.marks:
        if not isinstance(mark, Bars):
            DRAWN[type(mark)](axis, mark, _hover_texts(mark, panel) if hover else [])
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


def _hover_texts(mark: Mark, panel: Panel) -> list[str]:
    """Fill in the tooltip of every entry of a mark; empty for marks without tooltips."""
    if isinstance(mark, Segments | Band) or not mark.hover:
        return []
    if isinstance(mark, Cells):
        rows, columns = np.shape(mark.values)
        x = _names_at(np.tile(np.arange(columns), rows), panel.x.names)
        y = _names_at(np.repeat(np.arange(rows), columns), panel.y.names)
        fields: dict[str, Sequence[Any]] = {"x": x, "y": y, "z": np.ravel(mark.values).tolist()}
        label = ""
    elif isinstance(mark, Bars):
        heights = np.asarray(mark.heights, dtype=float).tolist()
        fields = {"x": _names_at(np.arange(len(heights)), panel.x.names), "y": heights, **mark.told}
        label = mark.label
    else:
        x, y = (
            _names_at(np.asarray(mark.x), panel.x.names),
            _names_at(np.asarray(mark.y), panel.y.names),
        )
        fields = {"x": x, "y": y, **mark.told}
        label = mark.label if isinstance(mark.label, str) else mark.label.text
    count = len(fields["x"])
    entries = ({name: values[i] for name, values in fields.items()} for i in range(count))
    texts = (mark.hover.format(label=label, **entry) for entry in entries)
    return [printable(text).replace("\n", LINE_BREAK) for text in texts]


def _names_at(values: np.ndarray, names: Sequence[str]) -> list[Any]:
    """Replace integer positions by their names; without names, return the numbers."""
    if names:
        return [names[int(v)] if 0 <= v < len(names) else v for v in values.tolist()]
    return [int(v) if float(v).is_integer() else v for v in values.tolist()]


def _mark_axes(axis: Any, panel: Panel) -> None:
    """Set names, ticks, limits and lines of both axes."""
    for name, one in (("x", panel.x), ("y", panel.y)):
        _mark_axis(axis, name, one)
    if panel.striped:
        for stripe in range(0, len(panel.y.names), 2):
            axis.axhspan(stripe - 0.5, stripe + 0.5, color=STRIPE, linewidth=0, zorder=-1)
    if panel.equal:
        axis.set_aspect("equal", adjustable="box")


def _mark_axis(axis: Any, name: str, one: Axis) -> None:
    if one.title:
        axis.set(**{f"{name}label": plain_text(one.title)})
    if not one.ticks:
        axis.set(**{f"{name}ticks": []})
    elif one.names:
        names = [plain_text(clip(text)) for text in one.names]
        style, step = dict[str, Any](), 1
        if name == "x" and (crowded := _crowding(axis, names)) > 1:
            if max(map(len, names)) <= SHORT_NAME:
                step = int(np.ceil(crowded))
            else:
                style = TILTED
        places = range(0, len(names), step)
        getattr(axis, f"set_{name}ticks")(places, names[::step], **style)
    if one.whole:
        getattr(axis, f"{name}axis").get_major_locator().set_params(integer=True)
    if one.limits is not None:
        axis.set(**{f"{name}lim": one.limits})
    if one.from_zero:
        getattr(axis, f"set_{name}lim")(0)
    if one.zero:
        {"x": axis.axvline, "y": axis.axhline}[name](0, color=FAINT, lw=0.8)


def _crowding(axis: Any, names: Sequence[str]) -> float:
    """Return the width of the longest tick label over the space for each; above 1 they overlap."""
    columns = axis.get_gridspec().ncols if axis.get_gridspec() else 1
    room = 0.8 * axis.figure.figure.get_figwidth() / columns / len(names)
    return LETTER * max(map(len, names)) / room


def _draw_bars(axis: Any, mark: Bars, k: int, count: int, hover: list[str]) -> None:
    """Draw the k-th of `count` sets of bars, side by side within each group."""
    width = GROUP / count
    heights = np.asarray(mark.heights, dtype=float)
    place = np.arange(len(heights)) + (k - (count - 1) / 2) * width
    drawn = axis.bar(
        place, heights, width, color=COLORS[mark.color], label=plain_text(clip(mark.label))
    )
    for bar, text in zip(drawn, hover, strict=False):
        bar.set_url(text)
    axis.set_xlim(-0.5, len(heights) - 0.5)
    axis.tick_params(axis="x", length=0)


def _draw_dots(axis: Any, mark: Dots, hover: list[str]) -> None:
    color = COLORS[mark.color]
    style: dict[str, Any] = {"color": color, "linewidths": 0}
    if mark.values is not None:
        from matplotlib.colors import LinearSegmentedColormap

        scale = LinearSegmentedColormap.from_list("values", VIRIDIS)
        style = {"c": np.asarray(mark.values), "cmap": scale, "linewidths": 0}
    elif mark.hollow:
        style = {"facecolor": "white", "edgecolor": color}
    shown = axis.scatter(
        np.asarray(mark.x),
        np.asarray(mark.y),
        s=SIZES[mark.size],
        marker=MARKERS[mark.marker % len(MARKERS)],
        alpha=mark.alpha,
        label=plain_text(clip(mark.label)) or None,
        clip_on=mark.spans is None and not mark.hollow,
        zorder=0 if mark.size == "tiny" else 3,
        **style,
    )
    if hover:
        shown.set_urls(hover)
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


def _draw_cells(axis: Any, mark: Cells, hover: list[str]) -> None:
    """Draw cells whose opacity grows with the entry, and their numbers."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgba

    color = to_rgba(SHADES[mark.shade % len(SHADES)])
    stops = [(*color[:3], 0.0), color]
    if mark.diverging:
        stops = [to_rgba(ACCENT), (1, 1, 1, 0.0), color]
    palette = LinearSegmentedColormap.from_list("cells", stops)
    scale = Normalize(mark.low, mark.high if mark.high > mark.low else mark.low + 1)
    values = np.asarray(mark.values, dtype=float)
    rows, columns = values.shape
    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    squares = [corners + np.array([j, i]) for i, j in np.ndindex(rows, columns)]
    known = np.isfinite(values).ravel()
    look: dict[str, Any] = {"cmap": palette, "norm": scale}
    if values.size > MOST_CELLS:
        shown = axis.imshow(values, interpolation="none", aspect="auto", **look)
    else:
        look |= {"edgecolors": "white", "linewidths": 0.5}
        own = [square for square, there in zip(squares, known, strict=True) if there]
        shown = PolyCollection(own, array=values.ravel()[known], **look)
        if hover:
            shown.set_urls([text for text, there in zip(hover, known, strict=True) if there])
        axis.add_collection(shown)
    gaps = [square for square, there in zip(squares, known, strict=True) if not there]
    gap_look: dict[str, Any] = {
        "facecolor": "none",
        "edgecolor": FAINT,
        "hatch": "///",
        "linewidths": 0,
    }
    axis.add_collection(PolyCollection(gaps, **gap_look))
    axis.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    axis.tick_params(length=0)
    if mark.bar:
        bar = axis.figure.colorbar(shown, ax=axis, shrink=0.8)
        bar.outline.set_visible(False)
        bar.set_label(plain_text(mark.unit))
    if mark.digits is None:
        return
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value):
            ink = "white" if palette(scale(value))[3] > DARK else "black"
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "color": ink}
            axis.text(j, i, fixed(value, mark.digits), **style)


def _draw_segments(axis: Any, mark: Segments, hover: list[str]) -> None:
    from matplotlib.collections import LineCollection

    color = COLORS[mark.color]
    lines = LineCollection(
        list(np.asarray(mark.ends)), colors=color, alpha=mark.alpha, linewidths=1.3
    )
    axis.add_collection(lines)
    axis.plot([], [], color=color, label=plain_text(mark.label))


def _draw_band(axis: Any, mark: Band, hover: list[str]) -> None:
    axis.axhspan(mark.low, mark.high, color=FAINT, alpha=0.15, linewidth=0)
    log = axis.get_yscale() == "log"
    middle = np.sqrt(mark.low * mark.high) if log else (mark.low + mark.high) / 2
    place = axis.get_yaxis_transform()
    axis.text(0.5, middle, plain_text(mark.text), ha="center", va="center", transform=place)


DRAWN: dict[type, Callable[[Any, Any, list[str]], None]] = {
    Dots: _draw_dots,
    Cells: _draw_cells,
    Segments: _draw_segments,
    Band: _draw_band,
}
