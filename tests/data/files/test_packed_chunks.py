"""Chunks of HDF5 that unpack to more than their data set says."""

import struct
import zlib

import h5py
import numpy as np
import pytest

from geodis import load_array, load_factors
from geodis.base.check import InputError
from geodis.data.files import limits
from geodis.data.files.open_rows import Hdf5Images

ZEROS = bytes(2**24)
VALUES = np.random.default_rng(3).standard_normal((40, 30))


def write_bomb(path, times):
    with h5py.File(path, "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((10,))
        for _ in range(times):
            plist.set_deflate(9)
        space = h5py.h5s.create_simple((10,))
        made = h5py.h5d.create(file.id, b"x", h5py.h5t.IEEE_F64LE, space, plist)
        packed = ZEROS
        for _ in range(times):
            packed = zlib.compress(packed, 9)
        made.write_direct_chunk((0,), packed)


@pytest.mark.parametrize("times", [1, 2])
def test_a_chunk_that_unpacks_to_more_is_refused_before_it_does(tmp_path, monkeypatch, times):
    monkeypatch.setattr(limits, "ALWAYS", 2**15)
    monkeypatch.setattr(limits, "MULTIPLE", 1)
    path = tmp_path / "bomb.h5"
    write_bomb(path, times)
    with pytest.raises(InputError, match=r"must hold chunks of 80 bytes in /x, as it says; got"):
        load_array(path)
    with pytest.raises(InputError, match="must hold chunks of 80 bytes"):
        Hdf5Images(path, "x")


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "gzip"},
        {"compression": "gzip", "shuffle": True, "fletcher32": True},
        {"compression": "gzip", "chunks": (1, 30)},
        {"compression": "lzf"},
        {"shuffle": True, "chunks": (7, 4)},
    ],
)
def test_honest_chunks_are_read_where_any_could_be_too_large(tmp_path, monkeypatch, options):
    monkeypatch.setattr(limits, "ALWAYS", VALUES.nbytes)
    monkeypatch.setattr(limits, "MULTIPLE", 1)
    path = tmp_path / "points.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=VALUES, **options)
    np.testing.assert_array_equal(load_array(path), VALUES)


def test_a_filter_that_h5py_lacks_is_named(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((10,))
        plist.set_filter(32999, h5py.h5z.FLAG_OPTIONAL, ())
        space = h5py.h5s.create_simple((10,))
        made = h5py.h5d.create(file.id, b"x", h5py.h5t.IEEE_F64LE, space, plist)
        made.write_direct_chunk((0,), bytes(80))
    with pytest.raises(InputError, match=r"filters that h5py has; got filter 32999"):
        load_array(tmp_path / "x.h5")


def test_a_filter_makes_as_many_entries_as_a_chunk_has(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(10), chunks=(10,), scaleoffset=0)
    np.testing.assert_array_equal(load_array(path), np.arange(10))
    settings = struct.pack("<III", 2, 0, 10)  # a kind, a number of bits, and how many entries
    content = path.read_bytes()
    assert content.count(settings) == 1
    path.write_bytes(content.replace(settings, struct.pack("<III", 2, 0, 10**9)))
    with pytest.raises(InputError, match=r"must unpack /x to chunks of \(10,\)"):
        load_array(path)


def test_one_long_text_among_many_is_refused(tmp_path, monkeypatch):
    """In an array of numpy each would take as much as the longest."""
    monkeypatch.setattr(limits, "ALWAYS", 2**20)
    monkeypatch.setattr(limits, "MULTIPLE", 1)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = np.array(["box"] * 999 + ["x" * 2000], dtype=object)
    with pytest.raises(InputError, match=r"/x in .* would take 8000000 bytes"):
        load_factors(tmp_path / "x.h5")
