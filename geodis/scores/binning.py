"""Binning of continuous latents and factors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import check_choice, check_int
from geodis.data.factors import Factors, as_factors
from geodis.scores.inputs import code_factors

BINS = 20  # as in the published scores
# Contingency tables have an entry for every pair of bins: with more bins they would take gigabytes.
MOST_BINS = 4096
BinsBy = Literal["equal_width", "quantile"]


def bin_columns(values: np.ndarray, bins: int = BINS, method: BinsBy = "equal_width") -> np.ndarray:
    """Return the bin of every value, column by column.

    "equal_width" cuts the range of a column into `bins` intervals that include their left edge; the
    last one includes both edges. The range of a constant column is its value plus or minus 0.5.
    "quantile" fills bins with about equally many rows; equal values share a bin, so that the
    result depends only on the order of the values.

    Parameters
    ----------
    values : ndarray of shape (n, z)
    bins : int
        At most 4,096.
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
    bins = check_int(bins, "bins", low=2, high=MOST_BINS)
    check_choice(method, "method", get_args(BinsBy))
    numbers = np.empty(values.shape, np.int32)
    for j, column in enumerate(values.T):
        if method == "equal_width":
            low, high = column.min(), column.max()
            if low == high:
                low, high = low - 0.5, high + 0.5
            # Exactly the edges of the published scores, which decide about values on an edge.
            edges = np.linspace(low, high, bins + 1)[1:-1]
            numbers[:, j] = np.searchsorted(edges, column, side="right")
        else:
            order = np.argsort(column, kind="stable")
            ordered, below = column[order], np.arange(len(column))
            below[1:][ordered[1:] == ordered[:-1]] = 0  # number of smaller values
            numbers[order, j] = np.maximum.accumulate(below) * bins // len(column)
    return numbers


def bin_factors(factors: Any, bins: int = BINS, method: BinsBy = "equal_width") -> Any:
    """Bin the continuous factors, for scores that need classes. The others are unchanged.

    Parameters
    ----------
    factors : array-like of shape (n, f), frame, dict of columns, or Factors
    bins : int
    method : {"equal_width", "quantile"}

    Returns
    -------
    Factors, or ndarray of int64, shape (n, f)
        Names, kinds, labels and factors that are not continuous are kept. A cyclic number is cut
        into bins of equal width of one period; its new period is the number of bins. For an array
        of numbers the result is an array of bins, and of codes for the other factors.

    Examples
    --------
    >>> angle = np.linspace(0, 1, 9)
    >>> shape = np.array([7, 7, 7, 8, 8, 8, 9, 9, 9])
    >>> bin_factors(np.column_stack([angle, shape]), bins=2).T
    array([[0, 0, 0, 0, 1, 1, 1, 1, 1],
           [0, 0, 0, 1, 1, 1, 2, 2, 2]])
    """
    known = as_factors(factors)
    coded = code_factors(known)
    as_array = known.are_plain and not isinstance(factors, Factors)
    # The data type must hold the number of any bin.
    kept = known.values.astype(np.result_type(known.values, np.int32))
    binned = coded.codes.copy() if as_array else kept
    if coded.continuous.any():
        binned[:, coded.continuous] = bin_columns(coded.values[:, coded.continuous], bins, method)
    if as_array:
        return binned
    periods = dict(known.periods)
    for j in np.flatnonzero(coded.continuous):
        if (period := periods.get(known.names[j])) is not None:
            binned[:, j] = _bins_of_turn(coded.values[:, j], period, bins)
            periods[known.names[j]] = float(bins)
    return replace(known, values=binned, periods=periods)


def _bins_of_turn(values: np.ndarray, period: float, bins: int) -> np.ndarray:
    """Return the bin of every value within one period, cut into bins of equal width."""
    share = np.remainder(values / period, 1.0)
    return np.minimum((share * bins).astype(np.int64), bins - 1)
