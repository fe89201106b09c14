"""Smaller and larger images by the bilinear filter that the published studies used."""

from __future__ import annotations

import numpy as np


def resize(images: np.ndarray, size: int) -> np.ndarray:
    """Resize uint8 images (n, h, w, c) to (n, size, size, c).

    A pixel of the result is the mean of the pixels under a triangle around its centre, as wide
    as two of the larger pixels: what image libraries call bilinear with antialiasing.

    Examples
    --------
    >>> resize(np.array([[[[0], [255]], [[0], [255]]]], dtype=np.uint8), 1).ravel().tolist()
    [128]
    """
    n, h, w, c = images.shape
    if (h, w) == (size, size):
        return images
    rows, columns = _weights(h, size), _weights(w, size)
    # (size, h) @ (n, h, w c), then the last axis, which must be w: (n, size, c, w) @ (w, size)
    tall = np.matmul(rows, images.reshape(n, h, w * c).astype(np.float32))
    wide = np.matmul(tall.reshape(n, size, w, c).transpose(0, 1, 3, 2), columns.T)
    return np.floor(wide + 0.5).astype(np.uint8).transpose(0, 1, 3, 2)


def _weights(before: int, after: int) -> np.ndarray:
    """Weight (after, before) of every old pixel in every new one; rows sum to 1."""
    scale = before / after
    centres = (np.arange(after) + 0.5) * scale
    # A triangle narrower than the old pixels would miss them all.
    reach = np.abs(np.arange(before) + 0.5 - centres[:, None]) / max(scale, 1.0)
    weights = np.maximum(0.0, 1.0 - reach)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
