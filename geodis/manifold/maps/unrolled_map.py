"""The map of a flat factor: unrolled coordinates, closed along their periods."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from geodis.manifold.flat.flat_axes import coordinates_from
from geodis.manifold.maps.closed_coordinates import ClosedCoordinates, closed_coordinates
from geodis.manifold.maps.factor_map import (
    FactorData,
    FactorMap,
    Geodesic,
    MapView,
    Surface,
    nonzero_direction,
)
from geodis.manifold.maps.fit_map import orientation_of

# Number of positions along a geodesic, and of Newton steps to invert the closed coordinates.
STEPS, NEWTON_ROUNDS = 500, 3


@dataclass(frozen=True, eq=False)
class UnrolledPiece(Surface):
    """One piece of an unrolled map: geodesics are straight lines in the unrolled coordinates.

    Attributes
    ----------
    rows : ndarray of int, shape (p,)
    flat : ndarray of shape (p, k_j)
        Unrolled coordinates.
    closed : ClosedCoordinates
        The periods and the closed coordinates.
    """

    rows: np.ndarray
    flat: np.ndarray
    closed: ClosedCoordinates

    @cached_property
    def coordinates(self) -> np.ndarray:
        """Coordinates in the map, shape (p, r)."""
        return self.closed.close(self.flat)

    def project(self, position: np.ndarray, frame: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Project on the image of the unrolled coordinates."""
        flat = self._unrolled(position)[None]
        return self.closed.close(flat)[0], self.closed.slopes(flat)[0]

    def frame_at(self, place: np.ndarray, axes: np.ndarray, position: np.ndarray) -> np.ndarray:
        """Return the derivatives along the unrolled coordinates, which are the factor's axes."""
        return self.closed.slopes(self._unrolled(position)[None])[0]

    def exp(
        self, position: np.ndarray, frame: np.ndarray, direction: np.ndarray, length: float
    ) -> Geodesic:
        """Follow a straight line in the unrolled coordinates."""
        along = direction / np.linalg.norm(direction)
        lengths = np.linspace(0.0, length, STEPS)
        line = self._unrolled(position) + lengths[:, None] * along
        return Geodesic(lengths, self.closed.close(line), self.closed.slopes(line), along)

    def log(self, position: np.ndarray, frame: np.ndarray, end: np.ndarray) -> Geodesic:
        """Follow the straight line to the nearest image of the end."""
        apart = self._unrolled(end) - self._unrolled(position)
        apart = self.closed.shortest(apart[None])[0]
        return self.exp(position, frame, nonzero_direction(apart), float(np.linalg.norm(apart)))

    def _unrolled(self, position: np.ndarray) -> np.ndarray:
        """Find unrolled coordinates of a position by Newton steps from the nearest point."""
        away = ((self.coordinates - position) ** 2).sum(axis=1)
        flat = self.flat[away.argmin()]
        for _ in range(NEWTON_ROUNDS):
            missed = position - self.closed.close(flat[None])[0]
            flat = flat + np.linalg.pinv(self.closed.slopes(flat[None])[0]) @ missed
        return flat


@dataclass(frozen=True, eq=False)
class UnrolledMap(FactorMap):
    """Unrolled coordinates of every piece, closed along their periods.

    Attributes
    ----------
    flat : ndarray of shape (n, k_j)
        Unrolled coordinates, centred if they do not close.
    """

    pieces: tuple[UnrolledPiece, ...]
    flat: np.ndarray

    @property
    def carriers(self) -> np.ndarray:
        """All points that have coordinates."""
        return np.flatnonzero(self.known)

    @property
    def periods(self) -> np.ndarray:
        """Periods (b, k_j) of the unrolled coordinates of the largest piece."""
        return self.pieces[0].closed.periods

    def unrolled(self, label: int = 0) -> tuple[np.ndarray, ClosedCoordinates]:
        """Return unrolled coordinates (n, k_j), NaN outside a piece, and how they close there."""
        inside = (self.piece == label)[:, None]
        return np.where(inside, self.flat, np.nan), self.pieces[label].closed

    def tangents(self) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and frames of all points of the largest piece."""
        largest = self.pieces[0]
        return largest.rows, largest.closed.slopes(largest.flat)

    def view(self, name: str) -> MapView:
        """Draw a sheet or a block, with identified edges marked."""
        return "unrolled" if 2 <= self.dim <= 3 else super().view(name)

    def _distances(
        self, label: int, a: np.ndarray, b: np.ndarray, n_jobs: int | None
    ) -> np.ndarray:
        return self.pieces[label].closed.distances(self.flat[b] - self.flat[a])

    def _extended(
        self,
        label: int,
        nearest: np.ndarray,
        places: np.ndarray,
        axes: np.ndarray,
        n_jobs: int | None,
    ) -> np.ndarray:
        fitted = self.places[nearest], self.axes[nearest], self.flat[nearest]
        return self.pieces[label].closed.close(coordinates_from(places, axes, *fitted))


def unrolled_map(data: FactorData) -> UnrolledMap | None:
    """Make the map of a factor from its unrolled coordinates; None if it has none."""
    if data.unrolled is None:
        return None
    n, dim = data.unrolled.coordinates.shape
    flat, piece_of = np.full((n, dim), np.nan), np.full(n, -1)
    pieces = []
    for label, (rows, periods) in enumerate(data.unrolled.pieces):
        own = data.unrolled.coordinates[rows]
        flat[rows] = own - (own.mean(axis=0) if not len(periods) else 0.0)
        piece_of[rows] = label
        closed = closed_coordinates(periods, dim)
        turn = _orientation(closed, flat[rows], data.points[rows])
        pieces.append(UnrolledPiece(rows, flat[rows], replace(closed, turn=turn)))
    width = max(piece.closed.n_coordinates for piece in pieces)
    coordinates = np.full((n, width), np.nan)
    for label, piece in enumerate(pieces):
        more = width - piece.closed.n_coordinates
        closed = replace(piece.closed, turn=np.pad(piece.closed.turn, ((0, more), (0, 0))))
        pieces[label] = replace(piece, closed=closed)
        coordinates[piece.rows] = pieces[label].coordinates
    own = dim, data.places, data.axes, coordinates, data.strain, piece_of, tuple(pieces), flat
    return UnrolledMap(*own)


def _orientation(closed: ClosedCoordinates, flat: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Orient every circle and every open direction separately, by a matrix (r, r)."""
    coordinates = closed.close(flat)
    turn = np.zeros((coordinates.shape[1],) * 2)
    circles = 2 * len(closed.forms)
    columns = [[c, c + 1] for c in range(0, circles, 2)]
    for own in [*columns, *([c] for c in range(circles, len(turn)))]:
        centred = coordinates[:, own] - coordinates[:, own].mean(axis=0)
        turn[np.ix_(own, own)] = orientation_of(centred, points)
    return turn
