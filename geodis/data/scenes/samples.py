"""What `Scenes` draws: a sample with its manifold, and walks without labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import to_numpy
from geodis.data.manifolds.products import ManifoldSample
from geodis.data.manifolds.turns import quaternions

if TYPE_CHECKING:
    from geodis.data.scenes.lit_object import Scenes


@dataclass(frozen=True, eq=False, repr=False)
class RenderedSample(ManifoldSample):
    """Images of an object, and the manifold of their rotations and lights.

    Attributes
    ----------
    points : ndarray of shape (n, 12)
        The rotation matrix, row by row, followed by the direction of the light.
    tangents : list of m ndarrays of shape (n, k_j, 12)
        Orthonormal rows. For a free light those of SO(3), (n, 3, 12), and of S^2, (n, 2, 12).
    names : tuple of m str
    images : ndarray of uint8, shape (n, h, w, c)
    rotations : ndarray of shape (n, 3, 3)
    lights : ndarray of shape (n, 3)
        Unit vectors.
    """

    images: np.ndarray
    rotations: np.ndarray
    lights: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class SceneSample(RenderedSample):
    """Images of scenes, and the manifold of their rotations and lights.

    Attributes
    ----------
    scenes : Scenes
        What drew the images; the others are those of `RenderedSample`.
    """

    scenes: Scenes

    @property
    def latents(self) -> np.ndarray:
        """Unit quaternion, real part first and never negative, and light: (n, 7)."""
        return np.hstack([quaternions(self.rotations), self.lights])

    def image_tangents(
        self, index: Any = None, *, step: float = 0.05, orthonormal: bool = False
    ) -> list[np.ndarray]:
        """Return the directions in pixel space that belong to each factor.

        Parameters
        ----------
        index : array-like of int, optional
            Rows of the sample; all of them unless given, of which each takes 2 k images.
        step, orthonormal
            As in `Scenes.image_tangents`.

        Returns
        -------
        list of m ndarrays of shape (n, k_j, h * w * c)
        """
        rows = slice(None) if index is None else to_numpy(index, "index")
        return self.scenes.image_tangents(
            self.rotations[rows],
            self.lights[rows],
            [frames[rows] for frames in self.tangents],
            step=step,
            orthonormal=orthonormal,
        )


@dataclass(frozen=True, eq=False, repr=False)
class SceneWalk:
    """Short random walks through scenes: what is next to what, without labels.

    Attributes
    ----------
    images : ndarray of uint8, shape (n, length, h, w, c)
        ``images[:, 0]`` and ``images[:, 1]`` are neighbours in time.
    rotations : ndarray of shape (n, length, 3, 3)
    lights : ndarray of shape (n, length, 3)
    moved : ndarray of bool, shape (n, length - 1, 2)
        Whether the rotation, and whether the light, took part in a step.
    """

    images: np.ndarray
    rotations: np.ndarray
    lights: np.ndarray
    moved: np.ndarray

    def __repr__(self) -> str:
        n, length, h, w, c = self.images.shape
        return f"SceneWalk(n={n}, length={length}, images of {h} x {w} x {c})"
