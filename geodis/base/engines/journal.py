"""Finished tasks in a file, one line each: what a killed run leaves and the next begins with."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from geodis.base.check import InputError
from geodis.base.file_lock import lock_file
from geodis.base.text import listed


class Journal:
    """Keeps what finished tasks gave, by their names, under the settings that they had.

    Every entry is a line of JSON and handed to the system at once, so that a process that is killed
    loses what was under way alone. A last line that is not whole, of a full disk or a machine that
    went down, is taken away. While it is open no other process can open it.

    Parameters
    ----------
    path : str or path
        Made if it is not there.
    settings : mapping
        Plain values that decide what tasks give.

    Attributes
    ----------
    entries : dict of str to object
        What was there, and what was added since.

    Raises
    ------
    InputError
        If there is work of other settings in the file, or it is no journal, or open elsewhere. It
        is left as it is.

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
    geodis.base.check.InputError: Work goes on under the settings it began with, or in another \
place; got seed 1 for 0 in journal.
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
        """Keep what a task gave: plain values, of which numbers come back bit for bit."""
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
        except OSError as error:  # no room on the disk, most of the time
            raise InputError(
                f"{self.path} cannot be written to ({error.strerror}); what is finished is kept, "
                "and the same call goes on from there."
            ) from error

    def _read(self, file: BinaryIO) -> None:
        file.seek(0)
        head = file.readline()
        if not head.endswith(b"\n"):  # new, or ended in the middle of its first line
            self._begin(file)
            return
        if self._found(head) != self.settings:
            if file.readline().endswith(b"\n"):
                self._refuse(self._found(head))
            self._begin(file)  # no work stands under the other settings
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
        """The settings that stand in the first line."""
        try:
            return dict(json.loads(head)["settings"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"A journal must begin with its settings; got {self.path.name}, which does not."
            ) from error

    def _refuse(self, found: Mapping[str, Any]) -> None:
        other = [
            f"{name} {self.settings.get(name)} for {found.get(name)}"
            for name in sorted({*found, *self.settings})
            if found.get(name) != self.settings.get(name)
        ]
        raise InputError(
            "Work goes on under the settings it began with, or in another place; got "
            f"{listed(other)} in {self.path.name}."
        )

    def _close(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                os.fsync(self._file.fileno())
            with suppress(OSError):  # of a line that could not be written
                self._file.close()
            self._file = None


def _lock(file: BinaryIO, path: Path) -> None:
    try:
        lock_file(file.fileno())
    except BlockingIOError as error:
        raise InputError(
            f"Another process works on {path.name}: wait for it, or end it."
        ) from error
