"""zarr stores: arrays as the specifications of versions 2 and 3 lay them out, read by zarr."""

import gzip
import itertools
import json
import os
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from geodis import load_array, load_factors
from geodis.base.check import InputError, MissingExtraError
from geodis.data.files import limits

zarr = pytest.importorskip("zarr")
codecs = pytest.importorskip("zarr.codecs", reason="zarr writes version 3 from its version 3 on")

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
        ({"filters": [{"id": "pickle"}]}, "codec 'pickle' is not one of"),
        ({"compressor": {"id": "pickle"}}, "codec 'pickle' is not one of"),
        ({"dtype": "|O"}, "cannot be read as .zarr"),
        ({"chunks": [0, 2]}, "do not divide"),
        ({"shape": [10**7, 10**7]}, "would take .* once unpacked"),
        ({"shape": [-1, 2]}, "cannot be read as .zarr"),
        (
            {"shape": [10**7, 1], "chunks": [1, 1]},
            "at most 100000 chunks are read at a time; got 10000000",
        ),
        ({"shape": "many"}, "cannot be read as .zarr"),
        ({"filters": [{"id": "zlib"}]}, "compressed at most once; got zlib, "),
        ({"dimension_separator": "/../"}, "are stored in an unsupported way"),
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
    write_2(tmp_path / "run.zarr" / "names", POINTS, filters=[{"id": "pickle"}])
    write_2(tmp_path / "run.zarr" / "points", POINTS)
    np.testing.assert_array_equal(load_array(f"{tmp_path}/run.zarr:points"), POINTS)
    with pytest.raises(InputError, match=r"codec .pickle. is not one of"):
        load_array(f"{tmp_path}/run.zarr:names")


def test_of_two_transposes_both_are_undone(tmp_path):
    cube = np.arange(24.0).reshape(2, 3, 4)
    turns = [codecs.TransposeCodec(order=order) for order in ((1, 2, 0), (0, 2, 1))]
    zarr.create_array(store=tmp_path / "x.zarr", data=cube, filters=turns, compressors=None)
    np.testing.assert_array_equal(load_array(tmp_path / "x.zarr"), cube)


def test_a_chunk_that_is_not_what_its_checksum_says_is_refused(tmp_path):
    store = tmp_path / "x.zarr"
    zarr.create_array(store=store, data=np.arange(20.0), compressors=[codecs.Crc32cCodec()])
    chunk = store / "c" / "0"
    content = bytearray(chunk.read_bytes())
    content[15] ^= 0x40
    chunk.write_bytes(content)
    with pytest.raises(InputError, match="checksum"):
        load_array(store)


PACKED = {
    "zlib": zlib.compress(bytes(2**20)),
    "gzip": gzip.compress(bytes(2**20)),
    "blosc": b"\x02\x01\x91\x08" + (2**30).to_bytes(4, "little") + bytes(30),
    "lz4": (2**30).to_bytes(4, "little") + bytes(30),
    "zstd": b"\x28\xb5\x2f\xfd\xa0" + (2**30).to_bytes(4, "little") + bytes(30),
}


@pytest.mark.parametrize("codec", PACKED)
def test_a_chunk_that_unpacks_to_more_is_refused_before_zarr_reads_it(tmp_path, monkeypatch, codec):
    monkeypatch.setattr(limits, "ALWAYS", 2**12)
    write_2(tmp_path / "x.zarr", POINTS)
    note = tmp_path / "x.zarr" / ".zarray"
    note.write_text(json.dumps({**json.loads(note.read_text()), "compressor": {"id": codec}}))
    for chunk in (tmp_path / "x.zarr").glob("[0-9]*"):
        chunk.write_bytes(PACKED[codec])

    def read(*_):
        raise AssertionError("zarr decoded a chunk")

    monkeypatch.setattr(zarr.Array, "__getitem__", read)
    with pytest.raises(InputError, match="is larger than its array declares"):
        load_array(tmp_path / "x.zarr")


def test_frames_of_zstd_count_together(tmp_path):
    import numcodecs

    frame = numcodecs.Zstd().encode(bytes(48))
    write_2(tmp_path / "x.zarr", np.zeros((3, 2)), codec=None, compressor={"id": "zstd"})
    (tmp_path / "x.zarr" / "0.0").write_bytes(frame)
    assert load_array(tmp_path / "x.zarr").shape == (3, 2)
    (tmp_path / "x.zarr" / "0.0").write_bytes(frame * 3)
    with pytest.raises(InputError, match=r"destination buffer too small|cannot be read"):
        load_array(tmp_path / "x.zarr")


def test_parts_of_a_shard_are_chunks_of_their_own(tmp_path):
    store = tmp_path / "x.zarr"
    zarr.create_array(store=store, data=np.arange(40.0), chunks=(5,), shards=(20,))
    np.testing.assert_array_equal(load_array(store), np.arange(40.0))
    shard = store / "c" / "0"
    content = bytearray(shard.read_bytes())
    index = np.frombuffer(content, "<u8", 8, len(content) - 68).reshape(4, 2).copy()
    index[:, 1] = 10**6
    content[-68:-4] = index.tobytes()
    shard.write_bytes(content)
    with pytest.raises(InputError, match="the parts of the shard 0 overlap"):
        load_array(store)


def test_metadata_that_leads_out_of_the_store_or_is_there_twice_is_refused(tmp_path):
    write_2(tmp_path / "x.zarr", POINTS)
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "x.zarr" / ".zattrs").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match=r"must hold its own files; got \.zattrs, a link"):
        load_array(tmp_path / "x.zarr")
    (tmp_path / "x.zarr" / ".zattrs").unlink()
    (tmp_path / "x.zarr" / "zarr.json").write_text('{"node_type": "array"}')
    with pytest.raises(InputError, match="metadata of one version of zarr; got both"):
        load_array(tmp_path / "x.zarr")


def test_without_zarr_it_is_named(tmp_path, monkeypatch):
    write_2(tmp_path / "x.zarr", POINTS)
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(MissingExtraError, match=r"zarr stores needs zarr.*pip install zarr"):
        load_array(tmp_path / "x.zarr")
