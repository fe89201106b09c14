"""A table of any kind -> its columns as they are, and their names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from geodis.base.check import InputError, to_numpy
from geodis.data.arrow import columns_of_arrow
from geodis.data.read_column import without_masked


def columns_of(table: Any) -> tuple[list[Any], tuple[str, ...] | None]:
    """Take a table apart, without a look at its values.

    Parameters
    ----------
    table : array-like of shape (n, f), or (n,) for one column
        What `as_factors` describes, but not `Factors`.

    Returns
    -------
    columns : list of f array-likes of shape (n,)
    names : tuple of f str, or None
        None where the table has none.

    Examples
    --------
    >>> columns_of({"x": [1, 2], "y": [3, 4]})
    ([[1, 2], [3, 4]], ('x', 'y'))
    >>> columns_of([("box", 1), ("dot", 2)])
    ([['box', 'dot'], [1, 2]], None)
    """
    if hasattr(table, "obs") and hasattr(table, "obs_names"):  # AnnData
        table = table.obs
    if isinstance(table, str | os.PathLike):
        raise InputError(
            f"factors must be values, not the name of a file; got {os.fspath(table)!r}: use "
            "load_factors."
        )
    if isinstance(table, Mapping):
        return list(table.values()), tuple(map(str, table))
    if hasattr(table, "column_names") and hasattr(table, "to_pandas"):  # a table of pyarrow
        return columns_of_arrow(table)
    if hasattr(table, "columns") and hasattr(table, "iloc"):  # a pandas frame
        names = tuple(map(str, table.columns))
        return [table.iloc[:, j] for j in range(len(names))], names
    if hasattr(table, "columns") and hasattr(table, "get_column"):  # a polars frame
        return [table.get_column(name) for name in table.columns], tuple(map(str, table.columns))
    if _is_series(table):
        name = getattr(table, "name", None)
        return [table], None if name in (None, "") else (str(name),)
    if isinstance(table, list | tuple):
        if table and all(isinstance(row, Mapping) for row in table):
            keys = dict.fromkeys(key for row in table for key in row)
            return columns_of({key: [row.get(key) for row in table] for key in keys})
        if any(isinstance(row, np.ma.MaskedArray) and row.ndim for row in table):
            return columns_of(_stacked(table))
        return _columns_of_list(without_masked(table)), None
    array = table if isinstance(table, np.ma.MaskedArray) else to_numpy(table, "factors")
    if fields := array.dtype.names:
        array = array.reshape(-1) if array.shape[1:] == (1,) else array
        return [array[name] for name in fields], fields
    return _columns_of_array(array), None


def _stacked(rows: Sequence[Any]) -> np.ma.MaskedArray:
    """Rows of which some are masked as one masked array: np.asarray would drop their masks."""
    try:
        return np.ma.stack([np.ma.asarray(row) for row in rows])
    except ValueError as error:
        raise InputError(f"factors must be a rectangular array: {error}.") from error


def _is_series(table: Any) -> bool:
    """Whether it is one column: a series or index of pandas or polars, or a categorical."""
    dtype = getattr(table, "dtype", None)
    known = any(hasattr(table, name) for name in ("iloc", "to_list"))
    return dtype is not None and (known or hasattr(dtype, "categories"))


def _columns_of_array(array: np.ndarray) -> list[np.ndarray]:
    if array.ndim not in (1, 2):
        raise InputError(
            f"factors must have shape (n, f), one row a point; got shape {array.shape}."
        )
    return [array] if array.ndim == 1 else [array[:, j] for j in range(array.shape[1])]


def _columns_of_list(rows: Sequence[Any]) -> list[Any]:
    """Column by column, so that each keeps its own kind: numbers beside text stay numbers."""
    array = to_numpy(rows, "factors")
    if array.ndim != 2:
        return [rows] if array.ndim == 1 else _columns_of_array(array)
    if array.dtype.kind in "biu":
        return _columns_of_array(array)
    return [list(column) for column in zip(*rows, strict=True)]
