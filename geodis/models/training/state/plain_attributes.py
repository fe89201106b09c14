"""Settings of an object: what it was given, and not what it counts or keeps when it is at work."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from inspect import unwrap
from pathlib import PurePath
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import torch
from torch import nn

from geodis.models.training.state.function_texts import names_used

# What prints as what it is.
PLAIN = (
    *(bool, int, float, complex, str, bytes, type(None), type(...), range, slice),
    *(np.generic, np.dtype, torch.dtype, torch.device, PurePath),
)
# What geodis and torch call of an object that they are given.
AT_WORK = ("forward", "__call__", "log_prob", "sample", "draw_for", "_draw")
CALLS = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")


def plain_attributes(thing: Any) -> dict[str, Any]:
    """Settings of an object by name: plain values that it was given.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> plain_attributes(SimpleNamespace(width=3, rows=np.zeros(2)))
    {'width': 3}
    """
    return {name: value for name, value in attributes_of(thing).items() if is_plain(value)}


def is_plain(value: Any) -> bool:
    """Whether a value is a number, a text or the like, or made of these."""
    if isinstance(value, dict):
        return all(map(is_plain, (*value, *value.values())))
    if isinstance(value, tuple | list | set | frozenset):
        return all(map(is_plain, value))
    return isinstance(value, PLAIN)


def attributes_of(thing: Any, at_work: tuple[str, ...] = AT_WORK) -> dict[str, Any]:
    """Attributes of an object by name; not those of every torch module, and no state.

    Parameters
    ----------
    thing : object
    at_work : tuple of str
        Its methods by which others use it: what they set is state.
    """
    values = {
        name: getattr(thing, name)
        for kind in type(thing).__mro__
        for name in _slots(kind)
        if hasattr(thing, name)
    }
    values |= getattr(thing, "__dict__", {})
    kind: Any = type(thing)
    shared = vars(nn.Module()) if isinstance(thing, nn.Module) else ()
    left_out = {*_states(kind, at_work), *shared}
    return {name: value for name, value in values.items() if name not in left_out}


def _slots(kind: type) -> Iterable[str]:
    slots = vars(kind).get("__slots__", ())
    return () if isinstance(slots, str) else slots


@lru_cache(maxsize=64)
def _states(kind: Any, at_work: tuple[str, ...]) -> frozenset[str]:
    """Attributes that methods set when an object is at work; not what one calls to change it."""
    methods = [
        (name, inner.__code__)
        for each in kind.__mro__
        for name, value in vars(each).items()
        if isinstance(value, FunctionType) and isinstance(inner := unwrap(value), FunctionType)
    ]
    called: set[CodeType] = set()
    names = set(at_work)
    while more := {code for name, code in methods if name in names} - called:
        called |= more
        names = names.union(*(names_used(code, *CALLS) for code in more))
    return frozenset().union(*(names_used(code, "STORE_ATTR") for code in called))
