"""One column of values of any kind -> numbers, or labels."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from geodis.base.check import InputError, to_numpy

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
