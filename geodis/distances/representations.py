"""Similarity of two representations of the same rows: CKA, Procrustes and RSA."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import (
    InputError,
    check_finite,
    check_int,
    check_numeric,
    check_random_state,
    to_numpy,
)
from geodis.distances.correlations import correlation

LEAST_ROWS = 4


def cka(a: Any, b: Any) -> float:
    r"""Unbiased linear centred kernel alignment of two representations.

    ``HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L))`` for ``K = A A^T`` and ``L = B B^T``, with the
    unbiased estimate of HSIC (Song et al. 2012, eq. 5; Kornblith et al. 2019, eqs. 3 and 4):
    diagonals are zero and

    ``HSIC = (tr K L + 1^T K 1 1^T L 1 / (n-1)(n-2) - 2 1^T K L 1 / (n-2)) / n (n-3)``.

    Parameters
    ----------
    a, b : array-like of shape (n, p), (n, q)
        Of the same n rows in the same order.

    Returns
    -------
    float
        1 for equal representations up to rotation and scale; on average 0 for unrelated ones.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = rng.standard_normal((200, 3))
    >>> turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    >>> round(cka(a, 5 * a @ turn), 6), abs(cka(a, rng.standard_normal((200, 3)))) < 0.05
    (1.0, True)
    """
    x, y = same_rows(a, b)
    both = _hsic(x, y)
    own = _hsic(x, x) * _hsic(y, y)
    return float(both / np.sqrt(own)) if own > 0 else float("nan")


def _hsic(x: np.ndarray, y: np.ndarray) -> float:
    """Estimate HSIC for linear kernels without forming matrices (n, n)."""
    n = len(x)
    xx, yy = (x**2).sum(axis=1), (y**2).sum(axis=1)
    trace = float(((x.T @ y) ** 2).sum() - (xx * yy).sum())
    k_ones, l_ones = x @ x.sum(axis=0) - xx, y @ y.sum(axis=0) - yy
    sums = float(k_ones.sum() * l_ones.sum()) / ((n - 1) * (n - 2))
    mixed = 2 * float((k_ones * l_ones).sum()) / (n - 2)
    return (trace + sums - mixed) / (n * (n - 3))


def procrustes(a: Any, b: Any) -> float:
    r"""Procrustes similarity of two representations, up to rotation and scale.

    ``|A^T B|_*^2 / |A|^2 |B|^2`` with centred columns and the nuclear norm in the numerator: one
    minus the squared Procrustes distance of the two at unit norm (Schönemann 1966).

    Parameters
    ----------
    a, b : array-like of shape (n, p), (n, q)
        Of the same n rows in the same order; the narrower one is padded with zeros.

    Returns
    -------
    float
        From 0 to 1; for unrelated ones about (p + q) / n.

    Examples
    --------
    >>> a = np.random.default_rng(0).standard_normal((100, 2))
    >>> round(procrustes(a, -3 * a[:, ::-1] + 7), 6)
    1.0
    """
    x, y = same_rows(a, b)
    size = float((x**2).sum() * (y**2).sum())
    if size == 0:
        return float("nan")
    return float(np.linalg.svd(x.T @ y, compute_uv=False).sum() ** 2 / size)


def same_rows(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """Validate two representations and centre their columns."""
    x, y = (_centred(values, name) for values, name in ((a, "a"), (b, "b")))
    if len(x) != len(y) or len(x) < LEAST_ROWS:
        raise InputError(
            f"a and b must have the same rows, at least {LEAST_ROWS}; got {len(x)} and {len(y)}."
        )
    return x, y


def _centred(values: Any, name: str) -> np.ndarray:
    array = check_finite(check_numeric(to_numpy(values, name), name), name).astype(float)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"{name} must have shape (n, columns); got shape {array.shape}.")
    return array - array.mean(axis=0)


N_PAIRS = 20_000


def rsa(a: Any, b: Any, *, n_pairs: int = N_PAIRS, random_state: Any = 0) -> float:
    """Representational similarity: rank correlation of distances (Kriegeskorte et al. 2008).

    Parameters
    ----------
    a, b : array-like of shape (n, p), (n, q)
        Of the same n rows in the same order.
    n_pairs : int
        Number of random pairs of different rows; all pairs if there are fewer.
    random_state : int, Generator or None

    Returns
    -------
    float
        Spearman's correlation, from -1 to 1; near 0 for unrelated ones.

    Examples
    --------
    >>> a = np.random.default_rng(0).standard_normal((100, 2))
    >>> round(rsa(a, 3 * a + 1), 6)
    1.0
    """
    x, y = same_rows(a, b)
    n, wanted = len(x), check_int(n_pairs, "n_pairs", low=2)
    if n * (n - 1) // 2 <= wanted:
        i, j = np.triu_indices(n, 1)
    else:
        rng = check_random_state(random_state)
        i = rng.integers(n, size=wanted)
        j = (i + rng.integers(1, n, size=wanted)) % n
    distances = [np.linalg.norm(rows[i] - rows[j], axis=1) for rows in (x, y)]
    return correlation(*distances).spearman
