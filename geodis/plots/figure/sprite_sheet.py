"""Images as small ones: one file that holds all, for a page."""

from __future__ import annotations

import base64
from io import BytesIO
from typing import NamedTuple

import numpy as np

from geodis.base.check import InputError

# Pixels of the longer side, and of all together: a page must stay small.
LARGEST, MOST_PIXELS = 64, 6_000_000
COLUMNS = 32
# Decoded images exceed one a little.
LARGEST_BYTE, ROUNDED = 255, 0.5
CHANNELS = (1, 3, 4)  # grey, colours, and colours with a fourth that is left out
QUALITY = 82


class SpriteSheet(NamedTuple):
    """Small images side by side in one.

    Attributes
    ----------
    uri : str
        The file as text.
    columns, width, height : int
        Images a row, and pixels of each.
    """

    uri: str
    columns: int
    width: int
    height: int


def as_pictures(images: np.ndarray) -> np.ndarray:
    """Bytes with three channels, whatever images are given.

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
    """Images of shape (rows, columns, h, w, c) side by side, with white between them.

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
    """Put pictures of shape (s, h, w, 3) into one file, made smaller where they are large."""
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
    # The sheet of small pictures has sharp edges between them, which JPEG would blur.
    if max(width, height) < 24:
        sheet.save(file, "PNG", optimize=True)
    else:
        sheet.save(file, "JPEG", quality=QUALITY, subsampling=0)
    kind = "png" if max(width, height) < 24 else "jpeg"
    text = base64.b64encode(file.getvalue()).decode("ascii")
    return SpriteSheet(f"data:image/{kind};base64,{text}", columns, width, height)
