"""Tables: csv, tsv and parquet files -> their columns."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError, require
from geodis.data.arrow import exact_column, frame_of_arrow
from geodis.data.factors import default_names
from geodis.data.files.contents import TEXT, Contents, Stored, begins_like
from geodis.data.files.formats import register_reader
from geodis.data.read_column import LARGEST_EXACT, Column, read_column

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {".csv": ",", ".tsv": "\t"}
MISSING = {"", "na", "n/a", "nan", "null", "none"}


@register_reader(".csv", ".tsv")
def read_text_table(path: Path, mmap: bool) -> Contents:
    """Columns of separated text, with or without a header row."""
    import pandas as pd

    if begins_like(path) != TEXT:
        raise ValueError("a table in UTF-8 text was needed")
    separator = _separator(path)
    first_rows = _check_rectangular(path, separator)
    header = _is_header(first_rows)
    frame = pd.read_csv(
        path,
        sep=separator,
        header=0 if header else None,
        # pandas writes its row index as a first column without a name.
        index_col=0 if header and first_rows[0][0] == "" else False,
        skipinitialspace=True,
        encoding="utf-8-sig",
        low_memory=False,  # one dtype a column, whatever the length of the file
    )
    if header:
        # np.savetxt puts "# " before its header.
        frame.columns = frame.columns.astype(str).str.lstrip("# ")
    else:
        frame.columns = list(default_names(frame.shape[1]))
    exact = {
        str(name): partial(_read_digits, path, separator, header, j, frame.iloc[:, j])
        for j, name in enumerate(frame.columns)
        if _may_be_rounded(frame.iloc[:, j])
    }
    return _contents(path, frame, exact)


def _may_be_rounded(series: pd.Series) -> bool:
    """Whether it may hold large integers, which pandas made floats because of a gap."""
    return (
        series.dtype.kind == "f"
        and bool(series.isna().any())
        and bool((series.abs() > LARGEST_EXACT).any())
    )


def _read_digits(path: Path, separator: str, header: bool, j: int, series: pd.Series) -> Column:
    """Read column j of the frame again: as integers of any size, if all of its values are some."""
    rows = list(_rows(path, separator))
    j += header and rows[0][0] == ""  # the row index that pandas writes
    text = [row[j].strip() for _, row in rows[header:]]
    pairs = list(zip(text, series.isna(), strict=True))
    if not all(gap or field.lstrip("+-").isdecimal() for field, gap in pairs):
        return _from_series(series)
    values = [None if gap else int(field) for field, gap in pairs]
    return read_column(values, str(series.name))


@register_reader(".parquet")
def read_parquet(path: Path, mmap: bool) -> Contents:
    """Columns of a Parquet file; a pandas index stored with them is left out."""
    parquet = require("pyarrow.parquet", extra="files", purpose="Reading .parquet files")
    with parquet.ParquetFile(path) as file:
        table = file.read()
    frame = frame_of_arrow(table)
    as_factor = {
        str(name): partial(_read_exact, table, frame.iloc[:, j])
        for j, name in enumerate(frame.columns)
    }
    return _contents(path, frame, as_factor)


def _read_exact(table: Any, series: pd.Series) -> Column:
    return _from_series(exact_column(table, series))


def _separator(path: Path) -> str:
    """Return the separator of the suffix, or the semicolon that spreadsheets write for .csv."""
    expected = SEPARATORS[path.suffix.lower()]
    with path.open(encoding="utf-8-sig") as file:
        first_line = file.readline()
    return ";" if ";" in first_line and expected not in first_line else expected


def _rows(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=separator, skipinitialspace=True)
        yield from ((reader.line_num, row) for row in reader if row not in ([], [""]))


def _check_rectangular(path: Path, separator: str) -> list[list[str]]:
    """Return the first two rows, once every row has as many fields as the first.

    pandas would fill a short row with NaN, and nobody would hear of it.
    """
    first_rows: list[list[str]] = []
    for line, row in _rows(path, separator):
        if len(first_rows) < 2:
            first_rows.append(row)
        if len(row) != len(first_rows[0]):
            raise InputError(
                f"{path} must have as many fields in every row as in the first, "
                f"{len(first_rows[0])}; line {line} has {len(row)}."
            )
    if not first_rows:
        raise InputError(f"{path} holds no rows.")
    return first_rows


def _is_header(first_rows: list[list[str]]) -> bool:
    """Tell names of columns from data.

    A row with anything but numbers is a header, and so is the row 0, 1, 2, ..., which pandas
    writes for columns without names. A lone 0 is one only above a number with a fraction, where
    it cannot be data: whoever writes 0.5 writes 0.0.
    """
    first = first_rows[0]
    if not all(_is_number(field) or field.lower() in MISSING for field in first):
        return True
    names = first[1:] if first[0] == "" else first
    if names != [str(column) for column in range(len(names))]:
        return False
    below = first_rows[-1][-1]
    return len(names) > 1 or (_is_number(below) and not below.lstrip("+-").isdigit())


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _contents(
    path: Path, frame: pd.DataFrame, exact: Mapping[str, Callable[[], Column]] | None = None
) -> Contents:
    """Make every column an array of its own; together they are the table."""
    if frame.empty:
        raise InputError(f"{path} holds no rows below its header.")
    arrays = {}
    for name, series in frame.items():
        if str(name) in arrays:
            raise InputError(f"{path} must name every column differently; two are {name!r}.")
        arrays[str(name)] = Stored(
            (len(series),),
            "labels" if _has_labels(series) else str(series.dtype),
            partial(_from_series, series),
            (exact or {}).get(str(name)),
        )
    return Contents(path, arrays, columns={name: name for name in arrays})


def _has_labels(series: pd.Series) -> bool:
    import pandas as pd

    return isinstance(series.dtype, pd.CategoricalDtype) or (
        pd.api.types.infer_dtype(series, skipna=True) == "string"
    )


def _from_series(series: pd.Series) -> Column:
    """Numbers as they are, where NaN is the only gap; all else as any column is read."""
    # Of pandas' own Int64, numpy's int64: as an array of its own choice it would hold objects.
    plain = getattr(series.dtype, "numpy_dtype", series.dtype)
    has_gaps = plain is not series.dtype and bool(series.isna().any())
    if isinstance(plain, np.dtype) and plain.kind in "biuf" and not has_gaps:
        return series.to_numpy(dtype=plain)
    return read_column(series, str(series.name))
