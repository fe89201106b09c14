"""Linked views -> SVG: a panel for every view, surfaces from the front and from behind."""

from __future__ import annotations

import base64
import textwrap
from io import BytesIO

import numpy as np

from geodis.plots.figure.linked_views import LinkedViews, Outline, View, spread_order
from geodis.plots.vector.svg_elements import (
    FONT,
    TEXT_SIZE,
    color_variable,
    pixels,
    svg_element,
    svg_text,
    with_colors,
)

WIDE, HIGH, TEXTS = 380.0, 300.0, 74.0  # of a view, and of what is written around it
MOST_ACROSS = 3
# Of a surface: its front, and beside it its back, seen from there; centres in its radii.
BESIDE = 1.08
HALF_IMAGE, TRIED_IMAGES = 0.16, 240  # half the side of an image, in radii; so many are tried
BEHIND, IN_FRONT = 0.25, 0.9
LETTERS_A_LINE, NOTE_LINES = 62, 3


def views_svg(figure: LinkedViews) -> str:
    """Draw the views in their first colours, as a file of its own.

    Examples
    --------
    >>> from geodis.plots.figure.linked_views import SpotColors
    >>> view = View("<here>", "", np.zeros((1, 3)))
    >>> text = views_svg(LinkedViews("v", "", [view], [SpotColors("all", [["#ff0000"]])]))
    >>> "&lt;here&gt;" in text, text.count("<circle")
    (True, 1)
    """
    count = len(figure.views)
    across = min(count, MOST_ACROSS)
    down = -(-count // across)
    coloring = figure.colorings[0]
    made = []
    for j, view in enumerate(figure.views):
        left, top = WIDE * (j % across), (HIGH + TEXTS) * (j // across)
        drawn = _view(view, list(coloring.of_view(j)), figure.images)
        made.append(svg_element("g", drawn, transform=f"translate({pixels(left)} {pixels(top)})"))
    wide, tall = WIDE * across, (HIGH + TEXTS) * down
    paper = svg_element("rect", width=wide, height=tall, fill=color_variable("paper"))
    text = svg_element(
        "svg", paper + "".join(made), xmlns="http://www.w3.org/2000/svg", width=wide, height=tall,
        viewBox=f"0 0 {pixels(wide)} {pixels(tall)}", role="img",
        aria_label=f"{figure.about[:1].upper()}{figure.about[1:]}", font_family=FONT,
        font_size=str(TEXT_SIZE),
    )  # fmt: skip
    return with_colors(text)


def _view(view: View, colors: list[str], images: np.ndarray | None) -> str:
    sides = view.sides
    shifts = [0.0] if len(sides) == 1 else [-BESIDE, BESIDE]
    size = (HIGH / 2.3) if len(sides) == 1 else WIDE / (2 * BESIDE + 2.4)
    middle = np.array([WIDE / 2, 24 + HIGH / 2])
    made = [svg_text(view.title, 8, 14, anchor="start", font_weight="600")]
    for side, shift in zip(sides, shifts, strict=True):
        centre = middle + np.array([shift * size, 0.0])
        made += _side(view, side, centre, size, colors, images)
    for line, text in enumerate(textwrap.wrap(view.note, LETTERS_A_LINE)[:NOTE_LINES]):
        made.append(svg_text(text, 8, 34 + HIGH + 13 * line, anchor="start", color="faint",
                             font_size="10.5"))  # fmt: skip
    return "".join(made)


def _side(
    view: View,
    side: np.ndarray,
    centre: np.ndarray,
    size: float,
    colors: list[str],
    images: np.ndarray | None,
) -> list[str]:
    """A view from one side."""
    made = [_outline(line, side, centre, size, view) for line in view.outlines]
    seen = view.places @ side
    front = seen[:, 2] >= 0 if view.hides else np.isfinite(seen[:, 2])
    deep = (seen[:, 2] + 1) / 2 if view.turns and not view.hides else np.ones(len(seen))
    alpha = BEHIND + (IN_FRONT - BEHIND) * np.clip(np.nan_to_num(deep), 0, 1)
    shown = np.flatnonzero(front & np.isfinite(seen).all(axis=1))
    for row in shown[np.argsort(seen[shown, 2])]:
        x, y = centre + size * seen[row, :2] * [1, -1]
        made.append(svg_element("circle", cx=x, cy=y, r=1.9, fill=colors[row],
                                opacity=f"{alpha[row]:.2f}"))  # fmt: skip
    if images is not None:
        rows = shown if (first := view.first_images) is None else first[front[first]]
        made += _images(seen[rows], images[rows], centre, size)
    for text, place in view.letters:
        x, y = centre + size * 1.07 * (place @ side)[:2] * [1, -1]
        made.append(svg_text(text, x, y, font_weight="600"))
    return made


def _outline(line: Outline, side: np.ndarray, centre: np.ndarray, size: float, view: View) -> str:
    seen = line.path if line.look == "rim" else line.path @ side
    hidden = seen[:, 2] < -0.02 if view.hides else np.zeros(len(seen), bool)
    places = centre + size * seen[:, :2] * [1, -1]
    path, pen = "", "M"
    for (x, y), behind in zip(places, hidden, strict=True):
        path += "" if behind else f"{pen}{pixels(x)} {pixels(y)}"
        pen = "M" if behind else "L"
    edge = line.look == "edge"
    return svg_element("path", d=path or "M0 0", fill="none", opacity="0.6",
                       stroke=color_variable("ink" if edge else "faint"),
                       stroke_width="1.1" if edge else "0.7")  # fmt: skip


def _images(seen: np.ndarray, images: np.ndarray, centre: np.ndarray, size: float) -> list[str]:
    """Those of an even sample of the places that do not cover one another."""
    from PIL import Image

    height, width = images.shape[1:3]
    up, right = HALF_IMAGE * np.array([height, width]) / max(height, width)
    shown: list[int] = []
    # Along the line of sight places are crowded: the nearer one is taken.
    nearer = np.argsort(-seen[:, 2], kind="stable")
    for row in nearer[spread_order(seen[nearer, :2], TRIED_IMAGES)]:
        away = np.abs(seen[shown, :2] - seen[row, :2])
        if not ((away[:, 0] < 2.08 * right) & (away[:, 1] < 2.08 * up)).any():
            shown.append(int(row))
    made = []
    for row in shown:
        file = BytesIO()
        Image.fromarray(images[row]).save(file, "JPEG", quality=85)
        x, y = centre + size * (seen[row, :2] * [1, -1] - [right, up])
        text = base64.b64encode(file.getvalue()).decode("ascii")
        made.append(svg_element("image", x=x, y=y, width=2 * right * size, height=2 * up * size,
                                href=f"data:image/jpeg;base64,{text}"))  # fmt: skip
    return made
