"""Users' files: what is in them comes back, and what is wrong with them is said."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pyarrow
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from pyarrow import parquet
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_torch_file
from scipy import sparse
from scipy.io import netcdf_file, savemat

from geodis.base.check import InputError, MissingExtraError
from geodis.data.factors import Factors
from geodis.data.files.formats import READERS, arrays_of_factors
from geodis.data.files.load import load_array, load_factors

POINTS = np.random.default_rng(0).normal(size=(20, 3))
COLUMNS = ["a", "b", "c"]


def write_hdf5(path: Path, array: np.ndarray) -> None:
    with h5py.File(path, "w") as file:
        file["group/points"] = array


def write_anndata_x(path: Path, array: np.ndarray) -> None:
    with h5py.File(path, "w") as file:
        file["X"] = array
        file["obsm/X_pca"] = array[:, :2]


def write_netcdf(path: Path, array: np.ndarray) -> None:
    with netcdf_file(path, "w") as file:
        for axis, size in enumerate(array.shape):
            file.createDimension(f"d{axis}", size)
        names = tuple(f"d{axis}" for axis in range(array.ndim))
        file.createVariable("points", array.dtype, names)[:] = array


def write_text_gzip(path: Path, array: np.ndarray, separator: str = ",") -> None:
    with gzip.open(path, "wt") as file:
        np.savetxt(file, array, delimiter=separator, fmt="%.17g")


# Every suffix of a file, written by its own library.
WRITERS: dict[str, Callable[[Path, np.ndarray], Any]] = {
    ".npy": np.save,
    ".npz": lambda path, array: np.savez_compressed(path, points=array),
    ".csv": lambda path, array: pd.DataFrame(array, columns=COLUMNS).to_csv(path, index=False),
    ".tsv": lambda path, array: np.savetxt(path, array, delimiter="\t", fmt="%.17g"),
    ".parquet": lambda path, array: pd.DataFrame(array, columns=COLUMNS).to_parquet(path),
    ".safetensors": lambda path, array: save_file({"points": array}, path),
    ".pt": lambda path, array: torch.save(torch.tensor(array), path),
    ".pth": lambda path, array: torch.save({"points": torch.tensor(array)}, path),
    ".h5": write_hdf5,
    ".hdf5": write_hdf5,
    ".h5ad": write_anndata_x,
    ".txt": lambda path, array: np.savetxt(path, array, fmt="%.17g"),
    ".csv.gz": write_text_gzip,
    ".tsv.gz": partial(write_text_gzip, separator="\t"),
    ".txt.gz": partial(write_text_gzip, separator="  "),
    ".feather": lambda path, array: pd.DataFrame(array, columns=COLUMNS).to_feather(path),
    ".arrow": lambda path, array: pd.DataFrame(array, columns=COLUMNS).to_feather(path),
    ".mat": lambda path, array: savemat(path, {"points": array}),
    ".nc": write_netcdf,
    ".nc4": write_hdf5,
    ".cdf": write_netcdf,
}
TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
BINARY_SUFFIXES = tuple(suffix for suffix in WRITERS if suffix not in TEXT_SUFFIXES)
MAPPED_SUFFIXES = (".npy", ".safetensors", ".h5", ".hdf5", ".h5ad")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a property test, each of which overwrites the last."""
    return tmp_path_factory.mktemp("examples")


def write_text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# ------------------------------------------------------------------------------- round trips


def test_every_suffix_has_a_writer() -> None:
    assert WRITERS.keys() == READERS.keys() - {".zarr"}  # which is a folder


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("suffix", WRITERS)
def test_round_trip(tmp_path: Path, suffix: str, mmap: bool) -> None:
    path = tmp_path / f"points{suffix}"
    WRITERS[suffix](path, POINTS)
    array = load_array(path, mmap=mmap)
    assert array.dtype == POINTS.dtype
    if suffix in TEXT_SUFFIXES:  # pandas before 3.1 read the last digit of a decimal inexactly
        np.testing.assert_allclose(array, POINTS, rtol=1e-15)
    else:
        np.testing.assert_array_equal(array, POINTS)
    assert isinstance(array, np.memmap) == (mmap and suffix in MAPPED_SUFFIXES)
    if suffix in MAPPED_SUFFIXES:
        assert array.flags.writeable != mmap


def test_suffix_in_capitals_and_path_as_string(tmp_path: Path) -> None:
    np.save(tmp_path / "points.npy", POINTS)
    (tmp_path / "points.npy").rename(tmp_path / "POINTS.NPY")
    np.testing.assert_array_equal(load_array(str(tmp_path / "POINTS.NPY")), POINTS)


ARRAYS = npst.arrays(
    dtype=npst.boolean_dtypes()
    | npst.integer_dtypes(endianness="<")
    | npst.unsigned_integer_dtypes(endianness="<")
    | npst.floating_dtypes(endianness="<", sizes=(16, 32, 64)),
    shape=npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5),
)


def assert_same_bits(array: np.ndarray, expected: np.ndarray) -> None:
    assert (array.dtype, array.shape) == (expected.dtype, expected.shape)
    assert array.tobytes() == expected.tobytes()  # NaN and its payload included


@settings(max_examples=60, deadline=None)
@given(array=ARRAYS, fortran_order=st.booleans(), mmap=st.booleans())
def test_npy_keeps_every_bit(
    folder: Path, array: np.ndarray, fortran_order: bool, mmap: bool
) -> None:
    np.save(folder / "any.npy", np.asarray(array, order="F" if fortran_order else "C"))
    assert_same_bits(load_array(folder / "any.npy", mmap=mmap), array)


@settings(max_examples=60, deadline=None)
@given(arrays=st.lists(ARRAYS, min_size=1, max_size=4), mmap=st.booleans())
def test_safetensors_keeps_every_bit(folder: Path, arrays: list[np.ndarray], mmap: bool) -> None:
    path = folder / "any.safetensors"
    named = {f"layer.{index}": array for index, array in enumerate(arrays)}
    save_file(named, path, metadata={"format": "np"})
    for name, array in named.items():
        assert_same_bits(load_array(f"{path}:{name}", mmap=mmap), array)


