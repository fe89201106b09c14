"""The map of a flat factor: its unrolled coordinates, closed along their periods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.manifold.flat.flat_axes import coordinates_from
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.maps.factor_map import FactorMap
from geodis.manifold.maps.flat_map import ClosedCoordinates, closed_coordinates
from geodis.manifold.maps.map_orientation import orientation_of

CIRCLE = 2


@dataclass(frozen=True, eq=False)
class UnrolledMap(FactorMap):
    """Unrolled coordinates, closed along their periods.

    Attributes
    ----------
    flat : ndarray of shape (n, k_j)
        Unrolled coordinates, centred where they do not close.
    closed : ClosedCoordinates
    turn : ndarray of shape (r, r)
        What orients the closed coordinates, every circle and every open direction on its own.
    """

    flat: np.ndarray
    closed: ClosedCoordinates
    turn: np.ndarray

    def distances(self, a: np.ndarray, b: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Differences of unrolled coordinates, around where that is shorter."""
        return self.closed.distances(self.flat[b] - self.flat[a])

    def at(self, places: np.ndarray, axes: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Steps from the nearest fitted points, read in the frames of both."""
        usable = np.flatnonzero(self.known)
        nearest = usable[searcher(self.places[usable], n_jobs=n_jobs)(places, 1)[0][:, 0]]
        flat = coordinates_from(
            places, axes, self.places[nearest], self.axes[nearest], self.flat[nearest]
        )
        return self.closed.close(flat) @ self.turn.T

    def tangents(self) -> tuple[np.ndarray, np.ndarray]:
        """Of all points that have coordinates."""
        rows = np.flatnonzero(self.known)
        return rows, self.closed.slopes(self.flat[rows], self.turn)


def unrolled_map(
    points: np.ndarray,
    places: np.ndarray,
    axes: np.ndarray,
    flat: np.ndarray,
    periods: np.ndarray,
    residual: float,
) -> UnrolledMap:
    """Make the map of a factor from its unrolled coordinates.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        As they were given: they orient the map.
    places : ndarray of shape (n, c)
    axes : ndarray of shape (n, k_j, c)
    flat : ndarray of shape (n, k_j)
        NaN where there are none.
    periods : ndarray of shape (b, k_j)
    residual : float
        Of the unrolling.

    Returns
    -------
    UnrolledMap
    """
    known = np.isfinite(flat).all(axis=1)
    flat = flat - (flat[known].mean(axis=0) if not len(periods) else 0.0)
    closed = closed_coordinates(periods, flat.shape[1])
    coordinates = closed.close(flat)
    turn = np.zeros((coordinates.shape[1],) * 2)
    n_circles = len(closed.forms)
    groups = np.split(np.arange(len(turn)), CIRCLE * np.arange(1, n_circles + 1))
    for columns in [*groups[:-1], *groups[-1][:, None]]:
        own = coordinates[known][:, columns]
        turn[np.ix_(columns, columns)] = orientation_of(own - own.mean(axis=0), points[known])
    return UnrolledMap(
        flat.shape[1], places, axes, coordinates @ turn.T, residual, flat, closed, turn
    )
