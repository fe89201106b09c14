"""Modularity: whether every latent knows about one factor only."""

from __future__ import annotations

from typing import Any

from geodis.scores.binning import BINS
from geodis.scores.card import QUICK, Card
from geodis.scores.importance import modularity_of
from geodis.scores.information.factor_information import information_about
from geodis.scores.information.mutual_information import InformationBy
from geodis.scores.registry import register_score
from geodis.scores.score import Score


@register_score(
    family="information",
    cost=QUICK,
    card=Card(
        rewards="Latents that know about one factor only.",
        blind="How much they know: noise hardly lowers it, and a latent of noise counts in "
        "full with the pattern that chance gave it. Squares forgive: turned latents "
        "keep most of it, where `infom` falls.",
        answers="modularity",
        chance="0.18 to 0.46 of factors with equally many values; 0.66 to 0.79 with 3 to 8 values "
        "and 0.98 with 2 to 40, for in noise the factor of most values stands out",
        source="Ridgeway and Mozer 2018, section 3.1",
    ),
)
def modularity(
    latents: Any,
    factors: Any,
    *,
    bins: int = BINS,
    method: InformationBy = "equal_width",
    random_state: Any = None,
) -> Score:
    """Modularity: whether every latent knows about one factor only (Ridgeway and Mozer 2018).

    ``1/z sum_i (1 - sum_{j != a} I(z_i; v_j)^2 / (I(z_i; v_a)^2 (f - 1)))``, where a is the factor
    that latent i knows most about: `modularity_of` the mutual information. The mean is plain, so
    that a latent of pure noise counts in full, with whatever pattern chance gave it. A latent that
    knows nothing at all scores zero. With one factor, any latent that knows about it scores one.
    This is not the InfoM of `infomec`, which does not square, leaves dead latents out, and is far
    lower for a turned code.

    Parameters
    ----------
    latents, factors, bins, method, random_state
        As in `mig`.

    Returns
    -------
    Score
        `per_latent`, and `matrix` is the mutual information in nats.

    Examples
    --------
    >>> import numpy as np
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> modularity(np.column_stack([factors[:, 0], factors.sum(axis=1)]), factors).per_latent
    array([1., 0.])
    """
    about = information_about(latents, factors, bins, method, random_state)
    return about.score(
        "modularity",
        per_latent=modularity_of(about.information).parts,
        matrix=about.information,
    )
