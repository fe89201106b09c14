"""Locks of the system: they are gone with the process that held them, however it ended."""

from __future__ import annotations

import json
import os
import socket
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from geodis.base.check import GeodisWarning, InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def lock_file(handle: int) -> None:
    """Lock an open file for this process until it is closed, or raise BlockingIOError at once.

    Parameters
    ----------
    handle : int
        Of the system, as from `os.open` or ``file.fileno()``.

    Raises
    ------
    BlockingIOError
        Another process, or another open file of this one, has the lock.
    OSError
        The file system knows no locks.

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

    # One byte far behind what is written, which others may then still read.
    os.lseek(handle, 2**30, os.SEEK_SET)
    try:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
    except OSError as error:
        raise BlockingIOError from error
    os.lseek(handle, 0, os.SEEK_SET)


LOCK = ".lock"


class FolderHeldError(InputError):
    """Another run is at work in the folder."""


class FolderLock:
    """Hold a folder while a block runs; another run is refused in one sentence.

    The lock is the system's own, on a file in the folder, so that a killed process leaves nothing
    to clear away. The file says who holds it.

    Parameters
    ----------
    folder : path
        It must be there.
    name : str
        Of the file: locks of other names hold the folder against their own kind alone.

    Raises
    ------
    FolderHeldError
        If another process, or another thread of this one, holds it.
    InputError
        If nothing can be written there.

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
        """Open and lock the file; None where its holder removed it in between."""
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
            # Some network file systems know no locks. A run without a lock is better than none.
            warnings.warn(
                f"{self._folder} cannot be locked ({error}): see that no other run writes there.",
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
        # Removed while it is still held, so that nobody removes the file of the next holder.
        with suppress(PermissionError):  # Windows removes no open file: it stays, unlocked
            self._path.unlink(missing_ok=True)
        os.close(self._handle)
        self._handle = None


def _still_named(handle: int, path: Path) -> bool:
    """Whether the name still stands for the file that was opened."""
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(handle), named)
