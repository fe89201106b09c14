"""What one file holds: arrays by key, read when asked for, and messages that list them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError, MissingExtraError
from geodis.data.read_column import Column

# A message stays readable; a model checkpoint can hold thousands of arrays.
MOST_LISTED = 12

# What repeats a few bytes, or was never written, may be as large as this without being stored.
MOST_UNWRITTEN = 2**30

# What a parser says may have the whole header of a file in it.
MOST_REASON = 300

TEXT = "text"

# The first bytes of the files that are most often found under a wrong name, with the byte after
# PK and PAR1, which are names of columns too.
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
    """An array in a file: what can be said without reading it, and how to read it.

    As a factor it may be read otherwise: identities that no array of floats can hold are kept.
    What is stored in chunks gives some of its rows, best as many at once as a chunk has.
    """

    shape: tuple[int, ...]
    dtype: str
    read: Callable[[], Column]
    read_factor: Callable[[], Column] | None = None
    read_rows: Callable[[int, int], np.ndarray] | None = None
    chunk_rows: int = 1


def unreadable(shape: tuple[int, ...], dtype: str, problem: Exception) -> Stored:
    """An array that is listed, and refused with this exception when it is read."""

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
        By key; the key is empty where the format has one array without a name.
    default : str or None
        The key that a caller means who gives none.
    columns : dict of str to str or None
        Of a file with a table: the name of each column and its key.
    parts : dict of str to Stored
        What is reached by its key, but is part of another array: a field of records.
    """

    path: Path
    arrays: dict[str, Stored]
    default: str | None = None
    columns: dict[str, str] | None = None
    parts: dict[str, Stored] = field(default_factory=dict)

    def stored(self, key: str) -> Stored:
        """The array of a key, or the part of one."""
        return self.arrays[key] if key in self.arrays else self.parts[key]

    def choose(self, key: str | None) -> str:
        """Return the key of the one array that is meant, or list what there is."""
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
        """Read one array; whatever its bytes do to the reader ends as an InputError."""
        with reading(self.path):
            return self.stored(key).read()

    def read_factor(self, key: str) -> Column:
        """Read one array as `read` does, but for factors."""
        with reading(self.path):
            return (self.stored(key).read_factor or self.stored(key).read)()

    def listing(self) -> str:
        """Say which keys there are, with shape and dtype."""
        if not self.arrays:
            return "it holds no arrays"
        every = {**self.arrays, **self.parts}
        some = list(every.items())[:MOST_LISTED]
        lines = [f"{quoted(key)} {stored.shape} {quoted(stored.dtype)}" for key, stored in some]
        more = f", and {len(every) - MOST_LISTED} more" if len(every) > MOST_LISTED else ""
        return "it holds " + ", ".join(lines) + more


def quoted(text: str, most: int = 80) -> str:
    r"""Text from a file for a message: one short line without control characters.

    Examples
    --------
    >>> print(quoted("z\n" + 100 * "x", 12))
    z\nxxxxxxxxx...
    """
    plain = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: most + 1])
    return plain[:most] + "..." if len(plain) > most else plain


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever a parser raises on bad bytes into one sentence about the file."""
    try:
        yield
    except (InputError, MissingExtraError):
        raise
    # Broad on purpose: on damaged files the parsers of zip, npy, HDF5, Parquet and torch raise
    # struct.error, KeyError, RecursionError, MemoryError and more, in no documented set.
    except Exception as error:
        lines = str(error).strip().splitlines()
        reason = quoted(lines[0].rstrip("."), MOST_REASON) if lines else type(error).__name__
        there = f"the file begins like {begins_like(path)}"
        raise InputError(
            f"{path} cannot be read as {suffix_of(path) or 'images'}: {reason} "
            f"({'it is a folder' if path.is_dir() else there})."
        ) from error


def suffix_of(path: Path) -> str:
    """The suffix of a file in lower case, and that before it where it is compressed.

    Examples
    --------
    >>> suffix_of(Path("X.NPY")), suffix_of(Path("table.csv.gz")), suffix_of(Path("norb.gz"))
    ('.npy', '.csv.gz', '.gz')
    """
    return "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else [path.suffix]).lower()


def begins_like(path: Path) -> str:
    """Guess from its first bytes what a file is, for a message."""
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
    """Require that the bytes that are there are enough for an array of this shape."""
    needed = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or needed > n_bytes:
        raise ValueError(
            f"an array of shape {shape} and dtype {dtype} needs {needed} bytes, "
            f"the file has {n_bytes} left"
        )


def check_written(n_bytes: int, shape: tuple[int, ...], itemsize: int) -> None:
    """Refuse an array that fills the memory and of which next to nothing is stored."""
    needed = math.prod(shape) * itemsize
    if needed > max(n_bytes, MOST_UNWRITTEN):
        raise ValueError(
            f"an array of shape {shape} needs {needed} bytes, and {n_bytes} are stored of it"
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
    """Map the bytes from offset on as a read-only array, or copy them into memory."""
    if 0 in shape:
        return np.empty(shape, dtype)  # an empty range of bytes cannot be mapped
    order: Any = "F" if fortran_order else "C"
    mapped = np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape, order=order)
    return mapped if mmap else np.array(mapped)
