import numpy as np
import pytest

from geodis.base.check import InputError
from geodis.base.safetensors_files import write_arrays
from geodis.data.files.open_rows import open_rows

TABLE = np.random.default_rng(0).standard_normal((50, 3))


def as_npy(folder):
    np.save(folder / "a.npy", TABLE)
    return folder / "a.npy"


def as_safetensors(folder):
    write_arrays(folder / "a.safetensors", {"z": TABLE, "other": np.zeros(3)})
    return f"{folder / 'a.safetensors'}:z"


def as_hdf5(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("g/z", data=TABLE, chunks=(7, 3), compression="gzip")
        file["other"] = np.zeros(3)
    return f"{folder / 'a.h5'}:g/z"


def as_contiguous_hdf5(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "a.h5", "w") as file:
        file["z"] = TABLE
    return folder / "a.h5"


def as_zarr(folder):
    """Version 2, without a compressor."""
    pytest.importorskip("zarr")
    store = folder / "a.zarr"
    store.mkdir()
    (store / ".zarray").write_text(
        '{"zarr_format": 2, "shape": [50, 3], "chunks": [8, 2], "dtype": "<f8", "order": "C", '
        '"fill_value": 0.0, "compressor": null, "filters": null}'
    )
    for i in range(7):
        for j in range(2):
            chunk = np.zeros((8, 2))
            part = TABLE[8 * i : 8 * i + 8, 2 * j : 2 * j + 2]
            chunk[: len(part), : part.shape[1]] = part
            (store / f"{i}.{j}").write_bytes(chunk.tobytes())
    return store


def as_parquet(folder):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    pandas.DataFrame(TABLE, columns=["a", "b", "c"]).to_parquet(
        folder / "a.parquet", row_group_size=13
    )
    return folder / "a.parquet"


def as_parquet_folder(folder):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    (folder / "many").mkdir()
    for name, rows in (("0", slice(0, 20)), ("1", slice(20, 21)), ("2", slice(21, 50))):
        pandas.DataFrame(TABLE[rows], columns=["a", "b", "c"], index=range(50)[rows]).to_parquet(
            folder / "many" / f"{name}.parquet", row_group_size=7
        )
    return folder / "many"


def as_csv(folder):
    np.savetxt(folder / "a.csv", TABLE, delimiter=",", fmt="%.17g")
    return folder / "a.csv"


WRITERS = [
    as_npy,
    as_safetensors,
    as_hdf5,
    as_contiguous_hdf5,
    as_zarr,
    as_parquet,
    as_parquet_folder,
    as_csv,
]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize(("start", "stop"), [(0, 50), (5, 9), (19, 22), (48, 50)])
def test_rows_are_those_that_were_written(tmp_path, write, start, stop):
    source = open_rows(write(tmp_path))
    assert source.shape == (50, 3)
    np.testing.assert_array_equal(source.read(start, stop), TABLE[start:stop])


@pytest.mark.parametrize("write", [as_hdf5, as_zarr, as_parquet, as_parquet_folder])
def test_what_is_stored_in_chunks_is_not_read_whole(tmp_path, write, monkeypatch):
    from geodis.data.files import open_rows as module

    monkeypatch.setattr(module, "load_array", None)
    source = open_rows(write(tmp_path))
    assert source.step >= 7
    source.read(0, 5)


def test_parquet_files_of_other_columns_are_refused(tmp_path):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    pandas.DataFrame({"a": [1.0], "b": [2.0]}).to_parquet(tmp_path / "0.parquet")
    pandas.DataFrame({"a": [1.0], "c": [2.0]}).to_parquet(tmp_path / "1.parquet")
    with pytest.raises(InputError, match=r"same columns; 1.parquet has a, c instead of a, b"):
        open_rows(tmp_path)


def test_parquet_of_words_is_refused(tmp_path):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    pandas.DataFrame({"a": [1.0], "b": ["x"]}).to_parquet(tmp_path / "0.parquet")
    with pytest.raises(InputError, match=r"must hold numbers in every column; got .*string in b"):
        open_rows(tmp_path / "0.parquet").read(0, 1)


def test_no_file_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="must be a file; there is none"):
        open_rows(tmp_path / "none.npy")


def test_a_small_file_of_many_rows_is_refused(tmp_path, monkeypatch):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    from geodis.data.files import limits

    monkeypatch.setattr(limits, "ALWAYS", 2**20)
    pandas.DataFrame({"a": np.zeros(2**18, bool)}).to_parquet(tmp_path / "0.parquet")
    with pytest.raises(InputError, match="would take 2097152 bytes once unpacked"):
        open_rows(tmp_path / "0.parquet")
