"""A table of any kind -> its columns as they are, and their names."""

from __future__ import annotations

import datetime
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from geodis.base.check import GeodisWarning, InputError, to_numpy

if TYPE_CHECKING:
    import pandas as pd


# Tables of pyarrow, from memory or from a Parquet file -> columns of pandas.


def columns_of_arrow(table: Any) -> tuple[list[Any], tuple[str, ...]]:
    """Take a table of pyarrow apart; a pandas index stored with it is left out.

    Returns
    -------
    columns : list of f pandas series
    names : tuple of f str
    """
    frame = frame_of_arrow(table)
    names = tuple(map(str, frame.columns))
    return [exact_column(table, frame.iloc[:, j]) for j in range(len(names))], names


def frame_of_arrow(table: Any) -> pd.DataFrame:
    """Convert to pandas, and make categoricals again of those that Parquet stores as their values.

    The order of their categories is not stored with these: they are without one.
    """
    import pandas as pd

    frame = table.to_pandas()
    known = {str(name): name for name in frame.columns}  # pandas may have had numbers for names
    for name in _rebuilt(table).keys() & known.keys():
        frame[known[name]] = pd.Categorical(np.asarray(_integers(table, name)))
    return frame


def exact_column(table: Any, series: pd.Series) -> pd.Series:
    """A column of the frame, or what of the table that one has lost, or a warning that it is lost.

    Of integers with gaps pandas makes floats; here they are objects. Ordered categories of
    anything but text come out of Parquet without their order.
    """
    name = str(series.name)
    if _rebuilt(table).get(name):
        warnings.warn(
            f"The order of the categories of {name} is not in the file, which stores that of text "
            "alone: they are read as labels without one.",
            GeodisWarning,
            stacklevel=2,
        )
    elif series.dtype.kind == "f" and "int" in _type(table, name):
        return _integers(table, name)
    return series


def _rebuilt(table: Any) -> dict[str, bool]:
    """Categoricals of pandas that are none in the table, by name; and whether they were ordered."""
    return {
        column["field_name"]: bool((column.get("metadata") or {}).get("ordered"))
        for column in (table.schema.pandas_metadata or {}).get("columns", ())
        if column["pandas_type"] == "categorical"
        and _type(table, column["field_name"])
        and not _type(table, column["field_name"]).startswith("dictionary")
    }


def _type(table: Any, name: str) -> str:
    """The type of a column, "" where there is none or several of the name."""
    j = table.schema.get_field_index(name)
    return "" if j < 0 else str(table.schema.field(j).type)


def _integers(table: Any, name: str) -> pd.Series:
    return table.column(name).to_pandas(integer_object_nulls=True)


# One column of values of any kind -> numbers, or labels.

# Beyond it two integers may share one float64, and an identity would be lost.
LARGEST_EXACT = 2**53


@dataclass(frozen=True)
class Labels:
    """A column of labels.

    Attributes
    ----------
    codes : ndarray of int64, shape (n,)
        -1 where the label is missing.
    categories : tuple of str
        What each code means.
    ordered : bool
        Whether the order of the categories means something, as in low < medium < high.
    """

    codes: np.ndarray
    categories: tuple[str, ...]
    ordered: bool = False

    def __post_init__(self) -> None:
        if len(set(self.categories)) < len(self.categories):
            twice = next(x for x in self.categories if self.categories.count(x) > 1)
            raise InputError(
                f"The labels of a factor must all read differently; got several that read {twice}."
            )

    @classmethod
    def of(cls, values: Any) -> Labels:
        """Encode text, None where it is missing, sorted; or take over a pandas categorical.

        Examples
        --------
        >>> Labels.of(["dot", None, "box"])
        Labels(codes=array([ 1, -1,  0]), categories=('box', 'dot'), ordered=False)
        """
        import pandas as pd

        categorical = pd.Categorical(values)
        return cls(
            np.asarray(categorical.codes, dtype=np.int64),
            tuple(map(str, categorical.categories)),
            bool(categorical.ordered),
        )

    @classmethod
    def in_order_of(cls, values: np.ndarray, missing: np.ndarray) -> Labels:
        """Encode values that have an order but are no numbers, as large integers and dates."""
        distinct, present = np.unique(values[~missing], return_inverse=True)
        codes = np.full(len(values), -1, dtype=np.int64)
        codes[~missing] = present.reshape(-1)
        return cls(codes, tuple(map(str, distinct)), ordered=True)

    def numbers(self) -> np.ndarray:
        """Return the codes, NaN where the label is missing."""
        missing = self.codes < 0
        return np.where(missing, np.nan, self.codes) if missing.any() else self.codes


