"""Points that may be larger than memory, read in blocks of rows."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_numeric, to_numpy
from geodis.base.jobs import blocks

# Bytes read at a time.
BLOCK_BYTES = 2**25


@dataclass(frozen=True)
class RowSource:
    """Rows of numbers that are read on request.

    Attributes
    ----------
    shape : tuple of int
        Rows n and columns d.
    dtype : dtype
    read : callable
        ``read(start, stop)`` returns an array of shape (stop - start, d).
    step : int
        Number of rows to read at a time: whole chunks of chunked data.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    read: Callable[[int, int], np.ndarray]
    step: int

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield all rows in blocks."""
        for rows in blocks(self.shape[0], self.step):
            yield rows, self.read(rows.start, rows.stop)


def row_source(X: Any, name: str = "X") -> RowSource:
    """Wrap memory maps, HDF5 datasets, zarr and Dask arrays, and other arrays.

    Objects with a shape and row slices are read slice by slice, and memory maps from their file, so
    that rows that were read do not stay in memory. Everything else is converted to an array.

    Parameters
    ----------
    X : array-like of shape (n, d)
    name : str
        The name of the array in messages.

    Returns
    -------
    RowSource

    Examples
    --------
    >>> source = row_source([[1.0, 2.0], [3.0, 4.0]])
    >>> source.shape, source.read(1, 2)
    ((2, 2), array([[3., 4.]]))
    """
    if isinstance(X, RowSource):
        return X
    lazy = not isinstance(X, np.ndarray) and hasattr(X, "shape") and hasattr(X, "dtype")
    if isinstance(X, np.memmap):
        pass  # as a plain array it would lose its file
    elif not lazy or hasattr(X, "iloc") or hasattr(X, "detach") or hasattr(X, "tocsr"):
        X = to_numpy(X, name)
    shape = tuple(X.shape)
    if len(shape) != 2 or 0 in shape:
        raise InputError(
            f"{name} must have shape (n, d), one row per point; got shape {shape}. "
            "Reshape your data."
        )
    dtype = np.dtype(X.dtype)
    check_numeric(np.empty(0, dtype), name)
    return RowSource((int(shape[0]), int(shape[1])), dtype, _reader(X), _step(X, shape[1], dtype))


def even_rows(n: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw an even sample of range(n): one random row from each of `count` intervals, in order.

    Examples
    --------
    >>> even_rows(10, 5, np.random.default_rng(0)) // 2
    array([0, 1, 2, 3, 4])
    """
    if count >= n:
        return np.arange(n)
    edges = np.arange(count + 1, dtype=np.int64) * n // count
    return rng.integers(edges[:-1], edges[1:])


def read_rows(
    source: RowSource, rows: np.ndarray, done: Callable[[float], None] | None = None
) -> np.ndarray:
    """Read rows with increasing indices in one pass over the blocks that contain them.

    Parameters
    ----------
    source : RowSource
    rows : ndarray of int, shape (r,)
    done : callable, optional
        Called with the share that was read.

    Returns
    -------
    ndarray of shape (r, d)

    Examples
    --------
    >>> read_rows(row_source(np.arange(10.0)[:, None]), np.array([2, 7])).ravel()
    array([2., 7.])
    """
    found = np.empty((len(rows), source.shape[1]), source.dtype)
    for block in blocks(source.shape[0], source.step):
        first, last = np.searchsorted(rows, [block.start, block.stop])
        if first < last:
            found[first:last] = source.read(block.start, block.stop)[rows[first:last] - block.start]
        if done is not None:
            done(block.stop / source.shape[0])
    return found


def check_sample(sample: Any, source: RowSource) -> int:
    """Return the number of rows in a sample: an integer, at most the number of all rows."""
    return min(check_int(sample, "sample", low=2), source.shape[0])


def _step(X: Any, d: int, dtype: np.dtype) -> int:
    """Return the rows to read at a time: about `BLOCK_BYTES`, and whole chunks."""
    rows = max(1, BLOCK_BYTES // (d * dtype.itemsize))
    chunks = getattr(X, "chunks", None)
    if chunks:
        first = chunks[0]
        chunk = int(max(first)) if isinstance(first, tuple) else int(first)
        rows = max(chunk, rows // chunk * chunk)
    return rows


def _reader(X: Any) -> Callable[[int, int], np.ndarray]:
    if isinstance(X, np.memmap) and (placed := _place_in_file(X)) is not None:
        path, offset = placed
        d, dtype = X.shape[1], X.dtype

        def from_file(start: int, stop: int) -> np.ndarray:
            begin = offset + start * d * dtype.itemsize
            values = np.fromfile(path, dtype, (stop - start) * d, offset=begin)
            if len(values) < (stop - start) * d:
                raise InputError(
                    f"{path} must keep its rows while it is read; got none for {start} to {stop}."
                )
            return values.reshape(-1, d)

        return from_file

    def by_slice(start: int, stop: int) -> np.ndarray:
        rows = X[start:stop]
        if hasattr(rows, "compute"):  # a Dask array, computed in this process
            rows = rows.compute(scheduler="synchronous")
        return np.asarray(rows)

    return by_slice


def _place_in_file(X: np.memmap) -> tuple[str, int] | None:
    """Return the file and offset of a memory map; None if its entries are not contiguous."""
    root = X
    while isinstance(root.base, np.memmap):
        root = root.base
    if not isinstance(root.base, mmap.mmap) or root.filename is None or not X.flags.c_contiguous:
        return None
    if root.mode == "c":  # copy-on-write changes exist only in memory
        return None
    inside = X.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return str(root.filename), int(root.offset + inside)
