"""What of the items of a Dataset is the same whenever it is asked for, as bytes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from torch import Tensor

from geodis.models.randomness import seeded
from geodis.models.training.state.digests import array_piece, digest_of, tensor_pieces

Parts = dict[str, str]


def lasting_items(dataset: Any, places: Sequence[int]) -> Iterator[bytes]:
    """Bytes of the parts of items that are the same when they are asked for twice.

    Parameters
    ----------
    dataset : torch Dataset
        Or whatever has items. It may change them at random, such as images and not their labels:
        a part, which the items have in common, is left out unless it lasts in all of them.
    places : sequence of int
        Which items.

    Yields
    ------
    bytes
        None where items cannot be asked for by their places.
    """
    try:
        first, second = (_parts_at(places, dataset, seed) for seed in (0, 1))
    except Exception:  # whatever the user's code raises; training says it, if it has to ask too
        return
    names = sorted({name for item in (*first, *second) for name in item})
    pairs = list(zip(first, second, strict=True))
    for name in names:
        if all(one.get(name) == other.get(name) for one, other in pairs):
            yield from (f"{name} {item.get(name)}".encode() for item in first)


def _parts_at(places: Sequence[int], dataset: Any, seed: int) -> list[Parts]:
    with _all_seeded(seed):
        return [_parts_of(dataset[place]) for place in places]


def _parts_of(item: Any) -> Parts:
    """Digests of what an item is made of, by name or place."""
    named: Mapping[Any, Any] = {"": item}
    if isinstance(item, Mapping):
        named = item
    elif isinstance(item, tuple | list):
        named = dict(enumerate(item))
    return {str(name): digest_of(_pieces(part)) for name, part in named.items()}


def _pieces(part: Any) -> Iterator[bytes]:
    yield type(part).__name__.encode()
    if isinstance(part, Tensor):
        yield from tensor_pieces({"": part})
    elif isinstance(part, Mapping):
        yield from _pieces(list(part.items()))
    elif isinstance(part, tuple | list):
        for each in part:
            yield from _pieces(each)
    elif isinstance(part, bool | int | float | complex | str | bytes | None):
        yield repr(part).encode()
    elif hasattr(part, "__array_interface__"):  # an image of Pillow is one too
        yield array_piece(np.asarray(part))


@contextmanager
def _all_seeded(seed: int) -> Iterator[None]:
    """Run a block under a seed, and leave the random numbers of torch, numpy and Python."""
    python, legacy = random.getstate(), np.random.get_state()
    try:
        with seeded(seed):
            random.seed(seed)
            np.random.seed(seed)
            yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)
