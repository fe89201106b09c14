"""Decode the arrays that AnnData stores as groups of several arrays, in HDF5 and zarr."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from geodis.base.check import MOST_DENSE, InputError
from geodis.base.notes import note_entry
from geodis.data.columns import Column, Labels, read_column
from geodis.data.files.formats import Contents, Stored
from geodis.data.files.limits import CATEGORY_BYTES, INTEGER_BYTES, check_columns, check_unpacked

SPARSE = ("csr_matrix", "csc_matrix")  # the position is the axis that is compressed
CATEGORICAL = "categorical"
MASKED = ("nullable-integer", "nullable-boolean", "nullable-string-array")
REDUCED = "obsm/X_pca"

Parts = Mapping[str, Stored]


def with_defaults(contents: Contents, names: Sequence[str]) -> Contents:
    """Use X as the points and the named columns of obs as the factors."""
    check_columns(contents.path, len(names))
    return replace(contents, default="X", columns={name: f"obs/{name}" for name in names})


def array_of_group(
    contents: Contents, key: str, attributes: Mapping[str, Any], parts: Callable[[], Parts]
) -> Stored | None:
    """Return the array that a group encodes in several parts, or None for an ordinary group.

    Parameters
    ----------
    contents : Contents
        The contents of the file found so far.
    key : str
    attributes : mapping
        Attributes of the group: "encoding-type" and the entries that it requires.
    parts : callable
        Returns the arrays in the group by name.
    """
    encoding = attributes.get("encoding-type")
    if encoding in SPARSE:
        shape = tuple(int(size) for size in note_entry(attributes, "shape", list, key))
        if len(shape) != 2 or min(shape) < 0:
            raise ValueError(f"a sparse matrix must have two sizes; got {shape}")
        own = parts()
        kind = own["data"].dtype if "data" in own else "no data"
        read = partial(_dense, contents, key, own, shape, SPARSE.index(encoding))
        return Stored(shape, f"{kind} (sparse)", read)
    if encoding == CATEGORICAL and "codes" in (own := parts()):
        ordered = bool(attributes.get("ordered"))
        return Stored(own["codes"].shape, "labels", partial(_labels, contents, key, own, ordered))
    if encoding in MASKED and "values" in (own := parts()):
        values = own["values"]
        return Stored(values.shape, values.dtype, partial(_masked, contents, key, own))
    return None


def _part(key: str, parts: Parts, name: str) -> np.ndarray:
    """Read one array of a group; texts become an object array."""
    if name not in parts:
        raise ValueError(f"{key} must have an array {name}")
    part = parts[name].read()
    if isinstance(part, Labels):
        return np.array(part.categories, dtype=object)[part.codes]
    return part


def _numbers(key: str, parts: Parts, name: str) -> np.ndarray:
    part = _part(key, parts, name)
    if part.dtype.hasobject:
        raise ValueError(f"{name} of {key} must be numbers; got texts")
    return part


def _dense(
    contents: Contents, key: str, parts: Parts, shape: tuple[int, ...], axis: int
) -> np.ndarray:
    """Read a sparse matrix as a dense array."""
    path = contents.path
    if math.prod(shape) >= MOST_DENSE:
        reduced = REDUCED in contents.arrays or REDUCED in contents.parts
        there = f", which is in {path.name}:{REDUCED}" if reduced else ""
        raise InputError(
            f"{key} in {path} is sparse, and as a dense array of shape {shape} it would have more "
            f"than {MOST_DENSE} entries: reduce it first, for example by a principal "
            f"component analysis{there}."
        )
    check_unpacked(path, 8 * math.prod(shape), key)
    data, indices, indptr = (_numbers(key, parts, name) for name in ("data", "indices", "indptr"))
    return dense_from_indices(key, data, indices, indptr, shape, axis)


def dense_from_indices(
    key: str,
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    shape: tuple[int, ...],
    axis: int,
) -> np.ndarray:
    """Convert a compressed sparse matrix from a file to a dense array, checking its indices first.

    The check is needed because scipy's compiled code writes wherever the indices point.

    Parameters
    ----------
    key : str
    data, indices : ndarray of shape (nnz,)
    indptr : ndarray of shape (shape[axis] + 1,)
    shape : tuple of int
    axis : int
        The compressed axis: 0 for rows (CSR), 1 for columns (CSC).

    Examples
    --------
    >>> dense_from_indices("z", np.ones(2), np.array([1, 0]), np.array([0, 1, 2]), (2, 2), 0)
    array([[0., 1.],
           [1., 0.]])
    """
    from scipy import sparse

    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise ValueError(f"indices of {key} must be integers; got {indices.dtype}, {indptr.dtype}")
    pointers, other = indptr.astype(np.int64), shape[1 - axis]
    if (
        not indices.shape == data.shape == (len(indices),)
        or pointers.shape != (shape[axis] + 1,)
        or (pointers[1:] < pointers[:-1]).any()
        or pointers[0] != 0
        or pointers[-1] != len(indices)
    ):
        raise ValueError(f"the index pointers of {key} do not fit its {len(indices)} entries")
    if len(indices) and not 0 <= indices.min() <= indices.max() < other:
        raise ValueError(
            f"indices of {key} must lie between 0 and {other - 1}; got {indices.min()} to "
            f"{indices.max()}"
        )
    matrix = (sparse.csr_matrix, sparse.csc_matrix)[axis]
    return matrix((data, indices, pointers), shape=shape).toarray()


def _labels(contents: Contents, key: str, parts: Parts, ordered: bool) -> Labels:
    n_codes = math.prod(parts["codes"].shape)
    check_unpacked(contents.path, CATEGORY_BYTES * n_codes, f"codes of {key}")
    names = tuple(map(str, _part(key, parts, "categories")))
    return labels_of_codes(_numbers(key, parts, "codes"), names, ordered)


def labels_of_codes(codes: np.ndarray, names: tuple[str, ...], ordered: bool) -> Labels:
    """Make labels from category codes, where -1 marks a missing value."""
    if codes.dtype.kind not in "iu":
        raise ValueError(f"codes of categories must be whole numbers; got {codes.dtype}")
    if codes.size and not -1 <= codes.min() <= codes.max() < len(names):
        raise ValueError(
            f"got codes from {codes.min()} to {codes.max()} for {len(names)} categories"
        )
    return Labels(codes.astype(np.int64), names, ordered)


def _masked(contents: Contents, key: str, parts: Parts) -> Column:
    """Read values with a mask that is true where a value is missing; objects are texts."""
    check_unpacked(contents.path, INTEGER_BYTES * math.prod(parts["values"].shape), key)
    missing = np.asarray(_numbers(key, parts, "mask"), dtype=bool)
    values = _part(key, parts, "values")
    if values.dtype.kind == "O":
        values = values.copy()
        values[missing] = None
        return Labels.of(values)
    return read_column(np.ma.array(values, mask=missing), key) if missing.any() else values
