"""Atomic writes (to a temporary name, then renamed), JSON, and locks of files and folders."""

from __future__ import annotations

import glob
import json
import os
import re
import socket
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from geodis.base.check import GeodisWarning, InputError

if TYPE_CHECKING:
    import pandas as pd


# Texts that a spreadsheet would run as formulas; an apostrophe in front prevents this.
FORMULA = re.compile(r"'*[=+\-@\t\r]")


@contextmanager
def whole_file(
    path: str | os.PathLike[str],
    *,
    durable: bool = False,
    older: str | os.PathLike[str] | None = None,
) -> Iterator[Path]:
    """Provide a temporary path next to `path`, which is renamed to `path` at the end of the block.

    An exception or an interrupt leaves the previous file at `path`, and no temporary file. The
    temporary name keeps the suffix of `path`, because numpy and matplotlib choose a format by it.

    Parameters
    ----------
    path : path
    durable : bool
        Wait until the bytes and the new name are on the disk, so that the file is complete even
        after a power failure.
    older : path, optional
        Move the previous file at `path` here instead of replacing it.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "numbers.txt") as temporary:
    ...     _ = temporary.write_text("1 2 3")
    >>> [path.name for path in folder.iterdir()]
    ['numbers.txt']
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(suffix=path.suffix, prefix=f".{path.stem}-", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes files that only the owner can read; results are ordinary files.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        if durable:
            _to_disk(temporary)
        if older is not None and path.exists():
            path.replace(older)
        temporary.replace(path)
        if durable:
            _to_disk(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def left_behind(path: str | os.PathLike[str]) -> list[Path]:
    """List the temporary files of killed writes to `path`.

    Before removing them, make sure that nobody else is writing to `path`.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / ".numbers-a1b2c3.txt").touch()
    >>> [path.name for path in left_behind(folder / "numbers.txt")]
    ['.numbers-a1b2c3.txt']
    """
    path = Path(path)
    return sorted(path.parent.glob(f".{glob.escape(path.stem)}-*{path.suffix}"))


def _to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if path.is_dir() and os.name == "nt":  # folders cannot be opened on Windows
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Put an apostrophe before texts of a CSV file that a spreadsheet would run as formulas.

    `with_formulas` removes it again. Numbers are unchanged.

    Examples
    --------
    >>> import pandas as pd
    >>> table = without_formulas(pd.DataFrame({"run": ["=1+1", "a=1"], "score": [-1, 2]}))
    >>> table["run"].tolist(), table["score"].tolist()
    (["'=1+1", 'a=1'], [-1, 2])
    >>> with_formulas(table)["run"].tolist()
    ['=1+1', 'a=1']
    """
    return _map_texts(table, lambda text: f"'{text}" if FORMULA.match(text) else text)


def with_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Undo `without_formulas`."""
    return _map_texts(
        table, lambda text: text[1:] if text[:1] == "'" and FORMULA.match(text) else text
    )


def _map_texts(table: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """Apply a function to all texts in a table."""
    from pandas.api.types import is_numeric_dtype

    def changed(cell: Any) -> Any:
        return change(cell) if isinstance(cell, str) else cell

    return table.apply(lambda one: one if is_numeric_dtype(one.dtype) else one.map(changed))


def to_jsonable(value: Any) -> Any:
    """Convert numpy scalars and arrays, tuples and NaN (to null) to values that JSON can hold."""
    if isinstance(value, dict):
        return {str(key): to_jsonable(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and np.isfinite(value).all():
        return value.tolist()
    if isinstance(value, np.ndarray | list | tuple):
        return [to_jsonable(entry) for entry in value]
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value


def write_json(path: str | os.PathLike[str], value: Any, *, durable: bool = False) -> Path:
    """Write a value as indented JSON, atomically."""
    with whole_file(path, durable=durable) as temporary:
        temporary.write_text(json.dumps(to_jsonable(value), indent=2, allow_nan=False) + "\n")
    return Path(path)


# System locks, which end with the process that holds them.

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def lock_file(handle: int) -> None:
    """Lock an open file for this process until it is closed, or raise BlockingIOError.

    Parameters
    ----------
    handle : int
        A system file handle, as from `os.open` or ``file.fileno()``.

    Raises
    ------
    BlockingIOError
        If another process, or another open file of this one, holds the lock.
    OSError
        If the file system does not support locks.

    Examples
    --------
    >>> from tempfile import TemporaryFile
    >>> with TemporaryFile() as file:
    ...     lock_file(file.fileno())
    """
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    import msvcrt  # type: ignore[import-not-found, unused-ignore]

    # Lock one byte far behind the content, so that others can still read the file.
    os.lseek(handle, 2**30, os.SEEK_SET)
    try:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
    except OSError as error:
        raise BlockingIOError from error
    os.lseek(handle, 0, os.SEEK_SET)


LOCK = ".lock"


class FolderHeldError(InputError):
    """Another run is using the folder."""


class FolderLock:
    """Hold a folder during a block; any other run raises an error.

    The lock is a system lock on a file in the folder, so a killed process leaves nothing to clean
    up. The file names the holder.

    Parameters
    ----------
    folder : path
        Must exist.
    name : str
        Name of the lock file; locks with different names do not exclude each other.

    Raises
    ------
    FolderHeldError
        If another process, or another thread of this one, holds it.
    InputError
        If the folder cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with FolderLock(folder):
    ...     try:
    ...         with FolderLock(folder):
    ...             print("twice")
    ...     except FolderHeldError:
    ...         print("held")
    held
    """

    def __init__(self, folder: str | Path, name: str = LOCK) -> None:
        self._folder = Path(folder)
        self._path = self._folder / name
        self._handle: int | None = None

    def __enter__(self) -> FolderLock:
        while self._handle is None:
            self._handle = self._try()
        return self

    def _try(self) -> int | None:
        """Open and lock the file; return None if its holder removed it in between."""
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise InputError(
                f"{self._folder} must be a folder to write to; got {error.strerror or error}."
            ) from error
        try:
            lock_file(handle)
        except BlockingIOError:
            os.close(handle)
            self._refuse()
        except OSError as error:
            # Some network file systems have no locks. A run without a lock is better than none.
            warnings.warn(
                f"{self._folder} cannot be locked ({error}): make sure that no other run uses it.",
                GeodisWarning,
                stacklevel=4,
            )
        if not _still_named(handle, self._path):
            os.close(handle)
            return None
        holder = {"host": socket.gethostname(), "process": os.getpid()}
        os.truncate(handle, 0)
        os.write(handle, json.dumps(holder).encode())
        return handle

    def _refuse(self) -> NoReturn:
        try:
            holder: Any = json.loads(self._path.read_text(encoding="utf-8"))
            who = f"process {holder['process']} on {holder['host']}"
        except (OSError, ValueError, KeyError, TypeError):
            who = "another process"
        raise FolderHeldError(
            f"{self._folder} must be written by one run at a time; got a second one while {who} "
            "is at work: wait for it, or name another folder."
        )

    def __exit__(self, *exception: object) -> None:
        assert self._handle is not None
        # Removed while it is still locked, so that the file of the next holder is never removed.
        with suppress(PermissionError):  # Windows cannot remove open files: it stays, unlocked
            self._path.unlink(missing_ok=True)
        os.close(self._handle)
        self._handle = None


def _still_named(handle: int, path: Path) -> bool:
    """Return whether the path still refers to the opened file."""
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(handle), named)