def test_big_endian_npy_keeps_its_numbers(tmp_path: Path) -> None:
    np.save(tmp_path / "big.npy", POINTS.astype(">f4"))
    np.testing.assert_array_equal(load_array(tmp_path / "big.npy"), POINTS.astype("f4"))


# -------------------------------------------------------------------------------------- keys


def write_three(path: Path) -> None:
    """Three arrays that only their keys tell apart."""
    arrays: dict[str, Any] = {
        "latents": POINTS,
        "images": np.ones((20, 4, 4), np.uint8),
        "seed": np.arange(5),
    }
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    elif path.suffix == ".safetensors":
        save_file(arrays, path)
    elif path.suffix == ".pt":
        torch.save({key: torch.tensor(array) for key, array in arrays.items()}, path)
    else:
        with h5py.File(path, "w") as file:
            file.update(arrays)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".pt", ".h5", ".h5ad"])
def test_key_chooses_and_its_absence_lists(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    write_three(path)
    np.testing.assert_array_equal(load_array(f"{path}:latents"), POINTS)
    assert load_array(f"{path}:images").dtype == np.uint8
    for listed in (
        r"latents \(20, 3\) float64",
        r"images \(20, 4, 4\) uint8",
        r"seed \(5,\) int64",
    ):
        with pytest.raises(InputError, match=f"has no array 'latent'; it holds .*{listed}"):
            load_array(f"{path}:latent")
    ambiguous = "has no array 'X'" if suffix == ".h5ad" else rf"as run\{suffix}:"
    with pytest.raises(InputError, match=rf"{ambiguous}.*latents \(20, 3\) float64"):
        load_array(path)


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {f"array{index:02}": POINTS for index in range(50)}
    np.savez(tmp_path / "many.npz", **arrays)
    with pytest.raises(InputError, match=r"array11 \(20, 3\) float64, and 38 more\.$"):
        load_array(tmp_path / "many.npz")


def test_archive_without_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "none.npz")
    with pytest.raises(InputError, match="it holds no arrays"):
        load_array(tmp_path / "none.npz")


@pytest.mark.parametrize("suffix", [".npy", ".pt"])
def test_key_for_an_array_without_a_name(tmp_path: Path, suffix: str) -> None:
    WRITERS[suffix](tmp_path / f"points{suffix}", POINTS)
    with pytest.raises(InputError, match="leave ':latents' out"):
        load_array(f"{tmp_path}/points{suffix}:latents")


def test_a_name_with_colons_is_a_file_first(tmp_path: Path) -> None:
    np.savez(tmp_path / "12:30.npz", **{"a:b": POINTS, "c": POINTS[0]})
    np.testing.assert_array_equal(load_array(f"{tmp_path}/12:30.npz:a:b"), POINTS)
    np.save(tmp_path / "12:30.npz:c.npy", POINTS[1])
    np.testing.assert_array_equal(load_array(f"{tmp_path}/12:30.npz:c"), POINTS[0])
    np.testing.assert_array_equal(load_array(f"{tmp_path}/12:30.npz:c.npy"), POINTS[1])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_key_chooses_a_column(tmp_path: Path, suffix: str) -> None:
    WRITERS[suffix](tmp_path / f"points{suffix}", POINTS)
    np.testing.assert_allclose(load_array(f"{tmp_path}/points{suffix}:b"), POINTS[:, 1], rtol=1e-15)


# --------------------------------------------------------------------------- paths that fail


def test_path_that_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(InputError, match=r"must hold images .*; got none"):
        load_array(tmp_path / "folder.npy")
    with pytest.raises(InputError, match=r"missing\.npz:key must be a file; there is none"):
        load_array(tmp_path / "missing.npz:key")
    with pytest.raises(InputError, match="must be a file; there is none"):
        load_array(tmp_path / ("long" * 100))
    with pytest.raises(InputError, match="a string or a path; got ndarray"):
        load_array(POINTS)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "suffix"), [("points.mp4", r"\.mp4"), ("points", "no suffix")])
def test_unknown_suffix_lists_the_known(tmp_path: Path, name: str, suffix: str) -> None:
    path = write_text(tmp_path / name, "1,2")
    with pytest.raises(InputError, match=rf"\.h5ad, .*\.npy, \.npz, .*; got {suffix}"):
        load_array(path)


@pytest.mark.parametrize(
    ("module", "suffix", "package"),
    [
        ("torch", ".pt", "torch"),
        ("h5py", ".h5", "h5py"),
        ("pyarrow.parquet", ".parquet", "pyarrow"),
    ],
)
def test_a_missing_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, suffix: str, package: str
) -> None:
    WRITERS[suffix](tmp_path / f"points{suffix}", POINTS)
    monkeypatch.setitem(sys.modules, module, None)
    message = rf"Reading \{suffix} files needs {package}, .*: pip install {package}$"
    with pytest.raises(MissingExtraError, match=message):
        load_array(tmp_path / f"points{suffix}")


