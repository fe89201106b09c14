"""What one walks on: the map of a factor, with its surface, geodesics and directions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from geodis.base.check import InputError
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.exact_search import Search, searcher
from geodis.manifold.maps.factor_map import FactorMap
from geodis.manifold.maps.refined_map import PieceMap, RefinedMap
from geodis.manifold.maps.unrolled_map import UnrolledMap, UnrolledPiece
from geodis.manifold.walks.local_regression import quadratic_count, regression_weights
from geodis.manifold.walks.track import Track

# A surface is fitted to so many of the points that carry it, in shares of all of them.
SURFACE_SHARE = 0.01
# A step is this share of the neighbourhood that the surface is fitted to; no more than so many.
STEP_SHARE, MOST_STEPS = 0.5, 500
# The way to a place is aimed at again until it is missed by less, in shares of its length.
MISSED, AIMS = 1e-3, 8
NEWTON_ROUNDS = 3


class Ground(ABC):
    """The map of a factor, as a surface on which geodesics are followed.

    Attributes
    ----------
    dim : int
        Of the factor, k_j.
    """

    dim: int

    @abstractmethod
    def settled(self, position: np.ndarray, frame: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The place on the surface nearest to one beside it, and the frame turned into it.

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
    def frame_of(self, place: np.ndarray, axes: np.ndarray, position: np.ndarray) -> np.ndarray:
        """Where the map takes the factor's axes at a point, shape (r, k_j).

        Parameters
        ----------
        place : ndarray of shape (c,)
            Of the point, in the directions that were kept.
        axes : ndarray of shape (k_j, c)
        position : ndarray of shape (r,)
            Of the point in the map.
        """

    @abstractmethod
    def geodesic(
        self, position: np.ndarray, frame: np.ndarray, direction: np.ndarray, length: float
    ) -> Track:
        """Follow the geodesic from a place on the surface.

        Parameters
        ----------
        position : ndarray of shape (r,)
        frame : ndarray of shape (r, k_j)
        direction : ndarray of shape (k_j,)
            In the frame, of any length but zero.
        length : float
        """

    @abstractmethod
    def between(self, position: np.ndarray, frame: np.ndarray, end: np.ndarray) -> Track:
        """The shortest geodesic from a place on the surface to another place (r,)."""


@dataclass(frozen=True)
class FlatGround(Ground):
    """Unrolled coordinates: geodesics are straight lines there, closed along periods.

    Attributes
    ----------
    unrolled : UnrolledMap
    piece : UnrolledPiece
        Of it.
    """

    unrolled: UnrolledMap
    piece: UnrolledPiece
    dim: int

    def settled(self, position: np.ndarray, frame: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The place with the unrolled coordinates that are nearest."""
        flat = self._flat(position)
        return self.piece.positions(flat[None])[0], self.piece.frames(flat[None])[0]

    def frame_of(self, place: np.ndarray, axes: np.ndarray, position: np.ndarray) -> np.ndarray:
        """Axes lie along the unrolled coordinates everywhere."""
        return self.piece.frames(self._flat(position)[None])[0]

    def geodesic(
        self, position: np.ndarray, frame: np.ndarray, direction: np.ndarray, length: float
    ) -> Track:
        """A straight line in the unrolled coordinates."""
        flat = self._flat(position)
        along = direction / np.linalg.norm(direction)
        lengths = np.linspace(0.0, length, MOST_STEPS)
        straight = flat + lengths[:, None] * along
        return Track(lengths, self.piece.positions(straight), self.piece.frames(straight), along)

    def between(self, position: np.ndarray, frame: np.ndarray, end: np.ndarray) -> Track:
        """The straight line to the nearest image of the end."""
        apart = self._flat(end) - self._flat(position)
        apart = self.piece.closed.shortest(apart[None])[0]
        return self.geodesic(position, frame, _some_way(apart), float(np.linalg.norm(apart)))

    def _flat(self, position: np.ndarray) -> np.ndarray:
        """Unrolled coordinates of a place: Newton's steps from those of the nearest point."""
        rows = self.piece.rows
        away = ((self.unrolled.coordinates[rows] - position) ** 2).sum(axis=1)
        flat = self.unrolled.flat[rows[away.argmin()]]
        for _ in range(NEWTON_ROUNDS):
            missed = position - self.piece.positions(flat[None])[0]
            flat = flat + np.linalg.pinv(self.piece.frames(flat[None])[0]) @ missed
        return flat


