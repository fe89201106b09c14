"""Decimal commas and thousands separators in a table of text -> numbers, or a refusal.

A comma is a decimal mark in half of the world and a separator in the other. Which one a file means
is told by those fields that can be read in one way alone, such as 3,5 or 1,234,567; the marks are
taken to be the same in all of its columns.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from geodis.base.check import GeodisWarning, InputError

if TYPE_CHECKING:
    import pandas as pd

# So many fields must speak for one reading, and none for the other.
MARGIN = 2

SPACES = "[ '\u2019\u00a0\u202f]"  # what else stands between thousands
EXPONENT = "(?:[eE][+-]?[0-9]+)?"
# Fields that can be read in one way alone, after their sign.
COMMA_IS_DECIMAL = re.compile(
    rf"(?:[0-9]{{1,3}}(?:\.[0-9]{{3}})+,[0-9]+|[0-9]{{1,3}}(?:\.[0-9]{{3}}){{2,}}"
    rf"|[0-9]{{1,3}}(?:{SPACES}[0-9]{{3}})+,[0-9]+"
    rf"|(?![1-9][0-9]{{0,2}},[0-9]{{3}}$)[0-9]*,[0-9]+){EXPONENT}"
)
POINT_IS_DECIMAL = re.compile(
    rf"(?:[0-9]{{1,3}}(?:,[0-9]{{3}})+\.[0-9]+|[0-9]{{1,3}}(?:,[0-9]{{3}}){{2,}}"
    rf"|[0-9]{{1,3}}(?:{SPACES}[0-9]{{3}})+\.[0-9]+"
    rf"|(?![1-9][0-9]{{0,2}}\.[0-9]{{3}}$)[0-9]*\.[0-9]+){EXPONENT}"
)
# Those that either reading takes, and those without a decimal mark.
EITHER = re.compile(rf"[1-9][0-9]{{0,2}}[.,][0-9]{{3}}{EXPONENT}")
SPACED = re.compile(rf"[0-9]{{1,3}}(?:{SPACES}[0-9]{{3}})+{EXPONENT}")
WHOLE = re.compile(rf"[0-9]+{EXPONENT}")


def is_marked(field: str) -> bool:
    """Whether a text reads as a number with marks that Python's own numbers do not have.

    Examples
    --------
    >>> [is_marked(field) for field in ("3,5", "1.234,5", "1 234", "3.5", "a,b", "x")]
    [True, True, True, False, False, False]
    """
    text = field.strip().lstrip("+-")
    has_mark = "," in text or text.count(".") > 1 or re.search(SPACES, text) is not None
    kinds = (COMMA_IS_DECIMAL, POINT_IS_DECIMAL, EITHER, SPACED)
    return has_mark and any(kind.fullmatch(text) for kind in kinds)


def marked_columns(frame: pd.DataFrame) -> list[int]:
    """Places of the columns of text in which every field is a number, some with marks."""
    return [j for j in range(frame.shape[1]) if _is_marked_column(frame.iloc[:, j])]


def _is_marked_column(series: pd.Series) -> bool:
    if series.dtype.kind in "biufcmM":
        return False
    fields = series.dropna().unique()  # of many rows, Python need not look at each
    if not len(fields) or not all(isinstance(field, str) for field in fields):
        return False
    distinct = set(map(_unsigned, fields))
    kinds = (COMMA_IS_DECIMAL, POINT_IS_DECIMAL, EITHER, SPACED, WHOLE)
    # The first few decide for columns of plain text, however long they are.
    return all(any(kind.fullmatch(text) for kind in kinds) for text in distinct) and any(
        is_marked(text) for text in distinct
    )


def read_marks(path: Path, frame: pd.DataFrame, fields: pd.DataFrame) -> None:
    """Put numbers in place of the columns of text that are some, and warn that they are.

    Parameters
    ----------
    path : Path
    frame : DataFrame
        As pandas read it; changed in place.
    fields : DataFrame
        The same columns as text.

    Raises
    ------
    InputError
        Where the fields do not tell what their marks mean.
    """
    places = marked_columns(frame)
    if not places:
        return
    numeric = [
        j for j in range(frame.shape[1]) if j in places or frame.iloc[:, j].dtype.kind == "f"
    ]
    seen = {
        text for j in numeric for text in set(map(_unsigned, fields.iloc[:, j].dropna().unique()))
    }
    comma = sum(COMMA_IS_DECIMAL.fullmatch(text) is not None for text in seen)
    point = sum(POINT_IS_DECIMAL.fullmatch(text) is not None for text in seen)
    spaced = sum(SPACED.fullmatch(text) is not None for text in seen)
    names = ", ".join(str(frame.columns[j]) for j in places)
    doubtful = any(EITHER.fullmatch(text) for text in seen)
    if (comma and point) or max(comma, point, 0 if doubtful else spaced) < MARGIN:
        example = next((x for x in sorted(seen) if is_marked(x)), "")
        got = f"as {example!r}, and no {MARGIN} fields that tell"
        if comma and point:
            got = f"as {example!r}, and fields that speak for either"
        raise InputError(
            f"{path} must show whether its commas are decimal marks or stand between thousands; "
            f"got numbers with marks in {names}, {got}: write them with a point as their only mark."
        )
    meaning = "a decimal comma" if comma else "separators of thousands"
    # With decimal commas, points stand between thousands in every column.
    for j in numeric if comma else places:
        frame.isetitem(j, _numbers(path, fields.iloc[:, j], "," if comma else "."))
    warnings.warn(
        f"{path}: numbers are read with {meaning} in {names}.", GeodisWarning, stacklevel=2
    )


def _numbers(path: Path, fields: pd.Series, decimal: str) -> np.ndarray:
    other = "." if decimal == "," else ","
    plain = fields.str.replace(SPACES, "", regex=True).str.replace(other, "", regex=False)
    values = plain.str.replace(decimal, ".", regex=False).astype(float).to_numpy(dtype=float)
    whole = bool(np.isfinite(values).all() and (values == np.round(values)).all())
    has_fraction = fields.str.contains(decimal, regex=False).fillna(False).any()
    return values.astype(np.int64) if whole and not has_fraction else values


def _unsigned(text: str) -> str:
    return text.strip().lstrip("+-")
