"""Curved fits of every dimension and scale, tests of normal noise, and local regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geodis.manifold.local.exact_search import Apart
from geodis.manifold.local.neighbors import nearest_targets
from geodis.manifold.local.quadratic_fits import (
    RIDGE,
    principal_frame,
    quadratic_operators,
    tangent_terms,
)

# The ratio from which the dimension at a single point is clear.
CLEAR_AT_POINT = 4.0
# Numbers in a block of displacements and fits: 8 MB.
BLOCK_ENTRIES = 2**20
# A fit with p unknowns interpolates p neighbours; twice as many leave a residual to measure.
NEIGHBORS_PER_UNKNOWN = 2
# Power iterations for the largest eigenvalue of a residual, which leave an error of a few per cent.
POWER_STEPS = 12
# Up to this size a full eigenvalue solver is as fast.
SMALL_MATRIX = 8


def largest_fit(count: int) -> int:
    """Return the largest dimension whose fit has two neighbours per unknown.

    Examples
    --------
    >>> largest_fit(12), largest_fit(30)
    (2, 4)
    """
    dim = 0
    while NEIGHBORS_PER_UNKNOWN * tangent_terms(dim + 1) <= count:
        dim += 1
    return dim


@dataclass(frozen=True)
class FitRatios:
    """Ratios of the smallest tangent variance to the largest residual variance.

    Attributes
    ----------
    counts : tuple of int
        Neighbours of the fits, ascending: the scales.
    ratios : tuple of tuples of float
        For every scale the ratio for k = 1, 2, ..., as far as the neighbours allow.
    thickness : tuple of tuples of float
        The largest residual variance, in the same order and the squared units of the points.
    evenness : tuple of tuples of float
        The smallest residual variance divided by the largest.
    below : tuple of tuples of float
        The share of points at which a smaller dimension has a ratio of four or more.
    """

    counts: tuple[int, ...]
    ratios: tuple[tuple[float, ...], ...]
    thickness: tuple[tuple[float, ...], ...]
    evenness: tuple[tuple[float, ...], ...]
    below: tuple[tuple[float, ...], ...]


def curved_fit_ratios(
    points: np.ndarray,
    rows: np.ndarray,
    counts: Sequence[int],
    max_dim: int,
    apart: Apart | None = None,
) -> FitRatios:
    r"""Compute the ratio of tangent to residual variance for every dimension and scale.

    At each trial point the displacements to its nearest neighbours are rotated to their principal
    directions, y_1, ..., y_d with variances v_1 >= ... >= v_d, and for every k the remaining ones
    are fitted by a quadratic in the first k::

        y_b  ~  c + sum_{a<=k} y_a l_ab + sum_{a<=a'<=k} y_a y_a' q_aa'b,     b > k

        ratio_k = v_k / (largest eigenvalue of the covariance of the residuals),

    and the median over points is taken. If k is too small, the missing direction is in the
    residuals and is about as long as the last one fitted: the ratio is near 1 at every scale.

    The terms for k are the first of those for k + 1, so that one Cholesky factor of the largest
    normal equations gives the fits of all k.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Distinct.
    rows : ndarray of int, shape (t,)
        Trial points.
    counts : sequence of int
        Numbers of neighbours, ascending.
    max_dim : int
    apart : Apart, optional
        Points to exclude from each other's neighbourhoods.

    Returns
    -------
    FitRatios

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sphere = rng.standard_normal((1000, 3))
    >>> sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> one, two = curved_fit_ratios(sphere, np.arange(40), [30], 2).ratios[0]
    >>> one < 2 < 1000 < two
    True
    """
    d = points.shape[1]
    found: list[np.ndarray] = []
    near = nearest_targets(points, rows, counts[-1], apart)
    for count in counts:
        dim = min(max_dim, largest_fit(count), d - 1)
        size = max(1, BLOCK_ENTRIES // (count * (tangent_terms(dim) + 2 * d)))
        measured = [
            _fits_at(points, rows[start : start + size], near[start : start + size, :count], dim)
            for start in range(0, len(rows), size)
        ]
        by_point = np.concatenate(measured)
        middle = np.median(by_point, axis=0)  # (dim, 3)
        smaller = np.maximum.accumulate(by_point[..., 0], axis=1) >= CLEAR_AT_POINT
        below = np.concatenate([[0.0], smaller.mean(axis=0)[:-1]])[:dim]
        found.append(np.column_stack([middle, below]))
    columns = [tuple(tuple(map(float, one[:, j])) for one in found) for j in range(4)]
    return FitRatios(tuple(counts), *columns)


def _fits_at(points: np.ndarray, rows: np.ndarray, near: np.ndarray, dim: int) -> np.ndarray:
    """Return ratio, thickness and evenness for every k at some points, shape (t, dim, 3)."""
    count = near.shape[1]
    coordinates, variances = _principal_coordinates(points[near] - points[rows, None])
    unit = np.sqrt(np.maximum(variances[:, 0], np.finfo(float).tiny))
    coordinates /= unit[:, None, None]  # all terms of order one, for conditioning
    design = _nested_terms(coordinates[..., :dim])
    normal = np.swapaxes(design, 1, 2) @ design
    diagonal = np.arange(normal.shape[1])
    normal[:, diagonal, diagonal] *= 1 + RIDGE
    normal[:, diagonal, diagonal] += (
        RIDGE * np.trace(normal, axis1=1, axis2=2)[:, None] / len(diagonal)
    )
    whitened = np.linalg.solve(np.linalg.cholesky(normal), np.swapaxes(design, 1, 2) @ coordinates)
    left = np.einsum("tcb,tce->tbe", coordinates, coordinates)
    measured = np.empty((len(rows), dim, 3))
    used = 0
    for k in range(1, dim + 1):
        terms = tangent_terms(k)
        some = whitened[:, used:terms]
        left -= np.swapaxes(some, 1, 2) @ some
        used = terms
        # Each unknown uses one degree of freedom.
        smallest, largest = _extreme_eigenvalues(left[:, k:, k:])
        residual = largest / (count - terms)
        tangent = variances[:, k - 1] / variances[:, 0].clip(np.finfo(float).tiny)
        measured[:, k - 1, 0] = tangent / np.maximum(residual, np.finfo(float).eps)
        measured[:, k - 1, 1] = residual * unit**2
        measured[:, k - 1, 2] = smallest / np.maximum(largest, np.finfo(float).tiny)
    return measured


def _principal_coordinates(displacements: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return centred displacements along their principal directions, and their variances."""
    displacements -= displacements.mean(axis=1, keepdims=True)
    count, d = displacements.shape[1:]
    if count < d:  # the smaller product has the same eigenvalues
        gram = displacements @ np.swapaxes(displacements, 1, 2)
        values, vectors = np.linalg.eigh(gram)
        values = np.maximum(values[:, ::-1], 0.0)
        return vectors[..., ::-1] * np.sqrt(values)[:, None], values / count
    values, vectors = np.linalg.eigh(np.swapaxes(displacements, 1, 2) @ displacements)
    return displacements @ vectors[..., ::-1], np.maximum(values[:, ::-1], 0.0) / count


def _nested_terms(coordinates: np.ndarray) -> np.ndarray:
    """Return columns 1, y_1, y_1 y_1, y_2, y_1 y_2, y_2 y_2, ..., nested in k."""
    t, count, dim = coordinates.shape
    design = np.empty((t, count, tangent_terms(dim)))
    design[..., 0] = 1.0
    column = 1
    for a in range(dim):
        own = coordinates[..., a : a + 1]
        design[..., column : column + 1] = own
        design[..., column + 1 : column + 2 + a] = coordinates[..., : a + 1] * own
        column += a + 2
    return design


def _extreme_eigenvalues(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the extreme eigenvalues of symmetric positive matrices (t, m, m), shape (t,) each.

    For large matrices they are approximate: the smallest diagonal entry, and a power iteration.
    """
    if matrices.shape[1] <= SMALL_MATRIX:
        values = np.maximum(np.linalg.eigvalsh(matrices), 0.0)
        return values[:, 0], values[:, -1]
    # Start from the column of the largest diagonal entry, which is rarely orthogonal to the
    # leading eigenvector.
    along = np.diagonal(matrices, axis1=1, axis2=2)
    vector = np.take_along_axis(matrices, along.argmax(axis=1)[:, None, None], axis=2)
    largest = np.zeros(len(matrices))
    for _ in range(POWER_STEPS):
        length = np.linalg.norm(vector, axis=1, keepdims=True)
        vector = matrices @ (vector / np.maximum(length, np.finfo(float).tiny))
        largest = np.linalg.norm(vector[..., 0], axis=1)
    return np.maximum(along.min(axis=1), 0.0), largest


# Largest deviation from normal noise in standard errors, and the fewest directions for the test,
# because a few normal latents are plausible.
CLOSE, LEAST_DIM = 4.0, 5
ENOUGH = 100
# Points whose residuals are used; the spread of normal noise is then 1 within about .2.
SHELL_ROWS = 400


def is_normal_noise(points: np.ndarray) -> bool:
    r"""Test whether the points are indistinguishable from normal noise in every direction.

    With y the whitened points, Mardia's skewness and kurtosis of normal noise in d directions are::

        b_1 = mean over i, j of (y_i . y_j)^3,  n b_1 / 6 ~ chi^2, d (d + 1) (d + 2) / 6 freedoms
        b_2 = mean over i of |y_i|^4 ~ d (d + 2), with variance 8 d (d + 2) / n

    and along every principal direction the mean fourth power is 3, with variance 24 / n.

    Parameters
    ----------
    points : ndarray of shape (n, d)

    Returns
    -------
    bool
        False with fewer than five directions, or with too few points.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> is_normal_noise(rng.standard_normal((1000, 5)) * [1, 2, 3, 4, 5])
    True
    >>> is_normal_noise(rng.uniform(size=(1000, 5)))
    False
    """
    n, d = points.shape
    if d < LEAST_DIM or n < max(ENOUGH, 10 * d):
        return False
    centred = points - points.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / n)
    if values[0] <= 1e-12 * values[-1]:
        return False
    white = centred @ vectors / np.sqrt(values)
    fourth = float(((white**2).sum(axis=1) ** 2).mean())
    if abs(fourth - d * (d + 2)) > CLOSE * np.sqrt(8 * d * (d + 2) / n):
        return False
    if (np.abs((white**4).mean(axis=0) - 3) > CLOSE * np.sqrt(24 / n)).any():
        return False
    # The sum over pairs of third powers is the squared norm of the mean of y y y.
    third = np.einsum("ia,ib,ic->abc", white, white, white, optimize=True) / n
    freedoms = d * (d + 1) * (d + 2) / 6
    return bool(n * float((third**2).sum()) / 6 < freedoms + CLOSE * np.sqrt(2 * freedoms))


def shell_spread(
    points: np.ndarray, dim: int, n_neighbors: int, apart: Apart | None = None
) -> float:
    r"""Compute the spread of distances from a fitted surface, relative to normal noise.

    Points of a small spherical factor lie on a shell, at a constant distance from the surface of
    the other factors. Some points are predicted from their neighbours by a quadratic in the first
    principal directions. With the residuals r and eigenvalues l_a of their covariance::

        var |r|^2 / (2 sum_a l_a^2)

    is 1 for normal noise in any number of directions, more for heavy-tailed or uneven noise, and
    near 0 on a shell.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    dim : int
        Less than d.
    n_neighbors : int
        More than the unknowns of a fit.
    apart : Apart, optional
        Points to exclude from each other's neighbourhoods.

    Returns
    -------
    float

    Examples
    --------
    >>> from geodis import product_manifold
    >>> small = product_manifold("S^2 x S^1(.01)", 1000, random_state=0).points
    >>> noisy = product_manifold("S^2", 1000, noise=0.01, random_state=0).points
    >>> round(shell_spread(small, 2, 80), 1), shell_spread(noisy, 2, 80) > 0.8
    (0.1, True)
    """
    n, d = points.shape
    rows = np.unique(np.linspace(0, n - 1, SHELL_ROWS).astype(np.intp))
    near = nearest_targets(points, rows, n_neighbors, apart)
    first, second = np.triu_indices(dim)
    left = np.empty((len(rows), d))
    for r, own in enumerate(near):
        chords = points[own] - points[rows[r]]
        along = chords @ principal_frame(chords[None], np.ones((1, len(own))), dim)[0].T
        along /= max(np.abs(along).max(), np.finfo(float).tiny)
        design = np.hstack([np.ones((len(own), 1)), along, along[:, first] * along[:, second]])
        left[r] = np.linalg.pinv(design)[0] @ chords  # the constant term
    values = np.linalg.eigvalsh(np.atleast_2d(np.cov(left.T)))
    return float((left**2).sum(axis=1).var() / max(2 * (values**2).sum(), np.finfo(float).tiny))


# Offsets per coefficient of a quadratic fit; with fewer, the fit is linear.
PER_COEFFICIENT = 4
FEWEST = 60
# Weight of the farthest offset.
EDGE_WEIGHT = 0.1


def quadratic_count(dim: int) -> int:
    """Return the number of offsets for a local quadratic fit.

    Examples
    --------
    >>> [quadratic_count(dim) for dim in (1, 4, 5)]
    [60, 60, 84]
    """
    return max(FEWEST, PER_COEFFICIENT * tangent_terms(dim))


def regression_weights(offsets: np.ndarray) -> np.ndarray:
    """Compute the weights of values at offsets that give value and gradient at the origin.

    With ``w_i = 1 - (1 - EDGE_WEIGHT) |u_i|^2 / max |u|^2`` and the quadratic q that minimises
    ``sum_i w_i (y_i - q(u_i))^2``, ``q(0) = h_0 . y`` and ``grad q(0) = (h_1 . y, ...)``. This is
    exact for quadratics. With too few offsets for a quadratic, q is linear.

    Parameters
    ----------
    offsets : ndarray of shape (s, c, k)

    Returns
    -------
    ndarray of shape (s, 1 + k, c)

    Examples
    --------
    >>> u = np.random.default_rng(0).standard_normal((1, 40, 2))
    >>> values = 3 + u @ [1.0, -2.0] + u[..., 0] * u[..., 1]
    >>> np.einsum("sqc,sc->sq", regression_weights(u), values).round(6).tolist()
    [[3.0, 1.0, -2.0]]
    """
    c, k = offsets.shape[1:]
    squared = (offsets**2).sum(axis=2)
    farthest = np.maximum(squared.max(axis=1, keepdims=True), np.finfo(float).tiny)
    weights = 1 - (1 - EDGE_WEIGHT) * squared / farthest
    linear = c < PER_COEFFICIENT * tangent_terms(k)
    return quadratic_operators(offsets, weights, linear=linear)[:, : 1 + k]
