"""What an atlas says of points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Rows that a sentence names.
NAMED = 5


@dataclass(frozen=True, eq=False)
class AtlasPoints:
    """Points as an atlas sees them.

    Attributes
    ----------
    axes : ndarray of shape (p, k, d) or (p, k, c)
        In the order of the factors; along the directions that vary where that was asked for.
    coordinates : ndarray of shape (p, r_0 + r_1 + ...)
        In the maps of all factors, side by side; NaN outside, and no columns without maps.
    distances : ndarray of shape (p,)
        To the nearest fitted point.
    outside : ndarray of bool, shape (p,)
        Farther from it than its neighbours are, or nearer to a fitted point without axes. The
        axes there are those of the nearest fitted points with axes.
    """

    axes: np.ndarray
    coordinates: np.ndarray
    distances: np.ndarray
    outside: np.ndarray

    def __str__(self) -> str:
        """How many lie outside, and which."""
        return outside_sentence(np.flatnonzero(self.outside), len(self.outside), self.distances)


def outside_sentence(rows: np.ndarray, total: int, distances: np.ndarray) -> str:
    """Say how many points lie outside the fitted ones, and name some.

    Parameters
    ----------
    rows : ndarray of int
        Of the points outside.
    total : int
        Of all points.
    distances : ndarray of shape (total,)
        To the nearest fitted point.

    Examples
    --------
    >>> outside_sentence(np.array([2]), 3, np.array([0.1, 0.2, 7.0]))
    '1 of 3 points lies outside the fitted ones (row 2, up to 7 from the nearest)'
    """
    if not len(rows):
        return f"all {total:,} points lie among the fitted ones"
    lie = "points lies" if len(rows) == 1 else "points lie"
    some = ", ".join(str(row) for row in rows[:NAMED].tolist())
    named = f"row {some}" if len(rows) == 1 else f"rows {some}"
    named += ", ..." if len(rows) > NAMED else ""
    farthest = distances[rows].max()
    return (
        f"{len(rows):,} of {total:,} {lie} outside the fitted ones ({named}, up to "
        f"{farthest:.3g} from the nearest)"
    )
