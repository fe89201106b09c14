"""What a user gives -> points whose straight distances are the ones that are meant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from geodis.base.check import InputError, check_choice, check_points
from geodis.manifold.doubts import Doubt, doubt
from geodis.manifold.preparation.scaled_distances import check_distances, scaled_distances

Preparation = Literal["sqrt"] | Callable[[Any], Any]
Metric = Literal["euclidean", "cosine", "correlation", "precomputed"] | Callable[[Any, Any], float]
METRICS = ("euclidean", "cosine", "correlation", "precomputed")
# A callable is asked for every pair.
MOST_ASKED = 5_000
# From this share on lengths in coordinates are not those that were given.
MUCH_LOST = 0.1
# ... but that they have near every point, up to one factor, where their ratio to what was given
# differs by less than this part from pair to pair: geodesic distances of spheres, circles and their
# products have .01 to .02, sums of such .08, noise of a tenth .12, city blocks .18.
EVEN_NEARBY = 0.05
# Volumes and curvatures take powers of lengths up to about the dimension: beyond these extents they
# are no longer numbers.
SMALLEST_EXTENT, LARGEST_EXTENT = 1e-30, 1e30


def count_roots(counts: Any) -> np.ndarray:
    r"""Roots of counts, 2 sqrt(x + 3 / 8), whose noise is the same whatever their mean.

    The standard deviation of Poisson's law is sqrt(r) at the mean r, that of these roots near one
    from r = 4 on (Anscombe 1948).

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
    """How rows are prepared, and by which metric they are compared.

    Attributes
    ----------
    prepare : "sqrt", callable or None
    metric : {"euclidean", "cosine", "correlation", "precomputed"} or callable
    """

    prepare: Preparation | None = None
    metric: Metric = "euclidean"

    def __post_init__(self) -> None:
        """Refuse what is unknown, before anything runs."""
        if self.prepare is not None and not callable(self.prepare):
            check_choice(self.prepare, "prepare", ("sqrt",))
        if not callable(self.metric):
            check_choice(self.metric, "metric", METRICS)
        if self.metric == "precomputed" and self.prepare is not None:
            raise InputError(
                "metric='precomputed' takes distances as they are, without prepare; got both."
            )

    @property
    def is_plain(self) -> bool:
        """Whether rows are points as they are."""
        return self.prepare is None and self.metric == "euclidean"

    @property
    def by_distances(self) -> bool:
        """Whether only distances are known, so that points have scaled coordinates."""
        return self.metric == "precomputed" or callable(self.metric)

    def points_of(self, X: Any) -> tuple[np.ndarray, tuple[Doubt, ...]]:
        """Points (n, d) of the rows that a fit gets, and what speaks against these.

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
        if len(points) > MOST_ASKED:
            raise InputError(
                f"A metric of your own is asked for every pair, of at most {MOST_ASKED:,} points; "
                f"got {len(points):,}: give distances, with metric='precomputed'."
            )
        from scipy.spatial.distance import pdist, squareform

        return _scaled(squareform(pdist(self._prepared(points), self.metric)))

    def new_points(self, X: Any, columns: int, *, name: str = "X") -> np.ndarray:
        """Points (p, d) of rows after a fit to so many columns."""
        if self.by_distances:
            raise InputError(
                "New points have no coordinates where the fit had distances alone: fit them "
                "together with the others."
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
        """Rows whose straight distances are those of the metric, up to a monotonic function.

        Of unit vectors |x - y|^2 = 2 (1 - cos), and correlation is the cosine of centred rows.
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
                f"{int((length == 0).sum())} that are."
            )
        return rows / length


def check_extent(points: np.ndarray, name: str = "X") -> np.ndarray:
    """Require values whose higher powers are numbers: volumes take the dimension's power of them.

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
    """Coordinates of points of which distances are known, and whether these are what was given."""
    found = scaled_distances(distances)
    if found.lost < MUCH_LOST:
        return found.points, ()
    if found.unevenness < EVEN_NEARBY:  # in every neighbourhood its own coordinates
        return found.points / found.stretch, ()
    return found.points, (doubt("not-euclidean", "rows", lost=found.lost),)
