"""What the map of a factor answers: coordinates of points, and distances between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from geodis.base.shown_html import findings_html


@dataclass(frozen=True, eq=False)
class FactorMap(ABC):
    """Coordinates of one factor, as isometric as they can be.

    Attributes
    ----------
    dim : int
        Of the factor, k_j.
    places : ndarray of shape (n, c)
        The fitted points, in the directions that were kept.
    axes : ndarray of shape (n, k_j, c)
        Of the factor, along the same directions; NaN where there are none.
    coordinates : ndarray of shape (n, r)
        NaN where there are none.
    residual : float
        Root mean square of what steps of the factor and of its map differ by, over that of the
        steps.
    piece : ndarray of int, shape (n,)
        Which piece of the map each point belongs to, from 0 for the largest; -1 for none.
        Coordinates of different pieces have nothing in common.
    """

    dim: int
    places: np.ndarray
    axes: np.ndarray
    coordinates: np.ndarray
    residual: float
    piece: np.ndarray

    @property
    def n_pieces(self) -> int:
        """Pieces of the graph that have a map."""
        return int(self.piece.max()) + 1

    @property
    def n_coordinates(self) -> int:
        """Dimension r of the space that the map lies in."""
        return self.coordinates.shape[1]

    @property
    def known(self) -> np.ndarray:
        """Which of the fitted points have coordinates, shape (n,)."""
        return np.isfinite(self.coordinates).all(axis=1)

    def _repr_html_(self) -> str:
        rows = {
            "dimension": str(self.dim),
            "coordinates": f"{self.n_coordinates}, of {int(self.known.sum()):,} of "
            f"{len(self.coordinates):,} points",
            "steps are off by": f"{100 * self.residual:.1f} % of their length",
        }
        return findings_html("Map of a factor", rows)

    @abstractmethod
    def distances(self, a: np.ndarray, b: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Distances (p,) of fitted points a and b within this factor alone.

        NaN for points without coordinates, infinite between pieces.
        """

    @abstractmethod
    def at(self, places: np.ndarray, axes: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Coordinates (p, r) of other points, whose axes of this factor are given."""

    @abstractmethod
    def tangents(self) -> tuple[np.ndarray, np.ndarray]:
        """Points that carry the map (c,), and where it takes their axes, (c, r, k_j)."""
