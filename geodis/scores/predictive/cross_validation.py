"""Training and held-out rows, standardised latents, and logistic regression on them."""

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
    """Indices of the rows to learn from and of the rows to be judged by, both in random order."""

    train: np.ndarray
    test: np.ndarray

    def at_most(self, max_rows: int | None, *, test: bool = False) -> tuple[HeldOut, str]:
        """Only so many rows to learn from, and to be judged by if asked for; and a note of it."""
        if max_rows is None or len(self.train) <= check_int(max_rows, "max_rows", low=1):
            return self, ""
        note = f"learnt from {max_rows} of {len(self.train)} training rows (max_rows)"
        return HeldOut(self.train[:max_rows], self.test[:max_rows] if test else self.test), note


def split_rows(n: int, train_share: float, shuffle: bool, rng: np.random.Generator) -> HeldOut:
    """Give ceil(train_share n) rows to learn from, and at least one to be judged by.

    Rows of a grid come in the order of their factors: without shuffling, the last rows would hold
    values of the first factor that no earlier row has.

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
    """Training and held-out rows by the mean and deviation of the training rows.

    A latent that is constant among them would be divided by zero; it becomes zero everywhere.

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


def fit_unpenalised(latents: np.ndarray, codes: np.ndarray) -> Any:
    """Logistic regression without a penalty, classes weighted alike, 100 steps at most."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=np.inf, class_weight="balanced")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(latents, codes)
    return model


# Ridge regression on rows that are held out, of many columns at once.

# Penalties per row, on standardised columns: from none to one that leaves hardly anything.
PENALTIES = np.logspace(-8, 1, 10)
# What chance gives lies below as many standard deviations (see `held_out_r2`): the product of two
# normal numbers passes x with a probability of about exp(-x) / sqrt(2 pi x), 6e-6 for ten.
NULL_MARGIN = 10.0
# Rows that stand for all in kernel ridge: of a smooth function of a few numbers, more add nothing.
LANDMARKS = 150


def ridge_predict(
    train: np.ndarray, targets: np.ndarray, test: np.ndarray
) -> tuple[np.ndarray, float]:
    """Predict columns by ridge regression, the penalty chosen by generalised cross-validation.

    ``argmin_B ||Y - X B||^2 + n a ||B||^2``; a minimises ``||Y - H Y||^2 / (1 - tr H / n)^2``
    (Golub, Heath and Wahba 1979, eq. 1.4), one for all columns.

    Parameters
    ----------
    train : ndarray of shape (n, p)
    targets : ndarray of shape (n, c)
    test : ndarray of shape (t, p)

    Returns
    -------
    predicted : ndarray of shape (t, c)
    freedom : float
        Degrees of freedom that were used, ``tr H``.

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
    energy = (along**2).sum(axis=1) / squares  # what every direction explains
    left = (y**2).sum() - energy.sum() + ((1 - shrunk) ** 2) @ energy
    spare = np.maximum(1 - (shrunk.sum(axis=1) + 1) / n, 1e-3)
    best = int(np.argmin(np.maximum(left, 0.0) / spare**2))
    weights = basis @ ((shrunk[best] / squares)[:, None] * along)
    return (test - mean) @ weights + level, float(shrunk[best].sum())


def held_out_r2(
    train: np.ndarray, targets: np.ndarray, test: np.ndarray, wanted: np.ndarray
) -> tuple[float, float]:
    """Share of the variance of a block that is predicted, and what chance may give.

    ``R = 1 - sum |y - f|^2 / sum |y - m|^2``, at least zero; m is the mean of the rows learnt from.
    Where inputs say nothing, n rows and p degrees of freedom give weights whose predictions vary
    by ``p / n`` of y, and over t held-out rows their products with y scatter by ``2 sqrt(p / nt)``:
    ten times that is the level of chance.
    """
    total = ((wanted - targets.mean(axis=0)) ** 2).sum()
    if total <= 0:
        return 0.0, 1.0
    predicted, freedom = ridge_predict(train, targets, test)
    level = NULL_MARGIN * 2 * np.sqrt(max(freedom, 1.0) / (len(train) * len(test)))
    return float(max(1 - ((wanted - predicted) ** 2).sum() / total, 0.0)), float(min(level, 1.0))


def kernel_features(block: np.ndarray, split: HeldOut) -> np.ndarray:
    """Columns whose linear functions are smooth functions of a block of numbers.

    Values of Gaussian bumps at rows to learn from, of the width of their median distance
    (kernel ridge regression with landmarks, Williams and Seeger 2001), and the block itself.

    Parameters
    ----------
    block : ndarray of shape (n, r)
    split : HeldOut
        The first rows to learn from are landmarks: their order is random.

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
