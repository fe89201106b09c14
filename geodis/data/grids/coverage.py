"""Closed outlines -> the exact share of every pixel that they cover."""

from __future__ import annotations

import numpy as np

from geodis.base.compiled import njit


@njit(cache=True, nogil=True)
def coverage(
    outlines: np.ndarray,
    starts: np.ndarray,
    shape: np.ndarray,
    turn: np.ndarray,
    centre: np.ndarray,
    height: int,
    width: int,
) -> np.ndarray:
    """Draw one turned, scaled and moved outline an image; the share covered is exact.

    By Green's theorem the covered area of a pixel is a sum over the edges of the outline. Every
    piece of an edge that lies in one pixel, ``dy`` high at mean distance ``x`` from the pixel's
    left side, covers ``dy (1 - x)`` of that pixel, and ``dy`` of every pixel to its right. The
    pieces are noted where they lie, and a running sum along the rows adds up what is to the right.

    Parameters
    ----------
    outlines : ndarray of shape (p, 2)
        The corners of all outlines, one after the other, x (right) and y (down).
    starts : ndarray of int, shape (number of outlines + 1,)
        Where each outline begins.
    shape : ndarray of int, shape (n,)
        The outline of every image.
    turn : ndarray of shape (n, 2)
        (s cos a, s sin a): scale s in pixels, and the angle a from x towards y.
    centre : ndarray of shape (n, 2)
        Where the outline's origin goes, in pixels from the image's corner. The outline must stay
        inside the image.
    height, width : int

    Returns
    -------
    ndarray of float32, shape (n, height, width)
        In [0, 1]; the sum of an image is the area of its outline.
    """
    n = len(shape)
    images = np.empty((n, height, width), dtype=np.float32)
    notes = np.zeros((height, width + 1))
    for i in range(n):
        first, last = starts[shape[i]], starts[shape[i] + 1]
        top, bottom = height, 0
        x0, y0 = _place(outlines[last - 1], turn[i], centre[i])
        for corner in range(first, last):
            x1, y1 = _place(outlines[corner], turn[i], centre[i])
            _note_edge(notes, x0, y0, x1, y1)
            top, bottom = min(top, int(y1)), max(bottom, int(y1))
            x0, y0 = x1, y1
        images[i] = 0.0
        for row in range(top, min(bottom + 1, height)):
            covered = 0.0
            for column in range(width):
                covered += notes[row, column]
                # Rounding can leave the sum a hair outside.
                images[i, row, column] = min(abs(covered), 1.0)
            notes[row] = 0.0
    return images


@njit(cache=True, inline="always")
def _place(corner: np.ndarray, turn: np.ndarray, centre: np.ndarray) -> tuple[float, float]:
    x = centre[0] + turn[0] * corner[0] - turn[1] * corner[1]
    y = centre[1] + turn[1] * corner[0] + turn[0] * corner[1]
    return x, y


@njit(cache=True)
def _note_edge(notes: np.ndarray, x0: float, y0: float, x1: float, y1: float) -> None:
    """Cut an edge where it crosses rows and columns, and note what each piece covers."""
    if y0 == y1:
        return  # covers nothing
    sign = 1.0
    if y0 > y1:
        x0, y0, x1, y1 = x1, y1, x0, y0
        sign = -1.0
    slope = (x1 - x0) / (y1 - y0)
    for row in range(int(y0), min(int(np.ceil(y1)), notes.shape[0])):
        above, below = max(y0, row), min(y1, row + 1)
        left, right = x0 + slope * (above - y0), x0 + slope * (below - y0)
        if left > right:
            left, right = right, left
        dy = sign * (below - above)
        first, last = int(left), int(right)
        if first == last:
            inside = 0.5 * (left + right) - first
            notes[row, first] += dy * (1.0 - inside)
            notes[row, first + 1] += dy * inside
            continue
        for column in range(first, last + 1):
            low, high = max(left, column), min(right, column + 1)
            piece = dy * (high - low) / (right - left)
            inside = 0.5 * (low + high) - column
            notes[row, column] += piece * (1.0 - inside)
            notes[row, min(column + 1, notes.shape[1] - 1)] += piece * inside
