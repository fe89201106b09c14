"""Notes in files, as JSON: entries that are checked, and dataclasses that are rebuilt from them.

Nothing in a file names a class. A dataclass is rebuilt by the types of its attributes, and every
value is checked against its type before anything is computed from it. Its arrays are stored in the
same safetensors file, outside the note.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from geodis.base.check import InputError, MissingExtraError
from geodis.base.safetensors_files import read_arrays

Entry = TypeVar("Entry")

WORDS: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
    float: "a number",
}


def note_entry(
    note: Any, name: str, kind: type[Entry], source: str | os.PathLike[str], low: int | None = None
) -> Entry:
    """Return an entry of a note and check its type: dict, list, str, int or float.

    Parameters
    ----------
    note : dict
        As it was read; anything else is refused.
    name : str
    kind : type
        A float may be written without a point. Null stands for NaN, which JSON does not have.
    source : path
        The name of the file in messages.
    low : int, optional
        The smallest number allowed.

    Examples
    --------
    >>> note_entry({"steps": 3}, "steps", int, "run")
    3
    >>> note_entry({"steps": "3"}, "steps", int, "run")
    Traceback (most recent call last):
    geodis.base.check.InputError: run must say a whole number as 'steps'; got '3'.
    """
    wanted = WORDS[kind] if low is None else f"{WORDS[kind]} of at least {low}"
    if not isinstance(note, dict) or name not in note:
        raise InputError(f"{source} must say {wanted} as {name!r}; got nothing.")
    value = note[name]
    if kind is float and (value is None or type(value) is int):
        value = float("nan") if value is None else float(value)
    # type, not isinstance: True is an instance of int.
    if type(value) is not kind or (low is not None and value < low):  # type: ignore[operator]
        raise InputError(f"{source} must say {wanted} as {name!r}; got {value!r}.")
    return value


def note_counts(note: Any, name: str, source: str | os.PathLike[str]) -> tuple[int, ...]:
    """Return an entry of a note that is a list of positive integers."""
    counts = note_entry(note, name, list, source)
    if any(type(count) is not int or count < 1 for count in counts):
        raise InputError(f"{source} must say whole numbers from 1 on as {name!r}; got {counts!r}.")
    return tuple(counts)


@contextmanager
def rebuilding(source: str | os.PathLike[str]) -> Iterator[None]:
    """Turn any error of a constructor into one sentence about the file."""
    try:
        yield
    except MissingExtraError:
        raise
    except InputError as error:
        if str(source) in str(error):
            raise
        raise InputError(f"{source} describes what cannot be built: {error}") from error
    # Broad on purpose: a wrong name or type of an option reaches constructors of any class, also
    # of other packages, which raise errors of any kind.
    except Exception as error:
        lines = str(error).strip().splitlines()
        reason = lines[0].rstrip(".") if lines else type(error).__name__
        if isinstance(error, KeyError):
            reason = f"{reason} is missing"
        raise InputError(f"{source} describes what cannot be built: {reason}.") from error


def named(table: Mapping[str, Entry], name: Any, source: str | os.PathLike[str]) -> Entry:
    """Look up a name from a note in a table."""
    if not isinstance(name, str) or name not in table:
        known = ", ".join(sorted(table))
        raise InputError(f"{source} must name one of {known}; got {name!r}.")
    return table[name]


@dataclass
class NoteWriter:
    """Converts values to what JSON can hold, and collects their arrays.

    Attributes
    ----------
    arrays : dict of str to ndarray
        The arrays of all values so far; an array that several values share is stored once.

    Examples
    --------
    >>> writer = NoteWriter()
    >>> writer.plain("row", {"x": np.arange(3), "y": (1, float("nan"))})
    {'dict': [['x', {'array': ['row/0', [0]]}], ['y', {'tuple': [1, {'float': 'nan'}]}]]}
    >>> writer.arrays
    {'row/0': array([0, 1, 2])}
    """

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    _stored: dict[int, tuple[str, np.ndarray]] = field(default_factory=dict)

    def attributes(self, owner: Any, names: Iterable[str], prefix: str = "") -> dict[str, Any]:
        """Convert attributes of an object, by name."""
        return {name: self.plain(prefix + name, getattr(owner, name)) for name in names}

    def plain(self, name: str, value: Any) -> Any:
        """Convert a value; an object with one entry marks a type that JSON does not have."""
        from scipy import sparse

        if isinstance(value, np.ndarray):
            # The memory layout is kept, because it changes the last digits of matrix products.
            order = sorted(range(value.ndim), key=lambda axis: -abs(value.strides[axis]))
            return {"array": [self._store(name, value, order), order]}
        if isinstance(value, sparse.csr_array):
            parts = (value.data, value.indices, value.indptr)
            names = [self._store(f"{name}/{j}", part) for j, part in enumerate(parts)]
            return {"csr": [*names, list(value.shape)]}
        if is_dataclass(value):
            own = (each.name for each in fields(value))
            return {"fields": self.attributes(value, own, f"{name}/")}
        if isinstance(value, dict):
            pairs = enumerate(value.items())
            return {
                "dict": [[self.plain("", k), self.plain(f"{name}/{j}", v)] for j, (k, v) in pairs]
            }
        if isinstance(value, slice):
            return {"slice": [self.plain("", value.start), self.plain("", value.stop)]}
        if isinstance(value, list | tuple):
            items = [self.plain(f"{name}/{j}", item) for j, item in enumerate(value)]
            return items if isinstance(value, list) else {"tuple": items}
        if isinstance(value, float | np.floating):
            return float(value) if np.isfinite(value) else {"float": str(float(value))}
        if isinstance(value, np.bool_ | np.integer):
            return value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        raise InputError(f"{type(value).__name__} in {name} cannot be saved.")

    def _store(self, name: str, array: np.ndarray, order: list[int] | None = None) -> str:
        """Store an array and return its name: the first one if it was stored before."""
        if id(array) not in self._stored:
            self._stored[id(array)] = name, array  # keeps the array alive, and so its id unique
            self.arrays[name] = array.transpose(order)
        return self._stored[id(array)][0]


@dataclass(frozen=True)
class NoteReader:
    """Converts values back, and checks each against its type.

    Examples
    --------
    >>> reader = NoteReader({"row": np.arange(3)})
    >>> reader.value({"tuple": [1, {"array": ["row", [0]]}]}, tuple[int, np.ndarray])
    (1, array([0, 1, 2]))
    >>> reader.value("1", int)
    Traceback (most recent call last):
    geodis.base.check.InputError: a value of type <class 'int'> is 1
    """

    arrays: Mapping[str, np.ndarray]
    used: set[str] = field(default_factory=set)

    def attributes(self, plain: Mapping[str, Any], hints: Mapping[str, Any]) -> dict[str, Any]:
        """Rebuild values by name, with the type of each."""
        if plain.keys() != hints.keys():
            raise InputError(f"{min(plain.keys() ^ hints.keys())} is missing or not known")
        return {name: self.value(own, hints[name]) for name, own in plain.items()}

    def value(self, plain: Any, hint: Any) -> Any:
        """Rebuild a value of a type."""
        options = list(get_args(hint)) if get_origin(hint) in (Union, UnionType) else [hint]
        value = self._object(plain, options) if isinstance(plain, dict) else plain
        if isinstance(value, list):
            (item_hint,) = _arguments(options, list, (Any,))
            value = [self.value(item, item_hint) for item in value]
        if not any(_is_of(value, one) for one in options):
            raise InputError(f"a value of type {hint} is {str(plain)[:40]}")
        return value

    def unused(self) -> set[str]:
        """The names of the arrays that no value used."""
        return set(self.arrays) - self.used

    def _array(self, name: str) -> np.ndarray:
        self.used.add(name)
        return self.arrays[name]

    def _object(self, plain: dict[str, Any], options: list[Any]) -> Any:
        ((kind, content),) = plain.items()
        if kind == "array":
            name, order = content
            if sorted(order) != list(range(self.arrays[name].ndim)):
                raise InputError(f"the axes of {name} are {order}")
            return self._array(name).transpose(np.argsort(order))
        if kind == "csr":
            from scipy import sparse

            *names, shape = content
            made = sparse.csr_array(tuple(map(self._array, names)), shape=shape)
            made.check_format(full_check=True)
            return made
        if kind == "float":
            return float(content)
        if kind == "fields":
            made_of = _dataclass_with(content.keys(), options)
            return made_of(**self.attributes(content, get_type_hints(made_of)))
        if kind == "dict":
            key, of = _arguments(options, dict, (Any, Any))
            return {self.value(k, key): self.value(v, of) for k, v in content}
        if kind == "slice":
            start, stop = (self.value(end, int) for end in content)
            return slice(start, stop)
        if kind == "tuple":
            hints = _arguments(options, tuple, (Any, ...))
            hints = hints if ... not in hints else hints[:1] * len(content)
            return tuple(self.value(v, hint) for v, hint in zip(content, hints, strict=True))
        raise InputError(f"{kind} is not known")


def _arguments(options: list[Any], container: type, default: tuple[Any, ...]) -> tuple[Any, ...]:
    """The types inside a container, such as (str, int) of dict[str, int]."""
    return next((get_args(one) for one in options if get_origin(one) is container), default)


def _dataclass_with(names: Iterable[str], options: list[Any]) -> Any:
    """The dataclass with these fields, or the first one if none has them."""
    classes = [one for one in options if is_dataclass(one)]
    if not classes:
        raise InputError(f"a value of type {options[0]} has the fields {', '.join(names)}")
    wanted = set(names)
    fitting = (one for one in classes if {each.name for each in fields(one)} == wanted)
    return next(fitting, classes[0])


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a value has a type; only the outermost type of a container is checked."""
    if hint is Any:
        return True
    if hint is None or hint is NoneType:
        return value is None
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if isinstance(value, bool):  # an instance of int, too
        return hint is bool
    kind = get_origin(hint) or hint
    return isinstance(value, int | float if kind is float else kind)


