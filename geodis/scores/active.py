"""Latents that say nothing: constant, or collapsed to the prior."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError, check_finite, check_numeric, to_numpy
from geodis.scores.scaling import of_order_one

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
