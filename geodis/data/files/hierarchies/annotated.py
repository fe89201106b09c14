"""How AnnData stores one array in a group of several, in whatever file the group lies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from geodis.base.check import MOST_DENSE, InputError
from geodis.data.files.limits import check_unpacked
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
    if math.prod(shape) >= MOST_DENSE:
        there = f", which is in {path.name}:obsm/X_pca" if reduced else ""
        raise InputError(
            f"{key} in {path} is sparse, and as a dense array of shape {shape} it would have more "
            f"than {MOST_DENSE} entries: reduce it first, for example by a principal "
            f"component analysis{there}."
        )
    check_unpacked(path, 8 * math.prod(shape), key)
    data, indices, indptr = (part(name) for name in ("data", "indices", "indptr"))
    return dense_from_indices(key, data, indices, indptr, shape, SPARSE.index(encoding))


def dense_from_indices(
    key: str,
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    shape: tuple[int, ...],
    axis: int,
) -> np.ndarray:
    """A compressed sparse matrix of a file as a dense array, once its indices are known to fit.

    scipy's compiled code writes wherever the indices say.

    Parameters
    ----------
    key : str
    data, indices : ndarray of shape (nnz,)
    indptr : ndarray of shape (shape[axis] + 1,)
    shape : tuple of int
    axis : int
        The one that is compressed: 0 for rows (CSR), 1 for columns (CSC).

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
