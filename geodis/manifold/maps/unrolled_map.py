"""The map of a flat factor: its unrolled coordinates, closed along their periods."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from geodis.manifold.flat.flat_axes import coordinates_from
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.maps.factor_map import FactorMap
from geodis.manifold.maps.flat_map import ClosedCoordinates, closed_coordinates
from geodis.manifold.maps.map_orientation import orientation_of

CIRCLE = 2


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


@dataclass(frozen=True, eq=False)
class UnrolledPiece:
    """How the unrolled coordinates of one piece close.

    Attributes
    ----------
    rows : ndarray of int, shape (p,)
    closed : ClosedCoordinates
    turn : ndarray of shape (r, r')
        What orients the closed coordinates, every circle and every open direction on its own;
        rows of zeros where other pieces close in more directions.
    """

    rows: np.ndarray
    closed: ClosedCoordinates
    turn: np.ndarray

    def positions(self, flat: np.ndarray) -> np.ndarray:
        """Coordinates in the map (p, r) of unrolled ones."""
        return self.closed.close(flat) @ self.turn.T

    def frames(self, flat: np.ndarray) -> np.ndarray:
        """Where the map takes unit steps along the unrolled coordinates, (p, r, k_j)."""
        return self.closed.slopes(flat, self.turn)


@dataclass(frozen=True, eq=False)
class UnrolledMap(FactorMap):
    """Unrolled coordinates, closed along their periods, piece by piece.

    Attributes
    ----------
    flat : ndarray of shape (n, k_j)
        Unrolled coordinates, centred where they do not close.
    pieces : tuple of UnrolledPiece
        Largest first; coordinates of different ones have nothing in common.
    """

    flat: np.ndarray
    pieces: tuple[UnrolledPiece, ...]

    def distances(self, a: np.ndarray, b: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Differences of unrolled coordinates, around where that is shorter."""
        lost = (self.piece[a] < 0) | (self.piece[b] < 0)
        found = np.where(lost, np.nan, np.inf)
        for label, piece in enumerate(self.pieces):
            pairs = np.flatnonzero((self.piece[a] == label) & (self.piece[b] == label))
            found[pairs] = piece.closed.distances(self.flat[b[pairs]] - self.flat[a[pairs]])
        return found

    def at(self, places: np.ndarray, axes: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Steps from the nearest fitted points, read in the frames of both."""
        usable = np.flatnonzero(self.known)
        nearest = usable[searcher(self.places[usable], n_jobs=n_jobs)(places, 1)[0][:, 0]]
        flat = coordinates_from(
            places, axes, self.places[nearest], self.axes[nearest], self.flat[nearest]
        )
        told = np.empty((len(places), self.n_coordinates))
        for label, piece in enumerate(self.pieces):
            own = np.flatnonzero(self.piece[nearest] == label)
            told[own] = piece.positions(flat[own])
        return told

    def tangents(self) -> tuple[np.ndarray, np.ndarray]:
        """Of all points of the largest piece."""
        largest = self.pieces[0]
        return largest.rows, largest.frames(self.flat[largest.rows])


def unrolled_map(
    points: np.ndarray,
    places: np.ndarray,
    axes: np.ndarray,
    unrolled: UnrolledFactor,
    residual: float,
) -> UnrolledMap:
    """Make the map of a factor from its unrolled coordinates.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        As they were given: they orient the map.
    places : ndarray of shape (n, c)
    axes : ndarray of shape (n, k_j, c)
    unrolled : UnrolledFactor
    residual : float
        Of the unrolling.

    Returns
    -------
    UnrolledMap
    """
    n, dim = unrolled.coordinates.shape
    flat, piece_of = np.full((n, dim), np.nan), np.full(n, -1)
    pieces = []
    for label, (rows, periods) in enumerate(unrolled.pieces):
        own = unrolled.coordinates[rows]
        flat[rows] = own - (own.mean(axis=0) if not len(periods) else 0.0)
        piece_of[rows] = label
        closed = closed_coordinates(periods, dim)
        turn = _orientation(closed, closed.close(flat[rows]), points[rows])
        pieces.append(UnrolledPiece(rows, closed, turn))
    width = max(len(piece.turn) for piece in pieces)
    coordinates = np.full((n, width), np.nan)
    for label, piece in enumerate(pieces):
        turn = np.pad(piece.turn, ((0, width - len(piece.turn)), (0, 0)))
        pieces[label] = replace(piece, turn=turn)
        coordinates[piece.rows] = pieces[label].positions(flat[piece.rows])
    return UnrolledMap(dim, places, axes, coordinates, residual, piece_of, flat, tuple(pieces))


def _orientation(
    closed: ClosedCoordinates, coordinates: np.ndarray, points: np.ndarray
) -> np.ndarray:
    """What orients every circle and every open direction on its own, shape (r, r)."""
    turn = np.zeros((coordinates.shape[1],) * 2)
    n_circles = len(closed.forms)
    groups = np.split(np.arange(len(turn)), CIRCLE * np.arange(1, n_circles + 1))
    for columns in [*groups[:-1], *groups[-1][:, None]]:
        own = coordinates[:, columns]
        turn[np.ix_(columns, columns)] = orientation_of(own - own.mean(axis=0), points)
    return turn
