"""A point as its positions on the maps of all factors, and those it takes as one factor varies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from geodis.manifold.maps.surfaces import Geodesic


@dataclass(frozen=True)
class Standpoint:
    """A position in the map of every factor.

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
        both = dict(enumerate(zip(self.positions, self.frames, strict=True))) | dict(ends)
        positions, frames = zip(*both.values(), strict=True)
        return Standpoint(positions, frames)

    def along(self, factor: int, way: Geodesic) -> Geodesic:
        """The curve in all maps side by side as one factor moves and the others are fixed.

        Its frames are block diagonal, a block for every factor.

        Examples
        --------
        >>> stand = Standpoint((np.zeros(1), np.ones(1)), (np.eye(1), np.eye(1)))
        >>> way = Geodesic(np.arange(2.0), np.arange(2.0)[:, None], np.ones((2, 1, 1)), np.ones(1))
        >>> stand.along(0, way).positions.tolist()
        [[0.0, 1.0], [1.0, 1.0]]
        """
        s = len(way.lengths)
        below = np.cumsum([0, *(frame.shape[0] for frame in self.frames)])
        right = np.cumsum([0, *(frame.shape[1] for frame in self.frames)])
        positions = np.tile(np.concatenate(self.positions), (s, 1))
        frames, direction = np.zeros((s, below[-1], right[-1])), np.zeros(right[-1])
        for j, frame in enumerate(self.frames):
            rows, columns = slice(*below[j : j + 2]), slice(*right[j : j + 2])
            frames[:, rows, columns] = way.frames if j == factor else frame
            if j == factor:
                positions[:, rows], direction[columns] = way.positions, way.direction
        return Geodesic(way.lengths, positions, frames, direction)

    def at_rest(self) -> Geodesic:
        """The one position in all maps side by side, where nothing moves."""
        k = self.frames[0].shape[1]
        still = Geodesic(np.zeros(1), self.positions[0][None], self.frames[0][None], np.zeros(k))
        return self.along(0, still)
