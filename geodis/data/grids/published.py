"""The data sets that studies of disentanglement share, as grids, from files the user has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_choice, check_int
from geodis.base.progress import Stages
from geodis.base.write import whole_file
from geodis.data.files.archives import BinaryImages
from geodis.data.files.contents import reading
from geodis.data.grids.by_name import PUBLISHED, PublishedName
from geodis.data.grids.observed import ObservedGrid
from geodis.data.grids.published_sources import OPENERS, PublishedSource, guarded
from geodis.data.grids.resize import resize


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
        One of the table in Notes.
    path : path
        The file or folder of that table, as it was published.
    image_size : int, optional
        Resize the images to this height and width, bilinear with antialiasing; studies use 64.
    cache : path of an npy file, optional
        Keeps the images, resized and uncompressed, and is used instead of the originals from then
        on; nothing is held in memory. Delete it if the original changes.
    verbose : bool
        Show progress on a terminal while images are read.

    Returns
    -------
    ObservedGrid
        A `FactorGrid`, complete, in row-major order of the factors.

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

    Without a cache, dSprites takes a bit a pixel of memory (0.4 GB), compressed npz files and
    cars3d take all their images, and the others stay in their files. 3D Shapes is compressed in
    chunks of many images, which makes single images slow: give a cache.

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
    """Return the file or folder, and what stands after a colon for SmallNORB."""
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
    """Images of this shape that can be indexed by rows: in a file, or read into memory."""
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
            f"{images.dtype} of shape {images.shape}: delete it or name another."
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
