"""Latents on a scale that leaves room for squares."""

from __future__ import annotations

import numpy as np


def of_order_one(latents: np.ndarray) -> np.ndarray:
    """Divide every column by a power of two, which loses nothing, so that it ends within 1.

    Squares of very large and very small numbers, and single precision, have no room for them.

    Examples
    --------
    >>> of_order_one(np.array([[6.0, 1.0], [-2.0, 0.0]]))
    array([[ 0.75,  0.5 ],
           [-0.25,  0.  ]])
    """
    exponent = np.frexp(np.abs(latents).max(axis=0))[1]
    return np.ldexp(latents, -exponent)
