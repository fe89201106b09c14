"""Write a set of files that replaces an earlier set in a folder, completely or not at all.

A manifest in the folder lists all files written there with their SHA-256. A folder with any other
content is refused, so that nothing is replaced that somebody else wrote or changed.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import secrets
import shutil
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import IO, Any

from geodis.base.check import InputError
from geodis.base.text import listed
from geodis.base.write import lock_file, write_json

MANIFEST = ".geodis-files.json"
STAGING = ".geodis-making-"
# Files that file browsers create in folders.
OF_BROWSERS = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
SHOWN = 3


@contextmanager
def whole_set(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Provide an empty folder whose files become those of `folder` at the end of the block.

    The new folder replaces the old one in one step of the file system, so even a killed process
    leaves either all old files or all new ones. If the system cannot do that (Windows, a mounted
    folder, the current folder), files are moved one by one, and the next call finishes what a
    killed process left. An exception or an interrupt leaves `folder` unchanged.

    Raises
    ------
    InputError
        If `folder` holds anything that no earlier call wrote, or that was changed since.

    Examples
    --------
    >>> import tempfile
    >>> out = Path(tempfile.mkdtemp()) / "report"
    >>> with whole_set(out) as made:
    ...     _ = (made / "page.html").write_text("new")
    >>> sorted(path.name for path in out.iterdir())
    ['.geodis-files.json', 'page.html']
    """
    folder = Path(folder).resolve()
    if folder.exists() and not (folder.is_dir() and os.access(folder, os.W_OK)):
        kind = "a folder that cannot be written to" if folder.is_dir() else "a file"
        raise InputError(f"The folder to write to must be new or writable; {folder} is {kind}.")
    new = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        if folder.parent in new:
            folder.parent.mkdir(parents=True)
        _finish_earlier(folder)
        _check_own(folder)
        made, lock = _new_staging(folder)
        try:
            yield made
            _check_own(folder, skip=made)
            with _interrupts_later():
                _write_manifest(made)
                if os.name == "nt":  # where a folder with an open file cannot be moved
                    lock.close()
                _put(made, folder)
        finally:
            lock.close()
            # A set that was begun inside the folder is finished by the next call.
            if made.parent != folder or not _listed_in(made):
                _remove(made)
    finally:
        for one in new:  # remove folders that stayed empty
            with suppress(OSError):
                one.rmdir()


def check_whole_set(folder: str | os.PathLike[str]) -> None:
    """Raise the error that would stop `whole_set`, without leaving any files."""
    with suppress(_OnlyTriedError), whole_set(folder):
        raise _OnlyTriedError


class _OnlyTriedError(Exception):
    """Ends a trial of `whole_set`."""


def _new_staging(folder: Path) -> tuple[Path, IO[bytes]]:
    """Make a locked folder to write into: next to `folder` if the two can be exchanged."""
    if not os.path.ismount(folder) and folder not in (Path.cwd(), *Path.cwd().parents):
        with suppress(OSError):
            made, lock = _locked(folder.parent)
            if not folder.exists() or _same_owner(made, folder):
                return made, lock
            lock.close()
            _remove(made)
    folder.mkdir(exist_ok=True)
    return _locked(folder)


def _same_owner(made: Path, folder: Path) -> bool:
    one, other = made.stat(), folder.stat()
    return (one.st_uid, one.st_gid, one.st_dev) == (other.st_uid, other.st_gid, other.st_dev)


def _locked(parent: Path) -> tuple[Path, IO[bytes]]:
    """Make a folder with a locked manifest, which shows that this process is alive."""
    while True:
        made = parent / f"{STAGING}{secrets.token_hex(4)}"
        made.mkdir()
        try:
            file = (made / MANIFEST).open("wb")
        except FileNotFoundError:
            continue
        try:
            lock_file(file.fileno())
        except BlockingIOError:
            file.close()
            continue
        except OSError:  # some file systems have no locks
            return made, file
        # Before it was locked, another process may have taken it for abandoned and removed it.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), (made / MANIFEST).stat()):
                return made, file
        file.close()


def _finish_earlier(folder: Path) -> None:
    """Finish or remove what killed processes left."""
    for made in folder.parent.glob(f"{STAGING}*"):
        with suppress(OSError):  # another user's, or being removed by another process
            written = _listed_in(made)
            if _is_abandoned(made) and not (written and any(_not_own(made, written))):
                _remove(made)
    for made in folder.glob(f"{STAGING}*"):
        if not _is_abandoned(made):
            continue
        if written := _listed_in(made):
            _check_own(folder, skip=made, also=written)
            _move_files(made, folder)
        else:
            _remove(made)


def _is_abandoned(made: Path) -> bool:
    """Return whether a folder is one of ours to which no process writes."""
    if made.is_symlink() or not made.is_dir():
        return False
    try:
        if not (made / MANIFEST).exists():
            return not any(made.iterdir())
        with (made / MANIFEST).open("r+b") as file:
            lock_file(file.fileno())
    except OSError:
        return False
    return True


