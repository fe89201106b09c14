"""MATLAB files of every version."""

import struct
import zlib

import h5py
import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from geodis import load_array, load_factors
from geodis.base.check import InputError
from geodis.data.files import limits

POINTS = np.random.default_rng(0).normal(size=(20, 3))


def write_73(path, arrays):
    """As MATLAB writes version 7.3: HDF5 behind 512 bytes, axes from the other end."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            if isinstance(array, str):
                codes = np.frombuffer(array.encode("utf-16-le"), np.uint16)
                dataset = file.create_dataset(name, data=codes[:, None])
                dataset.attrs["MATLAB_class"] = np.bytes_("char")
            else:
                dataset = file.create_dataset(name, data=np.atleast_2d(array).T)
                kind = {"float64": "double", "float32": "single"}.get(str(array.dtype))
                dataset.attrs["MATLAB_class"] = np.bytes_(kind or str(array.dtype))
        file["#refs#/a"] = np.zeros(3)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512))


WRITERS = {
    "4": lambda path, arrays: savemat(path, arrays, format="4"),
    "5": savemat,
    "5, compressed": lambda path, arrays: savemat(path, arrays, do_compression=True),
    "7.3": write_73,
}


@pytest.mark.parametrize("version", WRITERS)
def test_arrays_come_back(tmp_path, version):
    path = tmp_path / "run.mat"
    shape = np.arange(20, dtype=float)
    WRITERS[version](path, {"latents": POINTS, "shape": shape, "word": "box"})
    np.testing.assert_array_equal(load_array(f"{path}:latents"), POINTS)
    np.testing.assert_array_equal(load_array(f"{path}:shape"), shape)  # a vector has one axis
    with pytest.raises(InputError, match=r"needs the key .*latents \(20, 3\) double"):
        load_array(path)
    with pytest.raises(InputError, match="must hold real numbers; got an array of labels"):
        load_array(f"{path}:word")
    assert load_factors(f"{path}:latents").values.shape == (20, 3)


def test_vectors_of_one_length_are_factors(tmp_path):
    savemat(tmp_path / "f.mat", {"x": np.arange(4.0), "y": np.ones((4, 1)), "z": POINTS})
    factors = load_factors(tmp_path / "f.mat")
    assert set(factors.names) == {"x", "y"} and len(factors) == 4


def test_sparse_matrices_become_dense_and_objects_are_not_listed(tmp_path):
    held = {"s": sparse.csc_matrix(np.eye(3)), "cell": np.array([1, "a"], object), "t": {"a": 1}}
    savemat(tmp_path / "odd.mat", held)
    np.testing.assert_array_equal(load_array(tmp_path / "odd.mat"), np.eye(3))
    for key in ("cell", "t"):
        with pytest.raises(InputError, match=f"has no array '{key}'"):
            load_array(f"{tmp_path}/odd.mat:{key}")


@pytest.mark.parametrize("version", ["5, compressed", "7.3"])
def test_a_small_file_of_zeros_stays_small(tmp_path, version, monkeypatch):
    monkeypatch.setattr(limits, "ALWAYS", 2**20)
    path = tmp_path / "zeros.mat"
    if version == "7.3":
        with h5py.File(path, "w") as file:
            file.create_dataset("z", (2**10, 2**10), float, compression="gzip", chunks=(64, 1024))
            file["z"][0] = 1
    else:
        savemat(path, {"z": np.zeros((2**10, 2**9))}, do_compression=True)
    assert path.stat().st_size < 2**13
    with pytest.raises(InputError, match=r"z in .*zeros\.mat would take .*GEODIS_MAX_BYTES"):
        load_array(f"{path}:z")


@pytest.mark.parametrize(("part", "order"), [("name", "<"), ("name", ">"), ("values", "<")])
def test_parts_that_unpack_to_more_than_any_array_may_are_refused(
    tmp_path, monkeypatch, part, order
):
    monkeypatch.setattr(limits, "ALWAYS", 2**20)
    size = 2**22

    def element(kind, data, n_bytes=None):
        head = struct.pack(f"{order}II", kind, len(data) if n_bytes is None else n_bytes)
        return head + data.ljust(-(-len(data) // 8) * 8, b"\0")

    start = element(6, struct.pack(f"{order}II", 6, 0)) + element(
        5, struct.pack(f"{order}ii", 1, 9)
    )
    start += element(1, b"", size) if part == "name" else element(1, b"x") + element(9, b"", size)
    packed = zlib.compress(element(14, start, len(start) + size) + bytes(size), 9)
    mark = struct.pack(f"{order}HH", 0x0100, 0x4D49)
    path = tmp_path / "bomb.mat"
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + mark + element(15, packed))
    assert path.stat().st_size < 2**13
    message = {
        "name": f"a name of .* got {size} bytes",
        "values": "packed as x in .* would take .*BYTES",
    }
    with pytest.raises(InputError, match=message[part]):
        load_array(path)


def savemat_packed(path, arrays):
    savemat(path, arrays, do_compression=True)


def repack(path, change):
    """Change the bytes of a file of version 5, and of packed arrays what is packed."""
    data = path.read_bytes()
    if struct.unpack_from("<I", data, 128)[0] != 15:
        path.write_bytes(change(data))
        return
    packed = zlib.compress(change(zlib.decompress(data[136:])))
    path.write_bytes(data[:128] + struct.pack("<II", 15, len(packed)) + packed)


ROWS, COLUMNS = np.arange(59, 9, -1, dtype="<i4"), np.arange(51, dtype="<i4")
SPARSE = sparse.csc_matrix((np.ones(50), ROWS, COLUMNS), (60, 50))
BAD_ROWS = {
    "far beyond": np.repeat([0, 2**31 - 16, -2_000_000_000, 2**28], [25, 5, 5, 15]),
    "beyond by one": [*range(49), 60],
    "below": [-1, *range(1, 50)],
}
BAD_COLUMNS = {
    "first": [1, *range(1, 51)],
    "falling": [0, 9, *range(2, 51)],
    "beyond": [*range(50), 51],
    "far beyond": [0, *[2**30] * 49, 50],
    "negative": [*range(50), -1],
    "short of the rows": [0] * 51,
}


@pytest.mark.parametrize("write", [savemat, savemat_packed])
@pytest.mark.parametrize(
    ("before", "after"),
    [(ROWS, bad) for bad in BAD_ROWS.values()] + [(COLUMNS, bad) for bad in BAD_COLUMNS.values()],
    ids=[*(f"row {name}" for name in BAD_ROWS), *(f"column {name}" for name in BAD_COLUMNS)],
)
def test_indices_of_a_sparse_matrix_are_checked(tmp_path, write, before, after):
    path = tmp_path / "s.mat"
    write(path, {"S": SPARSE})
    np.testing.assert_array_equal(load_array(path), SPARSE.toarray())
    new = np.asarray(after, dtype="<i4").tobytes()

    def change(data):
        assert data.count(before.tobytes()) == 1
        return data.replace(before.tobytes(), new)

    repack(path, change)
    if list(after) == [0] * 51:  # rows that no column has are what MATLAB reserves for more
        assert not load_array(path).any()
        return
    with pytest.raises(InputError, match=r"s\.mat cannot be read as \.mat: .*[^\n]$"):
        load_array(path)


def test_indices_of_a_sparse_matrix_of_version_4_are_checked(tmp_path):
    path = tmp_path / "s.mat"
    savemat(path, {"S": SPARSE}, format="4")
    np.testing.assert_array_equal(load_array(path), SPARSE.toarray())
    path.write_bytes(path.read_bytes().replace(struct.pack("<d", 37), struct.pack("<d", 61)))
    with pytest.raises(InputError, match=r"s\.mat cannot be read as \.mat: .*index"):
        load_array(path)


@pytest.mark.parametrize("write", [savemat, savemat_packed])
@pytest.mark.parametrize("kind", [0, 8, 10, 11, 14, 15, 19, 25, 255, 2**16 - 1, 2**31])
@pytest.mark.parametrize("array", ["numbers", "complex", "sparse", "text"])
def test_types_of_elements_that_scipy_does_not_know_are_refused(tmp_path, write, kind, array):
    held = {
        "numbers": POINTS,
        "complex": POINTS + 0.5j,
        "sparse": SPARSE,
        "text": np.array(["a text of many letters"]),
    }
    data = {"numbers": POINTS, "complex": np.full((20, 3), 0.5), "sparse": np.ones(50)}
    path = tmp_path / "a.mat"
    write(path, {"a": held[array]})

    def change(whole):
        if array == "text":
            at = whole.index(b"a text") - 8
        else:
            at = whole.index(np.asfortranarray(data[array]).tobytes("F")) - 8
        return whole[:at] + struct.pack("<I", kind) + whole[at + 4 :]

    repack(path, change)
    with pytest.raises(InputError, match=r"a\.mat"):
        load_array(path)


def test_of_two_arrays_of_one_name_the_first_is_meant(tmp_path):
    """As loadmat reads it: the kind of the second must not let a cell through."""
    savemat(tmp_path / "a.mat", {"x": np.array([1, "a"], object)})
    savemat(tmp_path / "b.mat", {"x": POINTS})
    both = (tmp_path / "a.mat").read_bytes() + (tmp_path / "b.mat").read_bytes()[128:]
    (tmp_path / "both.mat").write_bytes(both)
    with pytest.raises(InputError, match=r"array of numbers or text|has no array"):
        load_array(tmp_path / "both.mat")


@pytest.mark.parametrize("sizes", [(-1, 3), (20, -1), (2**30, 2**30), (2**31 - 1, 2**31 - 1)])
def test_sizes_of_version_4_that_lead_nowhere_are_refused(tmp_path, sizes):
    """The reader of scipy would read the same array for ever."""
    path = tmp_path / "z.mat"
    savemat(path, {"z": POINTS}, format="4")
    path.write_bytes(
        path.read_bytes().replace(struct.pack("<ii", 20, 3), struct.pack("<ii", *sizes))
    )
    with pytest.raises(InputError, match="does not fit into the file"):
        load_array(path)


def test_an_array_beside_one_that_is_too_large_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "ALWAYS", 2**20)
    held = {"zeros": np.zeros(2**18), "z": POINTS, "name_of_many_letters": np.ones(2)}
    savemat(tmp_path / "both.mat", held, do_compression=True)
    np.testing.assert_array_equal(load_array(f"{tmp_path}/both.mat:z"), POINTS)
    assert load_array(f"{tmp_path}/both.mat:name_of_many_letters").sum() == 2
