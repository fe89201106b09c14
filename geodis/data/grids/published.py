"""Built-in and published data sets by name, as grids of their factors."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import InputError, check_choice, check_int
from geodis.base.progress import Stages
from geodis.base.write import whole_file
from geodis.data.factors import FactorKind
from geodis.data.files.formats import reading
from geodis.data.files.matlab import read_mat
from geodis.data.files.open_rows import BinaryImages, BinaryMatrix, Hdf5Images, NpzArray
from geodis.data.grids.grid import FactorGrid
from geodis.data.grids.observed import ObservedGrid, resize

# Names of the data sets that are generated, and of those that are read from files.

BuiltInName = Literal["xysquares", "xyobject", "xyobject-shades", "sprites"]
PublishedName = Literal["dsprites", "shapes3d", "cars3d", "smallnorb", "mpi3d"]
BUILT_IN: tuple[BuiltInName, ...] = get_args(BuiltInName)
PUBLISHED: tuple[PublishedName, ...] = get_args(PublishedName)


def built_in_grid(name: BuiltInName, **settings: Any) -> FactorGrid:
    """Make a built-in data set by name; `published_grid` opens the published ones.

    Parameters
    ----------
    name : {"xysquares", "xyobject", "xyobject-shades", "sprites"}
    **settings
        Arguments of `XYSquares`, `XYObject`, `XYObjectShades` or `Sprites`.

    Returns
    -------
    FactorGrid

    Examples
    --------
    >>> built_in_grid("xysquares", n_squares=1)
    XYSquares(x_R=8, y_R=8)
    """
    check_choice(name, "name", BUILT_IN)
    if name == "sprites":
        from geodis.data.grids.sprites import Sprites

        return Sprites(**settings)
    from geodis.data.grids import squares

    makers = {
        "xysquares": squares.XYSquares,
        "xyobject": squares.XYObject,
        "xyobject-shades": squares.XYObjectShades,
    }
    return makers[name](**settings)


# Readers of the published files: their factors, and their images in blocks.

NORB_SPLITS = ("training", "testing")


@dataclass(frozen=True)
class PublishedSource:
    """Contents of the files of a data set; images are read later."""

    shape: tuple[int, int, int, int]  # (n, h, w, c)
    factors: np.ndarray  # (n, f), in the order of the images
    sizes: tuple[int, ...]
    names: tuple[str, ...]
    kinds: Mapping[str, FactorKind]  # by name; factors without an entry are numbers
    blocks: Callable[[], Iterator[np.ndarray]]  # uint8 (b, h, w, c), in the same order
    direct: Callable[[], Any] = lambda: None  # images that can stay in their file, or None
    binary: bool = False
    # For cyclic factors with another number of steps per turn than their size.
    periods: Mapping[str, int] = field(default_factory=dict)


def guarded(file: Path, blocks: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield blocks, raising InputError with the file name if reading fails."""
    with reading(file):
        yield from blocks


# One function per data set: (file, option) -> source.


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
        """Return the images (96, h, w, 3) of one car; the azimuth changes slowest."""
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
                f"{dat.path} must hold uint8 pairs of images of shape (24300, 2, h, w); got "
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
    """Require n uint8 images with these channels, and return (n, h, w, c)."""
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


