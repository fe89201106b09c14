"""A geodesic of one factor's map, followed by small steps: places and directions on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from geodis.manifold.linalg import polar_rows


@dataclass(frozen=True)
class Track:
    """Places along a curve in a factor's map, and a frame that is carried along it.

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

    def at(self, lengths: np.ndarray) -> Track:
        """The same curve at other lengths, by cubics through places and directions.

        Parameters
        ----------
        lengths : ndarray of shape (s,)
            Between the first and the last.

        Examples
        --------
        >>> angle = np.array([0.0, 0.2])
        >>> circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        >>> frames = np.stack([-np.sin(angle), np.cos(angle)], axis=1)[..., None]
        >>> between = Track(angle, circle, frames, np.ones(1)).at(np.array([0.1]))
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
        between = (1 - t)[..., None] * self.frames[left] + t[..., None] * self.frames[right]
        frames = np.swapaxes(polar_rows(np.swapaxes(between, 1, 2)), 1, 2)
        return Track(np.asarray(lengths, float), positions, frames, self.direction)

    def shifted(self, missed: np.ndarray) -> Track:
        """The curve that ends elsewhere by so much (r,), the more shifted the farther along."""
        share = (self.lengths / self.lengths[-1])[:, None]
        return replace(self, positions=self.positions + share * missed)
