"""Reader of text tables: csv, tsv and txt, with or without gzip compression."""

from __future__ import annotations

import csv
import gzip
import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import GeodisWarning, InputError
from geodis.data.columns import LARGEST_EXACT, Column, read_column
from geodis.data.factors import default_names
from geodis.data.files import limits
from geodis.data.files.formats import TEXT, Contents, Stored, begins_like, register_reader
from geodis.data.files.limits import check_columns, check_unpacked, unpacked_limit

if TYPE_CHECKING:
    import pandas as pd


# Decimal commas and thousands separators.
#
# A comma is a decimal mark in some countries and a thousands separator in others. Fields with only
# one possible reading, such as 3,5 or 1,234,567, decide for the whole file. All columns are taken
# to use the same marks.

# Number of unambiguous fields that must support one reading, with none for the other.
MARGIN = 2

SPACES = "[ '\u2019\u00a0\u202f]"  # other thousands separators
EXPONENT = "(?:[eE][+-]?[0-9]+)?"
# Unsigned fields with only one possible reading.
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
# Fields that fit both readings, and fields without a decimal mark.
EITHER = re.compile(rf"[1-9][0-9]{{0,2}}[.,][0-9]{{3}}{EXPONENT}")
SPACED = re.compile(rf"[0-9]{{1,3}}(?:{SPACES}[0-9]{{3}})+{EXPONENT}")
WHOLE = re.compile(rf"[0-9]+{EXPONENT}")


def is_marked(field: str) -> bool:
    """Return whether a text is a number with marks that Python's float does not accept.

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
    """Return the positions of text columns that hold only numbers, some of them with marks."""
    return [j for j in range(frame.shape[1]) if _is_marked_column(frame.iloc[:, j])]


def _is_marked_column(series: pd.Series) -> bool:
    if series.dtype.kind in "biufcmM":
        return False
    fields = series.dropna().unique()  # far fewer than the rows
    if not len(fields) or not all(isinstance(field, str) for field in fields):
        return False
    distinct = set(map(_unsigned, fields))
    kinds = (COMMA_IS_DECIMAL, POINT_IS_DECIMAL, EITHER, SPACED, WHOLE)
    # In columns of plain text, the first few fields decide.
    return all(any(kind.fullmatch(text) for kind in kinds) for text in distinct) and any(
        is_marked(text) for text in distinct
    )


def read_marks(path: Path, frame: pd.DataFrame, fields: pd.DataFrame) -> None:
    """Convert text columns of numbers with marks, and warn about it.

    Parameters
    ----------
    path : Path
    frame : DataFrame
        The table as pandas read it; changed in place.
    fields : DataFrame
        The same columns as text.

    Raises
    ------
    InputError
        If the meaning of the marks is ambiguous.
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
        got = f"as {example!r}, and fewer than {MARGIN} unambiguous fields"
        if comma and point:
            got = f"as {example!r}, and fields that support both readings"
        raise InputError(
            f"{path} must show whether its commas are decimal marks or stand between thousands; "
            f"got numbers with marks in {names}, {got}: write them with a point as their only mark."
        )
    meaning = "a decimal comma" if comma else "separators of thousands"
    # With decimal commas, points are thousands separators in every column.
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


SEPARATORS = {".csv": ",", ".tsv": "\t"}
# Possible separators. A line longer than this many characters per allowed column is checked for too
# many separators; quoted fields and spaces may add some.
SEPARATING, LONG_LINE = "\t;, ", 16
# Half of pandas' peak memory while it reads a table (the limits of other formats refer to the final
# size). Each byte of text is copied and split; each field takes a position, a length and a number;
# each row takes two positions.
BYTES_OF_TEXT, BYTES_OF_FIELD, BYTES_OF_ROW = 2, 12, 8
# pandas takes a millisecond per text column, however short it is.
MOST_TEXT_COLUMNS = 10_000
MISSING = {"", "na", "n/a", "nan", "null", "none"}


