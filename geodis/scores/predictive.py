"""Scores from predicting factors: one latent at a time, or all of them by a linear model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_choice, check_int, check_random_state
from geodis.scores.inputs import CodedFactors, check_scored
from geodis.scores._margins import margin_accuracies
from geodis.scores._result import Score
from geodis.scores._split import TRAIN_SHARE, Split, of_order_one, split_rows, standardise
from geodis.scores._threads import in_threads
from geodis.scores.importance import top_gap

# A column whose deviation is this small beside its size is constant up to rounding. The published
# code compares the variance with 1e-12, which makes the score depend on the unit of a latent.
ROUNDING = 1e-12

# Rows that logistic regression learns from: more cost in proportion and sharpen little. The
# published scores learn from 10,000.
MOST_ROWS = 30_000


def sap(
    latents: Any,
    factors: Any,
    *,
    continuous: bool = False,
    train_share: float = TRAIN_SHARE,
    shuffle: bool = True,
    n_jobs: int = 1,
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
    n_jobs : int
        Threads, for classes; -1 for all.
    random_state : int, Generator or None
        Shuffles.

    Returns
    -------
    Score
        `matrix` is S, `per_factor` the gaps, NaN for a factor with one value, which is left out.

    Examples
    --------
    >>> factors = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (25, 1))
    >>> sap(2.0 * factors - 1, factors, random_state=0).matrix.round(1)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    z, coded = check_scored(latents, factors, allow_continuous=continuous)
    kept, note = coded.varying()
    split = split_rows(len(z), train_share, shuffle, check_random_state(random_state))
    matrix = np.zeros((z.shape[1], len(coded.sizes)))
    if continuous:
        _refuse_labels(coded, "sap with continuous=True")
        matrix[:, kept] = squared_correlation(z[split.train], coded.values[split.train][:, kept])
    else:
        train, test = coded.codes[split.train][:, kept], coded.codes[split.test][:, kept]

        def row(i: int) -> np.ndarray:
            return margin_accuracies(z[split.train, i], train, z[split.test, i], test)

        matrix[:, kept] = np.array(in_threads(row, range(z.shape[1]), n_jobs))
    gaps = np.full(len(coded.sizes), np.nan)
    gaps[kept] = top_gap(matrix[:, kept])
    return Score(
        "sap",
        float(gaps[kept].mean()),
        per_factor=gaps,
        matrix=matrix,
        details={"continuous": continuous},
        note=note,
        factor_names=coded.names,
    )


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


def explicitness(
    latents: Any,
    factors: Any,
    *,
    max_rows: int | None = MOST_ROWS,
    train_share: float = TRAIN_SHARE,
    shuffle: bool = True,
    n_jobs: int = 1,
    random_state: Any = None,
) -> Score:
    """Explicitness: whether a linear model reads factors off all latents (Ridgeway and Mozer 2018).

    Multinomial logistic regression on standardised latents (scikit-learn's, with its defaults);
    for every value of a factor the area under the ROC curve of its probability on held-out rows;
    the mean over values, then over factors. Chance gives .5.

    Parameters
    ----------
    latents, factors, train_share, shuffle, n_jobs, random_state
        As in `sap`. A constant latent is left at zero.
    max_rows : int or None
        Most rows to learn from; None for all.

    Returns
    -------
    Score
        `per_factor` on held-out rows, NaN for a factor that cannot be judged; `details` has
        "train" and "train_per_factor" from the rows learnt from, and "rescaled", which is
        ``2 value - 1``: zero by chance.

    Examples
    --------
    >>> factors = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (25, 1))
    >>> print(explicitness(factors @ [[1.0, 2.0], [3.0, 1.0]], factors, random_state=0))
    explicitness 1.000
      per factor  1.000 1.000
      train 1.000, rescaled 1.000
    """
    z, coded = check_scored(latents, factors)
    kept, note = coded.varying()
    split = split_rows(len(z), train_share, shuffle, check_random_state(random_state))
    notes = [note]
    if max_rows is not None and len(split.train) > check_int(max_rows, "max_rows", low=1):
        notes.append(f"learnt from {max_rows} of {len(split.train)} training rows (max_rows)")
        split = Split(split.train[:max_rows], split.test)
    train, test = standardise(z, split)

    def areas(j: int) -> tuple[float, float, bool]:
        return _explicit(train, coded.codes[split.train, j], test, coded.codes[split.test, j])

    found = in_threads(areas, kept, n_jobs)
    per_factor = {place: np.full(len(coded.sizes), np.nan) for place in ("train", "test")}
    per_factor["train"][kept] = [item[0] for item in found]
    per_factor["test"][kept] = [item[1] for item in found]
    judged = ~np.isnan(per_factor["test"])
    if not judged.any():
        raise InputError(
            "explicitness needs training and held-out rows with and without some value of a "
            f"factor; no factor has them in {len(split.train)} and {len(split.test)} rows."
        )
    if lost := [coded.called(j) for j in kept if not judged[j]]:
        notes.append(f"left out, too few rows of every value: {', '.join(lost)}")
    if not all(item[2] for item in found):
        notes.append("logistic regression stopped before it converged (100 steps)")
    value = float(np.nanmean(per_factor["test"]))
    return Score(
        "explicitness",
        value,
        per_factor=per_factor["test"],
        details={
            "train": float(np.nanmean(per_factor["train"])),
            "rescaled": 2 * value - 1,
            "train_per_factor": per_factor["train"],
        },
        note="; ".join(filter(None, notes)),
        factor_names=coded.names,
    )


def _explicit(
    train: np.ndarray, train_codes: np.ndarray, test: np.ndarray, test_codes: np.ndarray
) -> tuple[float, float, bool]:
    """Areas under the curves of training and held-out rows, and whether the model converged."""
    if len(np.unique(train_codes)) == 1:
        return np.nan, np.nan, True
    model, converged = fit_logistic(train, train_codes)
    return (
        ranked_area(model.predict_proba(train), train_codes, model.classes_),
        ranked_area(model.predict_proba(test), test_codes, model.classes_),
        converged,
    )


def ranked_area(scores: np.ndarray, codes: np.ndarray, classes: np.ndarray) -> float:
    """Area under the ROC curve of every class against the others, mean over classes.

    ``(R - m (m + 1) / 2) / (m (n - m))`` with R the sum of the ranks (ties averaged) of the m rows
    of a class. A class that no row or every row has is left out; NaN if that leaves none.

    Parameters
    ----------
    scores : ndarray of shape (n, k)
    codes : ndarray of shape (n,)
    classes : ndarray of shape (k,)
        The code that each column scores.

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


