"""The variance of points that their coordinates on all maps explain, by local regression."""

from __future__ import annotations

import warnings

import numpy as np

from geodis.base.check import GeodisWarning
from geodis.manifold.fitted import Fit
from geodis.manifold.maps.mapped_factors import coordinates_at, maps_of
from geodis.manifold.walks.local_regression import quadratic_count, regression_weights

BLOCK = 2000  # places at a time: their offsets stay small


def explained_variance(fit: Fit, points: np.ndarray) -> float:
    """R^2 of points (p, d), predicted from their coordinates on all maps; 0 without maps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GeodisWarning)  # points without places lower the score
        places = coordinates_at(fit, points)
    if fit.made("maps") is None:
        return 0.0
    own = np.hstack([one.coordinates for one in maps_of(fit)])
    return r2_of_coordinates(own, fit.points, places, points)


def r2_of_coordinates(
    own: np.ndarray, fitted: np.ndarray, places: np.ndarray, points: np.ndarray
) -> float:
    """R^2 of points whose coordinates are given, by local regression of the fitted ones.

    Parameters
    ----------
    own, fitted : ndarray of shape (n, r), (n, d)
    places, points : ndarray of shape (p, r), (p, d)
        Points whose places are NaN are predicted by the mean.

    Examples
    --------
    >>> own = np.random.default_rng(0).uniform(size=(500, 2))
    >>> bent = lambda y: np.column_stack([y, y[:, 0] ** 2])
    >>> new = np.random.default_rng(1).uniform(size=(50, 2))
    >>> round(r2_of_coordinates(own, bent(own), new, bent(new)), 9)
    1.0
    """
    from scipy.spatial import KDTree

    known = np.isfinite(own).all(axis=1)
    own, fitted = own[known], fitted[known]
    mean = fitted.mean(axis=0)
    predicted = np.tile(mean, (len(points), 1))
    inside = np.flatnonzero(np.isfinite(places).all(axis=1))
    count = min(quadratic_count(own.shape[1]), len(own))
    tree = KDTree(own)
    for rows in np.array_split(inside, -(-len(inside) // BLOCK) or 1):
        if len(rows):
            near = tree.query(places[rows], k=count)[1].reshape(len(rows), count)
            value = regression_weights(own[near] - places[rows, None])[:, 0]  # (p, c)
            predicted[rows] = (value[:, None] @ fitted[near])[:, 0]
    whole = ((points - mean) ** 2).sum()
    return float(1 - ((points - predicted) ** 2).sum() / max(whole, np.finfo(float).tiny))
