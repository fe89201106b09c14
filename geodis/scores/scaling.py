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
    return np.ldexp(latents, -_exponent(latents))


def unit_of(latents: np.ndarray) -> np.ndarray:
    """What every column was divided by, (z,): ``of_order_one(z) unit_of(z) = z``.

    Examples
    --------
    >>> unit_of(np.array([[6.0, 1.0], [-2.0, 0.0]]))
    array([8., 2.])
    """
    return np.ldexp(1.0, _exponent(latents))


def _exponent(latents: np.ndarray) -> np.ndarray:
    return np.frexp(np.abs(latents).max(axis=0))[1]
