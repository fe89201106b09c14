"""Parquet and Feather files."""

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import feather, parquet

from geodis import load_array, load_factors
from geodis.base.check import InputError
from geodis.data.files import limits

FRAME = pd.DataFrame(
    {"x": [1.5, 2.5, 3.5], "shape": ["dot", None, "box"], "n": pd.array([1, None, 3], "Int64")}
)


@pytest.mark.parametrize("suffix", [".feather", ".parquet"])
def test_columns_come_back(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    FRAME.to_feather(path) if suffix == ".feather" else FRAME.to_parquet(path)
    factors = load_factors(path)
    assert factors.kinds == ("numbers", "labels", "numbers")
    assert factors.categories == {"shape": ("box", "dot")}
    np.testing.assert_array_equal(factors.values[:, 1], [1, np.nan, 0])
    np.testing.assert_array_equal(load_array(f"{path}:x"), FRAME["x"])


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_feather_however_it_is_packed(tmp_path, compression):
    path = tmp_path / "table.feather"
    feather.write_feather(FRAME, path, compression=compression)
    np.testing.assert_array_equal(load_array(f"{path}:x"), FRAME["x"])


ONE_TEXT = "x" * 1000
VIEWS = pyarrow.Array.from_buffers(
    pyarrow.string_view(),
    2000,
    [
        None,
        pyarrow.py_buffer(b"\xe8\x03\0\0xxxx\0\0\0\0\0\0\0\0" * 2000),
        pyarrow.py_buffer(ONE_TEXT.encode()),
    ],
)
LARGE = {
    "bits": pyarrow.array(np.zeros(2**18, bool)),
    "nothing": pyarrow.nulls(2**18),
    "views": VIEWS,
    "codes": pyarrow.DictionaryArray.from_arrays(np.zeros(2**17, np.int8), ["box"]),
    "days": pyarrow.array(np.zeros(2**15, np.int32)).cast(pyarrow.date32()),
}


@pytest.mark.parametrize("suffix", [".feather", ".parquet"])
@pytest.mark.parametrize("name", LARGE)
def test_what_is_made_of_a_column_counts_and_not_what_is_stored(
    tmp_path, monkeypatch, suffix, name
):
    path, table = tmp_path / f"t{suffix}", pyarrow.table({"x": LARGE[name]})
    if suffix == ".feather":
        feather.write_feather(table, path, compression="zstd", chunksize=2**20)
    else:
        parquet.write_table(table, path, compression="zstd")
    assert path.stat().st_size < 2**16
    assert len(load_factors(path, max_bytes=2**25)) == len(LARGE[name])
    monkeypatch.setattr(limits, "ALWAYS", 2**20)
    monkeypatch.setattr(limits, "MULTIPLE", 1)
    with pytest.raises(InputError, match="once unpacked, more than the 1048576"):
        load_factors(path)


@pytest.mark.parametrize("suffix", [".feather", ".parquet"])
def test_lists_are_refused_and_do_not_hide_other_columns(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    table = pyarrow.table({"x": [1.0, 2.0], "tokens": [[1], [2, 3]]})
    if suffix == ".feather":
        feather.write_feather(table, path)
    else:
        parquet.write_table(table, path)
    np.testing.assert_array_equal(load_array(f"{path}:x"), [1, 2])
    for load in (load_array, load_factors):
        with pytest.raises(InputError, match=r"in each row of tokens; got list<.*int64>"):
            load(path)


def test_texts_of_parquet_stay_texts_in_alphabetical_order(tmp_path):
    table = pyarrow.table({"shape": ["dot", "box", "arc", "dot"], "raw": [b"b", b"a", b"b", b"a"]})
    parquet.write_table(table, tmp_path / "table.parquet")
    factors = load_factors(tmp_path / "table.parquet")
    assert factors.categories["shape"] == ("arc", "box", "dot")
    assert factors.categories["raw"] == ("a", "b")


def test_more_rows_than_can_be_held_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "ALWAYS", 2**20)
    path = tmp_path / "zeros.feather"
    feather.write_feather(pd.DataFrame({"z": np.zeros(2**18)}), path, compression="zstd")
    assert path.stat().st_size < 2**13
    with pytest.raises(InputError, match="once unpacked, more than"):
        load_array(path)
