"""MED: disentanglement of DCI, read from mutual information."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import check_int
from geodis.scores.binning import BINS
from geodis.scores.card import Card
from geodis.scores.importance import completeness_of, disentanglement_of
from geodis.scores.information.factor_information import information_about
from geodis.scores.registry import register_score
from geodis.scores.score import Score


@register_score(
    family="information",
    rows={"med": "", "med_top": "top"},
    default=False,
    card=Card(
        rewards="Latents that know one factor each. med_top: some latents among many that do.",
        blind="What only several latents together know. Chance information of counts lowers it "
        "with few rows.",
        answers="modularity",
        chance="near 0; med_top picks the best and is a little higher",
        source="Cao et al. 2022, section 3",
    ),
)
def med(latents: Any, factors: Any, *, bins: int = BINS, top: int = 1) -> Score:
    """Mutual-information based entropy disentanglement (Cao et al. 2022).

    `disentanglement_of` R with ``R_ij = I(z_i; v_j) / sum_i I(z_i; v_j)``: the formula of `dci`,
    where trees need not be learnt in a space of thousands of latents. The top-k form takes for
    each factor the k latents of the largest parts among those that know it most, and forgets the
    others.

    Parameters
    ----------
    latents, factors, bins
        As in `mig`.
    top : int
        k of the top-k form.

    Returns
    -------
    Score
        `per_latent`; `matrix` is R; `details` has "top" (the top-k form), "chosen" (its latents)
        and "completeness".

    Examples
    --------
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> mixed = np.column_stack([factors, factors.sum(axis=1)])
    >>> score = med(mixed, factors)
    >>> round(float(score), 2), round(score.details["top"], 2)
    (0.67, 1.0)
    """
    check_int(top, "top", low=1)
    about = information_about(latents, factors, bins, "equal_width", None)
    total = about.information.sum(axis=0)
    shares = about.information / np.where(total > 0, total, 1.0)
    whole = disentanglement_of(shares)
    chosen = _best_of_each(shares, whole.parts, top)
    return about.score(
        "med",
        per_latent=whole.parts,
        matrix=shares,
        details={
            "top": float(disentanglement_of(shares[chosen]).value),
            "chosen": chosen,
            "completeness": float(completeness_of(shares).value),
        },
        value=float(whole.value),
    )


def _best_of_each(shares: np.ndarray, parts: np.ndarray, top: int) -> np.ndarray:
    """The latents of the largest parts, k of those that know each factor most."""
    factor = shares.argmax(axis=1)
    order = np.argsort(-parts, kind="stable")
    return np.sort(
        np.concatenate([order[factor[order] == j][:top] for j in range(shares.shape[1])])
    )
