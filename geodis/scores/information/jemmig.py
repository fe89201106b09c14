"""JEMMIG: the mutual information gap, and what the best latent knows beside its factor."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.scores.binning import BINS, bin_columns
from geodis.scores.card import Card
from geodis.scores.importance import top_gap
from geodis.scores.information.by_counts import entropy
from geodis.scores.information.factor_information import information_about
from geodis.scores.inputs import check_latents
from geodis.scores.registry import register_score
from geodis.scores.score import Score


@register_score(
    family="information",
    default=False,
    card=Card(
        rewards="One latent for each factor, with as many values as the factor and no others.",
        blind="It is high only where the latent has few values: a continuous latent that holds a "
        "factor of three values exactly is far from one. Depends on the number of bins.",
        answers="completeness",
        chance="0.1 to 0.3: a latent of any kind has less entropy than it could have",
        source="Do and Tran 2020, eq. 10 and its normalisation",
    ),
)
def jemmig(latents: Any, factors: Any, *, bins: int = BINS) -> Score:
    """Joint entropy minus mutual information gap, turned round (Do and Tran 2020).

    ``1/f sum_j (1 - (H(z_a, v_j) - I(z_a; v_j) + I(z_b; v_j)) / (H(v_j) + log bins))``, where z_a
    and z_b are the latents that know most and second most about factor j. The joint entropy is as
    small as that of the factor only where the latent has nothing else in it.

    Parameters
    ----------
    latents, factors, bins
        As in `mig`.

    Returns
    -------
    Score
        `per_factor`; `matrix` is the mutual information in nats; `details["best_latent"]`.

    Examples
    --------
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> float(jemmig(factors, factors, bins=2))
    1.0
    """
    about = information_about(latents, factors, bins, "equal_width", None)
    codes = bin_columns(check_latents(latents), bins)
    best = about.information.argmax(axis=0)
    of_factor = entropy(about.codes)
    known = about.information.max(axis=0)
    joint = of_factor + entropy(codes[:, best]) - known  # H(z, v) = H(v) + H(z) - I(z; v)
    parts = 1 - (joint - top_gap(about.information)) / (of_factor + np.log(bins))
    return about.score(
        "jemmig",
        about.spread(parts),
        matrix=about.information,
        details={"best_latent": about.spread(best, -1)},
    )
