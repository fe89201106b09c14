"""A map of few points -> coordinates of any others near them."""

from __future__ import annotations

import numpy as np

from geodis.base.jobs import blocks
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.exact_search import Search
from geodis.manifold.maps.edge_steps import steps_within
from geodis.manifold.maps.rigid_map import chords_of

NEAREST = 8
BLOCK = 8192


def extended(
    places: np.ndarray,
    axes: np.ndarray,
    coordinates: np.ndarray,
    frames: np.ndarray,
    search: Search,
    targets: np.ndarray,
    target_axes: np.ndarray,
    *,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of points between those of a map: those of the nearest, and a step from each.

    ``y = sum_c w_c (y_c + t_c)`` with ``w_c ~ 1 / |x - x_c|^2`` and t_c the chord of the step
    from c to the point, as in `refine_map`; a point of the map keeps its place.

    Parameters
    ----------
    places : ndarray of shape (c, d)
        Of the points that the map is made of.
    axes : ndarray of shape (c, k_j, d)
    coordinates : ndarray of shape (c, r)
    frames : ndarray of shape (c, r, k_j)
    search : callable
        Finds the nearest of the places.
    targets : ndarray of shape (p, d)
    target_axes : ndarray of shape (p, k_j, d)
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    coordinates : ndarray of shape (p, r)
    frames : ndarray of shape (p, r, k_j)
    """
    p, r, k = len(targets), coordinates.shape[1], axes.shape[1]
    told, told_frames = np.empty((p, r)), np.empty((p, r, k))
    count = min(NEAREST, len(places))
    for rows in blocks(p, BLOCK):
        indices, distances = search(targets[rows], count)
        b = len(indices)
        squared = distances**2
        # Where a point is one of the map's its own weight is all there is.
        weights = 1 / np.maximum(squared, 1e-18 * (squared[:, -1:] + np.finfo(float).tiny))
        weights /= weights.sum(axis=1, keepdims=True)
        known, target = indices.ravel(), np.repeat(np.arange(b), count)
        steps = steps_within(
            places,
            axes,
            known,
            target,
            to_points=targets[rows],
            to_axes=target_axes[rows],
            n_jobs=n_jobs,
        )
        carried = frames[known] @ (axes[known] @ np.swapaxes(target_axes[rows], 1, 2)[target])
        mean = np.einsum("bc,bcrk->brk", weights, carried.reshape(b, count, r, k))
        own_frames = np.swapaxes(polar_rows(np.swapaxes(mean, 1, 2)), 1, 2)
        chords = chords_of(frames[known], own_frames[target], steps.out, steps.back)
        ends = (coordinates[known] + chords).reshape(b, count, r)
        told[rows] = np.einsum("bc,bcr->br", weights, ends)
        told_frames[rows] = own_frames
    return told, told_frames
