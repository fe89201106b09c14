"""What all figures share: colours, axes of their own, whole files."""

from __future__ import annotations

from typing import Any

INK = "#1f4e79"
ACCENT = "#c8553d"
FAINT = "#8a8a8a"
# Okabe and Ito (2008), told apart under every common colour blindness; their yellow is too pale
# for thin lines on white.
FACTOR_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def new_axis(width: float = 6.4, height: float = 4.0) -> Any:
    """An axis on a figure of its own, without a window or global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def new_axes(rows: int, columns: int, width: float, height: float) -> Any:
    """Axes in rows and columns on a figure of their own: an array of shape (rows, columns)."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").subplots(
        rows, columns, squeeze=False
    )


def save_figure(axis: Any, path: Any) -> None:
    """Write the figure of an axis, whole or not at all; the suffix chooses the format."""
    from geodis.base.write import whole_file

    with whole_file(path) as temporary:
        axis.figure.savefig(temporary, dpi=150, bbox_inches="tight")


def tidy(axis: Any, whole_x: bool = False) -> Any:
    """Take away what no reader needs."""
    axis.spines[["top", "right"]].set_visible(False)
    if whole_x:
        axis.xaxis.get_major_locator().set_params(integer=True)
    return axis
