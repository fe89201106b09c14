"""The files of the published data sets -> their factors, and images in blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_choice
from geodis.data.factors import FactorKind
from geodis.data.files.archives import BinaryMatrix, Hdf5Images, NpzArray
from geodis.data.files.contents import reading
from geodis.data.files.hierarchies.matlab import read_mat
from geodis.data.grids.by_name import PublishedName

NORB_SPLITS = ("training", "testing")


@dataclass(frozen=True)
class PublishedSource:
    """What a data set's files hold; images are read later."""

    shape: tuple[int, int, int, int]  # (n, h, w, c)
    factors: np.ndarray  # (n, f), in the order of the images
    sizes: tuple[int, ...]
    names: tuple[str, ...]
    kinds: Mapping[str, FactorKind]  # by name; the others are numbers
    blocks: Callable[[], Iterator[np.ndarray]]  # uint8 (b, h, w, c), in the same order
    direct: Callable[[], Any] = lambda: None  # images that can stay where they are, or None
    binary: bool = False
    # Of cyclic factors whose number of steps around the circle is not their size.
    periods: Mapping[str, int] = field(default_factory=dict)


def guarded(file: Path, blocks: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield blocks; what reading them raises becomes one sentence about the file."""
    with reading(file):
        yield from blocks


# One function a data set: file, option -> source.


def _open_dsprites(file: Path, option: str) -> PublishedSource:
    sizes = (3, 6, 40, 32, 32)
    images, classes = NpzArray(file, "imgs"), NpzArray(file, "latents_classes")
    shape = _check_shape(file, "imgs", images, math.prod(sizes), channels=1)
    if classes.shape != (shape[0], 6):
        raise InputError(
            f"latents_classes in {file} must have shape ({shape[0]}, 6); got {classes.shape}."
        )

    def blocks() -> Iterator[np.ndarray]:
        for block in images.blocks():
            if block.max() > 1:
                raise InputError(f"imgs in {file} must hold 0 and 1; got {block.max()}.")
            yield block[..., None] * np.uint8(255)

    names = ("shape", "scale", "orientation", "x", "y")
    kinds: Mapping[str, FactorKind] = {"shape": "labels", "orientation": "cyclic"}
    # The first column is the colour, which is always white.
    factors = np.asarray(classes.read())[:, 1:]
    # Orientations are linspace(0, 2 pi, 40): the last image of a turn equals the first.
    periods = {"orientation": 39}
    return PublishedSource(
        shape, factors, sizes, names, kinds, blocks, binary=True, periods=periods
    )


def _open_shapes3d(file: Path, option: str) -> PublishedSource:
    sizes = (10, 10, 10, 8, 4, 15)
    images, labels = Hdf5Images(file, "images"), Hdf5Images(file, "labels")
    shape = _check_shape(file, "images", images, math.prod(sizes), channels=3)
    if labels.shape != (shape[0], 6):
        raise InputError(f"labels in {file} must have shape ({shape[0]}, 6); got {labels.shape}.")
    names = ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")
    kinds: Mapping[str, FactorKind] = {**dict.fromkeys(names[:3], "cyclic"), "shape": "labels"}
    return PublishedSource(
        shape, labels[:], sizes, names, kinds, images.blocks, direct=lambda: images
    )


def _open_cars3d(file: Path, option: str) -> PublishedSource:
    sizes = (4, 24, 183)
    listing = file / "list.txt"
    if listing.is_file():
        paths = [file / f"{line.strip()}.mat" for line in listing.read_text().splitlines() if line]
    else:
        paths = sorted(file.glob("*.mat"))
    if len(paths) != sizes[2]:
        raise InputError(f"{file} must hold the mat files of 183 cars; got {len(paths)}.")

    def car(path: Path) -> np.ndarray:
        """Images (96, h, w, 3) of one car, the azimuth changing slowest."""
        with reading(path):
            views = read_mat(path, "im")
        if views.ndim != 5 or views.shape[2:] != (3, 24, 4) or views.dtype != np.uint8:
            raise InputError(
                f"im in {path} must be uint8 of shape (h, w, 3, 24, 4); got {views.dtype} of "
                f"shape {views.shape}."
            )
        return views.transpose(3, 4, 0, 1, 2).reshape(-1, *views.shape[:3])

    _, h, w, c = car(paths[0]).shape
    # Row-major over (car, azimuth, elevation), the order of the blocks.
    kind, azimuth, elevation = np.unravel_index(np.arange(math.prod(sizes)), sizes[::-1])
    return PublishedSource(
        (math.prod(sizes), h, w, c),
        np.column_stack([elevation, azimuth, kind]),
        sizes,
        ("elevation", "azimuth", "object_type"),
        {"azimuth": "cyclic", "object_type": "labels"},
        lambda: map(car, paths),
    )


def _open_smallnorb(file: Path, option: str) -> PublishedSource:
    check_choice(option, "The half after the colon", ("", *NORB_SPLITS, "both"))
    halves = NORB_SPLITS if option == "both" else (option or NORB_SPLITS[0],)
    images, factors = [], []
    for half in halves:
        dat, cat, info = (_norb_matrix(file, half, part) for part in ("dat", "cat", "info"))
        n = dat.shape[0]
        if len(dat.shape) != 4 or dat.shape[1] != 2 or n != 24_300 or dat.dtype != np.uint8:
            raise InputError(
                f"{dat.path} must hold uint8 of shape (24300, 2, h, w), pairs of images; got "
                f"{dat.dtype} of shape {dat.shape}."
            )
        if cat.shape != (n,) or info.shape != (n, 4):
            raise InputError(
                f"{cat.path} and {info.path} must have shapes ({n},) and ({n}, 4); "
                f"got {cat.shape} and {info.shape}."
            )
        images.append(dat)
        with reading(info.path):
            factors.append(np.column_stack([cat.read(), info.read()]))

    def blocks() -> Iterator[np.ndarray]:
        for dat in images:
            for block in guarded(dat.path, dat.blocks()):
                yield block[:, 0, :, :, None]

    def first_camera() -> np.ndarray | None:
        with reading(images[0].path):
            mapped = images[0].mapped() if len(images) == 1 else None
        return None if mapped is None else mapped[:, 0, :, :, None]

    h, w = images[0].shape[2:]
    return PublishedSource(
        (24_300 * len(halves), h, w, 1),
        np.concatenate(factors),
        (5, 5 * len(halves), 9, 18, 6),
        ("category", "instance", "elevation", "rotation", "lighting"),
        {"category": "labels", "instance": "labels", "rotation": "cyclic", "lighting": "labels"},
        blocks,
        direct=first_camera,
    )


def _norb_matrix(folder: Path, half: str, part: str) -> BinaryMatrix:
    ending = f"{half}-{part}.mat"
    files = sorted([*folder.glob(f"*{ending}"), *folder.glob(f"*{ending}.gz")])
    if not files:
        raise InputError(f"{folder} must hold a file *{ending} or *{ending}.gz; there is none.")
    with reading(files[0]):
        return BinaryMatrix(files[0])


def _open_mpi3d(file: Path, option: str) -> PublishedSource:
    images = NpzArray(file, "images")
    rest = (2, 3, 3, 40, 40)
    layouts = {math.prod(rest) * many**2: (many, many, *rest) for many in (6, 4)}
    n = images.shape[0] if images.shape else 0
    shape = _check_shape(file, "images", images, n if n in layouts else tuple(layouts), channels=3)
    sizes = layouts[n]
    names = ("object_color", "object_shape", "object_size", "camera_height", "background_color")
    return PublishedSource(
        shape,
        np.stack(np.unravel_index(np.arange(n), sizes), axis=1),
        sizes,
        (*names, "horizontal_axis", "vertical_axis"),
        dict.fromkeys(("object_color", "object_shape", "background_color"), "labels"),
        images.blocks,
        direct=images.mapped,
    )


OPENERS: dict[PublishedName, Callable[[Path, str], PublishedSource]] = {
    "dsprites": _open_dsprites,
    "shapes3d": _open_shapes3d,
    "cars3d": _open_cars3d,
    "smallnorb": _open_smallnorb,
    "mpi3d": _open_mpi3d,
}


def _check_shape(
    file: Path, key: str, images: Any, n: int | tuple[int, ...], channels: int
) -> tuple[int, int, int, int]:
    """Require n uint8 images of these channels, and return (n, h, w, c)."""
    shape = tuple(images.shape)
    last = (channels,) if channels > 1 else ()
    fits = len(shape) == 3 + len(last) and shape[3:] == last and images.dtype == np.uint8
    if not fits or shape[0] != n:
        counts = " or ".join(map(str, n if isinstance(n, tuple) else (n,)))
        axes = ", ".join(["h", "w", *map(str, last)])
        raise InputError(
            f"{key} in {file} must be uint8 of shape ({counts}, {axes}); got {images.dtype} of "
            f"shape {shape}."
        )
    return shape[0], shape[1], shape[2], channels
