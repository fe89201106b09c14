"""How AnnData stores one array in a group of several, in whatever file the group lies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from geodis.base.check import MOST_DENSE, InputError
from geodis.data.read_column import Column, Labels, read_column

SPARSE = ("csr_matrix", "csc_matrix")  # in the order of the axis that they compress
CATEGORICAL = "categorical"
MASKED = ("nullable-integer", "nullable-boolean", "nullable-string-array")


def check_sparse_shape(sizes: Sequence[int] | np.ndarray) -> tuple[int, ...]:
    """The shape of a sparse matrix, as its group says it."""
    shape = tuple(int(size) for size in np.atleast_1d(sizes))
    if len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"a sparse matrix must have two sizes; got {shape}")
    return shape


def dense_matrix(
    path: Path,
    key: str,
    encoding: str,
    shape: tuple[int, ...],
    part: Callable[[str], np.ndarray],
    reduced: bool,
) -> np.ndarray:
    """A sparse matrix as a dense array.

    Parameters
    ----------
    path : Path
    key : str
    encoding : str
        One of `SPARSE`.
    shape : tuple of int
    part : callable
        Reads "data", "indices" or "indptr".
    reduced : bool
        Whether the file has principal components already, which a message then names.
    """
    from scipy import sparse

    if math.prod(shape) >= MOST_DENSE:
        there = f", which is in {path.name}:obsm/X_pca" if reduced else ""
        raise InputError(
            f"{key} in {path} is sparse, and as a dense array of shape {shape} it would have more "
            f"than {MOST_DENSE} entries: reduce it first, for example by a principal "
            f"component analysis{there}."
        )
    data, indices, indptr = (part(name) for name in ("data", "indices", "indptr"))
    counts = np.diff(indptr.astype(np.int64))
    n_compressed = shape[SPARSE.index(encoding)]
    if len(counts) != n_compressed or (counts < 0).any() or counts.sum() != len(indices):
        raise ValueError(f"the index pointers of {key} do not fit its {len(indices)} entries")
    compressed = np.repeat(np.arange(n_compressed), counts)
    coordinates = (compressed, indices) if encoding == "csr_matrix" else (indices, compressed)
    # Through coordinates, because those are checked against the shape: toarray of a csr_matrix
    # writes wherever damaged indices say, and may take the interpreter down.
    return sparse.coo_matrix((data, coordinates), shape=shape).toarray()


def labels_of_codes(codes: np.ndarray, names: tuple[str, ...], ordered: bool) -> Labels:
    """Categories by number, -1 for none."""
    codes = np.asarray(codes)
    if codes.dtype.kind not in "iu":
        raise ValueError(f"codes of categories must be whole numbers; got {codes.dtype}")
    if codes.size and not -1 <= codes.min() <= codes.max() < len(names):
        raise ValueError(
            f"got codes from {codes.min()} to {codes.max()} for {len(names)} categories"
        )
    return Labels(codes.astype(np.int64), names, ordered)


def masked_column(values: np.ndarray, missing: np.ndarray, name: str) -> Column:
    """Values with a mask that is true where one is missing; objects are texts."""
    if values.dtype.kind == "O":
        text = values.copy()
        text[missing] = None
        return Labels.of(text)
    if not missing.any():
        return values
    return read_column(np.ma.array(values, mask=missing), name)
