"""Compiled weighted quadratic fits: normal equations, Cholesky factorisation and tangent frames.

The fits of all points are computed in a loop, so that all data of one point stay in the nearest
cache, where a library call would cost more than the arithmetic. Sums may be reordered by the
compiler. The result at a point depends neither on the other points nor on the number of threads.
"""

from __future__ import annotations

import numpy as np

from geodis.base.jobs import njit
from geodis.manifold.linalg import FAST, TINY, polar

# Neighbours on a grid may not determine every term. This fraction of the mean diagonal entry of the
# normal equations is added to the diagonal, which keeps the other terms accurate.
RIDGE = 1e-9


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def fill_operators(coordinates, weights, first, second, operators):  # type: ignore[no-untyped-def]
    """Compute operators (b, p, nt) from values to coefficients; see `quadratic_operators`."""
    b, count, k = coordinates.shape
    terms = 1 + k + len(first)
    t, root = np.empty((k, count)), np.empty(count)
    rows = np.empty((terms, count))
    system = np.empty((terms + count, terms))
    order = _order_of_terms(k, len(first))
    for i in range(b):
        for j in range(count):
            root[j] = np.sqrt(weights[i, j])
            for a in range(k):
                t[a, j] = coordinates[i, j, a]
        unit = _fill_terms(t, root, first, second, rows)
        _products(rows, terms, system)
        for j in range(count):
            for u in range(terms):
                system[terms + j, u] = rows[u, j] * root[j]
        _solve(system, terms, 0)
        for u in range(terms):
            scale = _unit_of_term(u, k, unit)
            for j in range(count):
                operators[i, u, j] = system[terms + j, order[u]] * scale


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def fill_coefficients(  # type: ignore[no-untyped-def]
    coordinates, weights, targets, first, second, coefficients
):
    """Fit targets (b, nt, r) and write coefficients (b, p, r); see `quadratic_coefficients`."""
    b, count, k = coordinates.shape
    terms, r = coefficients.shape[1:]
    t, scaled, root = np.empty((k, count)), np.empty((k, count)), np.empty(count)
    values = np.empty((r, count))
    rows, system = np.empty((terms + r, count)), np.empty((terms + r, terms))
    for i in range(b):
        for j in range(count):
            root[j] = np.sqrt(weights[i, j])
            for a in range(k):
                t[a, j] = coordinates[i, j, a]
            for x in range(r):
                values[x, j] = targets[i, j, x]
        regress(t, root, values, first, second, scaled, rows, system, coefficients[i])


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _order_of_terms(k, pairs):  # type: ignore[no-untyped-def]
    """Return the rows of 1, t_a, t_a t_b in the system, which begins with the quadratic terms."""
    order = np.empty(1 + k + pairs, np.int64)
    for u in range(1 + k):
        order[u] = pairs + u
    for p in range(pairs):
        order[1 + k + p] = p
    return order


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _unit_of_term(u, k, unit):  # type: ignore[no-untyped-def]
    if u == 0:
        return 1.0
    return unit if u <= k else unit * unit


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def regress(  # type: ignore[no-untyped-def]
    t, root, targets, first, second, scaled, rows, system, found
):
    """Fit one neighbourhood and write the coefficients (p, r) of 1, t_a, t_a t_b into `found`.

    Takes coordinates t (k, nt), square roots of weights (nt,) and targets (r, nt). The other
    arguments are memory for intermediate results: `scaled` of the shape of t, `rows` (p + r, nt)
    and `system` (p + r, p).
    """
    k = len(t)
    terms, r = found.shape
    scaled[:] = t
    unit = _fill_terms(scaled, root, first, second, rows)
    _fill_targets(targets, root, terms, rows)
    _products(rows, terms, system)
    _solve(system, terms, 0)
    order = _order_of_terms(k, len(first))
    for u in range(terms):
        scale = _unit_of_term(u, k, unit)
        for x in range(r):
            found[u, x] = system[terms + x, order[u]] * scale


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def fill_neighborhoods(points, centres, indices, distances, X, roots, covariances):  # type: ignore[no-untyped-def]
    """Compute displacements X, roots of weights and covariances; see `loaded_neighborhoods`."""
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
def fit_in_place(X, roots, first, second, rounds, freedom, frames, residual):  # type: ignore[no-untyped-def]
    """Improve frames (b, k, d) in place, and write the residuals (b,); see `fit_small`."""
    b, d, filled = X.shape
    k = frames.shape[1]
    terms = 1 + k + len(first)
    # root * [t t, 1, t, x], with a column for every neighbour. The linear terms are last, because
    # back substitution finds the last unknowns first.
    rows = np.empty((terms + d, filled))
    system = np.empty((terms + d, terms))  # normal equations, with the right-hand sides below
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
    _project(x, frame, t)
    _fill_terms(t, root, first, second, rows)
    _fill_targets(x, root, 1 + len(t) + len(first), rows)


@njit(inline="always")
def _project(x, frame, t):  # type: ignore[no-untyped-def]
    """Compute coordinates t (k, nt) of displacements x (d, nt) along a frame (k, d)."""
    k, d = frame.shape
    filled = x.shape[1]
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


@njit(inline="always")
def _fill_terms(t, root, first, second, rows):  # type: ignore[no-untyped-def]
    """Fill rows root * [t_a t_b, 1, t_a], and rescale t in place by its largest length.

    Returns the reciprocal of that length.
    """
    k, filled = t.shape
    constant = len(first)
    longest = 0.0
    for j in range(filled):
        length = 0.0
        for a in range(k):
            length += t[a, j] * t[a, j]
        longest = max(longest, length)
    # In these units all terms are of order one, and the system is well conditioned.
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
    return unit


@njit(inline="always")
def _fill_targets(x, root, terms, rows):  # type: ignore[no-untyped-def]
    for c in range(len(x)):
        for j in range(len(root)):
            rows[terms + c, j] = x[c, j] * root[j]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _products(rows, terms, out):  # type: ignore[no-untyped-def]
    """Compute out[v, u] = rows[v] . rows[u] for u < terms and v >= u, in blocks of four by two."""
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
    """Solve by Cholesky: the right-hand sides become the coefficients from number `first` on.

    The factorisation also runs over the rows of the right-hand sides, which is their forward
    substitution. Four rows are processed together, because their sums are independent.
    """
    width = len(system)
    trace = 0.0
    for u in range(terms):
        trace += system[u, u]
    for u in range(terms):
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
    """Return the weighted sum of squared residuals and the sum of the weights."""
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
