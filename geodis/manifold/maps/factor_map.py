"""Base classes of the maps of factors, of their surfaces, and of geodesics on these.

A new kind of map consists of a subclass of `FactorMap`, a subclass of `Surface` for its pieces, and
a function that makes the map from `FactorData` or returns None if the kind does not apply. The
function is entered in `KINDS` of `map_kinds`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from geodis.base.text import findings_html
from geodis.manifold.doubts import doubt
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.maps.closed_coordinates import ClosedCoordinates
from geodis.manifold.maps.rigid_map import orthonormal_columns
from geodis.manifold.maps.samples import CoarseSample
from geodis.manifold.topology.topology_of import Topology, topology_of


@dataclass(frozen=True)
class Geodesic:
    """Positions along a geodesic of a factor's map, with a parallel frame.

    Attributes
    ----------
    lengths : ndarray of shape (q,)
        Increasing from 0.
    positions : ndarray of shape (q, r)
    frames : ndarray of shape (q, r, k_j)
        Orthonormal columns, parallel along the curve.
    direction : ndarray of shape (k_j,)
        Of unit length: ``frames[t] @ direction`` points along the curve.
    """

    lengths: np.ndarray
    positions: np.ndarray
    frames: np.ndarray
    direction: np.ndarray

    @property
    def velocities(self) -> np.ndarray:
        """Unit vectors along the curve, shape (q, r)."""
        return self.frames @ self.direction

    def at(self, lengths: np.ndarray) -> Geodesic:
        """Interpolate the curve at other lengths by cubics.

        Parameters
        ----------
        lengths : ndarray of shape (s,)
            Between the first and the last.

        Examples
        --------
        >>> angle = np.array([0.0, 0.2])
        >>> circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        >>> frames = np.stack([-np.sin(angle), np.cos(angle)], axis=1)[..., None]
        >>> between = Geodesic(angle, circle, frames, np.ones(1)).at(np.array([0.1]))
        >>> np.allclose(between.positions, [np.cos(0.1), np.sin(0.1)], atol=1e-5)
        True
        """
        left = np.clip(np.searchsorted(self.lengths, lengths) - 1, 0, len(self.lengths) - 2)
        right = left + 1
        gap = (self.lengths[right] - self.lengths[left])[:, None]
        t = (lengths - self.lengths[left])[:, None] / gap
        y, v = self.positions, self.velocities
        positions = (
            (1 + 2 * t) * (1 - t) ** 2 * y[left]
            + t * (1 - t) ** 2 * gap * v[left]
            + t**2 * (3 - 2 * t) * y[right]
            - t**2 * (1 - t) * gap * v[right]
        )
        frames = (1 - t)[..., None] * self.frames[left] + t[..., None] * self.frames[right]
        return Geodesic(lengths, positions, orthonormal_columns(frames), self.direction)

    def shifted(self, missed: np.ndarray) -> Geodesic:
        """Shift the end by a vector (r,), and other positions in proportion to length."""
        share = (self.lengths / self.lengths[-1])[:, None]
        return replace(self, positions=self.positions + share * missed)


class Surface(ABC):
    """One piece of a factor's map, as a surface on which geodesics are followed."""

    @abstractmethod
    def project(self, position: np.ndarray, frame: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Project a position on the surface, and a frame on the tangent space there.

        Parameters
        ----------
        position : ndarray of shape (r,)
        frame : ndarray of shape (r, k_j)

        Returns
        -------
        position : ndarray of shape (r,)
        frame : ndarray of shape (r, k_j)
        """

    @abstractmethod
    def frame_at(self, place: np.ndarray, axes: np.ndarray, position: np.ndarray) -> np.ndarray:
        """Return the image (r, k_j) of the factor's axes at a point.

        Parameters
        ----------
        place : ndarray of shape (c,)
            The point in the reduced space.
        axes : ndarray of shape (k_j, c)
        position : ndarray of shape (r,)
            The point in the map.
        """

    @abstractmethod
    def exp(
        self, position: np.ndarray, frame: np.ndarray, direction: np.ndarray, length: float
    ) -> Geodesic:
        """Follow the geodesic from a position of the surface in a direction.

        Parameters
        ----------
        position : ndarray of shape (r,)
        frame : ndarray of shape (r, k_j)
        direction : ndarray of shape (k_j,)
            In the frame; nonzero, of any length.
        length : float
        """

    @abstractmethod
    def log(self, position: np.ndarray, frame: np.ndarray, end: np.ndarray) -> Geodesic:
        """Find the shortest geodesic from a position of the surface to another position (r,)."""


def nonzero_direction(vector: np.ndarray) -> np.ndarray:
    """Return the vector, or the first axis if it is zero."""
    return vector if np.linalg.norm(vector) else np.eye(len(vector))[0]


# Above this misfit the name of a space is doubted.
ROUGH = 0.07
# Unrolled coordinates with a strain up to this value need no other map.
EVEN = 0.01
# How a map is drawn; `plots.geometry.factor_view` has a function for each.
MapView = Literal["line", "circle", "globe", "unrolled", "ball", "space"]


@dataclass(frozen=True)
class UnrolledFactor:
    """Unrolled coordinates of a factor.

    Attributes
    ----------
    coordinates : ndarray of shape (n, k_j)
        NaN for points without coordinates.
    pieces : tuple of (ndarray of int, ndarray of shape (b, k_j))
        Rows of every piece of the graph that has coordinates, and its periods.
    """

    coordinates: np.ndarray
    pieces: tuple[tuple[np.ndarray, np.ndarray], ...]


@dataclass(frozen=True)
class FactorData:
    """The data from which the map of one factor is made.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        The original points, which determine the orientation of the map.
    places : ndarray of shape (n, c)
        The points in the reduced space.
    axes : ndarray of shape (n, k_j, c)
        Axes of the factor; NaN for points without axes.
    unrolled : UnrolledFactor or None
        None if the factor was not unrolled.
    strain : float
        Relative error of lengths along the unrolled coordinates.
    samples : sequence of (ndarray of int, CoarseSample)
        Rows of every piece of the graph, largest first, and the sample to which its map is fitted.
    n_jobs : int, optional
    """

    points: np.ndarray
    places: np.ndarray
    axes: np.ndarray
    unrolled: UnrolledFactor | None = None
    strain: float = np.nan
    samples: Sequence[tuple[np.ndarray, CoarseSample]] = ()
    n_jobs: int | None = None

    @property
    def is_even(self) -> bool:
        """Whether the unrolled coordinates are isometric enough to be the only map.

        A curve has no intrinsic curvature; an unrolled factor of more dimensions may have some.
        """
        return self.unrolled is not None and (self.axes.shape[1] == 1 or self.strain <= EVEN)


@dataclass(frozen=True, eq=False)
class FactorMap(ABC):
    """Nearly isometric coordinates of one factor.

    Attributes
    ----------
    dim : int
        Dimension k_j of the factor.
    places : ndarray of shape (n, c)
        The fitted points in the reduced space.
    axes : ndarray of shape (n, k_j, c)
        Axes of the factor in the same space; NaN for points without axes.
    coordinates : ndarray of shape (n, r)
        NaN for points without coordinates.
    residual : float
        Root mean square difference between steps of the factor and of its map, relative to the
        root mean square of the steps.
    piece : ndarray of int, shape (n,)
        The piece of the map that each point belongs to, from 0 for the largest; -1 for none.
        Coordinates of different pieces are unrelated.
    pieces : tuple of Surface
        Largest first.
    """

    dim: int
    places: np.ndarray
    axes: np.ndarray
    coordinates: np.ndarray
    residual: float
    piece: np.ndarray
    pieces: tuple[Surface, ...]

    @property
    def n_pieces(self) -> int:
        """Number of pieces of the graph that have a map."""
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

    # Every kind of map must define the following.

    @property
    @abstractmethod
    def carriers(self) -> np.ndarray:
        """Rows (c,) of the fitted points from which the map is extended to new ones."""

    @abstractmethod
    def tangents(self) -> tuple[np.ndarray, np.ndarray]:
        """Return rows (c,) of the largest piece, and the frames (c, r, k_j) of the map there."""

    @abstractmethod
    def _distances(
        self, label: int, a: np.ndarray, b: np.ndarray, n_jobs: int | None
    ) -> np.ndarray:
        """Compute distances (p,) between fitted points a and b of one piece."""

    @abstractmethod
    def _extended(
        self,
        label: int,
        nearest: np.ndarray,
        places: np.ndarray,
        axes: np.ndarray,
        n_jobs: int | None,
    ) -> np.ndarray:
        """Extend coordinates (p, r) to points whose nearest carriers are in one piece."""

    # A kind may override the following.

    @property
    def periods(self) -> np.ndarray | None:
        """Periods (b, k_j) of the unrolled coordinates; None for a map that is not flat."""
        return None

    def unrolled(self, label: int = 0) -> tuple[np.ndarray, ClosedCoordinates] | None:
        """Return unrolled coordinates (n, k_j), NaN outside a piece, and how they close there.

        None for a map that is not flat.
        """
        return None

    @property
    def sample(self) -> CoarseSample | None:
        """Points and edges to which the largest piece was fitted; None without a fit."""
        return None

    def log_chart(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return rows (c,) of the largest piece and logarithms (c, k_j) at a central point."""
        return None

    def view(self, name: str) -> MapView:
        """Choose how the map is drawn for a factor with this name, which may be "unknown"."""
        if self.dim == 1 and self.n_coordinates == 1:
            return "line"
        if self.dim == 1 and self.n_coordinates == 2 and name in ("circle", "unknown"):
            return "circle"
        return "globe" if self.dim == 2 and self.n_coordinates == 3 else "space"

    def topology(self, flat: bool, *, n_jobs: int | None = None) -> Topology:
        """Identify the space that the factor is, with its radius, size and the evidence.

        Parameters
        ----------
        flat : bool
            Whether the factor is presumably flat, which is certain only if it was unrolled.
        n_jobs : int, optional
            Threads; one by default, -1 for every core.
        """
        rows, frames = self.tangents()
        known = True if self.periods is not None else (None if flat else False)
        named = topology_of(
            self.coordinates[rows],
            self.dim,
            frames=polar_rows(np.swapaxes(frames, 1, 2)),
            flat=known,
            n_jobs=n_jobs,
        )
        if self.residual > ROUGH:
            rough = doubt("rough-map", "name", misfit=self.residual)
            named = replace(named, doubts=(*named.doubts, rough))
        return named

    def largest_piece(self) -> FactorMap:
        """Return the map without the coordinates of other pieces."""
        inside = (self.piece == 0)[:, None]
        return replace(self, coordinates=np.where(inside, self.coordinates, np.nan))

    def distances(self, a: np.ndarray, b: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Compute geodesic distances (p,) between fitted points a and b in this factor alone.

        NaN for points without coordinates, infinite between pieces.
        """
        lost = (self.piece[a] < 0) | (self.piece[b] < 0)
        found = np.where(lost, np.nan, np.inf)
        for label in range(self.n_pieces):
            pairs = np.flatnonzero((self.piece[a] == label) & (self.piece[b] == label))
            found[pairs] = self._distances(label, a[pairs], b[pairs], n_jobs)
        found[(a == b) & ~lost] = 0.0
        return found

    def at(self, places: np.ndarray, axes: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Compute coordinates (p, r) of other points (out-of-sample extension).

        Parameters
        ----------
        places : ndarray of shape (p, c)
        axes : ndarray of shape (p, k_j, c)
            Axes of this factor at these points.
        n_jobs : int, optional
            Threads; one by default, -1 for every core.
        """
        carriers = self.carriers
        nearest = carriers[searcher(self.places[carriers], n_jobs=n_jobs)(places, 1)[0][:, 0]]
        found = np.empty((len(places), self.n_coordinates))
        for label in np.unique(self.piece[nearest]):
            own = np.flatnonzero(self.piece[nearest] == label)
            found[own] = self._extended(label, nearest[own], places[own], axes[own], n_jobs)
        return found
