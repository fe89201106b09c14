"""Scores that need no factors: how dependent latents are, and whether models agree.

A Gaussian encoder has two representations, the mean, and a sample of N(mean, exp(log_variance)).
Methods that force the sampled one to factorise need not decorrelate the mean (Locatello et al.,
2019, section 5.2), so every score here is of the mean unless it gets `log_variances`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_choice, check_int, check_random_state
from geodis.scores._collapsed import active_latents, check_log_variances, varies
from geodis.scores.inputs import check_latents
from geodis.scores._joint import discrete_information
from geodis.scores._result import Score
from geodis.scores.binning import BINS, bin_columns

# A Gaussian whose correlation matrix has an eigenvalue below this, in parts of 1, is singular as
# far as float64 arithmetic can tell.
SINGULAR = 1e-13
# Weight of the L1 penalty that Duan et al. (2020) use on standardised latents.
LASSO_PENALTY = 0.1


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
    covariance, varying, notes = _covariance(latents, log_variances)
    value = total_correlation_of(covariance[np.ix_(varying, varying)])
    if np.isinf(value):
        notes.append("some latents are linear combinations of others")
    return Score(
        "gaussian_total_correlation",
        value,
        matrix=covariance,
        details={"varying": varying},
        note="; ".join(notes),
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
    covariance, varying, notes = _covariance(latents, log_variances)
    value = wasserstein_of(covariance)
    trace = float(np.trace(covariance))
    share = value / trace if trace > 0 else 0.0
    return Score(
        "wasserstein_correlation",
        share if normalised else value,
        matrix=covariance,
        details={"plain": value, "normalised": share, "varying": varying},
        note="; ".join(notes),
    )


def _covariance(latents: Any, log_variances: Any) -> tuple[np.ndarray, np.ndarray, list[str]]:
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


def wasserstein_of(covariance: np.ndarray) -> float:
    """Return 2 tr C - 2 tr (C diag C)^{1/2} of a covariance (z, z)."""
    scale = np.sqrt(np.diag(covariance))
    # C diag C has the eigenvalues of the symmetric diag(C)^{1/2} C diag(C)^{1/2}.
    eigenvalues = np.linalg.eigvalsh(covariance * np.outer(scale, scale))
    root = np.sqrt(np.maximum(eigenvalues, 0)).sum()
    return float(max(0.0, 2 * np.trace(covariance) - 2 * root))


def mutual_info_score(
    latents: Any, *, bins: int = BINS, log_variances: Any = None, random_state: Any = None
) -> Score:
    """Mean mutual information between two different latents, in nats, in equal-width bins.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    bins : int
        Of equal width from each latent's smallest to its largest value.
    log_variances : array-like of shape (n, z), optional
        Gives the score of the sampled representation, from one draw of every row.
    random_state : None, int or Generator
        For that draw.

    Returns
    -------
    Score
        ``matrix`` (z, z) holds the information of every pair and the binned entropies on its
        diagonal. One latent alone scores 0. With few rows the bins alone make the score
        positive, by about (bins - 1)^2 / (2 n).

    Examples
    --------
    >>> z = np.repeat(np.arange(4.0), 2)
    >>> float(mutual_info_score(np.column_stack([z, z]))) == float(np.log(4))
    True
    """
    bins = check_int(bins, "bins", low=2)
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


def udr(
    latents: Sequence[Any],
    *,
    similarity: str = "lasso",
    log_variances: Sequence[Any] | None = None,
) -> Score:
    """Unsupervised disentanglement ranking (Duan et al., 2020) of several models' latents.

    Models that disentangle find the same latents, up to order, sign and scale. With R_ab >= 0 the
    similarity of latent a of one model and latent b of another, over latents that are in use,

        UDR_ij = (sum_b max_a R_ab^2 / sum_a R_ab + sum_a max_b R_ab^2 / sum_b R_ab) / (d_a + d_b),

    and the score of model j is the median of UDR_ij over the others.

    Parameters
    ----------
    latents : sequence of m array-likes of shape (n, z_i)
        One for each model, of the same n observations; the models should differ in their seeds
        only.
    similarity : "lasso" or "spearman"
        Absolute weights of an L1-penalised regression (penalty 0.1) of each latent of model j on
        those of model i, or absolute rank correlations; latents are standardised first.
    log_variances : sequence of m array-likes of shape (n, z_i), optional
        Latents whose mean KL from N(0, 1) is at most 0.01 nats are not in use. Without them,
        those that are constant.

    Returns
    -------
    Score
        ``value`` is the largest score, that of the best model; ``details["models"]`` (m,) the
        score of every model, ``details["pairs"]`` (m, m) the UDR_ij, and ``details["active"]``
        how many latents each model uses.

    Examples
    --------
    >>> z = np.random.default_rng(0).standard_normal((500, 3))
    >>> ranked = udr([z, -z[:, ::-1], 2 * z], similarity="spearman")
    >>> float(ranked) > 0.8
    True
    """
    check_choice(similarity, "similarity", ("lasso", "spearman"))
    models = [check_latents(item, min_points=3) for item in latents]
    if len(models) < 2:
        raise InputError(f"udr compares models and needs two at least; {len(models)} came.")
    if len({len(item) for item in models}) > 1:
        raise InputError(
            "udr needs latents of the same observations from every model: "
            f"{', '.join(str(len(item)) for item in models)} rows came."
        )
    spreads = [None] * len(models) if log_variances is None else list(log_variances)
    if len(spreads) != len(models):
        raise InputError(
            f"log_variances must be {len(models)} arrays, one a model; {len(spreads)} came."
        )
    active = [
        active_latents(item, check_log_variances(spread, item))
        for item, spread in zip(models, spreads, strict=True)
    ]
    ready = [_standard(item[:, own], similarity) for item, own in zip(models, active, strict=True)]
    pairs = np.zeros((len(models), len(models)))
    for i, first in enumerate(ready):
        for j, second in enumerate(ready):
            if i == j or (similarity == "spearman" and j < i):
                continue
            pairs[i, j] = relative_strength(_similarity(first, second, similarity))
            if similarity == "spearman":  # the same either way
                pairs[j, i] = pairs[i, j]
    others = ~np.eye(len(models), dtype=bool)
    per_model = np.array([np.median(pairs[others[:, j], j]) for j in range(len(models))])
    counts = np.array([int(own.sum()) for own in active])
    unused = int((counts == 0).sum())
    return Score(
        "udr",
        float(per_model.max()),
        details={"models": per_model, "pairs": pairs, "active": counts},
        note=f"{unused} models use no latent and score 0" if unused else "",
    )


def _standard(latents: np.ndarray, similarity: str) -> np.ndarray:
    """Columns, or their ranks, of mean 0 and standard deviation 1."""
    if similarity == "spearman":
        from scipy.stats import rankdata

        latents = rankdata(latents, axis=0)
    return (latents - latents.mean(axis=0)) / latents.std(axis=0)


def _similarity(first: np.ndarray, second: np.ndarray, similarity: str) -> np.ndarray:
    """R (d_a, d_b), not negative."""
    if not first.size or not second.size:
        return np.zeros((first.shape[1], second.shape[1]))
    if similarity == "spearman":
        return np.abs(first.T @ second) / len(first)
    from sklearn.linear_model import Lasso

    weights = Lasso(alpha=LASSO_PENALTY).fit(first, second).coef_
    return np.abs(weights.reshape(second.shape[1], first.shape[1]).T)


def relative_strength(similarity: np.ndarray) -> float:
    """UDR of one pair from R (d_a, d_b): 1 for a permutation matrix, 0 where nothing matches."""
    total = 0.0
    for axis in (0, 1):
        strongest, whole = similarity.max(axis=axis, initial=0), similarity.sum(axis=axis)
        safe = np.where(whole > 0, whole, 1.0)
        total += float((strongest**2 / safe).sum())
    return total / max(sum(similarity.shape), 1)
