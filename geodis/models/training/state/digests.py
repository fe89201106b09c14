"""Short digests of bytes, and the bytes of tensors and arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import torch
from torch import Tensor


def digest_of(pieces: Iterable[bytes]) -> str:
    """Digest of pieces in their order: 16 hexadecimal digits.

    Examples
    --------
    >>> digest_of([b"ab", b"c"]) == digest_of([b"a", b"bc"])
    False
    """
    made = hashlib.sha256()
    for piece in pieces:
        made.update(len(piece).to_bytes(8, "little"))
        made.update(piece)
    return made.hexdigest()[:16]


def tensor_pieces(tensors: Mapping[str, Tensor]) -> Iterator[bytes]:
    """Names, dtypes, shapes and every byte, in the order of the names."""
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        yield f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode()
        yield tensor.reshape(-1).view(torch.uint8).numpy().tobytes()


def array_piece(array: np.ndarray) -> bytes:
    """Dtype, shape and entries; entries that are objects, such as texts, as they print."""
    if array.dtype.hasobject:
        return repr(array.tolist()).encode()
    return f"{array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes()


def row_pieces(rows: np.ndarray | Tensor, most_bytes: int) -> Iterator[bytes]:
    """All rows of small data, and of larger so many bytes, by rows at even steps."""
    yield f"{tuple(rows.shape)}".encode()
    row_bytes = max(rows[:1].nbytes, 1)
    index = even_steps(len(rows), max(most_bytes // row_bytes, 1))
    if isinstance(rows, Tensor):
        yield from tensor_pieces({"": rows[torch.from_numpy(index)]})
    else:
        # A file that is mapped is read row by row.
        yield array_piece(rows if len(index) == len(rows) else rows[index])


def even_steps(n: int, most: int) -> np.ndarray:
    """At most so many of n places, at even steps, from the first to the last.

    Examples
    --------
    >>> even_steps(9, 3).tolist(), even_steps(2, 3).tolist()
    ([0, 4, 8], [0, 1])
    """
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64)) if n else np.arange(0)
