"""Short texts that tell code of the user's own from other code: functions, classes, modules."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache, cached_property, partial
from pathlib import Path
from sys import stdlib_module_names
from types import BuiltinFunctionType, FunctionType, MethodType, SimpleNamespace
from typing import Any

import numpy as np
from torch import Tensor, nn

from geodis.models.model import Model
from geodis.models.training.state.digests import array_piece, digest_of, tensor_pieces
from geodis.models.training.state.function_texts import function_text, names_used
from geodis.models.training.state.plain_attributes import PLAIN, attributes_of, is_plain

# Packages whose code is told by names, as is that of whatever is installed: it is not the user's.
LIBRARIES = {"geodis", "torch", "numpy", "scipy", "pandas", *stdlib_module_names}
INSTALLED = {"site-packages", "dist-packages"}
# They move while a model trains, and do not say which loss it has.
BATCH_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")
# How often geodis numbers classes depends on what else was defined.
COUNTED = ("_number",)
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
# What a function may name in its module. Lists and dicts are left out: they are filled as it runs.
Named = FunctionType | BuiltinFunctionType | partial | type | nn.Module | Tensor | np.ndarray


def code_fingerprint(thing: Any, *, weights: bool = True) -> str:
    """Digest of code: equal for the same code in another process, different for other code.

    Comments, formatting and docstrings do not count.

    Parameters
    ----------
    thing : class, function, nn.Module or other callable
        Of a class, what stands in it and in those that it is derived from; of a function, its
        source, what it has from around it, and what it names in its module: functions, classes,
        tensors and plain values, but no lists, dicts or sets. Of a partial, its function and
        arguments; of a module, its structure as it prints, its classes, settings and tensors; of
        other objects, their classes and settings. Code of geodis, torch and other installed
        libraries counts by its name.
    weights : bool
        Whether the tensors of a module count. Those of a model are told by themselves.

    Returns
    -------
    str

    Notes
    -----
    What code sets while it runs is not counted: names outside a function that it stores, and
    attributes that an object sets when it is called, such as a count of its calls.

    Examples
    --------
    >>> from functools import partial
    >>> code_fingerprint(partial(pow, exp=2)) == code_fingerprint(partial(pow, exp=3))
    False
    """
    return _Telling(weights).of(thing)


def has_own_code(kind: type) -> bool:
    """Whether a class, or one that it is derived from, is neither of geodis nor of a library.

    Examples
    --------
    >>> has_own_code(nn.Linear)
    False
    """
    return any(map(_is_own, kind.__mro__))


class _Telling:
    """Digests of things that name one another, each made once."""

    def __init__(self, weights: bool) -> None:
        self._weights = weights
        # With the things themselves: the number of one that is gone is given to another.
        self._told: dict[int, tuple[Any, str]] = {}

    def of(self, thing: Any) -> str:
        """Digest of one thing."""
        if id(thing) not in self._told:
            self._told[id(thing)] = thing, "again"  # where a function names itself
            pieces = (
                each if isinstance(each, bytes) else each.encode() for each in self._of(thing)
            )
            self._told[id(thing)] = thing, digest_of(pieces)
        return self._told[id(thing)][1]

    def _of(self, thing: Any) -> Iterator[str | bytes]:
        yield type(thing).__name__
        if isinstance(thing, PLAIN):
            yield repr(thing)
        elif isinstance(thing, Tensor):
            learnt = isinstance(thing, nn.Parameter) and not self._weights
            yield from [f"{tuple(thing.shape)}"] if learnt else tensor_pieces({"": thing})
        elif isinstance(thing, np.ndarray):
            yield array_piece(thing)
        elif isinstance(thing, set | frozenset):
            yield from sorted(map(self.of, thing))
        elif isinstance(thing, tuple | list):
            yield from map(self.of, thing)
        elif isinstance(thing, Mapping):
            yield from map(self.of, (part for pair in thing.items() for part in pair))
        elif isinstance(thing, SimpleNamespace):
            yield from self._named(vars(thing))
        elif isinstance(thing, type):
            yield from self._of_class(thing)
        elif isinstance(thing, FunctionType):
            yield from self._of_function(thing)
        elif isinstance(thing, MethodType):
            yield from map(self.of, (thing.__func__, thing.__self__))
        elif isinstance(thing, partial):
            yield from map(self.of, (thing.func, thing.args, thing.keywords))
        elif isinstance(thing, Model):  # one that a loss looks at, and that learns
            yield _name(type(thing))
        elif isinstance(thing, nn.Module):
            yield from self._of_module(thing)
        elif inner := _functions_within(thing):
            yield from map(self.of, inner)
        elif hasattr(thing, "__name__") and not has_own_code(type(thing)):
            yield _name(thing)  # a module of Python, or a function that is not written in it
        else:
            yield from self._of_object(thing)

    def _named(self, values: Mapping[str, Any]) -> Iterator[str]:
        for name in sorted(values):
            yield name
            yield self.of(values[name])

    def _of_class(self, kind: type) -> Iterator[str]:
        yield kind.__name__
        for each in filter(_is_own, kind.__mro__):
            yield from (base.__name__ for base in each.__bases__)
            yield from self._named(
                {
                    name: value
                    for name, value in vars(each).items()
                    if name not in COUNTED and not _is_made_up(name, value)
                }
            )

    def _of_function(self, function: FunctionType) -> Iterator[str]:
        root = _root(function.__globals__.get("__name__"))
        own = not _is_library(root)
        # A lambda has no name to be told by.
        text = own or function.__name__ == "<lambda>"
        yield function_text(function) if text else _name(function)
        if own or root == "geodis":  # around a function of torch may be anything
            yield from self._named({"": function.__defaults__, "*": function.__kwdefaults__})
            yield from self._named(_around(function))
        if own:
            yield from self._named(self._named_in_its_module(function))
        if hasattr(function, "__wrapped__"):
            yield self.of(function.__wrapped__)

    def _named_in_its_module(self, function: FunctionType) -> dict[str, Any]:
        """Values, functions and classes that a function names; those from elsewhere, as texts."""
        code, module = function.__code__, function.__globals__
        names = names_used(code, "LOAD_GLOBAL", "LOAD_NAME") - names_used(code, "STORE_GLOBAL")
        known = {name: module[name] for name in names if name in module and name[:2] != "__"}
        return {
            name: _name(value) if _is_from_elsewhere(value, module) else value
            for name, value in known.items()
            if isinstance(value, Named)
            or hasattr(value, "__wrapped__")  # a cache around a function, say
            or (is_plain(value) and not isinstance(value, list | dict | set))
        }

    def _of_module(self, module: nn.Module) -> Iterator[str | bytes]:
        yield ADDRESS.sub("", repr(module))
        for name, part in module.named_modules():  # not all print all of their settings
            yield from (name, self.of(type(part)))
            settings = attributes_of(part)
            if _root(type(part).__module__) == "torch":
                # Some keep a tensor that they compute from their weights, or a number of their own.
                settings = {
                    key: each
                    for key, each in settings.items()
                    if key[0] != "_" and not isinstance(each, Tensor)
                }
            yield from self._named(settings)
        if self._weights:
            state = module.state_dict()
            yield from tensor_pieces(
                {
                    name: value
                    for name, value in state.items()
                    if isinstance(value, Tensor) and name.rpartition(".")[2] not in BATCH_STATISTICS
                }
            )

    def _of_object(self, thing: Any) -> Iterator[str]:
        yield self.of(type(thing))
        # Settings of a library's object may be anything, such as the state of a generator.
        if has_own_code(type(thing)) or _root(type(thing).__module__) == "geodis":
            yield from self._named(attributes_of(thing))


def _root(module: Any) -> str:
    return str(module or "builtins").partition(".")[0]


@cache
def _is_library(root: str) -> bool:
    """Whether a package is known as a library, or lies where libraries are installed."""
    file = getattr(sys.modules.get(root), "__file__", None)
    return root in LIBRARIES or (file is not None and not INSTALLED.isdisjoint(Path(file).parts))


def _is_own(kind: type) -> bool:
    return not _is_library(_root(kind.__module__))


def _is_from_elsewhere(value: Any, module: Mapping[str, Any]) -> bool:
    value = inspect.unwrap(value) if callable(value) else value  # what decorators stand around
    if isinstance(value, FunctionType):
        return value.__globals__ is not module and value.__name__ != "<lambda>"
    return isinstance(value, type) and value.__module__ != module.get("__name__")


def _name(thing: Any) -> str:
    return str(getattr(thing, "__qualname__", None) or thing.__name__)


def _is_made_up(name: str, value: Any) -> bool:
    """Whether a name of a class is Python's own and no function, such as `__module__`."""
    made_up = name.startswith("__") and name.endswith("__")
    return made_up and not (isinstance(value, FunctionType) or _functions_within(value))


def _functions_within(thing: Any) -> list[Any]:
    """Functions that a property, a cache and the like are made of."""
    if isinstance(thing, property):
        return [each for each in (thing.fget, thing.fset) if each is not None]
    if isinstance(thing, cached_property):
        return [thing.func]
    inner = getattr(thing, "__wrapped__", None)  # of class methods and caches
    return [] if inner is None else [inner]


def _around(function: FunctionType) -> dict[str, Any]:
    """Values that a function has from those around it, by name; not those that it sets."""
    code = function.__code__
    set_by_it = names_used(code, "STORE_DEREF") | {"__class__"}
    values = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        if name not in set_by_it:
            try:
                values[name] = cell.cell_contents
            except ValueError:  # it has none yet
                continue
    return values