def test_import_is_light() -> None:
    code = (
        "import sys, geodis.data.files.load; "
        "print({'pandas', 'torch', 'h5py', 'pyarrow', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# --------------------------------------------------------------------------- files that fail


@pytest.mark.parametrize("load", [load_array, load_factors])
@pytest.mark.parametrize("suffix", WRITERS)
def test_empty_file(tmp_path: Path, suffix: str, load: Callable[[Path], Any]) -> None:
    (tmp_path / f"empty{suffix}").touch()
    with pytest.raises(InputError, match="is empty"):
        load(tmp_path / f"empty{suffix}")


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize(
    ("content", "meaning"),
    [
        (b"\n<!DOCTYPE html><html>404</html>", "an HTML or XML page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer"),
        (b"\x1f\x8b\x08\x00", "a gzip archive"),
        (b"\xff\xfe1\x00,\x002\x00\n\x00", "no known format"),
    ],
)
def test_wrong_content(tmp_path: Path, suffix: str, content: bytes, meaning: str) -> None:
    (tmp_path / f"wrong{suffix}").write_bytes(content)
    with pytest.raises(InputError, match=rf"cannot be read as \{suffix}.*begins like {meaning}"):
        load_array(tmp_path / f"wrong{suffix}")


@pytest.mark.parametrize("suffix", BINARY_SUFFIXES)
def test_text_under_a_binary_suffix(tmp_path: Path, suffix: str) -> None:
    path = write_text(tmp_path / f"wrong{suffix}", "a,b\n1,2\n")
    with pytest.raises(InputError, match=rf"cannot be read as \{suffix}: .*begins like text"):
        load_array(path)


@pytest.mark.parametrize(
    ("written", "meaning"),
    [
        (".npy", "a NumPy array"),
        (".npz", "a zip archive"),
        (".parquet", "a Parquet file"),
        (".h5", "an HDF5 file"),
    ],
)
def test_format_under_another_suffix(tmp_path: Path, written: str, meaning: str) -> None:
    WRITERS[written](tmp_path / f"points{written}", POINTS)
    (tmp_path / f"points{written}").rename(tmp_path / "points.csv")
    with pytest.raises(InputError, match=f"UTF-8 text was needed .*begins like {meaning}"):
        load_array(tmp_path / "points.csv")


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.99])
@pytest.mark.parametrize("suffix", BINARY_SUFFIXES)
def test_truncated_file(tmp_path: Path, suffix: str, keep: float) -> None:
    path = tmp_path / f"points{suffix}"
    WRITERS[suffix](path, POINTS)
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content))])
    with pytest.raises(InputError, match=rf"cannot be read as \{suffix}"):
        load_array(path)


@settings(max_examples=15, deadline=None)
@given(content=st.binary(min_size=1, max_size=200))
@pytest.mark.parametrize("suffix", WRITERS)
def test_random_bytes(folder: Path, suffix: str, content: bytes) -> None:
    path = folder / f"random{suffix}"
    path.write_bytes(content)
    for load in (load_array, load_factors):
        try:
            load(path)
        except InputError:
            continue
        assert suffix in TEXT_SUFFIXES  # where a few bytes may well be a table


@settings(max_examples=60, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors", ".csv"])
def test_damaged_bytes(folder: Path, suffix: str, data: st.DataObject) -> None:
    path = folder / f"damaged{suffix}"
    WRITERS[suffix](path, POINTS[:3])
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        array = load_array(path)
    except InputError:
        return
    assert array.tobytes() is not None  # every byte of the result may be touched


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("10**12,", "malformed"),
        ("1000000000000,", "needs 8000000000000 bytes"),
        ("-1,", "needs -8"),
    ],
)
def test_npy_that_promises_more_than_there_is(tmp_path: Path, shape: str, message: str) -> None:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape})}}\n".encode()
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
    (tmp_path / "large.npy").write_bytes(start + header + bytes(80))
    with pytest.raises(InputError, match=message):
        load_array(tmp_path / "large.npy", mmap=False)


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.array(["dot", "box"]), "<U3"),
        (np.array([1j]), "complex128"),
        (np.zeros(2, [("x", "f8")]), r"\[\('x', '<f8'\)\]"),
    ],
)
def test_arrays_that_are_no_real_numbers(tmp_path: Path, array: np.ndarray, dtype: str) -> None:
    np.save(tmp_path / "other.npy", array)
    with pytest.raises(InputError, match=rf"must hold real numbers; got an array of {dtype}"):
        load_array(tmp_path / "other.npy")


# ----------------------------------------------------------------------------------- pickles


