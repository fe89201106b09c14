"""A score as a small bar beside its number: value, interval and chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from geodis.plots.vector.svg_elements import color_variable, pixels, svg_element

if TYPE_CHECKING:
    from markupsafe import Markup

WIDE, HIGH = 130.0, 14.0


def score_bar(value: float, chance: float, low: float = np.nan, high: float = np.nan) -> Markup:
    """A bar from 0 to 1; what lies beyond is cut. Nothing for a score without a chance level.

    Examples
    --------
    >>> bar = score_bar(0.5, 0.25)
    >>> 'width="65"' in bar and 'd="M32.5 1V13"' in bar
    True
    >>> score_bar(0.5, float("nan"))
    Markup('')
    """
    from markupsafe import Markup

    if not np.isfinite([value, chance]).all():
        return Markup("")
    at = {name: WIDE * min(max(float(number), 0.0), 1.0) for name, number in
          (("value", value), ("chance", chance))}  # fmt: skip
    parts = [
        svg_element("rect", width=WIDE, height=HIGH, fill=color_variable("line"),
                    fill_opacity="0.45"),
        svg_element("rect", y=3.0, width=at["value"], height=HIGH - 6, fill=color_variable("main")),
        svg_element("path", d=f"M{pixels(at['chance'])} 1V{pixels(HIGH - 1)}", stroke_width="2.5",
                    stroke=color_variable("accent")),
    ]  # fmt: skip
    if np.isfinite([low, high]).all():
        a, b = (WIDE * min(max(float(end), 0.0), 1.0) for end in (low, high))
        line = f"M{pixels(a)} {pixels(HIGH / 2)}H{pixels(b)}"
        parts.append(svg_element("path", d=line, stroke=color_variable("ink"), stroke_width="1.2"))
    # The numbers stand beside: to those who hear the page the bar says nothing new.
    return Markup(
        svg_element("svg", "".join(parts), viewBox=f"0 0 {pixels(WIDE)} {pixels(HIGH)}",
                    width=WIDE, height=HIGH, aria_hidden="true")
    )  # fmt: skip
