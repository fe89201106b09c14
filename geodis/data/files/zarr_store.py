"""Reader of zarr stores of versions 2 and 3 in a folder.

zarr decodes the values. Before that, this module checks the codecs and sizes in the metadata, and
that every chunk to be read is inside the store and unpacks to no more than its declared size.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import require
from geodis.base.notes import note_entry
from geodis.data.columns import Labels
from geodis.data.files.anndata import array_of_group, with_defaults
from geodis.data.files.formats import Contents, Stored, register_reader, unreadable
from geodis.data.files.limits import (
    AT_ONCE,
    CHARACTER_BYTES,
    MOST_OF_A_BYTE,
    TEXT_BYTES,
    check_count,
    check_inside,
    check_unpacked,
    inflated_size,
    unpacked_limit,
)

# zarr decodes whatever codecs the metadata name, to any size. Only codecs that rearrange, convert
# or decompress bytes are allowed here, and at most one that decompresses: its output size can be
# determined in advance.
COMPRESSORS = ("zlib", "gzip", "blosc", "zstd", "lz4")
TEXTS, SHARDS = "vlen-utf8", "sharding_indexed"
# Codecs that keep the size of a chunk, except for a few bytes of checksum.
CHECKSUMS = ("crc32c", "crc32", "adler32", "fletcher32")
LEVEL = ("bytes", "transpose", "shuffle", "bitround", *CHECKSUMS)
# Filters that store numbers in a narrower type: 1 byte may become 8.
WIDENING, MOST_WIDENING = ("delta", "fixedscaleoffset", "quantize"), 8
SPARE = 64  # bytes of checksums and headers
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"  # the first four bytes of a frame
# Sizes of its header fields, by the bits of the frame descriptor (RFC 8878, section 3.1.1.1).
DICTIONARY_BYTES, SIZE_BYTES = (0, 1, 2, 4), (0, 2, 4, 8)


def check_codecs(names: Iterable[str]) -> str | None:
    """Require allowed codecs, and return the one that compresses, if any.

    Examples
    --------
    >>> check_codecs(["bytes", "zstd", "crc32c"])
    'zstd'
    >>> check_codecs(["pickle"])
    Traceback (most recent call last):
    ValueError: the codec 'pickle' is not one of zlib, gzip, blosc, zstd, lz4, bytes, transpose, \
