"""Weighted least squares of values on 1, t_a and t_a t_b, about many points at once.

Every local quadratic fit of the package is made here, by the normal equations of the terms in
units of the neighbourhood's radius. Small systems are compiled and solved one point after
another: everything of a point then stays in the nearest cache, where calls of a library would cost
more than the arithmetic. Large systems are solved by batched products of numpy.

Compiled sums may be taken in any order. The result at a point depends neither on the other points
nor on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.base.jobs import njit
from geodis.manifold.linalg import FAST, TINY, largest_eigenvectors, polar, polar_rows

# Numbers in the normal equations up to which they stay in the nearest cache: 32 kB.
SMALL_SYSTEM = 2**12
# Neighbours are filled up to a multiple of this with some of no weight: whole vectors.
VECTOR = 8
# Neighbours on a grid may not determine every term. This part of the mean of the diagonal of the
# normal equations is added to it, so that the other terms stay sound.
RIDGE = 1e-9
# With more than this many times as many columns as neighbours, principal directions come from the
# products of neighbours.
WIDE = 1.5
# Rounds of a fit of frames.
FIT_ROUNDS = 2


def tangent_terms(dim: int) -> int:
    """Unknowns of a quadratic fit in `dim` coordinates: 1 + k + k (k + 1) / 2.

    Examples
    --------
    >>> tangent_terms(4)
    15
    """
    return 1 + dim + dim * (dim + 1) // 2


def quadratic_pairs(
    dim: int, factor_dims: tuple[int, ...] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Index pairs a <= b of the quadratic terms, within groups of axes if any are given.

    Examples
    --------
    >>> len(quadratic_pairs(10)[0]), len(quadratic_pairs(10, (2, 2, 2, 2, 2))[0])
    (55, 15)
    """
    first, second = np.triu_indices(dim)
    if factor_dims is None:
        return first, second
    group = np.repeat(np.arange(len(factor_dims)), factor_dims)
    within = group[first] == group[second]
    return first[within], second[within]


def quadratic_terms(coordinates: np.ndarray) -> np.ndarray:
    """The terms 1, t_a and t_a t_b with a <= b, of coordinates (..., k): shape (..., p).

    Examples
    --------
    >>> quadratic_terms(np.array([2.0, 3.0]))
    array([1., 2., 3., 4., 6., 9.])
    """
    k = coordinates.shape[-1]
    terms = np.empty((*coordinates.shape[:-1], tangent_terms(k)))
    terms[..., 0] = 1.0
    terms[..., 1 : 1 + k] = coordinates
    start = 1 + k
    for a in range(k):
        stop = start + k - a
        np.multiply(coordinates[..., a:], coordinates[..., a, None], out=terms[..., start:stop])
        start = stop
    return terms


def gaussian_weights(distances: np.ndarray) -> np.ndarray:
    """exp(-2 d^2 / d_max^2), shape (b, nt)."""
    return np.exp(-2.0 * (distances / distances[:, -1:]) ** 2)


def is_small_fit(terms: int, d: int) -> bool:
    """Whether fits of so many terms to d columns are faster compiled than in batched products.

    Examples
    --------
    >>> is_small_fit(15, 6), is_small_fit(15, 1000)
    (True, False)
    """
    return terms * (terms + d) <= SMALL_SYSTEM


def quadratic_operators(
    coordinates: np.ndarray, weights: np.ndarray, *, linear: bool = False
) -> np.ndarray:
    """Operators that take values at the neighbours to the coefficients of their quadratic fits.

    With the terms X of the neighbours' coordinates (see `quadratic_terms`) and their weights W,
    ``H = (X^T W X)^{-1} X^T W``: the fit of values Y has the coefficients ``H Y`` and predicts
    ``X H Y``. If every value has independent noise of variance s^2, the coefficients have the
    covariance ``s^2 H H^T``.

    Parameters
    ----------
    coordinates : ndarray of shape (b, nt, k)
    weights : ndarray of shape (b, nt)
        Not negative.
    linear : bool
        Leave the quadratic terms out.

    Returns
    -------
    ndarray of shape (b, p, nt)

    Examples
    --------
    >>> t = np.linspace(-1, 1, 9)[None, :, None]
    >>> values = 3 - t[0] + 5 * t[0] ** 2
    >>> (quadratic_operators(t, np.ones((1, 9)))[0] @ values).round(6).ravel().tolist()
    [3.0, -1.0, 5.0]
    """
    b, count, k = coordinates.shape
    pairs = quadratic_pairs(0 if linear else k)
    terms = 1 + k + len(pairs[0])
    if is_small_fit(terms, 0):
        operators = np.empty((b, terms, count))
        coordinates, weights = (
            np.ascontiguousarray(values, dtype=float) for values in (coordinates, weights)
        )
        _find_operators(coordinates, weights, *pairs, operators)
        return operators
    root = np.sqrt(weights)[:, None]
    rows, radius = _weighted_terms(np.swapaxes(coordinates, 1, 2), root, pairs)
    operators = np.linalg.inv(_normal_equations(rows)) @ (rows * root)
    return _in_units_of(operators, radius, k)