def manifest_hashes(path: Path) -> dict[str, str] | None:
    """Return the SHA-256 of each file in a manifest by name; None if it cannot be read."""
    try:
        hashes = json.loads(path.read_text(encoding="utf-8"))["sha256"]
        return {str(name): str(text) for name, text in hashes.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def add_to_manifest(manifest: Path, paths: Iterable[Path]) -> None:
    """Add files to the manifest in their folder."""
    added = {path.name: _hash(path) for path in paths if path.is_file()}
    if added:
        write_json(manifest, {"sha256": (manifest_hashes(manifest) or {}) | added})


def is_listed(path: Path, *hashes: str | None) -> bool:
    """Return whether a path is a regular file, not a link, with one of these SHA-256."""
    return path.is_file() and not path.is_symlink() and _hash(path) in hashes


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _write_manifest(made: Path) -> None:
    names = [name for name in _names_in(made) if (made / name).is_file() and name != MANIFEST]
    files = {name: _hash(made / name) for name in names}
    text = json.dumps({"written by": "geodis", "sha256": files}, indent=1)
    # Write in place, because the open manifest carries the lock.
    (made / MANIFEST).write_text(text + "\n", encoding="utf-8")


def _listed_in(folder: Path) -> dict[str, set[str]]:
    """Return the files listed in a folder's manifest, including the manifest itself."""
    known = manifest_hashes(folder / MANIFEST)
    if known is None:
        return {}
    return {MANIFEST: set(), **{name: {text} for name, text in known.items()}}


def _check_own(
    folder: Path, skip: Path | None = None, also: dict[str, set[str]] | None = None
) -> None:
    """Refuse a folder with anything that our manifests do not list."""
    known = _listed_in(folder)
    for name, hashes in (also or {}).items():
        known[name] = known.get(name, set()) | hashes
    found = list(islice(_not_own(folder, known, skip), SHOWN + 1))
    if found:
        more = ["others"] if len(found) > SHOWN else []
        raise InputError(
            "The folder to write to must be new, empty, or hold only files written by geodis; "
            f"got {folder} with {listed([*found[:SHOWN], *more])}: name another folder, or move "
            "these files away."
        )


def _not_own(folder: Path, known: dict[str, set[str]], skip: Path | None = None) -> Iterator[str]:
    """Yield what is in a folder and not in a manifest, or has changed."""
    parents = {parent.as_posix() for name in known for parent in Path(name).parents}
    for name in _names_in(folder, skip):
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            if name not in parents:
                yield f"{name}/"
        elif path.name in OF_BROWSERS or (name == MANIFEST and known):
            continue
        elif name not in known:
            yield name
        elif not is_listed(path, *known[name]):
            yield f"{name} (changed since)"


def _names_in(folder: Path, skip: Path | None = None) -> Iterator[str]:
    """Yield files and empty folders by their path relative to the folder."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if Path(place, one) != skip)
        links = [one for one in folders if Path(place, one).is_symlink()]
        for name in sorted([*files, *links]):
            yield Path(place, name).relative_to(folder).as_posix()
        if not files and not folders and Path(place) != folder:
            yield Path(place).relative_to(folder).as_posix()


def _put(made: Path, folder: Path) -> None:
    """Move the new folder to `folder`, in one step or file by file."""
    if made.parent == folder:
        _move_files(made, folder)
        return
    try:
        if folder.exists():
            shutil.copymode(folder, made)
        if folder.exists() and any(folder.iterdir()):
            _exchange(made, folder)
        else:
            made.rename(folder)
            return
    except OSError:  # not supported by this system or file system
        within = folder / made.name
        made.rename(within)
        _move_files(within, folder)
    else:
        _remove(made)


def _exchange(one: Path, other: Path) -> None:
    """Exchange two folders in one step; raise OSError if the system does not support it."""
    library: Any = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
    paths = os.fsencode(one), os.fsencode(other)
    if sys.platform == "linux" and hasattr(library, "renameat2"):
        here = -100  # AT_FDCWD
        failed = library.renameat2(here, paths[0], here, paths[1], 2)  # RENAME_EXCHANGE
    elif sys.platform == "darwin" and hasattr(library, "renamex_np"):
        failed = library.renamex_np(*paths, 2)  # RENAME_SWAP
    else:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if failed:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _move_files(made: Path, folder: Path) -> None:
    """Move all files, delete earlier ones without a successor, and move the manifest last."""
    known, now = _listed_in(folder), _listed_in(made)
    for name in list(_names_in(made)):
        if name in now and name != MANIFEST:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).replace(folder / name)
    for name in list(_names_in(folder, skip=made)):
        if name in known and name not in now:
            (folder / name).unlink()
            with suppress(OSError):
                (folder / name).parent.rmdir()
    for path in [path for path in made.iterdir() if path.is_dir()]:  # they are empty now
        shutil.rmtree(path)
    (made / MANIFEST).replace(folder / MANIFEST)
    made.rmdir()


def _remove(made: Path) -> None:
    """Remove a folder as far as possible; the manifest, which marks it as ours, goes last."""
    with suppress(OSError):  # another process may be removing it as well
        for path in made.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != MANIFEST:
                path.unlink(missing_ok=True)
        (made / MANIFEST).unlink(missing_ok=True)
        made.rmdir()


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Delay an interrupt to the end of the block; only the main thread receives any."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
