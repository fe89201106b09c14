"""Reader of numeric and character arrays in MATLAB files of versions 4 to 7.3."""

from __future__ import annotations

import math
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from geodis.base.check import InputError, require
from geodis.data.columns import Column
from geodis.data.files.anndata import dense_from_indices
from geodis.data.files.formats import Contents, Stored, register_reader
from geodis.data.files.hdf5 import member, members, values_of
from geodis.data.files.limits import AT_ONCE, check_count, check_unpacked

# Files of versions 4 and 5 are checked before scipy's compiled reader sees them. That reader uses
# the type of an element as an unchecked table index and allocates as many bytes as an element
# declares: a wrong type crashes the process, and an array name may be a gigabyte of zeros.

# The file header, which ends with the byte order.
HEADER = 128
ORDERS = {b"IM": "<", b"MI": ">"}
MATRIX, PACKED = 14, 15
# Bytes per entry, by the type of a numeric or text element.
ENTRY_BYTES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8, 16: 1, 17: 2, 18: 4}
WHOLE_NUMBERS = (1, 2, 3, 4, 5, 6, 12, 13)
FLAGS, NAMES, SIZES = (6,), (1, 16), (5, 6)
# Array classes: text, sparse, all classes with values, and opaque objects without shape or name.
CHAR, SPARSE, WITH_VALUES, OPAQUE = 4, 5, range(4, 16), 17
IS_COMPLEX = 1 << 11
# MATLAB names have at most 63 bytes; scipy arrays have at most 32 axes.
MOST_NAME, MOST_AXES = 1024, 32
# In version 4, five integers precede each array; bytes per entry by the third digit of the first.
HEAD_4 = 20
ENTRY_BYTES_4 = (8, 4, 4, 2, 2, 1)


class _Element(NamedTuple):
    kind: int
    n_bytes: int
    data: bytes  # of a short element, stored in its tag


