"""Explicitness and informativeness: prediction of factors from all latents."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import InputError, check_choice, check_int, check_random_state
from geodis.base.jobs import in_threads
from geodis.scores.card import CLASSES_OF_ALL, NUMBERS_OF_ALL, QUICK, Cost, Score
from geodis.scores.inputs import check_scored, varying_numbers
from geodis.scores.predictive.cross_validation import (
    TRAIN_SHARE,
    fit_logistic,
    split_rows,
    standardise,
)
from geodis.scores.registry import register_score

# Training rows of logistic regression. More rows hardly change the score; published scores use
# 10,000.
MOST_ROWS = 30_000


@register_score(
    family="predictive",
    halves=True,
    cost=Cost("0.1 s", intervals="seldom"),
    answers="information",
    shapes=CLASSES_OF_ALL,
)
def explicitness(
    latents: Any,
    factors: Any,
    *,
    max_rows: int | None = MOST_ROWS,
    train_share: float = TRAIN_SHARE,
    shuffle: bool = True,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Score:
    """Explicitness: whether a linear model predicts factors (Ridgeway and Mozer 2018).

    Multinomial logistic regression on standardised latents (scikit-learn's, with its defaults)
    gives the probability of every value of a factor. The score is the area under its ROC curve on
    test rows, averaged over values, then over factors. The chance level is .5.

    Parameters
    ----------
    latents, factors, train_share, shuffle, n_jobs, random_state
        As in `sap`.
    max_rows : int or None
        Largest number of training rows; None for all.

    Returns
    -------
    Score
        `per_factor` on test rows, NaN for factors that cannot be scored; `details` has "train" and
        "train_per_factor" from the training rows, and "rescaled", ``2 value - 1``, which is zero by
        chance.

    Rewards
    -------
    Factors that a linear model reads off all latents.

    Cannot see
    ----------
    Which latent holds what: turned latents score the same, and mixed ones nearly.

    By chance
    ---------
    0.5

    Source
    ------
    Ridgeway and Mozer 2018, section 3.2

    Examples
    --------
    >>> factors = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (25, 1))
    >>> print(explicitness(factors @ [[1.0, 2.0], [3.0, 1.0]], factors, random_state=0))
    explicitness 1.000
      per factor  1.000 1.000
      train 1.000, rescaled 1.000
    """
    z, coded = check_scored(latents, factors)
    varying = coded.varying()
    split = split_rows(len(z), train_share, shuffle, check_random_state(random_state))
    split, limited = split.at_most(max_rows)
    train, test = standardise(z, split)

    def judge(j: int) -> tuple[float, float, bool]:
        return _explicit(train, coded.codes[split.train, j], test, coded.codes[split.test, j])

    areas = in_threads(judge, varying.kept, n_jobs)
    train_areas, test_areas, converged = zip(*areas, strict=True)
    of_train, per_factor = varying.spread(train_areas), varying.spread(test_areas)
    if np.isnan(per_factor).all():
        raise InputError(
            "explicitness needs training and held-out rows with and without some value of a "
            f"factor; no factor has them in {len(split.train)} and {len(split.test)} rows."
        )
    lost = ", ".join(coded.called(j) for j in varying.kept if np.isnan(per_factor[j]))
    value = float(np.nanmean(per_factor))
    return varying.score(
        "explicitness",
        per_factor,
        value=value,
        details={
            "train": float(np.nanmean(of_train)),
            "rescaled": 2 * value - 1,
            "train_per_factor": of_train,
        },
        notes=[
            limited,
            f"left out, too few rows of every value: {lost}" if lost else "",
            "" if all(converged) else "logistic regression stopped before it converged (100 steps)",
        ],
    )


def _explicit(
    train: np.ndarray, train_codes: np.ndarray, test: np.ndarray, test_codes: np.ndarray
) -> tuple[float, float, bool]:
    """Return areas under the ROC curves of training and test rows, and the convergence."""
    if len(np.unique(train_codes)) == 1:
        return np.nan, np.nan, True
    model, converged = fit_logistic(train, train_codes)
    return (
        ranked_area(model.predict_proba(train), train_codes, model.classes_),
        ranked_area(model.predict_proba(test), test_codes, model.classes_),
        converged,
    )


def ranked_area(scores: np.ndarray, codes: np.ndarray, classes: np.ndarray) -> float:
    """Return the area under the ROC curve of every class against the rest, mean over classes.

    ``(R - m (m + 1) / 2) / (m (n - m))`` with R the sum of the ranks (ties averaged) of the m rows
    of a class. Classes of no rows or all rows are left out; NaN if no class remains.

    Parameters
    ----------
    scores : ndarray of shape (n, k)
    codes : ndarray of shape (n,)
    classes : ndarray of shape (k,)
        The code that belongs to each column.

    Examples
    --------
    >>> ranked_area(np.array([[0.1], [0.4], [0.3], [0.9]]), np.array([0, 1, 0, 1]), np.array([1]))
    1.0
    """
    from scipy.stats import rankdata

    areas = []
    for column, value in zip(scores.T, classes, strict=True):
        own = codes == value
        m, n = int(own.sum()), len(codes)
        if 0 < m < n:
            areas.append((rankdata(column)[own].sum() - m * (m + 1) / 2) / (m * (n - m)))
    return float(np.mean(areas)) if areas else np.nan


PredictBy = Literal["linear", "knn"]


@register_score(
    family="predictive",
    takes_continuous=True,
    halves=True,
    cost=QUICK,
    answers="information",
    shapes=NUMBERS_OF_ALL,
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
    """Informativeness: the share of variance of every factor that the latents explain.

    ``R^2_j = 1 - sum (v_j - prediction)^2 / sum (v_j - mean)^2`` on test rows, with the mean of the
    training rows; at least zero.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f)
        Numbers, continuous or not; labels are left out.
    method : {"linear", "knn"}
        Least squares, or the mean of the nearest training rows in the space of standardised
        latents.
    n_neighbors : int
        For "knn".
    train_share, shuffle, random_state
        As in `sap`.

    Returns
    -------
    Score
        Has `per_factor`; `details["raw_per_factor"]` may be negative.

    Rewards
    -------
    Factors that are a linear function of the latents.

    Cannot see
    ----------
    Which latent holds what: turned latents score the same. Bends, and circles, which are no linear
    function.

    Source
    ------
    Eastwood and Williams 2018, section 2, as R^2

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
        from sklearn.neighbors import KNeighborsRegressor

        count = min(check_int(n_neighbors, "n_neighbors", low=1), len(train))
        predicted = KNeighborsRegressor(count).fit(train, known).predict(test)
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
