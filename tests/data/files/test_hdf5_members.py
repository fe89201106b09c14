"""No byte of another file comes out of an HDF5 file, and none that was never stored."""

import h5py
import numpy as np
import pytest

from geodis import load_array, load_factors
from geodis.base.check import InputError
from geodis.data.files import limits

SECRET = np.arange(40.0)


@pytest.fixture
def secret(tmp_path):
    """A file that whoever wrote the HDF5 file may not read."""
    path = tmp_path / "secret.bin"
    path.write_bytes(SECRET.tobytes())
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["points"] = SECRET
    return path


def external(file, key, secret):
    file.create_dataset(key, (40,), float, external=[(str(secret), 0, SECRET.nbytes)])


def virtual(file, key, secret):
    layout = h5py.VirtualLayout((40,), float)
    layout[:] = h5py.VirtualSource(str(secret.with_name("other.h5")), "points", shape=(40,))
    file.create_virtual_dataset(key, layout)


def external_link(file, key, secret):
    file[key] = h5py.ExternalLink(str(secret.with_name("other.h5")), "points")


def soft_link(file, key, secret):
    if "hidden" not in file:
        external(file, "hidden", secret)
    file[key] = h5py.SoftLink("/hidden")


WAYS = [external, virtual, external_link, soft_link]


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("suffix", [".h5", ".hdf5", ".h5ad", ".nc4", ".mat"])
def test_bytes_of_another_file_are_never_read(tmp_path, secret, suffix, way, mmap):
    path = tmp_path / f"crafted{suffix}"
    with h5py.File(path, "w") as file:
        way(file, "X", secret)
        assert way is soft_link or file["X"][39] == 39  # HDF5 would
    for load in (lambda: load_array(f"{path}:X", mmap=mmap), lambda: load_factors(f"{path}:X")):
        with pytest.raises(InputError, match=r"never (reads|follows)|has no array 'X'"):
            load()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("part", ["data", "indices", "indptr"])
def test_parts_of_sparse_arrays_are_looked_at(tmp_path, secret, part, way):
    path = tmp_path / "crafted.h5ad"
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs.update({"encoding-type": "csr_matrix", "shape": (4, 40)})
        for name in {"data", "indices", "indptr"} - {part}:
            group[name] = np.zeros(40, int)
        way(file, f"X/{part}", secret)
    with pytest.raises(InputError, match=r"never (reads|follows)"):
        load_array(path)


@pytest.mark.parametrize("way", WAYS)
def test_columns_and_categories_of_obs_are_looked_at(tmp_path, secret, way):
    path = tmp_path / "crafted.h5ad"
    with h5py.File(path, "w") as file:
        obs = file.create_group("obs")
        obs.attrs["column-order"] = ["kind", "older"]
        kind = obs.create_group("kind")
        kind.attrs["encoding-type"] = "categorical"
        kind["codes"] = np.zeros(4, np.int8)
        way(file, "obs/kind/categories", secret)
        file["obs/older"] = np.zeros(4, np.int8)
        way(file, "names", secret)
        file["obs/older"].attrs["categories"] = "names"  # a path instead of a reference
    with pytest.raises(InputError, match=r"never (reads|follows)"):
        load_factors(f"{path}:obs/kind")
    with pytest.raises(InputError, match="must be a reference into the file"):
        load_factors(f"{path}:obs/older")


def test_a_whole_obs_behind_a_link_is_refused(tmp_path, secret):
    path = tmp_path / "crafted.h5ad"
    with h5py.File(path, "w") as file:
        file["X"] = np.eye(3)
        file["obs"] = h5py.ExternalLink(str(secret.with_name("other.h5")), "/")
    with pytest.raises(InputError, match="external link, which geodis never follows"):
        load_factors(path)


def test_groups_that_hold_each_other_end(tmp_path):
    path = tmp_path / "loop.h5"
    with h5py.File(path, "w") as file:
        first, second = file.create_group("a"), file.create_group("b")
        for name in ("x", "y"):
            first[name], second[name] = second, first
        file["points"] = np.eye(2)
    np.testing.assert_array_equal(load_array(path), np.eye(2))


def test_what_nobody_wrote_is_not_made_up(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "ALWAYS", 2**20)
    path = tmp_path / "large.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("never", (2**40,), float, chunks=(1024,))
        file.create_dataset("zeros", (2**19,), float, chunks=(2**12,), compression="gzip")
        file["zeros"][:10] = 1
        # One chunk is unpacked whole, for however few of its entries.
        options = {"chunks": (2**19,), "maxshape": (None,), "compression": "gzip"}
        file.create_dataset("chunk", (10,), float, **options)
        file["chunk"][:] = 1
    assert path.stat().st_size < 2**14
    with pytest.raises(InputError, match=r"needs \d+ bytes; only 0 are stored"):
        load_array(f"{path}:never")
    for key in ("zeros", "chunk"):
        with pytest.raises(InputError, match=rf"{key} in .*more than .*GEODIS_MAX_BYTES"):
            load_array(f"{path}:{key}")


def test_one_long_text_in_many_places_is_counted(tmp_path):
    path = tmp_path / "texts.h5"
    with h5py.File(path, "w") as file:
        texts = file.create_dataset("texts", (1000,), h5py.string_dtype())
        texts[:] = ["x" * 1000] * 1000
    assert len(load_factors(f"{path}:texts")) == 1000
    with pytest.raises(InputError, match=r"text of /texts in .* that max_bytes allows"):
        load_factors(f"{path}:texts", max_bytes=100_000)


def test_lists_and_references_are_no_arrays(tmp_path):
    path = tmp_path / "odd.h5"
    with h5py.File(path, "w") as file:
        lists = file.create_dataset("lists", (2,), h5py.vlen_dtype(np.float64))
        lists[0], lists[1] = [1.0], [2.0, 3.0]
        refs = file.create_dataset("refs", (1,), h5py.ref_dtype)
        refs[0] = lists.ref
    for key in ("lists", "refs"):
        with pytest.raises(InputError, match="lists or references"):
            load_array(f"{path}:{key}")
