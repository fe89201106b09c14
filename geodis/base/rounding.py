"""How far numbers can be trusted: the rounding that the precision of an array leaves in it."""

from __future__ import annotations

import numpy as np

# Roundings to the dtype that a number has behind it: its own, and those of a sum of a few terms,
# as a linear layer or a mean leaves them. In half precision numbers are stored, not computed.
ROUNDINGS, ROUNDINGS_OF_HALF = 4, 1


def trusted_digits(dtype: np.dtype) -> float:
    """The share of a number, about, that rounding to a dtype may have changed.

    Double precision for what is not a float, and for more than double, which ends there.

    Examples
    --------
    >>> trusted_digits(np.dtype("float32")) == 2.0**-22
    True
    """
    unit = np.finfo(dtype).eps / 2 if dtype.kind == "f" and dtype.itemsize < 8 else 2.0**-53
    return float((ROUNDINGS_OF_HALF if unit > 2.0**-24 else ROUNDINGS) * unit)


def rounding_of(values: np.ndarray, dtype: np.dtype | None = None) -> np.ndarray:
    """How much of each column is rounding, in the units of the column.

    Parameters
    ----------
    values : ndarray of shape (..., z)
    dtype : dtype, optional
        In which the values were computed, where they have been converted since.

    Returns
    -------
    ndarray of shape (z,)
        ``4 u max |column|`` with u the unit roundoff of the dtype.

    Examples
    --------
    >>> rounding_of(np.array([[1.0, 0.0], [-4.0, 0.0]], np.float32)) * 2.0**22
    array([4., 0.])
    """
    largest = np.abs(values.reshape(-1, values.shape[-1])).max(axis=0, initial=0.0)
    return largest.astype(float) * trusted_digits(dtype or values.dtype)
