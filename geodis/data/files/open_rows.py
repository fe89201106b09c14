"""Read the rows of files larger than memory in blocks."""

from __future__ import annotations

import bisect
import gzip
import math
import os
import struct
import zipfile
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError, require
from geodis.base.row_source import BLOCK_BYTES, RowSource, row_source
from geodis.data.files.arrays import npy_header, read_npz
from geodis.data.files.formats import check_fits, map_array, reading
from geodis.data.files.hdf5 import member, own_dataset
from geodis.data.files.limits import check_chunks, check_columns, check_regular, check_unpacked
from geodis.data.files.load import load_array, stored_array

PARQUET = ".parquet"


def open_rows(path: str | os.PathLike[str]) -> RowSource:
    """Open an array of points in a file without loading it.

    Parameters
    ----------
    path : str or path
        As for `load_array`. ``.npy``, ``.safetensors``, HDF5, zarr and parquet files are read
        in blocks, and so is a folder of parquet files, in the order of their names. Others are
        loaded completely.

    Returns
    -------
    RowSource

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "points.npy"
    >>> np.save(path, np.arange(6.0).reshape(3, 2))
    >>> open_rows(path).read(1, 3)
    array([[2., 3.],
           [4., 5.]])
    """
    folder = Path(path)
    if folder.suffix == PARQUET and folder.is_file():
        return _parquet_rows([folder])
    if folder.is_dir() and (files := sorted(folder.glob(f"*{PARQUET}"))):
        return _parquet_rows(files)
    stored = stored_array(path)
    if stored.read_rows is None or len(stored.shape) != 2:
        return row_source(load_array(path), str(path))
    n, d = stored.shape
    dtype = np.dtype(stored.dtype)
    rows = max(1, BLOCK_BYTES // (d * dtype.itemsize))
    step = max(stored.chunk_rows, rows // stored.chunk_rows * stored.chunk_rows)
    return RowSource((n, d), dtype, stored.read_rows, step)


def _parquet_rows(paths: Sequence[Path]) -> RowSource:
    """Read the rows of parquet files by row group."""
    parquet = require("pyarrow.parquet", purpose="Reading .parquet files")
    groups: list[tuple[Path, int]] = []
    counts: list[int] = []
    names: list[str] | None = None
    for path in paths:
        check_regular(path)
        with reading(path), parquet.ParquetFile(path) as file:
            # Skip a stored pandas index.
            own = [name for name in file.schema_arrow.names if not name.startswith("__index_")]
            check_columns(path, len(own))
            if names not in (None, own):
                raise InputError(
                    f"{path.parent} must hold parquet files of the same columns; {path.name} has "
                    f"{_few(own)} instead of {_few(names or [])}."
                )
            names = own
            _check_numbers(path, [file.schema_arrow.field(name) for name in own])
            for number in range(file.metadata.num_row_groups):
                group = file.metadata.row_group(number)
                check_unpacked(path, max(8 * len(own) * group.num_rows, group.total_byte_size))
                groups.append((path, number))
                counts.append(group.num_rows)
    columns = names or []
    stops = list(accumulate(counts))
    total = stops[-1] if stops else 0
    if not total or not columns:
        raise InputError(f"{paths[0].parent} must hold rows of points; got none.")

    def read(start: int, stop: int) -> np.ndarray:
        found = np.empty((stop - start, len(columns)))
        place = bisect.bisect_right(stops, start)
        while start < stop:
            begin = stops[place] - counts[place]
            path, group = groups[place]
            last = min(stop, stops[place])
            with reading(path), parquet.ParquetFile(path) as file:
                table = file.read_row_group(group, columns=columns)
            rows = _numbers(path, table.slice(start - begin, last - start))
            found[len(found) - (stop - start) :][: last - start] = rows
            start, place = last, place + 1
        return found

    return RowSource((total, len(columns)), np.dtype(float), read, max(counts))


def _check_numbers(path: Path, fields: Sequence[Any]) -> None:
    """Require numeric columns before reading: texts and lists may be of any length."""
    from pyarrow import types

    for field in fields:
        kind = getattr(field.type, "value_type", field.type)
        is_list = types.is_nested(field.type)
        if is_list or not (types.is_primitive(kind) and not types.is_temporal(kind)):
            raise InputError(
                f"{path} must hold numbers in every column; got {field.type} in {field.name}."
            )


def _numbers(path: Path, table: Any) -> np.ndarray:
    """Stack the columns of a table; missing values are NaN."""
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = column.to_numpy()
        if values.dtype.kind not in "biuf":
            raise InputError(
                f"{path} must hold numbers in every column; got {column.type} in {name}."
            )
        columns.append(values)
    return np.column_stack(columns).astype(float)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


# Arrays of images inside archives (npz members, HDF5 datasets, NORB matrices), read in blocks.

ARCHIVE_BLOCK_BYTES = 2**25  # read at once: 32 MiB

# Types of NORB's binary matrices, by the magic number of the file.
MATRIX_TYPES = {0x1E3D4C55: "u1", 0x1E3D4C54: "<i4", 0x1E3D4C56: "<i2"}


class NpzArray:
    """One array of an npz file, possibly larger than memory.

    Attributes
    ----------
    shape, dtype
    """

    def __init__(self, path: Path, key: str) -> None:
        stored = (contents := read_npz(path, False)).arrays[contents.choose(key)]
        self.path, self.member = path, f"{key}.npy"
        self.shape, self.dtype = stored.shape, np.dtype(stored.dtype)

    def read(self) -> np.ndarray:
        """Read the whole array."""
        return np.asarray(read_npz(self.path, False).read(self.member.removesuffix(".npy")))

    def mapped(self) -> np.ndarray | None:
        """Map the array if it is stored without compression; otherwise return None."""
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
        """Yield blocks of rows in order."""
        with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as file:
            shape, fortran_order, dtype = npy_header(file)
            if fortran_order:  # rows are not contiguous
                yield self.read()
            else:
                yield from _stream(file, dtype, shape)


class Hdf5Images:
    """Rows of an HDF5 dataset; every process opens the file itself.

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
        """Yield blocks of rows in order, in whole chunks."""
        dataset = self._dataset()
        chunk = (dataset.chunks or (1,))[0]
        count = max(1, _rows_at_once(self.dtype, self.shape) // chunk) * chunk
        for start in range(0, self.shape[0], count):
            yield dataset[start : start + count]

    def _dataset(self) -> Any:
        # After a fork, a handle would share its file position with the parent process.
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
    """Binary images, stored with one bit per pixel and returned as 0 and 255.

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
    """One of NORB's binary matrices, with or without gzip compression.

    The file begins with the magic number of the type, the number of dimensions and their sizes
    (at least three are stored). All values are little-endian and row-major.

    Attributes
    ----------
    shape, dtype
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._open() as file:
            kind, n_dims = struct.unpack("<Ii", file.read(8))
            if kind not in MATRIX_TYPES or not 1 <= n_dims <= 8:
                raise ValueError(f"a NORB matrix must begin with a known type; got {kind:#010x}")
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
        """Yield blocks of rows in order."""
        with self._open() as file:
            file.read(self._offset)
            yield from _stream(file, self.dtype, self.shape)

    def read(self) -> np.ndarray:
        """Read the whole matrix."""
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
    return max(1, ARCHIVE_BLOCK_BYTES // max(1, math.prod(shape[1:]) * dtype.itemsize))
