"""Training and test rows, and the regressions of predictive scores."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_real
from geodis.scores.inputs import of_order_one

TRAIN_SHARE = 0.75


@dataclass(frozen=True)
class HeldOut:
    """Indices of the training and the test rows, both in random order."""

    train: np.ndarray
    test: np.ndarray

    def at_most(self, max_rows: int | None, *, test: bool = False) -> tuple[HeldOut, str]:
        """Limit the training rows, and the test rows if `test`; return a note as well."""
        if max_rows is None or len(self.train) <= check_int(max_rows, "max_rows", low=1):
            return self, ""
        note = f"learnt from {max_rows} of {len(self.train)} training rows (max_rows)"
        return HeldOut(self.train[:max_rows], self.test[:max_rows] if test else self.test), note


def split_rows(n: int, train_share: float, shuffle: bool, rng: np.random.Generator) -> HeldOut:
    """Split n rows into ceil(train_share n) training rows and at least one test row.

    The rows of a grid are sorted by their factors: without shuffling, the test rows would have
    values of the first factor that no training row has.

    Examples
    --------
    >>> split_rows(5, 0.75, False, np.random.default_rng(0))
    HeldOut(train=array([0, 1, 2, 3]), test=array([4]))
    """
    share = check_real(train_share, "train_share", low=0.0, high=1.0)
    if not 0 < share < 1:
        raise InputError(f"train_share must lie strictly between 0 and 1; got {train_share}.")
    n_train = min(max(math.ceil(share * n), 1), n - 1)
    order = rng.permutation(n) if shuffle else np.arange(n)
    return HeldOut(order[:n_train], order[n_train:])


def standardise(latents: np.ndarray, split: HeldOut) -> tuple[np.ndarray, np.ndarray]:
    """Standardise training and test rows by the mean and deviation of the training rows.

    Latents that are constant in the training rows become zero.

    Examples
    --------
    >>> split = HeldOut(np.array([0, 1]), np.array([2]))
    >>> standardise(np.array([[0.0, 1.0], [2.0, 1.0], [3.0, 5.0]]), split)[1]
    array([[2., 0.]])
    """
    latents = of_order_one(latents)
    train, test = latents[split.train], latents[split.test]
    constant = train.max(axis=0) == train.min(axis=0)
    mean, scale = train.mean(axis=0), np.where(constant, 1.0, train.std(axis=0))
    alive = (~constant).astype(float)
    return (train - mean) / scale * alive, (test - mean) / scale * alive


def fit_logistic(latents: np.ndarray, codes: np.ndarray, **options: Any) -> tuple[Any, bool]:
    """Fit scikit-learn's logistic regression, and return whether it converged.

    By default it stops at a gradient of 1e-4 or after 100 steps. Iterating to the optimum changed
    areas under ROC curves by up to 1.3e-4, away from published values, and took longer.

    Parameters
    ----------
    **options
        Of `LogisticRegression`.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(latents, codes)
    return model, bool(np.max(model.n_iter_) < model.max_iter)


# Ridge regression of several columns.

# Penalties per row for standardised columns, from negligible to dominant.
PENALTIES = np.logspace(-8, 1, 10)
# The null level in standard deviations (see `held_out_r2`): the product of two standard normal
# variables exceeds x with a probability of about exp(-x) / sqrt(2 pi x), 6e-6 for ten.
NULL_MARGIN = 10.0
# Landmarks of kernel ridge regression, sufficient for smooth functions of a few variables.
LANDMARKS = 150


def ridge_predict(
    train: np.ndarray, targets: np.ndarray, test: np.ndarray
) -> tuple[np.ndarray, float]:
    """Predict columns by ridge regression with generalised cross-validation.

    ``argmin_B ||Y - X B||^2 + n a ||B||^2``; the penalty a, the same for all columns, minimises
    ``||Y - H Y||^2 / (1 - tr H / n)^2`` (Golub, Heath and Wahba 1979, eq. 1.4).

    Parameters
    ----------
    train : ndarray of shape (n, p)
    targets : ndarray of shape (n, c)
    test : ndarray of shape (t, p)

    Returns
    -------
    predicted : ndarray of shape (t, c)
    freedom : float
        Effective degrees of freedom, ``tr H``.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 9)[:, None]
    >>> ridge_predict(x, 3 * x + 1, np.array([[2.0]]))[0].round(4)
    array([[7.]])
    """
    n = len(train)
    mean, level = train.mean(axis=0), targets.mean(axis=0)
    x, y = train - mean, targets - level
    squares, basis = np.linalg.eigh(x.T @ x)
    squares = np.maximum(squares, 0.0)
    along = basis.T @ (x.T @ y)
    kept = squares > 1e-12 * max(squares[-1], 1e-300)
    squares, basis, along = squares[kept], basis[:, kept], along[kept]
    if not len(squares):
        return np.repeat(level[None], len(test), axis=0), 0.0
    shrunk = squares / (squares + n * PENALTIES[:, None])  # (penalties, p)
    energy = (along**2).sum(axis=1) / squares  # sum of squares explained by each direction
    left = (y**2).sum() - energy.sum() + ((1 - shrunk) ** 2) @ energy
    spare = np.maximum(1 - (shrunk.sum(axis=1) + 1) / n, 1e-3)
    best = int(np.argmin(np.maximum(left, 0.0) / spare**2))
    weights = basis @ ((shrunk[best] / squares)[:, None] * along)
    return (test - mean) @ weights + level, float(shrunk[best].sum())


def held_out_r2(
    train: np.ndarray, targets: np.ndarray, test: np.ndarray, wanted: np.ndarray
) -> tuple[float, float]:
    """Return the held-out R^2 of ridge regression, and its level under the null hypothesis.

    ``R = 1 - sum |y - f|^2 / sum |y - m|^2``, at least zero; m is the mean of the training rows.
    For inputs without information, n training rows and p degrees of freedom, the variance of the
    predictions is ``p / n`` of that of y, and over t test rows the standard deviation of R is about
    ``2 sqrt(p / nt)``. The null level is ten times that.
    """
    total = ((wanted - targets.mean(axis=0)) ** 2).sum()
    if total <= 0:
        return 0.0, 1.0
    predicted, freedom = ridge_predict(train, targets, test)
    level = NULL_MARGIN * 2 * np.sqrt(max(freedom, 1.0) / (len(train) * len(test)))
    return float(max(1 - ((wanted - predicted) ** 2).sum() / total, 0.0)), float(min(level, 1.0))


def kernel_features(block: np.ndarray, split: HeldOut) -> np.ndarray:
    """Compute features for kernel ridge regression with landmarks (Williams and Seeger 2001).

    The features are the block itself and Gaussian kernels at training rows, with the median
    distance as bandwidth.

    Parameters
    ----------
    block : ndarray of shape (n, r)
    split : HeldOut
        The first training rows, which are in random order, are the landmarks.

    Returns
    -------
    ndarray of shape (n, r + landmarks)
    """
    spread = block[split.train].std(axis=0)
    scaled = block / np.where(spread > 0, spread, 1.0)
    centres = np.unique(scaled[split.train[:LANDMARKS]], axis=0)
    squares = _squared_distances(scaled, centres)
    width = np.median(squares[split.train[:LANDMARKS]])
    return np.column_stack([scaled, np.exp(-squares / (width if width > 0 else 1.0))])


def _squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    return np.maximum(squares, 0.0)
