"""Minimality and sufficiency: disentanglement of factors that depend on each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.scores.binning import bin_columns
from geodis.scores.card import QUICK, Card
from geodis.scores.information.by_counts import entropy
from geodis.scores.information.factor_information import information_about
from geodis.scores.inputs import check_latents
from geodis.scores.registry import register_score
from geodis.scores.score import Score

# As published.
MINIMALITY_BINS = 15

CARD = Card(
    rewards="minimality: latents in which nothing is that their factor does not say. sufficiency: "
    "factors of which a latent says everything. Neither asks that other factors be unknown to a "
    "latent, so factors may depend on each other.",
    blind="A latent finer than its factor is not minimal: noise in it, or more bins, count "
    "against it. Factors on circles need two latents, and neither is sufficient.",
    answers={"minimality": "modularity", "sufficiency": "completeness"},
    chance="near 0; (bins - 1)(values - 1) / 2n over the entropy",
    source="Almudévar and Ortega 2024, section 5",
)


@register_score(family="dependence", cost=QUICK, card=CARD)
def minimality(latents: Any, factors: Any, *, bins: int = MINIMALITY_BINS) -> Score:
    """Minimality: whether each latent holds nothing beside its factor (Almudévar et al. 2024).

    ``1/z sum_i max_j I(z_i; v_j) / H(z_i)``. A latent that is a function of one factor scores one,
    also where that factor tells something of another.

    Parameters
    ----------
    latents : array-like of shape (n, z)
        Cut into bins of equal width.
    factors : array-like of shape (n, f)
        Classes.
    bins : int

    Returns
    -------
    Score
        `per_latent`, NaN for a constant latent, which is left out; `matrix` is ``I / H(z)``.

    Examples
    --------
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> minimality(np.column_stack([factors[:, 0], [0, 1, 2, 3]]), factors).per_latent
    array([1. , 0.5])
    """
    about = information_about(latents, factors, bins, "equal_width", None)
    spread = entropy(bin_columns(check_latents(latents), bins))
    alive = spread > 0
    share = np.minimum(about.information / np.where(alive, spread, 1.0)[:, None], 1.0)
    parts = np.where(alive, share.max(axis=1), np.nan)
    constant = int((~alive).sum())
    return about.score(
        "minimality",
        per_latent=parts,
        matrix=share,
        notes=[f"constant latents left out: {constant}"] if constant else [],
        value=float(parts[alive].mean()) if alive.any() else 0.0,
    )


@register_score(family="dependence", cost=QUICK, card=CARD)
def sufficiency(latents: Any, factors: Any, *, bins: int = MINIMALITY_BINS) -> Score:
    """Sufficiency: whether one latent says everything of a factor (Almudévar et al. 2024).

    ``1/f sum_j max_i I(z_i; v_j) / H(v_j)``.

    Parameters
    ----------
    latents, factors, bins
        As in `minimality`.

    Returns
    -------
    Score
        `per_factor`; `matrix` is ``I / H(v)``.

    Examples
    --------
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> sufficiency(np.column_stack([factors[:, 0], [0, 1, 2, 3]]), factors).per_factor
    array([1., 1.])
    """
    about = information_about(latents, factors, bins, "equal_width", None)
    return about.score("sufficiency", about.spread(about.share.max(axis=0)))
