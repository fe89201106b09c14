"""Mutual information gap: how far the best latent of every factor is ahead of the second."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.scores.binning import BINS
from geodis.scores.card import QUICK, Card, MatrixCaption, Score, Shown
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
    card=Card(
        rewards="For each factor one latent that knows it far better than the second.",
        blind="What else the best latent holds. A copy of a latent takes all of it; a circle "
        "in two latents scores about half by design; counts of few rows lift it.",
        answers="completeness",
        chance="near 0; about (bins - 1)(values - 1) / 2n over the entropy",
        source="Chen et al. 2018, eq. 6",
    ),
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

    ``1/f sum_j (I(z_a; v_j) - I(z_b; v_j)) / H(v_j)``, where z_a and z_b are the latents that know
    most and second most about factor j. With one latent, the second is zero.

    Parameters
    ----------
    latents, factors, bins, method, random_state
        As in `mutual_information`; factors must be classes.
    log_variances : array-like of shape (n, z), optional
        Of a Gaussian encoder whose means are the latents: information of what it draws
        (`mixture_information`), as the paper has it, instead of means in bins.

    Returns
    -------
    Score
        `per_factor` is the gap of every factor, NaN for a factor with one value, which is left
        out of the mean; `matrix` the information over the entropy of the factor.

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


@register_score(
    family="information",
    cost=QUICK,
    card=Card(
        rewards="For each factor one latent that knows it far better than the second, whatever "
        "monotone map it went through.",
        blind="What else the best latent holds; copies, and circles in two latents, as `mig`.",
        answers="completeness",
        source="Chen et al. 2018, eq. 6, in bins of equal frequency, corrected as Miller 1955",
    ),
)
def robust_mig(latents: Any, factors: Any, *, bins: int = BINS, random_state: Any = None) -> Score:
    """Mutual information gap in equal-frequency bins, corrected for chance.

    ``1/f sum_j (I'(z_a; v_j) - I'(z_b; v_j)) / H'(v_j)``: as `mig`, with two changes. Bins hold
    equally many rows, so that outliers and monotone maps of a latent leave the score alone. And
    information and entropies are corrected for the number n of rows (Miller 1955), so that
    independent latents score near zero: ``H' = H + (m - 1) / 2n`` with m values or cells that
    occur, and ``I' = H'(z) + H'(v) - H'(z, v)``.

    Parameters
    ----------
    latents, factors, bins, random_state
        As in `mig`.

    Returns
    -------
    Score
        `per_factor` keeps the gap of every factor; `details` has the latent that knows most about
        every factor, the second, and the median and the smallest gap: a single factor that is
        spread over many latents shows there, while the mean hides it.

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


# The supplement of MIG: the gap of every latent between its best two factors.


@register_score(
    family="information",
    cost=QUICK,
    card=Card(
        rewards="For each latent one factor that it knows far better than the second.",
        blind="Factors that no latent knows; latents that know nothing lower it, though "
        "nothing is wrong.",
        answers="modularity",
        source="Li et al. 2020",
    ),
)
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
    the factors that latent i knows most and second most about. It falls where a latent mixes
    factors, as `mig` does where a factor is spread over latents. The mean is plain: latents that
    know nothing lower it. With one factor, the second is zero.

    Parameters
    ----------
    latents, factors, bins, method, random_state
        As in `mig`.

    Returns
    -------
    Score
        `per_latent` is the gap of every latent; `details["weighted"]` the mean of the gaps over
        latents weighted by their largest S, which latents that know nothing do not lower.

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
