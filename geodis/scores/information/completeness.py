"""Completeness: whether one latent holds all that is known of a factor."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.scores.binning import BINS
from geodis.scores.card import QUICK, Card
from geodis.scores.importance import compactness_of
from geodis.scores.information.factor_information import information_about
from geodis.scores.information.mutual_information import InformationBy
from geodis.scores.registry import register_score
from geodis.scores.score import Score


@register_score(
    family="information",
    cost=QUICK,
    card=Card(
        rewards="Factors of which one latent has all that is known.",
        blind="What else that latent holds; how much is known. Circles in two latents score "
        "half by design.",
        answers="completeness",
        source="Hsu et al. 2023, eq. 5, of information by counts",
    ),
)
def completeness(
    latents: Any,
    factors: Any,
    *,
    bins: int = BINS,
    method: InformationBy = "equal_width",
    random_state: Any = None,
) -> Score:
    """Completeness from information: whether one latent holds all that is known of a factor.

    ``1/f sum_j (max_i S(i, j) / sum_i S(i, j) - 1/z) / (1 - 1/z)`` with
    ``S(i, j) = I(z_i; v_j) / H(v_j)`` over the z latents that are not constant: the compactness of
    InfoMEC (Hsu et al. 2023) of information by counts; as published, from neighbours and without
    dead latents, it is the InfoC of `infomec`. The completeness of DCI, of importances, is in
    `dci`.

    Parameters
    ----------
    latents, factors, bins, method, random_state
        As in `mig`.

    Returns
    -------
    Score
        `per_factor`, zero for a factor that no latent knows about; `matrix` is S.

    Examples
    --------
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> completeness(factors[:, [0, 1, 1]], factors).per_factor
    array([1.  , 0.25])
    """
    about = information_about(latents, factors, bins, method, random_state)
    active = about.active
    parts = (
        compactness_of(about.share[active]).parts
        if active.any()
        else np.zeros(len(about.varying.kept))
    )
    notes = [] if active.all() else [f"constant latents left out: {int((~active).sum())}"]
    return about.score("completeness", about.spread(parts), notes=notes)
