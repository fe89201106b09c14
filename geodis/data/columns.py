"""Tables of any kind, split into columns, and columns read as numbers or labels."""

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


# Tables of pyarrow, in memory or from a Parquet file.


def columns_of_arrow(table: Any) -> tuple[list[Any], tuple[str, ...]]:
    """Split a table of pyarrow into pandas series, without a stored pandas index.

    Returns
    -------
    columns : list of f pandas series
    names : tuple of f str
    """
    frame = frame_of_arrow(table)
    names = tuple(map(str, frame.columns))
    return [exact_column(table, frame.iloc[:, j]) for j in range(len(names))], names


def frame_of_arrow(table: Any) -> pd.DataFrame:
    """Convert a table to pandas, restoring categoricals that Parquet stores as plain values.

    Parquet does not store the order of their categories, so they become unordered.
    """
    import pandas as pd

    frame = table.to_pandas()
    known = {str(name): name for name in frame.columns}  # names in pandas may be numbers
    for name in _rebuilt(table).keys() & known.keys():
        frame[known[name]] = pd.Categorical(np.asarray(_integers(table, name)))
    return frame


def exact_column(table: Any, series: pd.Series) -> pd.Series:
    """Return a column of the frame, or a more exact copy from the table.

    pandas converts integers with gaps to floats; here they become objects. A warning is given for
    ordered categories of values other than text, whose order Parquet does not store.
    """
    name = str(series.name)
    if _rebuilt(table).get(name):
        warnings.warn(
            f"{name} must have text categories to keep their order in the file; got others, "
            "which are read as unordered labels.",
            GeodisWarning,
            stacklevel=2,
        )
    elif series.dtype.kind == "f" and "int" in _type(table, name):
        return _integers(table, name)
    return series


def _rebuilt(table: Any) -> dict[str, bool]:
    """Return pandas categoricals that are plain in the table: their names, and whether ordered."""
    return {
        column["field_name"]: bool((column.get("metadata") or {}).get("ordered"))
        for column in (table.schema.pandas_metadata or {}).get("columns", ())
        if column["pandas_type"] == "categorical"
        and _type(table, column["field_name"])
        and not _type(table, column["field_name"]).startswith("dictionary")
    }


def _type(table: Any, name: str) -> str:
    """Return the type of a column; "" if no or several columns have the name."""
    j = table.schema.get_field_index(name)
    return "" if j < 0 else str(table.schema.field(j).type)


def _integers(table: Any, name: str) -> pd.Series:
    return table.column(name).to_pandas(integer_object_nulls=True)


# Columns of values of any kind, read as numbers or labels.

# Beyond this, two integers may become the same float64.
LARGEST_EXACT = 2**53


@dataclass(frozen=True)
class Labels:
    """A column of labels.

    Attributes
    ----------
    codes : ndarray of int64, shape (n,)
        -1 for a missing label.
    categories : tuple of str
        The label of each code.
    ordered : bool
        Whether the order of the categories is meaningful, as in low < medium < high.
    """

    codes: np.ndarray
    categories: tuple[str, ...]
    ordered: bool = False

    def __post_init__(self) -> None:
        if len(set(self.categories)) < len(self.categories):
            twice = next(x for x in self.categories if self.categories.count(x) > 1)
            raise InputError(
                f"The labels of a factor must differ as text; got several that read {twice}."
            )

    @classmethod
    def of(cls, values: Any) -> Labels:
        """Encode texts (None if missing) in sorted order, or convert a pandas categorical.

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
        """Encode ordered values that are not numbers, such as large integers and dates."""
        distinct, present = np.unique(values[~missing], return_inverse=True)
        codes = np.full(len(values), -1, dtype=np.int64)
        codes[~missing] = present.reshape(-1)
        return cls(codes, tuple(map(str, distinct)), ordered=True)

    def numbers(self) -> np.ndarray:
        """Return the codes, NaN for a missing label."""
        missing = self.codes < 0
        return np.where(missing, np.nan, self.codes) if missing.any() else self.codes


Column: TypeAlias = "np.ndarray | Labels"


def read_column(values: Any, name: str) -> Column:
    """Read one column of any kind.

    Parameters
    ----------
    values : array-like of shape (n,), or Labels
        As described for `as_factors`.
    name : str
        The name of the column in messages.

    Returns
    -------
    ndarray of shape (n,) of integers or floats, or Labels
        NaN, or the code -1, for missing values.

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
    if str(dtype).startswith(("str", "large_string")):  # text of pandas
        return _read_text(np.asarray(values, dtype=object))
    if hasattr(dtype, "na_value") and not isinstance(dtype, np.dtype):
        plain = getattr(dtype, "numpy_dtype", np.dtype(object))
        if plain.kind in "biuf" and not values.isna().any():
            return _read_array(values.to_numpy(dtype=plain), name)
        # Other pandas types: pandas' own array would turn integers with gaps into floats.
        return _read_objects(np.asarray(values, dtype=object), name)
    if isinstance(values, list | tuple):
        return _read_list(values, name)
    if isinstance(values, np.ma.MaskedArray):
        return _read_masked(values, name)
    return _read_array(to_numpy(values, name), name)


