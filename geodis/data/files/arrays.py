"""Readers of npy, npz, safetensors and torch files and of folders of images, without unpickling."""

from __future__ import annotations

import math
import os
import pickle
import re
import warnings
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from geodis.base.check import InputError, require
from geodis.base.safetensors_files import DTYPES, TensorPlace, read_header
from geodis.data.columns import Labels
from geodis.data.files.formats import (
    Contents,
    Stored,
    check_fits,
    check_written,
    map_array,
    register_reader,
    unreadable,
)
from geodis.data.files.limits import check_count, check_inside, check_regular, check_unpacked

# bfloat16 has no numpy dtype: its two bytes are the upper half of a float32.
BFLOAT16 = "BF16"


@register_reader(".npy")
def read_npy(path: Path, mmap: bool) -> Contents:
    """Read an npy file without numpy's own loader, which could unpickle objects."""
    with path.open("rb") as file:
        shape, fortran_order, dtype = npy_header(file)
        _refuse_objects(path, dtype)
        offset = file.tell()
    check_fits(path.stat().st_size - offset, shape, dtype)
    read = partial(
        map_array, path, dtype, shape, offset=offset, mmap=mmap, fortran_order=fortran_order
    )
    return Contents(path, {"": Stored(shape, str(dtype), read)})


@register_reader(".npz")
def read_npz(path: Path, mmap: bool) -> Contents:
    """List the arrays of an npz archive; each is read into memory because most are compressed."""
    arrays = {}
    # Keep the archive open so that its directory is read only once.
    archive = zipfile.ZipFile(path)
    check_count(path, len(archive.infolist()))
    for member in archive.infolist():
        if member.filename.endswith(".npy"):
            with archive.open(member) as file:
                shape, _, dtype = npy_header(file)
            read = partial(_read_npz_member, path, archive, member.filename)
            arrays[member.filename.removesuffix(".npy")] = Stored(shape, str(dtype), read)
    return Contents(path, arrays)


def _read_npz_member(path: Path, archive: zipfile.ZipFile, member: str) -> np.ndarray:
    with archive.open(member) as file:
        shape, _, dtype = npy_header(file)
        _refuse_objects(path, dtype)
        declared = archive.getinfo(member).file_size
        check_fits(declared - file.tell(), shape, dtype)
        check_unpacked(path, declared, member.removesuffix(".npy"))
        file.seek(0)
        return np.lib.format.read_array(file, allow_pickle=False)


def npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Read shape, Fortran order and dtype, and leave the file at the first byte of the data."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(file)
    raise ValueError(f"arrays must have npy version 1.0 or 2.0; got {version}")


def _refuse_objects(path: Path, dtype: np.dtype) -> None:
    if dtype.hasobject:
        raise InputError(
            f"{path} holds Python objects in a pickle, and geodis never loads pickles: save "
            "numbers or text instead, as np.save(path, np.asarray(values, dtype=float))."
        )


@register_reader(".safetensors")
def read_safetensors(path: Path, mmap: bool) -> Contents:
    """List the tensors of a safetensors file (raw bytes after a JSON header)."""
    places = read_header(path).places
    return Contents(
        path, {name: _safetensor(path, name, place, mmap) for name, place in places.items()}
    )


def _safetensor(path: Path, name: str, place: TensorPlace, mmap: bool) -> Stored:
    if place.dtype not in (*DTYPES, BFLOAT16):
        known = ", ".join((*DTYPES, BFLOAT16))
        problem = ValueError(f"{name!r} has dtype {place.dtype}, and geodis reads {known}")
        return unreadable(place.shape, place.dtype, problem)
    dtype = np.dtype(DTYPES.get(place.dtype, "<u2"))
    read = partial(map_array, path, dtype, place.shape, offset=place.begin, mmap=mmap)
    if place.dtype == BFLOAT16:
        return Stored(place.shape, "bfloat16", lambda: _widen_bfloat16(read()))
    return Stored(place.shape, str(dtype), read)


def _widen_bfloat16(halves: np.ndarray) -> np.ndarray:
    return (halves.astype(np.uint32) << 16).view(np.float32)


