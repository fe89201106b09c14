"""Variance explained by the coordinates on all maps, and their export to AnnData objects."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from geodis.base.check import GeodisWarning, InputError
from geodis.manifold.fitted import Fit
from geodis.manifold.local.curved_fit_ratio import quadratic_count, regression_weights
from geodis.manifold.maps.maps_of_fit import coordinates_at, feature_names, maps_of, topologies_of

BLOCK = 2000  # number of places in a block


def explained_variance(fit: Fit, points: np.ndarray) -> float:
    """Compute the R^2 of points (p, d) predicted from their coordinates; 0 without maps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GeodisWarning)  # points without coordinates lower R^2
        places = coordinates_at(fit, points)
    if fit.made("maps") is None:
        return 0.0
    own = np.hstack([one.coordinates for one in maps_of(fit)])
    return r2_of_coordinates(own, fit.points, places, points)


def r2_of_coordinates(
    own: np.ndarray, fitted: np.ndarray, places: np.ndarray, points: np.ndarray
) -> float:
    """Compute the R^2 of a local regression of points on their coordinates.

    Parameters
    ----------
    own, fitted : ndarray of shape (n, r), (n, d)
    places, points : ndarray of shape (p, r), (p, d)
        Points whose coordinates are NaN are predicted by the mean.

    Examples
    --------
    >>> own = np.random.default_rng(0).uniform(size=(500, 2))
    >>> bent = lambda y: np.column_stack([y, y[:, 0] ** 2])
    >>> new = np.random.default_rng(1).uniform(size=(50, 2))
    >>> round(r2_of_coordinates(own, bent(own), new, bent(new)), 9)
    1.0
    """
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


def write_places(adata: Any, fit: Fit, places: np.ndarray, key: str) -> Any:
    """Write coordinates (n, r_0 + r_1 + ...) into `obsm`, and their description into `uns`."""
    if not (hasattr(adata, "obsm") and hasattr(adata, "uns") and hasattr(adata, "obs_names")):
        raise InputError(f"adata must be an AnnData object; got {type(adata).__name__}.")
    n = len(adata.obs_names)
    if len(places) != n:
        raise InputError(
            f"adata must have the {len(places):,} rows that were fitted, or X must be given; got "
            f"{n:,} rows."
        )
    adata.obsm[key] = places
    stops = np.cumsum([own.n_coordinates for own in maps_of(fit)])[:-1]
    for j, own in enumerate(np.split(places, stops, axis=1)):
        adata.obsm[f"{key}_factor{j}"] = own
    # AnnData files can store arrays of strings.
    adata.uns["geodis"] = {
        "names": np.array([topology.name for topology in topologies_of(fit)], dtype=str),
        "factor_dims": np.asarray(fit.factor_dims),
        "columns": np.array(feature_names(fit), dtype=str),
        "uncertain": fit.uncertain,
        "doubts": np.array(fit.all_doubts, dtype=str),
    }
    return adata
