"""HDF5 and AnnData files -> their datasets, sparse matrices and tables of observations."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError, require
from geodis.data.files.contents import Contents, Stored, map_array, unreadable
from geodis.data.files.formats import register_reader
from geodis.data.files.hierarchies.annotated import array_of_group, labels_of_codes, with_defaults
from geodis.data.files.hierarchies.hdf5_members import (
    array_of_texts,
    member,
    members,
    own_dataset,
    referred,
    values_of,
)
from geodis.data.files.hierarchies.packed_chunks import check_chunks
from geodis.data.files.limits import CATEGORY_BYTES, check_count, check_unpacked
from geodis.data.read_column import Column, Labels

# Of the arrays that AnnData stores in several parts: sparse, categorical and masked ones.
PARTS = ("data", "indices", "indptr", "codes", "categories", "values", "mask")


@register_reader(".h5", ".hdf5")
def read_hdf5(path: Path, mmap: bool) -> Contents:
    """Every dataset by its path, and the groups that AnnData stores one array in.

    Of a dataset of records every field is an array of its own too.
    """
    h5py = require("h5py", purpose=f"Reading {path.suffix} files")
    contents = Contents(path, {})
    with h5py.File(path, "r") as file:
        for key, node in members(file):
            if key.rpartition("/")[0] in contents.arrays:
                continue  # a part of an array that is listed as a whole
            if isinstance(node, h5py.Dataset):
                _list_dataset(contents, key, node, mmap)
            elif (array := _array_of_group(contents, key, node)) is not None:
                contents.arrays[key] = array
            check_count(path, len(contents.arrays) + len(contents.parts))
    return contents


def _list_dataset(contents: Contents, key: str, dataset: Any, mmap: bool) -> None:
    """List a dataset, and the fields of a dataset of records as arrays of their own."""
    if dataset.shape is None:
        return
    path, dtype = contents.path, dataset.dtype
    read, rows, step = partial(_read, path, key, mmap), None, 1
    if dataset.chunks and dtype.kind in "biuf":  # else its bytes are mapped, or not numbers
        rows, step = partial(_read_rows, path, key), dataset.chunks[0]
    contents.arrays[key] = Stored(
        dataset.shape, _kind(dtype), read, read_rows=rows, chunk_rows=step
    )
    for name in dtype.names or ():
        shape = (*dataset.shape, *dtype[name].shape)
        field = partial(_read_field, path, key, name)
        contents.parts[f"{key}/{name}"] = Stored(shape, _kind(dtype[name].base), field)


def _array_of_group(contents: Contents, key: str, group: Any) -> Stored | None:
    """The array that AnnData stores in a group.

    Before its version 0.7 it said so of sparse ones alone.
    """
    older = group.attrs.get("h5sparse_format")
    encoding = group.attrs.get("encoding-type") if older is None else f"{_text(older)}_matrix"
    attributes = {
        "encoding-type": _text(encoding) if isinstance(encoding, str | bytes) else "",
        "ordered": group.attrs.get("ordered", False),
    }
    sizes = group.attrs.get("h5sparse_shape", group.attrs.get("shape"))
    if sizes is not None:
        attributes["shape"] = np.atleast_1d(sizes).tolist()
    return array_of_group(contents, key, attributes, partial(_parts, contents.path, key, group))


def _parts(path: Path, key: str, group: Any) -> dict[str, Stored]:
    """The datasets of a group in which AnnData stores one array."""
    found = {}
    for name in PARTS:
        try:
            part = member(path, group, name)
        except InputError as problem:  # a link, which is refused when it is read
            found[name] = unreadable((), "link", problem)
            continue
        if getattr(part, "shape", None) is not None:
            read = partial(_read_part, path, f"{key}/{name}")
            found[name] = Stored(part.shape, _kind(part.dtype), read)
    return found


def _read_part(path: Path, key: str) -> np.ndarray:
    """A dataset; texts as objects."""
    import h5py

    with h5py.File(path, "r") as file:
        return _values(path, member(path, file, key))


def _values(path: Path, dataset: Any) -> np.ndarray:
    import h5py

    is_text = h5py.check_string_dtype(dataset.dtype) is not None
    return np.asarray(values_of(path, dataset, as_text=is_text))


def _kind(dtype: Any) -> str:
    import h5py

    return "labels" if h5py.check_string_dtype(dtype) else str(dtype)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


@register_reader(".h5ad")
def read_anndata(path: Path, mmap: bool) -> Contents:
    """Treat X as the points and the columns of obs as the factors of an AnnData file."""
    h5py = require("h5py", purpose="Reading .h5ad files")
    contents = read_hdf5(path, mmap)
    with h5py.File(path, "r") as file:
        obs = member(path, file, "obs")
        if isinstance(obs, h5py.Group):
            names = [_text(name) for name in obs.attrs.get("column-order", ())]
        else:  # a dataset of records whose categories stand in uns, as before version 0.7
            fields = () if obs is None else obs.dtype.names or ()
            names = [name for name in fields if name != "index"]
            for name in names:
                if member(path, file, f"uns/{name}_categories") is not None:
                    labels = partial(_read_older_labels, path, name)
                    contents.parts[f"obs/{name}"] = Stored(obs.shape, "labels", labels)
    return with_defaults(contents, names)


def _read_older_labels(path: Path, name: str) -> Column:
    import h5py

    with h5py.File(path, "r") as file:
        categories = member(path, file, f"uns/{name}_categories")
        codes = values_of(path, member(path, file, "obs"))[name]
        return _labels(path, codes, categories, False)


def _read_field(path: Path, key: str, name: str) -> Column:
    import h5py

    with h5py.File(path, "r") as file:
        dataset = own_dataset(path, member(path, file, key))
        check_unpacked(path, math.prod(dataset.shape) * dataset.dtype.itemsize, key)
        check_chunks(path, dataset)
        if dataset.dtype.hasobject and not h5py.check_string_dtype(dataset.dtype[name]):
            raise ValueError(f"{key} holds lists or references, and geodis reads arrays")
        values = dataset[name]
        if h5py.check_string_dtype(dataset.dtype[name]):
            return Labels.of([_text(value) for value in values])
        return np.asarray(values)


def _read(path: Path, key: str, mmap: bool) -> Column:
    import h5py

    with h5py.File(path, "r") as file:
        dataset = own_dataset(path, member(path, file, key))
        if "categories" in dataset.attrs:  # how AnnData before 0.8 stored a categorical
            categories = referred(path, file, dataset.attrs["categories"])
            ordered = bool(categories.attrs.get("ordered", False))
            return _labels(path, values_of(path, dataset), categories, ordered)
        if h5py.check_string_dtype(dataset.dtype):
            return array_of_texts(path, dataset)
        offset = dataset.id.get_offset()  # None unless the bytes lie in one piece in this file
        # A dataset nobody wrote to has no bytes, though HDF5 may name an offset for it.
        is_written = dataset.id.get_storage_size() == dataset.nbytes
        same_bytes = dataset.id.get_type().equal(h5py.h5t.py_create(dataset.dtype, logical=True))
        can_map = offset is not None and is_written and same_bytes and dataset.dtype.kind in "biuf"
        if mmap and can_map:
            return map_array(path, dataset.dtype, dataset.shape, offset=offset, mmap=True)
        return np.asarray(values_of(path, dataset))


def _read_rows(path: Path, key: str, start: int, stop: int) -> np.ndarray:
    """Some rows of a dataset in chunks."""
    import h5py

    with h5py.File(path, "r") as file:
        dataset = own_dataset(path, member(path, file, key))
        check_chunks(path, dataset)
        width = math.prod(dataset.shape[1:]) * dataset.dtype.itemsize
        check_unpacked(path, (stop - start) * width, f"rows {start} to {stop} of {key}")
        check_unpacked(path, math.prod(dataset.chunks) * dataset.dtype.itemsize, "a chunk")
        return np.asarray(dataset[start:stop])


def _labels(path: Path, codes: np.ndarray, categories: Any, ordered: bool) -> Labels:
    check_unpacked(path, CATEGORY_BYTES * len(codes), "codes of categories")
    names = tuple(map(_text, _values(path, categories)))
    return labels_of_codes(np.asarray(codes), names, ordered)
