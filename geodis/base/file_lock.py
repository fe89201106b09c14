"""The system's own lock on an open file: it is gone with the process that held it."""

from __future__ import annotations

import os

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
