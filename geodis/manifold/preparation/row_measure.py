"""Preparation of rows, metrics, and coordinates from distances by classical scaling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from geodis.base.check import (
    InputError,
    check_choice,
    check_finite,
    check_numeric,
    check_points,
    to_numpy,
)
from geodis.manifold.doubts import Doubt, doubt

# Number of points up to which all eigenvalues are computed; above, the 100 largest.
WHOLE = 1_200
MOST_COORDINATES = 100
# Memory holds two matrices of this size.
MOST_POINTS = 20_000
# Largest asymmetry, relative to the largest distance.
SYMMETRIC = 1e-6
# Neighbours and points at which local lengths are compared with the given distances.
NEAR, PLACES = 12, 500
# Coordinates with a smaller share of the largest variance are rounding errors.
NEGLIGIBLE = 1e-10


@dataclass(frozen=True)
class ScaledDistances:
    """Coordinates computed from distances.

    Attributes
    ----------
    points : ndarray of shape (n, c)
        Centred, in the units of the distances; columns are orthogonal, largest variance first.
    variances : ndarray of shape (c,)
    lost : float
        Share of the scaled squared distances that no real coordinates can represent: 0.0 for
        Euclidean distances, .25 for angles between points of a sphere.
    stretch : float
        Mean ratio of lengths in these coordinates to the given distances, between near points: 1.0
        for Euclidean distances.
    unevenness : float
        Standard deviation of that ratio over its mean. If small, lengths in every neighbourhood
        are correct up to the stretch.
    """

    points: np.ndarray
    variances: np.ndarray
    lost: float
    stretch: float = 1.0
    unevenness: float = 0.0


def scaled_distances(distances: Any) -> ScaledDistances:
    r"""Compute coordinates from distances by classical scaling (Torgerson 1952).

    With D the squared distances and the centring matrix J = I - 1 1^T / n, the eigenvectors and
    eigenvalues of::

        B = -J D J / 2 = V diag(l_1, l_2, ...) V^T,      points = V diag(sqrt(l))

    Coordinates are kept if l_i exceeds the size of the most negative eigenvalue, which measures how
    far the distances are from Euclidean. Squared distances of a product are sums,
    ``D = D_1 + ... + D_m``, so factors that are sampled independently keep separate coordinates:
    products remain products, whatever the distances within each factor.

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
        raise InputError(f"distances must not all be zero; got {n} identical points.")
    values, vectors = values[kept], vectors[:, kept]
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.where(vectors[largest, np.arange(len(values))] < 0, -1.0, 1.0)
    # |B|^2 is the sum of all squared eigenvalues, including those not computed.
    whole = float((product**2).sum())
    lost = 1 - min(1.0, float((values**2).sum()) / whole)
    points = vectors * signs * np.sqrt(values)
    return ScaledDistances(points, values / n, float(np.sqrt(lost)), *_near_lengths(points, matrix))


def check_distances(distances: Any) -> np.ndarray:
    """Return distances (n, n), checked to be finite, symmetric, zero on the diagonal."""
    matrix = check_finite(check_numeric(to_numpy(distances, "X"), "X"), "X")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"With metric='precomputed', X must hold distances, shape (n, n); got shape "
            f"{matrix.shape}."
        )
    if len(matrix) > MOST_POINTS:
        raise InputError(
            f"Distances can be scaled for at most {MOST_POINTS:,} points; got {len(matrix):,}."
        )
    uneven = np.abs(matrix - matrix.T).max(initial=0.0)
    if (matrix < 0).any() or matrix.diagonal().any() or uneven > SYMMETRIC * matrix.max(initial=0):
        raise InputError(
            "Distances must be symmetric, non-negative and zero on the diagonal; got a minimum of "
            f"{matrix.min():.3g}, {np.abs(matrix.diagonal()).max():.3g} on the diagonal, and an "
            f"asymmetry of {uneven:.3g}."
        )
    return matrix


