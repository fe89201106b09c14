"""An object on a turntable under a lamp that comes from anywhere: a circle times a sphere."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geodis.base.check import check_int, check_random_state
from geodis.data.manifolds.draws import unit_vectors
from geodis.data.scenes.lit_object import Scenes

# A warm lamp, and a weak cool one on the other side, by which a lamp behind is seen.
WARM, COOL = np.array([1.0, 0.86, 0.62]), np.array([0.26, 0.42, 0.70])
AMBIENT = 0.1


class TurntableSample(NamedTuple):
    """Images, and what they show.

    Attributes
    ----------
    images : ndarray of uint8, shape (n, h, w, 3)
    angles : ndarray of shape (n,)
        Of the object about the upright, in radians from 0 to 2 pi.
    lights : ndarray of shape (n, 3)
        Unit vectors from the object to the warm lamp.
    """

    images: np.ndarray
    angles: np.ndarray
    lights: np.ndarray


def turntable_sample(
    n: int, image_size: int = 32, *, random_state: object = None
) -> TurntableSample:
    """Draw images of uniform angles and directions of the lamp.

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
    """Images of shape (n, h, w, 3) at angles (n,) and under lights (n, 3).

    With the brightness B(R, l) that `Scenes` gives a rotation and a light, an image is
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
    # Channel by channel: three numbers at a time would be slow.
    for channel, (bright, dim) in enumerate(zip(np.float32(WARM), np.float32(COOL), strict=True)):
        shown = warm * bright
        shown += cool * dim
        np.clip(shown, 0, 1, out=shown)
        shown *= np.float32(255)
        images[..., channel] = np.rint(shown, out=shown)
    return images
