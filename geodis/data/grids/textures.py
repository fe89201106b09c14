"""Colour textures with the spectrum of natural images, and patches of photographs, by index."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import fft

from geodis.base.check import InputError, to_numpy
from geodis.base.jobs import njit
from geodis.data.files.arrays import FORMATS, image_pixels
from geodis.data.files.load import load_array

# Random numbers as a function of seed and index: independent of which images are drawn together.

_GOLDEN = 0x9E3779B97F4A7C15  # increment of the splitmix64 counter


def numbers_of_index(index: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return uniform numbers in [0, 1) that depend only on seed and index.

    Parameters
    ----------
    index : ndarray of int64, shape (n,)
    count : int
        Numbers per index.
    seed : int
        Different seeds give different numbers.

    Returns
    -------
    ndarray of float32, shape (n, count)

    Examples
    --------
    >>> few = numbers_of_index(np.array([7, 8]), 3, seed=0)
    >>> bool((few[1] == numbers_of_index(np.array([8]), 3, seed=0)).all())
    True
    """
    return _numbers(np.asarray(index, dtype=np.uint64), count, np.uint64(seed))


@njit(cache=True, nogil=True)
def _numbers(index: np.ndarray, count: int, seed: np.uint64) -> np.ndarray:
    numbers = np.empty((len(index), count), dtype=np.float32)
    for i in range(len(index)):
        counter = mix(mix(seed) ^ index[i])
        for j in range(count):
            counter += np.uint64(_GOLDEN)
            # A float32 has 24 bits of precision.
            numbers[i, j] = np.float32(mix(counter) >> np.uint64(40)) * np.float32(2**-24)
    return numbers


@njit(cache=True)
def mix(x: np.uint64) -> np.uint64:
    """Scramble 64 bits with the finaliser of the splitmix64 generator (Steele et al., 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


MEAN, SPREAD = 0.45, 0.25  # of the pixels before clipping to [0, 1]; as in photographs
# Matrix from brightness and two colour differences to red, green, blue; brightness varies most.
_COLOURS = np.array([[1.0, 0.25, 0.1], [1.0, -0.05, -0.2], [1.0, -0.25, 0.2]], dtype=np.float32)
_PHASE_BITS = 12  # 4096 phases are indistinguishable from more, and three fit into one number


def textures(index: np.ndarray, height: int, width: int, seed: int) -> np.ndarray:
    """Return colour noise with expected power proportional to 1 / f^2 at frequency f.

    This is the spectrum of natural images (Field, 1987). Phases and mean brightness are random, and
    the textures are periodic.

    Parameters
    ----------
    index : ndarray of int64, shape (n,)
        An index always gives the same texture; different indices give different textures.
    height, width : int
    seed : int
        Different seeds give different textures.

    Returns
    -------
    ndarray of float32, shape (n, height, width, 3)
        In [0, 1].
    """
    angles = np.arange(2**_PHASE_BITS) * (2 * np.pi / 2**_PHASE_BITS)
    circle = np.exp(1j * angles).astype(np.complex64)
    spectrum = _random_spectrum(
        np.asarray(index, dtype=np.uint64),
        _amplitude(height, width),
        circle,
        _COLOURS,
        np.uint64(seed),
    )
    noise = fft.irfft2(spectrum, s=(height, width), axes=(2, 3), overwrite_x=True)
    pixels = np.ascontiguousarray(noise.transpose(0, 2, 3, 1))  # (n, h, w, 3)
    pixels *= SPREAD
    pixels += MEAN
    return np.clip(pixels, 0, 1, out=pixels)


def _amplitude(height: int, width: int) -> np.ndarray:
    """Return amplitudes (h, w // 2 + 1) proportional to 1 / f, normalised for red of variance 1."""
    rows, columns = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None]
    frequency = np.hypot(rows, columns) * max(height, width)
    frequency[0, 0] = 1.0  # the mean varies as much as the lowest frequency
    amplitude = 1.0 / frequency
    variance = 2 * (amplitude**2).sum()  # the columns are half of the spectrum ...
    # ... except the first, and the last of an even width, which are their own mirror images: only
    # the real part of these waves remains, with half the power.
    own = [0, -1] if width % 2 == 0 else [0]
    variance -= (amplitude[:, own] ** 2).sum()
    amplitude[:, own] *= np.sqrt(2)
    variance *= (_COLOURS[0].astype(float) ** 2).sum() / (height * width) ** 2
    return (amplitude / np.sqrt(variance)).astype(np.float32)


@njit(cache=True, nogil=True)
def _random_spectrum(
    index: np.ndarray,
    amplitude: np.ndarray,
    circle: np.ndarray,
    colours: np.ndarray,
    seed: np.uint64,
) -> np.ndarray:
    """Return spectra (n, 3, h, w // 2 + 1) with phases given by seed, index and position."""
    height, width = amplitude.shape
    spectrum = np.empty((len(index), 3, height, width), dtype=np.complex64)
    mask = np.uint64(len(circle) - 1)
    for i in range(len(index)):
        counter = mix(mix(seed) ^ index[i])
        for row in range(height):
            for column in range(width):
                counter += np.uint64(0x9E3779B97F4A7C15)
                bits = mix(counter)
                first = amplitude[row, column] * circle[bits & mask]
                second = amplitude[row, column] * circle[(bits >> np.uint64(20)) & mask]
                third = amplitude[row, column] * circle[(bits >> np.uint64(40)) & mask]
                for c in range(3):
                    spectrum[i, c, row, column] = (
                        colours[c, 0] * first + colours[c, 1] * second + colours[c, 2] * third
                    )
    return spectrum


# Patches of the user's photographs, one for each index.


class Photographs:
    """Photographs of one size, and random patches of them.

    Parameters
    ----------
    pictures : array-like of shape (h, w), (h, w, c) or (p, h, w, c), or path
        uint8, or floats in [0, 1], grey (c = 1) or colour (c = 3, or 4 with alpha, which is
        dropped). A path may name one image, a folder of images of one size, or an array.
    height, width : int
        Size of the patches.

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
        """Return one patch per index, float32 (n, height, width, 3) in [0, 1].

        Picture and position are uniform over all possibilities and depend only on index and seed.
        """
        windows = sliding_window_view(self.pixels, self._patch, axis=(1, 2))  # type: ignore[call-overload]
        numbers = numbers_of_index(index, 3, seed)
        # (n, 3): the picture, and the upper left pixel of the patch
        place = (numbers.astype(float) * windows.shape[:3]).astype(np.int64)
        patches = windows[tuple(place.T)].transpose(0, 2, 3, 1)  # (n, c, h, w) before
        scale = np.float32(1 / 255 if patches.dtype == np.uint8 else 1)
        in_colour = patches if patches.shape[3] == 3 else np.repeat(patches, 3, axis=3)
        return in_colour.astype(np.float32) * scale


def _opened(pictures: Any) -> np.ndarray:
    """Return the pixels of an array, or of the file or folder at a path."""
    if not isinstance(pictures, str | os.PathLike):
        return to_numpy(pictures, "pictures")
    path = Path(pictures).expanduser()
    if path.suffix.lower() in FORMATS:
        if not path.is_file():
            raise InputError(f"{path} must be an image; there is none of this name.")
        return image_pixels(path, None)
    return load_array(pictures)