def quadratic_coefficients(
    coordinates: np.ndarray, weights: np.ndarray, targets: np.ndarray
) -> np.ndarray:
    """Coefficients of weighted quadratic fits of targets: `quadratic_operators` times targets.

    Faster than the operators where the neighbours are more than the columns of the targets.

    Parameters
    ----------
    coordinates : ndarray of shape (b, nt, k)
    weights : ndarray of shape (b, nt)
        Not negative.
    targets : ndarray of shape (b, nt, r)

    Returns
    -------
    ndarray of shape (b, p, r)

    Examples
    --------
    >>> t = np.linspace(-1, 1, 9)[None, :, None]
    >>> quadratic_coefficients(t, np.ones((1, 9)), 3 - t + 5 * t**2).round(6).ravel().tolist()
    [3.0, -1.0, 5.0]
    """
    k, columns = coordinates.shape[2], targets.shape[2]
    pairs = quadratic_pairs(k)
    if is_small_fit(tangent_terms(k), columns):
        found = np.empty((len(targets), tangent_terms(k), columns))
        coordinates, weights, targets = (
            np.ascontiguousarray(values, dtype=float) for values in (coordinates, weights, targets)
        )
        _find_coefficients(coordinates, weights, targets, *pairs, found)
        return found
    root = np.sqrt(weights)[:, None]
    rows, radius = _weighted_terms(np.swapaxes(coordinates, 1, 2), root, pairs)
    found = np.linalg.solve(_normal_equations(rows), rows @ (targets * np.swapaxes(root, 1, 2)))
    return _in_units_of(found, radius, k)


@dataclass(frozen=True)
class FrameFits:
    """Frames fitted at some points, and the neighbourhoods that they were fitted to."""

    frames: np.ndarray  # (b, k, d)
    residual: np.ndarray  # (b,)
    displacements: np.ndarray  # (b, d, nt)
    weights: np.ndarray  # (b, nt)


def fit_frames(
    points: np.ndarray,
    centres: np.ndarray,
    indices: np.ndarray,
    distances: np.ndarray,
    dim: int,
    pairs: tuple[np.ndarray, np.ndarray],
    start: np.ndarray | None,
) -> FrameFits:
    """Tangent frames from quadratic fits of the displacements to the neighbours.

    In each of `FIT_ROUNDS` rounds the frame becomes the polar factor of the linear coefficients.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    centres : ndarray of shape (b, d)
    indices, distances : ndarray of shape (b, nt)
        Of the neighbours of the centres.
    dim : int
    pairs : tuple of ndarray
        The quadratic terms; see `quadratic_pairs`.
    start : ndarray of shape (b, k, d), optional
        Frames to start from; weighted principal directions by default.
    """
    count, d = indices.shape[1], points.shape[1]
    if is_small_fit(1 + dim + len(pairs[0]), d) and d <= WIDE * count:
        loaded, roots, covariances = loaded_neighborhoods(points, centres, indices, distances)
        if start is None:
            start = np.linalg.eigh(covariances)[1][..., : -dim - 1 : -1].swapaxes(1, 2)
        frames = np.array(start, dtype=float, order="C")
        residual = fit_small(loaded, roots, frames, pairs, FIT_ROUNDS, count)
        return FrameFits(frames, residual, loaded[..., :count], roots[:, :count] ** 2)
    displacements = np.take(points, indices, axis=0)  # (b, nt, d)
    displacements -= centres[:, None]
    weights = gaussian_weights(distances)
    frame = principal_frame(displacements, weights, dim) if start is None else start
    for _ in range(FIT_ROUNDS):
        frame, residual = _fit_large(displacements, weights, frame, pairs)
    return FrameFits(frame, residual, displacements.swapaxes(1, 2), weights)


def principal_frame(displacements: np.ndarray, weights: np.ndarray | None, dim: int) -> np.ndarray:
    """Leading principal directions of each neighbourhood (b, nt, d), shape (b, k, d).

    Weighted and centred; without weights neither, as published.
    """
    count, d = displacements.shape[1:]
    weighted = centred = displacements
    if weights is not None:
        share = (weights / weights.sum(axis=1, keepdims=True))[..., None]
        weighted = share * displacements
        centred = displacements - weighted.sum(axis=1, keepdims=True)
    if d > WIDE * count:  # the products of the neighbours have the same eigenvalues
        if weights is not None:
            centred *= np.sqrt(share)
        gram = centred @ np.swapaxes(centred, 1, 2)
        return polar_rows(np.swapaxes(largest_eigenvectors(gram, dim), 1, 2) @ centred)
    directions = np.linalg.eigh(np.swapaxes(weighted, 1, 2) @ centred)[1]
    return np.swapaxes(directions[..., : -dim - 1 : -1], 1, 2)


