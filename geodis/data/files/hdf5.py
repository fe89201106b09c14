"""Readers of HDF5 and AnnData files: datasets, sparse matrices and tables of observations."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError, require
from geodis.data.columns import Column, Labels
from geodis.data.files.anndata import array_of_group, labels_of_codes, with_defaults
from geodis.data.files.formats import (
    Contents,
    Stored,
    check_written,
    map_array,
    register_reader,
    unreadable,
)
from geodis.data.files.limits import (
    CATEGORY_BYTES,
    CHARACTER_BYTES,
    TEXT_BYTES,
    check_chunks,
    check_count,
    check_unpacked,
    unpacked_limit,
)

# A file may point to bytes in other files of the machine (external storage, virtual datasets,
# external links). All of these are refused: otherwise the author of a file could read other files
# with the rights of the person who opens it. Only hard links are followed.

# Variable-length texts are read in blocks that grow while the texts are short.
FEW_TEXTS, MANY_TEXTS = 16, 2**16
# Maximum depth of groups: a file may link a group into itself.
MOST_DEPTH = 64


def member(path: Path, group: Any, key: str) -> Any:
    """Return the group or dataset of a key if only hard links lead to it; None if it is missing."""
    import h5py

    node = group
    for name in filter(None, key.split("/")):
        if not isinstance(node, h5py.Group):
            return None
        link = node.get(name, getlink=True)
        if link is None:
            return None
        if not isinstance(link, h5py.HardLink):
            kind = "an external" if isinstance(link, h5py.ExternalLink) else "a soft"
            raise InputError(
                f"{path} must not link {key} to another place or file; got {kind} link, which "
                "geodis never follows."
            )
        node = node[name]
    return node


def members(
    group: Any, prefix: str = "", seen: set[int] | None = None, depth: int = 0
) -> Iterator[tuple[str, Any]]:
    """Yield every group and dataset below a group with its key, following hard links only."""
    import h5py

    seen = {_address(group)} if seen is None else seen
    if depth > MOST_DEPTH:
        raise ValueError(f"its groups lie more than {MOST_DEPTH} deep")
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            continue
        node = group[name]
        yield f"{prefix}{name}", node
        # Groups may contain each other, so each is visited once.
        if isinstance(node, h5py.Group) and (address := _address(node)) not in seen:
            seen.add(address)
            yield from members(node, f"{prefix}{name}/", seen, depth + 1)


def _address(node: Any) -> int:
    """Return the address of a group or dataset in its file."""
    import h5py

    return int(h5py.h5o.get_info(node.id).addr)


def referred(path: Path, file: Any, reference: Any) -> Any:
    """Return the dataset to which an object reference points; a text could name a link."""
    import h5py

    if not isinstance(reference, h5py.Reference) or not reference:
        raise ValueError("the categories of an array must be a reference into the file")
    node = file[reference]
    if not isinstance(node, h5py.Dataset):
        raise ValueError("the categories of an array must be a dataset")
    return own_dataset(path, node)


def own_dataset(path: Path, dataset: Any) -> Any:
    """Return the dataset if its bytes are in this file."""
    if dataset.external:
        got = f"external storage in {dataset.external[0][0]!r}"
    elif dataset.is_virtual:
        got = "a virtual dataset, made of other datasets"
    else:
        return dataset
    raise InputError(
        f"{path} must hold the bytes of {dataset.name} itself; got {got}, which geodis never reads."
    )


def values_of(path: Path, dataset: Any, as_text: bool = False) -> Any:
    """Read all values after checking their size: unwritten values are filled in by HDF5."""
    import h5py

    own_dataset(path, dataset)
    if dataset.shape is None:
        raise ValueError(f"{dataset.name} holds no values")
    if dataset.id.get_storage_size() == 0:
        check_written(0, dataset.shape, dataset.dtype.itemsize)
    needed = math.prod(dataset.shape) * dataset.dtype.itemsize
    chunk = math.prod(dataset.chunks or (1,)) * dataset.dtype.itemsize
    check_unpacked(path, max(needed, chunk), dataset.name)
    check_chunks(path, dataset)
    if h5py.check_string_dtype(dataset.dtype) and dataset.dtype.hasobject:
        return _texts_of(path, dataset, as_text)
    if dataset.dtype.hasobject:
        raise ValueError(f"{dataset.name} must hold an array of values; got lists or references")
    if not as_text:
        return dataset[()]
    check_unpacked(path, dataset.size * TEXT_BYTES + needed, dataset.name)
    return dataset.asstr(errors="replace")[()]


def _texts_of(path: Path, dataset: Any, as_text: bool) -> Any:
    """Read variable-length texts in blocks: many entries may refer to one long text."""
    source = dataset.asstr(errors="replace") if as_text else dataset
    if not dataset.shape:
        return source[()]
    limit, _ = unpacked_limit(path)
    blocks, start, step, total = [np.zeros((0, *dataset.shape[1:]), object)], 0, FEW_TEXTS, 0
    width = max(math.prod(dataset.shape[1:]), 1)
    while start < dataset.shape[0]:
        block = source[start : start + max(step // width, 1)]
        size = sum(map(sys.getsizeof, block.reshape(-1)))
        total += size
        if total > limit:
            check_unpacked(path, total, f"text of {dataset.name}")
        blocks.append(block)
        start += len(block)
        if size < 2**20:
            step = min(2 * step, MANY_TEXTS)
    return np.concatenate(blocks)


def array_of_texts(path: Path, dataset: Any) -> np.ndarray:
    """Read texts as a numpy string array, whose entries all take as much as the longest."""
    texts = np.asarray(values_of(path, dataset, as_text=True))
    longest = max(map(len, texts.reshape(-1)), default=0)
    check_unpacked(path, texts.size * longest * CHARACTER_BYTES, dataset.name)
    return texts.astype(str)


# Parts of the arrays that AnnData stores as groups: sparse, categorical and masked ones.
PARTS = ("data", "indices", "indptr", "codes", "categories", "values", "mask")


@register_reader(".h5", ".hdf5")
def read_hdf5(path: Path, mmap: bool) -> Contents:
    """List every dataset by its path, and the groups in which AnnData stores one array.

    Each field of a dataset of records is listed as an array as well.
    """
    h5py = require("h5py", purpose=f"Reading {path.suffix} files")
    contents = Contents(path, {})
    with h5py.File(path, "r") as file:
        for key, node in members(file):
            if key.rpartition("/")[0] in contents.arrays:
                continue  # part of an array that is listed as a whole
            if isinstance(node, h5py.Dataset):
                _list_dataset(contents, key, node, mmap)
            elif (array := _array_of_group(contents, key, node)) is not None:
                contents.arrays[key] = array
            check_count(path, len(contents.arrays) + len(contents.parts))
    return contents


def _list_dataset(contents: Contents, key: str, dataset: Any, mmap: bool) -> None:
    """List a dataset, and each field of a dataset of records."""
    if dataset.shape is None:
        return
    path, dtype = contents.path, dataset.dtype
    read, rows, step = partial(_read, path, key, mmap), None, 1
    if dataset.chunks and dtype.kind in "biuf":  # otherwise mapped, or not numeric
        rows, step = partial(_read_rows, path, key), dataset.chunks[0]
    contents.arrays[key] = Stored(
        dataset.shape, _kind(dtype), read, read_rows=rows, chunk_rows=step
    )
    for name in dtype.names or ():
        shape = (*dataset.shape, *dtype[name].shape)
        field = partial(_read_field, path, key, name)
        contents.parts[f"{key}/{name}"] = Stored(shape, _kind(dtype[name].base), field)


def _array_of_group(contents: Contents, key: str, group: Any) -> Stored | None:
    """Return the array that AnnData stores in a group.

    Before version 0.7, AnnData marked only sparse arrays, with other attributes.
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
    """List the datasets of a group in which AnnData stores one array."""
    found = {}
    for name in PARTS:
        try:
            part = member(path, group, name)
        except InputError as problem:  # a link, refused when it is read
            found[name] = unreadable((), "link", problem)
            continue
        if getattr(part, "shape", None) is not None:
            read = partial(_read_part, path, f"{key}/{name}")
            found[name] = Stored(part.shape, _kind(part.dtype), read)
    return found


