"""Registry of file readers, and the contents of a file that readers return.

A reader registers its suffixes with `register_reader`; other packages add theirs by an entry point.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, get_args

import numpy as np

from geodis.base.check import InputError, MissingExtraError
from geodis.base.plugins import load_plugins
from geodis.data.columns import Column
from geodis.data.factors import FactorKind, Factors

# Keeps messages readable: a model checkpoint can hold thousands of arrays.
MOST_LISTED = 12

# An array may be at most this large if few of its bytes are stored.
MOST_UNWRITTEN = 2**30

# A parser's message may quote the whole header of a file.
MOST_REASON = 300

TEXT = "text"

# First bytes of files that often have a wrong suffix. PK and PAR1 include the next byte, because
# columns may have these names.
SIGNATURES = {
    b"\x93NUMPY": "a NumPy array",
    b"PK\x03": "a zip archive",
    b"\x89HDF": "an HDF5 file",
    b"PAR1\x15": "a Parquet file",
    b"\x1f\x8b": "a gzip archive",
    b"\x80": "a Python pickle, which geodis never loads",
    b"version https://git-lfs": "a Git LFS pointer (git lfs pull fetches the file itself)",
    b"<": "an HTML or XML page",
}


@dataclass(frozen=True)
class Stored:
    """An array in a file: its shape and dtype, and functions that read it.

    `read_factor` reads it for use as a factor, keeping integers that floats cannot represent.
    `read_rows` reads rows from start to stop, best in multiples of `chunk_rows`.
    """

    shape: tuple[int, ...]
    dtype: str
    read: Callable[[], Column]
    read_factor: Callable[[], Column] | None = None
    read_rows: Callable[[int, int], np.ndarray] | None = None
    chunk_rows: int = 1


def unreadable(shape: tuple[int, ...], dtype: str, problem: Exception) -> Stored:
    """Return an array that is listed but raises this exception when it is read."""

    def read() -> Column:
        raise problem

    return Stored(shape, dtype, read)


@dataclass(frozen=True)
class Contents:
    """The arrays of one file.

    Attributes
    ----------
    path : Path
    arrays : dict of str to Stored
        By key; the key is empty if the format holds one unnamed array.
    default : str or None
        The key that is used if the caller gives none.
    columns : dict of str to str or None
        For a table: the key of each column by name.
    parts : dict of str to Stored
        Parts of other arrays that have a key, such as a field of records.
    """

    path: Path
    arrays: dict[str, Stored]
    default: str | None = None
    columns: dict[str, str] | None = None
    parts: dict[str, Stored] = field(default_factory=dict)

    def stored(self, key: str) -> Stored:
        """Return the array, or the part of an array, with this key."""
        return self.arrays[key] if key in self.arrays else self.parts[key]

    def choose(self, key: str | None) -> str:
        """Return the key of the requested array, or raise an error that lists the keys."""
        if key is None:
            key = self.default
        if key is None and len(self.arrays) == 1:
            return next(iter(self.arrays))
        if key in self.arrays or key in self.parts:
            return str(key)
        if "" in self.arrays:
            raise InputError(f"{self.path} holds one array without a name; leave ':{key}' out.")
        if key is not None:
            raise InputError(f"{self.path} has no array {key!r}; {self.listing()}.")
        example = f", as {self.path.name}:{quoted(next(iter(self.arrays)))}" if self.arrays else ""
        raise InputError(f"{self.path} needs the key of one array{example}; {self.listing()}.")

    def read(self, key: str) -> Column:
        """Read one array, raising InputError for any damage."""
        with reading(self.path):
            return self.stored(key).read()

    def read_factor(self, key: str) -> Column:
        """Read one array for use as a factor."""
        with reading(self.path):
            return (self.stored(key).read_factor or self.stored(key).read)()

    def listing(self) -> str:
        """List the keys with shape and dtype, for a message."""
        if not self.arrays:
            return "it holds no arrays"
        every = {**self.arrays, **self.parts}
        some = list(every.items())[:MOST_LISTED]
        lines = [f"{quoted(key)} {stored.shape} {quoted(stored.dtype)}" for key, stored in some]
        more = f", and {len(every) - MOST_LISTED} more" if len(every) > MOST_LISTED else ""
        return "it holds " + ", ".join(lines) + more


def quoted(text: str, most: int = 80) -> str:
    r"""Shorten text from a file to one line without control characters, for a message.

    Examples
    --------
    >>> print(quoted("z\n" + 100 * "x", 12))
    z\nxxxxxxxxx...
    """
    plain = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: most + 1])
    return plain[:most] + "..." if len(plain) > most else plain


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn any exception of a parser into an InputError about the file."""
    try:
        yield
    except (InputError, MissingExtraError):
        raise
    # Deliberately broad: on damaged files the parsers of zip, npy, HDF5, Parquet and torch raise
    # struct.error, KeyError, RecursionError, MemoryError and more, and no list is documented.
    except Exception as error:
        lines = str(error).strip().splitlines()
        reason = quoted(lines[0].rstrip("."), MOST_REASON) if lines else type(error).__name__
        there = f"the file begins like {begins_like(path)}"
        raise InputError(
            f"{path} cannot be read as {suffix_of(path) or 'images'}: {reason} "
            f"({'it is a folder' if path.is_dir() else there})."
        ) from error


