"""Losses of sharp and blurred images, whose distances grow with displacement."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numba
import numpy as np

from geodis.base.check import InputError, check_int, check_real, to_numpy
from geodis.base.jobs import in_threads, njit

# Gaussian blurs are truncated at four standard deviations, which is the radius.
TRUNCATION = 4.0


class BlurredLoss:
    """A loss with a separable blur: ``d(x, y) = MSE(x, y) + alpha MSE(k * x, k * y)``.

    This is equation 3.8 of the thesis on distances in VAEs, with the mean squared error as loss.
    Means are over pixels and channels of images in [0, 1]. Each channel is convolved with the
    kernel ``k = w w^T``, with zero padding that preserves the size.

    Parameters
    ----------
    weights : array-like of shape (2 r + 1,)
        w: a row of the kernel, up to a factor.
    alpha : float
        Weight of the blurred part.
    pixels : float
        Weight of the sharp part; with 0 only the blurred part is used.
    normalise : bool
        Scale k to sum to one.
    name : str

    Examples
    --------
    >>> loss = BlurredLoss([1, 1, 1], alpha=9.0)
    >>> x, y = np.zeros((2, 1, 5, 1, 1), np.float32)
    >>> x[0, 1], y[0, 3] = 1, 1
    >>> loss(x, y)  # (1 + 1) / 5, and 9 (4 / 9^2) / 5: the blurs overlap in one pixel of three
    array([0.48888889])
    """

    def __init__(
        self,
        weights: Any,
        alpha: float,
        *,
        pixels: float = 1.0,
        normalise: bool = True,
        name: str = "blurred",
    ) -> None:
        self.weights = to_numpy(weights, "weights").astype(float)
        if self.weights.ndim != 1 or len(self.weights) % 2 == 0:
            raise InputError(
                "weights must be one row of a kernel, of an odd number of entries; "
                f"got shape {self.weights.shape}."
            )
        self.alpha = check_real(alpha, "alpha", low=0)
        self.pixels = check_real(pixels, "pixels", low=0)
        total = self.weights.sum()
        if normalise and total == 0:
            raise InputError("weights must not sum to 0 if the kernel is to be normalised; got 0.")
        self.scale = 1 / total**2 if normalise else 1.0  # of the kernel w w^T
        self.name = name

    @property
    def footprint(self) -> int:
        """Memory in bytes per pixel and channel of an image of bytes."""
        return 6 if (self.weights == 1).all() else 32

    @property
    def radius(self) -> int:
        """Radius r of the kernel."""
        return len(self.weights) // 2

    @property
    def kernel(self) -> np.ndarray:
        """The kernel k, shape (2 r + 1, 2 r + 1)."""
        return self.scale * np.outer(self.weights, self.weights)

    def blur(self, images: Any) -> np.ndarray:
        """Blur images (n, h, w, c) by ``k * x`` for each channel; bytes are scaled to [0, 1]."""
        images = to_numpy(images, "images")
        unit = 255.0 if images.dtype == np.uint8 else 1.0
        return self._sums(images) * (self.scale / unit)

    def __call__(self, x: Any, y: Any) -> np.ndarray:
        """Return distances (n,) between images (n, h, w, c)."""
        from geodis.distances.factor_distances import perceived

        return perceived(x, y, loss=self)

    def parts(self, images: np.ndarray) -> list[tuple[float, np.ndarray]]:
        """Return weights and arrays whose weighted squared differences sum to the distance."""
        unit = 255.0 if images.dtype == np.uint8 else 1.0
        mean = 1 / (unit**2 * float(np.prod(images.shape[1:])))
        parts = [(self.pixels * mean, images)] if self.pixels else []
        if self.alpha:
            parts.append((float(self.alpha * self.scale**2 * mean), self._sums(images)))
        return parts

    def _sums(self, images: np.ndarray) -> np.ndarray:
        """Return the blurred images without the scale of the kernel."""
        n, h, w, c = images.shape
        if images.dtype == np.uint8 and (self.weights == 1).all():
            sums = np.empty(images.shape, np.int32)
            box_sums(images, self.radius, sums)
            return sums
        # Products with two band matrices: B_h x B_w^T.
        rows = images.transpose(0, 3, 1, 2).astype(np.float64, order="C")
        across = (rows.reshape(-1, w) @ self._band(w).T).reshape(n, c, h, w)
        columns = np.ascontiguousarray(across.transpose(0, 3, 1, 2))  # (n, w, c, h)
        down = (columns.reshape(-1, h) @ self._band(h).T).reshape(n, w, c, h)
        return down.transpose(0, 3, 1, 2)

    def _band(self, size: int) -> np.ndarray:
        """Return the matrix of the convolution along an axis: B[i, j] = w[r + i - j]."""
        lag = self.radius + np.arange(size)[:, None] - np.arange(size)[None, :]
        inside = (lag >= 0) & (lag < len(self.weights))
        return np.where(inside, self.weights[np.clip(lag, 0, len(self.weights) - 1)], 0.0)

    def __repr__(self) -> str:
        return f"BlurredLoss({self.name!r}, radius={self.radius}, alpha={self.alpha:g})"


def box_blur(radius: int, alpha: float | None = None, *, pixels: float = 1.0) -> BlurredLoss:
    """Make a loss with a box blur of (2 r + 1)^2 equal weights that sum to one.

    Parameters
    ----------
    radius : int
    alpha : float, optional
        Weight of the blurred part; (2 r + 1)^2 by default, 63^2 = 3969 for radius 31 as published.
    pixels : float
        Weight of the sharp part.

    Examples
    --------
    >>> box_blur(31)
    BlurredLoss('box:31', radius=31, alpha=3969)
    """
    size = 2 * check_int(radius, "radius", low=0) + 1
    alpha = float(size**2) if alpha is None else alpha
    return BlurredLoss(np.ones(size), alpha, pixels=pixels, name=f"box:{radius}")


def gaussian_blur(radius: int, alpha: float | None = None, *, pixels: float = 1.0) -> BlurredLoss:
    """Make a loss with a Gaussian blur of standard deviation r / 4, truncated at radius r.

    Parameters
    ----------
    radius, alpha, pixels
        As for `box_blur`.

    Examples
    --------
    >>> gaussian_blur(4).kernel.shape
    (9, 9)
    """
    size = 2 * check_int(radius, "radius", low=1) + 1
    alpha = float(size**2) if alpha is None else alpha
    step = np.arange(-radius, radius + 1) / (radius / TRUNCATION)
    return BlurredLoss(np.exp(-(step**2) / 2), alpha, pixels=pixels, name=f"gaussian:{radius}")


# Compiled sums over pixels.
#
# Images are rows, shape (m, p), and a pair is a row of each of two arrays. Each pair is summed by
# one thread, so that results do not depend on the number of threads. Differences of bytes are
# summed as integers, so that equal distances are exactly equal, as ranks require.

# 32,768 squares of bytes fit into 32 unsigned bits, which allows vectorised sums.
CHUNK = 32_768

# Entries per thread; for fewer, starting a thread takes as long as the sums.
WORTH_A_THREAD = 2**25


def sum_pairs(
    kernel: Callable[..., None],
    lefts: np.ndarray,
    rights: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
) -> np.ndarray:
    """Apply a kernel below to the pairs ``lefts[left[i]]``, ``rights[right[i]]``; shape (n,)."""
    n = len(left)
    out = np.empty(n, np.int64 if lefts.dtype == np.uint8 else np.float64)
    # numba.get_num_threads() would start its OpenMP layer, which resets torch's number of threads.
    most = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    threads = min(most, n * lefts.shape[1] // WORTH_A_THREAD)
    if threads < 2:
        kernel(lefts, rights, left, right, out)
        return out
    edges = np.linspace(0, n, threads + 1).astype(int)
    parts = [slice(*edge) for edge in pairwise(edges)]
    in_threads(lambda p: kernel(lefts, rights, left[p], right[p], out[p]), parts, threads)
    return out


@njit(cache=True, nogil=True)
def byte_squares(lefts, rights, left, right, out):  # type: ignore[no-untyped-def]
    """out_i = sum_k (lefts[left_i, k] - rights[right_i, k])^2 for bytes."""
    length = lefts.shape[1]
    for i in range(len(left)):
        total = np.int64(0)
        for begin in range(0, length, CHUNK):
            end = min(length, begin + CHUNK)
            a = lefts[left[i], begin:end]
            b = rights[right[i], begin:end]
            part = np.uint32(0)
            for k in range(end - begin):
                step = np.int16(np.int16(a[k]) - np.int16(b[k]))
                part = np.uint32(part + np.uint32(np.int32(step) * np.int32(step)))
            total += np.int64(part)
        out[i] = total


@njit(cache=True, nogil=True)
def byte_gaps(lefts, rights, left, right, out):  # type: ignore[no-untyped-def]
    """out_i = sum_k |lefts[left_i, k] - rights[right_i, k]| for bytes."""
    length = lefts.shape[1]
    for i in range(len(left)):
        total = np.int64(0)
        for begin in range(0, length, CHUNK):
            end = min(length, begin + CHUNK)
            a = lefts[left[i], begin:end]
            b = rights[right[i], begin:end]
            part = np.uint32(0)
            for k in range(end - begin):
                step = np.int16(np.int16(a[k]) - np.int16(b[k]))
                part = np.uint32(part + np.uint32(abs(np.int32(step))))
            total += np.int64(part)
        out[i] = total


# Sums of floats may be reordered ("reassoc") for vectorisation.
FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=FAST)
def float_squares(lefts, rights, left, right, out):  # type: ignore[no-untyped-def]
    """out_i = sum_k (lefts[left_i, k] - rights[right_i, k])^2, summed in double precision."""
    for i in range(len(left)):
        a = lefts[left[i]]
        b = rights[right[i]]
        total = 0.0
        for k in range(len(a)):
            step = np.float64(a[k]) - np.float64(b[k])
            total += step * step
        out[i] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def float_gaps(lefts, rights, left, right, out):  # type: ignore[no-untyped-def]
    """out_i = sum_k |lefts[left_i, k] - rights[right_i, k]|, summed in double precision."""
    for i in range(len(left)):
        a = lefts[left[i]]
        b = rights[right[i]]
        total = 0.0
        for k in range(len(a)):
            total += abs(np.float64(a[k]) - np.float64(b[k]))
        out[i] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def inner_products(lefts, rights, left, right, out):  # type: ignore[no-untyped-def]
    """out_i = sum_k lefts[left_i, k] rights[right_i, k], summed in double precision."""
    for i in range(len(left)):
        a = lefts[left[i]]
        b = rights[right[i]]
        total = 0.0
        for k in range(len(a)):
            total += np.float64(a[k]) * np.float64(b[k])
        out[i] = total


@njit(cache=True, nogil=True)
def box_sums(images, radius, out):  # type: ignore[no-untyped-def]
    """out[i, y, x, c] = sum of images[i, y + u, x + v, c] over |u|, |v| <= r, zeros outside.

    Running sums along rows, then along columns. They are exact, because images are bytes and sums
    are integers.
    """
    n, height, width, channels = images.shape
    rows = np.empty((height, width, channels), np.int32)
    column = np.empty((width, channels), np.int32)
    for i in range(n):
        image = images[i]
        for y in range(height):
            for c in range(channels):
                total = np.int32(0)
                for x in range(min(radius, width)):
                    total += np.int32(image[y, x, c])
                for x in range(width):
                    if x + radius < width:
                        total += np.int32(image[y, x + radius, c])
                    if x - radius - 1 >= 0:
                        total -= np.int32(image[y, x - radius - 1, c])
                    rows[y, x, c] = total
        column[:] = 0
        for y in range(min(radius, height)):
            column += rows[y]
        for y in range(height):
            if y + radius < height:
                column += rows[y + radius]
            if y - radius - 1 >= 0:
                column -= rows[y - radius - 1]
            out[i, y] = column
