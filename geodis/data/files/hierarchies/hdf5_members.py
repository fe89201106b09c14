"""Members of an HDF5 file, reached by hard links alone, and their values in bounded memory.

A file may say that its bytes lie in another file of the machine (external storage, virtual data
sets, external links). Whoever made it would then read through whoever opens it: all of that is
refused.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.data.files.contents import check_written
from geodis.data.files.hierarchies.packed_chunks import check_chunks
from geodis.data.files.limits import CHARACTER_BYTES, TEXT_BYTES, check_unpacked, unpacked_limit

# Texts of any length are read so many at once at first, and more where they are short.
FEW_TEXTS, MANY_TEXTS = 16, 2**16
# Links to follow at most: a file may link a group into itself.
MOST_DEPTH = 64


def member(path: Path, group: Any, key: str) -> Any:
    """The group or data set of a key, if hard links alone lead there; None if nothing does."""
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
    """Every group and dataset below a group with its key, by hard links alone."""
    import h5py

    seen = {_address(group)} if seen is None else seen
    if depth > MOST_DEPTH:
        raise ValueError(f"its groups lie more than {MOST_DEPTH} deep")
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            continue
        node = group[name]
        yield f"{prefix}{name}", node
        # Groups may contain each other: each is looked through only once.
        if isinstance(node, h5py.Group) and (address := _address(node)) not in seen:
            seen.add(address)
            yield from members(node, f"{prefix}{name}/", seen, depth + 1)


def _address(node: Any) -> int:
    """Where in its file a group or dataset lies."""
    import h5py

    return int(h5py.h5o.get_info(node.id).addr)


def referred(path: Path, file: Any, reference: Any) -> Any:
    """The data set of this file that an attribute refers to; a text could name a link."""
    import h5py

    if not isinstance(reference, h5py.Reference) or not reference:
        raise ValueError("the categories of an array must be a reference into the file")
    node = file[reference]
    if not isinstance(node, h5py.Dataset):
        raise ValueError("the categories of an array must be a dataset")
    return own_dataset(path, node)


def own_dataset(path: Path, dataset: Any) -> Any:
    """The data set itself, if its bytes are in this file."""
    if dataset.external:
        got = f"external storage in {dataset.external[0][0]!r}"
    elif dataset.is_virtual:
        got = "a virtual data set, of other data sets"
    else:
        return dataset
    raise InputError(
        f"{path} must hold the bytes of {dataset.name} itself; got {got}, which geodis never reads."
    )


def values_of(path: Path, dataset: Any, as_text: bool = False) -> Any:
    """All values; HDF5 makes up those that nobody wrote, however many there are."""
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
        raise ValueError(f"{dataset.name} holds lists or references, and geodis reads arrays")
    if not as_text:
        return dataset[()]
    check_unpacked(path, dataset.size * TEXT_BYTES + needed, dataset.name)
    return dataset.asstr(errors="replace")[()]


def _texts_of(path: Path, dataset: Any, as_text: bool) -> Any:
    """Texts of any length, some at a time: many may stand for the same long one."""
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
    """Texts as an array of numpy, in which each takes as much as the longest."""
    texts = np.asarray(values_of(path, dataset, as_text=True))
    longest = max(map(len, texts.reshape(-1)), default=0)
    check_unpacked(path, texts.size * longest * CHARACTER_BYTES, dataset.name)
    return texts.astype(str)
