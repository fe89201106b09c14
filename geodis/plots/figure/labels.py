"""Texts and numbers that are short enough for a figure."""

from __future__ import annotations

from typing import Any

import numpy as np

LONGEST_LABEL, LONGEST_NAME = 40, 24


def clip(text: Any, most: int = LONGEST_LABEL) -> str:
    """Text on one line, cut where it is long; its signs are as they were.

    Examples
    --------
    >>> clip("a <b>bold</b> name", 8)
    'a <b>bo…'
    """
    text = " ".join(str(text).split())
    return text if len(text) <= most else text[: most - 1] + "…"


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
