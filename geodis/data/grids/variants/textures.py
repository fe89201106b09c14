"""Colour textures with the spectrum of natural images, one for every index, made when asked for."""

from __future__ import annotations

import numpy as np
from scipy import fft

from geodis.base.compiled import njit
from geodis.data.grids.variants.numbers_of_index import mix

MEAN, SPREAD = 0.45, 0.25  # of the pixels, before they are held to [0, 1]; as in photographs
# Brightness and two differences of colours -> red, green, blue; brightness varies most.
_COLOURS = np.array([[1.0, 0.25, 0.1], [1.0, -0.05, -0.2], [1.0, -0.25, 0.2]], dtype=np.float32)
_PHASE_BITS = 12  # 4096 phases: more would not be told apart, and three fit into one number


def textures(index: np.ndarray, height: int, width: int, seed: int) -> np.ndarray:
    """Return noise in colour whose expected power is proportional to 1 / f^2 at frequency f.

    That is the spectrum of natural images (Field, 1987). The phases are random, the mean
    brightness too, and the textures wrap around at their borders.

    Parameters
    ----------
    index : ndarray of int64, shape (n,)
        The same index gives the same texture, alone or among others; no two are alike.
    height, width : int
    seed : int
        Another seed, other textures.

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
    """Amplitudes (h, w // 2 + 1) proportional to 1 / f, for red of variance 1."""
    rows, columns = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None]
    frequency = np.hypot(rows, columns) * max(height, width)
    frequency[0, 0] = 1.0  # the mean varies as much as the slowest wave
    amplitude = 1.0 / frequency
    variance = 2 * (amplitude**2).sum()  # the columns are half of the spectrum ...
    # ... except the first, and the last of an even width, which are their own mirror images: of
    # each of their waves only the real part is left, with half the power.
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
    """Spectra (n, 3, h, w // 2 + 1) with phases that are a function of seed, index and place."""
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
