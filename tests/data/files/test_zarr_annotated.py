"""AnnData in zarr stores of both versions, written as its package lays them out."""

import json
import struct

import numpy as np
import pytest
from scipy import sparse

from geodis import load_array, load_factors
from geodis.base.check import InputError
from tests.data.files.test_zarr_store import write_2, write_3

SHAPES = ["dot", "box", "dot", "line"]
X = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 3.0], [0.0, 4.0, 5.0]])


class Store:
    def __init__(self, path, version):
        self.path, self.version = path, version

    def array(self, key, values):
        folder = self.path / key
        if self.version == 2:
            write_2(folder, values, values.shape)
        else:
            write_3(folder, values, values.shape, fill_value=0)

    def group(self, key, **attributes):
        folder = self.path / key
        folder.mkdir(parents=True, exist_ok=True)
        if self.version == 2:
            (folder / ".zgroup").write_text('{"zarr_format": 2}')
            (folder / ".zattrs").write_text(json.dumps(attributes))
        else:
            note = {"zarr_format": 3, "node_type": "group", "attributes": attributes}
            (folder / "zarr.json").write_text(json.dumps(note))

    def texts(self, key, values, most=None):
        folder, n = self.path / key, len(values)
        folder.mkdir(parents=True)
        encoded = [text.encode() for text in values]
        data = struct.pack("<I", n) + b"".join(struct.pack("<I", len(t)) + t for t in encoded)
        if self.version == 2:
            note = {"zarr_format": 2, "shape": [n], "chunks": [n], "dtype": "|O", "fill_value": ""}
            note |= {"filters": [{"id": "vlen-utf8"}], "compressor": None, "order": "C"}
            (folder / ".zarray").write_text(json.dumps(note))
            (folder / "0").write_bytes(data)
        else:
            note = {"zarr_format": 3, "node_type": "array", "shape": [n], "data_type": "string"}
            note["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": [n]}}
            note |= {"codecs": [{"name": "vlen-utf8", "configuration": {}}], "fill_value": ""}
            note["chunk_key_encoding"] = {"name": "default", "configuration": {"separator": "/"}}
            (folder / "zarr.json").write_text(json.dumps(note))
            (folder / "c").mkdir()
            (folder / "c" / "0").write_bytes(data)
        return folder / ("0" if self.version == 2 else "c/0")


@pytest.fixture(params=[2, 3])
def store(request, tmp_path):
    return Store(tmp_path / "cells.zarr", request.param)


def write_cells(store, matrix):
    store.group("", **{"encoding-type": "anndata"})
    columns = ["shape", "level", "count", "size"]
    store.group(
        "obs", **{"encoding-type": "dataframe", "column-order": columns, "_index": "_index"}
    )
    store.texts("obs/_index", list("abcd"))
    store.texts("obs/shape", SHAPES)
    store.group("obs/level", **{"encoding-type": "categorical", "ordered": True})
    store.array("obs/level/codes", np.array([0, 1, 0, -1], np.int8))
    store.texts("obs/level/categories", ["low", "high"])
    store.group("obs/count", **{"encoding-type": "nullable-integer"})
    store.array("obs/count/values", np.array([3, 1, 2, 1]))
    store.array("obs/count/mask", np.array([False, True, False, False]))
    store.array("obs/size", np.array([0.5, 1.5, 2.5, 3.5]))
    if matrix is None:
        store.array("X", X)
        return
    packed = getattr(sparse, matrix)(X)
    store.group("X", **{"encoding-type": matrix, "shape": [4, 3]})
    for name in ("data", "indices", "indptr"):
        store.array(f"X/{name}", getattr(packed, name))


@pytest.mark.parametrize("matrix", [None, "csr_matrix", "csc_matrix"])
def test_points_are_x_and_factors_are_obs(store, matrix):
    write_cells(store, matrix)
    np.testing.assert_array_equal(load_array(store.path), X)
    factors = load_factors(store.path)
    assert factors.names == ("shape", "level", "count", "size")
    assert factors.kinds == ("labels", "ordered", "numbers", "numbers")
    assert factors.categories == {"shape": ("box", "dot", "line"), "level": ("low", "high")}
    np.testing.assert_array_equal(
        factors.values.T, [[1, 0, 1, 2], [0, 1, 0, np.nan], [3, np.nan, 2, 1], [0.5, 1.5, 2.5, 3.5]]
    )
    with pytest.raises(InputError, match="must hold real numbers; got an array of labels"):
        load_array(f"{store.path}:obs/level")


def test_damaged_matrices_and_texts_are_refused(store):
    write_cells(store, "csr_matrix")
    store.group("X", **{"encoding-type": "csr_matrix", "shape": [10**6, 10**6]})
    with pytest.raises(InputError, match=r"X in .* is sparse, .* reduce it first"):
        load_array(store.path)
    store.group("X", **{"encoding-type": "csr_matrix", "shape": [5, 3]})
    with pytest.raises(InputError, match="do not fit its 5 entries"):
        load_array(store.path)
    chunk = store.texts("names", ["dot", "box"])
    for content, message in (
        (struct.pack("<II", 3, 1), "must have 2 texts; got 3"),
        (struct.pack("<II", 2, 2**31), "cannot be read as .zarr"),
        (b"", "cannot be read"),
    ):
        chunk.write_bytes(content)
        with pytest.raises(InputError, match=message):
            load_factors(f"{store.path}:names")
    chunk.write_bytes(struct.pack("<II", 2, 200) + bytes(200) + struct.pack("<I", 0))
    with pytest.raises(InputError, match=r"text of names in .* once unpacked"):
        load_factors(f"{store.path}:names", max_bytes=250)
