"""Sums over pixels, for pairs of images and around each pixel: the loops that take the time.

Images are rows, shape (m, p), and a pair is a row of each of two arrays. A pair is summed by one
thread in one order, so results do not depend on the number of threads. Differences of bytes are
summed as integers: distances that are equal come out equal, which ranks need.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numba
import numpy as np

from geodis.base.compiled import njit
from geodis.base.jobs import in_threads

# 32,768 squares of at most 255 fit into 32 unsigned bits, which the compiler adds in vectors.
CHUNK = 32_768

# Entries that are worth a second thread: below, waking it takes as long as the sums.
WORTH_A_THREAD = 2**25


def sum_pairs(
    kernel: Callable[..., None],
    lefts: np.ndarray,
    rights: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
) -> np.ndarray:
    """Sums (n,) of a kernel below over the pairs ``lefts[left[i]]``, ``rights[right[i]]``."""
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


# Sums of floats may be reordered ("reassoc"), or they would not be added in vectors.
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

    Sums run along rows first and then along columns: a pixel enters and another one leaves.
    Images are bytes and sums are whole, so the order of summation does not matter.
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