@dataclass(frozen=True)
class TextFile:
    """The text of a table.

    Attributes
    ----------
    path : Path
    text : bytes or None
        The text if it was decompressed or reformatted; None if the file is plain text.
    separator : str
    """

    path: Path
    text: bytes | None
    separator: str

    @classmethod
    def of(cls, path: Path) -> TextFile:
        """Decompress a file if necessary, and find its separator."""
        suffix = path.suffixes[-2].lower() if path.suffix.lower() == ".gz" else path.suffix.lower()
        text = _unpacked(path) if path.suffix.lower() == ".gz" else None
        check_unpacked(path, path.stat().st_size)
        if text is None and begins_like(path) != TEXT:
            raise ValueError("a table in UTF-8 text was needed")
        first = cls(path, text, ",")._first_line()
        if suffix != ".txt":
            expected = SEPARATORS[suffix]
            # Spreadsheets use the semicolon in .csv files where the comma is the decimal mark.
            return cls(
                path,
                text,
                ";" if ";" in first and expected not in first else _semicolon_or(expected, first),
            )
        for separator in ("\t", ";", ","):
            if separator in first:
                return cls(path, text, separator)
        # Columns are separated by any number of spaces, as numpy.savetxt writes them.
        return cls(path, _with_single_spaces(cls(path, text, " ")), " ")

    def open(self) -> IO[str]:
        """Open the text at its beginning."""
        if self.text is not None:
            return io.TextIOWrapper(io.BytesIO(self.text), encoding="utf-8-sig", newline="")
        return self.path.open(encoding="utf-8-sig", newline="")

    def lines(self) -> Iterator[str]:
        """Yield the lines, refusing a line with many more separators than allowed columns."""
        most = LONG_LINE * limits.MOST_COLUMNS
        with self.open() as file:
            for line in file:
                if len(line) > most:
                    for mark in SEPARATING:
                        if (count := line.count(mark)) > most:
                            check_columns(self.path, count)
                yield line

    def most_rows(self, n_fields: int) -> int:
        """Return how many rows of `n_fields` fields fit within the size limit."""
        size = self.path.stat().st_size if self.text is None else len(self.text)
        limit, _ = unpacked_limit(self.path)
        return max(0, limit - BYTES_OF_TEXT * size) // (BYTES_OF_FIELD * n_fields + BYTES_OF_ROW)

    def refuse_rows(self, n_fields: int) -> None:
        """Refuse a table with more rows than `most_rows` allows."""
        check_unpacked(
            self.path, unpacked_limit(self.path)[0] + 1, f"a table of {n_fields} columns"
        )

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line number and fields of each line that is not empty."""
        reader = csv.reader(self.lines(), delimiter=self.separator, skipinitialspace=True)
        yield from ((reader.line_num, row) for row in reader if row not in ([], [""]))

    def _first_line(self) -> str:
        return next(self.lines(), "")


def _with_single_spaces(source: TextFile) -> bytes:
    """Return the text with single spaces between columns, and without # before the header."""
    found = bytearray()
    most: int | None = None  # set at the first line with fields
    for number, line in enumerate(source.lines()):
        fields = (line.removeprefix("#") if number == 0 else line).split()
        if most is None and fields:
            most = source.most_rows(len(fields))
        if most is not None and number > most:
            source.refuse_rows(len(fields))
        found += " ".join(fields).encode() + b"\n"
    return bytes(found)


def _semicolon_or(expected: str, first: str) -> str:
    """Return the semicolon if it separates fields whose commas belong to numbers."""
    fields = first.strip().split(";")
    if expected == "," and len(fields) > 1:
        plain = [field.strip().strip('"') for field in fields]
        if all(is_marked(x) or _is_number(x) or x.lower() in MISSING for x in plain):
            return ";"
    return expected


