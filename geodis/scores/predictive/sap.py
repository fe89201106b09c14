"""Separated attribute predictability: the gap between the two best latents of a factor."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import check_random_state
from geodis.base.jobs import in_threads, njit
from geodis.scores.card import NUMBERS, QUICK, Cost, Score, Shown
from geodis.scores.importance import top_gap
from geodis.scores.inputs import check_scored, of_order_one, varying_numbers
from geodis.scores.predictive.cross_validation import TRAIN_SHARE, split_rows
from geodis.scores.registry import register_score

# Linear support vector machines on a single latent, solved exactly.
#
# With one input, the rows inside the margin are contiguous in the sorted values. Sums over them are
# differences of cumulative sums, and a Newton step takes two binary searches instead of a pass over
# the rows. This is 45 times faster than scikit-learn's `LinearSVC` at equal accuracies.

PENALTY = 0.01  # C of the published score
_MOST_STEPS = 100
_SMALLEST_STEP = 1e-10


def margin_accuracies(
    train: np.ndarray, train_codes: np.ndarray, test: np.ndarray, test_codes: np.ndarray
) -> np.ndarray:
    """Test accuracy of a linear support vector machine on one latent, for every factor.

    For every class of the training rows against the rest (once for two classes),

    ``min_{w, b} (w^2 + b^2) / 2 + C sum_i c_i max(0, 1 - y_i (w x_i + b))^2``

    with C = .01 and balanced weights ``c = n / (k n_class)`` for rows of the class and one for the
    rest (for two classes, balanced weights for both). The largest ``w x + b`` is predicted.

    Parameters
    ----------
    train, test : ndarray of float, shapes (n,) and (n_test,)
    train_codes, test_codes : ndarray of int, shapes (n, f) and (n_test, f)

    Returns
    -------
    ndarray of shape (f,)

    Examples
    --------
    >>> x = np.linspace(-9, 9, 30)
    >>> codes = (x > 0).astype(int)[:, None]
    >>> margin_accuracies(x, codes, np.array([-1.0, 2.0]), np.array([[0], [1]]))
    array([1.])
    """
    order = np.argsort(train, kind="stable")
    x = train[order]
    running = np.zeros((3, len(x) + 1))
    with np.errstate(over="ignore", invalid="ignore"):  # values near 1e154: see _solve
        for power in range(3):
            np.cumsum(x**power, out=running[power, 1:])
    accuracies = np.empty(train_codes.shape[1])
    for j, (known, wanted) in enumerate(zip(train_codes.T, test_codes.T, strict=True)):
        k = int(max(known.max(), wanted.max())) + 1
        predicted = _predict(x, known[order], running, k, PENALTY, test)
        accuracies[j] = (predicted == wanted).mean()
    return accuracies


@njit(cache=True, nogil=True)
def _predict(
    x: np.ndarray, codes: np.ndarray, running: np.ndarray, k: int, penalty: float, test: np.ndarray
) -> np.ndarray:
    """Predict codes of the test values; x is sorted, `running` has cumulative sums of powers."""
    n = len(x)
    begin = np.zeros(k + 1, np.int64)  # start of every class in rows sorted by class
    for i in range(n):
        begin[codes[i] + 1] += 1
    present = 0
    for c in range(k):
        present += begin[c + 1] > 0
        begin[c + 1] += begin[c]
    own = np.empty(n)
    at = np.empty(k, np.int64)
    for c in range(k):
        at[c] = begin[c]
    for i in range(n):
        own[at[codes[i]]] = x[i]
        at[codes[i]] += 1
    slope, offset, label = np.zeros(present), np.zeros(present), np.zeros(present, np.int64)
    place = 0
    for c in range(k):
        m = begin[c + 1] - begin[c]
        if m == 0:
            continue
        label[place] = c
        weight = penalty * n / (present * float(m))
        others = penalty * n / (present * float(n - m)) if present == 2 else penalty
        if present == 2 and place == 0:  # two classes need a single classifier
            slope[0], offset[0] = 0.0, 0.0
        elif present > 1:
            slope[place], offset[place] = _solve(
                x, running, own[begin[c] : begin[c + 1]], weight, others
            )
        place += 1
    predicted = np.empty(len(test), np.int64)
    for i in range(len(test)):
        best, chosen = -np.inf, 0
        for c in range(present):
            height = slope[c] * test[i] + offset[c]
            if height > best:
                best, chosen = height, c
        predicted[i] = label[chosen]
    return predicted


@njit(cache=True, nogil=True)
def _below(x: np.ndarray, value: float) -> int:
    """Count the entries of sorted x that are smaller than the value."""
    low, high = 0, len(x)
    while low < high:
        middle = (low + high) // 2
        if x[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _inside(
    x: np.ndarray,
    running: np.ndarray,
    own: np.ndarray,
    sums: np.ndarray,
    w: float,
    b: float,
    near: np.ndarray,
    far: np.ndarray,
) -> None:
    """Compute sums over rows of the class with w x + b < 1, and over others with w x + b > -1."""
    n, m = len(x), len(own)
    # Ranges [begin, end) of rows of the class, of all rows, and of the class to be subtracted.
    begin, end, begin_all, end_all, begin_off, end_off = 0, m, 0, n, 0, m
    if w > 0:
        end = _below(own, (1 - b) / w)
        begin_all, begin_off = _below(x, (-1 - b) / w), _below(own, (-1 - b) / w)
    elif w < 0:
        begin = _below(own, (1 - b) / w)
        end_all, end_off = _below(x, (-1 - b) / w), _below(own, (-1 - b) / w)
    else:
        end = m if b < 1 else 0
        end_all, end_off = (n, m) if b > -1 else (0, 0)
    for p in range(3):
        near[p] = sums[p, end] - sums[p, begin]
        far[p] = running[p, end_all] - running[p, begin_all]
        far[p] -= sums[p, end_off] - sums[p, begin_off]


@njit(cache=True, nogil=True)
def _loss(w: float, b: float, sums: np.ndarray, y: float) -> float:
    """Sum of (1 - y (w x + b))^2 from the sums of 1, x and x^2."""
    a = 1 - y * b
    return a * a * sums[0] - 2 * a * y * w * sums[1] + w * w * sums[2]


@njit(cache=True, nogil=True)
def _solve(
    x: np.ndarray, running: np.ndarray, own: np.ndarray, weight: float, others: float
) -> tuple[float, float]:
    """Minimise the piecewise quadratic loss by Newton's method with step halving."""
    sums = np.zeros((3, len(own) + 1))
    for i in range(len(own)):
        power = 1.0
        for p in range(3):
            sums[p, i + 1] = sums[p, i] + power
            power *= own[i]
    w, b = 0.0, 0.0
    near, far = np.zeros(3), np.zeros(3)
    _inside(x, running, own, sums, w, b, near, far)
    value = (w * w + b * b) / 2 + weight * _loss(w, b, near, 1) + others * _loss(w, b, far, -1)
    for _ in range(_MOST_STEPS):
        # Hessian and gradient; the first terms of the gradient are the Hessian times (w, b).
        bb = 1 + 2 * (weight * near[0] + others * far[0])
        wb = 2 * (weight * near[1] + others * far[1])
        ww = 1 + 2 * (weight * near[2] + others * far[2])
        gradient_w = ww * w + wb * b - 2 * (weight * near[1] - others * far[1])
        gradient_b = wb * w + bb * b - 2 * (weight * near[0] - others * far[0])
        determinant = ww * bb - wb * wb
        if not 0 < determinant < np.inf:  # rounding or overflow
            break
        step_w = (bb * gradient_w - wb * gradient_b) / determinant
        step_b = (ww * gradient_b - wb * gradient_w) / determinant
        slope = gradient_w * step_w + gradient_b * step_b
        share = 1.0
        while True:
            w_new, b_new = w - share * step_w, b - share * step_b
            _inside(x, running, own, sums, w_new, b_new, near, far)
            new = (w_new * w_new + b_new * b_new) / 2
            new += weight * _loss(w_new, b_new, near, 1) + others * _loss(w_new, b_new, far, -1)
            if new <= value - 1e-4 * share * slope or share < _SMALLEST_STEP:
                break
            share /= 2
        if share < _SMALLEST_STEP:
            break
        moved = abs(w_new - w) * max(abs(x[0]), abs(x[-1])) + abs(b_new - b)
        w, b, value = w_new, b_new, new
        if moved < _SMALLEST_STEP:
            break
    return w, b


