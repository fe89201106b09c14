"""One column of any kind: the same in a frame, a mapping and a file."""

import datetime

import numpy as np
import pandas as pd
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.data.factors import as_factors
from tests.data.test_factors import LEVELS, same

KINDS = {
    "day": (pd.to_datetime(["2021-03-01", None, "2020-12-31"]), "ordered"),
    "zoned": (pd.to_datetime(["2021-03-01", None, "2020-12-31"]).tz_localize("UTC"), "ordered"),
    "date": ([datetime.date(2021, 3, 1), None, datetime.date(2020, 12, 31)], "ordered"),
    "duration": (pd.to_timedelta([10, None, 9], unit="s"), "ordered"),
    "time": ([datetime.time(2), None, datetime.time(1)], "ordered"),
    "month": (pd.PeriodIndex(["2020-10", None, "2020-09"], freq="M"), "ordered"),
    "integers": (pd.Categorical([30, None, 4]), "labels"),
    "ordered integers": (pd.Categorical([30, None, 4], ordered=True), "ordered"),
    "fractions": (pd.Categorical([0.5, None, 0.25]), "labels"),
    "size": (pd.Categorical(["high", None, "low"], LEVELS[::-1], ordered=True), "ordered"),
    "nullable": (pd.array([3, None, 1], dtype="Int8"), "numbers"),
    "truth": (pd.array([True, None, False], dtype="boolean"), "numbers"),
    "large": (pd.array([2**60 + 1, None, 2**60], dtype="Int64"), "ordered"),
    "text": (["b", None, "a"], "labels"),
    "digits": (["10", None, "09"], "labels"),
    "number": ([0.5, np.nan, 0.25], "numbers"),
}


@pytest.mark.parametrize("rows", [[0, 1, 2], [0, 2]])
@pytest.mark.parametrize("name", KINDS)
def test_a_column_is_the_same_in_a_frame_a_dict_and_a_file(name, rows, tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet files are read by pyarrow")
    values, kind = KINDS[name]
    table = pd.DataFrame({name: values}).iloc[rows].reset_index(drop=True)
    table.to_parquet(tmp_path / "table.parquet")
    known = as_factors(table)
    assert known.kinds == (kind,) and known.complete.tolist() == [row != 1 for row in rows]
    same(as_factors(dict(table.items())), known)
    if name == "ordered integers":  # Parquet keeps the order of text alone: said, not guessed
        with pytest.warns(UserWarning, match="ordered integers must have text categories"):
            stored = gd.load_factors(tmp_path / "table.parquet")
        assert stored.kinds == ("labels",)
        return
    same(gd.load_factors(tmp_path / "table.parquet"), known)
    if name == "size":
        assert known.categories["size"] == ("high", "medium", "low")
    elif kind == "ordered":
        assert known.values[0] > known.values[-1]


@pytest.mark.parametrize("header", ["id,x\n", ""])
def test_large_integers_with_gaps_keep_their_identity_in_text(header, tmp_path):
    path = tmp_path / "ids.csv"
    path.write_text(f"{header}{2**60 + 1},1\n,2\n{2**60},NA\n")
    known = gd.load_factors(path)
    np.testing.assert_array_equal(known.values, [[1, 1], [np.nan, 2], [0, np.nan]])
    assert known.kinds == ("ordered", "numbers")
    np.testing.assert_array_equal(
        gd.load_array(path), [[2.0**60, 1], [np.nan, 2], [2.0**60, np.nan]]
    )
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    pyarrow.parquet.write_table(
        pyarrow.table({"id": [2**60 + 1, None, 2**60]}), tmp_path / "ids.parquet"
    )
    same(gd.load_factors(tmp_path / "ids.parquet"), as_factors({"id": [2**60 + 1, None, 2**60]}))
    path.write_text("x\n1e300\n2.5\n#N/A\n")
    assert gd.load_factors(path).kinds == ("numbers",)


@pytest.mark.parametrize("suffix", ["npy", "npz", "h5"])
def test_fields_in_files_are_factors(suffix, tmp_path):
    records = np.array([(3, b"dot"), (1, b"box")], dtype=[("count", "i4"), ("shape", "S3")])
    path = tmp_path / f"records.{suffix}"
    if suffix == "npy":
        np.save(path, records)
    elif suffix == "npz":
        np.savez(path, records=records)
    else:
        with pytest.importorskip("h5py").File(path, "w") as file:
            file["records"] = records
    same(gd.load_factors(path), as_factors(records))
    assert gd.load_factors(path).kinds == ("numbers", "labels")


def test_a_field_and_an_array_of_one_name_are_refused(tmp_path):
    fields = np.array([(3,), (1,)], dtype=[("count", "i4")])
    np.savez(tmp_path / "two.npz", fields=fields, count=np.arange(2))
    with pytest.raises(InputError, match="must name every factor differently; two are 'count'"):
        gd.load_factors(tmp_path / "two.npz")
    assert gd.load_factors(tmp_path / "two.npz:fields").values.tolist() == [[3], [1]]


def test_records_have_the_keys_of_all():
    known = as_factors([{"x": 1}, {"y": "b", "x": 2}, {"y": "a"}])
    assert known.names == ("x", "y") and known.kinds == ("numbers", "labels")
    np.testing.assert_array_equal(known.values, [[1, np.nan], [2, 1], [np.nan, 0]])


def test_a_list_of_masked_rows_keeps_its_mask():
    rows = [np.ma.array([1, 2], mask=[0, 1]), np.ma.array([3, 4]), [5, 6]]
    np.testing.assert_array_equal(as_factors(rows).values, [[1, np.nan], [3, 4], [5, 6]])
    np.testing.assert_array_equal(as_factors([1, np.ma.masked, 2]).values, [[1], [np.nan], [2]])
    with pytest.raises(InputError, match="factors must be a rectangular array"):
        as_factors([np.ma.array([1, 2]), [3]])


def test_labels_that_read_alike_are_refused():
    with pytest.raises(InputError, match="must differ as text; got several that read 1"):
        as_factors(pd.Categorical([1, "1"]))


@pytest.mark.filterwarnings("error")
def test_small_floats_do_not_warn():
    assert as_factors([np.float16(0.5), np.float16(2)]).values.tolist() == [[0.5], [2]]


def test_large_nullable_integers_are_an_array_in_files(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet files are read by pyarrow")
    table = pd.DataFrame({"id": pd.array([2**60 + 1, 2**60], dtype="Int64"), "x": [1, 2]})
    table.to_parquet(tmp_path / "ids.parquet")
    array = gd.load_array(tmp_path / "ids.parquet")
    assert array.dtype == np.int64 and array.tolist() == [[2**60 + 1, 1], [2**60, 2]]
    same(gd.load_factors(tmp_path / "ids.parquet"), as_factors(table))


def test_dates_with_gaps_are_no_array(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet files are read by pyarrow")
    table = pd.DataFrame({"day": pd.to_datetime(["2021-03-01", None])})
    table.to_parquet(tmp_path / "days.parquet")
    with pytest.raises(InputError, match="numbers in every column; got other values in day"):
        gd.load_array(tmp_path / "days.parquet")
