"""Valid files as the official libraries write them, and what the same libraries read of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

rng = np.random.default_rng(7)
POINTS = rng.normal(size=(29, 4))
COUNT = np.arange(29)
WORDS = np.array(["box", "dot", "", "größe", "box", "line"], dtype=object)
NUMBERS = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
INTEGERS = tuple(kind for kind in NUMBERS if kind[0] != "f")

ARRAY, FACTOR, REFUSED = "array", "factor", "refused"


@dataclass(frozen=True)
class Case:
    """One array in a file, what the library that wrote it reads, and what geodis makes of it."""

    given: str
    expected: np.ndarray
    kind: str = ARRAY


Writer = Callable[[Path], Iterator[Case]]
WRITERS: dict[str, tuple[Writer, tuple[str, ...]]] = {}


def written_with(*packages: str) -> Callable[[Writer], Writer]:
    """Register what writes the files of one name."""

    def register(writer: Writer) -> Writer:
        WRITERS[writer.__name__] = writer, packages
        return writer

    return register


def cases_of(name: str, folder: Path) -> list[Case]:
    """Write the files of a name; skipped where a library is missing."""
    writer, packages = WRITERS[name]
    for package in packages:
        pytest.importorskip(package, reason=f"{package} writes these files")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is new or deprecated in the libraries
        return [*writer(folder)]


# ------------------------------------------------------------------------------------------- HDF5


@written_with("h5py")
def hdf5(folder: Path) -> Iterator[Case]:
    import h5py

    path = folder / "run.h5"
    with h5py.File(path, "w") as file:
        for order in "<>":
            for kind in NUMBERS:
                file[f"{kind}{'le' if order == '<' else 'be'}"] = (9 * POINTS).astype(order + kind)
        file["flags"] = POINTS > 0
        file["long"] = POINTS.astype(np.longdouble)
        options: dict[str, dict[str, Any]] = {
            "gzip": {"compression": "gzip"},
            "lzf": {"compression": "lzf"},
            "shuffled": {"compression": "gzip", "shuffle": True, "fletcher32": True},
            "summed": {"fletcher32": True, "chunks": (10, 2)},
            "growing": {"chunks": (7, 3), "maxshape": (None, None)},
        }
        for name, more in options.items():
            file.create_dataset(name, data=POINTS, **more)
        scaled = (100 * POINTS).astype(int)
        file.create_dataset("scaled", data=scaled, scaleoffset=0, chunks=(10, 4))
        file.create_dataset("partly", (40, 3), float, chunks=(10, 3), fillvalue=7.5)[:15] = 1
        file.create_dataset("unwritten", (4, 5), "i4", fillvalue=3)
        file["deep/er/points"], file["number"], file["nothing"] = POINTS, 3.5, np.zeros((0, 3))
        file.create_dataset("cube", data=rng.normal(size=(3, 2, 2, 2)), chunks=True)
        file.create_dataset("kinds", data=[0, 1, 42], dtype=h5py.enum_dtype({"a": 0, "b": 42}))
        layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        layout.set_layout(h5py.h5d.COMPACT)
        space, big = h5py.h5s.create_simple((6,)), h5py.h5t.IEEE_F64BE
        compact = h5py.Dataset(h5py.h5d.create(file.id, b"compact", big, space, layout))
        compact[...] = np.arange(6)
        narrow = h5py.h5t.STD_I32LE.copy()
        narrow.set_precision(20)
        h5py.Dataset(h5py.h5d.create(file.id, b"narrow", narrow, space))[...] = [
            1,
            -2,
            300,
            0,
            5,
            9,
        ]
        pairs = h5py.h5t.array_create(h5py.h5t.NATIVE_DOUBLE, (2,))
        h5py.Dataset(h5py.h5d.create(file.id, b"pairs", pairs, space))[...] = POINTS[:6, :2]
        records = np.zeros(6, [("x", ">f4"), ("y", "<i2"), ("v", "<f8", (3,))])
        records["x"], records["v"] = np.arange(6), rng.normal(size=(6, 3))
        file["records"], file["complex"] = records, POINTS + 1j
        file["words"], file["short"] = WORDS, np.array([b"aa", b"b", b"aa"])
    with h5py.File(path) as file:
        found: list[str] = []
        file.visititems(lambda key, node: found.append(key) if hasattr(node, "shape") else None)
        for key in found:
            if key in ("records", "complex"):
                yield Case(f"{path}:{key}", POINTS, REFUSED)
            elif key in ("words", "short"):
                yield Case(f"{path}:{key}", file[key].asstr()[()].astype(str), FACTOR)
            else:
                yield Case(f"{path}:{key}", file[key][()])
        for name in records.dtype.names:
            yield Case(f"{path}:records/{name}", file["records"][name])


@written_with("h5py")
def hdf5_versions(folder: Path) -> Iterator[Case]:
    import h5py

    for version in ("earliest", "v108", "v110", "latest"):
        path = folder / f"{version}.hdf5"
        with h5py.File(path, "w", libver=version, userblock_size=512) as file:
            file["plain"] = POINTS
            file.create_dataset("packed", data=POINTS, chunks=(5, 3), compression="gzip")
        for key in ("plain", "packed"):
            yield Case(f"{path}:{key}", POINTS)


# ---------------------------------------------------------------------------------------- AnnData


def _cells() -> Any:
    import anndata
    import pandas as pd
    from scipy import sparse

    n = 20
    obs = pd.DataFrame(
        {
            "type": pd.Categorical([*"abca"] * 5, categories=["c", "a", "b"]),
            "level": pd.Categorical(["low", "high"] * 10, ["low", "high"], ordered=True),
            "size": 0.5 * np.arange(n),
            "count": pd.array([1, None] * 10, dtype="Int64"),
            "seen": pd.array([True, False, None, True] * 5, dtype="boolean"),
            "text": np.array(["x", "y"] * 10, dtype=object),
            "flag": [True, False] * 10,
            "each": pd.Categorical([f"k{i}" for i in range(n)]),
        },
        index=pd.Index([f"c{i}" for i in range(n)], dtype=object),
    )
    matrix = sparse.random(n, 7, 0.3, "csr", random_state=0)
    var = pd.DataFrame(index=pd.Index([f"g{i}" for i in range(7)], dtype=object))
    cells = anndata.AnnData(X=matrix, obs=obs, var=var)
    cells.layers["columns"], cells.layers["single"] = 2 * matrix.tocsc(), matrix.astype("f4")
    cells.obsm["X_pca"], cells.obsp["near"] = POINTS[:n], sparse.eye(n, format="csr")
    return cells


def _cases_of_cells(path: Path, cells: Any) -> Iterator[Case]:
    yield Case(str(path), cells.X.toarray())
    for name, layer in cells.layers.items():
        yield Case(f"{path}:layers/{name}", layer.toarray())
    yield Case(f"{path}:obsm/X_pca", cells.obsm["X_pca"])
    yield Case(f"{path}:obsp/near", cells.obsp["near"].toarray())
    for name, column in cells.obs.items():
        if name in ("size", "count", "seen", "flag"):
            expected = column.astype("Float64").to_numpy(float, na_value=np.nan)
        else:
            expected = column.astype(str).to_numpy().astype(str)
        yield Case(f"{path}:obs/{name}", expected, FACTOR)


@written_with("anndata")
def anndata_hdf5(folder: Path) -> Iterator[Case]:
    import pandas as pd

    with pd.option_context("future.infer_string", False):
        cells = _cells()
        for compression in (None, "gzip"):
            path = folder / f"cells_{compression}.h5ad"
            cells.write_h5ad(path, compression=compression)
            yield from _cases_of_cells(path, cells)


@written_with("anndata", "zarr")
def anndata_zarr(folder: Path) -> Iterator[Case]:
    import anndata
    import pandas as pd

    with pd.option_context("future.infer_string", False):
        cells = _cells()
        for version in (2, 3):
            with anndata.settings.override(zarr_write_format=version):
                path = folder / f"cells_{version}.zarr"
                cells.write_zarr(path)
            yield from _cases_of_cells(path, cells)


# ------------------------------------------------------------------------------------------- zarr


def _zarr(folder: Path, version: int, name: str, data: Any = POINTS, **options: Any) -> Case:
    import zarr

    path = folder / f"{name}_{version}.zarr"
    options = {"chunks": (10, 3), **options} if data is POINTS else options
    zarr.create_array(store=path, data=data, zarr_format=version, **options)
    return Case(str(path), np.asarray(zarr.open_array(path, mode="r")[...]))


@written_with("zarr")
def zarr_kinds(folder: Path) -> Iterator[Case]:
    for version in (2, 3):
        for kind in (*NUMBERS, ">f4", ">f8", ">i2", ">u4", "?"):
            data, name = (9 * POINTS).astype(kind), kind.replace(">", "big_").replace("?", "bool")
            yield _zarr(folder, version, name, data, chunks=(10, 3))
        yield _zarr(folder, version, "number", np.array(3.5))
        yield _zarr(folder, version, "nothing", np.zeros((0, 3)))
        yield _zarr(folder, version, "cube", rng.normal(size=(5, 4, 3)), chunks=(2, 4, 3))
        case = _zarr(folder, version, "complex", POINTS + 1j)
        yield Case(case.given, case.expected, REFUSED)


@written_with("zarr", "numcodecs")
def zarr_codecs_2(folder: Path) -> Iterator[Case]:
    import numcodecs

    packed: list[Any] = [
        *(numcodecs.Blosc(name) for name in ("lz4", "lz4hc", "blosclz", "zlib", "zstd")),
        *(numcodecs.Blosc("lz4", shuffle=shuffle) for shuffle in (0, 2)),
        *(numcodecs.Zlib(), numcodecs.GZip(), numcodecs.Zstd(checksum=True), numcodecs.LZ4()),
    ]
    for number, codec in enumerate([*packed, None]):
        yield _zarr(folder, 2, f"packed{number}", compressors=codec)
    filters: list[Any] = [
        [numcodecs.Delta("<f8")],
        [numcodecs.Shuffle(8)],
        [numcodecs.FixedScaleOffset(0, 100, "<f8", "<i4")],
        [numcodecs.Quantize(3, "<f8")],
        [numcodecs.Fletcher32()],
        [numcodecs.Delta("<f8"), numcodecs.CRC32()],
    ]
    for number, some in enumerate(filters):
        yield _zarr(folder, 2, f"filtered{number}", filters=some)
    yield _zarr(folder, 2, "fortran", order="F")
    for number, codec in enumerate((numcodecs.BZ2(), numcodecs.LZMA())):
        case = _zarr(folder, 2, f"refused{number}", compressors=codec)
        yield Case(case.given, case.expected, REFUSED)


@written_with("zarr", "numcodecs")
def zarr_codecs_3(folder: Path) -> Iterator[Case]:
    from zarr.codecs import (
        BloscCodec,
        BytesCodec,
        Crc32cCodec,
        GzipCodec,
        ShardingCodec,
        TransposeCodec,
        ZstdCodec,
    )

    packed: dict[str, list[Any]] = {
        "gzip": [GzipCodec()],
        "zstd": [ZstdCodec(checksum=True)],
        "blosc": [BloscCodec()],
        "sum": [Crc32cCodec()],
        "sum_last": [GzipCodec(), Crc32cCodec()],
        "sum_first": [Crc32cCodec(), ZstdCodec()],
        "plain": [],
    }
    for name, codecs in packed.items():
        yield _zarr(folder, 3, name, compressors=codecs)
    yield _zarr(folder, 3, "big", serializer=BytesCodec(endian="big"))
    cube = rng.normal(size=(6, 5, 4))
    orders: list[list[tuple[int, ...]]] = [
        [(1, 2, 0)],
        [(1, 2, 0), (0, 2, 1)],
        [(1, 2, 0), (1, 2, 0)],
    ]
    for number, some in enumerate(orders):
        turns = [TransposeCodec(order=order) for order in some]
        yield _zarr(folder, 3, f"turned{number}", cube, chunks=(4, 3, 2), filters=turns)
    for place in ("start", "end"):
        sharding = ShardingCodec(
            chunk_shape=(5, 2), codecs=[BytesCodec(), ZstdCodec()], index_location=place
        )
        yield _zarr(
            folder, 3, f"shard_{place}", chunks=(10, 4), serializer=sharding, compressors=[]
        )
    yield _zarr(folder, 3, "shards", chunks=(5, 4), shards=(20, 4))


@written_with("zarr")
def zarr_layout(folder: Path) -> Iterator[Case]:
    import zarr

    for version in (2, 3):
        for separator in "./":
            encoding = {"name": "v2" if version == 2 else "default", "separator": separator}
            name = "dot" if separator == "." else "slash"
            yield _zarr(folder, version, name, chunk_key_encoding=encoding)
        for fill, kind in (
            *((np.nan, "f4"), (np.inf, "f8"), (-np.inf, "f8"), (7, "i4"), (2**63 - 1, "i8")),
            *((True, "?"), (1.5, ">f8"), (0, "u1")),
        ):
            path = folder / f"fill_{fill}_{kind.strip('>?')}_{version}.zarr"
            array = zarr.create_array(
                store=path, shape=(20, 4), chunks=(7, 4), dtype=kind, fill_value=fill,
                zarr_format=version,
            )  # fmt: skip
            array[:7] = 1
            yield Case(str(path), np.asarray(array[...]))
        path = folder / f"groups_{version}.zarr"
        group = zarr.open_group(path, mode="w", zarr_format=version)
        group.create_array("a/b/points", data=POINTS)
        group.create_array("column", data=POINTS[:, 0])
        yield Case(f"{path}:a/b/points", POINTS)
        yield Case(f"{path}:column", POINTS[:, 0])
    yield _zarr(folder, 3, "old_keys", chunk_key_encoding={"name": "v2", "separator": "."})


@written_with("zarr")
def zarr_labels(folder: Path) -> Iterator[Case]:
    words = WORDS.astype("U")
    for version in (2, 3):
        any_length = WORDS.astype(np.dtypes.StringDType())
        for name, data in (("fixed", words), ("texts", any_length)):
            case = _zarr(folder, version, name, data, chunks=(4,))
            yield Case(case.given, words, FACTOR)
        days = np.arange(6).astype("M8[D]").astype("M8[s]")
        case = _zarr(folder, version, "days", days, chunks=(4,))
        yield Case(case.given, days.astype(str), FACTOR)
        records = np.zeros(6, [("x", "<f8"), ("k", "<i4")])
        case = _zarr(folder, version, "records", records, chunks=(4,))
        yield Case(case.given, records, REFUSED)


# ----------------------------------------------------------------------------------------- netCDF

FORMATS = ("NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET")


def _plain(values: Any) -> np.ndarray:
    """What netCDF4 reads, NaN where it masks."""
    if not np.ma.isMaskedArray(values) or not np.ma.getmaskarray(values).any():
        return np.asarray(np.ma.getdata(values))
    return values.astype(float).filled(np.nan)


@written_with("netCDF4", "xarray", "h5py")
def netcdf(folder: Path) -> Iterator[Case]:
    import netCDF4

    small = COUNT.astype("i1")
    raw: dict[str, tuple[str, np.ndarray, dict[str, Any]]] = {
        "missing": ("f8", np.where(COUNT % 5, COUNT, -1.0), {"missing_value": -1.0}),
        "missing_two": ("i4", COUNT % 6, {"missing_value": np.array([2, 3], "i4")}),
        "missing_nan": ("f4", np.where(COUNT % 5, COUNT, np.nan), {"missing_value": np.nan}),
        "both": ("i2", COUNT % 6, {"missing_value": np.int16(2), "_FillValue": np.int16(3)}),
        "range": ("f8", COUNT, {"valid_range": np.array([3.0, 20.0])}),
        "low": ("i2", COUNT, {"valid_min": np.int16(5)}),
        "high": ("i4", COUNT, {"valid_max": np.int32(9)}),
        "between": ("f4", COUNT, {"valid_min": np.float32(4), "valid_max": np.float32(8)}),
        "unsigned": ("i1", 7 * small - 100, {"_Unsigned": "true"}),
        "unsigned_fill": ("i1", small - 5, {"_Unsigned": "true", "_FillValue": np.int8(-1)}),
        "unsigned_scaled": ("i1", small - 9, {"_Unsigned": "true", "scale_factor": 0.5}),
        "unsigned_range": (
            "i1",
            small - 9,
            {"_Unsigned": "true", "valid_range": np.array([3, -5], "i1"), "_FillValue": np.int8(9)},
        ),
        "scaled_range": (
            "i2", COUNT, {"scale_factor": 0.5, "valid_range": np.array([3, 20], "i2")},
        ),
        "packed": ("i2", 3 * COUNT, {"scale_factor": 0.01, "add_offset": 1.5}),
        "packed_single": ("i2", COUNT, {"scale_factor": np.float32(0.01)}),
        "offset": ("i1", small, {"add_offset": 100.0}),
        "packed_missing": ("i4", COUNT, {"scale_factor": 2.0, "_FillValue": np.int32(4)}),
        "other_type": ("i2", COUNT, {"valid_min": 5.0, "missing_value": np.int32(7)}),
        "unlike": ("i2", COUNT, {"valid_min": 5.5}),
        "default": ("i4", np.where(COUNT < 4, -(2**31) + 1, COUNT), {}),
        # Not -127, which netCDF4 masks, and ncdump and the users' guide of netCDF do not.
        "bytes": ("i1", small - 126, {}),
        "units": ("i4", COUNT, {"units": "days since 2000-01-01", "coordinates": "a b"}),
    }  # fmt: skip
    for form in FORMATS:
        path = folder / f"{form}.nc"
        with netCDF4.Dataset(path, "w", format=form) as file:
            for name, size in (("t", None), ("x", 4), ("letters", 5), ("s", 6)):
                file.createDimension(name, size)
            for kind in ("f8", "f4", "i4", "i2", "i1"):
                file.createVariable(kind, kind, ("t", "x"))[:] = 9 * POINTS
            for name, (kind, values, attributes) in raw.items():
                fill = attributes.get("_FillValue")
                made = file.createVariable(name, kind, ("t",), fill_value=fill)
                made.set_auto_maskandscale(False)
                made.setncatts({key: attributes[key] for key in attributes if key != "_FillValue"})
                made[:] = values.astype(kind)
            file.createVariable("number", "f8", ())[:] = 4.5
            letters = file.createVariable("words", "S1", ("s", "letters"))
            letters._Encoding = "utf-8"
            letters[:] = np.array(["box", "dot", "", "gruß", "box", "line"])
            plain = file.createVariable("plain_words", "S1", ("s", "letters"))
            plain[:] = netCDF4.stringtochar(np.array(["box", "dot", "", "arc", "b", "line"], "S5"))
            if form == "NETCDF4":
                for kind in ("u2", "u4", "u8", "i8"):
                    file.createVariable(kind, kind, ("t",))[:] = COUNT
                file.createVariable("big", "f4", ("t", "x"), endian="big")[:] = POINTS
                packed = file.createVariable(
                    "packed_points", "f8", ("t", "x"), zlib=True, shuffle=True, fletcher32=True
                )
                packed[:] = POINTS
                rounded = file.createVariable(
                    "rounded", "f4", ("t", "x"), zlib=True, least_significant_digit=2
                )
                rounded[:] = POINTS
                file.createGroup("g/h").createVariable("column", "f8", ("t",))[:] = COUNT
                file.createVariable("texts", str, ("s",))[:] = WORDS
        with netCDF4.Dataset(path) as file:
            keys = [*file.variables, *(["g/h/column"] if form == "NETCDF4" else [])]
            for key in keys:
                if key in ("words", "plain_words", "texts"):
                    values = file[key][:]
                    texts = netCDF4.chartostring(values) if key == "plain_words" else values
                    yield Case(f"{path}:{key}", np.asarray(texts, dtype=str), FACTOR)
                else:
                    yield Case(f"{path}:{key}", _plain(file[key][:]))
    path = folder / "NETCDF3_64BIT_DATA.nc"
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as file:
        file.createDimension("t", 29)
        file.createVariable("x", "f8", ("t",))[:] = COUNT
    yield Case(f"{path}:x", COUNT, REFUSED)


# ----------------------------------------------------------------------------------------- MATLAB


@written_with("scipy")
def matlab(folder: Path) -> Iterator[Case]:
    from scipy import io, sparse

    arrays: dict[str, Any] = {kind: (9 * POINTS).astype(kind) for kind in NUMBERS if kind != "f2"}
    arrays |= {"flags": POINTS > 0, "big": POINTS.astype(">f8"), "cube": rng.normal(size=(3, 4, 5))}
    arrays |= {"fortran": np.asfortranarray(POINTS), "number": np.array([[2.5]])}
    arrays |= {"sparse": sparse.random(12, 6, 0.4, "csc", random_state=1)}
    others = {
        "struct": {"a": 1.0},
        "complex": POINTS + 1j,
        "cell": np.array([1, "a"], dtype=object),
    }
    words = np.array(["ab", "cd", "ab"])
    for packed in (False, True):
        path = folder / f"packed_{packed}.mat"
        io.savemat(path, {**arrays, **others, "words": words}, do_compression=packed)
        for name, values in io.loadmat(path).items():
            if name in arrays:
                dense = values.toarray() if sparse.issparse(values) else values
                yield Case(f"{path}:{name}", dense.reshape(-1) if dense.size == 1 else dense)
        for name in others:
            yield Case(f"{path}:{name}", POINTS, REFUSED)
        yield Case(f"{path}:words", words, FACTOR)
    path = folder / "four.mat"
    io.savemat(path, {"points": POINTS, "sparse": arrays["sparse"]}, format="4")
    yield Case(f"{path}:points", POINTS)
    yield Case(f"{path}:sparse", arrays["sparse"].toarray())


# ----------------------------------------------------------------------------------- Arrow, Parquet


def _table() -> Any:
    import pyarrow as pa

    columns = {kind: pa.array((COUNT * 3 % 7).astype(kind)) for kind in NUMBERS if kind != "f2"}
    gaps = [None if i % 4 == 0 else i % 5 for i in range(len(COUNT))]
    some = [None if i % 4 == 0 else WORDS[i % 6] for i in range(len(COUNT))]
    return pa.table(
        {
            **columns,
            "half": pa.array(COUNT.astype("f2")),
            "flags": pa.array(COUNT % 3 == 0),
            "flags_with_gaps": pa.array([None if x is None else x > 2 for x in gaps]),
            "gaps": pa.array(gaps, pa.int16()),
            "floats_with_gaps": pa.array(gaps, pa.float32()),
            "texts": pa.array(some),
            "large_texts": pa.array(some, pa.large_string()),
            "categories": pa.array(some).dictionary_encode(),
        }
    )


def _cases_of_table(path: Path, table: Any) -> Iterator[Case]:
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = column.to_pylist()
        if name in ("texts", "large_texts", "categories", "views"):
            yield Case(f"{path}:{name}", np.array([str(x) for x in values]), FACTOR)
        elif name == "lists":
            yield Case(f"{path}:{name}", POINTS, REFUSED)
        elif name in NUMBERS or name == "half":
            yield Case(f"{path}:{name}", column.to_numpy())
        else:
            expected = np.array([np.nan if x is None else x for x in values], float)
            yield Case(f"{path}:{name}", expected, FACTOR)


@written_with("pyarrow")
def feather(folder: Path) -> Iterator[Case]:
    import pyarrow as pa
    from pyarrow import feather

    table = _table()
    views = pa.array(table["texts"].to_pylist(), pa.string_view())
    lists = pa.array([[1, 2]] * len(COUNT))
    table = table.append_column("views", views).append_column("lists", lists)
    for compression in ("uncompressed", "lz4", "zstd"):
        path = folder / f"{compression}.feather"
        feather.write_feather(table, path, compression=compression, chunksize=10)
        yield from _cases_of_table(path, table)


@written_with("pyarrow")
def parquet(folder: Path) -> Iterator[Case]:
    import pyarrow as pa
    from pyarrow import parquet

    table = _table().append_column("lists", pa.array([[1, 2]] * len(COUNT)))
    for version in ("1.0", "2.6"):
        for compression in ("none", "snappy", "gzip", "zstd", "lz4", "brotli"):
            path = folder / f"{compression}_{version}.parquet"
            parquet.write_table(
                table, path, compression=compression, version=version, row_group_size=10,
                data_page_version="1.0" if version == "1.0" else "2.0",
                use_dictionary=compression != "gzip",
            )  # fmt: skip
            yield from _cases_of_table(path, table)
