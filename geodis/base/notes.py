"""What files say of themselves in JSON: checked entry by entry before anything is built from it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from geodis.base.check import InputError, MissingExtraError

Entry = TypeVar("Entry")

WORDS: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
    float: "a number",
}


def note_entry(
    note: Any, name: str, kind: type[Entry], source: str | os.PathLike[str], low: int | None = None
) -> Entry:
    """Return an entry of a note if it is of a kind: dict, list, str, int or float.

    Parameters
    ----------
    note : dict
        As it was read; anything else is refused.
    name : str
    kind : type
        A float may be written without a point, and is NaN where it is null: JSON has no NaN.
    source : path
        What to call the note in a message.
    low : int, optional
        The least that a number may be.

    Examples
    --------
    >>> note_entry({"steps": 3}, "steps", int, "run")
    3
    >>> note_entry({"steps": "3"}, "steps", int, "run")
    Traceback (most recent call last):
    geodis.base.check.InputError: run must say a whole number as 'steps'; got '3'.
    """
    wanted = WORDS[kind] if low is None else f"{WORDS[kind]} of at least {low}"
    if not isinstance(note, dict) or name not in note:
        raise InputError(f"{source} must say {wanted} as {name!r}; got nothing.")
    value = note[name]
    if kind is float and (value is None or type(value) is int):
        value = float("nan") if value is None else float(value)
    # type, not isinstance: true would pass for the integer 1.
    if type(value) is not kind or (low is not None and value < low):  # type: ignore[operator]
        raise InputError(f"{source} must say {wanted} as {name!r}; got {value!r}.")
    return value


def note_counts(note: Any, name: str, source: str | os.PathLike[str]) -> tuple[int, ...]:
    """Return an entry of a note that is a list of whole numbers, none below one."""
    counts = note_entry(note, name, list, source)
    if any(type(count) is not int or count < 1 for count in counts):
        raise InputError(f"{source} must say whole numbers from 1 on as {name!r}; got {counts!r}.")
    return tuple(counts)


@contextmanager
def rebuilding(source: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what a constructor raises on altered options into one sentence about the file."""
    try:
        yield
    except MissingExtraError:
        raise
    except InputError as error:
        if str(source) in str(error):
            raise
        raise InputError(f"{source} describes what cannot be built: {error}") from error
    # Broad on purpose: options by a wrong name or of a wrong type reach constructors of any
    # class, those of other packages too, which raise what Python and torch raise on them.
    except Exception as error:
        lines = str(error).strip().splitlines()
        reason = lines[0].rstrip(".") if lines else type(error).__name__
        if isinstance(error, KeyError):
            reason = f"{reason} is missing"
        raise InputError(f"{source} describes what cannot be built: {reason}.") from error


def named(table: Mapping[str, Entry], name: Any, source: str | os.PathLike[str]) -> Entry:
    """Look up what a note names."""
    if not isinstance(name, str) or name not in table:
        known = ", ".join(sorted(table))
        raise InputError(f"{source} must name one of {known}; got {name!r}.")
    return table[name]
