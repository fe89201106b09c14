"""Short texts that tell weights, data, schedules and settings from others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from geodis.base.check import to_numpy
from geodis.base.write import to_jsonable
from geodis.data.grids.grid import FactorGrid

# Bytes of data that are read: all of small data, rows at even steps of larger.
MOST_BYTES = 2**26
# Images of a grid that are looked at: they may have to be drawn.
MOST_IMAGES = 256
# Parts of the training at which a schedule is looked at.
PARTS = 101


def plain_digest(values: Mapping[str, Any]) -> str:
    """Digest of plain values by name, in any order: 16 hexadecimal digits.

    Examples
    --------
    >>> plain_digest({"a": 1, "b": (2.0,)}) == plain_digest({"b": [2.0], "a": 1})
    True
    """
    text = json.dumps(to_jsonable(dict(values)), sort_keys=True, allow_nan=False)
    return _digest([text.encode()])


def weights_fingerprint(tensors: Mapping[str, Tensor]) -> str:
    """Digest of tensors by name: of their dtypes, shapes and every byte."""
    return _digest(_tensor_bytes(tensors))


def _tensor_bytes(tensors: Mapping[str, Tensor]) -> Iterable[bytes]:
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        yield f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode()
        yield tensor.reshape(-1).view(torch.uint8).numpy().tobytes()


def data_fingerprint(data: Any) -> str | None:
    """Digest of what a model is trained on; None for what orders itself, such as a DataLoader.

    Parameters
    ----------
    data : FactorGrid, array-like, Tensor, tuple of these, torch Dataset or DataLoader
        As for `train`. Of a Dataset its kind and its length count. Of a grid 256 images at even
        steps are looked at, with their factors; of arrays all, up to 64 MB, and rows at even steps
        beyond.

    Returns
    -------
    str or None

    Examples
    --------
    >>> data_fingerprint(np.zeros((3, 2))) == data_fingerprint(np.ones((3, 2)))
    False
    """
    if isinstance(data, torch.utils.data.DataLoader | torch.utils.data.IterableDataset):
        return None
    if isinstance(data, torch.utils.data.Dataset):
        # Items may be changed at random whenever they are asked for.
        return _digest([f"{type(data).__name__} {len(data)}".encode()])  # type: ignore[arg-type]
    if isinstance(data, FactorGrid):
        index = _spread(len(data), MOST_IMAGES)
        said = f"{len(data)} {data.sizes} {data.complete}".encode()
        images = [] if data.image_shape is None else [data.images(index, "auto")]
        return _digest([said, *map(_array_bytes, [data.factors(index), *images])])
    parts = data if isinstance(data, tuple) else (data,)
    return _digest(piece for part in parts for piece in _part_bytes(part))


def _part_bytes(part: Any) -> Iterable[bytes]:
    rows = part if isinstance(part, np.ndarray | Tensor) else to_numpy(part, "data")
    yield f"{tuple(rows.shape)}".encode()
    row_bytes = max(rows[:1].nbytes, 1)
    index = _spread(len(rows), max(MOST_BYTES // row_bytes, 1))
    if isinstance(rows, Tensor):
        yield from _tensor_bytes({"": rows[torch.from_numpy(index)]})
    else:
        # A file that is mapped is read row by row.
        yield _array_bytes(rows if len(index) == len(rows) else rows[index])


def _array_bytes(array: np.ndarray) -> bytes:
    """Dtype, shape and entries; entries that are objects, such as texts, as they print."""
    if array.dtype.hasobject:
        return repr(array.tolist()).encode()
    return f"{array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes()


def _spread(n: int, most: int) -> np.ndarray:
    """At most so many of n rows, at even steps."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64)) if n else np.arange(0)


def plan_fingerprint(plan: Callable[[float], float]) -> str:
    """Where a schedule begins and ends, and a digest of the way between.

    Examples
    --------
    >>> plan_fingerprint(lambda part: 4 * part)
    '0.0 to 4.0, curve ea0a616a'
    """
    values = [float(plan(part)) for part in np.linspace(0, 1, PARTS).tolist()]
    # A line and the function that draws the same line differ by rounding.
    curve = _digest([np.array(values, dtype=np.float32).tobytes()])[:8]
    return f"{values[0]} to {values[-1]}, curve {curve}"


def _digest(pieces: Iterable[bytes]) -> str:
    made = hashlib.sha256()
    for piece in pieces:
        made.update(len(piece).to_bytes(8, "little"))
        made.update(piece)
    return made.hexdigest()[:16]
