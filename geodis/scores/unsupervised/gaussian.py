"""Unsupervised scores of independence of latents, or of samples of a Gaussian encoder.

A Gaussian encoder has two representations: the mean, and a sample of N(mean, exp(log_variance)).
Methods that make the sampled one factorise need not decorrelate the mean (Locatello et al. 2019,
section 5.2). Scores are of the mean unless `log_variances` are given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state
from geodis.scores.binning import BINS, MOST_BINS, bin_columns
from geodis.scores.card import QUICK, Cost, Score
from geodis.scores.information.estimates import discrete_information
from geodis.scores.inputs import check_latents, check_log_variances, of_order_one, unit_of, varies
from geodis.scores.registry import register_score


@dataclass(frozen=True)
class Spread:
    """Covariance of a representation, in units that prevent overflow.

    Attributes
    ----------
    scaled : ndarray of shape (z, z)
        Covariance (ddof 1) of the latents divided by `unit`.
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
        """Covariance (z, z) in the units of the latents; infinite for very large latents."""
        with np.errstate(over="ignore", under="ignore"):
            return self.scaled * self.unit[:, None] * self.unit


def spread_of(latents: Any, log_variances: Any) -> Spread:
    """Compute the covariance of the representation, which latents vary, and notes."""
    means = check_latents(latents)
    spread = check_log_variances(log_variances, means)
    unit = unit_of(means)
    scaled = np.atleast_2d(np.cov(of_order_one(means), rowvar=False))
    varying = varies(means)
    # The variance of constant latents is rounding.
    scaled = np.where(varying[:, None] & varying[None, :], scaled, 0.0)
    if spread is not None:
        scaled += np.diag(np.exp(spread - 2 * np.log(unit)).mean(axis=0))
        varying = np.diag(scaled) > 0
    notes = [] if varying.all() else [f"constant latents left out: {int((~varying).sum())}"]
    return Spread(scaled, unit, varying, notes)


# A correlation matrix with an eigenvalue below this is singular in float64 arithmetic.
SINGULAR = 1e-13


@register_score(
    family="unsupervised",
    needs_factors=False,
    also_sampled=True,
    lower_is_better=True,
    cost=QUICK,
    shapes="",
)
def gaussian_total_correlation(latents: Any, *, log_variances: Any = None) -> Score:
    """Total correlation of a Gaussian fitted to the latents, in nats.

        TC = KL(N(m, C) || prod_j N(m_j, C_jj)) = 1/2 (sum_j log C_jj - log det C)

    It is 0 for uncorrelated latents and invariant to their scales.

    Parameters
    ----------
    latents : array-like of shape (n, z)
        The mean representation.
    log_variances : array-like of shape (n, z), optional
        If given, the score is of the sampled representation, whose covariance is exactly
        Cov(mean) + diag(E exp(log_variance)).

    Returns
    -------
    Score
        ``matrix`` is the covariance C (z, z). Constant latents are left out; linearly dependent
        latents make the score infinite.

    Rewards
    -------
    Latents that are independent of each other, as far as Gaussians show.

    Cannot see
    ----------
    The factors: independent latents may each mix all of them.

    Range
    -----
    0 (best) up

    By chance
    ---------
    none: factors are not used

    Source
    ------
    Locatello et al. 2019, section 5.2

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
    # From correlations instead of covariances, which could overflow.
    eigenvalues = np.linalg.eigvalsh(covariance / np.outer(scale, scale))
    if eigenvalues[0] < SINGULAR:
        return np.inf
    return float(max(0.0, -0.5 * np.log(eigenvalues).sum()))


@register_score(
    family="unsupervised",
    needs_factors=False,
    also_sampled=True,
    lower_is_better=True,
    cost=Cost(intervals="often", many_latents=True),
    shapes="",
)
def mutual_info_score(
    latents: Any, *, bins: int = BINS, log_variances: Any = None, random_state: Any = None
) -> Score:
    """Mean mutual information of pairs of latents, in nats, in equal-width bins.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    bins : int
        Of equal width from each latent's smallest to its largest value.
    log_variances : array-like of shape (n, z), optional
        If given, the score is of the sampled representation, with one sample per row.
    random_state : None, int or Generator
        Draws the samples.

    Returns
    -------
    Score
        ``matrix`` (z, z) has the information of every pair and the binned entropies on its
        diagonal. A single latent scores 0. The bias is about (bins - 1)^2 / (2 n).

    Rewards
    -------
    Latents that are independent of each other, pair by pair.

    Cannot see
    ----------
    The factors: independent latents may each mix all of them.

    Range
    -----
    0 (best) up

    By chance
    ---------
    none: factors are not used

    Source
    ------
    Locatello et al. 2019, section 5.2

    Examples
    --------
    >>> z = np.repeat(np.arange(4.0), 2)
    >>> float(mutual_info_score(np.column_stack([z, z]))) == float(np.log(4))
    True
    """
    bins = check_int(bins, "bins", low=2, high=MOST_BINS)
    means = check_latents(latents)
    spread = check_log_variances(log_variances, means)
    if spread is not None:
        noise = check_random_state(random_state).standard_normal(means.shape)
        means = means + np.exp(0.5 * spread) * noise
    codes = bin_columns(means, bins)
    matrix = discrete_information(codes, codes)
    z = len(matrix)
    value = float((matrix.sum() - np.trace(matrix)) / (z * (z - 1))) if z > 1 else 0.0
    note = "" if z > 1 else "one latent has no other to share information with"
    return Score("mutual_info_score", value, matrix=matrix, note=note)


@register_score(
    family="unsupervised",
    rows={"wasserstein_correlation": "plain", "wasserstein_correlation_norm": "normalised"},
    needs_factors=False,
    also_sampled=True,
    lower_is_better=True,
    cost=QUICK,
    shapes="",
)
def wasserstein_correlation(
    latents: Any, *, normalised: bool = False, log_variances: Any = None
) -> Score:
    """Wasserstein correlation of a Gaussian fitted to the latents.

        W = W_2^2(N(m, C), N(m, diag C)) = 2 tr C - 2 tr (C diag C)^{1/2}

    Parameters
    ----------
    latents : array-like of shape (n, z)
    normalised : bool
        Divide by tr C, which makes the score invariant to a common scale of all latents.
    log_variances : array-like of shape (n, z), optional
        As in `gaussian_total_correlation`.

    Returns
    -------
    Score
        ``matrix`` is the covariance C (z, z); ``details`` has both variants.

    Rewards
    -------
    Latents that are independent of each other, as far as Gaussians show.

    Cannot see
    ----------
    The factors: independent latents may each mix all of them.

    Range
    -----
    0 (best) up

    By chance
    ---------
    none: factors are not used

    Source
    ------
    Watters et al. 2019, as Locatello et al. 2019

    Examples
    --------
    >>> z = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    >>> round(float(wasserstein_correlation(z)), 12)
    0.0
    """
    spread = spread_of(latents, log_variances)
    # One unit for all latents, because the squared distance may overflow.
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
