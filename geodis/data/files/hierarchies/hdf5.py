"""HDF5 and AnnData files -> their datasets, sparse matrices and tables of observations."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import require
from geodis.data.files.contents import Contents, Stored, map_array
from geodis.data.files.formats import register_reader
from geodis.data.files.hierarchies.annotated import (
    CATEGORICAL,
    MASKED,
    SPARSE,
    check_sparse_shape,
    dense_matrix,
    labels_of_codes,
    masked_column,
)
from geodis.data.files.hierarchies.hdf5_members import (
    array_of_texts,
    member,
    members,
    own_dataset,
    referred,
    values_of,
)
from geodis.data.files.hierarchies.packed_chunks import check_chunks
from geodis.data.files.limits import (
    CATEGORY_BYTES,
    INTEGER_BYTES,
    check_columns,
    check_count,
    check_unpacked,
)
from geodis.data.read_column import Column, Labels


@register_reader(".h5", ".hdf5")
def read_hdf5(path: Path, mmap: bool) -> Contents:
    """Every dataset by its path, and the groups that AnnData stores one array in.

    Of a dataset of records every field is an array of its own too.
    """
    h5py = require("h5py", purpose=f"Reading {path.suffix} files")
    arrays: dict[str, Stored] = {}
    fields: dict[str, Stored] = {}
    with h5py.File(path, "r") as file:
        for key, node in members(file):
            if key.rpartition("/")[0] in arrays:
                continue  # a part of an array that is listed as a whole
            arrays |= _listed(path, key, node, mmap)
            if isinstance(node, h5py.Dataset):
                fields |= _fields(path, key, node)
            check_count(path, len(arrays) + len(fields))
    return Contents(path, arrays, parts=fields)


def _fields(path: Path, key: str, records: Any) -> dict[str, Stored]:
    """The fields of a dataset of records, as arrays of their own."""
    if records.shape is None:
        return {}
    kinds = {name: records.dtype[name] for name in records.dtype.names or ()}
    return {
        f"{key}/{name}": Stored(
            (*records.shape, *kind.shape),
            _kind(kind.base),
            partial(_read_field, path, key, name),
        )
        for name, kind in kinds.items()
    }


def _listed(path: Path, key: str, node: Any, mmap: bool) -> dict[str, Stored]:
    """What a group or a dataset is listed as: nothing, or one array."""
    import h5py

    read = partial(_read, path, key, mmap)
    encoding = _encoding(node)
    if isinstance(node, h5py.Dataset):
        if node.shape is None:
            return {}
        if not node.chunks or node.dtype.kind not in "biuf":  # its bytes are mapped, or not numbers
            return {key: Stored(node.shape, _kind(node.dtype), read)}
        rows = partial(_read_rows, path, key)
        listed = Stored(
            node.shape, _kind(node.dtype), read, read_rows=rows, chunk_rows=node.chunks[0]
        )
        return {key: listed}
    if encoding in SPARSE:
        kind = getattr(member(path, node, "data"), "dtype", "no data")
        return {key: Stored(_sparse_shape(node), f"{kind} (sparse)", read)}
    if encoding == CATEGORICAL and (codes := member(path, node, "codes")) is not None:
        return {key: Stored(codes.shape, "labels", read)}
    if encoding in MASKED and (values := member(path, node, "values")) is not None:
        return {key: Stored(values.shape, _kind(values.dtype), read)}
    return {}


def _kind(dtype: Any) -> str:
    import h5py

    return "labels" if h5py.check_string_dtype(dtype) else str(dtype)


def _encoding(node: Any) -> str:
    """How AnnData stored an array; before its version 0.7 it said so of sparse ones alone."""
    older = node.attrs.get("h5sparse_format")
    encoding = node.attrs.get("encoding-type") if older is None else f"{_text(older)}_matrix"
    return _text(encoding) if isinstance(encoding, str | bytes) else ""


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _sparse_shape(group: Any) -> tuple[int, ...]:
    sizes = group.attrs["h5sparse_shape" if "h5sparse_shape" in group.attrs else "shape"]
    return check_sparse_shape(sizes)


@register_reader(".h5ad")
def read_anndata(path: Path, mmap: bool) -> Contents:
    """Treat X as the points and the columns of obs as the factors of an AnnData file."""
    h5py = require("h5py", purpose="Reading .h5ad files")
    contents = read_hdf5(path, mmap)
    with h5py.File(path, "r") as file:
        obs = member(path, file, "obs")
        if isinstance(obs, h5py.Group):
            names = [_text(name) for name in obs.attrs.get("column-order", ())]
            columns = {name: f"obs/{name}" for name in names}
        else:  # as before version 0.7
            columns, own = _columns_of_records(path, file, obs)
            contents = replace(contents, parts={**contents.parts, **own})
    check_columns(path, len(columns))
    return replace(contents, default="X", columns=columns)


def _columns_of_records(
    path: Path, file: Any, obs: Any
) -> tuple[dict[str, str], dict[str, Stored]]:
    """Columns of an obs that is a dataset of records, whose categories stand in uns."""
    if obs is None or not obs.dtype.names:
        return {}, {}
    names = [name for name in obs.dtype.names if name != "index"]
    labelled = {
        f"obs/{name}": Stored(obs.shape, "labels", partial(_read_older_labels, path, name))
        for name in names
        if member(path, file, f"uns/{name}_categories") is not None
    }
    return {name: f"obs/{name}" for name in names}, labelled


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
        node = member(path, file, key)
        if isinstance(node, h5py.Dataset):
            return _read_dataset(path, file, node, mmap)
        encoding = _encoding(node)
        if encoding in SPARSE:
            return _read_sparse(path, key, node, encoding)
        if encoding == CATEGORICAL:
            ordered = bool(node.attrs.get("ordered", False))
            categories = _part(path, node, "categories")
            return _labels(path, values_of(path, _part(path, node, "codes")), categories, ordered)
        return _read_masked(path, node)


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


def _part(path: Path, group: Any, name: str) -> Any:
    """A dataset that belongs to an array."""
    import h5py

    part = member(path, group, name)
    if not isinstance(part, h5py.Dataset):
        raise ValueError(f"{group.name} must have a dataset {name}")
    return part


def _read_dataset(path: Path, file: Any, dataset: Any, mmap: bool) -> Column:
    import h5py

    own_dataset(path, dataset)
    if "categories" in dataset.attrs:  # how AnnData before 0.8 stored a categorical
        categories = referred(path, file, dataset.attrs["categories"])
        ordered = bool(categories.attrs.get("ordered", False))
        return _labels(path, values_of(path, dataset), categories, ordered)
    if h5py.check_string_dtype(dataset.dtype):
        return array_of_texts(path, dataset)
    offset = dataset.id.get_offset()  # None unless the bytes lie in one piece in this file
    # A dataset nobody wrote to has no bytes, though HDF5 can name an offset for it all the same.
    is_written = dataset.id.get_storage_size() == dataset.nbytes
    same_bytes = dataset.id.get_type().equal(h5py.h5t.py_create(dataset.dtype, logical=True))
    can_map = offset is not None and is_written and same_bytes and dataset.dtype.kind in "biuf"
    if mmap and can_map:
        return map_array(path, dataset.dtype, dataset.shape, offset=offset, mmap=True)
    return np.asarray(values_of(path, dataset))


def _read_sparse(path: Path, key: str, group: Any, encoding: str) -> np.ndarray:
    def part(name: str) -> np.ndarray:
        return np.asarray(values_of(path, _part(path, group, name)))

    shape = _sparse_shape(group)
    return dense_matrix(path, key, encoding, shape, part, _is_reduced(path, group))


def _is_reduced(path: Path, group: Any) -> bool:
    """Whether the file has a reduced form already."""
    there = member(path, group.file, "obsm/X_pca") is not None
    records = member(path, group.file, "obsm")
    return there or "X_pca" in (getattr(getattr(records, "dtype", None), "names", None) or ())


def _labels(path: Path, codes: np.ndarray, categories: Any, ordered: bool) -> Labels:
    import h5py

    check_unpacked(path, CATEGORY_BYTES * len(codes), "codes of categories")
    is_text = h5py.check_string_dtype(categories.dtype)
    names = tuple(_text(name) for name in values_of(path, categories, as_text=bool(is_text)))
    return labels_of_codes(codes, names, ordered)


def _read_masked(path: Path, group: Any) -> Column:
    import h5py

    missing = np.asarray(values_of(path, _part(path, group, "mask")), dtype=bool)
    held = _part(path, group, "values")
    check_unpacked(path, INTEGER_BYTES * held.size, group.name)
    if h5py.check_string_dtype(held.dtype):
        values = values_of(path, held, as_text=True).astype(object)
    else:
        values = np.asarray(values_of(path, held))
    return masked_column(values, missing, group.name)
