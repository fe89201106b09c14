"""Total correlation of the Gaussian that is fitted to the latents."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.scores.card import INDEPENDENCE, QUICK
from geodis.scores.registry import register_score
from geodis.scores.score import Score
from geodis.scores.unsupervised.covariance import spread_of

# A Gaussian whose correlation matrix has an eigenvalue below this, in parts of 1, is singular as
# far as float64 arithmetic can tell.
SINGULAR = 1e-13


@register_score(
    family="unsupervised",
    needs_factors=False,
    also_sampled=True,
    lower_is_better=True,
    cost=QUICK,
    card=INDEPENDENCE,
)
def gaussian_total_correlation(latents: Any, *, log_variances: Any = None) -> Score:
    """Total correlation of the Gaussian that is fitted to the latents, in nats.

        TC = KL(N(m, C) || prod_j N(m_j, C_jj)) = 1/2 (sum_j log C_jj - log det C)

    It is 0 for uncorrelated latents, and does not change when latents are scaled.

    Parameters
    ----------
    latents : array-like of shape (n, z)
        The mean representation.
    log_variances : array-like of shape (n, z), optional
        Gives the total correlation of the sampled representation, whose covariance is
        Cov(mean) + diag(E exp(log_variance)) exactly: nothing is drawn.

    Returns
    -------
    Score
        ``matrix`` is the covariance C (z, z). Constant latents depend on nothing and are left
        out; latents that are linear combinations of others make the score infinite.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal((1000, 2))
    >>> float(gaussian_total_correlation(z)) < 0.01
    True
    >>> float(gaussian_total_correlation(z @ [[1.0, 1.0], [0.0, 1.0]])) > 0.2
    True
    """
    spread = spread_of(latents, log_variances)
    varying, notes = spread.varying, list(spread.notes)
    value = total_correlation_of(spread.scaled[np.ix_(varying, varying)])
    if np.isinf(value):
        notes.append("some latents are linear combinations of others")
    return Score(
        "gaussian_total_correlation",
        value,
        matrix=spread.covariance,
        details={"varying": varying},
        note="; ".join(notes),
    )


def total_correlation_of(covariance: np.ndarray) -> float:
    """Return 1/2 (sum_j log C_jj - log det C) of a covariance (z, z) with a positive diagonal."""
    if len(covariance) < 2:
        return 0.0
    scale = np.sqrt(np.diag(covariance))
    # The log-determinant of the correlations: units cancel before they can overflow.
    eigenvalues = np.linalg.eigvalsh(covariance / np.outer(scale, scale))
    if eigenvalues[0] < SINGULAR:
        return np.inf
    return float(max(0.0, -0.5 * np.log(eigenvalues).sum()))
