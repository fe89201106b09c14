"""Factors of any kind -> their columns, each of its own dtype, with their names."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError, to_numpy
from geodis.data.files.load import Factors


def factor_columns(factors: Any) -> tuple[list[np.ndarray], tuple[str, ...]]:
    """Take factors apart, without a look at their values.

    Parameters
    ----------
    factors : array-like of shape (n, f), or (n,) for one factor
        An array, a pandas frame or series, a tensor, or what `load_factors` returns.

    Returns
    -------
    columns : list of f ndarrays of shape (n,)
    names : tuple of str
        Empty where the factors came without.

    Examples
    --------
    >>> columns, names = factor_columns([[1, 2], [3, 4]])
    >>> [column.tolist() for column in columns], names
    ([[1, 3], [2, 4]], ())
    """
    names: tuple[str, ...] = ()
    if isinstance(factors, Factors):
        names, factors = factors.names, factors.values
    if hasattr(factors, "columns") and hasattr(factors, "iloc"):  # a pandas frame
        names = tuple(map(str, factors.columns))
        columns = [np.asarray(factors.iloc[:, j]) for j in range(factors.shape[1])]
    else:
        if hasattr(factors, "iloc") and getattr(factors, "name", None) is not None:
            names = (str(factors.name),)
        array = to_numpy(factors, "factors")
        if array.ndim == 1:
            array = array[:, None]
        if array.ndim != 2:
            raise InputError(
                f"factors must have shape (n, f), one row a point; shape {array.shape} came."
            )
        columns = list(array.T)
    if not columns or not len(columns[0]):
        raise InputError("factors must hold at least one row and one factor; none came.")
    return columns, names


def called(names: tuple[str, ...], j: int) -> str:
    """What to call factor j in a message."""
    return f"factor {names[j]!r}" if names else f"factor {j}"


def refuse_missing(column: np.ndarray, name: str) -> None:
    """Raise an InputError where a column of objects has no value: None, NaN, pandas.NA or NaT."""
    from pandas import isna

    if missing := int(isna(column).sum()):
        raise InputError(f"{name} must have a value in every row: {missing} missing.")