def _read_part(path: Path, key: str) -> np.ndarray:
    """Read a dataset; texts become an object array."""
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
    """Read an AnnData file: X holds the points, and the columns of obs are the factors."""
    h5py = require("h5py", purpose="Reading .h5ad files")
    contents = read_hdf5(path, mmap)
    with h5py.File(path, "r") as file:
        obs = member(path, file, "obs")
        if isinstance(obs, h5py.Group):
            names = [_text(name) for name in obs.attrs.get("column-order", ())]
        else:  # before version 0.7: a dataset of records with its categories in uns
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
            raise ValueError(f"{key} must hold an array of values; got lists or references")
        values = dataset[name]
        if h5py.check_string_dtype(dataset.dtype[name]):
            return Labels.of([_text(value) for value in values])
        return np.asarray(values)


def _read(path: Path, key: str, mmap: bool) -> Column:
    import h5py

    with h5py.File(path, "r") as file:
        dataset = own_dataset(path, member(path, file, key))
        if "categories" in dataset.attrs:  # a categorical, as stored before AnnData 0.8
            categories = referred(path, file, dataset.attrs["categories"])
            ordered = bool(categories.attrs.get("ordered", False))
            return _labels(path, values_of(path, dataset), categories, ordered)
        if h5py.check_string_dtype(dataset.dtype):
            return array_of_texts(path, dataset)
        offset = dataset.id.get_offset()  # None unless the bytes are contiguous in this file
        # An unwritten dataset has no bytes, though HDF5 may give an offset for it.
        is_written = dataset.id.get_storage_size() == dataset.nbytes
        same_bytes = dataset.id.get_type().equal(h5py.h5t.py_create(dataset.dtype, logical=True))
        can_map = offset is not None and is_written and same_bytes and dataset.dtype.kind in "biuf"
        if mmap and can_map:
            return map_array(path, dataset.dtype, dataset.shape, offset=offset, mmap=True)
        return np.asarray(values_of(path, dataset))


def _read_rows(path: Path, key: str, start: int, stop: int) -> np.ndarray:
    """Read some rows of a chunked dataset."""
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