def informativeness_r2(
    latents: Any,
    factors: Any,
    *,
    method: str = "linear",
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
        Numbers, continuous or not; labels are refused.
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
    check_choice(method, "method", ("linear", "knn"))
    z, coded = check_scored(latents, factors, allow_continuous=True)
    _refuse_labels(coded, "informativeness_r2")
    kept, note = coded.varying()
    split = split_rows(len(z), train_share, shuffle, check_random_state(random_state))
    train, test = standardise(z, split)
    known, wanted = coded.values[split.train], coded.values[split.test]
    mean = known.mean(axis=0)
    if method == "linear":
        weights = np.linalg.lstsq(train, known - mean, rcond=None)[0]
        predicted = test @ weights + mean
    else:
        from sklearn.neighbors import KNeighborsRegressor

        count = min(check_int(n_neighbors, "n_neighbors", low=1), len(train))
        predicted = KNeighborsRegressor(count).fit(train, known).predict(test)
    total = ((wanted - mean) ** 2).sum(axis=0)
    raw = np.full(len(coded.sizes), np.nan)
    seen = kept[total[kept] > 0]
    raw[seen] = 1 - ((wanted - predicted) ** 2).sum(axis=0)[seen] / total[seen]
    per_factor = np.maximum(raw, 0.0)
    return Score(
        "informativeness_r2",
        float(per_factor[seen].mean()) if len(seen) else 0.0,
        per_factor=per_factor,
        details={"method": method, "raw_per_factor": raw},
        note=note,
        factor_names=coded.names,
    )


def fit_logistic(latents: np.ndarray, codes: np.ndarray) -> tuple[Any, bool]:
    """scikit-learn's logistic regression with its defaults, and whether it converged.

    It stops at a gradient of 1e-4 or after 100 steps. A solver of our own that went on to the
    optimum moved areas under curves by up to 1.3e-4, away from published values, and took longer.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(latents, codes)
    return model, bool(np.max(model.n_iter_) < model.max_iter)


def _refuse_labels(coded: CodedFactors, what: str) -> None:
    if not coded.numeric.all():
        j = int(np.flatnonzero(~coded.numeric)[0])
        raise InputError(f"{what} needs factors that are numbers; {coded.called(j)} has labels.")
