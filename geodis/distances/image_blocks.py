"""Distances of all pairs of two sets of images, computed in blocks that fit into memory."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int
from geodis.base.engine import open_engine
from geodis.base.jobs import blocks
from geodis.base.progress import Stages
from geodis.data.files.load import load_array
from geodis.distances.factor_distances import as_images, check_images
from geodis.distances.image_losses import Loss, LossLike, resolve_loss

# Images per block: 256 of 64 x 64 bytes are a megabyte, which fits into the cache; a block of pairs
# is half a megabyte of distances.
BLOCK = 256


@dataclass(frozen=True)
class DistanceBlock:
    """Distances between a block of images and a block of the others.

    Attributes
    ----------
    rows, columns : slice
        The images of both blocks.
    distances : ndarray of shape (rows, columns)
    """

    rows: slice
    columns: slice
    distances: np.ndarray


@dataclass(frozen=True, eq=False)
class NearestImages:
    """The nearest images of every image, and its mean distance to all.

    Attributes
    ----------
    index : ndarray of int64, shape (n, k)
        In ascending order of distance; ties are in order of index.
    distances : ndarray of shape (n, k)
    mean : ndarray of shape (n,)
        Mean distance to all others.
    """

    index: np.ndarray
    distances: np.ndarray
    mean: np.ndarray


def distance_blocks(
    images: Any,
    others: Any = None,
    loss: LossLike = "mse",
    *,
    block: int = BLOCK,
    cluster: Any = None,
    n_workers: int | None = None,
) -> Iterator[DistanceBlock]:
    """Compute perceived distances of all pairs, ``D_ij = loss(x_i, y_j)``, block by block.

    Parameters
    ----------
    images : array-like of shape (n, h, w, c) or (n, h, w), or path
        As for `perceived`. Workers read paths and memory-mapped files by block, at the same path;
        other arrays are sent to every worker once.
    others : array-like or path, optional
        The other set; by default the same images.
    loss : name, callable or loss
        As for `perceived`.
    block : int
        Number of images on each side of a block.
    cluster, n_workers
        As for `score_many`.

    Yields
    ------
    DistanceBlock
        In the order of completion. For a single set and a symmetric loss, only blocks on and above
        the diagonal, because ``D_ij = D_ji``.

    Examples
    --------
    >>> images = np.zeros((3, 4, 4), np.uint8)
    >>> images[2] = 255
    >>> [block.distances.tolist() for block in distance_blocks(images, block=3)]
    [[[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]]
    """
    pairs = _ImagePairs.of(images, others, loss)
    size = check_int(block, "block", low=1)
    half = others is None and pairs.loss.symmetric
    tasks = (
        (rows, columns)
        for rows in blocks(len(pairs.left), size)
        for columns in blocks(len(pairs.right), size)
        if not half or columns.start >= rows.start
    )
    with open_engine(cluster, n_workers=n_workers) as engine:
        for _, outcome in engine.run(_block_of, tasks, shared=(pairs,)):
            yield outcome.result()


def nearest_images(
    images: Any,
    others: Any = None,
    loss: LossLike = "mse",
    *,
    k: int = 10,
    block: int = BLOCK,
    cluster: Any = None,
    n_workers: int | None = None,
    verbose: bool | int = False,
) -> NearestImages:
    """Find the nearest images by a perceived distance, and mean distances, in little memory.

    All pairs are compared; only the k smallest distances and those of a block are in memory.

    Parameters
    ----------
    images, others, loss, block, cluster, n_workers
        As for `distance_blocks`; for a single set no image is its own neighbour.
    k : int
    verbose : bool or int
        Show progress.

    Returns
    -------
    NearestImages
        It does not depend on the cluster and the block size, up to rounding of means.

    Examples
    --------
    >>> images = np.arange(4, dtype=np.uint8)[:, None, None] ** 2
    >>> nearest_images(images, k=1).index.ravel()
    array([1, 0, 1, 2])
    """
    pairs = _ImagePairs.of(images, others, loss)
    size = check_int(block, "block", low=1)
    alone = others is None
    n = len(pairs.left)
    most = len(pairs.right) - alone
    if most < 1:
        raise InputError(f"Neighbours need another image; got {len(pairs.right)} in all.")
    k = check_int(k, "k", low=1, high=most)
    index = np.empty((n, k), np.int64)
    distances, mean = np.empty((n, k)), np.empty(n)
    opened = open_engine(cluster, n_workers=n_workers)
    with Stages("images", verbose) as stages, stages.stage("nearest"), opened as engine:
        strips = engine.run(_strip_of, blocks(n, size), shared=(pairs, k, size, alone))
        for done, (_, outcome) in enumerate(strips, start=1):
            rows, *found = outcome.result()
            index[rows], distances[rows], mean[rows] = found
            stages.advance(min(1.0, done * size / n))
    return NearestImages(index, distances, mean)


@dataclass(frozen=True)
class _Images:
    """Images in memory, or in a file that is mapped by workers."""

    held: np.ndarray | None
    path: str = ""
    offset: int = 0
    shape: tuple[int, ...] = ()
    dtype: str = ""

    @classmethod
    def of(cls, images: Any, name: str) -> _Images:
        array = load_array(images) if isinstance(images, str | os.PathLike) else images
        array = check_images(array, name)
        whole = array
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        # A slice of a memory map has the offset of the whole map.
        same = whole.size == array.size and array.flags.c_contiguous
        if isinstance(whole, np.memmap) and isinstance(whole.base, mmap.mmap) and same:
            path = os.path.abspath(str(whole.filename))  # noqa: PTH100, it stays a text
            return cls(None, path, whole.offset, array.shape, array.dtype.str)
        return cls(array)

    def __len__(self) -> int:
        return self.shape[0] if self.held is None else len(self.held)

    @property
    def bytes(self) -> bool:
        return (np.dtype(self.dtype) if self.held is None else self.held.dtype) == np.uint8

    @property
    def image_shape(self) -> tuple[int, ...]:
        return self.shape[1:] if self.held is None else self.held.shape[1:]

    def take(self, rows: slice) -> np.ndarray:
        if self.held is not None:
            return self.held[rows]
        every = np.memmap(self.path, self.dtype, "r", self.offset, self.shape)
        return np.asarray(every[rows])


@dataclass(frozen=True)
class _ImagePairs:
    """Two sets of images and the loss between them."""

    left: _Images
    right: _Images
    loss: Loss

    @classmethod
    def of(cls, images: Any, others: Any, loss: LossLike) -> _ImagePairs:
        left = _Images.of(images, "images")
        right = left if others is None else _Images.of(others, "others")
        if left.image_shape != right.image_shape:
            raise InputError(
                f"images and others must have the same shape; got {left.image_shape} and "
                f"{right.image_shape}."
            )
        return cls(left, right, resolve_loss(loss))

    def prepared(self, side: _Images, rows: slice) -> tuple[Any, int]:
        """Return the prepared images of a block, and their number."""
        images = as_images(side.take(rows), self.left.bytes and self.right.bytes)
        return self.loss.prepare(images), len(images)

    def between(self, left: tuple[Any, int], right: tuple[Any, int]) -> np.ndarray:
        """Return distances (r, c) of all pairs of two prepared blocks."""
        (a, r), (b, c) = left, right
        rows, columns = np.repeat(np.arange(r), c), np.tile(np.arange(c), r)
        return self.loss.between(a, b, rows, columns).reshape(r, c)


def _block_of(task: tuple[slice, slice], pairs: _ImagePairs) -> DistanceBlock:
    rows, columns = task
    left, right = pairs.prepared(pairs.left, rows), pairs.prepared(pairs.right, columns)
    return DistanceBlock(rows, columns, pairs.between(left, right))


def _strip_of(
    rows: slice, pairs: _ImagePairs, k: int, size: int, alone: bool
) -> tuple[slice, np.ndarray, np.ndarray, np.ndarray]:
    """Find the k nearest images of a block, and mean distances to all others."""
    left = pairs.prepared(pairs.left, rows)
    r, m = left[1], len(pairs.right)
    index, best = np.full((r, k), -1), np.full((r, k), np.inf)
    total = np.zeros(r)
    for columns in blocks(m, size):
        found = pairs.between(left, pairs.prepared(pairs.right, columns)).astype(float)
        if alone:
            own = np.arange(max(rows.start, columns.start), min(rows.stop, columns.stop))
            found[own - rows.start, own - columns.start] = np.inf
        total += np.where(np.isinf(found), 0.0, found).sum(axis=1)
        # Ties keep the first image: later ones must be strictly nearer.
        new = np.flatnonzero((found < best[:, -1:]).any(axis=0))
        both = np.concatenate([best, found[:, new]], axis=1)
        order = np.argsort(both, axis=1, kind="stable")[:, :k]
        names = np.concatenate([index, np.broadcast_to(new + columns.start, (r, len(new)))], axis=1)
        best, index = (np.take_along_axis(part, order, axis=1) for part in (both, names))
    return rows, index, best, total / (m - alone)
