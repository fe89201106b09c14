"""Neighbourhoods -> weighted quadratic fits in batched products, one step after another.

What `curved_fits` does in one go for small fits: here in the form of the equations, and fast where
fits have many terms or columns.
"""

from __future__ import annotations

import numpy as np

from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.curved_fits import RIDGE

# Of so many times as many columns as neighbours the products of the neighbours are diagonalised.
WIDE = 1.5


def gaussian_weights(distances: np.ndarray) -> np.ndarray:
    """exp(-2 d^2 / d_max^2), shape (b, nt)."""
    return np.exp(-2.0 * (distances / distances[:, -1:]) ** 2)


def principal_frame(displacements: np.ndarray, weights: np.ndarray | None, dim: int) -> np.ndarray:
    """Leading principal directions of each neighbourhood, shape (b, k, d).

    Weighted and centred; as published, neither, without weights.
    """
    if displacements.shape[2] > WIDE * displacements.shape[1]:
        return _principal_frame_of_few(displacements, weights, dim)
    if weights is not None:
        share = (weights / weights.sum(axis=1, keepdims=True))[..., None]
        weighted = share * displacements
        mean = weighted.sum(axis=1, keepdims=True)
        covariance = np.swapaxes(weighted, 1, 2) @ (displacements - mean)
    else:
        covariance = np.swapaxes(displacements, 1, 2) @ displacements
    directions = np.linalg.eigh(covariance)[1]
    return np.swapaxes(directions[..., : -dim - 1 : -1], 1, 2)


def _principal_frame_of_few(
    displacements: np.ndarray, weights: np.ndarray | None, dim: int
) -> np.ndarray:
    """The same from fewer neighbours than columns: their products have the same eigenvalues."""
    if weights is not None:
        share = (weights / weights.sum(axis=1, keepdims=True))[..., None]
        mean = (share * displacements).sum(axis=1, keepdims=True)
        displacements = np.sqrt(share) * (displacements - mean)
    gram = displacements @ np.swapaxes(displacements, 1, 2)
    leading = np.linalg.eigh(gram)[1][..., : -dim - 1 : -1]
    return polar_rows(np.swapaxes(leading, 1, 2) @ displacements)


def quadratic_fit(
    displacements: np.ndarray,
    weights: np.ndarray,
    frame: np.ndarray,
    pairs: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted least squares of the displacements on [1, t, t_a t_b] at each point of a block.

    Returns the new frames (b, k, d) and the root mean square misfit (b,).
    """
    b, count, _ = displacements.shape
    dim = frame.shape[1]
    coordinates = frame @ np.swapaxes(displacements, 1, 2)  # (b, k, nt)
    # In units of the neighbourhood's radius all terms are of order one: a sound system.
    radius = np.sqrt((coordinates**2).sum(axis=1).max(axis=1))
    coordinates /= np.maximum(radius, np.finfo(float).tiny)[:, None, None]
    root = np.sqrt(weights)[:, None]  # (b, 1, nt)
    design = np.empty((b, 1 + dim + len(pairs[0]), count))  # one row a term
    design[:, :1] = root
    linear = design[:, 1 : 1 + dim]
    np.multiply(coordinates, root, out=linear)
    for term, (first, second) in enumerate(zip(*pairs, strict=True), start=1 + dim):
        np.multiply(linear[:, first], coordinates[:, second], out=design[:, term])
    target = displacements * np.swapaxes(root, 1, 2)
    transposed = np.swapaxes(design, 1, 2)
    normal = design @ transposed
    # Neighbours on a grid may not determine every term: a trace of ridge keeps the rest sound.
    diagonal = np.arange(normal.shape[1])
    normal[:, diagonal, diagonal] += RIDGE * normal[:, diagonal, diagonal].mean(axis=1)[:, None]
    coefficients = np.linalg.solve(normal, design @ target)  # (b, p, d)
    target -= transposed @ coefficients
    # Each fitted term takes up one neighbour's worth of misfit.
    freedom = max(1.0 - design.shape[1] / count, 1.0 / count)
    squared = np.einsum("bnd,bnd->b", target, target)
    residual = np.sqrt(squared / (weights.sum(axis=1) * freedom))
    return polar_rows(coefficients[:, 1 : 1 + dim]), residual
