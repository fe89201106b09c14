"""Continuous latents and factors -> bins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import check_choice, check_int
from geodis.data.factors import Factors, as_factors
from geodis.scores.inputs import code_factors

BINS = 20  # as in the published scores
# Counts are held of every pair of bins: with more of them a table of counts takes gigabytes, and
# holds one row a bin.
MOST_BINS = 4096
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
    factors : array-like of shape (n, f), frame, dict of columns, or Factors
    bins : int
    method : {"equal_width", "quantile"}

    Returns
    -------
    Factors, or ndarray of int64, shape (n, f)
        With the names, kinds and labels that were given, and the values of what is not continuous.
        A cyclic number has bins of equal width of one turn, whose number is its period.
        An array of numbers comes back as an array: bins, and codes of the others.

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
    # Wide enough for the number of any bin.
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
    """The bin of every value in one turn from zero; of equal width, so that all steps are equal."""
    share = np.remainder(values / period, 1.0)
    return np.minimum((share * bins).astype(np.int64), bins - 1)