def _unpacked(path: Path) -> bytes:
    limit, _ = unpacked_limit(path)
    with gzip.open(path) as file:
        data = file.read(limit // BYTES_OF_TEXT + 1)
    check_unpacked(path, BYTES_OF_TEXT * len(data), "a table")
    if b"\x00" in data[:256]:
        raise ValueError("a table in UTF-8 text was needed")
    return data


@register_reader(".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
def read_text_table(path: Path, mmap: bool) -> Contents:
    """Read the columns of a text table, with or without a header row."""
    import pandas as pd

    source = TextFile.of(path)
    first_rows = _check_rectangular(source)
    header = _is_header(first_rows)

    def parsed(**options: Any) -> pd.DataFrame:
        with source.open() as file:
            return pd.read_csv(
                file,
                sep=source.separator,
                header=0 if header else None,
                # pandas writes its row index as an unnamed first column.
                index_col=0 if header and first_rows[0][0] == "" else False,
                skipinitialspace=True,
                low_memory=False,  # one dtype per column, however long the file is
                **options,
            )

    frame = parsed()
    texts = sum(dtype.kind not in "biufc" for dtype in frame.dtypes)
    if texts > MOST_TEXT_COLUMNS:
        raise InputError(
            f"{path} must have at most {MOST_TEXT_COLUMNS} columns of text; got {texts}."
        )
    if header:
        # np.savetxt writes "# " before its header.
        frame.columns = frame.columns.astype(str).str.lstrip("# ")
    else:
        frame.columns = list(default_names(frame.shape[1]))
    if marked_columns(frame):
        read_marks(path, frame, parsed(dtype=str))
    # Read once for all columns, and only if one is requested.
    text = cache(lambda: [row for _, row in source.rows()])
    exact = {
        str(name): partial(_read_digits, text, header, j, frame.iloc[:, j])
        for j, name in enumerate(frame.columns)
        if _may_be_rounded(frame.iloc[:, j])
    }
    return contents_of_frame(path, frame, exact)


def _may_be_rounded(series: pd.Series) -> bool:
    """Return whether pandas may have rounded large integers to floats because of a gap."""
    return (
        series.dtype.kind == "f"
        and bool(series.isna().any())
        and bool((series.abs() > LARGEST_EXACT).any())
    )


def _read_digits(
    table: Callable[[], list[list[str]]], header: bool, j: int, series: pd.Series
) -> Column:
    """Read column j again as integers of any size if all its values are integers."""
    rows = table()
    j += header and rows[0][0] == ""  # the row index that pandas writes
    text = [row[j].strip() for row in rows[header:]]
    pairs = list(zip(text, series.isna(), strict=True))
    if not all(gap or field.lstrip("+-").isdecimal() for field, gap in pairs):
        return column_of_series(series)
    values = [None if gap else int(field) for field, gap in pairs]
    return read_column(values, str(series.name))


def _check_rectangular(source: TextFile) -> list[list[str]]:
    """Require equally many fields in every row, and return the first two rows.

    pandas would fill a short row with NaN without a message.
    """
    first_rows: list[list[str]] = []
    most = 0
    for n_rows, (line, row) in enumerate(source.rows(), 1):
        if len(first_rows) < 2:
            first_rows.append(row)
            check_columns(source.path, len(first_rows[0]))
            most = source.most_rows(len(row))
        if n_rows > most:
            source.refuse_rows(len(row))
        if len(row) != len(first_rows[0]):
            raise InputError(
                f"{source.path} must have as many fields in every row as in the first, "
                f"{len(first_rows[0])}; line {line} has {len(row)}."
            )
    if not first_rows:
        raise InputError(f"{source.path} holds no rows.")
    return first_rows


def _is_header(first_rows: list[list[str]]) -> bool:
    """Return whether the first row is a header.

    A row with anything but numbers is a header. So is 0, 1, 2, ..., which pandas writes for unnamed
    columns. A single 0 is a header only above a number with a fraction: in such a column the value
    0 would be written as 0.0.
    """
    first = first_rows[0]
    if not all(_is_number(x) or is_marked(x) or x.lower() in MISSING for x in first):
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


def contents_of_frame(
    path: Path, frame: pd.DataFrame, exact: Mapping[str, Callable[[], Column]] | None = None
) -> Contents:
    """Make each column an array; together they form the table."""
    if frame.empty:
        raise InputError(f"{path} holds no rows below its header.")
    arrays = {}
    for name, series in frame.items():
        if str(name) in arrays:
            raise InputError(f"{path} must name every column differently; two are {name!r}.")
        arrays[str(name)] = Stored(
            (len(series),),
            "labels" if _has_labels(series) else str(series.dtype),
            partial(column_of_series, series),
            (exact or {}).get(str(name)),
        )
    return Contents(path, arrays, columns={name: name for name in arrays})


def _has_labels(series: pd.Series) -> bool:
    import pandas as pd

    return isinstance(series.dtype, pd.CategoricalDtype) or (
        pd.api.types.infer_dtype(series, skipna=True) == "string"
    )


def column_of_series(series: pd.Series) -> Column:
    """Convert numbers without gaps (except NaN) directly; read all other columns as factors."""
    # For pandas' Int64, use numpy's int64; pandas itself would return an object array.
    plain = getattr(series.dtype, "numpy_dtype", series.dtype)
    has_gaps = plain is not series.dtype and bool(series.isna().any())
    if isinstance(plain, np.dtype) and plain.kind in "biuf" and not has_gaps:
        return series.to_numpy(dtype=plain)
    return read_column(series, str(series.name))
