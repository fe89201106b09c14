"""Mutual information gaps: between the two best latents of a factor, or factors of a latent."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.scores.binning import BINS
from geodis.scores.card import QUICK, MatrixCaption, Score, Shown
from geodis.scores.importance import top_gap
from geodis.scores.information.mutual_information import InformationBy, information_about
from geodis.scores.registry import register_score


@register_score(
    family="information",
    also_sampled=True,
    cost=QUICK,
    shown=Shown(
        "MIG",
        headline=2,
        best_factor="mig",
        figure=True,
        matrix=MatrixCaption(
            "information",
            "Mutual information",
            "mutual information of latents and factors",
            entry="mutual information",
            unit="share of the factor's entropy",
        ),
    ),
    answers="completeness",
)
def mig(
    latents: Any,
    factors: Any,
    *,
    bins: int = BINS,
    method: InformationBy = "equal_width",
    log_variances: Any = None,
    random_state: Any = None,
) -> Score:
    """Mutual information gap (Chen et al. 2018, eq. 6).

    ``1/f sum_j (I(z_a; v_j) - I(z_b; v_j)) / H(v_j)``, where z_a and z_b are the latents with the
    largest and second largest information about factor j. With a single latent, the second term
    is zero.

    Parameters
    ----------
    latents, factors, bins, method, random_state
        As in `mutual_information`; factors must be classes.
    log_variances : array-like of shape (n, z), optional
        Log-variances of a Gaussian encoder whose means are the latents. The information is then
        that of the sampled latents (`mixture_information`), as in the paper, instead of binned
        means.

    Returns
    -------
    Score
        `per_factor` is the gap of every factor, NaN for constant factors, which are left out of
        the mean; `matrix` is the information divided by the entropy of the factor.

    Rewards
    -------
    For each factor one latent that knows it far better than the second.

    Cannot see
    ----------
    What else the best latent holds. A copy of a latent takes all of it; a circle in two latents
    scores about half by design; counts of few rows lift it.

    By chance
    ---------
    near 0; about (bins - 1)(values - 1) / 2n over the entropy

    Source
    ------
    Chen et al. 2018, eq. 6

    Examples
    --------
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> float(mig(factors, factors)), float(mig(factors[:, [0, 1, 1]], factors))
    (1.0, 0.5)
    """
    about = information_about(
        latents, factors, bins, method, random_state, log_variances=log_variances
    )
    return about.score("mig", about.spread(top_gap(about.share)))


@register_score(family="information", cost=QUICK, answers="completeness")
def robust_mig(latents: Any, factors: Any, *, bins: int = BINS, random_state: Any = None) -> Score:
    """Mutual information gap in equal-frequency bins, corrected for chance.

    ``1/f sum_j (I'(z_a; v_j) - I'(z_b; v_j)) / H'(v_j)``: as `mig`, with two changes. Bins have
    equally many rows, which makes the score robust to outliers and invariant to monotone maps of a
    latent. Information and entropies are corrected for the number n of rows (Miller 1955), so that
    independent latents score near zero: ``H' = H + (m - 1) / 2n`` with m non-empty cells, and
    ``I' = H'(z) + H'(v) - H'(z, v)``.

    Parameters
    ----------
    latents, factors, bins, random_state
        As in `mig`.

    Returns
    -------
    Score
        `per_factor` is the gap of every factor; `details` has the best and the second latent of
        every factor, and the median and the smallest gap, which reveal a single factor that is
        spread over many latents.

    Rewards
    -------
    For each factor one latent that knows it far better than the second, whatever monotone map it
    went through.

    Cannot see
    ----------
    What else the best latent holds; copies, and circles in two latents, as `mig`.

    Source
    ------
    Chen et al. 2018, eq. 6, in bins of equal frequency, corrected as Miller 1955

    Examples
    --------
    >>> factors = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 50, axis=0)
    >>> print(robust_mig(np.exp(5.0 * factors), factors))
    robust_mig 1.000
      per factor  1.000 1.000
      median 1.000, smallest 1.000
    """
    about = information_about(latents, factors, bins, "quantile", random_state, corrected=True)
    order = np.argsort(-about.share, axis=0, kind="stable")
    gaps = top_gap(about.share)
    second = order[1] if len(order) > 1 else np.full(len(gaps), -1)
    details = {
        "median": float(np.median(gaps)),
        "smallest": float(gaps.min()),
        "best_latent": about.spread(order[0], -1),
        "second_latent": about.spread(second, -1),
    }
    return about.score("robust_mig", about.spread(gaps), details=details)


@register_score(family="information", cost=QUICK, answers="modularity")
def mig_sup(
    latents: Any,
    factors: Any,
    *,
    bins: int = BINS,
    method: InformationBy = "equal_width",
    random_state: Any = None,
) -> Score:
    """Mutual information gap of the latents: the supplement of `mig` (Li et al. 2020).

    ``1/z sum_i (S(i, a) - S(i, b))`` with ``S(i, j) = I(z_i; v_j) / H(v_j)``, where a and b are
    the factors with the largest and second largest S of latent i. It is low if latents mix
    factors; `mig` is low if factors are spread over latents. The mean is unweighted, so that
    uninformative latents lower it. With a single factor, the second term is zero.

    Parameters
    ----------
    latents, factors, bins, method, random_state
        As in `mig`.

    Returns
    -------
    Score
        `per_latent` is the gap of every latent; `details["weighted"]` is the mean of the gaps
        weighted by the largest S of each latent, which uninformative latents do not lower.

    Rewards
    -------
    For each latent one factor that it knows far better than the second.

    Cannot see
    ----------
    Factors that no latent knows; latents that know nothing lower it, though nothing is wrong.

    Source
    ------
    Li et al. 2020

    Examples
    --------
    >>> import numpy as np
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> score = mig_sup(np.column_stack([factors, np.zeros(4)]), factors)
    >>> round(float(score), 3), score.details["weighted"]
    (0.667, 1.0)
    """
    about = information_about(latents, factors, bins, method, random_state)
    gaps, largest = top_gap(about.share.T), about.share.max(axis=1)
    weighted = float(gaps @ largest / largest.sum()) if largest.sum() > 0 else 0.0
    return about.score("mig_sup", per_latent=gaps, details={"weighted": weighted})
