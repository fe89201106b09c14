"""Whether a file is still the one that it was, and the hash of one."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from geodis.base.check import InputError

BLOCK = 2**20


def file_state(path: str | os.PathLike[str]) -> str:
    """Size and time of change of a file, or of all files of a folder: no byte is read.

    Parameters
    ----------
    path : path
        With a key after a colon or without.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.npy"
    >>> _ = file.write_bytes(b"1")
    >>> before = file_state(file)
    >>> _ = file.write_bytes(b"12")
    >>> file_state(file) == before
    False
    """
    place = path_before_key(path)
    if not place.is_dir():
        return _of_one(place)
    digest = hashlib.sha256()
    for inner in sorted(place.rglob("*")):
        if inner.is_file():
            digest.update(f"{inner.relative_to(place)} {_of_one(inner)}\n".encode())
    return digest.hexdigest()


def path_before_key(path: str | os.PathLike[str]) -> Path:
    """The file or folder of "file:key"."""
    parts = os.fspath(path).split(":")
    for cut in range(len(parts), 0, -1):
        place = Path(":".join(parts[:cut])).expanduser()
        if place.exists():
            return place
    raise InputError(f"{path} must be a file; there is none of this name.")


def hash_of(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of the bytes of a file."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def check_unchanged(path: str | os.PathLike[str], before: str) -> None:
    """Require that a file is as it was when all began."""
    if file_state(path) != before:
        raise InputError(
            f"{path} must stay as it is while it is read; it has changed since the first part: "
            "what was read of it is not kept, and a run on what it is now needs another folder."
        )


def _of_one(path: Path) -> str:
    stat = path.stat()
    return f"{stat.st_size} {stat.st_mtime_ns}"