Column: TypeAlias = "np.ndarray | Labels"


def read_column(values: Any, name: str) -> Column:
    """Read one column of any kind.

    Parameters
    ----------
    values : array-like of shape (n,), or Labels
        What `as_factors` describes.
    name : str
        What to call it in a message.

    Returns
    -------
    ndarray of shape (n,) of integers or floats, or Labels
        NaN, or the code -1, where a value is missing.

    Examples
    --------
    >>> read_column([True, False], "x"), read_column([3, None], "x")
    (array([1, 0]), array([ 3., nan]))
    >>> read_column([2**60, 2**60 + 1], "x").categories
    ('1152921504606846976', '1152921504606846977')
    """
    if isinstance(values, Labels):
        return values
    if hasattr(values, "null_count") and hasattr(values, "to_list"):
        return _read_polars(values, name)
    dtype = getattr(values, "dtype", None)
    if hasattr(dtype, "categories") and hasattr(dtype, "ordered"):
        return Labels.of(values)
    if str(dtype).startswith(("str", "large_string")):  # text of pandas, which says so
        return _read_text(np.asarray(values, dtype=object))
    if hasattr(dtype, "na_value") and not isinstance(dtype, np.dtype):
        plain = getattr(dtype, "numpy_dtype", np.dtype(object))
        if plain.kind in "biuf" and not values.isna().any():
            return _read_array(values.to_numpy(dtype=plain), name)
        # A type of pandas: as an array of its own choice, integers with gaps would be floats.
        return _read_objects(np.asarray(values, dtype=object), name)
    if isinstance(values, list | tuple):
        return _read_list(values, name)
    if isinstance(values, np.ma.MaskedArray):
        return _read_masked(values, name)
    return _read_array(to_numpy(values, name), name)


def _read_array(array: np.ndarray, name: str) -> Column:
    if array.ndim != 1:
        raise InputError(f"{name} must have shape (n,), one value a row; got shape {array.shape}.")
    kind = array.dtype.kind
    if kind == "O":
        return _read_objects(array, name)
    if kind in "SUT":
        return _read_text(_decoded(array))
    if kind in "mM":
        return Labels.in_order_of(array, np.isnat(array))
    if kind == "b":
        return array.astype(np.int64)  # numpy does not subtract booleans
    if kind in "iu" and _is_beyond(array):
        return Labels.in_order_of(array, np.zeros(len(array), dtype=bool))
    if kind in "iuf":
        return array
    got = "complex numbers" if kind == "c" else f"dtype {array.dtype}"
    raise InputError(f"{name} must hold real numbers or labels; got {got}.")


def _read_list(values: Sequence[Any], name: str) -> Column:
    """As an array, unless its one dtype would turn numbers into text, or round them."""
    values = without_masked(values)
    array = to_numpy(values, name)
    # As float64, because 2^53 would be infinite in float16.
    rounds = array.dtype.kind == "f" and bool((np.abs(array.astype(float)) > LARGEST_EXACT).any())
    if array.ndim != 1 or not (rounds or array.dtype.kind in "UO"):
        return _read_array(array, name)
    objects = np.fromiter(values, dtype=object, count=len(values))
    return _read_objects(objects, name)


def without_masked(values: Sequence[Any]) -> Sequence[Any]:
    """Return a list with None for every masked value, of which numpy would warn."""
    if any(value is np.ma.masked for value in values):
        return [None if value is np.ma.masked else value for value in values]
    return values


