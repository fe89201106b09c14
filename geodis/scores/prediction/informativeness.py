"""Informativeness: how much of the variance of every factor the latents explain."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import check_choice, check_int, check_random_state
from geodis.scores.card import NUMBERS_OF_ALL, QUICK, Card
from geodis.scores.inputs import check_scored, varying_numbers
from geodis.scores.prediction.held_out import TRAIN_SHARE, split_rows, standardise
from geodis.scores.registry import register_score
from geodis.scores.score import Score

PredictBy = Literal["linear", "knn"]


@register_score(
    family="predictive",
    takes_continuous=True,
    halves=True,
    cost=QUICK,
    card=Card(
        rewards="Factors that are a linear function of the latents.",
        blind="Which latent holds what: turned latents score the same. Bends, and circles, "
        "which are no linear function.",
        answers="information",
        shapes=NUMBERS_OF_ALL,
        source="Eastwood and Williams 2018, section 2, as R^2",
    ),
)
def informativeness_r2(
    latents: Any,
    factors: Any,
    *,
    method: PredictBy = "linear",
    n_neighbors: int = 5,
    train_share: float = TRAIN_SHARE,
    shuffle: bool = True,
    random_state: Any = None,
) -> Score:
    """How much of the variance of every factor the latents explain, without a classifier.

    ``R^2_j = 1 - sum (v_j - prediction)^2 / sum (v_j - mean)^2`` on held-out rows, with the mean
    of the training rows, so that predicting the mean scores zero; at least zero.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f)
        Numbers, continuous or not; labels are left out.
    method : {"linear", "knn"}
        Least squares, or the mean of the nearest training rows in standardised latents.
    n_neighbors : int
        For "knn".
    train_share, shuffle, random_state
        As in `sap`.

    Returns
    -------
    Score
        `per_factor`; `details["raw_per_factor"]` may be negative.

    Examples
    --------
    >>> angle = np.linspace(0, 1, 100)
    >>> score = informativeness_r2(np.column_stack([3 * angle, angle]), angle, random_state=0)
    >>> round(float(score), 6)
    1.0
    """
    check_choice(method, "method", get_args(PredictBy))
    z, coded = check_scored(latents, factors, allow_continuous=True)
    varying = varying_numbers(coded, "informativeness_r2")
    split = split_rows(len(z), train_share, shuffle, check_random_state(random_state))
    train, test = standardise(z, split)
    known, wanted = coded.values[split.train], coded.values[split.test]
    mean = known.mean(axis=0)
    if method == "linear":
        predicted = test @ np.linalg.lstsq(train, known - mean, rcond=None)[0] + mean
    else:
        count = min(check_int(n_neighbors, "n_neighbors", low=1), len(train))
        predicted = _mean_of_neighbors(train, known, test, count)
    total = ((wanted - mean) ** 2).sum(axis=0)
    raw = np.full(len(coded.sizes), np.nan)
    seen = varying.kept[total[varying.kept] > 0]
    raw[seen] = 1 - ((wanted - predicted) ** 2).sum(axis=0)[seen] / total[seen]
    per_factor = np.maximum(raw, 0.0)
    return varying.score(
        "informativeness_r2",
        per_factor,
        value=float(per_factor[seen].mean()) if len(seen) else 0.0,
        details={"method": method, "raw_per_factor": raw},
    )


def _mean_of_neighbors(
    train: np.ndarray, known: np.ndarray, test: np.ndarray, count: int
) -> np.ndarray:
    from sklearn.neighbors import KNeighborsRegressor

    return KNeighborsRegressor(count).fit(train, known).predict(test)
