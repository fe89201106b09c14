"""Files larger than memory -> their rows, read in blocks."""

from __future__ import annotations

import bisect
import os
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError, require
from geodis.base.row_source import BLOCK_BYTES, RowSource, row_source
from geodis.data.files.contents import reading
from geodis.data.files.limits import check_columns, check_regular, check_unpacked
from geodis.data.files.load import load_array, stored_array

PARQUET = ".parquet"


def open_rows(path: str | os.PathLike[str]) -> RowSource:
    """Open an array of points in a file without reading it.

    Parameters
    ----------
    path : str or path
        As for `load_array`. ``.npy``, ``.safetensors``, HDF5, zarr and parquet are read in blocks,
        as is a folder of parquet files in the order of their names; others are loaded whole.

    Returns
    -------
    RowSource

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "points.npy"
    >>> np.save(path, np.arange(6.0).reshape(3, 2))
    >>> open_rows(path).read(1, 3)
    array([[2., 3.],
           [4., 5.]])
    """
    folder = Path(path)
    if folder.suffix == PARQUET and folder.is_file():
        return _parquet_rows([folder])
    if folder.is_dir() and (files := sorted(folder.glob(f"*{PARQUET}"))):
        return _parquet_rows(files)
    stored = stored_array(path)
    if stored.read_rows is None or len(stored.shape) != 2:
        return row_source(load_array(path), str(path))
    n, d = stored.shape
    dtype = np.dtype(stored.dtype)
    rows = max(1, BLOCK_BYTES // (d * dtype.itemsize))
    step = max(stored.chunk_rows, rows // stored.chunk_rows * stored.chunk_rows)
    return RowSource((n, d), dtype, stored.read_rows, step)


def _parquet_rows(paths: Sequence[Path]) -> RowSource:
    """Rows of parquet files, a row group at a time."""
    parquet = require("pyarrow.parquet", purpose="Reading .parquet files")
    groups: list[tuple[Path, int]] = []
    counts: list[int] = []
    names: list[str] | None = None
    for path in paths:
        check_regular(path)
        with reading(path), parquet.ParquetFile(path) as file:
            # A pandas index that was stored is no column.
            own = [name for name in file.schema_arrow.names if not name.startswith("__index_")]
            check_columns(path, len(own))
            if names not in (None, own):
                raise InputError(
                    f"{path.parent} must hold parquet files of the same columns; {path.name} has "
                    f"{_few(own)} instead of {_few(names or [])}."
                )
            names = own
            _check_numbers(path, [file.schema_arrow.field(name) for name in own])
            for number in range(file.metadata.num_row_groups):
                group = file.metadata.row_group(number)
                check_unpacked(path, max(8 * len(own) * group.num_rows, group.total_byte_size))
                groups.append((path, number))
                counts.append(group.num_rows)
    columns = names or []
    stops = list(accumulate(counts))
    total = stops[-1] if stops else 0
    if not total or not columns:
        raise InputError(f"{paths[0].parent} must hold rows of points; got none.")

    def read(start: int, stop: int) -> np.ndarray:
        found = np.empty((stop - start, len(columns)))
        place = bisect.bisect_right(stops, start)
        while start < stop:
            begin = stops[place] - counts[place]
            path, group = groups[place]
            last = min(stop, stops[place])
            with reading(path), parquet.ParquetFile(path) as file:
                table = file.read_row_group(group, columns=columns)
            rows = _numbers(path, table.slice(start - begin, last - start))
            found[len(found) - (stop - start) :][: last - start] = rows
            start, place = last, place + 1
        return found

    return RowSource((total, len(columns)), np.dtype(float), read, max(counts))


def _check_numbers(path: Path, fields: Sequence[Any]) -> None:
    """Require columns of numbers, before any is read: texts and lists may be of any length."""
    from pyarrow import types

    for field in fields:
        kind = getattr(field.type, "value_type", field.type)
        is_list = types.is_nested(field.type)
        if is_list or not (types.is_primitive(kind) and not types.is_temporal(kind)):
            raise InputError(
                f"{path} must hold numbers in every column; got {field.type} in {field.name}."
            )


def _numbers(path: Path, table: Any) -> np.ndarray:
    """Columns of a table side by side; what is missing is NaN."""
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = column.to_numpy()
        if values.dtype.kind not in "biuf":
            raise InputError(
                f"{path} must hold numbers in every column; got {column.type} in {name}."
            )
        columns.append(values)
    return np.column_stack(columns).astype(float)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
