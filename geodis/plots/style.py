"""Colours, new axes and saving, shared by all figures."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.base.progress import in_notebook

INK = "#1f4e79"
ACCENT = "#c8553d"
FAINT = "#8a8a8a"
PALE = "#c4c4c4"
STRIPE = "#f3f3f3"
# Okabe and Ito (2008): distinguishable under every common colour blindness. Their yellow is left
# out, as it is too pale for thin lines on white.
FACTOR_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# Viridis without its dark end, which would not be visible on a dark page.
VIRIDIS = ("#46337e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725")
VIRIDIS_CHANNELS = np.array([list(bytes.fromhex(color[1:])) for color in VIRIDIS]).T

# Parts of the names of the matplotlib backends that draw below a notebook cell.
BELOW_CELLS = ("inline", "ipympl", "widget", "nbagg")


def value_color(part: float) -> str:
    """Return the colour of `VIRIDIS` at a position in [0, 1].

    Examples
    --------
    >>> value_color(0.0), value_color(1.0)
    ('#46337e', '#fde725')
    """
    stops = np.linspace(0, 1, len(VIRIDIS))
    return "#" + "".join(f"{round(np.interp(part, stops, own)):02x}" for own in VIRIDIS_CHANNELS)


def new_figure(width: float, height: float) -> Any:
    """Make a figure without a window or global state; in a notebook, one that the cell shows."""
    from matplotlib.figure import Figure

    look: dict[str, Any] = {"figsize": (width, height), "layout": "constrained"}
    if in_notebook() and _drawn_below_cells():
        from matplotlib import pyplot

        return pyplot.figure(**look)
    return Figure(**look)


def _drawn_below_cells() -> bool:
    """Whether the backend shows figures below cells; others would accumulate pyplot figures."""
    import matplotlib

    backend = str(matplotlib.get_backend()).lower()
    return any(part in backend for part in BELOW_CELLS)


def forget_figure(figure: Any) -> None:
    """Keep a notebook cell from showing a figure that is drawn for a file or a page."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)


def new_axis(width: float = 6.4, height: float = 4.0) -> Any:
    """Make an axis on a new figure."""
    return new_figure(width, height).add_subplot()


def new_axes(rows: int, columns: int, width: float, height: float, figure: Any = None) -> Any:
    """Make an array of axes, of shape (rows, columns).

    They are on a new figure, or on a given matplotlib `Figure` or `SubFigure` of any size.
    """
    from matplotlib.figure import FigureBase

    if figure is None:
        figure = new_figure(width, height)
    elif not isinstance(figure, FigureBase):
        raise InputError(f"figure must be a matplotlib Figure or SubFigure; got {figure!r}.")
    return figure.subplots(rows, columns, squeeze=False)


def save_figure(axis: Any, path: Any) -> None:
    """Save the figure of an axis atomically; the suffix selects the format."""
    from geodis.base.write import whole_file

    with whole_file(path) as temporary:
        axis.figure.figure.savefig(temporary, dpi=150, bbox_inches="tight")


def tidy(axis: Any, whole_x: bool = False) -> Any:
    """Remove the top and right spines, and optionally place x ticks at integers only."""
    axis.spines[["top", "right"]].set_visible(False)
    if whole_x:
        axis.xaxis.get_major_locator().set_params(integer=True)
    return axis