class _Unpacked:
    """A zlib stream that is decompressed in order, at most as far as requested."""

    def __init__(self, file: IO[bytes], n_bytes: int) -> None:
        self._file, self._left = file, n_bytes
        self._stream, self._waiting = zlib.decompressobj(), b""

    def read(self, count: int) -> bytes:
        found = b""
        while len(found) < count and not self._stream.eof:
            if not self._waiting:
                self._waiting = self._file.read(min(self._left, AT_ONCE // 16))
                self._left -= len(self._waiting)
                if not self._waiting:
                    break
            found += self._stream.decompress(self._waiting, count - len(found))
            self._waiting = self._stream.unconsumed_tail
        return found


Source = IO[bytes] | _Unpacked


def check_packed(path: Path, key: str | None = None) -> None:
    """Check the headers of all arrays, and the values of the array `key`.

    scipy reads only the headers of cells, structures and objects, as their values are not needed.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(HEADER)
        if 0 in start[:4]:
            _check_version_4(file, size)
            return
        order = ORDERS.get(start[HEADER - 2 :])
        if order is None:
            raise ValueError("its header does not give a byte order")
        while file.tell() < size:
            kind, n_bytes, _ = _tag(file, order)
            end = file.tell() + n_bytes
            if kind not in (MATRIX, PACKED) or not 0 < n_bytes <= size - file.tell():
                raise ValueError(f"it must hold whole arrays; got {n_bytes} bytes of type {kind}")
            source: Source = file
            if kind == PACKED:
                source = _Unpacked(file, n_bytes)
                if (inner := _tag(source, order).kind) != MATRIX:
                    raise ValueError(f"it must hold arrays; got a packed element of type {inner}")
            _check_array(path, source, order, key, min(size, end) if kind == MATRIX else None)
            file.seek(end)


def _check_array(path: Path, source: Source, order: str, key: str | None, end: int | None) -> None:
    """Check the header of an array, and its values if it has the requested key.

    `end` is the position at which it ends, or None for compressed arrays, where it is unknown.
    """
    flags, _ = struct.unpack(f"{order}II", _content(source, order, FLAGS, 8, "flags"))
    own_class = flags & 0xFF
    if own_class == OPAQUE:
        return
    sizes = _content(source, order, SIZES, 4 * MOST_AXES, "sizes")
    shape = struct.unpack(f"{order}{len(sizes) // 4}i", sizes[: len(sizes) // 4 * 4])
    name = _content(source, order, NAMES, MOST_NAME, "a name").decode("latin-1")
    if len(shape) < 2 or min(shape) < 0:
        raise ValueError(f"an array must have two sizes or more; got {shape}")
    if (name or "__function_workspace__") != key:
        return
    if own_class not in WITH_VALUES:
        raise ValueError(f"{key} must hold numbers or text; got an array of class {own_class}")
    if own_class == CHAR:  # scipy pads missing text with spaces
        check_unpacked(path, 4 * math.prod(shape), key)
    n_values = 2 if flags & IS_COMPLEX else 1
    for part in range(n_values + 2 * (own_class == SPARSE)):
        is_index = own_class == SPARSE and part < 2
        element = _tag(source, order)
        if element.kind not in (WHOLE_NUMBERS if is_index else ENTRY_BYTES):
            what = "indices" if is_index else "values"
            raise ValueError(f"{what} of {key} must be numbers; got a type {element.kind}")
        if element.data:
            continue
        if end is None:
            check_unpacked(path, element.n_bytes, f"what is packed as {key}")
        elif isinstance(source, _Unpacked) or element.n_bytes > end - source.tell():
            raise ValueError(f"{key} must have {element.n_bytes} bytes of values; it ends before")
        _skip(source, element.n_bytes + -element.n_bytes % 8)


def _tag(source: Source, order: str) -> _Element:
    """Read the tag of an element: its type, its size, and the data of short elements."""
    tag = source.read(8)
    if len(tag) < 8:
        raise ValueError("the file ends within an array")
    kind, n_bytes = struct.unpack(f"{order}II", tag)
    if not kind >> 16:
        return _Element(kind, n_bytes, b"")
    kind, n_bytes = kind & 0xFFFF, kind >> 16
    if n_bytes > 4:
        raise ValueError(f"a short element must have at most 4 bytes; got {n_bytes}")
    return _Element(kind, n_bytes, tag[4 : 4 + n_bytes])


def _content(source: Source, order: str, kinds: tuple[int, ...], most: int, what: str) -> bytes:
    """Read a short element of an array header."""
    element = _tag(source, order)
    if element.kind not in kinds or element.n_bytes > most:
        raise ValueError(
            f"an array must have {what} of at most {most} bytes; "
            f"got {element.n_bytes} bytes of type {element.kind}"
        )
    data = element.data or source.read(element.n_bytes + -element.n_bytes % 8)
    if len(data) < element.n_bytes:
        raise ValueError("the file ends within an array")
    return data[: element.n_bytes]


def _skip(source: Source, count: int) -> None:
    if not isinstance(source, _Unpacked):
        source.seek(count, 1)
        return
    while count > 0 and (found := source.read(min(count, AT_ONCE))):
        count -= len(found)


def _check_version_4(file: IO[bytes], size: int) -> None:
    """Require arrays that end within the file: scipy would seek backwards for negative sizes."""
    file.seek(0)
    while file.tell() < size:
        head = file.read(HEAD_4)
        if len(head) < HEAD_4:
            raise ValueError("the file ends within an array")
        kind, rows, columns, is_complex, length = struct.unpack("<5i", head)
        if not 0 <= kind <= 5000:
            kind, rows, columns, is_complex, length = struct.unpack(">5i", head)
        width = ENTRY_BYTES_4[min(abs(kind) // 10 % 10, len(ENTRY_BYTES_4) - 1)]
        n_bytes = rows * columns * width * (2 if is_complex == 1 else 1)
        if min(rows, columns, length) < 0 or length + n_bytes > size - file.tell():
            raise ValueError(f"an array of {rows} x {columns} does not fit into the file")
        file.seek(length + n_bytes, 1)


# Bytes per entry by array class; objects, structures and cells are not read.
CLASS_BYTES = {
    **{"double": 8, "single": 4, "logical": 1, "char": 4, "sparse": 8},
    **{f"{sign}int{8 * size}": size for sign in ("", "u") for size in (1, 2, 4, 8)},
}
# Groups that MATLAB reserves for itself in version 7.3.
RESERVED = ("#refs#", "#subsystem#")
VERSION_73 = b"MATLAB 7.3"


@register_reader(".mat")
def read_matlab(path: Path, mmap: bool) -> Contents:
    """Read numeric and text arrays; MATLAB's 1 x n and n x 1 matrices become vectors."""
    arrays = _listed_73(path) if is_version_73(path) else _listed(path)
    return Contents(path, arrays)


def read_mat(path: Path, key: str) -> np.ndarray:
    """Read one array of a MATLAB file with all its axes."""
    array = _read_73(path, key) if is_version_73(path) else _read(path, key)
    return np.asarray(array)


def is_version_73(path: Path) -> bool:
    """Return whether the file is HDF5, with or without MATLAB's 512-byte header."""
    with path.open("rb") as file:
        start = file.read(10)
    return start == VERSION_73 or start.startswith(b"\x89HDF")


def _listed(path: Path) -> dict[str, Stored]:
    from scipy.io import whosmat

    check_packed(path)
    with _quietly():
        found = whosmat(str(path))
    check_count(path, len(found))
    return {
        name: _stored(shape, kind, partial(_read, path, name))
        for name, shape, kind in found
        if kind in CLASS_BYTES
    }


def _stored(shape: tuple[int, ...], kind: str, read: Any) -> Stored:
    if kind == "char":
        return Stored(tuple(shape[:1]), "labels", read)
    return Stored(_without_unit(shape), kind, lambda: read().reshape(_without_unit(shape)))


def _without_unit(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Drop the unit axis of a vector, which MATLAB stores as a matrix."""
    return (max(shape),) if len(shape) == 2 and min(shape) == 1 else tuple(shape)


def _read(path: Path, key: str) -> Any:
    from scipy.io import loadmat, whosmat

    check_packed(path)
    with _quietly():
        # If two arrays have the same name, loadmat reads the first.
        kinds = {name: (shape, kind) for name, shape, kind in reversed(whosmat(str(path)))}
        if key not in kinds:
            raise InputError(f"{path} has no array {key!r}; it holds {', '.join(kinds)}.")
        shape, kind = kinds[key]
        if kind not in CLASS_BYTES:
            raise InputError(f"{key} in {path} must be an array of numbers or text; got {kind}.")
        # Twice, because the numbers may be complex.
        check_unpacked(path, 2 * CLASS_BYTES[kind] * math.prod(shape), key)
        check_packed(path, key)
        value = loadmat(str(path), variable_names=[key], chars_as_strings=True)[key]
    if not hasattr(value, "toarray"):
        return value
    if value.format == "coo":  # of version 4; scipy checks coordinates itself
        return value.toarray()
    return dense_from_indices(key, value.data, value.indices, value.indptr, value.shape, 1)


@contextmanager
def _quietly() -> Iterator[None]:
    """Ignore scipy's warnings about duplicate names and unknown classes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _listed_73(path: Path) -> dict[str, Stored]:
    h5py = require("h5py", purpose="Reading MATLAB files of version 7.3")
    arrays: dict[str, Stored] = {}
    with h5py.File(path, "r") as file:
        for key, node in members(file):
            if key.split("/")[0] in RESERVED or not isinstance(node, h5py.Dataset):
                continue
            kind = _class_of(node)
            if kind not in CLASS_BYTES or node.shape is None or "MATLAB_empty" in node.attrs:
                continue
            # MATLAB's arrays are column-major, so HDF5 lists their axes in reverse.
            arrays[key] = _stored(node.shape[::-1], kind, partial(_read_73, path, key))
            check_count(path, len(arrays))
    return arrays


def _class_of(dataset: Any) -> str:
    kind = dataset.attrs.get("MATLAB_class", b"")
    named = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
    return named or str(dataset.dtype).replace("float64", "double").replace("float32", "single")


def _read_73(path: Path, key: str) -> Column:
    h5py = require("h5py", purpose="Reading MATLAB files of version 7.3")
    with h5py.File(path, "r") as file:
        dataset = member(path, file, key)
        if not isinstance(dataset, h5py.Dataset):
            raise InputError(f"{path} has no array {key!r}; it holds {', '.join(file)}.")
        values = np.asarray(values_of(path, dataset)).T
        if _class_of(dataset) == "char":  # one text per row, in UTF-16
            rows = np.ascontiguousarray(values, "<u2")
            return np.array([row.tobytes().decode("utf-16-le", "replace") for row in rows])
        if values.dtype.names == ("real", "imag"):
            return values["real"] + 1j * values["imag"]
        return values
