"""What a file may become once it is unpacked, and paths that are no files."""

import gzip
import os
import zipfile

import h5py
import numpy as np
import pandas as pd
import pyarrow
import pytest
import torch
from pyarrow import parquet

from geodis import load_array, load_factors
from geodis.base.check import InputError
from geodis.data.files import limits, text_tables
from geodis.data.files.limits import VARIABLE, allowing, unpacked_limit

LARGE = 2**18  # entries: twice what any file may become in these tests, packed to almost nothing
SENTENCE = rf"would take \d+ bytes once unpacked, more than the \d+ .*{VARIABLE}"


@pytest.fixture
def small_limit(monkeypatch):
    """A limit that is quickly passed."""
    monkeypatch.setattr(limits, "ALWAYS", 2**20)


def write_npz(path):
    np.savez_compressed(path, z=np.zeros(LARGE))


def write_torch(path):
    torch.save({"z": torch.zeros(1000)}, path)
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, bytes(8 * LARGE) if name.endswith("data/0") else content)


def write_parquet(path):
    parquet.write_table(pyarrow.table({"z": pyarrow.array(np.zeros(LARGE))}), path)


def write_texts(path):
    """One long text in many rows."""
    column = pyarrow.DictionaryArray.from_arrays(np.zeros(2000, np.int32), ["x" * 2000])
    parquet.write_table(pyarrow.table({"z": column.cast("string")}), path)


def write_gzip(path):
    with gzip.open(path, "wb") as file:
        file.write(b"0,0\n" * 2**19)


WRITERS = {
    "run.npz": write_npz,
    "run.pt": write_torch,
    "run.parquet": write_parquet,
    "texts.parquet": write_texts,
    "table.csv.gz": write_gzip,
}


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize("name", WRITERS)
def test_a_small_file_that_declares_much_is_refused(tmp_path, name):
    WRITERS[name](tmp_path / name)
    assert (tmp_path / name).stat().st_size < 2**15
    load = load_factors if name.startswith("texts") else load_array
    with pytest.raises(InputError, match=SENTENCE):
        load(tmp_path / name)


BOMBS = {
    "pairs.csv.gz": b"0,0\n" * 2**15,
    "texts.csv.gz": b"box,dot\n" * 2**15,
    "spaces.txt.gz": b"0 0\n" * 2**15,
    "no_room_for_rows.txt.gz": b"0 0\n" * 2**17,
}


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize("name", BOMBS)
def test_the_rows_of_a_table_are_counted_and_not_its_text_alone(tmp_path, name):
    """At most 512 kB of text, below the limit of 1 MB: as a table, pandas takes more."""
    with gzip.open(tmp_path / name, "wb") as file:
        file.write(BOMBS[name])
    with pytest.raises(InputError, match=SENTENCE):
        load_factors(tmp_path / name)
    wanted = BOMBS[name].count(b"\n") - name.startswith("texts")  # their first row is a header
    assert len(load_factors(tmp_path / name, max_bytes=2**23)) == wanted


@pytest.mark.parametrize("mark", ",;\t ")
def test_a_line_of_separators_is_refused_before_it_is_cut(tmp_path, mark, monkeypatch):
    monkeypatch.setattr(limits, "MOST_COLUMNS", 100)
    for name, lines in (("first", [mark * 5000]), ("second", ["0", mark * 5000])):
        path = tmp_path / f"{name}.txt"
        path.write_text("\n".join(lines) + "\n")
        with pytest.raises(InputError, match="at most 100 columns as a table; got 5000"):
            load_array(path)


def test_too_many_columns_of_text_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(text_tables, "MOST_TEXT_COLUMNS", 10)
    path = tmp_path / "wide.csv"
    path.write_text(",".join(["a"] * 11) + "\n" + ",".join(["b"] * 11) + "\n")
    with pytest.raises(InputError, match="at most 10 columns of text; got 11"):
        load_factors(path)


def test_a_sparse_matrix_is_held_against_the_limit_as_a_dense_one(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "ALWAYS", 2**20)
    n = 2**10
    with h5py.File(tmp_path / "cells.h5ad", "w") as file:
        group = file.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", (n, n)
        group["data"], group["indices"] = np.ones(2), np.arange(2)
        group.create_dataset("indptr", data=np.minimum(np.arange(n + 1), 2), compression="gzip")
    with pytest.raises(InputError, match=SENTENCE):
        load_array(tmp_path / "cells.h5ad")
    assert load_array(tmp_path / "cells.h5ad", max_bytes=2**24).sum() == 2


@pytest.mark.usefixtures("small_limit")
def test_labels_are_counted_as_what_they_become(tmp_path):
    np.savez_compressed(tmp_path / "labels.npz", z=np.full(2**15, "dot"))
    with pytest.raises(InputError, match=f"^its factors in .*{SENTENCE}"):
        load_factors(tmp_path / "labels.npz")
    assert load_factors(tmp_path / "labels.npz", max_bytes=2**22).names == ("factor 0",)


def test_the_members_of_an_npz_are_listed_once(tmp_path, monkeypatch):
    np.savez(tmp_path / "run.npz", *np.zeros((50, 3)))
    opened = []

    class Counted(zipfile.ZipFile):
        def __init__(self, *given):
            super().__init__(*given)
            opened.append(given)

    monkeypatch.setattr(zipfile, "ZipFile", Counted)
    assert load_factors(tmp_path / "run.npz").values.shape == (3, 50)
    assert len(opened) == 1


