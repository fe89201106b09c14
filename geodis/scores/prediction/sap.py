"""Separated attribute predictability: how far the best latent is ahead of the second."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import check_random_state
from geodis.base.jobs import in_threads
from geodis.scores.active import of_order_one
from geodis.scores.card import NUMBERS, QUICK, Card, Cost, Shown
from geodis.scores.importance import top_gap
from geodis.scores.inputs import check_scored, varying_numbers
from geodis.scores.prediction.held_out import TRAIN_SHARE, split_rows
from geodis.scores.prediction.linear_svm import margin_accuracies
from geodis.scores.registry import register_score
from geodis.scores.score import Score

# A column whose deviation is this small beside its size is constant up to rounding. The published
# code compares the variance with 1e-12, which makes the score depend on the unit of a latent.
ROUNDING = 1e-12


@register_score(
    "sap_continuous",
    family="predictive",
    options={"continuous": True},
    takes_continuous=True,
    halves=True,
    cost=QUICK,
    shown=Shown("SAP", best_factor="sap_continuous", figure=True),
    card=Card(
        rewards="For each factor one latent that predicts it linearly far better than the second.",
        blind="Bends; copies of a latent, which take all of it; what else the latent holds.",
        answers="completeness",
        shapes=NUMBERS,
        source="Kumar et al. 2018, section 3",
    ),
)
@register_score(
    family="predictive",
    halves=True,
    cost=Cost(intervals="often", many_latents=True),
    card=Card(
        rewards="For each factor one latent that a linear classifier reads it from far better "
        "than from the second.",
        blind="Factors of many values: one latent cannot separate them linearly, so a perfect "
        "code may score 0.15. Copies of a latent take all of it. It depends on shifts and scales "
        "of the latents, as the intercept is regularised, as published: a shift of all latents by "
        "10 took 0.09 to 0.15 from scores of 0.26 to 0.31, and so did a tenth of the scale.",
        answers="completeness",
        source="Kumar et al. 2018, section 3",
    ),
)
def sap(
    latents: Any,
    factors: Any,
    *,
    continuous: bool = False,
    train_share: float = TRAIN_SHARE,
    shuffle: bool = True,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Score:
    """Separated attribute predictability (Kumar et al. 2018, section 3).

    ``1/f sum_j (S(a, j) - S(b, j))``, where S(i, j) says how well latent i alone predicts factor
    j, and a and b are the best and the second best latent. With one latent, the second is zero.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f)
    continuous : bool
        False takes factors as classes: S is the accuracy on held-out rows of a linear support
        vector machine (C = .01, balanced classes). True takes them as numbers: S is the squared
        correlation on the training rows, and zero for a constant latent.
    train_share : float
        Share of the rows to learn from; the others are held out.
    shuffle : bool
        False learns from the first rows, as published scores do.
    n_jobs : int, optional
        Threads, for classes; one by default, -1 for every core.
    random_state : int, Generator or None
        Shuffles.

    Returns
    -------
    Score
        `matrix` is S, `per_factor` the gaps, NaN for a factor that is left out: with one value, or
        made of labels where factors are numbers.

    Examples
    --------
    >>> factors = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (25, 1))
    >>> sap(2.0 * factors - 1, factors, random_state=0).matrix.round(1)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    z, coded = check_scored(latents, factors, allow_continuous=continuous)
    varying = varying_numbers(coded, "sap with continuous=True") if continuous else coded.varying()
    kept = varying.kept
    split = split_rows(len(z), train_share, shuffle, check_random_state(random_state))
    matrix = np.zeros((z.shape[1], len(coded.sizes)))
    if continuous:
        matrix[:, kept] = squared_correlation(z[split.train], coded.values[split.train][:, kept])
    else:
        train, test = coded.codes[split.train][:, kept], coded.codes[split.test][:, kept]

        def row(i: int) -> np.ndarray:
            return margin_accuracies(z[split.train, i], train, z[split.test, i], test)

        matrix[:, kept] = np.array(in_threads(row, range(z.shape[1]), n_jobs))
    gaps = varying.spread(top_gap(matrix[:, kept]))
    return varying.score("sap", gaps, matrix=matrix, details={"continuous": continuous})


def squared_correlation(latents: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Squared Pearson correlation between columns, shape (z, f); zero for constant columns.

    Examples
    --------
    >>> squared_correlation(np.array([[0.0, 7.0], [1.0, 7.0]]), np.array([[5.0], [3.0]]))
    array([[1.],
           [0.]])
    """
    return np.minimum((_unit_columns(latents).T @ _unit_columns(factors)) ** 2, 1.0)


def _unit_columns(values: np.ndarray) -> np.ndarray:
    """Centred columns of norm one; zeros where a column is constant."""
    scaled = of_order_one(values)
    scaled = scaled - scaled.mean(axis=0)
    norm = np.sqrt((scaled**2).sum(axis=0))
    alive = norm > ROUNDING * np.sqrt(len(values))
    return np.where(alive, scaled / np.where(alive, norm, 1.0), 0.0)
