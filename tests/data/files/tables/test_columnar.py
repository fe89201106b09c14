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
