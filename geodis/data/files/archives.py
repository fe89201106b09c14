"""Image arrays inside archives, read in blocks: npz members, HDF5 data sets, NORB's matrices."""

from __future__ import annotations

import gzip
import math
import os
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError, require
from geodis.data.files.arrays import npy_header, read_npz
from geodis.data.files.contents import check_fits, map_array
from geodis.data.files.hierarchies.hdf5_members import member, own_dataset
from geodis.data.files.hierarchies.packed_chunks import check_chunks
from geodis.data.files.limits import check_unpacked

BLOCK_BYTES = 2**25  # read at once: 32 MiB

# The types of NORB's binary matrices, by the number that begins the file.
MATRIX_TYPES = {0x1E3D4C55: "u1", 0x1E3D4C54: "<i4", 0x1E3D4C56: "<i2"}


class NpzArray:
    """One array of an npz file, which may be larger than memory.

    Attributes
    ----------
    shape, dtype
    """

    def __init__(self, path: Path, key: str) -> None:
        stored = (contents := read_npz(path, False)).arrays[contents.choose(key)]
        self.path, self.member = path, f"{key}.npy"
        self.shape, self.dtype = stored.shape, np.dtype(stored.dtype)

    def read(self) -> np.ndarray:
        """Read all of it."""
        return np.asarray(read_npz(self.path, False).read(self.member.removesuffix(".npy")))

    def mapped(self) -> np.ndarray | None:
        """Map the array if its bytes lie in the file as they are: npz need not be compressed."""
        with zipfile.ZipFile(self.path) as archive:
            info = archive.getinfo(self.member)
        if info.compress_type != zipfile.ZIP_STORED:
            return None
        with self.path.open("rb") as file:
            file.seek(info.header_offset)
            name_length, extra_length = struct.unpack("<26xHH", file.read(30))
            file.seek(name_length + extra_length, os.SEEK_CUR)
            shape, fortran_order, dtype = npy_header(file)
            offset = file.tell()
        check_fits(self.path.stat().st_size - offset, shape, dtype)
        return map_array(
            self.path, dtype, shape, offset=offset, mmap=True, fortran_order=fortran_order
        )

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the rows in order, some at a time."""
        with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as file:
            shape, fortran_order, dtype = npy_header(file)
            if fortran_order:  # rows are not in one piece
                yield self.read()
            else:
                yield from _stream(file, dtype, shape)


class Hdf5Images:
    """Rows of an HDF5 data set; every process opens the file for itself.

    Attributes
    ----------
    shape, dtype
    """

    def __init__(self, path: Path, key: str) -> None:
        self._h5py = require("h5py", purpose=f"Reading {path.suffix} files")
        self.path, self.key = path, key
        self._file: Any = None
        self._process = -1
        dataset = self._dataset()
        check_chunks(path, dataset)
        self.shape, self.dtype = dataset.shape, dataset.dtype

    def __getitem__(self, rows: Any) -> np.ndarray:
        return self._dataset()[rows]

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the rows in order, whole chunks at a time."""
        dataset = self._dataset()
        chunk = (dataset.chunks or (1,))[0]
        count = max(1, _rows_at_once(self.dtype, self.shape) // chunk) * chunk
        for start in range(0, self.shape[0], count):
            yield dataset[start : start + count]

    def _dataset(self) -> Any:
        # A handle from before a fork shares its place in the file with the parent's.
        if self._process != os.getpid():
            self._file, self._process = self._h5py.File(self.path, "r"), os.getpid()
        dataset = member(self.path, self._file, self.key)
        if dataset is None:
            raise InputError(
                f"{self.path} has no array {self.key!r}; it holds {', '.join(self._file)}."
            )
        return own_dataset(self.path, dataset)

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "key": self.key}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


class BinaryImages:
    """Images of two values, kept in memory with one bit a pixel and given as 0 and 255.

    Attributes
    ----------
    shape, dtype
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape, self.dtype = shape, np.dtype(np.uint8)
        self._pixels = math.prod(shape[1:])
        self._bits = np.empty((shape[0], -(-self._pixels // 8)), dtype=np.uint8)

    def __setitem__(self, rows: slice, images: np.ndarray) -> None:
        self._bits[rows] = np.packbits(images.reshape(len(images), -1), axis=1)

    def __getitem__(self, rows: Any) -> np.ndarray:
        flat = np.unpackbits(self._bits[rows], axis=1, count=self._pixels)
        return (flat * np.uint8(255)).reshape(-1, *self.shape[1:])


class BinaryMatrix:
    """One of NORB's binary matrices, compressed by gzip or not.

    The file begins with the number of the type, the number of dimensions, and their sizes, of
    which at least three are written; everything is little-endian and row-major.

    Attributes
    ----------
    shape, dtype
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._open() as file:
            kind, n_dims = struct.unpack("<Ii", file.read(8))
            if kind not in MATRIX_TYPES or not 1 <= n_dims <= 8:
                raise ValueError(f"a NORB matrix begins with its type, and {kind:#010x} is none")
            stored = max(n_dims, 3)
            sizes = struct.unpack(f"<{stored}i", file.read(4 * stored))
        self.shape, self.dtype = sizes[:n_dims], np.dtype(MATRIX_TYPES[kind])
        self._offset = 8 + 4 * stored

    def mapped(self) -> np.ndarray | None:
        """Map the matrix unless it is compressed."""
        if self.path.suffix == ".gz":
            return None
        check_fits(self.path.stat().st_size - self._offset, self.shape, self.dtype)
        return map_array(self.path, self.dtype, self.shape, offset=self._offset, mmap=True)

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the rows in order, some at a time."""
        with self._open() as file:
            file.read(self._offset)
            yield from _stream(file, self.dtype, self.shape)

    def read(self) -> np.ndarray:
        """Read all of it."""
        check_unpacked(self.path, math.prod(self.shape) * self.dtype.itemsize)
        return np.concatenate([*self.blocks()])

    def _open(self) -> Any:
        return gzip.open(self.path) if self.path.suffix == ".gz" else self.path.open("rb")


def _stream(file: Any, dtype: np.dtype, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    row = math.prod(shape[1:]) * dtype.itemsize
    count = _rows_at_once(dtype, shape)
    for start in range(0, shape[0], count):
        n = min(count, shape[0] - start)
        data = file.read(n * row)
        if len(data) < n * row:
            raise ValueError(f"it ends after {start + len(data) // max(row, 1)} of {shape[0]} rows")
        yield np.frombuffer(data, dtype).reshape(n, *shape[1:])


def _rows_at_once(dtype: np.dtype, shape: tuple[int, ...]) -> int:
    return max(1, BLOCK_BYTES // max(1, math.prod(shape[1:]) * dtype.itemsize))