def _read_array(array: np.ndarray, name: str) -> Column:
    if array.ndim != 1:
        raise InputError(
            f"{name} must have shape (n,), one value per row; got shape {array.shape}."
        )
    kind = array.dtype.kind
    if kind == "O":
        return _read_objects(array, name)
    if kind in "SUT":
        return _read_text(_decoded(array))
    if kind in "mM":
        return Labels.in_order_of(array, np.isnat(array))
    if kind == "b":
        return array.astype(np.int64)  # numpy cannot subtract booleans
    if kind in "iu" and _is_beyond(array):
        return Labels.in_order_of(array, np.zeros(len(array), dtype=bool))
    if kind in "iuf":
        return array
    got = "complex numbers" if kind == "c" else f"dtype {array.dtype}"
    raise InputError(f"{name} must hold real numbers or labels; got {got}.")


def _read_list(values: Sequence[Any], name: str) -> Column:
    """Read a list as an array, or as objects if an array would change or round its values."""
    values = without_masked(values)
    array = to_numpy(values, name)
    # As float64, because 2^53 would be infinite in float16.
    rounds = array.dtype.kind == "f" and bool((np.abs(array.astype(float)) > LARGEST_EXACT).any())
    if array.ndim != 1 or not (rounds or array.dtype.kind in "UO"):
        return _read_array(array, name)
    objects = np.fromiter(values, dtype=object, count=len(values))
    return _read_objects(objects, name)


def without_masked(values: Sequence[Any]) -> Sequence[Any]:
    """Replace masked values in a list by None, because numpy would warn about them."""
    if any(value is np.ma.masked for value in values):
        return [None if value is np.ma.masked else value for value in values]
    return values


def _read_objects(array: np.ndarray, name: str) -> Column:
    """Read Python objects: labels if all are text, numbers if all can be converted."""
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
    # Times with and without a time zone have no common order, nor have months and days.
    except (TypeError, ValueError):
        return _read_text(array)


def _read_text(array: np.ndarray) -> Labels:
    if array.dtype.kind == "O":  # any values, some possibly missing
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
    if kind.startswith("Enum"):  # the only ordered categories of polars
        from pandas import Categorical

        return Labels.of(Categorical(objects, list(series.dtype.categories), ordered=True))
    return _read_text(objects) if kind.startswith(("S", "C")) else _read_objects(objects, name)


def _decoded(text: np.ndarray) -> np.ndarray:
    """Convert numpy bytes to str, and other texts to objects."""
    if text.dtype.kind == "S":
        return np.char.decode(text, "utf-8", "replace")
    return text if text.dtype.kind == "U" else text.astype(object)


def _is_missing(array: np.ndarray) -> np.ndarray:
    """Return where an object column has no value: None, NaN, NaT or pandas' NA."""
    from pandas import isna

    return np.asarray(isna(array))


def _is_beyond(integers: np.ndarray) -> bool:
    """Return whether an integer is too large to be exact in float64."""
    return bool(integers.size and max(-int(integers.min()), int(integers.max())) > LARGEST_EXACT)


def _with_gaps(numbers: np.ndarray, missing: np.ndarray) -> np.ndarray:
    if not missing.any():
        return numbers
    column = np.full(len(missing), np.nan)
    column[~missing] = numbers
    return column


def check_codes(name: str, codes: np.ndarray, count: int) -> None:
    """Require codes of labels in range; NaN marks a missing label."""
    present = codes[~np.isnan(codes)]
    if not len(present):
        return
    low, high = present.min(), present.max()
    if low < 0 or high >= count or (present != np.round(present)).any():
        raise InputError(
            f"The labels of {name} must have codes from 0 to {count - 1}; got {low:g} to {high:g}."
        )


def columns_of(table: Any) -> tuple[list[Any], tuple[str, ...] | None]:
    """Split a table into columns without reading their values.

    Parameters
    ----------
    table : array-like of shape (n, f), or (n,) for one column
        As described for `as_factors`, except `Factors`.

    Returns
    -------
    columns : list of f array-likes of shape (n,)
    names : tuple of f str, or None
        None if the table has no names.

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
            f"factors must be values, not a file name; got {os.fspath(table)!r}: use load_factors."
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
    """Stack rows, some of them masked, as a masked array: np.asarray would drop their masks."""
    try:
        return np.ma.stack([np.ma.asarray(row) for row in rows])
    except ValueError as error:
        raise InputError(f"factors must be a rectangular array: {error}.") from error


def _is_series(table: Any) -> bool:
    """Return whether a table is one column: a series, index or categorical."""
    dtype = getattr(table, "dtype", None)
    known = any(hasattr(table, name) for name in ("iloc", "to_list"))
    return dtype is not None and (known or hasattr(dtype, "categories"))


def _columns_of_array(array: np.ndarray) -> list[np.ndarray]:
    if array.ndim not in (1, 2):
        raise InputError(
            f"factors must have shape (n, f), one row per point; got shape {array.shape}."
        )
    return [array] if array.ndim == 1 else [array[:, j] for j in range(array.shape[1])]


def _columns_of_list(rows: Sequence[Any]) -> list[Any]:
    """Split rows into columns of their own kinds, so that numbers next to text stay numbers."""
    array = to_numpy(rows, "factors")
    if array.ndim != 2:
        return [rows] if array.ndim == 1 else _columns_of_array(array)
    if array.dtype.kind in "biu":
        return _columns_of_array(array)
    return [list(column) for column in zip(*rows, strict=True)]
