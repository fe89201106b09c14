"""Mean mutual information between two different latents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from geodis.base.check import check_int, check_random_state
from geodis.scores.active import check_log_variances
from geodis.scores.binning import BINS, MOST_BINS, bin_columns
from geodis.scores.card import INDEPENDENCE, Cost
from geodis.scores.information.by_counts import discrete_information
from geodis.scores.inputs import check_latents
from geodis.scores.registry import register_score
from geodis.scores.score import Score


@register_score(
    family="unsupervised",
    needs_factors=False,
    also_sampled=True,
    lower_is_better=True,
    cost=Cost(intervals="often", many_latents=True),
    card=replace(INDEPENDENCE, rewards="Latents that are independent of each other, pair by pair."),
)
def mutual_info_score(
    latents: Any, *, bins: int = BINS, log_variances: Any = None, random_state: Any = None
) -> Score:
    """Mean mutual information between two different latents, in nats, in equal-width bins.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    bins : int
        Of equal width from each latent's smallest to its largest value.
    log_variances : array-like of shape (n, z), optional
        Gives the score of the sampled representation, from one draw of every row.
    random_state : None, int or Generator
        For that draw.

    Returns
    -------
    Score
        ``matrix`` (z, z) holds the information of every pair and the binned entropies on its
        diagonal. One latent alone scores 0. With few rows the bins alone make the score
        positive, by about (bins - 1)^2 / (2 n).

    Examples
    --------
    >>> z = np.repeat(np.arange(4.0), 2)
    >>> float(mutual_info_score(np.column_stack([z, z]))) == float(np.log(4))
    True
    """
    bins = check_int(bins, "bins", low=2, high=MOST_BINS)
    means = check_latents(latents)
    spread = check_log_variances(log_variances, means)
    if spread is not None:
        noise = check_random_state(random_state).standard_normal(means.shape)
        means = means + np.exp(0.5 * spread) * noise
    codes = bin_columns(means, bins)
    matrix = discrete_information(codes, codes)
    z = len(matrix)
    value = float((matrix.sum() - np.trace(matrix)) / (z * (z - 1))) if z > 1 else 0.0
    note = "" if z > 1 else "one latent has no other to share information with"
    return Score("mutual_info_score", value, matrix=matrix, note=note)
