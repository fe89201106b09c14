"""Mutual information between columns, from nearest neighbours."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma

from geodis.base.compiled import njit
from geodis.scores.inputs import CodedFactors

NEIGHBORS = 3  # as Kraskov et al. (2004) advise: little bias at a bearable variance


def class_information(x: np.ndarray, codes: np.ndarray, k: int = NEIGHBORS) -> float:
    """Mutual information of a continuous and a discrete variable, from nearest neighbours.

    Ross (2014), eq. 2: ``I = psi(N) - <psi(N_x)> + psi(k) - <psi(m)>``, where N_x counts the rows
    of the same class and m the rows no farther than the k-th neighbour of the same class. A class
    of one row has no neighbours and is left out.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Without equal values: see `jittered`.
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
    ascending = np.argsort(x)
    ordered = x[ascending]
    order = ascending[np.argsort(codes[ascending].astype(_narrow(counts)), kind="stable")]
    grouped, classes = x[order], codes[order]
    size = counts[classes]
    near = np.minimum(k, size - 1)
    begin = np.searchsorted(classes, classes, side="left")
    radius = _reach(grouped, begin, begin + size, near)
    inside = _inside(ordered, grouped, radius)
    psi = digamma(np.arange(n + 1))
    terms = psi[near] - psi[size] - psi[inside]
    return max(float(psi[n] + terms.mean()), 0.0)


def _narrow(counts: np.ndarray) -> type:
    """Integers that are sorted in linear time, where they hold the codes."""
    return np.int16 if len(counts) < 2**15 else np.int64


@njit(cache=True, nogil=True)
def _reach(x: np.ndarray, begin: np.ndarray, end: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Distance from every value to its near-th neighbour within a sorted run [begin, end)."""
    reach = np.empty(len(x))
    for i in range(len(x)):
        k = near[i]
        best = np.inf
        for s in range(max(begin[i], i - k), min(i, end[i] - 1 - k) + 1):
            best = min(best, max(x[i] - x[s], x[s + k] - x[i]))
        reach[i] = best
    return reach


@njit(cache=True, nogil=True)
def _inside(ordered: np.ndarray, centre: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Values strictly nearer to every centre than its radius, the centre itself among them.

    Distances are compared, not sums of centre and radius, whose rounding would admit the
    neighbour that set the radius.
    """
    n = len(ordered)
    counts = np.empty(len(centre), np.int64)
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
        counts[i] = max(low - first, 1)
    return counts


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


def jittered(x: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Move values by 1e-10 of their spread: nearest neighbours at distance zero say nothing.

    A constant column becomes noise, which informs about nothing. Latents that are each compared
    with factors alone may have one noise in common: their order does not matter then.

    Examples
    --------
    >>> moved = jittered(np.array([0.0, 0.0, 1.0]), np.array([0.5, -1.0, 2.0]))
    >>> len(np.unique(moved)), float(np.abs(moved - [0, 0, 1]).max()) < 1e-9
    (3, True)
    """
    spread = float(x.max() - x.min()) or 1.0
    return x + 1e-10 * spread * noise


def information_by_neighbors(
    latents: np.ndarray, factors: CodedFactors, k: int, rng: np.random.Generator
) -> np.ndarray:
    """Mutual information in nats between every latent and every factor, shape (z, f)."""
    matrix = np.zeros((latents.shape[1], len(factors.sizes)))
    targets = [
        jittered(factors.values[:, j], rng.standard_normal(len(latents)))
        if continuous
        else factors.codes[:, j]
        for j, continuous in enumerate(factors.continuous)
    ]
    noise = rng.standard_normal(len(latents))
    for i, column in enumerate(latents.T):
        if column.min() == column.max():
            continue  # a constant knows nothing
        x = jittered(column, noise)
        for j, target in enumerate(targets):
            measure = continuous_information if factors.continuous[j] else class_information
            matrix[i, j] = measure(x, target, k)
    return matrix
