"""Continuous latents and factors -> bins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import check_choice, check_int
from geodis.data.factors import Factors
from geodis.scores.inputs import code_factors

BINS = 20  # as in the published scores
BinsBy = Literal["equal_width", "quantile"]


def bin_columns(values: np.ndarray, bins: int = BINS, method: BinsBy = "equal_width") -> np.ndarray:
    """Number the bin of every value, column by column.

    "equal_width" cuts the range of a column into `bins` intervals, each with its left edge and
    the last one with both; a constant column gets the range from half below to half above.
    "quantile" fills bins with about equally many rows; equal values share a bin, so that the
    result depends on the order of the values alone.

    Parameters
    ----------
    values : ndarray of shape (n, z)
    bins : int
    method : {"equal_width", "quantile"}

    Returns
    -------
    ndarray of int32, shape (n, z)
        0 to bins - 1.

    Examples
    --------
    >>> column = np.array([[0.0], [1.0], [2.0], [100.0]])
    >>> bin_columns(column, 2).ravel().tolist(), bin_columns(column, 2, "quantile").ravel().tolist()
    ([0, 0, 0, 1], [0, 0, 1, 1])
    """
    bins = check_int(bins, "bins", low=2)
    check_choice(method, "method", get_args(BinsBy))
    numbers = np.empty(values.shape, np.int32)
    for j, column in enumerate(values.T):
        if method == "equal_width":
            low, high = column.min(), column.max()
            if low == high:
                low, high = low - 0.5, high + 0.5
            # The very edges of the published scores: a value on an edge must fall as it does there.
            edges = np.linspace(low, high, bins + 1)[1:-1]
            numbers[:, j] = np.searchsorted(edges, column, side="right")
        else:
            order = np.argsort(column, kind="stable")
            ordered, below = column[order], np.arange(len(column))
            below[1:][ordered[1:] == ordered[:-1]] = 0  # rows with smaller values, at the first
            numbers[order, j] = np.maximum.accumulate(below) * bins // len(column)
    return numbers


def bin_factors(factors: Any, bins: int = BINS, method: BinsBy = "equal_width") -> Any:
    """Bin the continuous factors, so that scores of classes apply; leave the others as they are.

    Parameters
    ----------
    factors : array-like of shape (n, f), pandas frame or Factors
    bins : int
    method : {"equal_width", "quantile"}

    Returns
    -------
    ndarray of int64, shape (n, f)
        Bins of continuous factors and codes of the others. A pandas frame comes back as a frame
        and `Factors` as `Factors`, with their names.

    Examples
    --------
    >>> angle = np.linspace(0, 1, 9)
    >>> shape = np.array([7, 7, 7, 8, 8, 8, 9, 9, 9])
    >>> bin_factors(np.column_stack([angle, shape]), bins=2).T
    array([[0, 0, 0, 0, 1, 1, 1, 1, 1],
           [0, 0, 0, 1, 1, 1, 2, 2, 2]])
    """
    coded = code_factors(factors)
    binned = coded.codes.copy()
    if coded.continuous.any():
        binned[:, coded.continuous] = bin_columns(coded.values[:, coded.continuous], bins, method)
    if isinstance(factors, Factors):
        kept = {
            name: labels
            for name, labels in factors.categories.items()
            if len(labels) == coded.sizes[factors.names.index(name)]
        }
        ordered = tuple(name for name in factors.ordered if name in kept)
        # A period is in the units of the numbers, and bins and codes count in others.
        return replace(factors, values=binned, categories=kept, ordered=ordered, periods={})
    if hasattr(factors, "columns") and hasattr(factors, "iloc"):
        return type(factors)(binned, columns=factors.columns, index=factors.index)
    return binned
