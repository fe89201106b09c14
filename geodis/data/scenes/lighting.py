"""Lightings of a scene: independent of the object (a product), or coupled to its rotation.

A lighting has a state of its own besides the rotation (`own`). It computes the direction of the
light from both, moves the state by random steps, and gives the tangent frames of (rotation, light).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from geodis.base.check import to_numpy
from geodis.data.manifolds.directions import (
    great_circle,
    orthogonal_complement,
    orthonormal_rows,
    quaternions,
    skew_frames,
    turned,
    unit_vectors,
)
from geodis.data.manifolds.products import ManifoldSample

if TYPE_CHECKING:
    from geodis.data.scenes.lit_object import Scenes


# Direction of an attached light in the object's coordinates.
ATTACHED = np.array([2.0, 3.0, 6.0]) / 7.0
# The c of `LatitudeLight`: circles of radius .44 to 1.
FOLLOWS = 0.9


class Lighting(ABC):
    """The state of a light (n, ...), and its direction given a rotation."""

    names: tuple[str, ...]
    moves_alone = True

    @abstractmethod
    def start(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the states of n lights uniformly."""

    @abstractmethod
    def lights(self, turns: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Return unit vectors (n, 3) from the object to the light."""

    @abstractmethod
    def move(self, own: np.ndarray, by: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Take a Gaussian step of standard deviation `by` (n, 1) in every direction."""

    @abstractmethod
    def frames(self, turns: np.ndarray, own: np.ndarray) -> list[np.ndarray]:
        """Return orthonormal rows (n, k_j, 12) tangent to each factor at the points (R, l)."""


class FreeLight(Lighting):
    """A light from any direction: the product SO(3) x S^2."""

    names = ("SO(3)", "S^2")

    def start(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return unit_vectors(n, 3, rng)

    def lights(self, turns: np.ndarray, own: np.ndarray) -> np.ndarray:
        return own

    def move(self, own: np.ndarray, by: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        steps = by * rng.standard_normal((len(own), 2))
        return great_circle(own, np.einsum("na,nac->nc", steps, orthogonal_complement(own)))

    def frames(self, turns: np.ndarray, own: np.ndarray) -> list[np.ndarray]:
        return product_frames(turns, own)


class AttachedLight(Lighting):
    """A light that rotates with the object, l = R u with u fixed: SO(3) alone."""

    names = ("SO(3) with a light attached",)
    moves_alone = False

    def start(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.empty((n, 0))

    def lights(self, turns: np.ndarray, own: np.ndarray) -> np.ndarray:
        return turned(turns, ATTACHED)

    def move(self, own: np.ndarray, by: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return own

    def frames(self, turns: np.ndarray, own: np.ndarray) -> list[np.ndarray]:
        return [orthonormal_rows(_carried(turns, ATTACHED))]


class CircleLight(Lighting):
    """A light orthogonal to the object's third axis, l = R (cos a, sin a, 0).

    With w the rotation of R and a together, in coordinates whose first axis is the light and whose
    third is the object's, the metric |dR|^2 + |dl|^2 is

        2 w_1^2 + 3 w_2^2 + w_3^2 + 2 (da - w_3)^2:

    circles of constant length over SO(3), twisted because d(w_3) = +-w_1 ^ w_2 does not vanish. The
    space is therefore not even locally a product. It is homogeneous, and its symmetries give fields
    of constant norm that are not parallel.
    """

    names = ("SO(3) with a circle of lights",)

    def start(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(0, 2 * np.pi, n)

    def lights(self, turns: np.ndarray, own: np.ndarray) -> np.ndarray:
        return turned(turns, _on_circle(own))

    def move(self, own: np.ndarray, by: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return own + by[:, 0] * rng.standard_normal(len(own))

    def frames(self, turns: np.ndarray, own: np.ndarray) -> list[np.ndarray]:
        around = np.zeros((len(turns), 1, 12))
        around[:, 0, 9:] = turned(turns, _on_circle(own + np.pi / 2))  # dl / da
        rows = np.concatenate([_carried(turns, _on_circle(own)), around], axis=1)
        return [orthonormal_rows(rows)]


class LatitudeLight(CircleLight):
    """A light whose height follows that of the object's third axis, l_3 = c R_33.

    l = (r cos a, r sin a, c R_33) with r^2 = 1 - c^2 R_33^2: circles over SO(3) of varying length,
    a warped product.
    """

    names = ("SO(3) with a latitude of lights",)

    def lights(self, turns: np.ndarray, own: np.ndarray) -> np.ndarray:
        height = FOLLOWS * turns[:, 2, 2]
        radius = np.sqrt(1 - height**2)
        return np.stack([radius * np.cos(own), radius * np.sin(own), height], axis=1)

    def frames(self, turns: np.ndarray, own: np.ndarray) -> list[np.ndarray]:
        lights = self.lights(turns, own)
        height, radius = lights[:, 2], np.hypot(lights[:, 0], lights[:, 1])
        outwards = _on_circle(own)
        rows = np.zeros((len(turns), 4, 12))
        moves = skew_frames(turns)
        rows[:, :3, :9] = moves.reshape(-1, 3, 9)
        # dl = dl_3 (e_3 - l_3 / r (cos a, sin a, 0)) + r (-sin a, cos a, 0) da
        meridian = np.array([0.0, 0.0, 1.0]) - (height / radius)[:, None] * outwards
        rows[:, :3, 9:] = FOLLOWS * moves[:, :, 2, 2, None] * meridian[:, None]
        rows[:, 3, 9:] = _on_circle(own + np.pi / 2)
        return [orthonormal_rows(rows)]


LightName: TypeAlias = Literal["free", "attached", "circle", "latitude"]
LIGHTINGS: dict[LightName, type[Lighting]] = {
    "free": FreeLight,
    "attached": AttachedLight,
    "circle": CircleLight,
    "latitude": LatitudeLight,
}


def product_frames(turns: np.ndarray, lights: np.ndarray) -> list[np.ndarray]:
    """Return orthonormal frames of SO(3), (n, 3, 12), and of S^2, (n, 2, 12)."""
    of_turns = np.zeros((len(turns), 3, 12))
    of_turns[:, :, :9] = skew_frames(turns).reshape(-1, 3, 9)
    of_lights = np.zeros((len(turns), 2, 12))
    of_lights[:, :, 9:] = orthogonal_complement(lights)
    return [of_turns, of_lights]


def _carried(turns: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return tangents (n, 3, 12) of rotations with attached lights l = R u: dl = dR u."""
    moves = skew_frames(turns)  # (n, 3, 3, 3)
    fixed = np.broadcast_to(own, (len(turns), 3))
    lights = np.einsum("nkij,nj->nki", moves, fixed)
    return np.concatenate([moves.reshape(-1, 3, 9), lights], axis=2)


def _on_circle(angles: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)


# Results of `Scenes`: samples with their manifold, and walks without labels.


@dataclass(frozen=True, eq=False, repr=False)
class RenderedSample(ManifoldSample):
    """Images of an object, and the manifold of their rotations and lights.

    Attributes
    ----------
    points : ndarray of shape (n, 12)
        The rotation matrix, row by row, followed by the direction of the light.
    tangents : list of m ndarrays of shape (n, k_j, 12)
        Orthonormal rows: for a free light those of SO(3), (n, 3, 12), and of S^2, (n, 2, 12).
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
        The scenes that drew the images; the other attributes are those of `RenderedSample`.
    """

    scenes: Scenes

    @property
    def latents(self) -> np.ndarray:
        """Unit quaternion, with a non-negative real part first, and light: (n, 7)."""
        return np.hstack([quaternions(self.rotations), self.lights])

    def image_tangents(
        self, index: Any = None, *, step: float = 0.05, orthonormal: bool = False
    ) -> list[np.ndarray]:
        """Return the tangent directions of each factor in pixel space.

        Parameters
        ----------
        index : array-like of int, optional
            Rows of the sample; all by default. Each needs 2 k images.
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
    """Short random walks through scenes: neighbours in time, without labels.

    Attributes
    ----------
    images : ndarray of uint8, shape (n, length, h, w, c)
        ``images[:, 0]`` and ``images[:, 1]`` are neighbours in time.
    rotations : ndarray of shape (n, length, 3, 3)
    lights : ndarray of shape (n, length, 3)
    moved : ndarray of bool, shape (n, length - 1, 2)
        Whether the rotation, and whether the light, changed in a step.
    """

    images: np.ndarray
    rotations: np.ndarray
    lights: np.ndarray
    moved: np.ndarray

    def __repr__(self) -> str:
        n, length, h, w, c = self.images.shape
        return f"SceneWalk(n={n}, length={length}, images of {h} x {w} x {c})"