@dataclass(frozen=True)
class CurvedGround(Ground):
    """A surface through the points that carry a refined map.

    Attributes
    ----------
    refined : RefinedMap
    piece : PieceMap
        Of it.
    search : callable
        Finds the nearest of the points that carry the piece.
    count : int
        How many of them a surface is fitted to.
    """

    refined: RefinedMap
    piece: PieceMap
    search: Search
    count: int
    dim: int

    def settled(self, position: np.ndarray, frame: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A quadratic surface over the frame; the frame is projected on its tangent space."""
        near = self.piece.coordinates[self.search(position[None], self.count)[0][0]] - position
        along = near @ frame
        beside = near - along @ frame.T
        told = regression_weights(along[None])[0] @ beside  # (1 + k, r)
        tangent = polar_rows(frame.T + told[1:])
        return position + told[0], polar_rows(frame.T @ tangent.T @ tangent).T

    def frame_of(self, place: np.ndarray, axes: np.ndarray, position: np.ndarray) -> np.ndarray:
        """Carried from the nearest points that carry the map."""
        refined = self.refined
        return self.piece.extended(refined.places, refined.axes, place[None], axes[None], 1)[1][0]

    def geodesic(
        self, position: np.ndarray, frame: np.ndarray, direction: np.ndarray, length: float
    ) -> Track:
        """Small steps straight on, each followed by the way back to the surface.

        A frame is projected on every tangent space that is reached, which is parallel transport
        in the limit of small steps; the curve goes along what is constant in it. Lengths are
        those of arcs: ``chord (phi / 2) / sin(phi / 2)`` where the direction turns by phi.
        """
        along = direction / np.linalg.norm(direction)
        radius = float(self.search(position[None], self.count)[1][0, -1])
        step = max(STEP_SHARE * radius, length / MOST_STEPS)
        lengths, positions, frames = [0.0], [position], [frame]
        for _ in range(2 * MOST_STEPS):
            if lengths[-1] >= length:
                break
            ahead = frame @ along
            # The last step is as long as what is left, and a little more: lengths are of arcs.
            here = min(step, 1.02 * (length - lengths[-1]) + 1e-9 * length)
            reached, frame = self.settled(position + here * ahead, frame)
            chord = float(np.linalg.norm(reached - position))
            turned = np.arccos(np.clip(ahead @ (frame @ along), -1.0, 1.0)) / 2
            lengths.append(lengths[-1] + chord * (turned / np.sin(turned) if turned > 0 else 1.0))
            if not lengths[-1] > lengths[-2]:
                break
            position = reached
            positions.append(position)
            frames.append(frame)
        made = len(positions)
        return Track(np.array(lengths[:made]), np.array(positions), np.array(frames), along)

    def between(self, position: np.ndarray, frame: np.ndarray, end: np.ndarray) -> Track:
        """Aimed by the development of the shortest path, and again by what was missed.

        What is still missed then, as beyond places where geodesics meet again, is spread along
        the way.
        """
        start, stop = self.search(np.stack([position, end]), 1)[0][:, 0]
        vectors, _ = self.piece.geodesics.logarithms(np.array([start]), n_jobs=1)
        if not np.isfinite(vectors[0, stop]).all():
            raise InputError("No way leads from start to end in this factor: it has a gap.")
        ends = self.piece.coordinates[[start, stop]] - [position, end]
        aim = frame.T @ (self.piece.frames[start] @ vectors[0, stop] + ends[0] - ends[1])
        inverse = np.eye(self.dim)
        best, least, last = None, np.inf, (aim, np.zeros(self.dim))
        for round_ in range(AIMS):
            length = float(np.linalg.norm(aim))
            track = self.geodesic(position, frame, _some_way(aim), length)
            track = track.at(np.linspace(0.0, min(length, track.lengths[-1]), len(track.lengths)))
            missed = end - track.positions[-1]
            error = track.frames[-1].T @ missed
            if np.linalg.norm(missed) < least:
                best, least = track.shifted(missed), float(np.linalg.norm(missed))
            if least < MISSED * length:
                break
            if round_:  # Broyden's update of how the aim acts on the end
                moved, changed = aim - last[0], last[1] - error
                acted = inverse @ changed
                share = moved @ acted
                if abs(share) > 1e-12 * (moved @ moved):
                    inverse += np.outer((moved - acted) / share, moved @ inverse)
            last = aim, error
            aim = aim + inverse @ error
        assert best is not None
        return best


def ground_of(own: FactorMap, row: int) -> Ground:
    """The ground of a factor around a fitted point, in whose piece it lies."""
    if isinstance(own, UnrolledMap):
        return FlatGround(own, own.pieces[own.piece[row]], own.dim)
    assert isinstance(own, RefinedMap)
    piece = own.pieces[own.piece[row]]
    carriers = len(piece.rows)
    count = min(max(quadratic_count(own.dim), int(SURFACE_SHARE * carriers)), carriers)
    return CurvedGround(own, piece, searcher(piece.coordinates, n_jobs=1), count, own.dim)


def _some_way(vector: np.ndarray) -> np.ndarray:
    """The vector, or any direction where it is zero."""
    return vector if np.linalg.norm(vector) else np.eye(len(vector))[0]
