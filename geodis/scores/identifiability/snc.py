"""Single-neuron classification: each factor read off one latent of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import check_random_state
from geodis.scores.card import Card
from geodis.scores.information.by_counts import discrete_information
from geodis.scores.inputs import check_scored
from geodis.scores.prediction.boosting import bin_for_splits
from geodis.scores.prediction.held_out import TRAIN_SHARE, split_rows
from geodis.scores.registry import register_score
from geodis.scores.score import Score


@register_score(
    family="identifiability",
    halves=True,
    default=False,
    card=Card(
        rewards="Each factor readable from one latent, another for every factor, by cutting its "
        "values into as many bins as the factor has classes.",
        blind="What else the latent holds, and other latents of the factor. Classes of unequal "
        "sizes fall into bins of equal ones. Factors on circles in two latents.",
        answers="completeness",
        chance="a little above the share of a guess, 1 / classes",
        source="Mahon, Sha and Lukasiewicz 2023, section 4",
    ),
)
def snc(
    latents: Any,
    factors: Any,
    *,
    train_share: float = TRAIN_SHARE,
    shuffle: bool = True,
    random_state: Any = None,
) -> Score:
    """Single-neuron classification accuracy (Mahon et al. 2023).

    Factors and latents are matched one to one so that the sum of their mutual information is
    largest, each latent cut into as many bins of about as many rows as the factor has values. The
    bins are named by values, one to one, so that most rows to learn from are right; the accuracy
    is of held-out rows in the same bins.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f)
        Classes.
    train_share, shuffle, random_state
        As in `sap`.

    Returns
    -------
    Score
        `per_factor`, zero for a factor without a latent of its own; `matrix` is the information;
        `details["matched"]` the latent of every factor, -1 for none.

    Examples
    --------
    >>> factors = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (25, 1))
    >>> float(snc(factors[:, ::-1] * -3.0, factors, random_state=0))
    1.0
    """
    from scipy.optimize import linear_sum_assignment

    z, coded = check_scored(latents, factors)
    varying = coded.varying()
    kept = varying.kept
    split = split_rows(len(z), train_share, shuffle, check_random_state(random_state))
    train, test = z[split.train], z[split.test]
    matrix = np.zeros((z.shape[1], len(coded.sizes)))
    for j in kept:
        binned = bin_for_splits(train, test, int(coded.sizes[j]))[0].T
        matrix[:, j] = discrete_information(binned, coded.codes[split.train, j : j + 1])[:, 0]
    # A latent that stands still would guess the largest class.
    moving = np.flatnonzero(train.max(axis=0) > train.min(axis=0))
    rows, columns = linear_sum_assignment(-matrix[np.ix_(moving, kept)])
    rows = moving[rows]
    matched, per_factor = np.full(len(coded.sizes), -1), np.full(len(coded.sizes), np.nan)
    matched[kept[columns]], per_factor[kept] = rows, 0.0
    for i, j in zip(rows, kept[columns], strict=True):
        size = int(coded.sizes[j])
        bins, others, _ = bin_for_splits(train[:, [i]], test[:, [i]], size)
        names = _names_of_bins(bins[0], coded.codes[split.train, j], size)
        per_factor[j] = (names[others[0]] == coded.codes[split.test, j]).mean()
    return varying.score("snc", per_factor, matrix=matrix, details={"matched": matched})


def _names_of_bins(bins: np.ndarray, known: np.ndarray, size: int) -> np.ndarray:
    """The class of every bin, one to one, with which most rows are right."""
    from scipy.optimize import linear_sum_assignment

    together = np.zeros((size, size))
    np.add.at(together, (bins, known), 1)
    return linear_sum_assignment(-together)[1]
