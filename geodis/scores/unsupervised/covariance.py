"""Covariance of the latents, or of samples of a Gaussian encoder whose means they are.

A Gaussian encoder has two representations, the mean, and a sample of N(mean, exp(log_variance)).
Methods that force the sampled one to factorise need not decorrelate the mean (Locatello et al.,
2019, section 5.2), so every unsupervised score is of the mean unless it gets `log_variances`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.scores.active import check_log_variances, of_order_one, unit_of, varies
from geodis.scores.inputs import check_latents


@dataclass(frozen=True)
class Spread:
    """Covariance of a representation, in units in which it cannot leave the range of floats.

    Attributes
    ----------
    scaled : ndarray of shape (z, z)
        Covariance (ddof 1) of the latents over `unit`.
    unit : ndarray of shape (z,)
    varying : ndarray of bool, shape (z,)
    notes : list of str
    """

    scaled: np.ndarray
    unit: np.ndarray
    varying: np.ndarray
    notes: list[str]

    @property
    def covariance(self) -> np.ndarray:
        """Covariance (z, z) in the units of the latents; infinite where these are very large."""
        with np.errstate(over="ignore", under="ignore"):
            return self.scaled * self.unit[:, None] * self.unit


def spread_of(latents: Any, log_variances: Any) -> Spread:
    """The covariance of the representation, which latents vary, and notes."""
    means = check_latents(latents)
    spread = check_log_variances(log_variances, means)
    unit = unit_of(means)
    scaled = np.atleast_2d(np.cov(of_order_one(means), rowvar=False))
    varying = varies(means)
    # Rounding is not a variance.
    scaled = np.where(varying[:, None] & varying[None, :], scaled, 0.0)
    if spread is not None:
        scaled += np.diag(np.exp(spread - 2 * np.log(unit)).mean(axis=0))
        varying = np.diag(scaled) > 0
    notes = [] if varying.all() else [f"constant latents left out: {int((~varying).sum())}"]
    return Spread(scaled, unit, varying, notes)