def published_grid(
    name: PublishedName,
    path: str | os.PathLike[str],
    *,
    image_size: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    verbose: bool = True,
) -> ObservedGrid:
    """Open a published data set as a grid of its factors.

    Parameters
    ----------
    name : str
        One of the names in the table below.
    path : path
        The published file or folder, as described in the table.
    image_size : int, optional
        Resize the images to this height and width, bilinear with antialiasing; most studies use 64.
    cache : path of an npy file, optional
        Store the resized images here without compression, and read them from here next time, so
        that nothing is held in memory. Delete it if the original changes.
    verbose : bool
        Show progress on a terminal while images are read.

    Returns
    -------
    ObservedGrid
        A complete `FactorGrid`, in row-major order of the factors.

    Raises
    ------
    InputError
        If a file is missing, damaged, or does not have the published shape.

    Notes
    -----
    ========= ================================ ==================================================
    name      path                             factors and sizes
    ========= ================================ ==================================================
    dsprites  npz with ``imgs`` and            shape 3, scale 6, orientation 40, x 32, y 32
              ``latents_classes``              (its colour has one value and is left out; its
                                               last orientation equals the first, 39 steps on)
    shapes3d  h5 with ``images`` and           floor hue 10, wall hue 10, object hue 10, scale 8,
              ``labels``                       shape 4, orientation 15
    cars3d    folder of 183 mat files, each    elevation 4, azimuth 24, object type 183 (in the
              with ``im``                      order of ``list.txt`` if it is there, else by name)
    smallnorb folder of the ``-dat.mat``,      category 5, instance 5, elevation 9, rotation 18,
              ``-cat.mat`` and ``-info.mat``   lighting 6; of each pair the first camera. Add
              files, as they are or as .gz     ``:testing`` for the test half, ``:both`` for both
                                               (instance 10)
    mpi3d     npz with ``images``              object color 6, object shape 6, object size 2,
                                               camera height 3, background color 3, horizontal
                                               axis 40, vertical axis 40; 4 colors and 4 shapes
                                               in the set of complex shapes
    ========= ================================ ==================================================

    Without a cache, dSprites takes one bit of memory per pixel (0.4 GB); compressed npz files and
    cars3d are held in memory as bytes; the others stay in their files. 3D Shapes is compressed in
    chunks of many images, so reading single images is slow: give a cache.

    Examples
    --------
    >>> published_grid("dsprites", "none.npz")
    Traceback (most recent call last):
    geodis.base.check.InputError: none.npz must be a file; there is none of this name.
    """
    check_choice(name, "name", PUBLISHED)
    if image_size is not None:
        image_size = check_int(image_size, "image_size", low=1)
    file, option = _locate(name, path)
    with reading(file):
        source = OPENERS[name](file, option)
    n, h, w, c = source.shape
    shape = (n, h, w, c) if image_size is None else (n, image_size, image_size, c)
    with Stages(name, verbose) as stages:
        images = _images(file, source, shape, None if cache is None else Path(cache), stages)
    kinds = [source.kinds.get(factor, "numbers") for factor in source.names]
    grid = ObservedGrid(images, source.factors, source.names, kinds=kinds)
    if not grid.complete or grid.sizes != source.sizes:
        sizes = " x ".join(map(str, source.sizes))
        seen = " x ".join(map(str, grid.sizes))
        raise InputError(
            f"{file} must hold every combination of {', '.join(source.names)} ({sizes}) once; "
            f"got sizes {seen}. {grid.note}".rstrip()
        )
    periods = zip(source.names, source.sizes, strict=True)
    grid.periods = tuple(source.periods.get(factor, size) for factor, size in periods)
    return grid


def _locate(name: PublishedName, path: str | os.PathLike[str]) -> tuple[Path, str]:
    """Return the file or folder, and the option after a colon for SmallNORB."""
    text, option = os.fspath(path), ""
    if name == "smallnorb" and not Path(text).exists() and ":" in text:
        text, _, option = text.rpartition(":")
    wanted = "folder" if name in ("cars3d", "smallnorb") else "file"
    file = Path(text)
    if not (file.is_dir() if wanted == "folder" else file.is_file()):
        there = f"got a {'file' if wanted == 'folder' else 'folder'}"
        raise InputError(
            f"{file} must be a {wanted}; "
            f"{there if file.exists() else 'there is none of this name'}."
        )
    return file, option


def _images(
    file: Path,
    source: PublishedSource,
    shape: tuple[int, int, int, int],
    cache: Path | None,
    stages: Stages,
) -> Any:
    """Return images of this shape that can be indexed by rows, in a file or in memory."""
    if cache is None:
        with reading(file):
            direct = source.direct() if shape == source.shape else None
        if direct is not None:
            return direct
        bits = source.binary and shape == source.shape
        filled = BinaryImages(shape) if bits else np.empty(shape, dtype=np.uint8)
        _fill(filled, file, source, shape[1:3], stages)
        return filled
    if cache.suffix != ".npy":
        raise InputError(f"cache must be the path of an npy file; got {cache}.")
    if not cache.exists():
        with whole_file(cache) as temporary:
            mapped = np.lib.format.open_memmap(temporary, "w+", dtype=np.uint8, shape=shape)
            _fill(mapped, file, source, shape[1:3], stages)
            mapped.flush()
    images = np.load(cache, mmap_mode="r", allow_pickle=False)
    if images.shape != shape or images.dtype != np.uint8:
        raise InputError(
            f"{cache} must hold uint8 images of shape {shape} to serve as a cache; got "
            f"{images.dtype} of shape {images.shape}: delete it or give another path."
        )
    return images


def _fill(
    filled: Any, file: Path, source: PublishedSource, size: tuple[int, ...], stages: Stages
) -> None:
    start, n = 0, source.shape[0]
    with stages.stage("images"):
        for block in guarded(file, source.blocks()):
            fits = block.shape[1:3] == size
            filled[start : start + len(block)] = block if fits else resize(block, size[0])
            start += len(block)
            stages.advance(start / n, f"{start} of {n}")
