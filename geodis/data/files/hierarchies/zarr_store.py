"""zarr stores, of versions 2 and 3, in a folder -> their arrays.

Read without zarr: of its codecs some run what a store says (pickle), and none has a limit. Only
those below are known, and each chunk must fill just the bytes that its array says.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.notes import note_entry
from geodis.data.files.contents import Contents, Stored
from geodis.data.files.formats import register_reader
from geodis.data.files.hierarchies.zarr_annotated import (
    array_of_group,
    is_table_of_cells,
    with_defaults,
)
from geodis.data.files.hierarchies.zarr_codecs import DECOMPRESSED, decompressed, zstd_size
from geodis.data.files.hierarchies.zarr_texts import VLEN_UTF8, texts_in
from geodis.data.files.limits import (
    check_count,
    check_inside,
    check_unpacked,
    unpacked_limit,
)
from geodis.data.read_column import Labels

# Codecs of one chunk that are known and only move bytes; `DECOMPRESSED` are the others.
PLAIN = ("bytes", "crc32c", "transpose")
# Metadata is a page of text.
MOST_METADATA = 2**24
# Every chunk is a file, which is looked for.
MOST_CHUNKS = 1_000_000
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
        In the order in which they encode, by "name", each with its settings; the first is
        "vlen-utf8" for texts, which are objects.
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
        if min(self.shape, default=0) < 0 or self.dtype.hasobject != self.is_text:
            raise ValueError(f"an array of shape {self.shape} and dtype {self.dtype} is not read")
        first = self.codecs[0] if self.codecs else None
        for codec in self.codecs:
            name = codec["name"]
            if name not in (*DECOMPRESSED, *PLAIN) and not (self.is_text and codec is first):
                known = ", ".join((*DECOMPRESSED, *PLAIN))
                raise ValueError(f"the codec {name!r} is not one of {known}, which geodis reads")

    @property
    def is_text(self) -> bool:
        """Whether it holds texts of any length."""
        return bool(self.codecs) and self.codecs[0]["name"] == VLEN_UTF8

    def read_texts(self, store: Path) -> Labels:
        """All texts, as labels."""
        if len(self.shape) != 1:
            raise ValueError(f"texts are read along one axis; got the shape {self.shape}")
        return Labels.of(self.read(store))

    def read(self, store: Path) -> np.ndarray:
        """All chunks in their places, and the fill value where one is missing."""
        check_unpacked(store, math.prod(self.shape) * self.dtype.itemsize, str(self.folder.name))
        check_unpacked(store, math.prod(self.chunks) * self.dtype.itemsize, "a chunk")
        return self._filled(store, self.shape, 0)

    def read_rows(self, store: Path, start: int, stop: int) -> np.ndarray:
        """Some rows, from the chunks that they lie in."""
        chunk = self.chunks[0]
        first, last = start // chunk, -(-stop // chunk)
        shape = (min(last * chunk, self.shape[0]) - first * chunk, *self.shape[1:])
        check_unpacked(store, math.prod(shape) * self.dtype.itemsize, "a block of rows")
        check_unpacked(store, math.prod(self.chunks) * self.dtype.itemsize, "a chunk")
        filled = self._filled(store, shape, first)
        return filled[start - first * chunk : stop - first * chunk]

    def _filled(self, store: Path, shape: tuple[int, ...], skipped: int) -> np.ndarray:
        """Chunks in their places, from one on along the first axis."""
        counts = [-(-size // chunk) for size, chunk in zip(shape, self.chunks, strict=True)]
        if math.prod(counts) > MOST_CHUNKS:
            raise ValueError(f"at most {MOST_CHUNKS} chunks are read; got {math.prod(counts)}")
        values, held = np.full(shape, self.fill, self.dtype), 0
        for place in itertools.product(*map(range, counts)):
            path = self.folder / self._name((place[0] + skipped, *place[1:]) if place else place)
            if not path.exists():
                continue
            check_inside(store, path)
            begin = [i * chunk for i, chunk in zip(place, self.chunks, strict=True)]
            own = tuple(slice(b, b + chunk) for b, chunk in zip(begin, self.chunks, strict=True))
            inside = tuple(
                slice(0, min(chunk, size - b))
                for b, chunk, size in zip(begin, self.chunks, shape, strict=True)
            )
            chunk = self._chunk(store, path)
            values[own] = chunk[inside]
            if self.is_text:  # Python's own texts have a head of about 50 bytes each
                held += sum(map(len, chunk.reshape(-1))) + 50 * chunk.size
                check_unpacked(store, held, f"text of {self.folder.name}")
        return values

    def _name(self, place: Sequence[int]) -> str:
        numbers = self.separator.join(map(str, place))
        if not place:
            numbers = "" if self.prefix else "0"
        return self.separator.join(filter(None, (self.prefix, numbers)))

    def _chunk(self, store: Path, path: Path) -> np.ndarray:
        count = math.prod(self.chunks)
        n_bytes = unpacked_limit(store)[0] if self.is_text else count * self.dtype.itemsize
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
            elif codec["name"] != VLEN_UTF8:
                if self.is_text and codec["name"] == "zstd" and zstd_size(data) is None:
                    raise ValueError("a chunk of texts in zstd must say how long it is")
                sums = sum(inner["name"] == "crc32c" for inner in self.codecs[:place])
                data = decompressed(codec["name"], data, n_bytes + 4 * sums)
        if self.is_text:
            return np.fromiter(texts_in(data, count), object, count).reshape(self.chunks)
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
    contents = Contents(path, {})
    _list(contents, path, "", contents.arrays, 0)
    obs = _attributes(path, path / "obs")
    is_annotated = is_table_of_cells(_attributes(path, path), obs)
    return with_defaults(contents, obs) if is_annotated else contents


def _list(
    contents: Contents, folder: Path, key: str, arrays: dict[str, Stored], depth: int
) -> None:
    store = contents.path
    if depth > MOST_DEPTH_OF_STORE:
        raise ValueError(f"its groups lie more than {MOST_DEPTH_OF_STORE} deep")
    try:
        array = _metadata(store, folder)
        attributes = {} if array is not None else _attributes(store, folder)
        whole = array_of_group(contents, key, attributes, partial(_parts, contents, folder, depth))
    except ValueError as problem:  # others may be read: it is listed, and refused when asked for
        arrays[key] = Stored((), "unread", partial(_refuse, problem))
        return
    if whole is not None:
        arrays[key] = whole
        return
    if array is not None and array.is_text:
        arrays[key] = Stored(array.shape, "labels", partial(array.read_texts, store))
        return
    if array is not None:
        arrays[key] = Stored(
            array.shape,
            str(array.dtype),
            partial(array.read, store),
            read_rows=partial(array.read_rows, store),
            chunk_rows=array.chunks[0] if array.chunks else 1,
        )
        check_count(store, len(arrays))
        return
    for inner in _folders(folder):
        _list(contents, inner, f"{key}/{inner.name}" if key else inner.name, arrays, depth + 1)


def _folders(folder: Path) -> list[Path]:
    return [
        inner for inner in sorted(folder.iterdir()) if inner.is_dir() and not inner.is_symlink()
    ]


def _parts(contents: Contents, folder: Path, depth: int) -> dict[str, Stored]:
    """The arrays of one group by their names in it."""
    held: dict[str, Stored] = {}
    for inner in _folders(folder):
        _list(contents, inner, inner.name, held, depth + 1)
    return held


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


def _attributes(store: Path, folder: Path) -> dict[str, Any]:
    """What is said of a group or an array beside how it is stored."""
    if (folder / ".zattrs").exists():
        return _read_json(store, folder / ".zattrs")
    if (folder / "zarr.json").exists():
        attributes = _read_json(store, folder / "zarr.json").get("attributes")
        return attributes if isinstance(attributes, dict) else {}
    return {}


def _read_json(store: Path, path: Path) -> dict[str, Any]:
    check_inside(store, path)
    if path.stat().st_size > MOST_METADATA:
        raise ValueError(f"{path.name} is longer than {MOST_METADATA} bytes")
    note = json.loads(path.read_bytes())
    if not isinstance(note, dict):
        raise ValueError(f"{path.name} must be an object")
    return note


def _of_version_2(folder: Path, note: dict[str, Any]) -> ChunkedArray:
    name = folder.name
    filters = note.get("filters") or []
    dtype = np.dtype(note_entry(note, "dtype", str, name))
    texts = dtype.hasobject and [one.get("id") for one in filters] == [VLEN_UTF8]
    if filters and not texts:
        raise ValueError(f"filters are not read; {name} has {len(filters)}")
    compressor = note.get("compressor")
    packed = () if compressor is None else ({**compressor, "name": compressor.get("id")},)
    codecs = ({"name": VLEN_UTF8}, *packed) if texts else packed
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
    kind = note_entry(note, "data_type", str, name)
    dtype = np.dtype(object if kind == "string" else kind)
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
    if dtype.hasobject:
        return value if isinstance(value, str) else ""
    return np.zeros((), dtype)[()] if value is None else np.array(value).astype(dtype)[()]


def is_zarr(folder: Path) -> bool:
    """Whether a folder is a store, whatever it is called."""
    return any((folder / name).exists() for name in (".zarray", ".zgroup", "zarr.json"))
