"""The supplement of MIG: the gap of every latent between its best two factors."""

from __future__ import annotations

from typing import Any

from geodis.scores.binning import BINS
from geodis.scores.card import QUICK, Card
from geodis.scores.importance import top_gap
from geodis.scores.information.factor_information import information_about
from geodis.scores.information.mutual_information import InformationBy
from geodis.scores.registry import register_score
from geodis.scores.score import Score


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
