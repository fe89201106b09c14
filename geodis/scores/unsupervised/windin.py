"""WINDIN: weighted independence and informativeness of the latents of a Gaussian encoder."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state
from geodis.base.jobs import njit
from geodis.scores.card import Cost, Score
from geodis.scores.inputs import check_latents, check_log_variances, of_order_one
from geodis.scores.predictive.importance_models import order_of_latents
from geodis.scores.registry import register_score

# Draws for the entropies: the error is about a hundredth of a nat.
N_DRAWS = 1_000


@register_score(
    family="unsupervised",
    needs_factors=False,
    default=False,
    cost=Cost("0.6 s, in proportion to n z"),
    shapes="",
)
def windin(
    latents: Any, *, log_variances: Any = None, n_draws: int = N_DRAWS, random_state: Any = None
) -> Score:
    """Weighted independence and informativeness of a Gaussian encoder (Do and Tran 2020).

    ``sum_i r_i (I(x; z_i) - I(z_i; z_others))`` with ``r_i = I(x; z_i) / sum I(x; z_i)``. Because
    latents are independent given x, this equals WSEPIN, ``sum_i r_i I(x; z_i | z_others)``. The
    terms follow from entropies, averaged over draws from the mixture of posteriors:
    ``I(x; z_i | z_others) = H(z) - H(z_others) - H(z_i | x)`` and
    ``I(x; z_i) = H(z_i) - H(z_i | x)``.

    Parameters
    ----------
    latents : array-like of shape (n, z)
        Means.
    log_variances : array-like of shape (n, z)
    n_draws : int
    random_state : int, Generator or None

    Returns
    -------
    Score
        `per_latent` is ``I(x; z_i) - I(z_i; z_others)``; `details["informativeness"]` has
        ``I(x; z_i)``.

    Rewards
    -------
    Latents that each say much of the input which no other latent says.

    Cannot see
    ----------
    The factors: independent latents may each mix all of them. Entropies of sharp posteriors cannot
    pass log n, which hides what more there is.

    Range
    -----
    0 up, in nats

    By chance
    ---------
    none: factors are not used

    Source
    ------
    Do and Tran 2020, section 4.2 (WSEPIN and WINDIN)

    Examples
    --------
    >>> means = np.random.default_rng(0).standard_normal((500, 2))
    >>> alone = windin(means, log_variances=np.full((500, 2), -3.0), random_state=0)
    >>> copied = windin(means[:, [0, 0]], log_variances=np.full((500, 2), -3.0), random_state=0)
    >>> float(copied) < 0.5 < 1 < float(alone)
    True
    """
    check_int(n_draws, "n_draws", low=2)
    means = check_latents(latents)
    spread = check_log_variances(log_variances, means)
    if spread is None:
        raise InputError("windin needs the log_variances of a Gaussian encoder; got none.")
    rng = check_random_state(random_state)
    rows = rng.integers(len(means), size=n_draws)
    scale = np.exp(np.maximum(spread, -1400) / 2)
    noise = np.empty((n_draws, means.shape[1]))
    within = of_order_one(means - means.min(axis=0))
    noise[:, order_of_latents(within)] = rng.standard_normal(
        noise.shape
    )  # invariant to the order of latents
    drawn = means[rows] + scale[rows] * noise
    single, others, whole = _log_densities(drawn, means, scale)
    known = 0.5 * (np.log(2 * np.pi * np.e) + spread).mean(axis=0)  # H(z_i | x)
    informative = np.maximum(-single.mean(axis=0) - known, 0.0)
    own = -whole.mean() + others.mean(axis=0) - known
    total = informative.sum()
    weights = informative / total if total > 0 else np.zeros(len(own))
    return Score(
        "windin", float(weights @ own), per_latent=own, details={"informativeness": informative}
    )


@njit(cache=True, nogil=True)
def _log_densities(
    drawn: np.ndarray, means: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute log densities of the mixture at draws: each latent, all others, and all."""
    m, z = drawn.shape
    n = len(means)
    single, others, whole = np.empty((m, z)), np.empty((m, z)), np.empty(m)
    parts, sums = np.empty((n, z)), np.empty(n)
    constant = 0.5 * np.log(2 * np.pi)
    for s in range(m):
        for r in range(n):
            sums[r] = 0.0
            for i in range(z):
                step = (drawn[s, i] - means[r, i]) / scale[r, i]
                parts[r, i] = -0.5 * step * step - np.log(scale[r, i]) - constant
                sums[r] += parts[r, i]
        whole[s] = _log_mean(sums)
        for i in range(z):
            single[s, i] = _log_mean(parts[:, i])
            others[s, i] = _log_mean(sums - parts[:, i]) if z > 1 else 0.0
    return single, others, whole


@njit(cache=True, nogil=True)
def _log_mean(values: np.ndarray) -> float:
    top = values[0]
    for value in values:
        top = max(top, value)
    total = 0.0
    for value in values:
        total += np.exp(value - top)
    return top + np.log(total / len(values))
