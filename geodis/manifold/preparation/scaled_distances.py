"""Distances alone -> coordinates whose squared distances are nearest: classical scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_finite, check_numeric, to_numpy

# Up to so many points all eigenvalues are computed; of more the largest.
WHOLE = 1_200
MOST_COORDINATES = 100
# The matrix of distances and its double are held.
MOST_POINTS = 20_000
# Distances are symmetric up to this part of the largest.
SYMMETRIC = 1e-6
# Neighbours whose distances say what becomes of lengths near a point, around so many points.
NEAR, PLACES = 12, 500
# Coordinates with less variance than this part of the largest are rounding.
NEGLIGIBLE = 1e-10


@dataclass(frozen=True)
class ScaledDistances:
    """Coordinates of points of which distances are known.

    Attributes
    ----------
    points : ndarray of shape (n, c)
        Mean zero, in the units of the distances; columns are orthogonal, longest first.
    variances : ndarray of shape (c,)
    lost : float
        Part of the scaled squares that no real coordinates have: 0.0 where the distances are those
        of points in space, .25 for angles between points of a sphere.
    stretch : float
        Mean ratio of lengths in these coordinates to the distances that were given, between points
        that are near: 1.0 where the distances are those of points in space.
    unevenness : float
        Standard deviation of that ratio over its mean. Where it is small the coordinates have the
        lengths that were given, up to the stretch, in every neighbourhood.
    """

    points: np.ndarray
    variances: np.ndarray
    lost: float
    stretch: float = 1.0
    unevenness: float = 0.0


def scaled_distances(distances: Any) -> ScaledDistances:
    r"""Coordinates by classical scaling (Torgerson 1952).

    With D the squared distances and J = I - 1 1^T / n the centring, the eigenvectors and
    eigenvalues of::

        B = -J D J / 2 = V diag(l_1, l_2, ...) V^T,      points = V diag(sqrt(l))

    and kept is every coordinate with l_i above the size of the most negative eigenvalue, which is
    what distances of no points in space leave. Squared distances of a product are sums,
    ``D = D_1 + ... + D_m``, so that where the factors are sampled independently their coordinates
    are side by side: products stay products, whatever the distances within each factor.

    Parameters
    ----------
    distances : array-like of shape (n, n)
        Symmetric, zero on the diagonal.

    Returns
    -------
    ScaledDistances

    Examples
    --------
    >>> rows = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0], [3.0, 4.0]])
    >>> apart = np.linalg.norm(rows[:, None] - rows, axis=2)
    >>> scaled_distances(apart).variances.round(6)
    array([4.  , 2.25])
    """
    matrix = check_distances(distances)
    n = len(matrix)
    squared = matrix.astype(float) ** 2
    middle = squared.mean(axis=0)
    product = -0.5 * (squared - middle - middle[:, None] + middle.mean())
    values, vectors = _leading(product)
    least = max(-values[-1], 0.0)
    kept = values > max(least, NEGLIGIBLE * values[0])
    if not kept.any():
        raise InputError(f"distances must differ; got {n} points that are all at one place.")
    values, vectors = values[kept], vectors[:, kept]
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.where(vectors[largest, np.arange(len(values))] < 0, -1.0, 1.0)
    # |B|^2 is the sum of all squared eigenvalues, of those that were not computed too.
    whole = float((product**2).sum())
    lost = 1 - min(1.0, float((values**2).sum()) / whole)
    points = vectors * signs * np.sqrt(values)
    return ScaledDistances(points, values / n, float(np.sqrt(lost)), *_near_lengths(points, matrix))


def check_distances(distances: Any) -> np.ndarray:
    """Return distances (n, n) that are finite, symmetric and zero on the diagonal."""
    matrix = check_finite(check_numeric(to_numpy(distances, "X"), "X"), "X")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"X must hold distances, shape (n, n), with metric='precomputed'; got shape "
            f"{matrix.shape}."
        )
    if len(matrix) > MOST_POINTS:
        raise InputError(
            f"Distances can be scaled for at most {MOST_POINTS:,} points; got {len(matrix):,}."
        )
    uneven = np.abs(matrix - matrix.T).max(initial=0.0)
    if (matrix < 0).any() or matrix.diagonal().any() or uneven > SYMMETRIC * matrix.max(initial=0):
        raise InputError(
            "Distances must be symmetric, non-negative and zero on the diagonal; got a smallest of "
            f"{matrix.min():.3g}, {np.abs(matrix.diagonal()).max():.3g} on the diagonal, and two "
            f"that differ by {uneven:.3g}."
        )
    return matrix


def _near_lengths(points: np.ndarray, distances: np.ndarray) -> tuple[float, float]:
    """Mean ratio of lengths to the distances of near points, and its spread over the mean.

    Near by what was given, and near in the coordinates: these may be folded.
    """
    from scipy.spatial.distance import cdist

    n = len(points)
    rows = np.unique(np.linspace(0, n - 1, PLACES).astype(int))
    given, length = distances[rows], cdist(points[rows], points)
    count = min(NEAR, n - 1)
    near = [np.argpartition(by, count, axis=1)[:, : count + 1] for by in (given, length)]
    given, length = (np.take_along_axis(by, np.hstack(near), axis=1) for by in (given, length))
    ratio = length[given > 0] / given[given > 0]
    if not len(ratio) or not ratio.mean() > 0:
        return 1.0, np.inf
    return float(ratio.mean()), float(ratio.std() / ratio.mean())


def _leading(product: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, largest first and the most negative last, and their vectors."""
    n = len(product)
    if n <= WHOLE:
        values, vectors = np.linalg.eigh(product)
        return values[::-1], vectors[:, ::-1]
    from scipy.sparse.linalg import eigsh

    # From the same start every time, so that results repeat.
    start = np.random.default_rng(0).standard_normal(n)
    values, vectors = eigsh(product, k=MOST_COORDINATES, which="LM", v0=start)
    order = np.argsort(-values)
    return values[order], vectors[:, order]