def read_saved(
    path: str | os.PathLike[str], what: str, version: int
) -> tuple[NoteReader, dict[str, Any]]:
    """Read a file of one kind and check its version.

    Parameters
    ----------
    path : path
    what : str
        The object in the file with its article, as "a fit". The entry "kind" of the note is
        "geodis fit".
    version : int

    Returns
    -------
    reader : NoteReader
        Of the arrays in the file.
    note : dict
    """
    arrays, note = read_arrays(path)
    if note.get("kind") != f"geodis {what.split()[-1]}":
        raise InputError(f"{path} must hold {what}; got a file of something else.")
    if note.get("version") != version:
        raise InputError(
            f"{path} must hold {what} of version {version}; got {note.get('version')}: make it "
            "again with this geodis."
        )
    return NoteReader(arrays), note


def array_misfits(
    name: str,
    array: np.ndarray,
    shape: tuple[int | None, ...],
    dtype: Any = np.float64,
    *,
    gaps: bool = False,
) -> Iterator[str]:
    """Describe what an array must be, if it is anything else.

    Compiled loops do not check the lengths of the arrays of a file.

    Parameters
    ----------
    name : str
    array : ndarray
    shape : tuple
        None stands for any size.
    dtype : dtype
    gaps : bool
        Whether NaN is allowed.

    Examples
    --------
    >>> list(array_misfits("points", np.zeros((4, 2)), (None, 3)))
    ['finite points of shape (any, 3) and dtype float64']
    """
    fits = len(array.shape) == len(shape) and all(
        wanted in (None, size) for wanted, size in zip(shape, array.shape, strict=True)
    )
    if (
        not fits
        or array.dtype != dtype
        or np.isinf(array).any()
        or (not gaps and np.isnan(array).any())
    ):
        sizes = ", ".join("any" if size is None else str(size) for size in shape)
        yield f"finite {name} of shape ({sizes}) and dtype {np.dtype(dtype)}"
