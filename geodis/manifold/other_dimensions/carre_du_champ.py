"""Points and neighbours -> dimension from the spectrum of the carré du champ of the coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.manifold.local.neighbors import Neighbors

# The width of the kernel at a point is the distance to this neighbour.
WIDTH_NEIGHBOR = 8
# Numbers in a block of displacements: 32 MB.
BLOCK_NUMBERS = 2**22


@dataclass(frozen=True)
class VotedDimension:
    """A dimension that every point votes for.

    Attributes
    ----------
    dim : int
    share : float
        Of the points that say so.
    """

    dim: int
    share: float


def carre_du_champ_dimension(points: np.ndarray, near: Neighbors) -> VotedDimension:
    r"""Dimension from the largest gap of the carré du champ, point by point.

    For a diffusion with generator L, Gamma(f, g) = (L(f g) - f L g - g L f) / 2 is the product of
    gradients, so that Gamma of the coordinates projects onto the tangent space. With the kernel
    w_ij = exp(-|x_i - x_j|^2 / (s_i s_j)), s the distance to the eighth neighbour, it is the
    covariance of the neighbours (Jones 2024)::

        Gamma_i ~ sum_j w_ij (x_j - m_i) (x_j - m_i)^T / sum_j w_ij,   m_i = mean of w_ij x_j

    A point votes for the k after which its eigenvalues fall most.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    near : Neighbors
        Some thirty of every point.

    Returns
    -------
    VotedDimension

    Examples
    --------
    >>> from geodis import nearest_neighbors, product_manifold
    >>> rows = product_manifold("S^2", 1000, random_state=0).points
    >>> carre_du_champ_dimension(rows, nearest_neighbors(rows, 32)).dim
    2
    """
    n, d = points.shape
    width = near.distances[:, min(WIDTH_NEIGHBOR, near.distances.shape[1]) - 1]
    votes = np.zeros(d + 1, int)
    size = max(1, BLOCK_NUMBERS // (near.indices.shape[1] * d))
    for start in range(0, n, size):
        rows = slice(start, start + size)
        around = near.indices[rows]
        scale = width[rows, None] * width[around]
        # The point itself, at distance zero, has weight one and moves the mean alone.
        weights = np.exp(-(near.distances[rows] ** 2) / np.maximum(scale, np.finfo(float).tiny))
        away = points[around] - points[rows, None]
        total = 1 + weights.sum(axis=1)
        mean = np.einsum("nc,ncd->nd", weights, away) / total[:, None]
        second = np.einsum("nc,ncd,nce->nde", weights, away, away, optimize=True)
        gamma = second / total[:, None, None] - mean[:, :, None] * mean[:, None]
        values = np.linalg.eigvalsh(gamma)[:, ::-1]
        falls = values - np.pad(values[:, 1:], ((0, 0), (0, 1)))
        votes += np.bincount(falls.argmax(axis=1) + 1, minlength=d + 1)
    dim = int(votes.argmax())
    return VotedDimension(dim, float(votes[dim] / n))
