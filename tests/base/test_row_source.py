import os

import numpy as np
import pytest

from geodis.base.check import InputError
from geodis.base.row_source import BLOCK_BYTES, even_rows, read_rows, row_source

TABLE = np.arange(60.0).reshape(20, 3)


class Sliced:
    """What has a shape and slices of rows, and refuses to become an array."""

    def __init__(self, rows, chunks=None):
        self.shape, self.dtype, self.chunks = rows.shape, rows.dtype, chunks
        self._rows, self.asked = rows, []

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        self.asked.append((rows.start, rows.stop))
        return self._rows[rows]

    def __array__(self, *args, **kwargs):
        raise AssertionError("it was read whole")


def mapped(folder, table=TABLE):
    np.save(folder / "table.npy", table)
    return np.load(folder / "table.npy", mmap_mode="r")


@pytest.mark.parametrize(
    "cut",
    [
        lambda table: table,
        lambda table: table[4:],
        lambda table: table[::2],
        lambda table: table[:, 1:],
        lambda table: table[4:][2:10],
        lambda table: np.asfortranarray(table),
        lambda table: table.tolist(),
    ],
)
def test_rows_are_those_of_the_array(tmp_path, cut):
    given, wanted = cut(mapped(tmp_path)), np.asarray(cut(TABLE))
    source = row_source(given)
    assert source.shape == wanted.shape
    np.testing.assert_array_equal(source.read(1, 5), wanted[1:5])
    np.testing.assert_array_equal(np.vstack([rows for _, rows in source.blocks()]), wanted)


def test_a_map_with_changes_in_memory_gives_them(tmp_path):
    np.save(tmp_path / "table.npy", TABLE)
    private = np.load(tmp_path / "table.npy", mmap_mode="c")
    private[3] = -1
    np.testing.assert_array_equal(row_source(private).read(3, 4), [[-1, -1, -1]])


def test_a_memory_map_is_read_from_its_file(tmp_path):
    """Pages of a map stay in memory once they are touched."""
    source = row_source(mapped(tmp_path))
    os.truncate(tmp_path / "table.npy", 200)
    with pytest.raises(
        InputError, match="must keep its rows while it is read; got none for 10 to 20"
    ):
        source.read(10, 20)


@pytest.mark.parametrize("step", [1, 3, 7, 100])
def test_a_sample_is_the_same_however_it_is_read(step):
    rows = even_rows(20, 8, np.random.default_rng(1))
    given = Sliced(TABLE, chunks=(step, 3))
    source = row_source(given)
    assert source.step % step == 0
    for name, size in (("whole chunks", source.step), ("blocks", step)):
        own = type(source)(source.shape, source.dtype, source.read, size)
        np.testing.assert_array_equal(read_rows(own, rows), TABLE[rows], err_msg=name)


def test_one_pass_reads_no_row_twice():
    given = Sliced(TABLE, chunks=(4, 3))
    source = row_source(given)
    own = type(source)(source.shape, source.dtype, source.read, 4)
    told: list = []
    read_rows(own, np.array([0, 1, 9, 19]), told.append)
    assert given.asked == [(0, 4), (8, 12), (16, 20)]
    assert told == [0.2, 0.4, 0.6, 0.8, 1.0]


@pytest.mark.parametrize(("n", "count"), [(10, 10), (10, 3), (1000, 999), (10**10, 1000), (3, 7)])
def test_a_sample_is_even(n, count):
    rows = even_rows(n, count, np.random.default_rng(0))
    assert len(rows) == min(n, count)
    assert (np.diff(rows) > 0).all() and rows[0] >= 0 and rows[-1] < n
    edges = np.arange(len(rows) + 1) * n // len(rows)
    np.testing.assert_array_equal(np.searchsorted(edges, rows, side="right") - 1, range(len(rows)))


def test_a_sample_does_not_beat_with_a_period():
    """One row of ten thousand equal strides would see one phase of a walk through a grid."""
    rows = even_rows(100_000, 1000, np.random.default_rng(0))
    assert len(set((rows % 100).tolist())) > 90


def test_blocks_are_of_a_bounded_size():
    source = row_source(Sliced(np.zeros((100, 2**20), np.float32)))
    assert source.step == BLOCK_BYTES // 2**22


def test_dask_arrays_are_chunks():
    dask = pytest.importorskip("dask.array")
    source = row_source(dask.from_array(TABLE, chunks=(6, 3)))
    np.testing.assert_array_equal(source.read(4, 13), TABLE[4:13])
    assert source.step % 6 == 0


def test_hdf5_datasets_are_read_in_their_chunks(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        dataset = file.create_dataset("z", data=TABLE, chunks=(7, 2))
        source = row_source(dataset)
        np.testing.assert_array_equal(source.read(4, 13), TABLE[4:13])
        assert source.step % 7 == 0


@pytest.mark.parametrize("given", [np.zeros(3), np.zeros((3, 0)), Sliced(np.zeros((2, 2, 2)))])
def test_what_has_no_rows_of_points_is_refused(given):
    with pytest.raises(
        InputError, match=r"X must have shape \(n, d\), one row per point; got shape"
    ):
        row_source(given)


def test_text_is_refused():
    with pytest.raises(InputError, match="X must hold numbers; got an array of dtype"):
        row_source(np.array([["a", "b"]]))
