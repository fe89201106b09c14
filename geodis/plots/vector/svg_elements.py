"""Elements of SVG as text: escaped, with few digits, and colours by name."""

from __future__ import annotations

import re
from html import escape as escape_markup
from typing import Any

from geodis.base.text import printable

# What the style of a page calls its colours, and what they are where there is no page.
PALETTE = {
    "paper": "#ffffff",
    "ink": "#1b1f24",
    "faint": "#626a75",
    "line": "#d8dce2",
    "main": "#1f4e79",
    "accent": "#b8452d",
    "high": "#0b3c68",
    "c0": "#0072b2",
    "c1": "#d55e00",
    "c2": "#009e73",
    "c3": "#b0578f",
    "c4": "#c98a00",
    "c5": "#3f9bd1",
    "c6": "#444444",
    "pale": "#c4c4c4",
}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
TEXT_SIZE = 12
# Width of a letter of that size, on the average and rather too much.
LETTER = 7.3
NAMED_COLOR = re.compile(r"var\(--(\w+)\)")


def color_variable(name: str) -> str:
    """A colour of the page by its name.

    Examples
    --------
    >>> color_variable("c1")
    'var(--c1)'
    """
    return f"var(--{name})"


def with_colors(svg: str) -> str:
    """The same with the colours of a light page in place of their names.

    Examples
    --------
    >>> with_colors('<rect fill="var(--c1)"/>')
    '<rect fill="#d55e00"/>'
    """
    return NAMED_COLOR.sub(lambda match: PALETTE[match[1]], svg)


def pixels(value: float) -> str:
    """A length with one decimal, if it takes one.

    Examples
    --------
    >>> pixels(2.0), pixels(1.26), pixels(-0.01)
    ('2', '1.3', '0')
    """
    text = f"{value:.1f}"
    text = text[:-2] if text.endswith(".0") else text
    return "0" if text == "-0" else text


def svg_element(kind: str, content: str | None = None, /, **attributes: Any) -> str:
    """One element; attributes that are None are left out, "_" is "-", texts are escaped.

    Examples
    --------
    >>> svg_element("rect", x=1.25, data_tip="<a>")
    '<rect x="1.2" data-tip="&lt;a&gt;"/>'
    """
    told = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_told(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{kind}{told}/>" if content is None else f"<{kind}{told}>{content}</{kind}>"


def _told(value: Any) -> str:
    if isinstance(value, str):
        return escape_markup(printable(value), quote=True).replace("\n", "&#10;")
    return pixels(float(value))


def svg_text(
    text: Any, x: float, y: float, *, anchor: str = "middle", color: str = "ink", **more: Any
) -> str:
    """A text whose middle is at a height.

    Examples
    --------
    >>> svg_text("<3", 0, 5)
    '<text x="0" y="5" text-anchor="middle" dy=".35em" fill="var(--ink)">&lt;3</text>'
    """
    own = escape_markup(printable(text), quote=False)
    fill = color_variable(color)
    return svg_element("text", own, x=x, y=y, text_anchor=anchor, dy=".35em", fill=fill, **more)
