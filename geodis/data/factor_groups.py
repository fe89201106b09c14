"""Factors of several columns: which columns belong together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from geodis.base.check import InputError


def read_factor_groups(groups: Any, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Check which columns are one factor: a point of a sphere, a rotation, a position.

    Parameters
    ----------
    groups : mapping of str to sequence
        Name of the factor -> its columns, by name or by number.
    names : sequence of f str
        Of the columns.

    Returns
    -------
    dict of str to tuple of str
        Every column in one group at most; the groups have names of their own.

    Examples
    --------
    >>> read_factor_groups({"direction": [1, 2, "z"]}, ["size", "x", "y", "z"])
    {'direction': ('x', 'y', 'z')}
    """
    if not isinstance(groups, Mapping):
        raise InputError(f"groups must be a mapping of names to columns; got {groups!r}.")
    read: dict[str, tuple[str, ...]] = {}
    taken: dict[str, str] = {}
    for key, columns in groups.items():
        group = str(key)
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            raise InputError(f"Group {group!r} must be a sequence of columns; got {columns!r}.")
        read[group] = tuple(_column(one, names, group) for one in columns)
        if not read[group]:
            raise InputError(f"Group {group!r} must have a column; got none.")
        for name in read[group]:
            if name in taken:
                raise InputError(
                    f"A column must be in one group, once; got {name!r} in {taken[name]!r} "
                    f"and {group!r}."
                )
            taken[name] = group
        if group in names and read[group] != (group,):
            raise InputError(f"A group needs a name of its own; got {group!r}, a column.")
    return read


def _column(one: Any, names: Sequence[str], group: str) -> str:
    if isinstance(one, str):
        if one in names:
            return one
    elif not isinstance(one, bool) and hasattr(one, "__index__"):
        place = one.__index__()
        if 0 <= place < len(names):
            return names[place]
    raise InputError(
        f"Group {group!r} must name columns among {', '.join(names)}, "
        f"or number them from 0; got {one!r}."
    )
