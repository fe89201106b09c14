"""Moving on the map of a factor: surfaces, and the geodesics that are followed on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from geodis.manifold.maps.rigid_map import orthonormal_columns


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
