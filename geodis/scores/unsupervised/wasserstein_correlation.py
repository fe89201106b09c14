"""Wasserstein correlation of the Gaussian that is fitted to the latents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.scores.card import INDEPENDENCE, QUICK
from geodis.scores.registry import register_score
from geodis.scores.score import Score
from geodis.scores.unsupervised.covariance import spread_of


@register_score(
    family="unsupervised",
    rows={"wasserstein_correlation": "plain", "wasserstein_correlation_norm": "normalised"},
    needs_factors=False,
    also_sampled=True,
    lower_is_better=True,
    cost=QUICK,
    card=replace(INDEPENDENCE, source="Watters et al. 2019, as Locatello et al. 2019"),
)
def wasserstein_correlation(
    latents: Any, *, normalised: bool = False, log_variances: Any = None
) -> Score:
    """Wasserstein correlation of the Gaussian that is fitted to the latents.

        W = W_2^2(N(m, C), N(m, diag C)) = 2 tr C - 2 tr (C diag C)^{1/2}

    Parameters
    ----------
    latents : array-like of shape (n, z)
    normalised : bool
        Divide by tr C, which makes the score independent of one scale of all latents.
    log_variances : array-like of shape (n, z), optional
        As in `gaussian_total_correlation`.

    Returns
    -------
    Score
        ``matrix`` is the covariance C (z, z); ``details`` holds both variants.

    Examples
    --------
    >>> z = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    >>> round(float(wasserstein_correlation(z)), 12)
    0.0
    """
    spread = spread_of(latents, log_variances)
    # In one unit for all, for it is a length: its square may be too large for a float.
    unit = spread.unit.max()
    in_unit = spread.scaled * (spread.unit[:, None] / unit) * (spread.unit / unit)
    of_unit, trace = wasserstein_of(in_unit), float(np.trace(in_unit))
    with np.errstate(over="ignore", under="ignore"):
        value = float(of_unit * unit * unit)
    if not np.isfinite(value):
        raise InputError(
            "The squares of the latents must be finite numbers, for the score is one; got latents "
            f"up to {unit:g}: divide them by a number."
        )
    share = of_unit / trace if trace > 0 else 0.0
    return Score(
        "wasserstein_correlation",
        share if normalised else value,
        matrix=spread.covariance,
        details={"plain": value, "normalised": share, "varying": spread.varying},
        note="; ".join(spread.notes),
    )


def wasserstein_of(covariance: np.ndarray) -> float:
    """Return 2 tr C - 2 tr (C diag C)^{1/2} of a covariance (z, z)."""
    scale = np.sqrt(np.diag(covariance))
    # C diag C has the eigenvalues of the symmetric diag(C)^{1/2} C diag(C)^{1/2}.
    eigenvalues = np.linalg.eigvalsh(covariance * np.outer(scale, scale))
    root = np.sqrt(np.maximum(eigenvalues, 0)).sum()
    return float(max(0.0, 2 * np.trace(covariance) - 2 * root))
