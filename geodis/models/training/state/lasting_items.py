"""What of the items of a Dataset is the same whenever it is asked for, as bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from torch import Tensor

from geodis.models.randomness import host_seeded, seeded
from geodis.models.training.state.digests import array_piece, digest_of, tensor_pieces

Parts = dict[str, str]


def lasting_items(
    dataset: Any, places: Sequence[int], seeds: tuple[int, int] = (0, 1)
) -> Iterator[bytes]:
    """Bytes of the parts of items that are the same when they are asked for twice.

    Parameters
    ----------
    dataset : torch Dataset
        Or whatever has items. It may change them at random, such as images and not their labels:
        a part, which the items have in common, is left out unless it lasts in all of them.
    places : sequence of int
        Which items.
    seeds : (int, int)
        Of torch, numpy and Python, one each time. Twice the same leaves out only what no seed
        determines.

    Yields
    ------
    bytes
        None where items cannot be asked for by their places.
    """
    return _lasting(partial(_at, dataset, places), seeds)


def first_items(dataset: Any, n: int, seeds: tuple[int, int] = (0, 0)) -> Iterator[bytes]:
    """The same of the first n items of a Dataset that can only be iterated.

    None where it is its own iterator: what is looked at would be gone.
    """
    return _lasting(partial(_first, dataset, n), seeds)


def _at(dataset: Any, places: Sequence[int]) -> list[Any]:
    return [dataset[place] for place in places]


def _first(dataset: Any, n: int) -> list[Any]:
    items = iter(dataset)
    if items is dataset:
        raise TypeError("its items come once")
    return list(islice(items, n))


def _lasting(ask: Callable[[], list[Any]], seeds: tuple[int, int]) -> Iterator[bytes]:
    try:
        first, second = (_parts_under(seed, ask) for seed in seeds)
    except Exception:  # whatever the user's code raises; training says it, if it has to ask too
        return
    if len(first) != len(second):
        return
    names = sorted({name for item in (*first, *second) for name in item})
    pairs = list(zip(first, second, strict=True))
    for name in names:
        if all(one.get(name) == other.get(name) for one, other in pairs):
            yield from (f"{name} {item.get(name)}".encode() for item in first)


def _parts_under(seed: int, ask: Callable[[], list[Any]]) -> list[Parts]:
    with seeded(seed), host_seeded(seed):
        return [_parts_of(item) for item in ask()]


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
