"""How much of points their places on all maps tell, by local regression of the fitted ones."""

from __future__ import annotations

import numpy as np

from geodis.manifold.walks.local_regression import quadratic_count, regression_weights

BLOCK = 2000  # places at a time: their offsets stay small


def told_by_places(
    own: np.ndarray, fitted: np.ndarray, places: np.ndarray, points: np.ndarray
) -> float:
    """R^2 of points whose places are given, from places and points that were fitted.

    Parameters
    ----------
    own, fitted : ndarray of shape (n, r), (n, d)
    places, points : ndarray of shape (p, r), (p, d)
        Places that are NaN tell nothing.

    Examples
    --------
    >>> own = np.random.default_rng(0).uniform(size=(500, 2))
    >>> bent = lambda y: np.column_stack([y, y[:, 0] ** 2])
    >>> new = np.random.default_rng(1).uniform(size=(50, 2))
    >>> round(told_by_places(own, bent(own), new, bent(new)), 9)
    1.0
    """
    from scipy.spatial import KDTree

    known = np.isfinite(own).all(axis=1)
    own, fitted = own[known], fitted[known]
    mean = fitted.mean(axis=0)
    guessed = np.tile(mean, (len(points), 1))
    inside = np.flatnonzero(np.isfinite(places).all(axis=1))
    count = min(quadratic_count(own.shape[1]), len(own))
    tree = KDTree(own)
    for rows in np.array_split(inside, -(-len(inside) // BLOCK) or 1):
        if len(rows):
            near = tree.query(places[rows], k=count)[1].reshape(len(rows), count)
            value = regression_weights(own[near] - places[rows, None])[:, 0]  # (p, c)
            guessed[rows] = (value[:, None] @ fitted[near])[:, 0]
    whole = ((points - mean) ** 2).sum()
    return float(1 - ((points - guessed) ** 2).sum() / max(whole, np.finfo(float).tiny))
