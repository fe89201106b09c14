"""Small files that would become large: Parquet, Feather, zarr, netCDF and HDF5."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

# Entries of the default limit of 256 MiB in float64, and in one byte each, and a few less.
JUST_ALLOWED, JUST_ALLOWED_BYTES = 2**25 - 2**10, 2**28 - 2**13
LONG = "x" * 2**20


def _columns(make: Callable[[], Any], **options: Any) -> Callable[[Path], None]:
    """A Parquet or a Feather file of one column, by the suffix of its path."""

    def write(path: Path) -> None:
        import pyarrow as pa
        from pyarrow import feather, parquet

        table = pa.table({"x": make()})
        if path.suffix == ".parquet":
            parquet.write_table(table, path, compression="zstd", **options)
        else:
            feather.write_feather(table, path, compression="zstd", chunksize=2**31 - 1)

    return write


def _bits() -> Any:
    import pyarrow as pa

    return pa.Array.from_buffers(pa.bool_(), 2**29, [None, pa.py_buffer(bytes(2**26))])


def _string_views() -> Any:
    """One text of a megabyte in 3,000 rows."""
    import pyarrow as pa

    view = struct.pack("<i4sii", len(LONG), LONG[:4].encode(), 0, 0)
    buffers = [None, pa.py_buffer(view * 3_000), pa.py_buffer(LONG.encode())]
    return pa.Array.from_buffers(pa.string_view(), 3_000, buffers)


def _list_views() -> Any:
    import pyarrow as pa

    starts = pa.array(np.zeros(3_000, np.int32))
    sizes = pa.array(np.full(3_000, 2**20, np.int32))
    return pa.ListViewArray.from_arrays(starts, sizes, pa.array(np.zeros(2**20, np.int8)))


def _dictionary() -> Any:
    import pyarrow as pa

    codes = np.zeros(JUST_ALLOWED, np.int8)
    return pa.DictionaryArray.from_arrays(codes, ["box", "dot"])


def _long_category() -> Any:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(np.zeros(3_000, np.int32), [LONG])


def _zeros(kind: str, gaps: bool = False, count: int = JUST_ALLOWED) -> Any:
    import pyarrow as pa

    mask = np.arange(count) == 5 if gaps else None
    return pa.array(np.zeros(count, np.int32), mask=mask).cast(getattr(pa, kind)())


def _texts(text: str, count: int) -> Any:
    import pyarrow as pa

    data = text.encode()
    offsets = np.arange(0, len(data) * (count + 1), len(data) or 1, np.int32)
    offsets = offsets if data else np.zeros(count + 1, np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data * count)]
    return pa.Array.from_buffers(pa.string(), count, buffers)


def _nulls() -> Any:
    import pyarrow as pa

    return pa.nulls(2**29)


def _fronts() -> Any:
    """Texts that begin alike, which Parquet stores as how much of the last one they share."""
    return [LONG[:size] for size in range(2**20, 2**20 - 1_000, -1)]


def _longer_than_needed(path: Path) -> None:
    """Three rows in a buffer of a gigabyte."""
    import pyarrow as pa
    from pyarrow import ipc

    column = pa.Array.from_buffers(pa.float64(), 3, [None, pa.py_buffer(bytes(2**30))])
    # The writer cuts a buffer to what is needed, but not that of a dictionary's text.
    offsets = pa.py_buffer(np.array([0, 2**30 - 1], np.int32))
    text = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(bytes(2**30 - 1))])
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0], pa.int8()), text)
    table = pa.table({"x": column, "text": codes})
    options = ipc.IpcWriteOptions(compression="zstd")
    with ipc.new_file(str(path), table.schema, options=options) as file:
        file.write_table(table)


def _zarr(
    codec: Mapping[str, Any] | None,
    chunk: Callable[[], bytes],
    shape: int = 10,
    chunks: int = 10,
    dtype: str = "<f8",
    **more: Any,
) -> Callable[[Path], None]:
    """A store of version 2 whose first chunk holds what is given, compressed."""

    def write(path: Path) -> None:
        import numcodecs

        path.mkdir()
        note = {"zarr_format": 2, "shape": [shape], "chunks": [chunks], "dtype": dtype}
        note |= {"order": "C", "fill_value": 0, "compressor": codec, "filters": None, **more}
        (path / ".zarray").write_text(json.dumps(note))
        data = chunk()
        if codec is not None:
            data = bytes(numcodecs.get_codec(dict(codec)).encode(data))
        if data:
            (path / "0").write_bytes(data)

    return write


def _texts_of_zarr(count: int, text: bytes, said: int | None = None) -> Callable[[Path], None]:
    note: dict[str, Any] = {"dtype": "|O", "filters": [{"id": "vlen-utf8"}], "fill_value": ""}
    head = struct.pack("<I", count if said is None else said)
    chunk = partial(lambda: head + (struct.pack("<I", len(text)) + text) * count)
    return _zarr({"id": "zstd", "level": 9}, chunk, count, count, **note)


def _shards(path: Path) -> None:
    import zarr

    zeros = np.zeros(JUST_ALLOWED_BYTES, np.int8)
    zarr.create_array(store=path, data=zeros, chunks=(2**18,), shards=(2**28,))


def _overlapping_shard(path: Path) -> None:
    """Each of 60,000 parts of a shard is the same megabyte, which becomes one byte."""
    import zarr

    n = 60_000
    zarr.create_array(store=path, data=np.ones(n, np.int8), chunks=(1,), shards=(n,))
    shard = path / "c" / "0"
    data = shard.read_bytes()
    first = data[: int.from_bytes(data[-16 * n - 4 + 8 :][:8], "little")]
    empty = b"\x50\x2a\x4d\x18" + struct.pack("<I", 10**6) + bytes(10**6)  # a frame to skip
    index = struct.pack("<QQ", 0, len(empty + first)) * n
    from google_crc32c import value

    shard.write_bytes(empty + first + index + struct.pack("<I", value(index)))


def _netcdf(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.zeros(JUST_ALLOWED), chunks=(2**20,), compression="gzip")


def _packed_netcdf(count: int) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import h5py

        zeros = np.zeros(count, np.int8)
        with h5py.File(path, "w") as file:
            x = file.create_dataset("x", data=zeros, chunks=(2**20,), compression="gzip")
            x.attrs["scale_factor"], x.attrs["valid_min"] = 0.5, np.int8(-5)

    return write


def _overlapping_netcdf(path: Path) -> None:
    """10,000 variables of the classic format, all of the same half megabyte."""

    def name(text: str) -> bytes:
        return struct.pack(">I", len(text)) + text.encode().ljust(-(-len(text) // 4) * 4, b"\0")

    count, size = 10_000, 2**19
    head = b"CDF\x01" + struct.pack(">III", 0, 10, 1) + name("n") + struct.pack(">I", size)
    head += struct.pack(">IIII", 0, 0, 11, count)
    begin = len(head) + count * (len(name("v00000")) + 28)
    entry = struct.pack(">IIIIIII", 1, 0, 0, 0, 1, size, begin)
    path.write_bytes(head + b"".join(name(f"v{j:05}") + entry for j in range(count)) + bytes(size))


def _one_long_text(path: Path) -> None:
    """Of an array of texts in numpy each takes as much as the longest."""
    import h5py

    with h5py.File(path, "w") as file:
        file["x"] = np.array(["box"] * 5_000 + [LONG[: 2**19]], dtype=object)


def _hdf5(values: Callable[[], np.ndarray], name: str = "x") -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import h5py

        with h5py.File(path, "w") as file:
            file.create_dataset(name, data=values(), chunks=(2**20,), compression="gzip")

    return write


def _codes(path: Path) -> None:
    """A category of AnnData."""
    import h5py

    with h5py.File(path, "w") as file:
        file["X"] = np.zeros((3, 2))
        obs = file.create_group("obs")
        obs.attrs["column-order"] = ["kind"]
        kind = obs.create_group("kind")
        kind.attrs["encoding-type"] = "categorical"
        codes = np.zeros(JUST_ALLOWED_BYTES, np.int8)
        kind.create_dataset("codes", data=codes, chunks=(2**20,), compression="gzip")
        kind["categories"] = ["box", "dot"]


GZIP, ZSTD = {"id": "gzip", "level": 9}, {"id": "zstd", "level": 9}
BLOSC = {"id": "blosc", "cname": "zstd", "clevel": 9, "shuffle": 1, "blocksize": 0}
DELTA = [{"id": "delta", "dtype": "<f8", "astype": "|i1"}]

# By the name of the file: what writes it, of about a megabyte or less.
CASES: dict[str, Callable[[Path], None]] = {
    "bool.feather": _columns(_bits),
    "bool.parquet": _columns(_bits),
    "string_view.feather": _columns(_string_views),
    "list_view.feather": _columns(_list_views),
    "dictionary.feather": _columns(_dictionary),
    "dictionary.parquet": _columns(_dictionary),
    "zeros.feather": _columns(partial(_zeros, "float64")),
    "zeros.parquet": _columns(partial(_zeros, "float64")),
    "gaps.feather": _columns(partial(_zeros, "int64", True)),
    "gaps.parquet": _columns(partial(_zeros, "int8", True)),
    "bytes.parquet": _columns(partial(_zeros, "int8", False, JUST_ALLOWED_BYTES)),
    "dates.feather": _columns(partial(_zeros, "date32", False, 2**22)),
    "dates.parquet": _columns(partial(_zeros, "date32", False, 2**22)),
    "nulls.feather": _columns(_nulls),
    "empty_texts.feather": _columns(partial(_texts, "", 2**22)),
    "few_texts.feather": _columns(partial(_texts, "ab", 2**18)),
    "wide_texts.feather": _columns(partial(_texts, "\U0001f600" + "x" * 60, 2**18)),
    "long_texts.feather": _columns(partial(_texts, "\U0001f600" + LONG, 60)),
    "long_texts.parquet": _columns(_long_category, store_schema=False),
    "fronts.parquet": _columns(
        _fronts, use_dictionary=False, column_encoding={"x": "DELTA_BYTE_ARRAY"}
    ),
    "too_long.feather": _longer_than_needed,
    "zeros.zarr": _zarr(GZIP, lambda: bytes(8 * JUST_ALLOWED), JUST_ALLOWED, JUST_ALLOWED),
    "zstd.zarr": _zarr(ZSTD, lambda: bytes(8 * JUST_ALLOWED), JUST_ALLOWED, JUST_ALLOWED),
    "bytes.zarr": _zarr(
        ZSTD, lambda: bytes(JUST_ALLOWED_BYTES), JUST_ALLOWED_BYTES, JUST_ALLOWED_BYTES, "|i1"
    ),
    "bool.zarr": _zarr(
        ZSTD, lambda: bytes(JUST_ALLOWED_BYTES), JUST_ALLOWED_BYTES, JUST_ALLOWED_BYTES, "|b1"
    ),
    "large_chunk_gzip.zarr": _zarr(GZIP, lambda: bytes(2**30)),
    "large_chunk_zlib.zarr": _zarr({"id": "zlib", "level": 9}, lambda: bytes(2**30)),
    "large_chunk_zstd.zarr": _zarr(ZSTD, lambda: bytes(2**30)),
    "large_chunk_blosc.zarr": _zarr(BLOSC, lambda: bytes(2**30)),
    "large_chunk_lz4.zarr": _zarr({"id": "lz4", "acceleration": 1}, lambda: bytes(2**28)),
    "widened.zarr": _zarr(ZSTD, lambda: bytes(2**28), 2**28, 2**28, "|i1", filters=DELTA),
    "unwritten.zarr": _zarr(None, bytes, JUST_ALLOWED, JUST_ALLOWED),
    "many_chunks.zarr": _zarr(None, bytes, 100_000, 1, "|i1"),
    "texts.zarr": _texts_of_zarr(2**22, b"ab"),
    "wide_texts.zarr": _texts_of_zarr(2**20, "\U0001f600".encode() + b"x" * 180),
    "said_texts.zarr": _texts_of_zarr(3, b"ab", 2**32 - 1),
    "shards.zarr": _shards,
    "overlapping_shard.zarr": _overlapping_shard,
    "zeros.nc": _netcdf,
    "packed.nc": _packed_netcdf(JUST_ALLOWED),
    "packed_bytes.nc": _packed_netcdf(JUST_ALLOWED_BYTES),
    "overlapping.nc": _overlapping_netcdf,
    "bytes.h5": _hdf5(lambda: np.zeros(JUST_ALLOWED_BYTES, np.int8)),
    "bool.h5": _hdf5(lambda: np.zeros(JUST_ALLOWED_BYTES, bool)),
    "labels.h5": _hdf5(lambda: np.full(2**26 - 2**10, b"box")),
    "one_long_text.h5": _one_long_text,
    "zeros.h5ad": _hdf5(lambda: np.zeros(JUST_ALLOWED), "X"),
    "codes.h5ad": _codes,
}
