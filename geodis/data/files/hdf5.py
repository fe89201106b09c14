"""HDF5 and AnnData files -> their datasets, sparse matrices and tables of observations."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError, require
from geodis.data.files.contents import Contents, Stored, check_written, map_array
from geodis.data.files.formats import register_reader
from geodis.data.read_column import Column, Labels, read_column

# A sparse matrix with more entries would take gigabytes once dense (2 GiB in float64).
MOST_DENSE_ENTRIES = 2**28

SPARSE = ("csr_matrix", "csc_matrix")  # in the order of the axis that they compress
MASKED = ("nullable-integer", "nullable-boolean", "nullable-string-array")


@register_reader(".h5", ".hdf5")
def read_hdf5(path: Path, mmap: bool) -> Contents:
    """Every dataset by its path, and the groups that AnnData stores one array in."""
    h5py = require("h5py", extra="files", purpose=f"Reading {path.suffix} files")
    arrays: dict[str, Stored] = {}

    def add(key: str, node: Any) -> None:
        if key.rpartition("/")[0] in arrays:
            return  # a part of an array that is listed as a whole
        encoding = node.attrs.get("encoding-type")
        if isinstance(node, h5py.Dataset):
            if node.shape is not None:
                dtype = "labels" if h5py.check_string_dtype(node.dtype) else str(node.dtype)
                arrays[key] = Stored(node.shape, dtype, partial(_read, path, key, mmap))
        elif encoding in SPARSE:
            shape = tuple(int(size) for size in node.attrs["shape"])
            dtype = f"{node['data'].dtype} (sparse)"
            arrays[key] = Stored(shape, dtype, partial(_read, path, key, mmap))
        elif encoding == "categorical":
            shape = node["codes"].shape
            arrays[key] = Stored(shape, "labels", partial(_read, path, key, mmap))
        elif encoding in MASKED:
            values = node["values"]
            dtype = "labels" if h5py.check_string_dtype(values.dtype) else str(values.dtype)
            arrays[key] = Stored(values.shape, dtype, partial(_read, path, key, mmap))

    with h5py.File(path, "r") as file:
        file.visititems(add)
    return Contents(path, arrays)


@register_reader(".h5ad")
def read_anndata(path: Path, mmap: bool) -> Contents:
    """Treat X as the points and the columns of obs as the factors of an AnnData file."""
    h5py = require("h5py", extra="files", purpose="Reading .h5ad files")
    contents = read_hdf5(path, mmap)
    with h5py.File(path, "r") as file:
        obs = file.get("obs")
        ordered = obs.attrs.get("column-order", ()) if isinstance(obs, h5py.Group) else ()
        names = [name.decode() if isinstance(name, bytes) else str(name) for name in ordered]
    return replace(contents, default="X", columns={name: f"obs/{name}" for name in names})


def _read(path: Path, key: str, mmap: bool) -> Column:
    import h5py

    with h5py.File(path, "r") as file:
        node = file[key]
        if isinstance(node, h5py.Dataset):
            return _read_dataset(path, file, node, mmap)
        encoding = node.attrs["encoding-type"]
        if encoding in SPARSE:
            return _read_sparse(path, key, node, encoding)
        if encoding == "categorical":
            ordered = bool(node.attrs.get("ordered", False))
            return _labels(_values(node["codes"]), node["categories"], ordered)
        return _read_masked(node)


def _read_dataset(path: Path, file: Any, dataset: Any, mmap: bool) -> Column:
    import h5py

    if "categories" in dataset.attrs:  # how AnnData before 0.8 stored a categorical
        categories = file[dataset.attrs["categories"]]
        return _labels(_values(dataset), categories, bool(categories.attrs.get("ordered", False)))
    if h5py.check_string_dtype(dataset.dtype):
        return np.asarray(_values(dataset, as_text=True), dtype=str)
    offset = dataset.id.get_offset()  # None unless the bytes lie in one piece in this file
    # A dataset nobody wrote to has no bytes, though HDF5 can name an offset for it all the same.
    is_written = dataset.id.get_storage_size() == dataset.nbytes
    same_bytes = dataset.id.get_type().equal(h5py.h5t.py_create(dataset.dtype, logical=True))
    can_map = offset is not None and is_written and same_bytes and dataset.dtype.kind in "biuf"
    if mmap and can_map:
        return map_array(path, dataset.dtype, dataset.shape, offset=offset, mmap=True)
    return np.asarray(_values(dataset))


def _values(dataset: Any, as_text: bool = False) -> Any:
    """All values; HDF5 makes up those that nobody wrote, however many there are."""
    if dataset.id.get_storage_size() == 0:
        check_written(0, dataset.shape, dataset.dtype.itemsize)
    return (dataset.asstr() if as_text else dataset)[()]


def _read_sparse(path: Path, key: str, group: Any, encoding: str) -> np.ndarray:
    from scipy import sparse

    shape = tuple(int(size) for size in group.attrs["shape"])
    if math.prod(shape) >= MOST_DENSE_ENTRIES:
        raise InputError(
            f"{key} in {path} is sparse, and as a dense array of shape {shape} it would have more "
            f"than {MOST_DENSE_ENTRIES} entries: reduce it first, for example to {path.name}:"
            "obsm/X_pca."
        )
    data, indices = _values(group["data"]), _values(group["indices"])
    counts = np.diff(_values(group["indptr"]).astype(np.int64))
    n_compressed = shape[SPARSE.index(encoding)]
    if len(counts) != n_compressed or (counts < 0).any() or counts.sum() != len(indices):
        raise ValueError(f"the index pointers of {key} do not fit its {len(indices)} entries")
    compressed = np.repeat(np.arange(n_compressed), counts)
    coordinates = (compressed, indices) if encoding == "csr_matrix" else (indices, compressed)
    # Through coordinates, because those are checked against the shape: toarray of a csr_matrix
    # writes wherever damaged indices say, and may take the interpreter down.
    return sparse.coo_matrix((data, coordinates), shape=shape).toarray()


def _labels(codes: np.ndarray, categories: Any, ordered: bool) -> Labels:
    import h5py

    is_text = h5py.check_string_dtype(categories.dtype)
    names = tuple(str(name) for name in _values(categories, as_text=is_text))
    if codes.size and not -1 <= codes.min() <= codes.max() < len(names):
        raise ValueError(
            f"got codes from {codes.min()} to {codes.max()} for {len(names)} categories"
        )
    return Labels(codes.astype(np.int64), names, ordered)


def _read_masked(group: Any) -> Column:
    """Values with a mask that is true where one is missing."""
    import h5py

    missing = _values(group["mask"])
    if h5py.check_string_dtype(group["values"].dtype):
        text = _values(group["values"], as_text=True).astype(object)
        text[missing] = None
        return Labels.of(text)
    values = _values(group["values"])
    if not missing.any():
        return values
    return read_column(np.ma.array(values, mask=missing), group.name)