shuffle, bitround, crc32c, crc32, adler32, fletcher32, delta, fixedscaleoffset, \
quantize, which geodis reads
    """
    found = [name for name in names if name != TEXTS]
    for name in found:
        if name not in (*COMPRESSORS, *LEVEL, *WIDENING):
            known = ", ".join((*COMPRESSORS, *LEVEL, *WIDENING))
            raise ValueError(f"the codec {name!r} is not one of {known}, which geodis reads")
    compressors = [name for name in found if name in COMPRESSORS]
    if len(compressors) > 1:
        raise ValueError(f"chunks must be compressed at most once; got {', '.join(compressors)}")
    return compressors[0] if compressors else None


def decoded_size(compressor: str, data: bytes, most: int) -> int:
    """Return the decompressed size of one chunk, stopping the count once it exceeds `most`.

    Examples
    --------
    >>> import zlib
    >>> decoded_size("zlib", zlib.compress(bytes(1000)), 1000)
    1000
    >>> decoded_size("zlib", zlib.compress(bytes(2**22)), 6) <= AT_ONCE
    True
    """
    if compressor == "gzip":
        size, file = 0, gzip.GzipFile(fileobj=io.BytesIO(data))
        while size <= most and (piece := file.read(AT_ONCE)):
            size += len(piece)
        return size
    if compressor == "zlib":
        return inflated_size(data, most)
    if compressor == "blosc":  # its header gives the size, as does that of lz4
        return int.from_bytes(data[4:8], "little")
    if compressor == "lz4":
        return int.from_bytes(data[:4], "little")
    # A zstd frame may not give its size, and several frames may follow: decompress into a buffer.
    declared = zstd_size(data)
    size = most - SPARE if declared is None else declared
    if size <= most:
        codec: Any = require("numcodecs", purpose="Reading zarr stores").Zstd()
        codec.decode(data, out=np.empty(size, np.uint8))
    return size


def check_texts(compressor: str | None, data: bytes, count: int, most: int) -> int:
    """Return the size of a decoded chunk of texts, which must hold `count` texts.

    The count is checked because the decoder allocates as many texts as the first four bytes say.
    If the chunk decompresses to more than `most` bytes, a size above `most` is returned.
    """
    plain = data
    if compressor is not None:
        if (size := decoded_size(compressor, data, most)) > most:
            return size
        numcodecs: Any = require("numcodecs", purpose="Reading zarr stores")
        plain = bytes(numcodecs.get_codec({"id": compressor}).decode(data))
    if (n_texts := int.from_bytes(plain[:4], "little")) != count:
        raise ValueError(f"a chunk must have {count} texts; got {n_texts}")
    return len(plain)


def zstd_size(data: bytes) -> int | None:
    """Return the decompressed size that a zstd frame declares, or None.

    Examples
    --------
    >>> zstd_size(ZSTD_MAGIC + bytes([0b00100000, 6, 0]))
    6
    """
    if len(data) < 5 or data[:4] != ZSTD_MAGIC:
        return None
    descriptor = data[4]
    single, kind = descriptor >> 5 & 1, descriptor >> 6
    length = SIZE_BYTES[kind] or single
    start = 5 + (1 - single) + DICTIONARY_BYTES[descriptor & 3]
    if not length or len(data) < start + length:
        return None
    return int.from_bytes(data[start : start + length], "little") + (256 if kind == 1 else 0)


MOST_METADATA = 2**24  # bytes of a metadata file
MOST_CHUNKS = 100_000  # zarr takes about 0.1 ms for each, even if it is missing
MOST_DEPTH_OF_STORE = 16  # maximum depth of groups
AT_A_TIME = 10  # chunks that zarr decodes at a time
# Bytes of a crc32c checksum, and of an entry of a shard index (an offset and a length).
CHECKSUM, ENTRY_OF_INDEX = 4, 16
ABSENT = (2**64 - 1, 2**64 - 1)
# Codecs of a shard index, the same for all known writers.
INDEX_CODECS = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
METADATA = (".zarray", ".zattrs", "zarr.json")  # of an array


@dataclass(frozen=True)
class ChunkedArray:
    """The layout of one array, known before its chunks are read.

    Attributes
    ----------
    store, folder : Path
    version : int
    shape : tuple of int
    dtype : dtype
    chunks : tuple of int
        The shape of what is stored in one file.
    parts : tuple of int
        The shape of what is compressed as a unit: a chunk, or an inner chunk of a shard.
    codecs : tuple of str
        Applied to each part, in order of encoding.
    separator, prefix : str
        Of the chunk file names.
    index : str
        Position of the index of a shard, "start" or "end"; "" if chunks are not shards.
    """

    store: Path
    folder: Path
    version: int
    shape: tuple[int, ...]
    dtype: np.dtype
    chunks: tuple[int, ...]
    parts: tuple[int, ...]
    codecs: tuple[str, ...]
    separator: str
    prefix: str
    index: str = ""

    @property
    def is_text(self) -> bool:
        """Whether the array holds variable-length texts."""
        return TEXTS in self.codecs

    def stored(self) -> Stored:
        """Describe the array for the contents of its store."""
        read = partial(self.read_rows, 0, self.shape[0] if self.shape else 1)
        if self.is_text:
            return Stored(self.shape, "labels", lambda: Labels.of(read().astype(object)))
        rows = self.chunks[0] if self.chunks else 1
        return Stored(self.shape, str(self.dtype), read, read_rows=self.read_rows, chunk_rows=rows)

    def read_rows(self, start: int, stop: int) -> np.ndarray:
        """Read some rows with zarr after checking the chunks that contain them."""
        counts = [-(-size // chunk) for size, chunk in zip(self.shape, self.chunks, strict=True)]
        grid: list[range] = [range(count) for count in counts]
        if grid:
            grid[0] = range(start // self.chunks[0], -(-stop // self.chunks[0]))
        self._check_chunks(grid, (stop - start) * math.prod(self.shape[1:]))
        array = _opened(self.folder, self.version)
        return np.asarray(array[start:stop] if grid else array[...])

    def _check_chunks(self, grid: Sequence[range], asked: int) -> None:
        """Check the size of the requested entries, of all their chunks, and of each chunk."""
        inside = math.prod(
            -(-chunk // part) for chunk, part in zip(self.chunks, self.parts, strict=True)
        )
        count = inside * math.prod(map(len, grid))
        compressor = check_codecs(self.codecs)
        widened = MOST_WIDENING ** sum(codec in WIDENING for codec in self.codecs)
        entries, name = math.prod(self.parts), self.folder.name
        width = TEXT_BYTES if self.is_text else self.dtype.itemsize
        limit, _ = unpacked_limit(self.store)  # called once, because it walks through the store
        for needed in (asked, entries * count, entries * widened):
            if needed * width > limit:
                check_unpacked(self.store, needed * width, name)
        if count > MOST_CHUNKS:
            raise ValueError(f"at most {MOST_CHUNKS} chunks are read at a time; got {count}")
        most = entries * self.dtype.itemsize * widened + SPARE
        sums = self.codecs[::-1].index(compressor) if compressor else 0
        total = entries * count * width
        # Compressed chunks up to this size stay within the limit, even if several are decoded.
        safe_size = limit // (MOST_OF_A_BYTE * AT_A_TIME) if compressor in ("zlib", "gzip") else -1
        for position in itertools.product(*grid):
            path = self.folder / self._name(position)
            if not path.exists():
                continue
            check_inside(self.store, path)
            if not (compressor or self.is_text or self.index):
                continue
            for data in self._pieces(path, inside):
                data = data[: len(data) - CHECKSUM * sums]
                if self.is_text:
                    most = max(limit - total, 0) // CHARACTER_BYTES
                    total += CHARACTER_BYTES * check_texts(compressor, data, entries, most)
                    if total > limit:
                        check_unpacked(self.store, total, f"text of {name}")
                elif not compressor or len(data) <= safe_size:
                    continue
                elif decoded_size(compressor, data, most) > most:
                    raise ValueError(f"the chunk {path.name} is larger than its array declares")

    def _name(self, position: Sequence[int]) -> str:
        numbers = self.separator.join(map(str, position))
        if not position:
            numbers = "" if self.prefix else "0"
        return self.separator.join(filter(None, (self.prefix, numbers)))

    def _pieces(self, path: Path, inside: int) -> Iterator[bytes]:
        """Yield the units of decoding: the whole chunk, or the parts of a shard."""
        data = path.read_bytes()
        if not self.index:
            yield data
            return
        size = ENTRY_OF_INDEX * inside
        found = data[:size] if self.index == "start" else data[-size - CHECKSUM : -CHECKSUM]
        if len(found) != size:
            raise ValueError(f"the shard {path.name} is shorter than its index")
        spans = map(tuple, np.frombuffer(found, "<u8").reshape(-1, 2).tolist())
        present = [span for span in spans if span != ABSENT]
        if sum(length for _, length in present) > len(data):
            raise ValueError(f"the parts of the shard {path.name} overlap")
        for start, length in present:
            yield data[start : start + length]


@register_reader(".zarr")
def read_zarr(path: Path, mmap: bool) -> Contents:
    """List every array by its path in the store."""
    if not path.is_dir():
        raise ValueError("a zarr store must be a folder; got a file")
    contents = Contents(path, {})
    _list(contents, path, "", contents.arrays, 0)
    obs, root = _attributes(path, path / "obs"), _attributes(path, path)
    if root.get("encoding-type") == "anndata" or obs.get("encoding-type") == "dataframe":
        return with_defaults(contents, [str(name) for name in obs.get("column-order") or ()])
    return contents


def _list(
    contents: Contents, folder: Path, key: str, arrays: dict[str, Stored], depth: int
) -> None:
    """List the array in a folder, or all arrays below it."""
    store = contents.path
    if depth > MOST_DEPTH_OF_STORE:
        raise ValueError(f"its groups lie more than {MOST_DEPTH_OF_STORE} deep")
    parts = partial(_parts, contents, folder, depth)
    try:
        array = _metadata(store, folder)
        if array is not None:
            stored: Stored | None = array.stored()
        else:
            stored = array_of_group(contents, key, _attributes(store, folder), parts)
    except ValueError as problem:  # listed, but refused when read; other arrays stay readable
        stored = unreadable((), "unread", problem)
    if stored is not None:
        arrays[key] = stored
        check_count(store, len(arrays))
    else:
        _list_inside(contents, folder, f"{key}/" if key else "", arrays, depth)


def _list_inside(
    contents: Contents, folder: Path, prefix: str, arrays: dict[str, Stored], depth: int
) -> None:
    for inner in sorted(folder.iterdir()):
        if inner.is_dir() and not inner.is_symlink():
            _list(contents, inner, f"{prefix}{inner.name}", arrays, depth + 1)


def _parts(contents: Contents, folder: Path, depth: int) -> dict[str, Stored]:
    """Return the arrays of one group by their names in it."""
    arrays: dict[str, Stored] = {}
    _list_inside(contents, folder, "", arrays, depth)
    return arrays


def _metadata(store: Path, folder: Path) -> ChunkedArray | None:
    """Read the metadata of an array of version 2 or 3; None for a group."""
    own = [name for name in METADATA if (folder / name).exists()]
    notes = {name: _read_json(store, folder / name) for name in own}
    if ".zarray" in notes and "zarr.json" in notes:
        raise ValueError(f"{folder.name} must have metadata of one version of zarr; got both")
    if ".zarray" in notes:
        return _of_version_2(store, folder, notes[".zarray"])
    if notes.get("zarr.json", {}).get("node_type") == "array":
        return _of_version_3(store, folder, notes["zarr.json"])
    return None


def _attributes(store: Path, folder: Path) -> dict[str, Any]:
    """Read the user attributes of a group or an array."""
    if (folder / ".zattrs").exists():
        return _read_json(store, folder / ".zattrs")
    if (folder / "zarr.json").exists():
        attributes = _read_json(store, folder / "zarr.json").get("attributes")
        return attributes if isinstance(attributes, dict) else {}
    return {}


def _read_json(store: Path, path: Path) -> dict[str, Any]:
    check_inside(store, path)
    if path.stat().st_size > MOST_METADATA:
        raise ValueError(f"{path.name} must have at most {MOST_METADATA} bytes")
    note = json.loads(path.read_bytes())
    if not isinstance(note, dict):
        raise ValueError(f"{path.name} must be a JSON object")
    return note


def _of_version_2(store: Path, folder: Path, note: dict[str, Any]) -> ChunkedArray:
    filters = [*(note.get("filters") or ()), note.get("compressor")]
    codecs = tuple(note_entry(one, "id", str, folder) for one in filters if one is not None)
    chunks = _sizes(note, "chunks", folder.name)
    separator = str(note.get("dimension_separator", "."))
    return _array(store, folder, 2, chunks, chunks, codecs, separator, "")


def _of_version_3(store: Path, folder: Path, note: dict[str, Any]) -> ChunkedArray:
    name = folder.name
    grid = note_entry(note, "chunk_grid", dict, name)
    if grid.get("name") != "regular":
        raise ValueError(f"{name} must have a regular grid of chunks; got {grid.get('name')!r}")
    chunks = _sizes(note_entry(grid, "configuration", dict, name), "chunk_shape", name)
    keys = note_entry(note, "chunk_key_encoding", dict, name)
    is_default = keys.get("name") == "default"
    separator = str((keys.get("configuration") or {}).get("separator", "/" if is_default else "."))
    parts, codecs, index = chunks, note_entry(note, "codecs", list, name), ""
    if [_codec_name(codec) for codec in codecs] == [SHARDS]:
        shards = note_entry(codecs[0], "configuration", dict, name)
        parts = _sizes(shards, "chunk_shape", name)
        codecs = note_entry(shards, "codecs", list, name)
        index = str(shards.get("index_location", "end"))
        if shards.get("index_codecs") != INDEX_CODECS or index not in ("start", "end"):
            raise ValueError(f"the index of the shards of {name} has an unknown format")
    names = tuple(map(_codec_name, codecs))
    prefix = "c" if is_default else ""
    return _array(store, folder, 3, chunks, parts, names, separator, prefix, index)


def _codec_name(codec: Any) -> str:
    """Return the name of a codec, without the prefix of codecs that come from numcodecs."""
    name = codec.get("name") if isinstance(codec, dict) else codec
    return str(name).removeprefix("numcodecs.")


def _array(
    store: Path,
    folder: Path,
    version: int,
    chunks: tuple[int, ...],
    parts: tuple[int, ...],
    codecs: tuple[str, ...],
    separator: str,
    prefix: str,
    index: str = "",
) -> ChunkedArray:
    """Check that an array is readable; its shape and dtype are those that zarr reports."""
    compressor = check_codecs(codecs)
    after = codecs[codecs.index(compressor) + 1 :] if compressor else ()
    if {*after} - {"crc32c"}:
        raise ValueError(f"only crc32c may follow {compressor}; got {', '.join(after)}")
    if TEXTS in codecs[1:] or separator not in (".", "/"):
        raise ValueError(f"the chunks of {folder.name} are stored in an unsupported way")
    opened = _opened(folder, version)
    shape, dtype = tuple(opened.shape), np.dtype(opened.dtype)
    fits = len(shape) == len(chunks) == len(parts)
    if not fits or min((*chunks, *parts), default=1) < 1:
        raise ValueError(f"chunks of {chunks} do not divide an array of {shape}")
    if min(shape, default=0) < 0 or dtype.hasobject != (TEXTS in codecs):
        raise ValueError(f"an array of shape {shape} and dtype {dtype} is not supported")
    if TEXTS in codecs and len(shape) != 1:
        raise ValueError(f"texts must have one axis; got the shape {shape}")
    return ChunkedArray(
        store, folder, version, shape, dtype, chunks, parts, codecs, separator, prefix, index
    )


def _opened(folder: Path, version: int) -> Any:
    """Open an array with zarr after its metadata were checked."""
    zarr = require("zarr", purpose="Reading zarr stores")
    if version == 3 and int(zarr.__version__.split(".")[0]) < 3:
        raise ValueError(
            f"its format 3 needs zarr 3, and so Python 3.11; got zarr {zarr.__version__}"
        )
    return zarr.open_array(folder, mode="r")


def _sizes(note: Mapping[str, Any], key: str, name: str) -> tuple[int, ...]:
    sizes = note_entry(note, key, list, name)
    if any(type(size) is not int for size in sizes):
        raise ValueError(f"{key} must be whole numbers; got {sizes}")
    return tuple(sizes)


def is_zarr(folder: Path) -> bool:
    """Return whether a folder is a zarr store, whatever its name."""
    return any((folder / name).exists() for name in (".zarray", ".zgroup", "zarr.json"))
