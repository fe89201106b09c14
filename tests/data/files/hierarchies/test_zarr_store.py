"""zarr stores: arrays as the specifications of versions 2 and 3 lay them out."""

import gzip
import itertools
import json
import os
import zlib
from pathlib import Path

import numpy as np
import pytest

from geodis import load_array, load_factors
from geodis.base.check import InputError

POINTS = np.arange(35.0).reshape(7, 5)
PACK = {"zlib": zlib.compress, "gzip": gzip.compress, None: bytes}


def write_2(folder: Path, array, chunks=(3, 2), codec="zlib", order="C", separator=".", **more):
    folder.mkdir(parents=True)
    compressor = None if codec is None else {"id": codec, "level": 1}
    note = {"zarr_format": 2, "shape": array.shape, "chunks": chunks, "dtype": array.dtype.str}
    note |= {"order": order, "compressor": compressor, "fill_value": 0, "filters": None}
    note |= {"dimension_separator": separator, **more}
    (folder / ".zarray").write_text(json.dumps(note))
    for place, chunk in chunks_of(array, chunks):
        path = folder / separator.join(map(str, place))
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(PACK[codec](chunk.tobytes(order=order)))


def write_3(folder: Path, array, chunks=(3, 2), codec="gzip", turned=False, **more):
    folder.mkdir(parents=True)
    codecs = [{"name": "transpose", "configuration": {"order": [1, 0]}}] if turned else []
    codecs.append({"name": "bytes", "configuration": {"endian": "little"}})
    codecs += [] if codec is None else [{"name": codec, "configuration": {"level": 1}}]
    note = {"zarr_format": 3, "node_type": "array", "shape": array.shape, "fill_value": "NaN"}
    note |= {"data_type": str(array.dtype), "codecs": codecs, **more}
    note["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": chunks}}
    note["chunk_key_encoding"] = {"name": "default", "configuration": {"separator": "/"}}
    (folder / "zarr.json").write_text(json.dumps(note))
    for place, chunk in chunks_of(array, chunks):
        path = folder / "/".join(["c", *map(str, place)])
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(PACK[codec]((chunk.T if turned else chunk).tobytes()))


def chunks_of(array, chunks):
    """Whole chunks, those at the border filled up."""
    counts = [-(-size // chunk) for size, chunk in zip(array.shape, chunks, strict=True)]
    padded = np.zeros([n * chunk for n, chunk in zip(counts, chunks, strict=True)], array.dtype)
    padded[tuple(map(slice, array.shape))] = array
    for place in itertools.product(*map(range, counts)):
        cut = tuple(slice(i * c, (i + 1) * c) for i, c in zip(place, chunks, strict=True))
        yield place, padded[cut]


@pytest.mark.parametrize("codec", PACK)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("separator", [".", "/"])
def test_version_2(tmp_path, codec, order, separator):
    (tmp_path / "run.zarr").mkdir()
    (tmp_path / "run.zarr" / ".zgroup").write_text('{"zarr_format": 2}')
    settings = {"codec": codec, "order": order, "separator": separator}
    write_2(tmp_path / "run.zarr" / "z", POINTS.astype(">f4"), **settings)
    write_2(tmp_path / "run.zarr" / "group" / "f", np.arange(6), (4,), **settings)
    np.testing.assert_array_equal(load_array(f"{tmp_path}/run.zarr:z"), POINTS)
    assert load_factors(f"{tmp_path}/run.zarr:group/f").values.ravel().tolist() == [*range(6)]


@pytest.mark.parametrize("codec", ["gzip", None])
@pytest.mark.parametrize("turned", [False, True])
def test_version_3(tmp_path, codec, turned):
    write_3(tmp_path / "alone", POINTS, codec=codec, turned=turned)
    np.testing.assert_array_equal(load_array(tmp_path / "alone"), POINTS)
    (tmp_path / "alone/c/0/0").unlink()
    missing = load_array(tmp_path / "alone")
    assert np.isnan(missing[:3, :2]).all() and np.isfinite(missing[3:]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"filters": [{"id": "pickle"}]}, "filters are not read"),
        ({"compressor": {"id": "pickle"}}, "codec 'pickle' is not one of"),
        ({"dtype": "|O"}, "dtype object is not read"),
        ({"chunks": [0, 2]}, "do not divide"),
        ({"shape": [10**7, 10**7]}, "would take .* once unpacked"),
        ({"shape": [-1, 2]}, "is not read"),
        ({"shape": [10**7, 1], "chunks": [1, 1]}, "at most 1000000 chunks are read; got 10000000"),
        ({"shape": "many"}, "must say a list as 'shape'"),
    ],
)
def test_metadata_is_checked(tmp_path, change, message):
    write_2(tmp_path / "bad.zarr", POINTS)
    path = tmp_path / "bad.zarr" / ".zarray"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputError, match=message):
        load_array(tmp_path / "bad.zarr")


def test_chunks_are_as_large_as_their_array_says(tmp_path):
    write_2(tmp_path / "bad.zarr", POINTS)
    for content in (zlib.compress(bytes(10**6)), zlib.compress(b"short"), b"no zlib"):
        (tmp_path / "bad.zarr" / "0.0").write_bytes(content)
        with pytest.raises(InputError, match=r"cannot be read as \.zarr: "):
            load_array(tmp_path / "bad.zarr")


def test_links_out_of_the_store_and_pipes_are_refused(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(np.arange(6.0).tobytes())
    write_2(tmp_path / "run.zarr", POINTS, codec=None)
    chunk = tmp_path / "run.zarr" / "0.0"
    chunk.unlink()
    chunk.symlink_to(secret)
    with pytest.raises(InputError, match=r"must hold its own files; got 0\.0, a link out of it"):
        load_array(tmp_path / "run.zarr")
    chunk.unlink()
    os.mkfifo(chunk)
    with pytest.raises(InputError, match="must be a regular file; got a pipe"):
        load_array(tmp_path / "run.zarr")


def test_an_array_that_is_not_read_does_not_hide_the_others(tmp_path):
    write_2(tmp_path / "run.zarr" / "names", POINTS, filters=[{"id": "vlen-utf8"}])
    write_2(tmp_path / "run.zarr" / "points", POINTS)
    np.testing.assert_array_equal(load_array(f"{tmp_path}/run.zarr:points"), POINTS)
    with pytest.raises(InputError, match="filters are not read"):
        load_array(f"{tmp_path}/run.zarr:names")
