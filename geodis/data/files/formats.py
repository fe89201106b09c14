"""File formats by their suffix: a reader registers where it is written, and packages add theirs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from geodis.base.check import InputError
from geodis.base.plugins import load_plugins
from geodis.data.files.contents import Contents, suffix_of

# From a file, and whether to map it into memory where that is possible.
Reader = Callable[[Path, bool], Contents]
AnyReader = TypeVar("AnyReader", bound=Reader)

READERS: dict[str, Reader] = {}


def register_reader(*suffixes: str) -> Callable[[AnyReader], AnyReader]:
    """Read files with these suffixes by the function below.

    `load_array` and `load_factors` then open such files. A package that declares its module in
    the group "geodis.file_formats" of its entry points has it imported when a file of an unknown
    suffix is opened.

    Parameters
    ----------
    *suffixes : str
        Such as ".npy", in lower case.

    Returns
    -------
    callable
        A decorator, which leaves the function as it is. It gets the path, and whether to map the
        file; it returns `Contents` without reading the arrays. What it raises becomes a sentence
        about the file.

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
    """Take a reader away again, as before it is written anew in a notebook."""
    if suffix not in READERS:
        raise InputError(f"suffix must be that of a registered reader; got {suffix!r}.")
    del READERS[suffix]


def reader_of(file: Path) -> Reader:
    """The reader for the suffix of a file, asking other packages before there is none."""
    suffix = suffix_of(file)
    if suffix not in READERS:
        load_plugins("geodis.file_formats")
    if suffix not in READERS:
        raise InputError(
            f"{file} must have one of the suffixes {', '.join(READERS)}; "
            f"got {suffix_of(file) or 'no suffix'}."
        )
    return READERS[suffix]
