"""Draw linked views with matplotlib, with a row of panels per coloring."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from geodis.plots.figure.linked_views import LinkedViews, Outline, View, spread_order
from geodis.plots.style import FAINT, new_axes

WIDE, HIGH = 3.9, 3.5  # inches of a panel
MOST_ACROSS = 3
# The front and the back of a surface are drawn at these horizontal offsets, in its radii; images
# need more space.
SIDE_OFFSET, SIDE_OFFSET_IMAGES = 1.08, 1.22
# Half the side of an image, in halves of the picture, and the number of candidates.
HALF_IMAGE, TRIED_IMAGES = 0.115, 400
BEHIND, IN_FRONT = 0.25, 0.9
TITLE_LENGTH, NOTE_LENGTH = 44, 62


def draw_views(figure: LinkedViews, whole: Any = None) -> Any:
    """Draw every view, in one or more rows per coloring; return the first axis.

    Examples
    --------
    >>> from geodis.plots.figure.linked_views import SpotColors
    >>> view = View("here", "", np.zeros((1, 3)))
    >>> axis = draw_views(LinkedViews("v", "", [view], [SpotColors("all", [["#ff0000"]])]))
    >>> axis.get_title(loc="left")
    'here'
    """
    count, colorings = len(figure.views), figure.colorings[: figure.n_on_paper]
    across = min(count, MOST_ACROSS) if len(colorings) == 1 else count
    down = -(-count // across)
    axes = new_axes(
        down * len(colorings), across, WIDE * across, HIGH * down * len(colorings), whole
    )
    for number, coloring in enumerate(colorings):
        own = axes[number * down : (number + 1) * down].ravel()
        for j, view in enumerate(figure.views):
            _draw_view(own[j], view, np.asarray(coloring.of_view(j)), figure.images)
        for axis in own[count:]:
            axis.remove()
        if coloring.legend:
            _write_legend(own[count - 1], coloring.name, coloring.legend)
    return axes[0, 0]


def _draw_view(axis: Any, view: View, colors: np.ndarray, images: np.ndarray | None) -> None:
    sides = view.sides
    offset = SIDE_OFFSET if images is None else SIDE_OFFSET_IMAGES
    shifts = [0.0] if len(sides) == 1 else [-offset, offset]
    for side, shift in zip(sides, shifts, strict=True):
        seen = view.places @ side
        front = seen[:, 2] >= 0 if view.hides else np.ones(len(seen), bool)
        for line in view.outlines:
            _draw_outline(axis, line, side, shift, view)
        _draw_spots(axis, seen[front], colors[front], shift, view)
        if images is not None:
            first = view.first_images
            rows = np.flatnonzero(front) if first is None else first
            rows = rows[front[rows]]
            _draw_images(axis, seen[rows], images[rows], shift, len(sides))
        for text, place in view.letters:
            x, y, depth = place @ side
            axis.text(1.07 * x + shift, 1.07 * y, text, ha="center", va="center", fontsize=9,
                      alpha=IN_FRONT if depth > -0.5 else 2 * BEHIND)  # fmt: skip
    half = 1.15 if len(sides) == 1 else offset + 1.2
    low = 1.15 + (offset - SIDE_OFFSET)
    axis.set(xlim=(-half, half), ylim=(-half, half) if len(sides) == 1 else (-low, low))
    axis.set_aspect("equal")
    axis.set_anchor("NW")
    axis.set_axis_off()
    if len(sides) > 1:
        for text, shift in zip(("front", "back"), shifts, strict=True):
            axis.text(shift, 0.05 - low, text, ha="center", va="top", fontsize=8, color=FAINT)
    axis.set_title(_wrapped(view.title, TITLE_LENGTH), loc="left", fontsize=10)
    axis.text(0.0, -0.06, _wrapped(view.note, NOTE_LENGTH), transform=axis.transAxes, fontsize=7,
              color=FAINT, va="top")  # fmt: skip


def _wrapped(text: str, length: int) -> str:
    return "\n".join(textwrap.wrap(text, length)).replace("$", r"\$")


def _draw_outline(axis: Any, line: Outline, side: np.ndarray, shift: float, view: View) -> None:
    seen = line.path if line.look == "silhouette" else line.path @ side
    if view.hides:
        seen = np.where((seen[:, 2] >= -0.02)[:, None], seen, np.nan)
    edge = line.look == "edge"
    look: dict[str, Any] = {"color": "black" if edge else FAINT, "lw": 1.0 if edge else 0.6}
    axis.plot(seen[:, 0] + shift, seen[:, 1], alpha=0.9 if edge else 0.5, zorder=1, **look)
    for head in range(line.heads):
        start, end = seen[0, :2], seen[-1, :2]
        place = start + (end - start) * (0.5 + 0.035 * (head - (line.heads - 1) / 2))
        axis.annotate(
            "",
            place + 0.02 * (end - start),
            place - 0.02 * (end - start),
            arrowprops={"arrowstyle": "->", "color": "black", "lw": 1.2},
            zorder=5,
        )


def _draw_spots(axis: Any, seen: np.ndarray, colors: np.ndarray, shift: float, view: View) -> None:
    order = np.argsort(seen[:, 2])
    alpha = np.full(len(seen), IN_FRONT)
    if view.turns and not view.hides:
        alpha = BEHIND + (IN_FRONT - BEHIND) * (seen[:, 2] + 1) / 2
    axis.scatter(
        seen[order, 0] + shift,
        seen[order, 1],
        c=list(colors[order]),
        alpha=np.clip(alpha[order], 0, 1),
        s=9 if len(seen) < 1000 else 6,
        linewidths=0,
        zorder=2,
        rasterized=True,
    )


def _draw_images(
    axis: Any, seen: np.ndarray, images: np.ndarray, shift: float, n_sides: int
) -> None:
    """Draw images at an even sample of the positions, without overlap."""
    half = HALF_IMAGE * (1.0 if n_sides == 1 else 1.5)
    height, width = images.shape[1:3]
    up, right = half * height / max(height, width), half * width / max(height, width)
    shown: list[int] = []
    # Of positions along the same line of sight, take the nearest.
    nearer = np.argsort(-seen[:, 2], kind="stable")
    for row in nearer[spread_order(seen[nearer, :2], TRIED_IMAGES)]:
        away = np.abs(seen[shown, :2] - seen[row, :2])
        if not ((away[:, 0] < 2.08 * right) & (away[:, 1] < 2.08 * up)).any():
            shown.append(int(row))
    for row in shown:
        x, y = seen[row, 0] + shift, seen[row, 1]
        extent = (x - right, x + right, y - up, y + up)
        axis.imshow(images[row], extent=extent, zorder=4, aspect="auto", interpolation="bilinear")


def _write_legend(axis: Any, name: str, legend: Any) -> None:
    from matplotlib.lines import Line2D

    entries = [
        Line2D([], [], marker="o", ls="", ms=5, color=color, label=text.replace("$", r"\$"))
        for text, color in legend
    ]
    axis.legend(
        handles=entries,
        title=name.replace("$", r"\$"),
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        fontsize=8,
        title_fontsize=8,
    )
