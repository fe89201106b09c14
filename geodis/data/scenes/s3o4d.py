"""Reader of Stanford 3D Objects for Disentangling: images of rotations and lights."""

from __future__ import annotations

import io
import os
import re
import zipfile
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np

from geodis.base.check import InputError, check_choice, check_int
from geodis.base.jobs import blocks, in_threads
from geodis.base.progress import Stages
from geodis.data.files.formats import reading
from geodis.data.files.open_rows import NpzArray
from geodis.data.grids.observed import resize
from geodis.data.manifolds.directions import normalised
from geodis.data.scenes.lighting import FreeLight, RenderedSample, product_frames

# The images of both splits are numbered consecutively: the test split begins at 80,000.
TRAIN_IMAGES = 80_000
PublishedSplit: TypeAlias = Literal["train", "test"]

BLOCK = 256  # images decoded at a time

# Some tools store latents as float32; larger deviations from a rotation are errors.
LATENT_TOLERANCE = 1e-3


def load_s3o4d(
    path: str | os.PathLike[str],
    split: PublishedSplit = "train",
    *,
    n: int | None = None,
    image_size: int | None = 64,
    rgb: bool = True,
    verbose: bool = True,
) -> RenderedSample:
    """Load images of one S3O4D object with their true latents and tangent frames.

    Rotations and lights are continuous, so this is a sample of a manifold and not a grid. It is the
    data set on which GeoManCER is evaluated.

    Parameters
    ----------
    path : path
        Folder of one object (``bunny`` or ``dragon``), with ``train_images.zip`` and
        ``train_latents.npz`` as published, or ``test_...``.
    split : "train" or "test"
    n : int, optional
        Load only the first n images; the train split has 80,000, the test split 20,000.
    image_size : int or None
        Resize to this height and width, bilinear with antialiasing; None keeps the published
        256, which takes 16 GB for the whole train split.
    rgb : bool
        Load three channels; otherwise one grey channel.
    verbose : bool
        Show progress on a terminal.

    Returns
    -------
    RenderedSample

    Raises
    ------
    InputError
        If a file is missing, damaged or has another layout.

    Examples
    --------
    >>> load_s3o4d("bunny")
    Traceback (most recent call last):
    geodis.base.check.InputError: bunny must be a folder with train_images.zip and \
train_latents.npz; got none of the name train_images.zip.
    """
    check_choice(split, "split", get_args(PublishedSplit))
    if n is not None:
        n = check_int(n, "n", low=1)
    if image_size is not None:
        image_size = check_int(image_size, "image_size", low=1)
    folder = Path(path)
    archive, latents = folder / f"{split}_images.zip", folder / f"{split}_latents.npz"
    for file in (archive, latents):
        if not file.is_file():
            raise InputError(
                f"{folder} must be a folder with {archive.name} and {latents.name}; "
                f"got none of the name {file.name}."
            )
    with reading(latents):
        rotations, lights = _read_latents(latents)
    with reading(archive), zipfile.ZipFile(archive) as images_zip:
        members = _members(
            archive, images_zip, len(lights), 0 if split == "train" else TRAIN_IMAGES
        )
        # Rows of the latents in order, for the images that are present.
        rows = np.array(sorted(members)[:n])
        with Stages("S3O4D", verbose) as stages, stages.stage("images"):
            images = _decode(images_zip, [members[row] for row in rows], image_size, rgb, stages)
    rotations, lights = rotations[rows], lights[rows]
    points = np.hstack([rotations.reshape(-1, 9), lights])
    tangents = product_frames(rotations, lights)
    return RenderedSample(points, tangents, FreeLight.names, images, rotations, lights)


def _read_latents(path: Path) -> tuple[np.ndarray, np.ndarray]:
    rotations, lights = NpzArray(path, "pose_mat"), NpzArray(path, "illumination")
    n = lights.shape[0] if lights.shape else 0
    if lights.shape != (n, 3) or rotations.shape != (n, 3, 3):
        raise InputError(
            f"{path} must hold pose_mat of shape (n, 3, 3) and illumination of shape (n, 3); "
            f"got {rotations.shape} and {lights.shape}."
        )
    matrices, directions = (np.asarray(array.read(), float) for array in (rotations, lights))
    away = np.abs(matrices @ matrices.transpose(0, 2, 1) - np.eye(3)).max(initial=0.0)
    length = np.abs(np.linalg.norm(directions, axis=1) - 1).max(initial=0.0)
    if not (away < LATENT_TOLERANCE and length < LATENT_TOLERANCE):  # NaN fails too
        raise InputError(
            f"pose_mat and illumination in {path} must be rotations and unit vectors; got "
            f"deviations up to {away:.2g} and {length:.2g}."
        )
    # Project onto rotations and unit vectors, so that the frames are tangent to full precision.
    u, _, vt = np.linalg.svd(matrices)
    return u @ vt, normalised(directions)


def _members(archive: Path, images_zip: zipfile.ZipFile, n: int, first: int) -> dict[int, str]:
    """Return the file name of each image by the row of its latents."""
    numbered = {}
    for name in images_zip.namelist():
        number = re.search(r"(\d+)\.\w+$", name)
        if number is not None:
            numbered[int(number.group(1)) - first] = name
    if not numbered or min(numbered) < 0 or max(numbered) >= n:
        span = f"{min(numbered) + first} to {max(numbered) + first}" if numbered else "none"
        raise InputError(
            f"{archive} must hold images numbered {first} to {first + n - 1}, one per row of the "
            f"latents; got {span}."
        )
    return numbered


def _decode(
    images_zip: zipfile.ZipFile, names: list[str], image_size: int | None, rgb: bool, stages: Stages
) -> np.ndarray:
    from PIL import Image  # comes with matplotlib

    def one(name: str) -> np.ndarray:
        decoded = Image.open(io.BytesIO(images_zip.read(name))).convert("RGB" if rgb else "L")
        return np.asarray(decoded).reshape(decoded.height, decoded.width, -1)

    images = np.empty(0, dtype=np.uint8)
    for rows in blocks(len(names), BLOCK):
        block = np.stack(in_threads(one, names[rows], n_jobs=-1))
        block = block if image_size is None else resize(block, image_size)
        if rows.start == 0:
            images = np.empty((len(names), *block.shape[1:]), dtype=np.uint8)
        images[rows] = block
        stages.advance(rows.stop / len(names), f"{rows.stop}")
    return images
