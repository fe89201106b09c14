"""Folders of images -> one array of them, in the order of their names."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from geodis.base.check import InputError
from geodis.data.files.contents import Contents, Stored
from geodis.data.files.limits import check_inside, check_regular, check_unpacked
from geodis.data.read_column import Labels

Read = TypeVar("Read")

# Formats that hold pixels and nothing to run: Pillow calls other programs for some others.
FORMATS = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".bmp": "BMP",
    ".gif": "GIF",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".webp": "WEBP",
}
# Modes of Pillow that are pixels of 8 bits already; palettes and bits are spread out.
AS_THEY_ARE = ("L", "RGB", "RGBA")
SPREAD = {"P": "RGB", "1": "L", "LA": "RGBA"}
# Lists of files that geodis wrote.
WRITTEN = ".geodis-*.json"
# The factor of folders in a folder.
CLASS = "class"


def read_images(folder: Path, mmap: bool) -> Contents:
    """Images (n, h, w, c) of one size, uint8, of the folder and of those in it.

    Grey images beside coloured ones become coloured. Where all lie in folders of their own, these
    are the factor ``class``. Pillow comes with matplotlib.
    """
    files = _images_below(folder)
    if not files:
        suffixes = ", ".join(FORMATS)
        raise InputError(f"{folder} must hold images ({suffixes}), or be a zarr store; got none.")
    shape = (len(files), *image_pixels(files[0], None).shape)
    if shape[-1] == 1 and any(_opened(file, _pixel_mode) == "RGB" for file in files):
        shape = (*shape[:-1], 3)
    images = {"": Stored(shape, "uint8", partial(_read, folder, files, shape))}
    if any(file.parent == folder for file in files):
        return Contents(folder, images)
    classes = partial(Labels.of, [file.relative_to(folder).parts[0] for file in files])
    return Contents(
        folder,
        images,
        default="",
        columns={CLASS: CLASS},
        parts={CLASS: Stored(shape[:1], "labels", classes)},
    )


def _images_below(folder: Path) -> list[Path]:
    """Images in the order of their names, without what is hidden and what geodis drew."""
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if links := [name for name in folders if Path(place, name).is_symlink()]:
            raise InputError(f"{folder} must hold its own folders; got {links[0]}, a link.")
        folders[:] = [name for name in folders if not any(Path(place, name).glob(WRITTEN))]
        found += [Path(place, name) for name in names if Path(name).suffix.lower() in FORMATS]
    for file in found:
        if file.is_symlink():
            check_inside(folder, file)
    return sorted(
        found, key=lambda file: [natural(Path(p)) for p in file.relative_to(folder).parts]
    )


def natural(file: Path) -> list[tuple[int, str]]:
    """Sort key by which 2.png comes before 10.png.

    Examples
    --------
    >>> [file.name for file in sorted(map(Path, ["a10.png", "a2.png"]), key=natural)]
    ['a2.png', 'a10.png']
    """
    parts = re.split(r"([0-9]+)", file.name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _read(folder: Path, files: Sequence[Path], shape: tuple[int, ...]) -> np.ndarray:
    check_unpacked(folder, math.prod(shape), f"{len(files)} images")
    images = np.empty(shape, np.uint8)
    for place, file in enumerate(files):
        images[place] = image_pixels(file, shape[1:])
    return images


def image_pixels(file: Path, wanted: tuple[int, ...] | None) -> np.ndarray:
    """The pixels (h, w, c) of one image, which must have the shape of the first."""
    return _opened(file, lambda image: _checked(file, image, wanted))


def _opened(file: Path, read: Callable[[Any], Read]) -> Read:
    """What a function reads of an image, or one sentence."""
    from PIL import Image

    check_regular(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of damaged metadata; a bomb is refused below
        try:
            with Image.open(file, formats=[FORMATS[file.suffix.lower()]]) as image:
                return read(image)
        except InputError:
            raise
        # Broad on purpose: what Pillow raises on damaged files is in no documented set.
        except Exception as error:
            reason = str(error).strip().splitlines()[:1] or [type(error).__name__]
            raise InputError(
                f"{file} cannot be read as an image: {reason[0].rstrip('.')}."
            ) from error


def _pixel_mode(image: Any) -> str:
    """The mode that the pixels of an image are converted to, by its header."""
    mode = SPREAD.get(image.mode, image.mode)
    return "RGBA" if mode == "RGB" and "transparency" in image.info else mode


def _checked(file: Path, image: Any, wanted: tuple[int, ...] | None) -> np.ndarray:
    w, h = image.size
    if wanted is not None and (h, w) != wanted[:2]:
        raise InputError(
            f"{file} must have the size of the first image, {wanted[1]} x {wanted[0]}; "
            f"got {w} x {h}."
        )
    check_unpacked(file, h * w * 4)
    mode = _pixel_mode(image)
    if mode == "L" and wanted is not None and wanted[2] == 3:
        mode = "RGB"
    if mode not in AS_THEY_ARE:
        raise InputError(
            f"{file} must have pixels of 8 bits in grey or colour; got Pillow's mode {image.mode}."
        )
    pixels = np.asarray(image if image.mode == mode else image.convert(mode))
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    if wanted is not None and pixels.shape != wanted:
        raise InputError(
            f"{file} must have as many channels as the first image, {wanted[2]}; "
            f"got {pixels.shape[2]}."
        )
    return pixels
