"""Mutual information between columns, from counts."""

from __future__ import annotations

import numpy as np

from geodis.base.compiled import njit


def discrete_information(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Mutual information in nats between the columns of two arrays of codes.

    ``I_jk = sum_uv p_jk(u, v) log(p_jk(u, v) / (p_j(u) p_k(v)))`` with p the shares of rows.

    Parameters
    ----------
    a : ndarray of int, shape (n, z)
        Codes from 0.
    b : ndarray of int, shape (n, f)

    Returns
    -------
    ndarray of shape (z, f)
        Never negative, and exactly zero where a column is constant.

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> discrete_information(codes, codes).round(3)
    array([[0.693, 0.   ],
           [0.   , 0.693]])
    """
    return _count(a, b)[0]


def corrected_information(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mutual information and entropy of the second columns, with Miller's (1955) correction.

    Counts of n rows in m used cells underestimate an entropy by ``(m - 1) / 2n`` to first order,
    and ``I = H_j + H_k - H_jk``. Information that chance alone would show is taken off, while
    columns that determine each other keep exactly as much information as entropy.

    Returns
    -------
    information : ndarray of shape (z, f)
    entropy : ndarray of shape (f,)

    Examples
    --------
    >>> codes = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 5, axis=0)
    >>> information, entropies = corrected_information(codes, codes)
    >>> (information / entropies).round(3)
    array([[1., 0.],
           [0., 1.]])
    """
    information, cells = _count(a, b)
    used_a = np.array([np.count_nonzero(np.bincount(column)) for column in a.T])
    used_b = np.array([np.count_nonzero(np.bincount(column)) for column in b.T])
    n = len(a)
    excess = (cells - used_a[:, None] - used_b + 1) / (2 * n)
    return np.maximum(information - excess, 0.0), entropy(b) + (used_b - 1) / (2 * n)


def _count(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Information and the number of used cells, both (z, f)."""
    a = np.ascontiguousarray(a.T, np.int32)
    b = np.ascontiguousarray(b.T, np.int32)
    return _discrete_information(a, b, a.max(axis=1) + 1, b.max(axis=1) + 1)


@njit(cache=True, nogil=True)
def _discrete_information(
    a: np.ndarray, b: np.ndarray, a_sizes: np.ndarray, b_sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    z, n = a.shape
    information = np.zeros((z, len(b)))
    cells = np.zeros((z, len(b)), np.int64)
    wide, high = a_sizes.max(), b_sizes.max()
    together = np.empty((wide, high), np.int64)
    of_a, of_b = np.empty(wide, np.int64), np.empty(high, np.int64)
    for j in range(z):
        for k in range(len(b)):
            for u in range(wide):
                of_a[u] = 0
                for v in range(high):
                    of_b[v] = 0
                    together[u, v] = 0
            for i in range(n):
                together[a[j, i], b[k, i]] += 1
            for u in range(wide):
                for v in range(high):
                    of_a[u] += together[u, v]
                    of_b[v] += together[u, v]
            total = 0.0
            for u in range(wide):
                for v in range(high):
                    count = together[u, v]
                    if count:  # whole numbers: their ratio is exactly one where a is constant
                        ratio = (count * float(n)) / (of_a[u] * float(of_b[v]))
                        total += count * np.log(ratio)
                        cells[j, k] += 1
            information[j, k] = max(total / n, 0.0)
    return information, cells


def entropy(codes: np.ndarray) -> np.ndarray:
    """Entropy in nats of every column of codes, shape (f,).

    Examples
    --------
    >>> entropy(np.array([[0, 0], [1, 0]])).round(3)
    array([0.693, 0.   ])
    """
    entropies = np.empty(codes.shape[1])
    for j, column in enumerate(codes.T):
        share = np.bincount(column) / len(column)
        share = share[share > 0]
        entropies[j] = -(share * np.log(share)).sum()
    return np.abs(entropies)  # no negative zero
