"""A score as a small bar beside its number: value, interval and chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from markupsafe import Markup

WIDE, HIGH = 130, 14


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
    bar, mark, start, end = (_pixels(number) for number in (value, chance, low, high))
    interval = ""
    if np.isfinite([low, high]).all():
        line = f"M{start} {HIGH // 2}H{end}"
        interval = f'<path d="{line}" stroke="var(--ink)" stroke-width="1.2"/>'
    # Hidden from screen readers: the numbers stand beside the bar.
    return Markup(
        f'<svg viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" height="{HIGH}" aria-hidden="true">'
        f'<rect width="{WIDE}" height="{HIGH}" fill="var(--line)" fill-opacity="0.45"/>'
        f'<rect y="3" width="{bar}" height="{HIGH - 6}" fill="var(--main)"/>'
        f'<path d="M{mark} 1V{HIGH - 1}" stroke-width="2.5" stroke="var(--accent)"/>'
        f"{interval}</svg>"
    )


def _pixels(share: float) -> str:
    return f"{round(WIDE * min(max(share, 0.0), 1.0), 1):g}" if np.isfinite(share) else ""