def _near_lengths(points: np.ndarray, distances: np.ndarray) -> tuple[float, float]:
    """Return the mean ratio of lengths to given distances of near points, and its spread.

    Neighbours in either sense are used, because the coordinates may be folded. The spread is the
    standard deviation over the mean.
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
    """Return eigenvalues in descending order, the most negative last, and their vectors."""
    n = len(product)
    if n <= WHOLE:
        values, vectors = np.linalg.eigh(product)
        return values[::-1], vectors[:, ::-1]
    from scipy.sparse.linalg import eigsh

    # A fixed start makes the result reproducible.
    start = np.random.default_rng(0).standard_normal(n)
    values, vectors = eigsh(product, k=MOST_COORDINATES, which="LM", v0=start)
    order = np.argsort(-values)
    return values[order], vectors[:, order]


Preparation = Literal["sqrt"] | Callable[[Any], Any]
Metric = Literal["euclidean", "cosine", "correlation", "precomputed"] | Callable[[Any, Any], float]
METRICS = ("euclidean", "cosine", "correlation", "precomputed")
# Most points for which a callable metric is evaluated on every pair.
MOST_PAIRWISE = 5_000
# From this lost share on, lengths in the coordinates differ from the given distances ...
MUCH_LOST = 0.1
# ... unless they agree up to a constant factor in every neighbourhood, with less than this
# unevenness. Measured: geodesic distances on spheres, circles and their products .01 to .02, sums
# of these .08, noise of a tenth .12, city blocks .18.
EVEN_NEARBY = 0.05
# Volumes and curvatures are powers of lengths, which overflow or underflow beyond these extents.
SMALLEST_EXTENT, LARGEST_EXTENT = 1e-30, 1e30


def count_roots(counts: Any) -> np.ndarray:
    r"""Stabilise the variance of counts: 2 sqrt(x + 3 / 8) (Anscombe 1948).

    A Poisson variable of mean r has standard deviation sqrt(r); its transform has about one, from
    r = 4 on.

    Parameters
    ----------
    counts : array-like
        Not negative.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> count_roots([0, 4]).round(3)
    array([1.225, 4.183])
    """
    counts = np.asarray(counts, dtype=float)
    if counts.size and counts.min() < 0:
        raise InputError(f"Counts must not be negative; got {counts.min():g}.")
    return 2 * np.sqrt(counts + 3 / 8)


@dataclass(frozen=True)
class RowMeasure:
    """How rows are prepared and compared.

    Attributes
    ----------
    prepare : "sqrt", callable or None
    metric : {"euclidean", "cosine", "correlation", "precomputed"} or callable
    """

    prepare: Preparation | None = None
    metric: Metric = "euclidean"

    def __post_init__(self) -> None:
        """Check both choices."""
        if self.prepare is not None and not callable(self.prepare):
            check_choice(self.prepare, "prepare", ("sqrt",))
        if not callable(self.metric):
            check_choice(self.metric, "metric", METRICS)
        if self.metric == "precomputed" and self.prepare is not None:
            raise InputError(
                "metric='precomputed' takes distances, which cannot be prepared; got both."
            )

    @property
    def is_plain(self) -> bool:
        """Whether rows are used as they are."""
        return self.prepare is None and self.metric == "euclidean"

    @property
    def by_distances(self) -> bool:
        """Whether coordinates come from distances by classical scaling."""
        return self.metric == "precomputed" or callable(self.metric)

    def points_of(self, X: Any) -> tuple[np.ndarray, tuple[Doubt, ...]]:
        """Return the points (n, d) to fit, and doubts about them.

        Examples
        --------
        >>> RowMeasure(metric="cosine").points_of([[3.0, 4.0], [0.0, 2.0], [1.0, 0.0]])[0]
        array([[0.6, 0.8],
               [0. , 1. ],
               [1. , 0. ]])
        """
        if self.metric == "precomputed":
            return _scaled(check_extent(check_distances(X)))
        points = check_extent(check_points(X, name="X"))
        if not callable(self.metric):
            rows = self._rows(points)
            return (rows if self.prepare is None else check_extent(rows, "prepare(X)")), ()
        if len(points) > MOST_PAIRWISE:
            raise InputError(
                "A callable metric is evaluated on every pair, so points must be at most "
                f"{MOST_PAIRWISE:,}; got {len(points):,}: use distances and metric='precomputed'."
            )
        from scipy.spatial.distance import pdist, squareform

        return _scaled(squareform(pdist(self._prepared(points), self.metric)))

    def new_points(self, X: Any, columns: int, *, name: str = "X") -> np.ndarray:
        """Return points (p, d) for new rows, given the number of columns of the fit."""
        if self.by_distances:
            raise InputError(
                "New points have no coordinates if the fit used distances: fit them together with "
                "the others."
            )
        points = check_points(X, name=name, min_points=1)
        if points.shape[1] != columns:
            raise InputError(
                f"points must have {columns} columns as in the fit; got {points.shape[1]}."
            )
        return self._rows(points)

    def _prepared(self, points: np.ndarray) -> np.ndarray:
        if self.prepare is None:
            return points
        if self.prepare == "sqrt":
            return count_roots(points)
        return check_points(self.prepare(points), name="prepare(X)", min_points=1)

    def _rows(self, points: np.ndarray) -> np.ndarray:
        """Return rows whose Euclidean distance is a monotonic function of the metric.

        For unit vectors |x - y|^2 = 2 (1 - cos), and correlation is the cosine of centred rows.
        """
        rows = self._prepared(points)
        if self.metric == "euclidean":
            return rows
        if self.metric == "correlation":
            rows = rows - rows.mean(axis=1, keepdims=True)
        length = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        if not length.all():
            raise InputError(
                f"metric={self.metric!r} needs rows that are not "
                f"{'zero' if self.metric == 'cosine' else 'constant'}; got "
                f"{int((length == 0).sum())} such rows."
            )
        return rows / length


def check_extent(points: np.ndarray, name: str = "X") -> np.ndarray:
    """Check that powers of lengths neither overflow nor underflow.

    Examples
    --------
    >>> check_extent(np.array([[0.0], [1e120]]))
    Traceback (most recent call last):
    geodis.base.check.InputError: X must vary by 1e-30 to 1e+30; got 1e+120: give it in other units.
    """
    with np.errstate(over="ignore"):
        extent = np.ptp(points, axis=0).max(initial=0.0)
    if extent > 0 and not SMALLEST_EXTENT <= extent <= LARGEST_EXTENT:
        raise InputError(
            f"{name} must vary by {SMALLEST_EXTENT:g} to {LARGEST_EXTENT:g}; got {extent:.3g}: "
            "give it in other units."
        )
    return points


def _scaled(distances: np.ndarray) -> tuple[np.ndarray, tuple[Doubt, ...]]:
    """Return coordinates from distances, with a doubt if they do not preserve lengths."""
    found = scaled_distances(distances)
    if found.lost < MUCH_LOST:
        return found.points, ()
    if found.unevenness < EVEN_NEARBY:  # locally correct up to a factor
        return found.points / found.stretch, ()
    return found.points, (doubt("not-euclidean", "rows", lost=found.lost),)
