"""Downstream accuracy and statistical efficiency of simple models of the factors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import InputError, check_choice, check_int, check_random_state
from geodis.base.jobs import in_threads
from geodis.scores.card import CLASSES_OF_ALL, Cost, Score
from geodis.scores.inputs import check_scored
from geodis.scores.predictive.boosting import N_BINS, bin_for_splits, boost
from geodis.scores.predictive.cross_validation import HeldOut, fit_logistic, standardise
from geodis.scores.predictive.importance_models import order_of_latents
from geodis.scores.registry import register_score

DownstreamModel = Literal["logistic", "trees"]
# Codes of the training rows -> predicted codes of the held-out rows.
Predictor = Callable[[np.ndarray], np.ndarray]
SIZES = (10, 100, 1_000, 10_000)
MOST_TEST_ROWS = 5_000  # as in the published study
TEST_SHARE = 0.25


@register_score(
    "downstream_trees",
    family="predictive",
    options={"model": "trees"},
    by_size=True,
    halves=True,
    default=False,
    cost=Cost("more than all others together"),
    answers="information",
    shapes=CLASSES_OF_ALL,
)
@register_score(
    "downstream_logistic",
    family="predictive",
    options={"model": "logistic"},
    by_size=True,
    halves=True,
    cost=Cost("0.1 s", intervals="seldom"),
    answers="information",
    shapes=CLASSES_OF_ALL,
)
def downstream(
    latents: Any,
    factors: Any,
    *,
    model: DownstreamModel = "logistic",
    sizes: Sequence[int] = SIZES,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Score:
    """Accuracy of predicting factors from few and from many rows (Locatello et al. 2019).

    With A_j(s) the test accuracy for factor j of a model trained on s rows, the accuracy is
    ``A(s) = 1/f sum_j A_j(s)``, and the statistical efficiency is ``A(100) / A(10,000)``. With
    fewer rows the denominator is the accuracy at the largest size, as stated in the note.
    Uninformative latents have an efficiency near 1, too, because more rows do not help.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f)
        Classes.
    model : {"logistic", "trees"}
        Multinomial logistic regression on standardised latents, or gradient boosted trees (100
        stages of depth 3, latents in 256 bins).
    sizes : sequence of int
        Numbers of training rows. A quarter of the rows, at most 5,000, are test rows; sizes that
        exceed the remaining rows are replaced by all of them.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.
    random_state : int, Generator or None
        Shuffles the rows; every size uses the first rows of the same order.

    Returns
    -------
    Score
        `value` is the mean test accuracy at the largest size, `per_factor` its parts. `details` has
        "efficiency" (NaN if there is no larger size to compare with), "sizes" (s,), "accuracy" (s,)
        and "accuracy_per_factor" (s, f).

    Rewards (downstream_logistic)
    -----------------------------
    Factors that a linear model learns from few rows.

    Rewards (downstream_trees)
    --------------------------
    Factors that boosted trees learn from few rows.

    Cannot see
    ----------
    Which latent holds what. Efficiency compares accuracies with each other, so that a code of noise
    has the best.

    By chance
    ---------
    the share of the most frequent class; efficiency near 1

    Source
    ------
    Locatello et al. 2019, section 5.6

    Examples
    --------
    >>> factors = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (100, 1))
    >>> print(downstream(2.0 * factors, factors, sizes=(100, 300), random_state=0))
    downstream_logistic 1.000
      per factor  1.000 1.000
      efficiency 1.000
    """
    check_choice(model, "model", get_args(DownstreamModel))
    z, coded = check_scored(latents, factors)
    varying = coded.varying()
    kept = varying.kept
    if model == "trees":  # ties of splits depend on the order of latents
        z = z[:, order_of_latents(z)]
    order = check_random_state(random_state).permutation(len(z))
    n_test = max(1, min(MOST_TEST_ROWS, int(TEST_SHARE * len(z))))
    test, rest = order[:n_test], order[n_test:]
    wanted = sorted({check_int(size, "sizes", low=1) for size in sizes})
    if not wanted:
        raise InputError("sizes must hold at least one number of rows; got none.")
    reached = sorted({min(size, len(rest)) for size in wanted})
    few_rows = wanted[-1] > len(rest)
    note = f"{len(rest)} rows to learn from instead of {wanted[-1]}" if few_rows else ""
    make = _logistic if model == "logistic" else _trees
    accuracy = np.full((len(reached), len(coded.sizes)), np.nan)
    for s, size in enumerate(reached):
        split = HeldOut(rest[:size], test)
        accuracy[s, kept] = _accuracies(make(z, split), coded.codes[:, kept], split, n_jobs)
    means = accuracy[:, kept].mean(axis=1)
    few = int(np.argmin(np.abs(np.array(reached) - 100)))
    efficiency = np.nan  # a single size
    if few < len(reached) - 1:
        efficiency = float(means[few] / means[-1]) if means[-1] > 0 else 0.0
    return varying.score(
        f"downstream_{model}",
        accuracy[-1],
        value=float(means[-1]),
        details={
            "efficiency": efficiency,
            "efficiency_sizes": (reached[few], reached[-1]),
            "sizes": np.array(reached),
            "accuracy": means,
            "accuracy_per_factor": accuracy,
        },
        notes=[note],
    )


def _accuracies(
    predict: Predictor, codes: np.ndarray, split: HeldOut, n_jobs: int | None
) -> list[float]:
    """Return the test accuracy for every column of codes (n, f)."""

    def judge(known: np.ndarray) -> float:
        return float((predict(known[split.train]) == known[split.test]).mean())

    return in_threads(judge, codes.T, n_jobs)


def _logistic(latents: np.ndarray, split: HeldOut) -> Predictor:
    train, test = standardise(latents, split)

    def predict(codes: np.ndarray) -> np.ndarray:
        if len(np.unique(codes)) == 1:
            return np.full(len(test), codes[0])
        return fit_logistic(train, codes)[0].predict(test)

    return predict


def _trees(latents: np.ndarray, split: HeldOut) -> Predictor:
    binned = bin_for_splits(latents[split.train], latents[split.test], N_BINS)
    return lambda codes: boost(*binned, codes).test