def _weighted_terms(
    coordinates: np.ndarray, root: np.ndarray, pairs: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Root weights (b, 1, nt) times terms, (b, p, nt), and the radius (b, 1, 1) as their unit.

    In units of the neighbourhood's radius all terms are of order one: a well-conditioned system.
    """
    b, k, count = coordinates.shape
    longest = np.sqrt((coordinates**2).sum(axis=1).max(axis=1))[:, None, None]
    radius = np.maximum(longest, TINY)
    coordinates = coordinates / radius
    rows = np.empty((b, 1 + k + len(pairs[0]), count))
    rows[:, :1] = root
    linear = rows[:, 1 : 1 + k]
    np.multiply(coordinates, root, out=linear)
    for term, (first, second) in enumerate(zip(*pairs, strict=True), start=1 + k):
        np.multiply(linear[:, first], coordinates[:, second], out=rows[:, term])
    return rows, radius


def _normal_equations(rows: np.ndarray) -> np.ndarray:
    normal = rows @ np.swapaxes(rows, 1, 2)
    diagonal = np.arange(normal.shape[1])
    normal[:, diagonal, diagonal] += RIDGE * normal[:, diagonal, diagonal].mean(axis=1)[:, None]
    return normal


def _in_units_of(coefficients: np.ndarray, radius: np.ndarray, k: int) -> np.ndarray:
    """Coefficients (b, p, r) of the coordinates, from those of the coordinates over the radius."""
    coefficients[:, 1 : 1 + k] /= radius
    coefficients[:, 1 + k :] /= radius**2
    return coefficients


def _fit_large(
    displacements: np.ndarray,
    weights: np.ndarray,
    frame: np.ndarray,
    pairs: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """One round in batched products: new frames (b, k, d) and root mean square misfits (b,)."""
    count, dim = displacements.shape[1], frame.shape[1]
    root = np.sqrt(weights)[:, None]  # (b, 1, nt)
    rows, _ = _weighted_terms(frame @ np.swapaxes(displacements, 1, 2), root, pairs)
    target = displacements * np.swapaxes(root, 1, 2)
    coefficients = np.linalg.solve(_normal_equations(rows), rows @ target)  # (b, p, d)
    target -= np.swapaxes(rows, 1, 2) @ coefficients
    squared = np.einsum("bnd,bnd->b", target, target)
    residual = np.sqrt(squared / (weights.sum(axis=1) * _freedom(rows.shape[1], count)))
    return polar_rows(coefficients[:, 1 : 1 + dim]), residual


def _freedom(terms: int, count: int) -> float:
    """Share of the misfit that is left: each fitted term takes up one neighbour's worth."""
    return max(1.0 - terms / count, 1.0 / count)


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
    freedom = _freedom(1 + frames.shape[1] + len(pairs[0]), count)
    _fit(displacements, roots, *pairs, rounds, freedom, frames, residual)
    return residual


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _find_operators(coordinates, weights, first, second, operators):  # type: ignore[no-untyped-def]
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
def _find_coefficients(  # type: ignore[no-untyped-def]
    coordinates, weights, targets, first, second, coefficients
):
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
    """Rows of the terms 1, t_a, t_a t_b in the system, which has the quadratic ones first."""
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
    """One weighted fit, for compiled callers: coefficients (p, r) of 1, t_a, t_a t_b into `found`.

    Coordinates t (k, nt), roots of weights (nt,), targets (r, nt). Memory for intermediate
    results: `scaled` like t, `rows` (p + r, nt) and `system` (p + r, p).
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
    _project(x, frame, t)
    _fill_terms(t, root, first, second, rows)
    _fill_targets(x, root, 1 + len(t) + len(first), rows)


@njit(inline="always")
def _project(x, frame, t):  # type: ignore[no-untyped-def]
    """Coordinates t (k, nt) of displacements x (d, nt) along a frame (k, d)."""
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
    """Rows root * [t_a t_b, 1, t_a] with t in units of its radius; t is rescaled in place.

    Returns one over the radius.
    """
    k, filled = t.shape
    constant = len(first)
    longest = 0.0
    for j in range(filled):
        length = 0.0
        for a in range(k):
            length += t[a, j] * t[a, j]
        longest = max(longest, length)
    # In units of the radius all terms are of order one: a well-conditioned system.
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
