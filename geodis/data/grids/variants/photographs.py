"""Photographs of the user's own, and a patch of one of them for every index."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from geodis.base.check import InputError, to_numpy
from geodis.data.files.image_folder import FORMATS, image_pixels
from geodis.data.files.load import load_array
from geodis.data.grids.variants.numbers_of_index import numbers_of_index


class Photographs:
    """Pictures of one size in colour, and their patches.

    Parameters
    ----------
    pictures : array-like of shape (h, w), (h, w, c) or (p, h, w, c), or path
        uint8, or floats in [0, 1], grey (c = 1) or in colour (3, or 4 whose last is left out). The
        path of one image, of a folder of images of one size, or of an array.
    height, width : int
        Of the patches.

    Attributes
    ----------
    pixels : ndarray of shape (p, h, w, c)

    Examples
    --------
    >>> made = Photographs(np.arange(12, dtype=np.uint8).reshape(3, 4), 3, 3)
    >>> made.patches(np.array([5]), seed=0).shape
    (1, 3, 3, 3)
    """

    def __init__(self, pictures: Any, height: int, width: int) -> None:
        pixels = _opened(pictures)
        if pixels.ndim == 2:
            pixels = pixels[None, :, :, None]
        elif pixels.ndim == 3:
            pixels = pixels[None]
        if pixels.ndim != 4 or pixels.shape[3] not in (1, 3, 4) or not len(pixels):
            raise InputError(
                "Pictures must have shape (h, w), (h, w, c) or (p, h, w, c) with 1, 3 or 4 "
                f"channels; got {pixels.shape[-4:]}."
            )
        floats = pixels.dtype.kind == "f" and 0 <= pixels.min() <= pixels.max() <= 1  # no NaN
        if pixels.dtype != np.uint8 and not floats:
            raise InputError(
                "Pictures must be uint8, or floats in [0, 1]; got values of dtype "
                f"{pixels.dtype} from {pixels.min():g} to {pixels.max():g}."
            )
        if pixels.shape[1] < height or pixels.shape[2] < width:
            raise InputError(
                f"Pictures must be at least as large as the images, {height} x {width}; got "
                f"{pixels.shape[1]} x {pixels.shape[2]}."
            )
        self.pixels = pixels[..., :3]
        self._patch = (height, width)

    def patches(self, index: np.ndarray, seed: int) -> np.ndarray:
        """Return a patch of a picture for every index, float32 (n, height, width, 3) in [0, 1].

        Picture and place are drawn evenly from all there are; the same index and seed give the
        same patch.
        """
        windows = sliding_window_view(self.pixels, self._patch, axis=(1, 2))  # type: ignore[call-overload]
        numbers = numbers_of_index(index, 3, seed)
        # (n, 3): which picture, and the upper left pixel of the patch
        place = (numbers.astype(float) * windows.shape[:3]).astype(np.int64)
        patches = windows[tuple(place.T)].transpose(0, 2, 3, 1)  # (n, c, h, w) before
        scale = np.float32(1 / 255 if patches.dtype == np.uint8 else 1)
        in_colour = patches if patches.shape[3] == 3 else np.repeat(patches, 3, axis=3)
        return in_colour.astype(np.float32) * scale


def _opened(pictures: Any) -> np.ndarray:
    """Pixels of an array, or of the file or folder that a path names."""
    if not isinstance(pictures, str | os.PathLike):
        return to_numpy(pictures, "pictures")
    path = Path(pictures).expanduser()
    if path.suffix.lower() in FORMATS:
        if not path.is_file():
            raise InputError(f"{path} must be an image; there is none of this name.")
        return image_pixels(path, None)
    return load_array(pictures)
