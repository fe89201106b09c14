"""A place in every factor's map, and the places that it becomes when one factor moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from geodis.manifold.walks.track import Track


@dataclass(frozen=True)
class JointPlaces:
    """JointPlaces in the maps of all factors side by side.

    Attributes
    ----------
    targets : ndarray of shape (s, r)
    frames : ndarray of shape (s, r, k)
        Orthonormal columns: those of every factor in a block of its own.
    ahead : ndarray of shape (s, r)
        Unit vectors along the way; zeros where nothing moves.
    """

    targets: np.ndarray
    frames: np.ndarray
    ahead: np.ndarray


@dataclass(frozen=True)
class Standpoint:
    """A place in the map of every factor.

    Attributes
    ----------
    positions : tuple of ndarray of shape (r_j,)
        On the surfaces of the maps.
    frames : tuple of ndarray of shape (r_j, k_j)
        The factors' axes there.
    """

    positions: tuple[np.ndarray, ...]
    frames: tuple[np.ndarray, ...]

    def moved(self, ends: Mapping[int, tuple[np.ndarray, np.ndarray]]) -> Standpoint:
        """The same with other positions and frames in some factors."""
        both = list(zip(self.positions, self.frames, strict=True))
        for factor, end in ends.items():
            both[factor] = end
        return Standpoint(tuple(end[0] for end in both), tuple(end[1] for end in both))

    def along(self, factor: int, track: Track) -> JointPlaces:
        """The places along a curve in one factor's map, with the others held still.

        Examples
        --------
        >>> stand = Standpoint((np.zeros(1), np.ones(1)), (np.eye(1), np.eye(1)))
        >>> track = Track(np.arange(2.0), np.arange(2.0)[:, None], np.ones((2, 1, 1)), np.ones(1))
        >>> stand.along(0, track).targets.tolist()
        [[0.0, 1.0], [1.0, 1.0]]
        """
        s = len(track.lengths)
        widths = [len(position) for position in self.positions]
        dims = [frame.shape[1] for frame in self.frames]
        frames = np.zeros((s, sum(widths), sum(dims)))
        ahead = np.zeros(frames.shape[:2])
        targets = np.tile(np.concatenate(self.positions), (s, 1))
        below, right = np.cumsum(widths), np.cumsum(dims)
        for j, frame in enumerate(self.frames):
            rows, columns = (
                slice(below[j] - widths[j], below[j]),
                slice(right[j] - dims[j], right[j]),
            )
            frames[:, rows, columns] = track.frames if j == factor else frame
            if j == factor:
                targets[:, rows], ahead[:, rows] = track.positions, track.velocities
        return JointPlaces(targets, frames, ahead)

    def places(self) -> JointPlaces:
        """The one place where all factors are, as if nothing moved."""
        k = self.frames[0].shape[1]
        still = Track(np.zeros(1), self.positions[0][None], self.frames[0][None], np.zeros(k))
        return self.along(0, still)
