"""Covariance of the latents, or of samples of a Gaussian encoder whose means they are.

A Gaussian encoder has two representations, the mean, and a sample of N(mean, exp(log_variance)).
Methods that force the sampled one to factorise need not decorrelate the mean (Locatello et al.,
2019, section 5.2), so every unsupervised score is of the mean unless it gets `log_variances`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.scores.active import check_log_variances, varies
from geodis.scores.inputs import check_latents


def covariance_of(latents: Any, log_variances: Any) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Covariance (z, z) of the representation (ddof 1), which latents vary, and notes."""
    means = check_latents(latents)
    spread = check_log_variances(log_variances, means)
    covariance = np.atleast_2d(np.cov(means, rowvar=False))
    varying = varies(means)
    # Rounding is not a variance.
    covariance = np.where(varying[:, None] & varying[None, :], covariance, 0.0)
    if spread is not None:
        covariance += np.diag(np.exp(spread).mean(axis=0))
        varying = np.diag(covariance) > 0
    notes = [] if varying.all() else [f"constant latents left out: {int((~varying).sum())}"]
    return covariance, varying, notes
