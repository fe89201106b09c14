"""Symmetric k x k matrices <-> vectors that keep the Frobenius inner product."""

from __future__ import annotations

import numpy as np


def n_coordinates(k: int) -> int:
    """Coordinates of a symmetric k x k matrix: k (k + 1) / 2."""
    return k * (k + 1) // 2


def vec_symmetric(matrices: np.ndarray) -> np.ndarray:
    r"""Stack the lower triangle, off-diagonal entries times sqrt 2.

    The contract is ``vec(S) . vec(S') = trace(S S')``.

    Parameters
    ----------
    matrices : ndarray of shape (..., k, k)
        Symmetric; only the lower triangle is read.

    Returns
    -------
    ndarray of shape (..., k (k + 1) / 2)

    Examples
    --------
    >>> vec_symmetric(np.array([[1.0, 2.0], [2.0, 3.0]])).round(3)
    array([1.   , 2.828, 3.   ])
    """
    rows, columns = np.tril_indices(matrices.shape[-1])
    return matrices[..., rows, columns] * _weights(rows, columns).astype(matrices.dtype)


def unvec_symmetric(vectors: np.ndarray, k: int) -> np.ndarray:
    """Invert `vec_symmetric`: shape (..., k (k + 1) / 2) to (..., k, k).

    Examples
    --------
    >>> unvec_symmetric(vec_symmetric(np.eye(2)), 2)
    array([[1., 0.],
           [0., 1.]])
    """
    rows, columns = np.tril_indices(k)
    matrices = np.empty((*vectors.shape[:-1], k, k), vectors.dtype)
    entries = vectors / _weights(rows, columns).astype(vectors.dtype)
    matrices[..., rows, columns] = entries
    matrices[..., columns, rows] = entries
    return matrices


def symmetric_basis(k: int) -> np.ndarray:
    """The matrix Pi_sym of the paper: vec of a full matrix from symmetric coordinates.

    Returns
    -------
    ndarray of shape (k^2, k (k + 1) / 2)
        Orthonormal columns; ``(Pi @ vec_symmetric(S)).reshape(k, k) = S``.
    """
    return unvec_symmetric(np.eye(n_coordinates(k)), k).reshape(-1, k * k).T


def traceless_basis(k: int) -> np.ndarray:
    """The matrix Pi_tr of the paper: symmetric coordinates from traceless symmetric ones.

    Returns
    -------
    ndarray of shape (k (k + 1) / 2, k (k + 1) / 2 - 1)
        Orthonormal columns, each the coordinates of a matrix of trace zero.

    Examples
    --------
    >>> traceless_basis(2).T.round(3)  # an off-diagonal matrix, and diag(1, -1) / sqrt 2
    array([[ 0.   ,  1.   ,  0.   ],
           [ 0.707,  0.   , -0.707]])
    """
    rows, columns = np.tril_indices(k)
    diagonal = np.flatnonzero(rows == columns)
    off_diagonal = np.flatnonzero(rows != columns)
    basis = np.zeros((len(rows), len(rows) - 1))
    basis[off_diagonal, np.arange(len(off_diagonal))] = 1.0
    for j in range(1, k):  # Helmert contrasts: the first j entries against the next
        contrast = np.r_[np.ones(j), -j] / np.sqrt(j * (j + 1))
        basis[diagonal[: j + 1], len(off_diagonal) + j - 1] = contrast
    return basis


def _weights(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return np.where(rows == columns, 1.0, np.sqrt(2.0))
