"""Sums over a square window around every pixel, in time that does not depend on its size."""

from __future__ import annotations

import numpy as np

from geodis.base.compiled import njit


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
