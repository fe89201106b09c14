"""Ridge regression on rows that are held out, of many columns at once."""

from __future__ import annotations

import numpy as np

from geodis.scores.prediction.held_out import HeldOut

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
