"""Estimates of mutual information: from counts, nearest neighbours, and Gaussian posteriors."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma

from geodis.base.jobs import njit
from geodis.scores.inputs import CodedFactors


def discrete_information(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Mutual information in nats between the columns of two arrays of codes.

    ``I_jk = sum_uv p_jk(u, v) log(p_jk(u, v) / (p_j(u) p_k(v)))`` with p the relative frequencies.

    Parameters
    ----------
    a : ndarray of int, shape (n, z)
        Codes from 0.
    b : ndarray of int, shape (n, f)

    Returns
    -------
    ndarray of shape (z, f)
        Never negative, and exactly zero if a column is constant.

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

    Counts of n rows in m non-empty cells underestimate an entropy by ``(m - 1) / 2n`` to first
    order, and ``I = H_j + H_k - H_jk``. The correction removes the bias of independent columns;
    for columns that determine each other the information still equals the entropy.

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
    """Return the information and the number of non-empty cells, both (z, f)."""
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
                    if count:  # of integers: the ratio is exactly one if a is constant
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


# Mutual information between columns, from nearest neighbours.

NEIGHBORS = 3  # recommended by Kraskov et al. (2004): low bias at acceptable variance


def class_information(x: np.ndarray, codes: np.ndarray, k: int = NEIGHBORS) -> float:
    """Mutual information of a continuous and a discrete variable, from nearest neighbours.

    Ross (2014), eq. 2: ``I = psi(N) - <psi(N_x)> + psi(k) - <psi(m)>``, where N_x counts the rows
    of the same class and m the rows within the distance of the k-th neighbour of the same class.
    Classes with a single row are left out.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Values must be distinct: see `jittered`.
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
    """Return a type of codes that numpy sorts in linear time, if it can hold them."""
    return np.int16 if len(counts) < 2**15 else np.int64


@njit(cache=True, nogil=True)
def _reach(x: np.ndarray, begin: np.ndarray, end: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Return the distance to the near-th neighbour within a sorted run [begin, end)."""
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
    """Count the values strictly within the radius of every centre, including the centre.

    Distances are compared instead of sums of centre and radius: rounding of the sums could include
    the neighbour at the radius.
    """
    n = len(ordered)
    counts = np.empty(len(centre), np.int64)
    for i in range(len(centre)):
        at = np.searchsorted(ordered, centre[i])
        low, high = 0, at  # the first value on the left within the radius
        while low < high:
            middle = (low + high) // 2
            if centre[i] - ordered[middle] < radius[i]:
                high = middle
            else:
                low = middle + 1
        first = low
        low, high = at, n  # the first value on the right beyond the radius
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
    n_x and n_y count the other rows nearer than the k-th neighbour in the plane, in the maximum
    norm.

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
    """Standardise, because the maximum norm compares both coordinates."""
    scale = x.std()
    return (x - x.mean()) / (scale if scale > 0 else 1.0)


def jittered(x: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Add noise of 1e-10 of the range, to avoid nearest neighbours at distance zero.

    A constant column becomes noise. Latents that are compared with factors one by one may share
    the noise, which makes the result independent of their order.

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
            continue  # a constant has no information
        x = jittered(column, noise)
        for j, target in enumerate(targets):
            measure = continuous_information if factors.continuous[j] else class_information
            matrix[i, j] = measure(x, target, k)
    return matrix


# Information of the sampled latents of a Gaussian encoder.

# More bins change the information by less than a thousandth if posteriors are wider than a bin.
POSTERIOR_BINS = 200
# Posteriors are truncated at this many standard deviations.
TAILS = 5.0
# Rows processed at a time.
CHUNK_ROWS = 2_000


def mixture_information(
    means: np.ndarray, log_variances: np.ndarray, codes: np.ndarray, bins: int = POSTERIOR_BINS
) -> np.ndarray:
    """Mutual information in nats of sampled latents and factors, shape (z, f).

    The distribution of a latent is a mixture, ``q(z_i) = 1/n sum_r N(z_i; m_ri, s_ri^2)``; given a
    value of the factor it is the mixture of its rows. The probability of every bin is exact, from
    the normal distribution function, without sampling:
    ``I = sum_gv p(g, v) log(p(g, v) / p(g) p(v))`` over bins g of equal width and values v. For
    posteriors narrower than a bin the result is the information of binned means, which is biased
    upwards for few rows.

    Parameters
    ----------
    means, log_variances : ndarray of shape (n, z)
    codes : ndarray of int, shape (n, f)
    bins : int

    Examples
    --------
    >>> means, codes = np.array([[0.0], [1.0]]), np.array([[0], [1]])
    >>> sharp = mixture_information(means, np.full((2, 1), -20.0), codes)
    >>> wide = mixture_information(means, np.full((2, 1), 4.0), codes)
    >>> sharp.round(3), wide.round(3)
    (array([[0.693]]), array([[0.002]]))
    """
    z, f = means.shape[1], codes.shape[1]
    information = np.zeros((z, f))
    sizes = codes.max(axis=0) + 1
    for i in range(z):
        scale = np.exp(log_variances[:, i] / 2)
        low, high = (means[:, i] - TAILS * scale).min(), (means[:, i] + TAILS * scale).max()
        if not low < high:
            continue
        edges = np.linspace(low, high, bins + 1)
        together = [np.zeros((int(size), bins)) for size in sizes]
        for start in range(0, len(means), CHUNK_ROWS):
            rows = slice(start, start + CHUNK_ROWS)
            mass = _masses(means[rows, i], scale[rows], edges)
            for j in range(f):
                own = codes[rows, j] == np.arange(sizes[j])[:, None]
                together[j] += own.astype(float) @ mass
        information[i] = [_information_of(table / len(means)) for table in together]
    return information


def _masses(mean: np.ndarray, scale: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the probability of every bin for every row, (rows, bins)."""
    from scipy.special import ndtr

    below = ndtr((edges - mean[:, None]) / np.maximum(scale, 1e-300)[:, None])
    return np.diff(below, axis=1)


def _information_of(table: np.ndarray) -> float:
    """Return the mutual information of a table of joint probabilities."""
    alone = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    there = table > 0
    return float(max((table[there] * np.log(table[there] / alone[there])).sum(), 0.0))
