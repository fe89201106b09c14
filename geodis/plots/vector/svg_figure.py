"""Figure -> SVG: panels in rows and columns, for a page or as a file of its own."""

from __future__ import annotations

from geodis.plots.figure.choices import Choices
from geodis.plots.figure.labels import clip
from geodis.plots.figure.marks import Bars, Dots, Figure, Segments
from geodis.plots.vector.svg_elements import (
    FONT,
    TEXT_SIZE,
    color_variable,
    pixels,
    svg_element,
    svg_text,
    with_colors,
)
from geodis.plots.vector.svg_panels import Box, legend_lines, panel_svg

WIDE = 720.0
NAME_ROOM, TITLE_ROOM, GAP = 18.0, 22.0, 10.0
# On a page a figure is never shrunk so far that its texts cannot be read.
LEAST_SHOWN = 0.62
LONGEST_TITLE = 100


def figure_svg(figure: Figure | Choices, *, of_page: bool = False) -> str:
    """Draw a description as SVG.

    Parameters
    ----------
    figure : Figure or Choices
        Of what a reader would choose, the first is drawn.
    of_page : bool
        Colours are those of the page's style, and the pointer is told of marks; otherwise the
        text is a file of its own.

    Returns
    -------
    str

    Examples
    --------
    >>> from geodis.plots.figure.marks import Bars, Panel, one_panel
    >>> text = figure_svg(one_panel("a", "two bars", Panel([Bars([1.0, 2.0], color="c1")])))
    >>> text.startswith("<svg"), "Two bars" in text, "#d55e00" in text
    (True, True, True)
    """
    if isinstance(figure, Choices):
        figure = figure.figure()
    wide, tall = max(WIDE, float(figure.min_width)), float(figure.height)
    body = _panels(figure, Box(0.0, 0.0, wide, tall))
    about = {"role": "img", "aria_label": f"{figure.about[:1].upper()}{figure.about[1:]}"}
    size: dict[str, object] = {"viewBox": f"0 0 {pixels(wide)} {pixels(tall)}"}
    if of_page:
        least = pixels(LEAST_SHOWN * wide)
        size["style"] = f"width:100%;min-width:{least}px;max-width:{pixels(wide)}px"
        return svg_element("svg", body, **size, **about, font_size=str(TEXT_SIZE))
    own = {"xmlns": "http://www.w3.org/2000/svg", "width": wide, "height": tall}
    paper = svg_element("rect", width=wide, height=tall, fill=color_variable("paper"))
    text = svg_element("svg", paper + body, **own, **size, **about, font_family=FONT,
                       font_size=str(TEXT_SIZE))  # fmt: skip
    return with_colors(text)


def _panels(figure: Figure, box: Box) -> str:
    """Every panel in its place, with the names of rows and columns around them."""
    made = []
    top = box.top + TITLE_ROOM * bool(figure.title)
    if figure.title:
        made.append(svg_text(clip(figure.title, LONGEST_TITLE), box.left, box.top + 10,
                             anchor="start", font_weight="600"))  # fmt: skip
    if figure.legend:
        first = next(panel for row in figure.panels for panel in row if panel is not None)
        entries = [
            (mark.label if isinstance(mark.label, str) else mark.label.text, mark.color)
            for mark in first.marks
            if isinstance(mark, Dots | Bars | Segments) and mark.label
        ]
        high, text = legend_lines(entries, Box(box.left, top, box.right, box.foot))
        made.append(text)
        top += high
    left = box.left + NAME_ROOM * bool(figure.rows)
    top += NAME_ROOM * bool(figure.columns)
    down, across = len(figure.panels), max(len(row) for row in figure.panels)
    wide, tall = (box.right - left) / across, (box.foot - top) / down
    gap = GAP if down * across > 1 else 0.0
    for j, name in enumerate(figure.columns):
        most = int(wide / 7)
        made.append(svg_text(clip(name, most), left + (j + 0.5) * wide, top - 9))
    for i, name in enumerate(figure.rows):
        y = top + (i + 0.5) * tall
        turn = f"rotate(-90 {pixels(box.left + 8)} {pixels(y)})"
        made.append(svg_text(clip(name, int(tall / 7)), box.left + 8, y, transform=turn))
    for i, row in enumerate(figure.panels):
        for j, panel in enumerate(row):
            if panel is not None:
                x, y = left + j * wide + gap / 2, top + i * tall + gap / 2
                made.append(panel_svg(panel, Box(x, y, x + wide - gap, y + tall - gap)))
    return "".join(made)
