"""DCIMIG: gaps of latents between factors, each factor with its best latent."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.scores.binning import BINS
from geodis.scores.card import Card
from geodis.scores.importance import top_gap
from geodis.scores.information.by_counts import entropy
from geodis.scores.information.factor_information import information_about
from geodis.scores.registry import register_score
from geodis.scores.score import Score


@register_score(
    family="information",
    default=False,
    card=Card(
        rewards="For each factor a latent that knows it and no other factor.",
        blind="What the other latents know of the factor: copies cost nothing.",
        answers="modularity",
        source="Sepliarskaia, Kiseleva and de Rijke 2019, section 4 (3CharM)",
    ),
)
def dcimig(latents: Any, factors: Any, *, bins: int = BINS) -> Score:
    """DCIMIG, or 3CharM (Sepliarskaia et al. 2019).

    ``sum_j max_i g_ij / sum_j H(v_j)``: latent i goes to the factor that it knows most about, with
    ``g_ij = I(z_i; v_j) - I(z_i; v_k)`` its gap to the second, k; g is zero for other factors.

    Parameters
    ----------
    latents, factors, bins
        As in `mig`. With one factor, the second is zero.

    Returns
    -------
    Score
        `per_factor` is ``max_i g_ij / H(v_j)``; `matrix` is g.

    Examples
    --------
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> mixed = factors.sum(axis=1, keepdims=True)
    >>> float(dcimig(factors[:, [0, 1, 1]], factors)), float(dcimig(mixed, factors))
    (1.0, 0.0)
    """
    about = information_about(latents, factors, bins, "equal_width", None)
    gaps = np.zeros_like(about.information)
    rows = np.arange(len(gaps))
    gaps[rows, about.information.argmax(axis=1)] = top_gap(about.information.T)
    of_factor = entropy(about.codes)
    largest = gaps.max(axis=0)
    return about.score(
        "dcimig",
        about.spread(largest / of_factor),
        matrix=gaps,
        value=float(largest.sum() / of_factor.sum()),
    )