def test_gaps_in_many_columns_are_read_in_one_pass(tmp_path, monkeypatch):
    rows = text_tables.TextFile.rows
    passes = []

    def counted(self):
        passes.append(1)
        return rows(self)

    monkeypatch.setattr(text_tables.TextFile, "rows", counted)
    large = 2**60 + 1
    (tmp_path / "ids.csv").write_text(f"{large},{large},{large}\n,,\n{large},1,2\n")
    factors = load_factors(tmp_path / "ids.csv")
    assert factors.categories["factor 0"] == (str(large),)
    assert len(passes) == 2  # whether it is rectangular, and all the digits


def test_text_of_a_file_in_a_message_is_short(tmp_path):
    header = "{'descr': '<f8', " + "'x': 1, " * 800 + "}"
    text = header.encode().ljust(10_000 - 11) + b"\n"
    magic = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little")
    (tmp_path / "z.npy").write_bytes(magic + text)
    with pytest.raises(InputError, match=r"z\.npy cannot be read as \.npy") as caught:
        load_array(tmp_path / "z.npy")
    assert len(str(caught.value)) < 500 + len(str(tmp_path))
    np.savez(tmp_path / "z.npz", **{"long\x1b[31m" + "x" * 1000: np.eye(2), "b": np.eye(2)})
    with pytest.raises(InputError, match="needs the key") as caught:
        load_array(tmp_path / "z.npz")
    assert len(str(caught.value)) < 500 + len(str(tmp_path)) and str(caught.value).isprintable()


@pytest.mark.usefixtures("small_limit")
def test_factors_count_as_what_they_are_made_of_all_together(tmp_path):
    """Bits become integers of eight bytes."""
    bits = np.zeros(2**16, bool)
    np.savez_compressed(tmp_path / "two.npz", a=bits, b=bits)
    assert load_factors(tmp_path / "two.npz").values.shape == (2**16, 2)
    np.savez_compressed(tmp_path / "three.npz", a=bits, b=bits, c=bits)
    with pytest.raises(InputError, match=f"its factors in .* {SENTENCE}"):
        load_factors(tmp_path / "three.npz")


def test_the_limit_is_raised_by_an_argument_and_by_the_environment(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    np.savez_compressed(path, z=np.zeros(1000))
    with pytest.raises(InputError, match="more than the 100 that max_bytes allows"):
        load_array(path, max_bytes=100)
    monkeypatch.setenv(VARIABLE, "100")
    with pytest.raises(InputError, match=f"more than the 100 that {VARIABLE} allows"):
        load_array(path)
    assert len(load_array(path, max_bytes=10_000)) == 1000
    monkeypatch.setenv(VARIABLE, "10000")
    assert len(load_factors(path)) == 1000
    monkeypatch.setenv(VARIABLE, "much")
    with pytest.raises(InputError, match=f"{VARIABLE} must be a whole number of bytes"):
        load_array(path)
    with pytest.raises(InputError, match="max_bytes must be at least 1; got 0"):
        load_array(path, max_bytes=0)


def test_the_limit_ends_with_the_call(tmp_path):
    with allowing(5), allowing(7):
        assert unpacked_limit(tmp_path)[0] == 7
    assert unpacked_limit(tmp_path)[0] > 7


def test_free_memory_is_a_limit_too(tmp_path, monkeypatch):
    np.savez(tmp_path / "run.npz", z=np.zeros(1000))
    monkeypatch.setattr(limits, "free_memory", lambda: 8000.0)
    with pytest.raises(InputError, match="than the 4000 that half of the free memory holds"):
        load_array(tmp_path / "run.npz")


def test_images_that_shrink_to_a_hundredth_are_read(tmp_path):
    images = np.zeros((5000, 64, 64), np.uint8)
    images[:, 20:40, 20:40] = np.random.default_rng(0).integers(0, 2, (5000, 1, 20)) * 255
    np.savez_compressed(tmp_path / "images.npz", images=images)
    assert (
        load_array(tmp_path / "images.npz").nbytes > 30 * (tmp_path / "images.npz").stat().st_size
    )


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".npy"])
def test_too_many_columns_are_refused_at_once(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(limits, "MOST_COLUMNS", 1000)
    path, row = tmp_path / f"wide{suffix}", np.zeros((2, 1001))
    if suffix == ".npy":
        np.save(path, row)
        assert load_array(path).shape == (2, 1001)  # an array may have any number
    elif suffix == ".parquet":
        pd.DataFrame(row, columns=[str(j) for j in range(1001)]).to_parquet(path)
    else:
        pd.DataFrame(row).to_csv(path, index=False)
    told = (
        "factors; got 1001: are they points" if suffix == ".npy" else "a table; got 1001: save it"
    )
    with pytest.raises(InputError, match=f"at most 1000 columns as {told}"):
        load_factors(path)


def test_too_many_arrays_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_ARRAYS", 10)
    np.savez(tmp_path / "run.npz", *np.zeros((11, 1)))
    with pytest.raises(InputError, match="at most 10 arrays; got 11"):
        load_array(tmp_path / "run.npz")


@pytest.mark.parametrize("load", [load_array, load_factors])
def test_pipes_and_devices_are_no_files(tmp_path, load):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="must be a regular file; got a pipe"):
        load(tmp_path / "pipe.csv")
    for suffix in (".npy", ".csv", ".csv.gz", ".h5"):
        link = tmp_path / f"link{suffix}"
        link.symlink_to("/dev/zero")
        with pytest.raises(InputError, match="must be a regular file; got a device"):
            load(link)


def test_home_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    np.savez(tmp_path / "run.npz", z=np.eye(2), f=np.arange(2))
    np.testing.assert_array_equal(load_array("~/run.npz:z"), np.eye(2))
    with pytest.raises(InputError, match=r"~nobody/run\.npz must be a file"):
        load_array("~nobody/run.npz")
