"""The map of a factor that is not flat, or could not be unrolled: fitted to its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from geodis.manifold.flat.differences import Edges
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.maps.coarse_sample import CoarseSample
from geodis.manifold.maps.edge_steps import steps_within
from geodis.manifold.maps.extend_map import extended
from geodis.manifold.maps.factor_map import FactorMap
from geodis.manifold.maps.fit_map import fit_map
from geodis.manifold.maps.geodesics import Geodesics, geodesics_of
from geodis.manifold.maps.map_orientation import orientation_of


@dataclass(frozen=True, eq=False)
class PieceMap:
    """The map of one piece, on the few points that carry it.

    Attributes
    ----------
    rows : ndarray of int, shape (c,)
        Of the fitted points.
    coordinates : ndarray of shape (c, r)
    frames : ndarray of shape (c, r, k_j)
        Where the map takes the factor's axes.
    misfit : float
    edges : Edges or None
        Along which it was fitted, between its points.
    """

    rows: np.ndarray
    coordinates: np.ndarray
    frames: np.ndarray
    misfit: float
    edges: Edges | None = None

    @cached_property
    def geodesics(self) -> Geodesics:
        """Ways along the map, made when they are first asked for."""
        return geodesics_of(self.coordinates, self.frames)

    def extended(
        self,
        places: np.ndarray,
        axes: np.ndarray,
        targets: np.ndarray,
        target_axes: np.ndarray,
        n_jobs: int | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and frames of other points; see `extended`."""
        own = places[self.rows]
        search = searcher(own, n_jobs=n_jobs)
        return extended(
            own,
            axes[self.rows],
            self.coordinates,
            self.frames,
            search,
            targets,
            target_axes,
            n_jobs=n_jobs,
        )


@dataclass(frozen=True, eq=False)
class RefinedMap(FactorMap):
    """A map that was fitted to the steps along edges, piece by piece.

    Attributes
    ----------
    pieces : tuple of PieceMap
        Largest first; coordinates of different ones have nothing in common.
    nearest : ndarray of int, shape (n,)
        In the map, the nearest of the points that carry the piece's.
    beside : ndarray of shape (n, k_j)
        From there to the point, in that one's frame.
    """

    pieces: tuple[PieceMap, ...]
    nearest: np.ndarray
    beside: np.ndarray

    def distances(self, a: np.ndarray, b: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Lengths of geodesics along the map; see `Geodesics.distances`."""
        lost = (self.piece[a] < 0) | (self.piece[b] < 0)
        found = np.where(lost, np.nan, np.inf)
        for label, piece in enumerate(self.pieces):
            pairs = np.flatnonzero((self.piece[a] == label) & (self.piece[b] == label))
            from_a, to_b = a[pairs], b[pairs]
            found[pairs] = piece.geodesics.distances(
                self.nearest[from_a],
                self.nearest[to_b],
                self.beside[from_a],
                self.beside[to_b],
                n_jobs=n_jobs,
            )
        found[(a == b) & ~lost] = 0.0
        return found

    def at(self, places: np.ndarray, axes: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Steps from the nearest points that carry the map; see `extended`."""
        carriers = np.concatenate([piece.rows for piece in self.pieces])
        label = np.repeat(np.arange(len(self.pieces)), [len(piece.rows) for piece in self.pieces])
        nearest = label[searcher(self.places[carriers], n_jobs=n_jobs)(places, 1)[0][:, 0]]
        told = np.empty((len(places), self.n_coordinates))
        for number, piece in enumerate(self.pieces):
            own = np.flatnonzero(nearest == number)
            told[own] = piece.extended(self.places, self.axes, places[own], axes[own], n_jobs)[0]
        return told

    def tangents(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the largest piece."""
        return self.pieces[0].rows, self.pieces[0].frames


def refined_map(
    points: np.ndarray,
    places: np.ndarray,
    axes: np.ndarray,
    samples: Sequence[CoarseSample],
    pieces: Sequence[np.ndarray],
    *,
    n_jobs: int | None = None,
    random_state: np.random.Generator | None = None,
) -> RefinedMap:
    """Fit the map of a factor, a piece of the graph at a time, and extend it to all points.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        As they were given: they orient the map.
    places : ndarray of shape (n, c)
        In the directions that were kept.
    axes : ndarray of shape (n, k_j, c)
        Of the factor; NaN where there are none.
    samples : sequence of CoarseSample
        Of every piece.
    pieces : sequence of ndarray of int
        Rows of every piece.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.
    random_state : Generator, optional

    Returns
    -------
    RefinedMap
    """
    n, k = axes.shape[:2]
    fitted = []
    for sample in samples:
        i, j = sample.edges.i, sample.edges.j
        own_axes = axes[sample.rows]
        steps = steps_within(places[sample.rows], own_axes, i, j, n_jobs=n_jobs)
        rigid = fit_map(steps, sample.edges, places[sample.rows], random_state=random_state)
        turn = orientation_of(rigid.coordinates, points[sample.rows])
        frames = np.einsum("qr,crk->cqk", turn, rigid.frames)
        coordinates = rigid.coordinates @ turn.T
        fitted.append(PieceMap(sample.rows, coordinates, frames, rigid.misfit, sample.edges))
    width = max(piece.coordinates.shape[1] for piece in fitted)
    fitted = [_widened(piece, width) for piece in fitted]
    coordinates = np.full((n, width), np.nan)
    piece_of, nearest, beside = np.full(n, -1), np.full(n, -1), np.full((n, k), np.nan)
    for label, (piece, rows) in enumerate(zip(fitted, pieces, strict=True)):
        told = piece.extended(places, axes, places[rows], axes[rows], n_jobs)[0]
        near = searcher(piece.coordinates, n_jobs=n_jobs)(told, 1)[0][:, 0]
        coordinates[rows], piece_of[rows], nearest[rows] = told, label, near
        away = told - piece.coordinates[near]
        beside[rows] = np.einsum("prk,pr->pk", piece.frames[near], away)
    return RefinedMap(
        k,
        places,
        axes,
        coordinates,
        fitted[0].misfit,
        piece_of,
        tuple(fitted),
        nearest,
        beside,
    )


def _widened(piece: PieceMap, width: int) -> PieceMap:
    """The same map in a space of more dimensions."""
    more = width - piece.coordinates.shape[1]
    return replace(
        piece,
        coordinates=np.pad(piece.coordinates, ((0, 0), (0, more))),
        frames=np.pad(piece.frames, ((0, 0), (0, more), (0, 0))),
    )