@register_reader(".pt", ".pth")
def read_torch(path: Path, mmap: bool) -> Contents:
    """Read one tensor or a dict of tensors with torch's weights-only loader."""
    torch = require("torch", purpose=f"Reading {path.suffix} files")
    try:
        # Files written before torch 1.6 are not zip archives, and torch cannot map those.
        can_map = zipfile.is_zipfile(path)
        if can_map:
            with zipfile.ZipFile(path) as archive:
                check_unpacked(path, sum(member.file_size for member in archive.infolist()))
        saved = torch.load(path, map_location="cpu", weights_only=True, mmap=mmap and can_map)
    except pickle.UnpicklingError as error:
        # torch's own message suggests weights_only=False, which would execute code from the file.
        raise ValueError(
            "it contains something other than tensors, and geodis never unpickles: save with "
            "torch.save({'latents': latents}, path)"
        ) from error
    named = saved if isinstance(saved, dict) else {"": saved}
    return Contents(
        path,
        {
            str(key): Stored(
                tuple(tensor.shape),
                str(tensor.dtype).removeprefix("torch."),
                partial(_tensor_to_numpy, tensor),
            )
            for key, tensor in named.items()
            if isinstance(tensor, torch.Tensor)
        },
    )


def _tensor_to_numpy(tensor: Any) -> np.ndarray:
    tensor = tensor.detach()
    # A view may repeat its bytes: torch.zeros(1).expand(2**40) is stored in one kilobyte.
    check_written(tensor.untyped_storage().nbytes(), tuple(tensor.shape), tensor.element_size())
    if str(tensor.dtype) == "torch.bfloat16":
        tensor = tensor.float()  # exact, and numpy has no bfloat16
    return tensor.numpy()


# Folders of images, read as one array in the natural order of the file names.

Read = TypeVar("Read")

# Pixel formats only: for some others, Pillow calls external programs.
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
# Pillow's 8-bit modes are used unchanged; palettes and bits are converted.
UNCONVERTED = ("L", "RGB", "RGBA")
CONVERTED = {"P": "RGB", "1": "L", "LA": "RGBA"}
# A folder with such a file was written by geodis and is skipped.
WRITTEN = ".geodis-*.json"
# Name of the factor that is made of the subfolders.
CLASS = "class"


def read_images(folder: Path, mmap: bool) -> Contents:
    """Read all images of a folder and its subfolders as one uint8 array (n, h, w, c).

    All images must have the same size. If some are in colour, greyscale images are converted to
    colour. If every image is in a subfolder, the subfolders become the factor ``class``.
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
    """List images in natural order of their names, skipping hidden folders and geodis output."""
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
    """Return a sort key that puts 2.png before 10.png.

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
    """Read the pixels (h, w, c) of one image, and require the shape of the first image if given."""
    return _opened(file, lambda image: _checked(file, image, wanted))


def _opened(file: Path, read: Callable[[Any], Read]) -> Read:
    """Apply a function to an opened image; any failure becomes an InputError."""
    from PIL import Image

    check_regular(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about damaged metadata; oversized images fail below
        try:
            with Image.open(file, formats=[FORMATS[file.suffix.lower()]]) as image:
                return read(image)
        except InputError:
            raise
        # Deliberately broad: what Pillow raises on damaged files is not documented.
        except Exception as error:
            reason = str(error).strip().splitlines()[:1] or [type(error).__name__]
            raise InputError(
                f"{file} cannot be read as an image: {reason[0].rstrip('.')}."
            ) from error


def _pixel_mode(image: Any) -> str:
    """Return the mode to which an image is converted, from its header."""
    mode = CONVERTED.get(image.mode, image.mode)
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
    if mode not in UNCONVERTED:
        raise InputError(
            f"{file} must have 8-bit grey or colour pixels; got Pillow's mode {image.mode}."
        )
    pixels = np.asarray(image if image.mode == mode else image.convert(mode))
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    if wanted is not None and pixels.shape != wanted:
        raise InputError(
            f"{file} must have as many channels as the first image, {wanted[2]}; "
            f"got {pixels.shape[2]}."
        )
    return pixels
