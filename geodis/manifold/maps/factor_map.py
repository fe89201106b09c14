"""What the map of a factor answers, whatever its kind: the base class of all kinds of maps.

A new kind of map is one file with two classes and a function: a `FactorMap`; a `Surface` for its
pieces, on which geodesics are followed; and a function that makes the map from `FactorData`, or
returns None where the kind does not apply. The function is entered in `KINDS` of `all_maps`.
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

# Moving on the map of a factor: surfaces, and the geodesics that are followed on them.


@dataclass(frozen=True)
class Geodesic:
    """Positions along a geodesic of a factor's map, and a frame transported along it.

    Attributes
    ----------
    lengths : ndarray of shape (q,)
        Increasing from 0.
    positions : ndarray of shape (q, r)
    frames : ndarray of shape (q, r, k_j)
        Orthonormal columns, carried by parallel transport from the first.
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
        """The same curve at other lengths, interpolated by cubics.

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
        """The curve with its end moved by a vector (r,); the shift grows linearly with length."""
        share = (self.lengths / self.lengths[-1])[:, None]
        return replace(self, positions=self.positions + share * missed)


class Surface(ABC):
    """One piece of a factor's map, as a surface on which geodesics are followed."""

    @abstractmethod
    def project(self, position: np.ndarray, frame: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest point of the surface, and the frame turned into the tangent space there.

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
        """Where the map takes the factor's axes at a point, shape (r, k_j).

        Parameters
        ----------
        place : ndarray of shape (c,)
            The point in the directions that were kept.
        axes : ndarray of shape (k_j, c)
        position : ndarray of shape (r,)
            The point in the map.
        """

    @abstractmethod
    def exp(
        self, position: np.ndarray, frame: np.ndarray, direction: np.ndarray, length: float
    ) -> Geodesic:
        """The geodesic that starts at a position of the surface in a direction.

        Parameters
        ----------
        position : ndarray of shape (r,)
        frame : ndarray of shape (r, k_j)
        direction : ndarray of shape (k_j,)
            In the frame, of any length but zero.
        length : float
        """

    @abstractmethod
    def log(self, position: np.ndarray, frame: np.ndarray, end: np.ndarray) -> Geodesic:
        """The shortest geodesic from a position of the surface to another position (r,)."""


def nonzero_direction(vector: np.ndarray) -> np.ndarray:
    """The vector, or the first axis where it is zero."""
    return vector if np.linalg.norm(vector) else np.eye(len(vector))[0]


# Above this misfit the name of a space comes with a doubt.
ROUGH = 0.07

# Unrolled coordinates whose lengths are wrong by no more need no other map beside theirs.
EVEN = 0.01
# How a map is drawn; `plots.map_views.factor_view` has a function for each.
MapView = Literal["line", "circle", "globe", "unrolled", "ball", "space"]


@dataclass(frozen=True)
class UnrolledFactor:
    """Unrolled coordinates of a factor.

    Attributes
    ----------
    coordinates : ndarray of shape (n, k_j)
        NaN where there are none.
    pieces : tuple of (ndarray of int, ndarray of shape (b, k_j))
        Rows of every piece of the graph that has coordinates, and their periods there.
    """

    coordinates: np.ndarray
    pieces: tuple[tuple[np.ndarray, np.ndarray], ...]


@dataclass(frozen=True)
class FactorData:
    """What the map of one factor is made from.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        As they were given: they orient the map.
    places : ndarray of shape (n, c)
        The points in the directions that were kept.
    axes : ndarray of shape (n, k_j, c)
        Of the factor; NaN where there are none.
    unrolled : UnrolledFactor or None
        Where the factor was unrolled.
    strain : float
        By how much lengths along the unrolled coordinates are wrong.
    samples : sequence of (ndarray of int, CoarseSample)
        Rows of every piece of the graph, largest first, and the points that carry a map of it.
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
        """Whether the unrolled coordinates are all that the map needs.

        A curve has no curvature; what was unrolled in more dimensions may have some.
        """
        return self.unrolled is not None and (self.axes.shape[1] == 1 or self.strain <= EVEN)


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

    # What every kind of map must answer.

    @property
    @abstractmethod
    def carriers(self) -> np.ndarray:
        """Fitted points between which the map is extended to new ones, shape (c,)."""

    @abstractmethod
    def tangents(self) -> tuple[np.ndarray, np.ndarray]:
        """Points that carry the largest piece (c,), and the frames (c, r, k_j) there."""

    @abstractmethod
    def _distances(
        self, label: int, a: np.ndarray, b: np.ndarray, n_jobs: int | None
    ) -> np.ndarray:
        """Distances (p,) of fitted points a and b of one piece."""

    @abstractmethod
    def _extended(
        self,
        label: int,
        nearest: np.ndarray,
        places: np.ndarray,
        axes: np.ndarray,
        n_jobs: int | None,
    ) -> np.ndarray:
        """Coordinates (p, r) of points next to carriers of one piece."""

    # What a kind may answer in its own way.

    @property
    def periods(self) -> np.ndarray | None:
        """Periods (b, k_j) of the unrolled coordinates; None for a map that is not flat."""
        return None

    def unrolled(self, label: int = 0) -> tuple[np.ndarray, ClosedCoordinates] | None:
        """Unrolled coordinates (n, k_j), NaN outside a piece, and how they close there.

        None for a map that is not flat.
        """
        return None

    @property
    def sample(self) -> CoarseSample | None:
        """Points and edges to which the largest piece was fitted; None where there are none."""
        return None

    def log_chart(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Points of the largest piece (c,), and their logarithms (c, k_j) at a central one."""
        return None

    def view(self, name: str) -> MapView:
        """How the map is drawn, as a factor of this name; "unknown" leaves it to the map."""
        if self.dim == 1 and self.n_coordinates == 1:
            return "line"
        if self.dim == 1 and self.n_coordinates == 2 and name in ("circle", "unknown"):
            return "circle"
        return "globe" if self.dim == 2 and self.n_coordinates == 3 else "space"

    def topology(self, flat: bool, *, n_jobs: int | None = None) -> Topology:
        """The name of the factor, its radius and size, and the evidence for them.

        Parameters
        ----------
        flat : bool
            Whether the factor was taken for flat. That is sure only where it was unrolled.
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
        """The same map without coordinates in the other pieces."""
        inside = (self.piece == 0)[:, None]
        return replace(self, coordinates=np.where(inside, self.coordinates, np.nan))

    def distances(self, a: np.ndarray, b: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Distances (p,) of fitted points a and b within this factor alone.

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
        """Out-of-sample extension: coordinates (p, r) of other points.

        Parameters
        ----------
        places : ndarray of shape (p, c)
        axes : ndarray of shape (p, k_j, c)
            Of this factor at these points.
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
