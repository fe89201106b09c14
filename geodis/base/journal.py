"""Files from which an interrupted run continues.

A `Journal` has one line for each finished task; an item file has one finished task. Files of
arrays and tensors (parts and checkpoints) have the same checksum in their notes. All of them
refuse to continue under other settings and name what differs.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

from geodis.base.check import InputError
from geodis.base.text import listed
from geodis.base.write import lock_file, to_jsonable, write_json

CHECKSUM = "checksum"


def digest_of(pieces: Iterable[bytes | memoryview]) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of an ordered sequence of pieces.

    Examples
    --------
    >>> digest_of([b"ab", b"c"]) == digest_of([b"a", b"bc"])
    False
    """
    made = hashlib.sha256()
    for piece in pieces:
        made.update(len(piece).to_bytes(8, "little"))
        made.update(piece)
    return made.hexdigest()[:16]


def plain_digest(values: Mapping[str, Any], pieces: Iterable[bytes | memoryview] = ()) -> str:
    """Return a digest of plain values by name, independent of order, and of bytes.

    Examples
    --------
    >>> plain_digest({"a": 1, "b": (2.0,)}) == plain_digest({"b": [2.0], "a": 1})
    True
    """
    text = json.dumps(to_jsonable(dict(values)), sort_keys=True, allow_nan=False)
    return digest_of(chain([text.encode()], pieces))


def array_pieces(arrays: Mapping[str, np.ndarray]) -> Iterator[bytes | memoryview]:
    """Yield names, dtypes, shapes and bytes in the order of the names; objects by their repr."""
    for name, array in sorted(arrays.items()):
        yield f"{name} {array.dtype} {array.shape}".encode()
        if array.dtype.hasobject:
            yield repr(array.tolist()).encode()
        else:
            yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def changed_settings(
    before: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, earlier and present value of each setting that differs, also in nested settings.

    Examples
    --------
    >>> list(changed_settings({"seed": 0, "fit": {"dim": 2}}, {"seed": 0, "fit": {"dim": 3}}))
    [('dim', 2, 3)]
    """
    for name in {**now, **before}:
        one, other = before.get(name), now.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            yield from changed_settings(one, other)
        elif one != other:
            yield name, one, other


def write_item(path: str | os.PathLike[str], item: Mapping[str, Any]) -> None:
    """Write the result of one task as JSON with a checksum, atomically."""
    write_json(path, {**item, CHECKSUM: plain_digest(item)}, durable=True)


def read_item(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Read the result written by `write_item`; None if the file does not exist.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "row.json"
    >>> write_item(path, {"score": 0.5})
    >>> read_item(path)
    {'score': 0.5}
    """
    try:
        item = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{path} cannot be read ({error}): remove it to compute it again."
        ) from None
    if not isinstance(item, dict) or item.pop(CHECKSUM, None) != plain_digest(item):
        raise InputError(
            f"{path} must have its original checksum; got another one: it was damaged or altered. "
            "Remove it to compute it again."
        )
    return item


class Journal:
    """Keeps the results of finished tasks by name, under fixed settings.

    Every entry is a line of JSON and is passed to the system immediately, so a killed process loses
    only its running tasks. An incomplete last line, from a full disk or a crash of the machine, is
    removed. While the journal is open, no other process can open it.

    Parameters
    ----------
    path : str or path
        Created if it does not exist.
    settings : mapping
        Plain values that determine the results of tasks.

    Attributes
    ----------
    entries : dict of str to object
        Earlier entries, and those added since.

    Raises
    ------
    InputError
        If the file has work under other settings, is not a journal, or is open elsewhere. The
        file is left unchanged.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "journal"
    >>> with Journal(path, {"seed": 0}) as journal:
    ...     journal.add("a", [1.5])
    >>> with Journal(path, {"seed": 0}) as journal:
    ...     journal.entries
    {'a': [1.5]}
    >>> Journal(path, {"seed": 1}).__enter__()
    Traceback (most recent call last):
    geodis.base.check.InputError: Work must continue under its original settings, or in another \
folder; got seed 1 instead of 0 in journal.
    """

    def __init__(self, path: str | os.PathLike[str], settings: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.settings = json.loads(json.dumps(dict(settings)))
        self.entries: dict[str, Any] = {}
        self._file: BinaryIO | None = None

    def __enter__(self) -> Journal:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+b")
        try:
            _lock(self._file, self.path)
            self._read(self._file)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def add(self, name: str, value: Any) -> None:
        """Store the result of a task: plain values, with numbers that are restored exactly."""
        if self._file is None:
            raise InputError("A journal must be open to be added to; got a closed one.")
        self._write([name, value])
        self.entries[name] = value

    def _write(self, line: Any) -> None:
        assert self._file is not None
        text = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        try:
            self._file.write(text)
            self._file.flush()
        except OSError as error:  # usually a full disk
            raise InputError(
                f"{self.path} cannot be written to ({error.strerror}); finished work is kept, and "
                "the same call continues from there."
            ) from error

    def _read(self, file: BinaryIO) -> None:
        file.seek(0)
        head = file.readline()
        if not head.endswith(b"\n"):  # new, or its first line is incomplete
            self._begin(file)
            return
        if self._found(head) != self.settings:
            if file.readline().endswith(b"\n"):
                self._refuse(self._found(head))
            self._begin(file)  # there is no work under the other settings
            return
        whole = file.tell()
        for line in file:
            if not line.endswith(b"\n"):
                break
            try:
                name, value = json.loads(line)
            except ValueError:
                break
            self.entries[name] = value
            whole += len(line)
        file.truncate(whole)

    def _begin(self, file: BinaryIO) -> None:
        file.truncate(0)
        self._write({"settings": self.settings})

    def _found(self, head: bytes) -> dict[str, Any]:
        """Return the settings in the first line."""
        try:
            return dict(json.loads(head)["settings"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"A journal must begin with its settings; got {self.path.name}, which does not."
            ) from error

    def _refuse(self, found: Mapping[str, Any]) -> None:
        different = changed_settings(found, self.settings)
        other = [f"{name} {now} instead of {then}" for name, then, now in different]
        raise InputError(
            "Work must continue under its original settings, or in another folder; got "
            f"{listed(sorted(other))} in {self.path.name}."
        )

    def _close(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                os.fsync(self._file.fileno())
            with suppress(OSError):  # from a line that could not be written
                self._file.close()
            self._file = None


def _lock(file: BinaryIO, path: Path) -> None:
    try:
        lock_file(file.fileno())
    except BlockingIOError as error:
        raise InputError(
            f"{path.name} must be used by one process at a time; got a second one: wait for the "
            "first, or end it."
        ) from error