# Columns with a smaller relative deviation are constant up to rounding. The published code compares
# the variance with 1e-12, which makes the score depend on the unit of a latent.
ROUNDING = 1e-12


@register_score(
    "sap_continuous",
    family="predictive",
    options={"continuous": True},
    takes_continuous=True,
    halves=True,
    cost=QUICK,
    shown=Shown("SAP", best_factor="sap_continuous", figure=True),
    answers="completeness",
    shapes=NUMBERS,
)
@register_score(
    family="predictive",
    halves=True,
    cost=Cost(intervals="often", many_latents=True),
    answers="completeness",
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

    ``1/f sum_j (S(a, j) - S(b, j))``, where S(i, j) measures how well latent i alone predicts
    factor j, and a and b are the best and the second best latent. With a single latent, the second
    term is zero.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f)
    continuous : bool
        If False, factors are classes: S is the test accuracy of a linear support vector machine
        (C = .01, balanced classes). If True, they are numbers: S is the squared correlation on the
        training rows, zero for a constant latent.
    train_share : float
        Share of the training rows; the others are the test rows.
    shuffle : bool
        If False, the first rows are the training rows, as in published code.
    n_jobs : int, optional
        Threads, for classes; one by default, -1 for every core.
    random_state : int, Generator or None
        Shuffles the rows.

    Returns
    -------
    Score
        `matrix` is S, `per_factor` the gaps, NaN for factors that are left out: constant ones, and
        labels if `continuous`.

    Rewards
    -------
    For each factor one latent that a linear classifier reads it from far better than from the
    second.

    Rewards (sap_continuous)
    ------------------------
    For each factor one latent that predicts it linearly far better than the second.

    Cannot see
    ----------
    Factors of many values: one latent cannot separate them linearly, so a perfect code may score
    0.15. Copies of a latent take all of it. It depends on shifts and scales of the latents, as the
    intercept is regularised, as published: a shift of all latents by 10 took 0.09 to 0.15 from
    scores of 0.26 to 0.31, and so did a tenth of the scale.

    Cannot see (sap_continuous)
    ---------------------------
    Bends; copies of a latent, which take all of it; what else the latent holds.

    Source
    ------
    Kumar et al. 2018, section 3

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
    """Return squared Pearson correlations of columns, shape (z, f); zero for constant columns.

    Examples
    --------
    >>> squared_correlation(np.array([[0.0, 7.0], [1.0, 7.0]]), np.array([[5.0], [3.0]]))
    array([[1.],
           [0.]])
    """
    return np.minimum((_unit_columns(latents).T @ _unit_columns(factors)) ** 2, 1.0)


def _unit_columns(values: np.ndarray) -> np.ndarray:
    """Centre columns and scale them to norm one; constant columns become zero."""
    scaled = of_order_one(values)
    scaled = scaled - scaled.mean(axis=0)
    norm = np.sqrt((scaled**2).sum(axis=0))
    alive = norm > ROUNDING * np.sqrt(len(values))
    return np.where(alive, scaled / np.where(alive, norm, 1.0), 0.0)
