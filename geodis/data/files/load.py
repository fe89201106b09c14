"""Load arrays of points and factors of variation from files (`load_array`, `load_factors`)."""

from __future__ import annotations

import atexit
import math
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TypeGuard

import numpy as np

from geodis.base.check import InputError
from geodis.data.columns import Column, columns_of, read_column
from geodis.data.factors import Factors, as_factors, default_names, from_columns
from geodis.data.files import (
    arrays,  # noqa: F401, its readers register themselves
    columnar,  # noqa: F401
    hdf5,  # noqa: F401
    matlab,  # noqa: F401
    netcdf,  # noqa: F401
    text_tables,  # noqa: F401
    zarr_store,
)
from geodis.data.files.arrays import read_images
from geodis.data.files.formats import (
    FACTORS,
    Contents,
    Reader,
    Stored,
    described_names,
    reader_of,
    reading,
    with_descriptions,
    without_descriptions,
)
from geodis.data.files.limits import (
    TEXT_BYTES,
    allowing,
    check_columns,
    check_regular,
    check_unpacked,
)

# The file name "-" stands for standard input. Its format is recognised by its first bytes; anything
# else is a text table.
STANDARD_INPUT = "-"
BEGINNINGS = {
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".npz",
    b"\x89HDF": ".h5",
    b"PAR1": ".parquet",
    b"ARROW1": ".feather",
    b"MATLAB": ".mat",
}


