"""Latents on a scale that leaves room for squares, and those that carry no information."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError, check_finite, check_numeric, to_numpy


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


# Rounding to float32 makes a constant latent vary by 3e-8 of its size; this is above that, and
# below anything that float32 could tell apart.
ROUNDING = 1e-7

# Mean KL from the prior, in nats, below which a latent of a VAE is not used (Duan et al., 2020).
UNUSED_KL = 0.01


def varies(latents: np.ndarray) -> np.ndarray:
    """Which latents vary by more than rounding, bool (z,); the scale of a latent is irrelevant.

    Examples
    --------
    >>> varies(np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 3.0]])).tolist()
    [False, True]
    """
    scaled = of_order_one(latents)
    return scaled.std(axis=0) > ROUNDING * np.abs(scaled).max(axis=0)


def check_log_variances(log_variances: Any, latents: np.ndarray) -> np.ndarray | None:
    """Return the log-variances of Gaussian latents, which have the shape of their means."""
    if log_variances is None:
        return None
    array = check_numeric(to_numpy(log_variances, "log_variances"), "log_variances")
    if array.shape != latents.shape:
        raise InputError(
            f"log_variances must have the shape of the latents, {latents.shape}; got {array.shape}."
        )
    return check_finite(array, "log_variances").astype(float)


def prior_divergence(latents: np.ndarray, log_variances: np.ndarray) -> np.ndarray:
    """Mean over rows of KL(N(mean, exp(log_variance)) || N(0, 1)), in nats, shape (z,)."""
    rows = latents**2 + np.exp(log_variances) - log_variances - 1
    return 0.5 * rows.mean(axis=0)


def active_latents(latents: np.ndarray, log_variances: np.ndarray | None = None) -> np.ndarray:
    """Which latents carry something, bool (z,): they vary, and did not collapse to the prior."""
    active = varies(latents)
    if log_variances is not None:
        active &= prior_divergence(latents, log_variances) > UNUSED_KL
    return active
