"""Short texts that tell weights, data, schedules and settings from others."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from geodis.base.check import to_numpy
from geodis.base.write import to_jsonable
from geodis.data.grids.grid import FactorGrid
from geodis.models.training.state.code_fingerprints import code_fingerprint
from geodis.models.training.state.digests import (
    array_piece,
    digest_of,
    even_steps,
    row_pieces,
    tensor_pieces,
)
from geodis.models.training.state.lasting_items import first_items, lasting_items
from geodis.models.training.state.plain_attributes import plain_attributes

# Bytes of data that are read: all of small data, rows at even steps of larger.
MOST_BYTES = 2**26
# Images of a grid that are looked at, where they have to be drawn.
MOST_IMAGES = 256
# Items of a Dataset that are looked at: each may be a file.
MOST_ITEMS = 16
# Parts of the training at which a schedule is looked at, where its steps are not known.
PARTS = 101
# Steps at which a schedule is looked at: all of a shorter training, at even steps of a longer.
MOST_STEPS = 4097


def plain_digest(values: Mapping[str, Any]) -> str:
    """Digest of plain values by name, in any order: 16 hexadecimal digits.

    Examples
    --------
    >>> plain_digest({"a": 1, "b": (2.0,)}) == plain_digest({"b": [2.0], "a": 1})
    True
    """
    text = json.dumps(to_jsonable(dict(values)), sort_keys=True, allow_nan=False)
    return digest_of([text.encode()])


def weights_fingerprint(tensors: Mapping[str, Tensor]) -> str:
    """Digest of tensors by name: of their dtypes, shapes and every byte."""
    return digest_of(tensor_pieces(tensors))


def data_fingerprint(data: Any) -> str:
    """Digest of what a model is trained on.

    Parameters
    ----------
    data : FactorGrid, array-like, Tensor, tuple of these, torch Dataset or DataLoader
        As for `train`. Of arrays all counts, up to 64 MB, and rows at even steps beyond; so it does
        of a TensorDataset, and of a grid that holds its images as an array. A tensor is told as
        the array of the same values. Of other grids 256 images at even steps are drawn; their
        factors, class and settings count too. Of other Datasets class, length and 16 items at even
        steps count, but for what is made at random: see `items_fingerprint`, and
        `dataset_settings`. Of a DataLoader its Dataset counts, the size of its batches, whether it
        drops the last, the kind of its sampler, and how it puts batches together; of a Dataset
        that can only be iterated its class.

    Returns
    -------
    str

    Examples
    --------
    >>> data_fingerprint(np.zeros((3, 2))) == data_fingerprint(np.ones((3, 2)))
    False
    """
    return digest_of(_data_pieces(data))


def _data_pieces(data: Any) -> Iterator[bytes]:
    if isinstance(data, DataLoader):
        kinds = [type(each).__name__ for each in (data, data.sampler, data.batch_sampler)]
        yield f"{kinds} {data.batch_size} {data.drop_last}".encode()
        yield code_fingerprint(data.collate_fn).encode()
        # It takes whatever has items, such as a list.
        items = data.dataset
        yield from _grid_pieces(items) if isinstance(items, FactorGrid) else _dataset_pieces(items)
    elif isinstance(data, Dataset):
        yield from _dataset_pieces(data)
    elif isinstance(data, FactorGrid):
        yield from _grid_pieces(data)
    else:
        for part in data if isinstance(data, tuple) else (data,):
            yield from row_pieces(_as_array(part), MOST_BYTES)


def former_data_fingerprint(data: Any) -> str:
    """What `data_fingerprint` was of tensors before they were told as arrays are."""
    parts = data if isinstance(data, tuple) else (data,)
    if not all(isinstance(part, Tensor | np.ndarray) for part in parts):
        return data_fingerprint(data)
    return digest_of(piece for part in parts for piece in row_pieces(part, MOST_BYTES))


def _as_array(part: Any) -> np.ndarray | Tensor:
    """Rows as an array, images with their channels last; a tensor of which numpy has no kind."""
    if not isinstance(part, Tensor):
        return part if isinstance(part, np.ndarray) else to_numpy(part, "data")
    rows = part.detach()
    if rows.dtype == torch.bfloat16 or rows.device.type != "cpu":
        return rows
    return (rows.movedim(1, -1) if rows.ndim == 4 else rows).numpy()


def items_fingerprint(data: Any) -> str:
    """Digest of what a Dataset makes of 16 items where its seeds are set; empty for other data.

    Items are asked for twice under one seed: what differs then is left out, for nothing could make
    it the same. Of a Dataset that can only be iterated these are the first.
    """
    items = data.dataset if isinstance(data, DataLoader) else data
    if isinstance(items, TensorDataset) or not isinstance(items, Dataset):
        return ""
    if isinstance(items, IterableDataset):
        return digest_of(first_items(items, MOST_ITEMS))
    if not hasattr(items, "__len__"):
        return ""
    return digest_of(lasting_items(items, even_steps(len(items), MOST_ITEMS).tolist(), (0, 0)))


def _dataset_pieces(dataset: Any) -> Iterator[bytes]:
    yield type(dataset).__name__.encode()
    if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__len__"):
        return
    yield str(len(dataset)).encode()
    if isinstance(dataset, TensorDataset):
        for rows in dataset.tensors:
            yield from row_pieces(rows, MOST_BYTES)
    else:
        yield from lasting_items(dataset, even_steps(len(dataset), MOST_ITEMS).tolist())


def _grid_pieces(grid: FactorGrid) -> Iterator[bytes]:
    n, shape = len(grid), grid.image_shape
    yield f"{type(grid).__name__} {n} {grid.sizes} {grid.kinds} {grid.complete}".encode()
    if grid.periods != grid.sizes:
        yield str(grid.periods).encode()
    # Index and factors of a complete grid determine each other.
    most = MOST_IMAGES if grid.complete else MOST_BYTES // (8 * len(grid.sizes))
    yield array_piece(grid.factors(even_steps(n, max(most, 1))))
    if shape is not None and _holds_images(grid, shape):
        image_bytes = max(grid.images(range(min(n, 1)), "auto").nbytes, 1)
        index = even_steps(n, max(MOST_BYTES // image_bytes, 1))
        yield array_piece(grid.images(index, "auto"))
        return
    yield code_fingerprint(_own_settings(grid)).encode()
    for below in vars(grid).values():
        if isinstance(below, FactorGrid):  # whose images this one changes
            yield from _grid_pieces(below)
    if shape is not None:
        yield array_piece(grid.images(even_steps(n, MOST_IMAGES), "auto"))


def _holds_images(grid: FactorGrid, shape: tuple[int, ...]) -> bool:
    """Whether an attribute of the grid is an array, or a mapped file, of all its images."""
    n = len(grid)
    arrays = (each for each in vars(grid).values() if isinstance(each, np.ndarray))
    return any(each.shape[:1] == (n,) and each.size == n * math.prod(shape) for each in arrays)


def _own_settings(grid: FactorGrid) -> dict[str, Any]:
    """Plain values by which its class draws; names of factors change no number."""
    shared = vars(FactorGrid((1,)))
    named = plain_attributes(grid).items()
    return {name: each for name, each in named if name not in shared and name[0] != "_"}


def plan_fingerprint(plan: Callable[[float], float]) -> str:
    """Where a schedule begins and ends, and a digest of the way between.

    Examples
    --------
    >>> plan_fingerprint(lambda part: 4 * part)
    '0.0 to 4.0, curve ea0a616a'
    """
    curve = _curve(plan, np.linspace(0, 1, PARTS))
    return f"{float(plan(0.0))} to {float(plan(1.0))}, curve {curve}"


def course_fingerprint(plan: Callable[[float], float], horizon: int) -> str:
    """Digest of a schedule at the steps of its horizon: all, or 4,097 of more.

    Examples
    --------
    >>> course_fingerprint(lambda part: 4 * part, 101)
    'curve ea0a616a over 101 steps'
    """
    steps = even_steps(horizon, MOST_STEPS)
    return f"curve {_curve(plan, steps / max(horizon - 1, 1))} over {horizon} steps"


def _curve(plan: Callable[[float], float], parts: np.ndarray) -> str:
    values = [float(plan(part)) for part in parts.tolist()]
    # A line and the function that draws the same line differ by rounding.
    return digest_of([np.array(values, dtype=np.float32).tobytes()])[:8]
