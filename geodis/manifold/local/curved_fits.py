"""Neighbourhoods -> weighted quadratic fits, one point after another: the hot loop of the tangents.

The fits are small: calls of a library, and arrays written between them, cost more than the
arithmetic. Here everything of a point stays in the nearest cache. `tangents` has the same in
batched products, which are faster where a fit has many terms or columns, and easier to read.

Products are summed in whatever order the processor's vectors suggest ("reassoc"). What comes out
for a point depends neither on the other points nor on the number of threads.
"""

from __future__ import annotations

import numpy as np

from geodis.base.compiled import njit
from geodis.manifold.linalg import FAST, TINY, polar

# Numbers in the normal equations up to which they stay in the nearest cache: 32 kB.
SMALL_SYSTEM = 2**12
# Neighbours are filled up to a multiple of this with some of no weight: whole vectors.
VECTOR = 8
# A trace of ridge, as a part of the mean of the diagonal.
RIDGE = 1e-9


def is_small_fit(terms: int, d: int) -> bool:
    """Whether fits of so many terms in d columns are faster here than in batched products.

    Examples
    --------
    >>> is_small_fit(15, 6), is_small_fit(15, 1000)
    (True, False)
    """
    return terms * (terms + d) <= SMALL_SYSTEM


def loaded_neighborhoods(
    points: np.ndarray, centres: np.ndarray, indices: np.ndarray, distances: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Displacements to the neighbours, roots of their weights, and weighted covariances.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    centres : ndarray of shape (b, d)
    indices : ndarray of int32, shape (b, nt)
    distances : ndarray of shape (b, nt)

    Returns
    -------
    displacements : ndarray of shape (b, d, nt')
        Zero from nt to nt', the next multiple of eight.
    roots : ndarray of shape (b, nt')
        Square roots of exp(-2 |x_j - x_i|^2 / max_j |x_j - x_i|^2); zero from nt on.
    covariances : ndarray of shape (b, d, d)
        About the weighted means.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [-1.0]])
    >>> near, far = np.array([[1, 2]], np.int32), np.ones((1, 2))
    >>> displacements, roots, covariances = loaded_neighborhoods(points, points[:1], near, far)
    >>> displacements[0, 0, :3], roots[0, :3].round(2), covariances
    (array([ 1., -1.,  0.]), array([0.37, 0.37, 0.  ]), array([[[1.]]]))
    """
    (b, count), d = indices.shape, points.shape[1]
    filled = VECTOR * -(-count // VECTOR)
    displacements, roots = np.zeros((b, d, filled)), np.zeros((b, filled))
    covariances = np.empty((b, d, d))
    # One type and order of numbers each: compiled once.
    indices = np.ascontiguousarray(indices, dtype=np.int32)
    points, centres, distances = map(np.ascontiguousarray, (points, centres, distances))
    _load(points, centres, indices, distances, displacements, roots, covariances)
    return displacements, roots, covariances


def fit_small(
    displacements: np.ndarray,
    roots: np.ndarray,
    frames: np.ndarray,
    pairs: tuple[np.ndarray, np.ndarray],
    rounds: int,
    count: int,
) -> np.ndarray:
    """Fit so many rounds, from given frames (b, k, d) and into them.

    Returns
    -------
    ndarray of shape (b,)
        Root mean square misfit of the last round.
    """
    residual = np.empty(len(frames))
    terms = 1 + frames.shape[1] + len(pairs[0])
    # Each fitted term takes up one neighbour's worth of misfit.
    freedom = max(1.0 - terms / count, 1.0 / count)
    _fit(displacements, roots, *pairs, rounds, freedom, frames, residual)
    return residual


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _load(points, centres, indices, distances, X, roots, covariances):  # type: ignore[no-untyped-def]
    b, count = indices.shape
    d, filled = X.shape[1:]
    centred = np.zeros((d, filled))
    for i in range(b):
        total = 0.0
        for j in range(count):
            roots[i, j] = np.exp(-((distances[i, j] / distances[i, count - 1]) ** 2))
            total += roots[i, j] ** 2
            for c in range(d):
                X[i, c, j] = points[indices[i, j], c] - centres[i, c]
        for c in range(d):
            mean = 0.0
            for j in range(filled):
                mean += roots[i, j] * roots[i, j] * X[i, c, j]
            mean /= total
            for j in range(filled):
                centred[c, j] = roots[i, j] * (X[i, c, j] - mean)
        _products(centred, d, covariances[i])
        for a in range(d):
            for c in range(a + 1):
                covariances[i, a, c] /= total
                covariances[i, c, a] = covariances[i, a, c]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _fit(X, roots, first, second, rounds, freedom, frames, residual):  # type: ignore[no-untyped-def]
    b, d, filled = X.shape
    k = frames.shape[1]
    terms = 1 + k + len(first)
    # root * [t t, 1, t, x], one column a neighbour: what is solved for last comes out first.
    rows = np.empty((terms + d, filled))
    system = np.empty((terms + d, terms))  # normal equations, right sides below them
    gram, axes, column = np.empty((k, k)), np.empty((k, k)), np.empty(k)
    t = np.empty((k, filled))
    for i in range(b):
        for round_ in range(rounds):
            _fill_rows(X[i], roots[i], frames[i], first, second, t, rows)
            _products(rows, terms, system)
            if round_ < rounds - 1:
                _solve(system, terms, terms - k)
            else:
                _solve(system, terms, 0)
                squared, total = _misfit(rows, terms, terms - k - 1, system)
                residual[i] = np.sqrt(squared / (total * freedom))
            for a in range(k):
                for c in range(d):
                    frames[i, a, c] = system[terms + c, terms - k + a]
            polar(frames[i], gram, axes, column)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _fill_rows(x, root, frame, first, second, t, rows):  # type: ignore[no-untyped-def]
    k, d = frame.shape
    filled = len(root)
    constant = len(first)
    for a in range(k):
        for j in range(filled):
            t[a, j] = frame[a, 0] * x[0, j]
        for c in range(1, d - 1, 2):
            f, g = frame[a, c], frame[a, c + 1]
            for j in range(filled):
                t[a, j] += f * x[c, j] + g * x[c + 1, j]
        if d % 2 == 0:
            for j in range(filled):
                t[a, j] += frame[a, d - 1] * x[d - 1, j]
    longest = 0.0
    for j in range(filled):
        length = 0.0
        for a in range(k):
            length += t[a, j] * t[a, j]
        longest = max(longest, length)
    # In units of the neighbourhood's radius all terms are of order one: a sound system.
    unit = 1.0 / max(np.sqrt(longest), TINY)
    rows[constant] = root
    for a in range(k):
        for j in range(filled):
            t[a, j] *= unit
            rows[constant + 1 + a, j] = t[a, j] * root[j]
    for p in range(len(first)):
        a, b = constant + 1 + first[p], second[p]
        for j in range(filled):
            rows[p, j] = rows[a, j] * t[b, j]
    for c in range(d):
        for j in range(filled):
            rows[constant + 1 + k + c, j] = x[c, j] * root[j]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _products(rows, terms, out):  # type: ignore[no-untyped-def]
    """out[v, u] = rows[v] . rows[u] for u < terms and v >= u, four by two at a time."""
    width, filled = rows.shape
    for u in range(0, terms, 2):
        w = min(u + 1, terms - 1)
        for v in range(u, width, 4):
            v1, v2, v3 = min(v + 1, width - 1), min(v + 2, width - 1), min(v + 3, width - 1)
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
            for j in range(filled):
                a, b = rows[u, j], rows[w, j]
                a0 += a * rows[v, j]
                a1 += a * rows[v1, j]
                a2 += a * rows[v2, j]
                a3 += a * rows[v3, j]
                b0 += b * rows[v, j]
                b1 += b * rows[v1, j]
                b2 += b * rows[v2, j]
                b3 += b * rows[v3, j]
            out[v, w], out[v1, w], out[v2, w], out[v3, w] = b0, b1, b2, b3
            out[v, u], out[v1, u], out[v2, u], out[v3, u] = a0, a1, a2, a3


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _solve(system, terms, first):  # type: ignore[no-untyped-def]
    """Solve by Cholesky: the right sides become coefficients, from the first that is asked for.

    The rows of the right sides go through the factorisation like those of the matrix, which is
    their forward substitution. Four rows at a time: their sums do not wait for one another.
    """
    width = len(system)
    trace = 0.0
    for u in range(terms):
        trace += system[u, u]
    for u in range(terms):
        # Neighbours on a grid may not determine every term: a trace of ridge keeps the rest sound.
        square = system[u, u] + RIDGE * trace / terms
        for w in range(u):
            square -= system[u, w] * system[u, w]
        system[u, u] = np.sqrt(max(square, TINY))
        inverse = 1.0 / system[u, u]
        for v in range(u + 1, width, 4):
            v1, v2, v3 = min(v + 1, width - 1), min(v + 2, width - 1), min(v + 3, width - 1)
            s0, s1, s2, s3 = system[v, u], system[v1, u], system[v2, u], system[v3, u]
            for w in range(u):
                a = system[u, w]
                s0 -= a * system[v, w]
                s1 -= a * system[v1, w]
                s2 -= a * system[v2, w]
                s3 -= a * system[v3, w]
            system[v, u], system[v1, u] = s0 * inverse, s1 * inverse
            system[v2, u], system[v3, u] = s2 * inverse, s3 * inverse
    for u in range(terms - 1, first - 1, -1):
        inverse = 1.0 / system[u, u]
        for v in range(terms, width, 4):
            v1, v2, v3 = min(v + 1, width - 1), min(v + 2, width - 1), min(v + 3, width - 1)
            s0, s1, s2, s3 = system[v, u], system[v1, u], system[v2, u], system[v3, u]
            for w in range(u + 1, terms):
                a = system[w, u]
                s0 -= a * system[v, w]
                s1 -= a * system[v1, w]
                s2 -= a * system[v2, w]
                s3 -= a * system[v3, w]
            system[v, u], system[v1, u] = s0 * inverse, s1 * inverse
            system[v2, u], system[v3, u] = s2 * inverse, s3 * inverse


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _misfit(rows, terms, constant, system):  # type: ignore[no-untyped-def]
    """Sum of the squares that the terms leave of the displacements, and of the weights."""
    width, filled = rows.shape
    squared = total = 0.0
    for j in range(filled):
        total += rows[constant, j] * rows[constant, j]
    for c in range(terms, width):
        for u in range(0, terms - 1, 2):
            f, g = system[c, u], system[c, u + 1]
            for j in range(filled):
                rows[c, j] -= f * rows[u, j] + g * rows[u + 1, j]
        if terms % 2 == 1:
            for j in range(filled):
                rows[c, j] -= system[c, terms - 1] * rows[terms - 1, j]
        for j in range(filled):
            squared += rows[c, j] * rows[c, j]
    return squared, total
