"""Scenes of an object under rotation and light, and an object on a turntable under a lamp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from geodis.base.check import (
    InputError,
    check_choice,
    check_finite,
    check_int,
    check_numeric,
    check_random_state,
    check_real,
    to_numpy,
)
from geodis.base.jobs import blocks, check_jobs, in_threads
from geodis.base.progress import Stages
from geodis.data.grids.grid import PixelDtype
from geodis.data.manifolds.directions import (
    check_directions,
    check_rotations,
    orthonormal_rows,
    random_rotations,
    step_along,
    turns_about,
    unit_vectors,
)
from geodis.data.scenes.lighting import LIGHTINGS, LightName, SceneSample, SceneWalk, product_frames
from geodis.data.scenes.meshes import Mesh, blob

Moves: TypeAlias = Literal["both", "either", "rotation", "light"]

BLOCK = 64  # images that a thread draws at a time: about a megabyte of floats
SHOWN_FROM = 20_000  # number of images that takes seconds


class Scenes:
    r"""An object without symmetries under 3-D rotation and a light from any direction.

    The camera is orthographic and looks at the object's centre: x to the right, y up, z towards the
    camera. At rotation R and light l (a unit vector from the object to the light), a surface point
    with unit normal n has brightness ``paint (ambient + (1 - ambient) max(0, (R n) . l))``. Nothing
    is black, and there are no shadows. Turning R and l by 90 degrees in the image plane therefore
    turns the image, and images are continuous in R and l. In this setting GeoManCER finds SO(3) x
    S^2 from true latents and fails on pixels.

    Parameters
    ----------
    image_size : int
        Height and width.
    light : {"free", "attached", "circle", "latitude"}
        "free" is any direction: the product SO(3) x S^2. The others are controls that are not
        products and should not split: "attached" rotates with the object, which leaves SO(3);
        "circle" is any direction orthogonal to the object's third axis, l = R (cos a, sin a, 0),
        and "latitude" any direction whose height follows that of this axis, l_3 = 0.9 R_33.
        The last two are circles over SO(3), of dimension four: the first is twisted but
        homogeneous, the second is warped.
    rgb : bool
        Paint the object in slowly varying colours; otherwise it is white and images are grey.
    ambient : float
        Brightness where no light arrives, from 0 to 1.
    supersampling : int
        A pixel is the mean over a square of this many samples per side.
    mesh : Mesh, optional
        Another object, such as `geodis.data.scenes.meshes.cube()`, with its own paint if
        ``rgb``.
    n_jobs : int, optional
        Number of threads; all cores by default and for -1. Images do not depend on it.

    Examples
    --------
    >>> scenes = Scenes(image_size=32)
    >>> sample = scenes.sample(100, random_state=0)
    >>> print(sample)
    100 points of a manifold of dimension 5 in R^12
    factor  space  dim
         0  SO(3)    3
         1  S^2      2
    >>> sample.images.shape, sample.images.dtype
    ((100, 32, 32, 1), dtype('uint8'))
    >>> walk = scenes.walk(10, step=0.1, moves="either", random_state=0)
    >>> walk.images.shape, walk.moved[0].tolist()
    ((10, 2, 32, 32, 1), [[False, True]])
    """

    def __init__(
        self,
        image_size: int = 64,
        *,
        light: LightName = "free",
        rgb: bool = False,
        ambient: float = 0.2,
        supersampling: int = 2,
        mesh: Mesh | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.image_size = check_int(image_size, "image_size", low=1)
        self.light = check_choice(light, "light", get_args(LightName))
        self._lighting = LIGHTINGS[light]()
        self.rgb = bool(check_choice(rgb, "rgb", (False, True)))
        self.ambient = check_real(ambient, "ambient", low=0, high=1)
        self.supersampling = check_int(supersampling, "supersampling", low=1)
        if mesh is not None and not isinstance(mesh, Mesh):
            raise InputError(f"mesh must be a Mesh; got {type(mesh).__name__}.")
        self.mesh = blob(paint=self.rgb) if mesh is None else mesh
        check_jobs(n_jobs, default=-1)
        self.n_jobs = n_jobs

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width and channels."""
        return (self.image_size, self.image_size, 3 if self.rgb else 1)

    def render(
        self,
        rotations: Any,
        lights: Any,
        dtype: PixelDtype = "uint8",
        *,
        verbose: bool | int = True,
    ) -> np.ndarray:
        """Draw one image for every rotation and light.

        Parameters
        ----------
        rotations : array-like of shape (n, 3, 3) or (n, 9), or (n, 4)
            Matrices, or quaternions (real part first) of any nonzero length.
        lights : array-like of shape (n, 3)
            Directions from the object to the light, of any nonzero length.
        dtype : "uint8" or "float32"
            As float32, black is 0 and white is 1.
        verbose : bool or int
            Show progress on a terminal if there are many images.

        Returns
        -------
        ndarray of shape (n, h, w, c)
        """
        check_choice(dtype, "dtype", get_args(PixelDtype))
        turns, lights = check_rotations(rotations), check_directions(lights)
        if len(turns) != len(lights):
            raise InputError(
                f"There must be one light per rotation; got {len(turns)} rotations and "
                f"{len(lights)} lights."
            )
        return self._render(turns, lights, dtype, verbose)

    def sample(
        self, n: int, *, random_state: Any = None, verbose: bool | int = True
    ) -> SceneSample:
        """Draw images of uniform rotations and lights, with the true tangent frames.

        Parameters
        ----------
        n : int
        random_state : None, int or numpy Generator
        verbose : bool or int
            As in `render`.

        Returns
        -------
        SceneSample
        """
        n = check_int(n, "n", low=1)
        rng = check_random_state(random_state)
        turns, own = random_rotations(n, 3, rng), self._lighting.start(n, rng)
        lights = self._lighting.lights(turns, own)
        points = np.hstack([turns.reshape(n, 9), lights])
        images = self._render(turns, lights, "uint8", verbose)
        tangents = self._lighting.frames(turns, own)
        return SceneSample(points, tangents, self._lighting.names, images, turns, lights, self)

    def walk(
        self,
        n: int,
        *,
        step: float | Sequence[float] = 0.4,
        moves: Moves = "both",
        length: int = 2,
        random_state: Any = None,
        verbose: bool | int = True,
    ) -> SceneWalk:
        """Draw random walks with uniform starts; each image is then uniform as well.

        Parameters
        ----------
        n : int
            Number of walks.
        step : float or (float, float)
            Standard deviation of a step in radians, in each direction of rotation and light; give
            two numbers for different values.
        moves : {"both", "either", "rotation", "light"}
            What changes in a step: both factors, one of them at random, or always the same one.
        length : int
            Number of images per walk; 2 gives pairs.
        random_state : None, int or numpy Generator
        verbose : bool or int
            As in `render`.

        Returns
        -------
        SceneWalk
        """
        n = check_int(n, "n", low=1)
        length = check_int(length, "length", low=2)
        check_choice(moves, "moves", get_args(Moves))
        if moves != "both" and not self._lighting.moves_alone:
            raise InputError(
                f"moves must be 'both' because a light that is {self.light} moves with the object; "
                f"got moves={moves!r}."
            )
        steps = np.asarray(step, dtype=float)
        if steps.shape not in ((), (2,)) or not (np.isfinite(steps).all() and (steps >= 0).all()):
            raise InputError(f"step must be one or two non-negative numbers; got {step!r}.")
        rng = check_random_state(random_state)

        turns = np.empty((length, n, 3, 3))
        lights = np.empty((length, n, 3))
        turns[0], own = random_rotations(n, 3, rng), self._lighting.start(n, rng)
        lights[0] = self._lighting.lights(turns[0], own)
        moved = np.empty((length - 1, n, 2), dtype=bool)
        moved[:] = moves in ("both", "rotation"), moves in ("both", "light")
        if moves == "either":
            moved[:, :, 0] = rng.random((length - 1, n)) < 0.5
            moved[:, :, 1] = ~moved[:, :, 0]
        for t in range(1, length):
            by = steps * moved[t - 1]  # (n, 2)
            turns[t] = turns[t - 1] @ turns_about(by[:, :1] * rng.standard_normal((n, 3)))
            own = self._lighting.move(own, by[:, 1:], rng)
            lights[t] = self._lighting.lights(turns[t], own)
        images = self._render(turns.reshape(-1, 3, 3), lights.reshape(-1, 3), "uint8", verbose)
        return SceneWalk(
            images.reshape(length, n, *self.image_shape).swapaxes(0, 1),
            turns.swapaxes(0, 1),
            lights.swapaxes(0, 1),
            moved.swapaxes(0, 1),
        )

    def image_tangents(
        self,
        rotations: Any,
        lights: Any,
        tangents: Sequence[Any] | None = None,
        *,
        step: float = 0.05,
        orthonormal: bool = False,
    ) -> list[np.ndarray]:
        """Return derivatives of images along tangents of their rotations and lights.

        A tangent (dR, dl) is followed along ``R exp(s R^T dR)`` and the great circle from l along
        dl. The derivative is the difference of the images at s = step and s = -step, divided by 2
        step.

        Parameters
        ----------
        rotations, lights
            As in `render`.
        tangents : sequence of m array-likes of shape (n, k_j, 12), optional
            The frames of SO(3) and of S^2 by default.
        step : float
            In the units of points: .05 is a rotation by .035 rad, a pixel or two at the edge of the
            object in 64 x 64 images. Much smaller steps resolve the samples within pixels.
        orthonormal : bool
            Return orthonormal rows that span the derivatives, as `subspace_angles` expects. With
            the light from behind, the image hardly depends on the light, and the span of its
            derivatives is not informative.

        Returns
        -------
        list of m ndarrays of float32, shape (n, k_j, h * w * c)
        """
        turns, lights = check_rotations(rotations), check_directions(lights)
        step = check_real(step, "step", low=0)
        if step == 0:
            raise InputError("step must be above 0; got 0.")
        if tangents is None:
            tangents = product_frames(turns, lights)
        frames = [check_finite(check_numeric(to_numpy(f, "tangents"))) for f in tangents]
        if any(f.ndim != 3 or (f.shape[0], f.shape[2]) != (len(turns), 12) for f in frames):
            raise InputError(
                f"tangents must have shape ({len(turns)}, k, 12); got {[f.shape for f in frames]}."
            )
        derivatives = []
        for frame in frames:
            k = frame.shape[1]
            ends = [
                self._render(*step_along(turns, lights, side * step * frame), "float32", True)
                for side in (1, -1)
            ]
            rows = ((ends[0] - ends[1]) / (2 * step)).reshape(len(turns), k, -1)
            derivatives.append(orthonormal_rows(rows) if orthonormal else rows)
        return derivatives

    def _render(
        self, turns: np.ndarray, lights: np.ndarray, dtype: PixelDtype, verbose: bool | int
    ) -> np.ndarray:
        # numba is not needed to create scenes
        from geodis.data.scenes.meshes import draw_mesh

        n = len(turns)
        images = np.empty((n, *self.image_shape), dtype=dtype)
        mesh = self.mesh
        # Grey images use the mean of the colour channels.
        paint = mesh.paint if self.rgb else mesh.paint.mean(axis=1, keepdims=True)
        turns, lights = np.ascontiguousarray(turns), np.ascontiguousarray(lights)

        def draw(rows: slice) -> None:
            bright = np.empty(images[rows].shape, dtype=np.float32)
            draw_mesh(
                mesh.vertices,
                mesh.faces,
                mesh.normals,
                paint,
                turns[rows],
                lights[rows],
                self.ambient,
                self.supersampling,
                bright,
            )
            images[rows] = bright if dtype == "float32" else np.rint(bright * np.float32(255))

        jobs = min(check_jobs(self.n_jobs, default=-1), max(1, -(-n // BLOCK)))
        # The kernel releases the interpreter lock; plain threads, unlike numba's own, survive a
        # fork, which torch's DataLoader uses to start its workers.
        with Stages("scenes", verbose and n >= SHOWN_FROM) as stages, stages.stage("draw"):
            in_threads(draw, blocks(n, BLOCK), jobs, stages.advance)
        return images


# An object on a turntable under a lamp from any direction: a circle times a sphere.

# A warm lamp, and a weak cool one on the opposite side that shows a lamp behind the object.
WARM, COOL = np.array([1.0, 0.86, 0.62]), np.array([0.26, 0.42, 0.70])
AMBIENT = 0.1


class TurntableSample(NamedTuple):
    """Images with the angle and the lamp that they show.

    Attributes
    ----------
    images : ndarray of uint8, shape (n, h, w, 3)
    angles : ndarray of shape (n,)
        Rotation of the object about the vertical axis, in radians from 0 to 2 pi.
    lights : ndarray of shape (n, 3)
        Unit vectors from the object to the warm lamp.
    """

    images: np.ndarray
    angles: np.ndarray
    lights: np.ndarray


def turntable_sample(
    n: int, image_size: int = 32, *, random_state: object = None
) -> TurntableSample:
    """Draw images at uniform angles and lamp directions.

    Parameters
    ----------
    n : int
    image_size : int
    random_state : None, int or numpy Generator

    Returns
    -------
    TurntableSample

    Examples
    --------
    >>> turntable_sample(3, 16, random_state=0).images.shape
    (3, 16, 16, 3)
    """
    n = check_int(n, "n", low=1)
    rng = check_random_state(random_state)
    angles = rng.uniform(0, 2 * np.pi, n)
    lights = unit_vectors(n, 3, rng)
    return TurntableSample(turntable_images(angles, lights, image_size), angles, lights)


def turntable_images(angles: np.ndarray, lights: np.ndarray, image_size: int = 32) -> np.ndarray:
    """Draw images (n, h, w, 3) at angles (n,) and under lights (n, 3).

    With B(R, l) the brightness that `Scenes` gives a rotation and a light, an image is
    ``warm B(R, l) + cool B(R, -l)``, at most white.
    """
    angles = np.asarray(angles, dtype=float)
    turns = np.zeros((len(angles), 3, 3))
    turns[:, 0, 0] = turns[:, 2, 2] = np.cos(angles)
    turns[:, 0, 2] = np.sin(angles)
    turns[:, 2, 0] = -turns[:, 0, 2]
    turns[:, 1, 1] = 1.0
    scenes = Scenes(check_int(image_size, "image_size", low=1), ambient=AMBIENT)
    warm, cool = (
        scenes.render(turns, side * np.asarray(lights), "float32", verbose=0)[..., 0]
        for side in (1, -1)
    )
    images = np.empty((*warm.shape, 3), dtype=np.uint8)
    # Channel by channel, because operations on three numbers at a time would be slow.
    for channel, (bright, dim) in enumerate(zip(np.float32(WARM), np.float32(COOL), strict=True)):
        shown = warm * bright
        shown += cool * dim
        np.clip(shown, 0, 1, out=shown)
        shown *= np.float32(255)
        images[..., channel] = np.rint(shown, out=shown)
    return images