def suffix_of(path: Path) -> str:
    """Return the suffix in lower case, including the one before .gz.

    Examples
    --------
    >>> suffix_of(Path("X.NPY")), suffix_of(Path("table.csv.gz")), suffix_of(Path("norb.gz"))
    ('.npy', '.csv.gz', '.gz')
    """
    return "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else [path.suffix]).lower()


def begins_like(path: Path) -> str:
    """Guess the type of a file from its first bytes, for a message."""
    try:
        with path.open("rb") as file:
            start = file.read(256)
    except OSError:
        return "nothing that may be read"
    for signature, meaning in SIGNATURES.items():
        if start.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n").startswith(signature):
            return meaning
    is_control = (byte < 32 and byte not in b"\t\n\r\f" for byte in start)
    return "no known format" if any(is_control) else TEXT


def check_fits(n_bytes: int, shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Require enough bytes for an array of this shape."""
    needed = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or needed > n_bytes:
        raise ValueError(
            f"an array of shape {shape} and dtype {dtype} needs {needed} bytes, "
            f"the file has {n_bytes} left"
        )


def check_written(n_bytes: int, shape: tuple[int, ...], itemsize: int) -> None:
    """Refuse a large array of which almost nothing is stored in the file."""
    needed = math.prod(shape) * itemsize
    if needed > max(n_bytes, MOST_UNWRITTEN):
        raise ValueError(
            f"an array of shape {shape} needs {needed} bytes; only {n_bytes} are stored"
        )


def map_array(
    path: Path,
    dtype: np.dtype,
    shape: tuple[int, ...],
    *,
    offset: int,
    mmap: bool,
    fortran_order: bool = False,
) -> np.ndarray:
    """Map the bytes from offset as a read-only array, or copy them into memory."""
    if 0 in shape:
        return np.empty(shape, dtype)  # an empty range of bytes cannot be mapped
    order: Any = "F" if fortran_order else "C"
    mapped = np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape, order=order)
    return mapped if mmap else np.array(mapped)


# A reader takes the path, and whether to map the file where possible.
Reader = Callable[[Path, bool], Contents]
AnyReader = TypeVar("AnyReader", bound=Reader)

READERS: dict[str, Reader] = {}


def register_reader(*suffixes: str) -> Callable[[AnyReader], AnyReader]:
    """Register a function as the reader of files with these suffixes.

    `load_array` and `load_factors` then read such files. If a package declares a module in the
    entry-point group "geodis.file_formats", the module is imported when a file with an unknown
    suffix is opened.

    Parameters
    ----------
    *suffixes : str
        Lower-case suffixes such as ".npy".

    Returns
    -------
    callable
        A decorator that returns the function unchanged. The function takes the path and whether
        to map the file, and returns `Contents` without reading the arrays. Its exceptions are
        turned into an InputError about the file.

    Examples
    --------
    >>> import numpy as np
    >>> from geodis.data import Contents, Stored, load_array
    >>> @register_reader(".f64")
    ... def read_f64(path, mmap):
    ...     values = np.fromfile(path)
    ...     return Contents(path, {"": Stored(values.shape, "float64", lambda: values)})
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "points.f64"
    >>> np.arange(3.0).tofile(file)
    >>> load_array(file)
    array([0., 1., 2.])
    >>> unregister_reader(".f64")
    """
    for suffix in suffixes:
        if not suffix.startswith(".") or suffix != suffix.lower() or len(suffix) < 2:
            raise InputError(f"A suffix must be like '.npy', in lower case; got {suffix!r}.")
        if suffix in READERS:
            raise InputError(f"A suffix must have one reader; got a second for {suffix!r}.")

    def register(reader: AnyReader) -> AnyReader:
        READERS.update(dict.fromkeys(suffixes, reader))
        return reader

    return register


def unregister_reader(suffix: str) -> None:
    """Remove a reader, for example before defining it again in a notebook."""
    if suffix not in READERS:
        raise InputError(f"suffix must be that of a registered reader; got {suffix!r}.")
    del READERS[suffix]


def reader_of(file: Path) -> Reader:
    """Return the reader for a file's suffix, importing plugins if the suffix is unknown."""
    suffix = suffix_of(file)
    if suffix not in READERS:
        load_plugins("geodis.file_formats")
    if suffix not in READERS:
        raise InputError(
            f"{file} must have one of the suffixes {', '.join(sorted(READERS))}; "
            f"got {suffix_of(file) or 'no suffix'}."
        )
    return READERS[suffix]


# Arrays that describe the columns of the array `factors` in the same file.

FACTORS = "factors"
NAMES, KINDS = "factor_names", "factor_kinds"
LABELS, PERIODS = "factor_labels", "factor_periods"
GROUPS = "factor_groups"
DESCRIPTIONS = (NAMES, KINDS, LABELS, PERIODS, GROUPS)


def arrays_of_factors(factors: Factors) -> dict[str, np.ndarray]:
    """Return the arrays to store in a file so that `load_factors` restores the same factors.

    Examples
    --------
    >>> known = Factors(np.array([[0, 90], [1, 0]]), ("shape", "angle"), {"shape": ("box", "dot")})
    >>> {name: array.tolist() for name, array in arrays_of_factors(known).items()}
    {'factors': [[0, 90], [1, 0]], 'factor_names': ['shape', 'angle'], \
'factor_kinds': ['labels', 'numbers'], 'factor_labels': ['["box", "dot"]', '']}
    """
    names = factors.names
    arrays = {FACTORS: factors.values, NAMES: np.array(names), KINDS: np.array(factors.kinds)}
    if factors.categories:
        labels = [factors.categories.get(name) for name in names]
        arrays[LABELS] = np.array(["" if own is None else json.dumps(own) for own in labels])
    if factors.periods:
        arrays[PERIODS] = np.array([float(factors.periods.get(name, np.nan)) for name in names])
    if factors.groups:
        of = {column: group for group, own in factors.groups.items() for column in own}
        arrays[GROUPS] = np.array([of.get(name, "") for name in names])
    return arrays


def without_descriptions(contents: Contents) -> Contents:
    """Return the contents without the arrays that only describe factors."""
    others = {key: stored for key, stored in contents.arrays.items() if key not in DESCRIPTIONS}
    return replace(contents, arrays=others or contents.arrays)


def described_names(contents: Contents) -> list[str]:
    """Return the factor names stored in a file, or an empty list."""
    if NAMES not in contents.arrays:
        return []
    names = contents.read(NAMES)
    if not isinstance(names, np.ndarray) or names.ndim != 1 or names.dtype.kind != "U":
        return []
    return list(dict.fromkeys(map(str, names)))


def with_descriptions(factors: Factors, contents: Contents) -> Factors:
    """Add the kinds, labels, periods and groups stored in the file to factors."""
    if KINDS not in contents.arrays:
        return factors
    known = get_args(FactorKind)
    kinds = _texts(contents, KINDS, factors)
    if odd := sorted(set(kinds.values()) - set(known)):
        raise InputError(
            f"{contents.path} must have only {', '.join(known)} in {KINDS}; "
            f"got {', '.join(map(repr, odd))}."
        )
    labelled = [name for name, kind in kinds.items() if kind in ("labels", "ordered")]
    cyclic = [name for name, kind in kinds.items() if kind == "cyclic"]
    labels = _texts(contents, LABELS, factors) if labelled else {}
    periods = _column(contents, PERIODS, "a number", "iuf", factors) if cyclic else {}
    groups: dict[str, tuple[str, ...]] = {}
    of_columns = _texts(contents, GROUPS, factors) if GROUPS in contents.arrays else {}
    for name, group in of_columns.items():
        if group:  # empty for a column without a group
            groups[group] = (*groups.get(group, ()), name)
    return Factors(
        factors.values,
        factors.names,
        {name: _read_labels(contents, name, labels[name]) for name in labelled},
        ordered=tuple(name for name in labelled if kinds[name] == "ordered"),
        periods={name: float(periods[name]) for name in cyclic},
        groups=groups,
    )


def _column(
    contents: Contents, key: str, what: str, dtype_kinds: str, factors: Factors
) -> dict[str, np.generic]:
    """Read an array with one entry for each factor, by name."""
    array = contents.read(key) if key in contents.arrays else None
    got = "no such array"
    if isinstance(array, np.ndarray):
        if array.dtype.kind in dtype_kinds and array.shape == (len(factors.names),):
            return dict(zip(factors.names, array, strict=True))
        got = f"an array of shape {array.shape} and dtype {array.dtype}"
    raise InputError(
        f"{contents.path} must have {what} for each of {len(factors.names)} factors in {key}; "
        f"got {got}."
    )


def _texts(contents: Contents, key: str, factors: Factors) -> dict[str, str]:
    column = _column(contents, key, "a text", "U", factors)
    return {name: str(text) for name, text in column.items()}


def _read_labels(contents: Contents, name: str, text: str) -> tuple[str, ...]:
    try:
        labels = json.loads(text)
    except (ValueError, RecursionError):
        labels = None
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise InputError(
            f"{contents.path} must have a list of texts in JSON for {name!r} in {LABELS}; "
            f"got {text[:40]!r}."
        )
    return tuple(labels)