@cache
def standard_input_file() -> Path:
    """Save standard input to a temporary file that is deleted at exit, and return its path."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("- is standard input, as in `geodis inspect - < z.npy`; got a terminal.")
    data = sys.stdin.buffer.read()
    if not data:
        raise InputError("- is standard input, which must have data; got nothing.")
    suffix = next((s for start, s in BEGINNINGS.items() if data.startswith(start)), ".csv")
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    path = Path(folder.name) / f"standard_input{suffix}"
    path.write_bytes(data)
    return path


def load_array(
    path: str | os.PathLike[str], *, mmap: bool = True, max_bytes: int | None = None
) -> np.ndarray:
    """Load one numeric array from a file.

    Parameters
    ----------
    path : str or path
        ``.npy``, ``.npz``, ``.csv``, ``.csv.gz``, ``.tsv``, ``.txt``, ``.parquet``, ``.feather``,
        ``.safetensors``, ``.pt``, ``.pth``, ``.h5``, ``.hdf5``, ``.h5ad``, ``.mat``, ``.nc``, a
        zarr store, or a folder of images of one size and the folders in it, in the order of their
        names; grey images beside coloured ones become coloured. In a file with
        several arrays, the key of one follows a colon: ``"run.npz:latents"``,
        ``"run.h5:group/latents"``, ``"cells.h5ad:obsm/X_pca"``, ``"table.csv:column"``, several
        columns as ``"table.csv:x,y"``; ``"-"`` is standard input. Without a key, a table is all
        of its columns, an AnnData file its ``X``, and any other file its only array.
    mmap : bool
        Map the file into memory instead of reading it, where its bytes allow: ``.npy``,
        ``.safetensors`` (but not bfloat16), and uncompressed contiguous HDF5 datasets give a
        read-only ``np.memmap``; torch maps its tensors by itself.
    max_bytes : int, optional
        The maximum size of the unpacked data. The default is 200 times the size of the file,
        but at least 256 MiB and at most half of the free memory. The environment variable
        GEODIS_MAX_BYTES changes the default for all files.

    Returns
    -------
    ndarray
        The shape and dtype are the file's; a table gives (rows, columns). bfloat16 becomes
        float32, and a sparse AnnData matrix becomes dense.

    Raises
    ------
    InputError
        If the file or array does not exist, the file does not match its suffix, or it exceeds
        the size limit. Pickles and links to other files are never read.

    Notes
    -----
    Numbers with decimal commas or thousands separators are converted, with a warning, if their
    meaning is unambiguous; otherwise the file is refused.

    The first row of a text table is a header if it contains anything but numbers, or if it counts
    0, 1, 2, ..., which pandas writes for unnamed columns. A first column without a name is the row
    index that pandas writes, and is dropped.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> np.savez(folder / "run.npz", latents=np.eye(2), seeds=np.arange(3))
    >>> load_array(f"{folder}/run.npz:latents")
    array([[1., 0.],
           [0., 1.]])
    """
    with allowing(max_bytes):
        contents, key = _open(path, mmap=mmap)
        if key is None and contents.default is None and contents.columns is not None:
            return _stack_columns(contents)
        if (several := _several_columns(contents, key)) is not None:
            return _stack_columns(contents, several)
        chosen = contents.choose(key)
        array = contents.read(chosen)
    if _is_real(array):
        return array
    raise InputError(
        f"{path} must hold real numbers; got an array of {contents.stored(chosen).dtype}."
    )


def stored_array(path: str | os.PathLike[str]) -> Stored:
    """Describe the array that `load_array` would load, without reading it.

    A table has no single array, so its shape is empty and `read_rows` is None.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "points.npy"
    >>> np.save(path, np.eye(2))
    >>> stored_array(path).shape
    (2, 2)
    """
    contents, key = _open(path, mmap=True)
    if key is None and contents.default is None and contents.columns is not None:
        return Stored((), "table", partial(_stack_columns, contents))
    return contents.stored(contents.choose(key))


def load_factors(
    path: str | os.PathLike[str],
    *,
    periods: Mapping[str, float] | None = None,
    max_bytes: int | None = None,
) -> Factors:
    r"""Load the factors of variation of n points from a file.

    Parameters
    ----------
    path : str or path
        A file, optionally with a key, as for `load_array`. A key may also name a group with one
        array per column, such as ``"cells.h5ad:obs"``. Without a key, the factors are the columns
        of a table, the ``obs`` of an AnnData file, the only array, or all one-dimensional arrays
        if their lengths are equal. Images in one subfolder per class have the factor ``class``.
    periods : mapping of str to float, optional
        The periods of cyclic numeric factors, such as angles, by name.
    max_bytes : int, optional
        As for `load_array`.

    Returns
    -------
    Factors
        ``values`` (n, f) and ``names``. Numbers are unchanged; labels become integer codes, and
        ``categories`` holds the labels. Unnamed columns take their names from an array
        ``factor_names`` in the same file, as written by `geodis encode`, or are called "factor 0"
        and so on. The arrays ``factor_kinds``, ``factor_labels``, ``factor_periods`` and
        ``factor_groups`` describe the columns of an array ``factors``.

    Raises
    ------
    InputError
        As for `load_array`, and if the arrays do not form a table.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "factors.csv"
    >>> _ = path.write_text("x,shape\n0,dot\n1,box\n2,dot\n")
    >>> factors = load_factors(path)
    >>> factors
    3 points, 2 factors
    name   distinct  range
    x             3  0 to 2
    shape         2  box, dot
    >>> factors.values
    array([[0, 1],
           [1, 0],
           [2, 1]])
    """
    with allowing(max_bytes):
        return as_factors(_read_factors(path), periods=periods)


def _read_factors(path: str | os.PathLike[str]) -> Factors:
    contents, key = _open(path, mmap=False)
    keys = _factor_keys(contents, key)
    check_columns(contents.path, len(keys), of_factors=True)
    names = described_names(contents)
    columns: dict[str, Column] = {}
    n_bytes = 0
    with reading(contents.path):
        for label, chosen in keys.items():
            column = contents.read_factor(chosen)
            n_bytes += _factor_bytes(column)
            check_unpacked(contents.path, n_bytes, "its factors")
            split = _named_columns(path, label, column, names)
            if twice := [name for name in split if name in columns]:
                raise InputError(
                    f"{path} must name every factor differently; two are {twice[0]!r}."
                )
            columns |= split
        lengths = {_length(column) for column in columns.values()}
        if len(lengths) != 1 or 0 in lengths:
            raise InputError(
                f"{path} must hold at least one factor, and as many values of each; "
                f"{contents.listing()}."
            )
        factors = from_columns(columns)
        if [*keys.values()] == [FACTORS] and not factors.categories:
            factors = with_descriptions(factors, contents)
    return factors


def _open(path: str | os.PathLike[str], *, mmap: bool) -> tuple[Contents, str | None]:
    """Open a file and return its contents, and the key that the caller gave."""
    file, key = _split_key(path)
    if file.is_dir():
        is_store = zarr_store.is_zarr(file) or file.suffix.lower() == ".zarr"
        reader: Reader = zarr_store.read_zarr if is_store else read_images
    else:
        check_regular(file)
        reader = reader_of(file)
        if file.stat().st_size == 0:
            raise InputError(f"{file} is empty.")
    with reading(file):
        return reader(file, mmap), key


def _split_key(path: str | os.PathLike[str]) -> tuple[Path, str | None]:
    """Split "file:key" after the longest existing file name, because names may contain colons."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path must be a string or a path; got {type(path).__name__}.")
    given = os.fspath(path)
    if not isinstance(given, str):
        raise InputError(f"path must be a string or a path; got {type(given).__name__}.")
    if given == STANDARD_INPUT or given.startswith(f"{STANDARD_INPUT}:"):
        return standard_input_file(), given[2:] or None
    parts = given.split(":")
    for cut in range(len(parts), 0, -1):
        if (file := _existing(":".join(parts[:cut]))) is not None:
            return file, ":".join(parts[cut:]) or None
    raise InputError(f"{given} must be a file; there is none of this name.")


