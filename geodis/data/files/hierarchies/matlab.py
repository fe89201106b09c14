"""MATLAB files of versions 4 to 7.3 -> their numeric and character arrays."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError, require
from geodis.data.files.contents import Contents, Stored
from geodis.data.files.formats import register_reader
from geodis.data.files.hierarchies.annotated import dense_from_indices
from geodis.data.files.hierarchies.hdf5_members import member, members, values_of
from geodis.data.files.hierarchies.matlab_packed import check_packed
from geodis.data.files.limits import check_count, check_unpacked
from geodis.data.read_column import Column

# Bytes of an entry by the class of an array; objects, structures and cells are not read.
CLASS_BYTES = {
    **{"double": 8, "single": 4, "logical": 1, "char": 4, "sparse": 8},
    **{f"{sign}int{8 * size}": size for sign in ("", "u") for size in (1, 2, 4, 8)},
}
# What MATLAB keeps for itself in files of version 7.3.
RESERVED = ("#refs#", "#subsystem#")
VERSION_73 = b"MATLAB 7.3"


@register_reader(".mat")
def read_matlab(path: Path, mmap: bool) -> Contents:
    """Arrays of numbers and text; a vector, which MATLAB stores as a matrix, has one axis."""
    arrays = _listed_73(path) if is_version_73(path) else _listed(path)
    return Contents(path, arrays)


def read_mat(path: Path, key: str) -> np.ndarray:
    """Read one array of a MATLAB file with all of its axes."""
    array = _read_73(path, key) if is_version_73(path) else _read(path, key)
    return np.asarray(array)


def is_version_73(path: Path) -> bool:
    """Whether the file is HDF5 behind MATLAB's own first 512 bytes, or HDF5 as it is."""
    with path.open("rb") as file:
        start = file.read(10)
    return start == VERSION_73 or start.startswith(b"\x89HDF")


def _listed(path: Path) -> dict[str, Stored]:
    from scipy.io import whosmat

    check_packed(path)
    with _quietly():
        found = whosmat(str(path))
    check_count(path, len(found))
    return {
        name: _stored(shape, kind, partial(_read, path, name))
        for name, shape, kind in found
        if kind in CLASS_BYTES
    }


def _stored(shape: tuple[int, ...], kind: str, read: Any) -> Stored:
    if kind == "char":
        return Stored(tuple(shape[:1]), "labels", read)
    return Stored(_without_unit(shape), kind, lambda: read().reshape(_without_unit(shape)))


def _without_unit(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A vector as one axis: MATLAB knows matrices alone."""
    return (max(shape),) if len(shape) == 2 and min(shape) == 1 else tuple(shape)


def _read(path: Path, key: str) -> Any:
    from scipy.io import loadmat, whosmat

    check_packed(path)
    with _quietly():
        # Of two arrays of one name, loadmat reads the first.
        kinds = {name: (shape, kind) for name, shape, kind in reversed(whosmat(str(path)))}
        if key not in kinds:
            raise InputError(f"{path} has no array {key!r}; it holds {', '.join(kinds)}.")
        shape, kind = kinds[key]
        if kind not in CLASS_BYTES:
            raise InputError(f"{key} in {path} must be an array of numbers or text; got {kind}.")
        # Twice, for complex numbers.
        check_unpacked(path, 2 * CLASS_BYTES[kind] * math.prod(shape), key)
        check_packed(path, key)
        value = loadmat(str(path), variable_names=[key], chars_as_strings=True)[key]
    if not hasattr(value, "toarray"):
        return value
    if value.format == "coo":  # of version 4; what scipy makes of coordinates is checked by itself
        return value.toarray()
    return dense_from_indices(key, value.data, value.indices, value.indptr, value.shape, 1)


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the warnings of scipy, of names that stand twice and of classes it does not know."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _listed_73(path: Path) -> dict[str, Stored]:
    h5py = require("h5py", purpose="Reading MATLAB files of version 7.3")
    arrays: dict[str, Stored] = {}
    with h5py.File(path, "r") as file:
        for key, node in members(file):
            if key.split("/")[0] in RESERVED or not isinstance(node, h5py.Dataset):
                continue
            kind = _class_of(node)
            if kind not in CLASS_BYTES or node.shape is None or "MATLAB_empty" in node.attrs:
                continue
            # MATLAB's arrays are column-major, and HDF5 lists their axes from the other end.
            arrays[key] = _stored(node.shape[::-1], kind, partial(_read_73, path, key))
            check_count(path, len(arrays))
    return arrays


def _class_of(dataset: Any) -> str:
    kind = dataset.attrs.get("MATLAB_class", b"")
    named = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
    return named or str(dataset.dtype).replace("float64", "double").replace("float32", "single")


def _read_73(path: Path, key: str) -> Column:
    h5py = require("h5py", purpose="Reading MATLAB files of version 7.3")
    with h5py.File(path, "r") as file:
        dataset = member(path, file, key)
        if not isinstance(dataset, h5py.Dataset):
            raise InputError(f"{path} has no array {key!r}; it holds {', '.join(file)}.")
        values = np.asarray(values_of(path, dataset)).T
        if _class_of(dataset) == "char":  # a text a row, in UTF-16
            rows = np.ascontiguousarray(values, "<u2")
            return np.array([row.tobytes().decode("utf-16-le", "replace") for row in rows])
        if values.dtype.names == ("real", "imag"):
            return values["real"] + 1j * values["imag"]
        return values