def _read_objects(array: np.ndarray, name: str) -> Column:
    """Python's own values: labels if all are text, numbers if all of them convert."""
    from pandas import Period

    missing = _is_missing(array)
    present = array[~missing]
    if len(present) and all(isinstance(value, str | bytes) for value in present):
        return _read_text(array)
    times = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
    if any(isinstance(value, complex | np.complexfloating) for value in present):
        raise InputError(f"{name} must hold real numbers or labels; got complex numbers.")
    if len(present) and all(isinstance(value, (*times, Period)) for value in present):
        return _read_times(array, missing)
    if len(present) and all(isinstance(value, Integral | np.bool_) for value in present):
        if _is_beyond(present):
            return Labels.in_order_of(array, missing)
        return _with_gaps(present.astype(np.int64), missing)
    try:
        return _with_gaps(present.astype(float), missing)
    except (TypeError, ValueError, OverflowError):
        return _read_text(array)


def _read_times(array: np.ndarray, missing: np.ndarray) -> Labels:
    try:
        return Labels.in_order_of(array, missing)
    # Times with a zone and times without have no common order, nor have months and days.
    except (TypeError, ValueError):
        return _read_text(array)


def _read_text(array: np.ndarray) -> Labels:
    if array.dtype.kind == "O":  # of any values, of which some may be missing
        missing = _is_missing(array)
        text = (x.decode("utf-8", "replace") if isinstance(x, bytes) else str(x) for x in array)
        array = np.fromiter(text, dtype=object, count=len(array))
        array[missing] = None
    return Labels.of(array)


def _read_masked(values: np.ma.MaskedArray, name: str) -> Column:
    array, missing = np.asarray(values.data), np.ma.getmaskarray(values)
    if array.ndim != 1 or not missing.any():
        return _read_array(array, name)
    is_text = array.dtype.kind in "SUT"
    objects = (_decoded(array) if is_text else array).astype(object)
    objects[missing] = None
    return _read_text(objects) if is_text else _read_objects(objects, name)


def _read_polars(series: Any, name: str) -> Column:
    kind = str(series.dtype)
    if not (series.null_count() or kind.startswith(("Enum", "String", "Categorical"))):
        return _read_array(series.to_numpy(), name)
    objects = np.fromiter(series.to_list(), dtype=object, count=len(series))
    if kind.startswith("Enum"):  # the only categories of polars that have an order of their own
        from pandas import Categorical

        return Labels.of(Categorical(objects, list(series.dtype.categories), ordered=True))
    return _read_text(objects) if kind.startswith(("S", "C")) else _read_objects(objects, name)


def _decoded(text: np.ndarray) -> np.ndarray:
    """Text of numpy as its plain kind, or as objects."""
    if text.dtype.kind == "S":
        return np.char.decode(text, "utf-8", "replace")
    return text if text.dtype.kind == "U" else text.astype(object)


def _is_missing(array: np.ndarray) -> np.ndarray:
    """Where a column of objects has no value: None, NaN, NaT or NA of pandas."""
    from pandas import isna

    return np.asarray(isna(array))


def _is_beyond(integers: np.ndarray) -> bool:
    """Whether there is an integer too large for all its neighbours to be exact in float64."""
    return bool(integers.size and max(-int(integers.min()), int(integers.max())) > LARGEST_EXACT)


def _with_gaps(numbers: np.ndarray, missing: np.ndarray) -> np.ndarray:
    if not missing.any():
        return numbers
    column = np.full(len(missing), np.nan)
    column[~missing] = numbers
    return column


def check_codes(name: str, codes: np.ndarray, count: int) -> None:
    """Refuse codes that number no label: NaN is a label that is missing."""
    present = codes[~np.isnan(codes)]
    if not len(present):
        return
    low, high = present.min(), present.max()
    if low < 0 or high >= count or (present != np.round(present)).any():
        raise InputError(
            f"The labels of {name} must have codes from 0 to {count - 1}; got {low:g} to {high:g}."
        )


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