def _existing(path: str) -> Path | None:
    """Return the path with ~ expanded, or None if it does not exist."""
    file = Path(path)
    try:
        with suppress(RuntimeError):  # ~ of an unknown user
            file = file.expanduser()
        return file if file.exists() else None
    except (OSError, ValueError):  # the key is too long for a file name or contains NUL
        return None


def _is_real(array: Column) -> TypeGuard[np.ndarray]:
    return isinstance(array, np.ndarray) and array.dtype.kind in "biuf"


def _several_columns(contents: Contents, key: str | None) -> list[str] | None:
    """Return the table columns that a comma-separated key names, or None for any other key."""
    known = contents.columns or {}
    if key is None or key in known or "," not in key:
        return None
    names = [name.strip() for name in key.split(",")]
    return names if known and any(name in known for name in names) else None


def _stack_columns(contents: Contents, names: Sequence[str] | None = None) -> np.ndarray:
    """Stack columns of a table (default: all) as an array, requiring numbers."""
    known = contents.columns or {}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise InputError(
            f"{contents.path} has no column {', '.join(map(repr, unknown))}; it has "
            f"{', '.join(known)}."
        )
    columns = {name: contents.read(known[name]) for name in (known if names is None else names)}
    others = [name for name, column in columns.items() if not _is_real(column)]
    if others:
        raise InputError(
            f"{contents.path} must hold numbers in every column; got other values in "
            f"{', '.join(others)}: load_factors turns labels into codes."
        )
    return np.column_stack([np.asarray(column) for column in columns.values()])


def _factor_keys(contents: Contents, key: str | None) -> dict[str, str]:
    """Return the keys of the arrays that are factors, by factor name ("" if unnamed)."""
    columns = contents.columns or {}
    if key is None and contents.columns is not None:
        return columns
    if key is None:
        contents = without_descriptions(contents)
        flat = {name: stored for name, stored in contents.arrays.items() if len(stored.shape) == 1}
        if len(flat) > 1 and len({stored.shape for stored in flat.values()}) == 1:
            return {name: name for name in flat}
    if key is not None and (table := _columns_under(contents, key)):
        return table
    chosen = contents.choose(key)
    return {next((name for name in columns if columns[name] == chosen), ""): chosen}


def _columns_under(contents: Contents, key: str) -> dict[str, str]:
    """Return the columns of a group such as obs; empty if the key is not such a group."""
    group = f"{key.rstrip('/')}/"
    own = contents.columns or {}
    if columns := {name: at for name, at in own.items() if at.startswith(group) and at != name}:
        return columns
    if key in contents.arrays:
        return {}
    inside = {at.removeprefix(group): at for at in contents.arrays if at.startswith(group)}
    # Names that begin with "_" are indexes written by AnnData.
    inside = {name: at for name, at in inside.items() if not name.startswith("_")}
    shapes = {contents.arrays[at].shape for at in inside.values()}
    return inside if len(shapes) == 1 and len(shapes.pop()) == 1 else {}


def _factor_bytes(column: Column) -> int:
    """Return the bytes of a factor: eight per number, and a Python object per text."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "SU":
        return column.size * (TEXT_BYTES + column.dtype.itemsize)
    return 8 * (column.size if isinstance(column, np.ndarray) else len(column.codes))


def _named_columns(
    path: str | os.PathLike[str], name: str, column: Column, names: list[str]
) -> dict[str, Column]:
    """Split an array into named factors."""
    if not isinstance(column, np.ndarray):
        return {name or default_names(1)[0]: column}
    if not column.dtype.names and (
        column.ndim not in (1, 2) or column.dtype.kind not in "biufSUmM"
    ):
        raise InputError(
            f"{path} must hold factors as real numbers, dates or text in the shape (n,) or (n, f); "
            f"got an array of shape {column.shape} and dtype {column.dtype}."
        )
    check_columns(Path(path), math.prod(column.shape[1:]), of_factors=True)
    columns, own = columns_of(column)
    if own is None:
        own = (name,) if name and column.ndim == 1 else tuple(names)
    if len(own) != len(columns):
        own = default_names(len(columns))
    return {
        called: read_column(values, f"{called} in {path}")
        for called, values in zip(own, columns, strict=True)
    }


def _length(column: Column) -> int:
    return len(column if isinstance(column, np.ndarray) else column.codes)