class Trap:
    """Makes a folder when it is unpickled, as hostile files do worse."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.mkdir, (str(self.folder),)


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    trap = Trap(tmp_path / "sprung")
    pickle.loads(pickle.dumps(trap))
    trap.folder.rmdir()  # and fails unless the trap works
    return trap


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("suffix", WRITERS)
def test_no_pickle_is_loaded(tmp_path: Path, trap: Trap, suffix: str, mmap: bool) -> None:
    path = tmp_path / f"trap{suffix}"
    path.write_bytes(pickle.dumps(trap))
    with pytest.raises(InputError, match="a Python pickle, which geodis never loads"):
        load_array(path, mmap=mmap)
    assert not trap.folder.exists()


@pytest.mark.parametrize("load", [load_array, load_factors])
def test_object_arrays_are_refused(tmp_path: Path, trap: Trap, load: Callable[[Path], Any]) -> None:
    objects = np.array([trap, None], dtype=object)
    np.save(tmp_path / "trap.npy", objects)
    np.savez(tmp_path / "trap.npz", objects=objects)
    for name in ("trap.npy", "trap.npz"):
        with pytest.raises(InputError, match=r"never loads pickles: save .*np\.save"):
            load(tmp_path / name)
    assert not trap.folder.exists()


@pytest.mark.parametrize("zipped", [True, False])
def test_torch_files_with_objects_are_refused(tmp_path: Path, trap: Trap, zipped: bool) -> None:
    path = tmp_path / "trap.pt"
    torch.save({"latents": trap}, path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(InputError, match=r"never unpickles: save with torch\.save"):
        load_array(path)
    assert not trap.folder.exists()


def test_object_array_beside_numbers_does_no_harm(tmp_path: Path, trap: Trap) -> None:
    metadata = np.array([trap], dtype=object)
    np.savez(tmp_path / "mixed.npz", points=POINTS, metadata=metadata)
    np.testing.assert_array_equal(load_array(tmp_path / "mixed.npz:points"), POINTS)
    assert not trap.folder.exists()


# ------------------------------------------------------------------------------- safetensors


def write_safetensors(path: Path, header: Any, data: bytes = bytes(16)) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def test_bfloat16_becomes_float32(tmp_path: Path) -> None:
    tensor = torch.tensor(POINTS).bfloat16()
    save_torch_file({"points": tensor}, tmp_path / "half.safetensors")
    torch.save(tensor, tmp_path / "half.pt")
    for name in ("half.safetensors", "half.pt"):
        array = load_array(tmp_path / name)
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, tensor.float().numpy())


def test_safetensors_of_an_unread_dtype(tmp_path: Path) -> None:
    tensors = {"eighth": torch.zeros(2).to(torch.float8_e4m3fn), "full": torch.ones(2)}
    save_torch_file(tensors, tmp_path / "eighth.safetensors")
    np.testing.assert_array_equal(load_array(tmp_path / "eighth.safetensors:full"), [1, 1])
    with pytest.raises(InputError, match="'eighth' has dtype F8_E4M3, and geodis reads F64"):
        load_array(tmp_path / "eighth.safetensors:eighth")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"dtype": "F64", "shape": [3], "data_offsets": [0, 24]}, "ends at byte .* of a file"),
        ({"dtype": "F64", "shape": [3], "data_offsets": [0, 16]}, "does not fill 16 bytes"),
        ({"dtype": "F64", "shape": [2], "data_offsets": [16, 0]}, "does not fill -16 bytes"),
        ({"dtype": "F64", "shape": [-2], "data_offsets": [0, 16]}, "must be counts"),
        ({"dtype": "F64", "shape": [2], "data_offsets": [-8, 8]}, "must be counts"),
        ({"dtype": "F64", "shape": [True], "data_offsets": [0, 8]}, "must be counts"),
        ({"dtype": "F64", "shape": [2.0], "data_offsets": [0, 16]}, "must be counts"),
        ({"dtype": "F64", "shape": [2**32, 2**32], "data_offsets": [0, 0]}, "does not fill"),
        ({"dtype": "F64", "shape": [2]}, "data_offsets"),
        ({"dtype": ["F64"], "shape": [2], "data_offsets": [0, 16]}, "cannot be read"),
        ([], "cannot be read"),
    ],
)
def test_safetensors_header_against_the_file(tmp_path: Path, entry: Any, message: str) -> None:
    path = write_safetensors(tmp_path / "bad.safetensors", {"x": entry})
    with pytest.raises(InputError, match=message):
        load_array(path)


@pytest.mark.parametrize("header", [b"[]", b"{", b"\xff", b"[" * 100_000])
def test_safetensors_header_that_is_no_object(tmp_path: Path, header: bytes) -> None:
    path = write_safetensors(tmp_path / "bad.safetensors", header)
    with pytest.raises(InputError, match=r"cannot be read as \.safetensors"):
        load_array(path)


def test_safetensors_header_longer_than_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.safetensors"
    path.write_bytes((2**60).to_bytes(8, "little") + b"{}")
    with pytest.raises(InputError, match=f"a header of {2**60} bytes .* in a file of 10 bytes"):
        load_array(path)


# ------------------------------------------------------------------------------------- torch


def test_torch_parameters_and_old_files(tmp_path: Path) -> None:
    torch.save(torch.nn.Parameter(torch.tensor(POINTS)), tmp_path / "parameter.pt")
    torch.save(torch.tensor(POINTS), tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    for name in ("parameter.pt", "old.pt"):
        np.testing.assert_array_equal(load_array(tmp_path / name), POINTS)


def test_sparse_tensor_is_refused(tmp_path: Path) -> None:
    torch.save(torch.eye(3).to_sparse(), tmp_path / "sparse.pt")
    with pytest.raises(InputError, match=r"cannot be read as \.pt: .*Sparse"):
        load_array(tmp_path / "sparse.pt")


# -------------------------------------------------------------------------------------- text


@pytest.mark.parametrize(
    ("text", "names", "values"),
    [
        ("1,2.5\n3,4\n", ("factor 0", "factor 1"), [[1, 2.5], [3, 4]]),
        ("x,y\n1,2.5\n3,4\n", ("x", "y"), [[1, 2.5], [3, 4]]),
        ("\ufeffx,y\r\n1,2.5\r\n3,4\r\n", ("x", "y"), [[1, 2.5], [3, 4]]),
        ("x;y\n1;2.5\n3;4\n", ("x", "y"), [[1, 2.5], [3, 4]]),
        ("x, y\n1, 2.5\n\n3, 4\n\n", ("x", "y"), [[1, 2.5], [3, 4]]),
        ('"x","y"\n"1","2.5"\n"3","4"\n', ("x", "y"), [[1, 2.5], [3, 4]]),
        ("# x,y\n1,2.5\n3,4\n", ("x", "y"), [[1, 2.5], [3, 4]]),
        (",x,y\n0,1,2.5\n1,3,4\n", ("x", "y"), [[1, 2.5], [3, 4]]),
        (",0,1\n0,1,2.5\n1,3,4\n", ("0", "1"), [[1, 2.5], [3, 4]]),
        ("0,1\n1,2.5\n3,4\n", ("0", "1"), [[1, 2.5], [3, 4]]),
        ("0,1\n5,6\n", ("0", "1"), [[5, 6]]),
        ("PK,PAR1\n1,2.5\n3,4\n", ("PK", "PAR1"), [[1, 2.5], [3, 4]]),
        ("PAR1,PK\n1,2.5\n3,4\n", ("PAR1", "PK"), [[1, 2.5], [3, 4]]),
        ("NA,2.5\n3,4\n", ("factor 0", "factor 1"), [[np.nan, 2.5], [3, 4]]),
    ],
)
def test_header_is_detected(
    tmp_path: Path, text: str, names: tuple[str, ...], values: list[list[float]]
) -> None:
    path = write_text(tmp_path / "table.csv", text)
    assert load_factors(path).names == names
    np.testing.assert_array_equal(load_array(path), values)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0\n0\n1\n", [0, 0, 1]),  # a factor of integers, without a header
        ("0\n0.5\n1.5\n", [0.5, 1.5]),  # a header, for data would read 0.0
        ("0.0\n0.5\n", [0, 0.5]),
        ("-1\n2\n", [-1, 2]),
        ("nan\n2\n", [np.nan, 2]),
        ("1e3\n2\n", [1000, 2]),
        ("5", [5]),
    ],
)
def test_header_of_one_column(tmp_path: Path, text: str, values: list[float]) -> None:
    array = load_array(write_text(tmp_path / "column.csv", text))
    np.testing.assert_array_equal(array, np.array(values)[:, None])


def test_pandas_frames_come_back_with_and_without_index(tmp_path: Path) -> None:
    frame = pd.DataFrame(POINTS)
    for index in (True, False):
        frame.to_csv(tmp_path / "frame.csv", index=index)
        array = load_array(tmp_path / "frame.csv")
        np.testing.assert_allclose(array, POINTS, rtol=1e-15)


def test_integers_and_booleans_in_text_stay_integers(tmp_path: Path) -> None:
    array = load_array(write_text(tmp_path / "table.tsv", "a\tb\n1\tTrue\n2\tFalse\n"))
    assert array.dtype == np.int64
    np.testing.assert_array_equal(array, [[1, 1], [2, 0]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", "as many fields in every row as in the first, 2; line 3 has 1"),
        ("a,b\n1,2\n\n3,4,5\n", "the first, 2; line 4 has 3"),
        ("a,b\n", "no rows below its header"),
        ("\n\n", "holds no rows"),
        ("a,shape,b,kind\n1,dot,2,x\n", "got other values in shape, kind"),
    ],
)
def test_tables_that_are_no_matrix(tmp_path: Path, text: str, message: str) -> None:
    path = write_text(tmp_path / "table.csv", text)
    with pytest.raises(InputError, match=message):
        load_array(path)


def test_columns_of_one_name(tmp_path: Path) -> None:
    path = write_text(tmp_path / "table.csv", "a,a\n1,2\n")
    assert load_factors(path).names == ("a", "a.1")
    columns = [pyarrow.array([1, 2]), pyarrow.array([3, 4])]
    parquet.write_table(pyarrow.table(columns, names=["a", "a"]), tmp_path / "table.parquet")
    with pytest.raises(InputError, match="name every column differently; two are 'a'"):
        load_factors(tmp_path / "table.parquet")


def test_text_that_stops_being_text(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_bytes(b"a,b\n" + b"1,2\n" * 100 + b"\xff\xfe,1\n")
    with pytest.raises(InputError, match=r"cannot be read as \.csv: .*utf-8"):
        load_array(tmp_path / "table.csv")


def test_parquet_columns_that_are_no_numbers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0], "name": ["a", "b"], "day": pd.to_datetime([0, 1])})
    frame.to_parquet(tmp_path / "table.parquet")
    with pytest.raises(InputError, match="got other values in name, day"):
        load_array(tmp_path / "table.parquet")
    factors = load_factors(tmp_path / "table.parquet")
    assert factors.kinds == ("numbers", "labels", "ordered")
    assert factors.values.tolist() == [[1, 0, 0], [2, 1, 1]]


# -------------------------------------------------------------------------------------- HDF5


def test_only_bytes_in_one_piece_are_mapped(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.h5", "w", userblock_size=512) as file:
        file["plain"] = POINTS
        file["big_endian"] = POINTS.astype(">f8")
        file.create_dataset("packed", data=POINTS, compression="gzip")
        file.create_dataset("chunked", data=POINTS, chunks=(5, 3))
        file.create_dataset("unwritten", shape=POINTS.shape, dtype=float)
        file["empty"] = POINTS[:0]
        file["scalar"] = 3.5
        # Twelve bits in the upper part of sixteen: h5py reads int16, but the bytes are no int16.
        shifted = h5py.h5t.STD_I16LE.copy()
        shifted.set_precision(12)
        shifted.set_offset(4)
        h5py.h5d.create(file.id, b"shifted", shifted, h5py.h5s.create_simple((5,)))
        file["shifted"][:] = np.arange(5)
    mapped = set()
    for key in ("plain", "big_endian", "packed", "chunked"):
        array = load_array(f"{tmp_path}/run.h5:{key}")
        np.testing.assert_array_equal(array, POINTS)
        if isinstance(array, np.memmap):
            mapped.add(key)
    assert mapped == {"plain", "big_endian"}
    np.testing.assert_array_equal(load_array(f"{tmp_path}/run.h5:unwritten"), np.zeros((20, 3)))
    assert load_array(f"{tmp_path}/run.h5:empty").shape == (0, 3)
    assert load_array(f"{tmp_path}/run.h5:scalar") == 3.5
    np.testing.assert_array_equal(load_array(f"{tmp_path}/run.h5:shifted"), range(5))


def write_sparse(group: h5py.Group, matrix: Any) -> None:
    group.attrs["encoding-type"] = f"{matrix.format}_matrix"
    group.attrs["shape"] = matrix.shape
    group.update({"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr})


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix])
def test_sparse_x_becomes_dense(tmp_path: Path, kind: Callable[[np.ndarray], Any]) -> None:
    dense = np.where(POINTS > 0, POINTS, 0).astype(np.float32)
    with h5py.File(tmp_path / "cells.h5ad", "w") as file:
        write_sparse(file.create_group("X"), kind(dense))
    array = load_array(tmp_path / "cells.h5ad")
    assert array.dtype == np.float32
    np.testing.assert_array_equal(array, dense)


def test_large_sparse_x_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "cells.h5ad", "w") as file:
        write_sparse(file.create_group("X"), sparse.csr_matrix((2**14, 2**14)))
    with pytest.raises(InputError, match=r"shape \(16384, 16384\).*component analysis\.$"):
        load_array(tmp_path / "cells.h5ad")
    with h5py.File(tmp_path / "cells.h5ad", "r+") as file:
        file["obsm/X_pca"] = POINTS
    with pytest.raises(InputError, match=r"which is in cells\.h5ad:obsm/X_pca\.$"):
        load_array(tmp_path / "cells.h5ad")


@pytest.mark.parametrize(
    ("part", "values", "message"),
    [
        ("indptr", [0, 1, 2, -(2**30)], "index pointers of X do not fit"),
        ("indptr", [0, 2**30, 2**30, 3], "index pointers of X do not fit"),
        ("indptr", [0, 3], "index pointers of X do not fit"),
        ("indptr", [0, 1, 2, 2**30], "index pointers of X do not fit its 3 entries"),
        ("indices", [0, 1, 2**30], "indices of X must lie between 0 and 2; got 0 to"),
        ("indices", [0, 1, -1], "indices of X must lie between 0 and 2; got -1 to 1"),
        ("indices", [0, 1], "index pointers of X do not fit its 2 entries"),
    ],
)
def test_damaged_sparse_x_is_refused(
    tmp_path: Path, part: str, values: list[int], message: str
) -> None:
    with h5py.File(tmp_path / "cells.h5ad", "w") as file:
        write_sparse(file.create_group("X"), sparse.csr_matrix(np.eye(3)))
        del file["X"][part]
        file["X"][part] = np.array(values, np.int32)
    with pytest.raises(InputError, match=message):
        load_array(tmp_path / "cells.h5ad")


# ------------------------------------------------------------------------------------ factors


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_factors_of_a_table(tmp_path: Path, suffix: str) -> None:
    frame = pd.DataFrame({"x": [3, 1, 2, 1], "shape": ["dot", "box", "dot", "arc"]})
    path = tmp_path / f"factors{suffix}"
    if suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, sep="\t" if suffix == ".tsv" else ",", index=False)
    factors = load_factors(path)
    assert factors.names == ("x", "shape")
    assert factors.values.dtype == np.int64
    np.testing.assert_array_equal(factors.values, [[3, 2], [1, 1], [2, 2], [1, 0]])
    assert factors.categories == {"shape": ("arc", "box", "dot")}
    np.testing.assert_array_equal(load_factors(f"{path}:shape").values, factors.values[:, 1:])
    assert load_factors(f"{path}:shape").names == ("shape",)


def test_spaces_after_separators_are_no_part_of_labels(tmp_path: Path) -> None:
    path = write_text(tmp_path / "table.csv", "x, shape\n1, dot\n2,dot\n")
    assert load_factors(path).categories == {"shape": ("dot",)}


def test_categories_keep_their_order(tmp_path: Path) -> None:
    sizes = pd.Categorical(["low", "high", "low"], categories=["low", "middle", "high"])
    pd.DataFrame({"size": sizes}).to_parquet(tmp_path / "table.parquet")
    factors = load_factors(tmp_path / "table.parquet")
    np.testing.assert_array_equal(factors.values, [[0], [2], [0]])
    assert factors.categories == {"size": ("low", "middle", "high")}


def test_missing_entries_become_nan(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "label": ["b", None, "a"],
            "count": pd.array([1, None, 3], dtype="Int64"),
            "flag": pd.array([True, False, None], dtype="boolean"),
            "whole": pd.array([1, 2, 3], dtype="Int64"),
        }
    )
    frame.to_parquet(tmp_path / "table.parquet")
    frame.to_csv(tmp_path / "table.csv", index=False)
    for name in ("table.parquet", "table.csv"):
        values = load_factors(tmp_path / name).values
        np.testing.assert_array_equal(
            values, [[1, 1, 1, 1], [np.nan, np.nan, 0, 2], [0, 3, np.nan, 3]]
        )


def test_index_of_a_frame_is_no_factor(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1, 2]}, index=pd.Index(["p", "q"], name="cell"))
    frame.to_parquet(tmp_path / "table.parquet")
    assert load_factors(tmp_path / "table.parquet").names == ("x",)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_flat_arrays_of_one_length_are_factors(tmp_path: Path, suffix: str) -> None:
    columns = {"angle": np.array([0.5, 1.5, 2.5]), "shape": np.array([0, 1, 2])}
    arrays: dict[str, Any] = {**columns, "images": np.zeros((3, 4, 4))}
    path = tmp_path / f"factors{suffix}"
    np.savez(path, **arrays) if suffix == ".npz" else save_file(arrays, path)
    factors = load_factors(path)
    assert set(factors.names) == {"angle", "shape"}
    for name in columns:
        np.testing.assert_array_equal(factors.values[:, factors.names.index(name)], columns[name])


def test_flat_arrays_of_several_lengths_are_not(tmp_path: Path) -> None:
    np.savez(tmp_path / "factors.npz", angle=np.arange(3), shape=np.arange(4))
    with pytest.raises(InputError, match=r"needs the key .*angle \(3,\) int64, shape \(4,\) int64"):
        load_factors(tmp_path / "factors.npz")
    np.testing.assert_array_equal(load_factors(tmp_path / "factors.npz:shape").values.T, [range(4)])


@pytest.mark.parametrize(
    ("array", "values"),
    [
        (np.arange(3), [[0], [1], [2]]),
        (np.array([[0.5, 1], [1.5, 0]]), [[0.5, 1], [1.5, 0]]),
        (np.array([True, False]), [[1], [0]]),
        (np.array(["b", "a", "b"]), [[1], [0], [1]]),
        (np.array([b"b", b"a\xff"]), [[1], [0]]),
        (np.array([["b", "x"], ["a", "x"]]), [[1, 0], [0, 0]]),
    ],
)
def test_factors_of_one_array(tmp_path: Path, array: np.ndarray, values: list) -> None:
    np.save(tmp_path / "factors.npy", array)
    factors = load_factors(tmp_path / "factors.npy")
    np.testing.assert_array_equal(factors.values, values)
    assert factors.values.dtype.kind in "iuf"
    assert factors.names == tuple(f"factor {index}" for index in range(len(values[0])))
    assert set(factors.categories) == (set(factors.names) if array.dtype.kind in "SU" else set())


@pytest.mark.parametrize("shape", [(), (2, 2, 2)])
def test_factors_of_another_shape(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.save(tmp_path / "factors.npy", np.zeros(shape))
    with pytest.raises(InputError, match=r"in the shape \(n,\) or \(n, f\)"):
        load_factors(tmp_path / "factors.npy")


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_no_factors(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.save(tmp_path / "factors.npy", np.zeros(shape))
    with pytest.raises(InputError, match="at least one factor"):
        load_factors(tmp_path / "factors.npy")


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    """An AnnData file with one obs column of every encoding."""
    path = tmp_path / "cells.h5ad"
    with h5py.File(path, "w") as file:
        file["X"] = POINTS[:4]
        file["obsm/X_pca"] = POINTS[:4, :2]
        obs = file.create_group("obs")
        obs.attrs["encoding-type"] = "dataframe"
        obs.attrs["_index"] = "cell"
        obs.attrs["column-order"] = ["type", "depth", "batch", "count", "note", "old"]
        obs["cell"] = ["c0", "c1", "c2", "c3"]
        obs["depth"] = [0.5, 1.5, 2.5, 3.5]
        obs["batch"] = ["two", "one", "two", "one"]
        obs["old"] = np.array([1, 0, 0, 1], np.int8)
        obs["__categories/old"] = ["no", "yes"]
        obs["old"].attrs["categories"] = obs["__categories/old"].ref
        for name, encoding, parts in [
            ("type", "categorical", {"codes": [1, 0, -1, 1], "categories": ["T", "B"]}),
            ("count", "nullable-integer", {"values": [1, 2, 3, 4], "mask": [False] * 3 + [True]}),
            (
                "note",
                "nullable-string-array",
                {"values": ["z", "", "y", "z"], "mask": [False, True, False, False]},
            ),
        ]:
            group = obs.create_group(name)
            group.attrs["encoding-type"] = encoding
            group.update(parts)
    return path


def test_factors_of_anndata_are_obs(cells: Path) -> None:
    factors = load_factors(cells)
    assert factors.names == ("type", "depth", "batch", "count", "note", "old")
    nan = np.nan
    np.testing.assert_array_equal(
        factors.values,
        [
            [1, 0.5, 1, 1, 1, 1],
            [0, 1.5, 0, 2, nan, 0],
            [nan, 2.5, 1, 3, 0, 0],
            [1, 3.5, 0, nan, 1, 1],
        ],
    )
    assert factors.categories == {
        "type": ("T", "B"),
        "batch": ("one", "two"),
        "note": ("y", "z"),
        "old": ("no", "yes"),
    }


def test_a_group_of_columns_is_a_table_of_factors(cells: Path, tmp_path: Path) -> None:
    whole, group = load_factors(cells), load_factors(f"{cells}:obs")
    assert group.names == whole.names and group.categories == whole.categories
    np.testing.assert_array_equal(group.values, whole.values)
    path = tmp_path / "run.h5"
    with h5py.File(path, "w") as file:
        file["latents"] = POINTS
        file["known/_index"] = [str(i) for i in range(len(POINTS))]
        file["known/angle"] = np.arange(len(POINTS)) / 2
        file["known/kind"] = np.arange(len(POINTS)) % 2
        file["uneven/a"], file["uneven/b"] = np.arange(3), np.arange(4)
    assert load_factors(f"{path}:known").names == ("angle", "kind")
    assert load_factors(f"{path}:known/kind").names == ("factor 0",)
    for key in ("uneven", "no", "know"):
        with pytest.raises(InputError, match=rf"has no array '{key}'; it holds .*known/angle"):
            load_factors(f"{path}:{key}")


def test_keys_of_anndata(cells: Path) -> None:
    np.testing.assert_array_equal(load_array(cells), POINTS[:4])
    np.testing.assert_array_equal(load_array(f"{cells}:obsm/X_pca"), POINTS[:4, :2])
    np.testing.assert_array_equal(load_array(f"{cells}:obs/depth"), [0.5, 1.5, 2.5, 3.5])
    assert load_factors(f"{cells}:obs/type").names == ("type",)
    np.testing.assert_array_equal(load_factors(f"{cells}:obsm/X_pca").values, POINTS[:4, :2])
    with pytest.raises(InputError, match="must hold real numbers; got an array of labels"):
        load_array(f"{cells}:obs/type")
    with pytest.raises(InputError, match=r"no array 'obs'; it holds X .*obs/type \(4,\) labels"):
        load_array(f"{cells}:obs")


def test_anndata_without_columns(tmp_path: Path) -> None:
    write_anndata_x(tmp_path / "cells.h5ad", POINTS)
    with pytest.raises(InputError, match="at least one factor"):
        load_factors(tmp_path / "cells.h5ad")


@pytest.mark.parametrize("code", [2, -2])
def test_codes_without_a_category(cells: Path, code: int) -> None:
    with h5py.File(cells, "r+") as file:
        file["obs/type/codes"][0] = code
    with pytest.raises(InputError, match=r"got codes from .* for 2 categories"):
        load_factors(cells)


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        (["x", "y"], ("x", "y")),
        (["x", "x"], ("factor 0", "factor 1")),
        ([1, 2], ("factor 0", "factor 1")),
    ],
)
def test_an_array_beside_them_names_factors(tmp_path: Path, beside: list, expected: tuple) -> None:
    np.savez(tmp_path / "run.npz", factors=np.eye(3, 2), factor_names=beside)
    assert load_factors(f"{tmp_path / 'run.npz'}:factors").names == expected


KINDS = Factors(
    np.array([[0, 90, 2], [1, 0, 0], [0, 180, 1]]),
    ("shape", "angle", "size"),
    {"shape": ("box", "dot"), "size": ("low", "middle", "high")},
    ordered=("size",),
    periods={"angle": 360.0},
    groups={"pose": ("angle", "size")},
)


@pytest.mark.parametrize("suffix", [".npz", ".h5"])
def test_kinds_come_back_from_what_stands_beside_factors(tmp_path: Path, suffix: str) -> None:
    path, arrays = tmp_path / f"run{suffix}", arrays_of_factors(KINDS)
    assert all(array.dtype.kind in "iufU" for array in arrays.values())
    if suffix == ".npz":
        np.savez(path, latents=POINTS[:3], **dict[str, Any](arrays))
    else:
        with h5py.File(path, "w") as file:
            for name, array in arrays.items():
                file[name] = array.astype(h5py.string_dtype()) if array.dtype.kind == "U" else array
    factors = load_factors(f"{path}:factors")
    assert factors.names == KINDS.names and factors.kinds == KINDS.kinds
    assert factors.categories == KINDS.categories and factors.periods == KINDS.periods
    assert factors.groups == KINDS.groups
    np.testing.assert_array_equal(factors.values, KINDS.values)
    if suffix == ".npz":
        assert load_factors(f"{path}:latents").kinds == ("numbers",) * 3
    else:  # nothing else is there that could be meant
        assert load_factors(path).kinds == KINDS.kinds


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"factor_kinds": ["labels", "cyclic"]}, r"each of 3 factors in factor_kinds; got an arr"),
        ({"factor_kinds": [1, 2, 3]}, "a text for each of 3 factors in factor_kinds; got an array"),
        ({"factor_kinds": ["odd"] * 3}, "only labels, .* in factor_kinds; got 'odd'"),
        ({"factor_labels": ["", "", ""]}, r"JSON for 'shape' in factor_labels; got ''"),
        ({"factor_labels": ["[1]", "", "[]"]}, r"for 'shape' in factor_labels; got '\[1\]'"),
        ({"factor_labels": ['["a"]', "", '["a"]']}, "labels of shape must have codes from 0 to 0"),
        ({"factor_labels": None}, "in factor_labels; got no such array"),
        ({"factor_periods": None}, "a number for each of 3 factors in factor_periods; got no such"),
        ({"factor_periods": ["a", "b", "c"]}, "in factor_periods; got an array of shape"),
        ({"factor_periods": [1, np.nan, 1]}, "The period of angle must be a finite number"),
        ({"factor_groups": ["pose"]}, r"each of 3 factors in factor_groups; got an array"),
        ({"factor_groups": ["", "shape", "shape"]}, "A group needs a name of its own"),
    ],
)
def test_what_stands_beside_factors_is_checked(tmp_path: Path, changed: dict, message: str) -> None:
    arrays: dict[str, Any] = {**arrays_of_factors(KINDS), **changed}
    kept = {name: array for name, array in arrays.items() if array is not None}
    np.savez(tmp_path / "run.npz", **kept)
    with pytest.raises(InputError, match=message):
        load_factors(f"{tmp_path / 'run.npz'}:factors")


def test_periods_are_said_where_a_file_is_read(tmp_path: Path) -> None:
    path = write_text(tmp_path / "table.csv", "angle,x\n0,1\n90,2\n")
    assert load_factors(path, periods={"angle": 360}).kinds == ("cyclic", "numbers")
    with pytest.raises(InputError, match="periods must name factors among angle, x; got hue"):
        load_factors(path, periods={"hue": 1})


@pytest.mark.parametrize("load", [load_array, load_factors])
def test_a_file_of_few_bytes_fills_no_memory(tmp_path: Path, load: Callable) -> None:
    torch.save(torch.zeros(1).expand(2**45), tmp_path / "repeated.pt")
    with pytest.raises(InputError, match=r"needs \d+ bytes; only 4 are stored"):
        load(tmp_path / "repeated.pt")
    with h5py.File(tmp_path / "unwritten.h5", "w") as file:
        file.create_dataset("x", shape=(2**45,), dtype="f8", chunks=(2**20,))
    with pytest.raises(InputError, match=r"needs \d+ bytes; only 0 are stored"):
        load(tmp_path / "unwritten.h5")
    torch.save(torch.zeros(1).expand(5), tmp_path / "few.pt")
    assert len(load(tmp_path / "few.pt")) == 5


def test_columns_that_do_not_fit_into_memory_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(values: Any, name: str) -> Any:
        raise MemoryError("Unable to allocate 8.00 TiB")

    np.save(tmp_path / "x.npy", POINTS)
    monkeypatch.setattr("geodis.data.files.load.read_column", no_room)
    with pytest.raises(InputError, match=r"cannot be read as \.npy: Unable to allocate 8.00 TiB"):
        load_factors(tmp_path / "x.npy")


def test_factors_print_as_a_table() -> None:
    values = np.array([[0.25, 0, np.nan], [7.0, 5, np.nan], [0.25, np.nan, np.nan]])
    factors = Factors(values, ("position x", "kind", "lost"), {"kind": tuple("abcdef")})
    assert str(factors).splitlines() == [
        "3 points, 3 factors",
        "name        distinct  range",
        "position x         2  0.25 to 7",
        "kind               2  a, f",
        "lost               0  all missing",
    ]
    many = Factors(np.arange(6)[:, None], ("kind",), {"kind": tuple("abcdef")})
    assert str(many).splitlines()[::2] == ["6 points, 1 factor", "kind         6  a, b, c, d, ..."]


def test_factors_act_as_their_array() -> None:
    factors = Factors(np.arange(6).reshape(3, 2), ("x", "y"))
    assert len(factors) == 3
    assert np.asarray(factors) is factors.values
    assert np.asarray(factors, dtype=float).dtype == float
    np.testing.assert_array_equal(np.array(factors), factors.values)


def test_factors_need_a_name_for_every_column() -> None:
    with pytest.raises(InputError, match=r"got shape \(3, 2\) and 1 names"):
        Factors(np.zeros((3, 2)), ("x",))


def test_several_columns_of_a_table_are_named_with_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("time,x,y,kind\n0,1.5,2,a\n1,2.5,3,b\n")
    assert load_array(f"{path}:y,x").tolist() == [[2, 1.5], [3, 2.5]]
    with pytest.raises(InputError, match="has no column 'z'; it has time, x, y, kind"):
        load_array(f"{path}:x,z")
    with pytest.raises(InputError, match="other values in kind"):
        load_array(f"{path}:x,kind")
