"""Texts and numbers as plotly.js shows them: it reads tags, entities and templates in text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

LONGEST_LABEL, LONGEST_NAME = 40, 24
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "{": "&#123;", "$": "&#36;", "@": "&#64;"}


def label(text: Any, most: int = LONGEST_LABEL) -> str:
    """Text that plotly.js shows as it is: no tags, entities, templates or formulas in it.

    Examples
    --------
    >>> label("<b>%{x}</b>")
    '&lt;b&gt;%&#123;x}&lt;/b&gt;'
    """
    return escape(clip(text, most))


def clip(text: Any, most: int = LONGEST_LABEL) -> str:
    """Text on one line, cut where it is long; its signs are as they were.

    Examples
    --------
    >>> clip("a <b>bold</b> name", 8)
    'a <b>bo…'
    """
    text = " ".join(str(text).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def escape(text: str) -> str:
    """Entities in place of every sign that plotly.js gives a meaning."""
    return "".join(ENTITIES.get(sign, sign) for sign in text)


def short(values: Any, digits: int = 4) -> list[Any]:
    """Numbers with few digits, nested as the array is; None where there is none.

    Examples
    --------
    >>> short([[1.23456, np.nan], [100000.0, 2.0]])
    [[1.235, None], [100000, 2]]
    """
    array = np.asarray(values, dtype=float)
    if array.ndim > 1:
        return [short(row, digits) for row in array]
    return [_shortened(value, digits) for value in array.tolist()]


def _shortened(value: float, digits: int) -> float | int | None:
    if not np.isfinite(value):
        return None
    number = float(f"{value:.{digits}g}")
    return int(number) if number.is_integer() else number


def name_labels(names: Sequence[Any], most: int = LONGEST_NAME) -> list[str]:
    """Labels of names, numbered where names that were cut coincide: plotly would merge them.

    Examples
    --------
    >>> name_labels(["size", "a long name of one", "a long name of two"], 8)
    ['size', 'a long … (1)', 'a long … (2)']
    """
    labels = [label(name, most) for name in names]
    often, seen = Counter(labels), Counter[str]()
    numbered = []
    for text in labels:
        seen[text] += 1
        numbered.append(f"{text} ({seen[text]})" if often[text] > 1 else text)
    return numbered
