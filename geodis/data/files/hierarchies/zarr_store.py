"""zarr stores, of versions 2 and 3, in a folder -> their arrays.

Read without zarr: of its codecs some run what a store says (pickle), and none has a limit. Only
those below are known, and each chunk must fill just the bytes that its array says.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError, require
from geodis.base.notes import note_entry
from geodis.data.files.contents import Contents, Stored
from geodis.data.files.formats import register_reader
from geodis.data.files.limits import check_count, check_regular, check_unpacked

# Codecs of one chunk that are known: what decompresses, and what only moves bytes.
DECOMPRESSED = ("zlib", "gzip", "blosc", "zstd", "lz4")
PLAIN = ("bytes", "crc32c", "transpose")
# Metadata is a page of text.
MOST_METADATA = 2**24
# How deep groups are looked through.
MOST_DEPTH_OF_STORE = 16


@dataclass(frozen=True)
class ChunkedArray:
    """What the metadata of one array says, of either version.

    Attributes
    ----------
    folder : Path
    shape, chunks : tuple of int
    dtype : dtype
    order : "C" or "F"
    fill : number
    codecs : list of dict
        In the order in which they encode, by "name", each with its settings.
    separator, prefix : str
        Of the names of the chunks.
    """

    folder: Path
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype
    order: Any
    fill: Any
    codecs: tuple[Mapping[str, Any], ...]
    separator: str
    prefix: str

    def __post_init__(self) -> None:
        if len(self.shape) != len(self.chunks) or min(self.chunks, default=1) < 1:
            raise ValueError(f"chunks of {self.chunks} do not divide an array of {self.shape}")
        if min(self.shape, default=0) < 0 or self.dtype.hasobject:
            raise ValueError(f"an array of shape {self.shape} and dtype {self.dtype} is not read")
        for codec in self.codecs:
            name = codec["name"]
            if name not in (*DECOMPRESSED, *PLAIN):
                known = ", ".join((*DECOMPRESSED, *PLAIN))
                raise ValueError(f"the codec {name!r} is not one of {known}, which geodis reads")

    def read(self, store: Path) -> np.ndarray:
        """All chunks in their places, and the fill value where one is missing."""
        check_unpacked(store, math.prod(self.shape) * self.dtype.itemsize, str(self.folder.name))
        check_unpacked(store, math.prod(self.chunks) * self.dtype.itemsize, "a chunk")
        values = np.full(self.shape, self.fill, self.dtype)
        counts = [-(-size // chunk) for size, chunk in zip(self.shape, self.chunks, strict=True)]
        for place in itertools.product(*map(range, counts)):
            path = self.folder / self._name(place)
            if not path.exists():
                continue
            check_inside(store, path)
            begin = [i * chunk for i, chunk in zip(place, self.chunks, strict=True)]
            own = tuple(slice(b, b + chunk) for b, chunk in zip(begin, self.chunks, strict=True))
            inside = tuple(
                slice(0, min(chunk, size - b))
                for b, chunk, size in zip(begin, self.chunks, self.shape, strict=True)
            )
            values[own] = self._chunk(path)[inside]
        return values

    def _name(self, place: Sequence[int]) -> str:
        numbers = self.separator.join(map(str, place))
        if not place:
            numbers = "" if self.prefix else "0"
        return self.separator.join(filter(None, (self.prefix, numbers)))

    def _chunk(self, path: Path) -> np.ndarray:
        n_bytes = math.prod(self.chunks) * self.dtype.itemsize
        check_unpacked(path, path.stat().st_size)
        data, axes, dtype = path.read_bytes(), None, self.dtype
        for place, codec in reversed([*enumerate(self.codecs)]):
            settings = codec.get("configuration", codec)
            if codec["name"] == "transpose":
                axes = settings.get("order")
            elif codec["name"] == "bytes":
                dtype = dtype.newbyteorder(">" if settings.get("endian") == "big" else "<")
            elif codec["name"] == "crc32c":
                data = data[:-4]
            else:
                sums = sum(inner["name"] == "crc32c" for inner in self.codecs[:place])
                data = decompressed(codec["name"], data, n_bytes + 4 * sums)
        if len(data) != n_bytes:
            raise ValueError(f"the chunk {path.name} has {len(data)} bytes instead of {n_bytes}")
        if axes is None:
            return np.frombuffer(data, dtype).reshape(self.chunks, order=self.order)
        turned = tuple(self.chunks[axis] for axis in axes)
        return np.frombuffer(data, dtype).reshape(turned).transpose(np.argsort(axes))


@register_reader(".zarr")
def read_zarr(path: Path, mmap: bool) -> Contents:
    """Every array by its path in the store."""
    if not path.is_dir():
        raise ValueError("a zarr store is read where it is a folder")
    arrays: dict[str, Stored] = {}
    _list(path, path, "", arrays, 0)
    return Contents(path, arrays)


def _list(store: Path, folder: Path, key: str, arrays: dict[str, Stored], depth: int) -> None:
    if depth > MOST_DEPTH_OF_STORE:
        raise ValueError(f"its groups lie more than {MOST_DEPTH_OF_STORE} deep")
    try:
        array = _metadata(store, folder)
    except ValueError as problem:  # others may be read: it is listed, and refused when asked for
        arrays[key] = Stored((), "unread", partial(_refuse, problem))
        return
    if array is not None:
        arrays[key] = Stored(array.shape, str(array.dtype), partial(array.read, store))
        check_count(store, len(arrays))
        return
    for inner in sorted(folder.iterdir()):
        if inner.is_dir() and not inner.is_symlink():
            _list(store, inner, f"{key}/{inner.name}" if key else inner.name, arrays, depth + 1)


def _refuse(problem: ValueError) -> np.ndarray:
    raise problem


def _metadata(store: Path, folder: Path) -> ChunkedArray | None:
    """What stands beside an array, of version 2 or 3; None for a group."""
    if (folder / ".zarray").exists():
        return _of_version_2(folder, _read_json(store, folder / ".zarray"))
    if (folder / "zarr.json").exists():
        note = _read_json(store, folder / "zarr.json")
        return _of_version_3(folder, note) if note.get("node_type") == "array" else None
    return None


def _read_json(store: Path, path: Path) -> dict[str, Any]:
    check_inside(store, path)
    if path.stat().st_size > MOST_METADATA:
        raise ValueError(f"{path.name} is longer than {MOST_METADATA} bytes")
    note = json.loads(path.read_bytes())
    if not isinstance(note, dict):
        raise ValueError(f"{path.name} must be an object")
    return note


def check_inside(store: Path, path: Path) -> None:
    """Require a regular file of the store itself: a link may lead to any file of the machine."""
    if not path.resolve().is_relative_to(store.resolve()):
        raise InputError(f"{store} must hold its own files; got {path.name}, a link out of it.")
    check_regular(path)


def _of_version_2(folder: Path, note: dict[str, Any]) -> ChunkedArray:
    name = folder.name
    filters = note.get("filters") or []
    if filters:
        raise ValueError(f"filters are not read; {name} has {len(filters)}")
    compressor = note.get("compressor")
    codecs = () if compressor is None else ({**compressor, "name": compressor.get("id")},)
    dtype = np.dtype(note_entry(note, "dtype", str, name))
    return ChunkedArray(
        folder,
        _sizes(note, "shape", name),
        _sizes(note, "chunks", name),
        dtype,
        "F" if note.get("order") == "F" else "C",
        _fill(note.get("fill_value"), dtype),
        codecs,
        str(note.get("dimension_separator", ".")),
        "",
    )


def _of_version_3(folder: Path, note: dict[str, Any]) -> ChunkedArray:
    name = folder.name
    grid = note_entry(note, "chunk_grid", dict, name)
    keys = note.get("chunk_key_encoding") or {"name": "default"}
    is_default = keys.get("name") == "default"
    settings = keys.get("configuration") or {}
    dtype = np.dtype(note_entry(note, "data_type", str, name))
    if note.get("storage_transformers"):
        raise ValueError("storage transformers are not read")
    codecs = note_entry(note, "codecs", list, name)
    return ChunkedArray(
        folder,
        _sizes(note, "shape", name),
        _sizes(note_entry(grid, "configuration", dict, name), "chunk_shape", name),
        dtype,
        "C",
        _fill(note.get("fill_value"), dtype),
        tuple(dict(codec) for codec in codecs),
        str(settings.get("separator", "/" if is_default else ".")),
        "c" if is_default else "",
    )


def _sizes(note: Mapping[str, Any], key: str, name: str) -> tuple[int, ...]:
    sizes = note_entry(note, key, list, name)
    if any(type(size) is not int for size in sizes):
        raise ValueError(f"{key} must be whole numbers; got {sizes}")
    return tuple(sizes)


def _fill(value: Any, dtype: np.dtype) -> Any:
    """What stands where nothing was written; texts such as "NaN" are how JSON has it."""
    return np.zeros((), dtype)[()] if value is None else np.array(value).astype(dtype)[()]


def decompressed(name: str, data: bytes, most: int) -> bytes:
    """Decompress no more than so many bytes.

    Examples
    --------
    >>> decompressed("zlib", zlib.compress(b"points"), 6)
    b'points'
    >>> decompressed("zlib", zlib.compress(bytes(1000)), 6)
    Traceback (most recent call last):
    ValueError: a chunk is larger than the 6 bytes that its array says
    """
    if name == "zlib":
        stream = zlib.decompressobj()
        plain = stream.decompress(data, most + 1)
    elif name == "gzip":
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            plain = file.read(most + 1)
    else:
        plain = _by_numcodecs(name, data, most)
    if len(plain) > most:
        raise ValueError(f"a chunk is larger than the {most} bytes that its array says")
    return plain


def _by_numcodecs(name: str, data: bytes, most: int) -> bytes:
    numcodecs = require("numcodecs", extra="zarr", purpose=f"Reading chunks of zarr in {name}")
    if name == "blosc":
        if len(data) < 16 or int.from_bytes(data[4:8], "little") > most:  # as its header says
            return bytes(most + 1)
        return bytes(numcodecs.Blosc().decode(data))
    if name == "lz4":  # whose first four bytes say how long it will be
        if len(data) < 4 or int.from_bytes(data[:4], "little") > most:
            return bytes(most + 1)
        return bytes(numcodecs.LZ4().decode(data))
    # A buffer is refused where it is too small, before anything is written to it.
    return bytes(numcodecs.Zstd().decode(data, out=np.zeros(most, np.uint8)))


def is_zarr(folder: Path) -> bool:
    """Whether a folder is a store, whatever it is called."""
    return any((folder / name).exists() for name in (".zarray", ".zgroup", "zarr.json"))
