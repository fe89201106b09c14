"""Sprite sheets: many small images in one file, for a page."""

from __future__ import annotations

import base64
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from geodis.base.check import InputError

# Maximal pixels of the longer side of an image, and of all images together.
LARGEST, MOST_PIXELS = 64, 6_000_000
COLUMNS = 32
# Decoded images may slightly exceed 1.
LARGEST_BYTE, ROUNDED = 255, 0.5
CHANNELS = (1, 3, 4)  # grey, RGB and RGBA, whose alpha is dropped
QUALITY = 82


class SpriteSheet(NamedTuple):
    """Small images tiled in one.

    Attributes
    ----------
    uri : str
        The file as a data URI.
    columns, width, height : int
        Images per row, and pixels of each image.
    """

    uri: str
    columns: int
    width: int
    height: int


def are_pictures(images: Any) -> bool:
    """Return whether images were given that `as_pictures` can show.

    Examples
    --------
    >>> are_pictures(np.zeros((2, 4, 5))), are_pictures(np.zeros((2, 4, 5, 7))), are_pictures(None)
    (True, False, False)
    """
    return images is not None and (len(images.shape) == 3 or images.shape[3] in CHANNELS)


def as_pictures(images: np.ndarray) -> np.ndarray:
    """Convert images to uint8 with three channels.

    Parameters
    ----------
    images : ndarray of shape (s, h, w, c) or (s, h, w)
        uint8, or numbers in [0, 1] or from 0 to 255; c is 1, 3 or 4.

    Returns
    -------
    ndarray of uint8, shape (s, h, w, 3)

    Examples
    --------
    >>> as_pictures(np.ones((2, 4, 5))).shape
    (2, 4, 5, 3)
    """
    images = np.asarray(images)
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or images.shape[3] not in CHANNELS:
        raise InputError(
            "images must have shape (n, h, w) or (n, h, w, c) with c of 1, 3 or 4; "
            f"got shape {images.shape}."
        )
    if images.dtype != np.uint8:
        images = np.nan_to_num(images.astype(float))
        if images.max(initial=0.0) > LARGEST_BYTE:
            raise InputError(
                f"images must have values in [0, 1] or from 0 to {LARGEST_BYTE}; got up to "
                f"{images.max():g}."
            )
        scale = 1 if images.max(initial=0.0) > 1 + ROUNDED else LARGEST_BYTE
        images = np.rint(np.clip(scale * images, 0, LARGEST_BYTE)).astype(np.uint8)
    return np.repeat(images, 3, axis=3) if images.shape[3] == 1 else images[..., :3]


def mosaic(images: np.ndarray, gap: int = 2) -> np.ndarray:
    """Tile images of shape (rows, columns, h, w, c), with white gaps.

    Examples
    --------
    >>> mosaic(np.zeros((1, 2, 3, 3, 1)))[0, :, 0].tolist()
    [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    """
    edges = [(0, 0), (0, 0), (0, gap), (0, gap), (0, 0)]
    padded = np.pad(images, edges, constant_values=1)
    rows, columns, height, width, channels = padded.shape
    whole = padded.transpose(0, 2, 1, 3, 4).reshape(rows * height, columns * width, channels)
    return whole[:-gap, :-gap]


def sprite_sheet(pictures: np.ndarray) -> SpriteSheet:
    """Tile pictures of shape (s, h, w, 3) in one file, downscaled where they are large."""
    from PIL import Image

    s, h, w = pictures.shape[:3]
    most = min(LARGEST, max(8, int((MOST_PIXELS / max(s, 1)) ** 0.5)))
    shrink = min(1.0, most / max(h, w))
    height, width = max(1, round(h * shrink)), max(1, round(w * shrink))
    columns = min(COLUMNS, max(s, 1))
    sheet = Image.new("RGB", (columns * width, -(-s // columns) * height))
    for number, picture in enumerate(pictures):
        small = Image.fromarray(picture)
        if shrink < 1:
            small = small.resize((width, height), Image.Resampling.LANCZOS)
        sheet.paste(small, (number % columns * width, number // columns * height))
    file = BytesIO()
    # JPEG would blur the edges between small pictures.
    if max(width, height) < 24:
        sheet.save(file, "PNG", optimize=True)
    else:
        sheet.save(file, "JPEG", quality=QUALITY, subsampling=0)
    kind = "png" if max(width, height) < 24 else "jpeg"
    text = base64.b64encode(file.getvalue()).decode("ascii")
    return SpriteSheet(f"data:image/{kind};base64,{text}", columns, width, height)
