"""Lengths of edges within a factor -> a first map: shortest paths and landmark scaling."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from geodis.manifold.flat.differences import Edges

LANDMARKS = 150
# Edges that do not move in the factor are free, but not absent from a sparse matrix: a share of
# the mean length.
FREE = 1e-9


def landmark_scaling(
    lengths: np.ndarray, edges: Edges, *, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates whose distances are those along edges, by classical scaling of few points.

    Moving in the other factors costs nothing, so that shortest paths have all points near the
    geodesic to go over. Landmarks are farthest points; classical scaling of their squared
    distances, ``B = -H D^2 H / 2``, gives theirs coordinates, and all others theirs by distances
    to the landmarks.

    Parameters
    ----------
    lengths : ndarray of shape (e,)
        Of the edges, within one factor.
    edges : Edges
        Connected.
    most : int
        Number of coordinates.

    Returns
    -------
    coordinates : ndarray of shape (c, q)
        With positive eigenvalues only, at most `most` of them.
    eigenvalues : ndarray of shape (q,)
        Decreasing.

    Examples
    --------
    >>> path = Edges(np.array([0, 1, 2]), np.array([1, 2, 3]), 4)
    >>> coordinates, _ = landmark_scaling(np.array([1.0, 2.0, 1.0]), path, most=1)
    >>> np.abs(np.diff(coordinates.ravel())).round(9).tolist()
    [1.0, 2.0, 1.0]
    """
    weights = edges.symmetric(np.maximum(lengths, FREE * lengths.mean()))
    landmarks, distances = _farthest(weights, min(LANDMARKS, edges.n))
    squared = distances**2
    own = squared[:, landmarks]
    own = (own + own.T) / 2
    mean = own.mean(axis=0)
    centred = -(own - mean[:, None] - mean + own.mean()) / 2
    values, vectors = np.linalg.eigh(centred)
    kept = np.flatnonzero(values[::-1][:most] > 1e-9 * values[-1])
    values, vectors = values[::-1][kept], vectors[:, ::-1][:, kept]
    return -((squared - mean[:, None]).T @ vectors) / (2 * np.sqrt(values)), values


def _farthest(weights: sparse.csr_array, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Farthest-point sampling: points far from one another, and the distances (count, c) there."""
    chosen = [int(np.random.default_rng(0).integers(weights.shape[0]))]
    distances = np.empty((count, weights.shape[0]))
    least = np.full(weights.shape[0], np.inf)
    for s in range(count):
        distances[s] = dijkstra(weights, indices=chosen[s])
        least = np.minimum(least, distances[s])
        chosen.append(int(least.argmax()))
    return np.array(chosen[:count]), distances
