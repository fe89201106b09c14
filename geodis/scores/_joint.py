"""Mutual information between columns: from counts, or from nearest neighbours."""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.special import digamma

NEIGHBORS = 3  # as Kraskov et al. (2004) advise: little bias at a bearable variance


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
    found = np.zeros((z, len(b)))
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
            found[j, k] = max(total / n, 0.0)
    return found, cells


def entropy(codes: np.ndarray) -> np.ndarray:
    """Entropy in nats of every column of codes, shape (f,).

    Examples
    --------
    >>> entropy(np.array([[0, 0], [1, 0]])).round(3)
    array([0.693, 0.   ])
    """
    found = np.empty(codes.shape[1])
    for j, column in enumerate(codes.T):
        share = np.bincount(column) / len(column)
        share = share[share > 0]
        found[j] = -(share * np.log(share)).sum()
    return np.abs(found)  # no negative zero


def class_information(x: np.ndarray, codes: np.ndarray, k: int = NEIGHBORS) -> float:
    """Mutual information of a continuous and a discrete variable, from nearest neighbours.

    Ross (2014), eq. 2: ``I = psi(N) - <psi(N_x)> + psi(k) - <psi(m)>``, where N_x counts the rows
    of the same class and m the rows no farther than the k-th neighbour of the same class. A class
    of one row has no neighbours and is left out.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Without equal values: see `without_ties`.
    codes : ndarray of int, shape (n,)

    Returns
    -------
    float
        Nats, at least zero.

    Examples
    --------
    >>> x = np.arange(40.0)
    >>> round(class_information(x, (x >= 20).astype(int)), 2), round(float(np.log(2)), 2)
    (0.68, 0.69)
    """
    counts = np.bincount(codes)
    kept = counts[codes] > 1
    x, codes = x[kept], codes[kept]
    n = len(x)
    if n < 2:
        return 0.0
    order = np.lexsort((x, codes))
    grouped, classes = x[order], codes[order]
    size = counts[classes]
    near = np.minimum(k, size - 1)
    begin = np.searchsorted(classes, classes, side="left")
    radius = _reach(grouped, begin, begin + size, near)
    inside = _inside(np.sort(x), grouped, radius)
    terms = digamma(near) - digamma(size) - digamma(inside)
    return max(float(digamma(n) + terms.mean()), 0.0)


@njit(cache=True, nogil=True)
def _reach(x: np.ndarray, begin: np.ndarray, end: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Distance from every value to its near-th neighbour within a sorted run [begin, end)."""
    found = np.empty(len(x))
    for i in range(len(x)):
        k = near[i]
        best = np.inf
        for s in range(max(begin[i], i - k), min(i, end[i] - 1 - k) + 1):
            best = min(best, max(x[i] - x[s], x[s + k] - x[i]))
        found[i] = best
    return found


@njit(cache=True, nogil=True)
def _inside(ordered: np.ndarray, centre: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Values strictly nearer to every centre than its radius, the centre itself among them.

    Distances are compared, not sums of centre and radius, whose rounding would admit the
    neighbour that set the radius.
    """
    n = len(ordered)
    found = np.empty(len(centre), np.int64)
    for i in range(len(centre)):
        at = np.searchsorted(ordered, centre[i])
        low, high = 0, at  # the first value on the left that is near enough
        while low < high:
            middle = (low + high) // 2
            if centre[i] - ordered[middle] < radius[i]:
                high = middle
            else:
                low = middle + 1
        first = low
        low, high = at, n  # the first value on the right that is not
        while low < high:
            middle = (low + high) // 2
            if ordered[middle] - centre[i] < radius[i]:
                low = middle + 1
            else:
                high = middle
        found[i] = max(low - first, 1)
    return found


def continuous_information(x: np.ndarray, y: np.ndarray, k: int = NEIGHBORS) -> float:
    """Mutual information of two continuous variables, from nearest neighbours.

    Kraskov et al. (2004), eq. 8: ``I = psi(k) + psi(N) - <psi(n_x + 1) + psi(n_y + 1)>``, where
    n_x and n_y count the other rows nearer than the k-th neighbour in the plane, by the larger of
    the two distances.

    Examples
    --------
    >>> x, noise = np.random.default_rng(0).standard_normal((2, 4000))
    >>> y = 0.8 * x + 0.6 * noise
    >>> round(continuous_information(x, y), 2), round(float(-np.log(0.6)), 2)
    (0.52, 0.51)
    """
    from scipy.spatial import KDTree

    k = min(k, len(x) - 1)
    plane = np.column_stack([_unit(x), _unit(y)])
    reached = KDTree(plane).query(plane, k + 1, p=np.inf)[0]
    radius = reached[:, k]
    of_x = _inside(np.sort(plane[:, 0]), plane[:, 0], radius)
    of_y = _inside(np.sort(plane[:, 1]), plane[:, 1], radius)
    value = digamma(k) + digamma(len(x)) - (digamma(of_x) + digamma(of_y)).mean()
    return max(float(value), 0.0)


def _unit(x: np.ndarray) -> np.ndarray:
    """Centre and scale: the larger of two distances means little between different units."""
    scale = x.std()
    return (x - x.mean()) / (scale if scale > 0 else 1.0)


def without_ties(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Move values by 1e-10 of their spread: nearest neighbours at distance zero say nothing.

    A constant column becomes noise, which informs about nothing.

    Examples
    --------
    >>> moved = without_ties(np.array([0.0, 0.0, 1.0]), np.random.default_rng(0))
    >>> len(np.unique(moved)), float(np.abs(moved - [0, 0, 1]).max()) < 1e-9
    (3, True)
    """
    spread = float(x.max() - x.min()) or 1.0
    return x + 1e-10 * spread * rng.standard_normal(len(x))
