"""Scores of an importance matrix.

Rows are latents and columns are factors. Entries are non-negative: mutual information, feature
importances of a classifier, accuracies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_finite, check_numeric, to_numpy

# Added to every entry before entropies, as in published code: keeps the logarithm of a zero finite,
# and makes the shares of a row of zeros equal.
TINY = 1e-11


@dataclass(frozen=True)
class MatrixScore:
    """A score of an importance matrix.

    Attributes
    ----------
    value : float
    parts : ndarray
        The score of every latent (z,), or of every factor (f,).
    """

    value: float
    parts: np.ndarray

    def __float__(self) -> float:
        return self.value


def disentanglement_of(matrix: Any) -> MatrixScore:
    """Disentanglement of an importance matrix (Eastwood and Williams 2018, section 2).

    ``D_i = 1 - H_f(P_i)`` with P_i the i-th row divided by its sum and entropy to the base f, the
    number of factors. It is high if every latent is important for one factor only. The value is
    the mean of D weighted by the row sums. With a single factor, D_i = 1 for every non-zero row.

    Parameters
    ----------
    matrix : array-like of shape (z, f)

    Returns
    -------
    MatrixScore
        `parts` has one entry per latent, zero where its row is zero.

    Examples
    --------
    >>> disentanglement_of([[1, 0], [0, 2], [1, 1], [0, 0]]).parts.round(6)
    array([1., 1., 0., 0.])
    """
    return _one_minus_entropy(_check_matrix(matrix))


def completeness_of(matrix: Any) -> MatrixScore:
    """Completeness of an importance matrix (Eastwood and Williams 2018, section 2).

    ``C_j = 1 - H_z(P_j)`` with P_j the j-th column divided by its sum and entropy to the base z,
    the number of latents. It is high if a single latent is important for every factor. The value
    is the mean of C weighted by the column sums.

    Parameters
    ----------
    matrix : array-like of shape (z, f)

    Returns
    -------
    MatrixScore
        `parts` has one entry per factor, zero where its column is zero.

    Examples
    --------
    >>> float(completeness_of([[1, 0], [0, 1], [0, 1]])).__round__(3)
    0.579
    """
    return _one_minus_entropy(_check_matrix(matrix).T)


def _one_minus_entropy(matrix: np.ndarray) -> MatrixScore:
    rows, base = matrix.shape
    sums = matrix.sum(axis=1)
    if base == 1:  # a logarithm to the base one is undefined
        parts = (sums > 0).astype(float)
    else:
        share = matrix + TINY
        share /= share.sum(axis=1, keepdims=True)
        parts = np.clip(1 + (share * np.log(share)).sum(axis=1) / np.log(base), 0.0, 1.0)
    weights = sums / sums.sum() if sums.sum() > 0 else np.full(rows, 1 / rows)
    return MatrixScore(float(weights @ parts), parts)


def modularity_of(matrix: Any) -> MatrixScore:
    """Modularity of an importance matrix (Ridgeway and Mozer 2018, section 3).

    ``1 - sum_j (m_ij^2 - t_ij^2) / (t_i^2 (f - 1))`` for every latent i, where t_i is its largest
    entry and t_ij is t_i at that place and zero elsewhere; zero for a row of zeros. It is high if
    every latent is important for one factor only. The value is the unweighted mean over latents.
    With a single factor, every non-zero row scores one.

    Parameters
    ----------
    matrix : array-like of shape (z, f)

    Returns
    -------
    MatrixScore
        `parts` has one entry per latent.

    Examples
    --------
    >>> modularity_of([[1, 0], [1, 1], [0, 0]]).parts
    array([1., 0., 0.])
    """
    matrix = _check_matrix(matrix)
    largest = matrix.max(axis=1)
    others = np.maximum(matrix.shape[1] - 1, 1)
    # Divide before squaring: squares of tiny entries would underflow.
    share = matrix / np.where(largest > 0, largest, 1.0)[:, None]
    rest = np.maximum((share**2).sum(axis=1) - 1, 0.0)
    parts = np.where(largest > 0, 1 - rest / others, 0.0)
    return MatrixScore(float(parts.mean()), parts)


def gap_of(matrix: Any) -> MatrixScore:
    """Gap between the two most important latents of every factor.

    ``1/f sum_j (m_aj - m_bj)`` with a and b the latents of the largest and second largest entry in
    column j. With a single latent, the second is zero.

    Parameters
    ----------
    matrix : array-like of shape (z, f)

    Returns
    -------
    MatrixScore
        `parts` has one entry per factor.

    Examples
    --------
    >>> gap_of([[0.75, 0.0], [0.25, 0.5]]).parts
    array([0.5, 0.5])
    """
    parts = top_gap(_check_matrix(matrix))
    return MatrixScore(float(parts.mean()), parts)


def top_gap(matrix: np.ndarray) -> np.ndarray:
    """Return the largest minus the second largest entry of every column."""
    if len(matrix) == 1:
        return matrix[0].copy()
    ordered = np.partition(matrix, -2, axis=0)
    return ordered[-1] - ordered[-2]


def compactness_of(matrix: Any) -> MatrixScore:
    """Compactness of an importance matrix, as in InfoMEC.

    ``(max_i m_ij / sum_i m_ij - 1/z) / (1 - 1/z)`` for every factor j, with z latents: the share of
    the most important latent. It is zero for a column of zeros, and one for a single latent.

    Parameters
    ----------
    matrix : array-like of shape (z, f)

    Returns
    -------
    MatrixScore
        `parts` has one entry per factor.

    Examples
    --------
    >>> compactness_of([[1, 1], [0, 1]]).parts
    array([1., 0.])
    """
    matrix = _check_matrix(matrix)
    z = len(matrix)
    total = matrix.sum(axis=0)
    share = matrix.max(axis=0) / np.where(total > 0, total, 1.0)
    parts = (share * z - 1) / (z - 1) if z > 1 else np.ones(matrix.shape[1])
    parts = np.where(total > 0, np.clip(parts, 0.0, 1.0), 0.0)
    return MatrixScore(float(parts.mean()), parts)


def _check_matrix(matrix: Any) -> np.ndarray:
    array = check_numeric(to_numpy(matrix, "matrix"), "matrix").astype(float)
    if array.ndim != 2 or not array.size:
        raise InputError(f"matrix must have shape (z, f), neither zero; got shape {array.shape}.")
    if (check_finite(array, "matrix") < 0).any():
        raise InputError(f"matrix must have no negative entry; got {array.min():g}.")
    return array
