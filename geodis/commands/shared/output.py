"""What commands print, and the folders that they write to: every file is named once."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from geodis.base.check import InputError
from geodis.base.text import listed, printable
from geodis.base.whole_set import file_hash, listed_files
from geodis.base.write import to_jsonable, whole_file, write_json

WRITTEN = ".geodis-written.json"


def check_folder(folder: Path, must: str = "--out must be") -> None:
    """Find what would stop the writing before the work, not after it."""
    new = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        raise InputError(
            f"{must} a folder that can be written to; got {folder} ({problem.strerror})."
        ) from problem
    finally:
        for one in new:  # those that stayed empty
            with suppress(OSError):
                one.rmdir()


def say(text: object, values: Mapping[str, Any], as_json: bool) -> None:
    """Print a text for people, or the same as JSON for machines."""
    tell(json.dumps(to_jsonable(values), indent=2) if as_json else text)


def tell(text: object, *, error: bool = False) -> None:
    """Print on standard output, or error, without the control characters of names and files."""
    print(printable(text), file=sys.stderr if error else sys.stdout, flush=True)


class OutputFolder:
    """A folder whose files are named, and explained, where they are written.

    Files of others may stand in it, but none that would be replaced: a list in the folder says
    what geodis wrote there, with the SHA-256 of each.

    Parameters
    ----------
    folder : Path
    names : sequence of str
        What may be written, which is looked for before the work.
    single : bool
        Whether --out names a file in the folder, and not the folder.

    Raises
    ------
    InputError
        If the folder cannot be written to, or has a file of such a name that geodis did not write
        there, or that was changed since.

    Attributes
    ----------
    meanings : dict of Path to str
        What each file is that was written so far.
    """

    def __init__(self, folder: Path, names: Sequence[str] = (), *, single: bool = False) -> None:
        self.folder = folder
        self.meanings: dict[Path, str] = {}
        self._names = names
        written = listed_files(folder / WRITTEN) or {}
        check_folder(folder, "--out must be in" if single else "--out must be")
        there = [name for name in names if os.path.lexists(folder / name)]
        taken = [name for name in there if not _is_same(folder / name, written.get(name))]
        if taken and single:
            raise InputError(
                "--out must be a file that replaces none of yours; got "
                f"{listed([str(folder / name) for name in taken])} there, not written by geodis or "
                "changed since: name another file."
            )
        if taken:
            raise InputError(
                "--out must be a folder in which no file of yours is replaced; got "
                f"{folder} with {listed(taken)}: name another folder."
            )

    def __enter__(self) -> OutputFolder:
        return self

    def __exit__(self, *exception: object) -> None:
        """List what was written."""
        self._list(*self.meanings)

    def _list(self, *paths: Path) -> None:
        """Add files to the list as it now is: other commands may have added theirs."""
        made = {path.name: file_hash(path) for path in paths if path.is_file()}
        if made:
            written = listed_files(self.folder / WRITTEN) or {}
            write_json(self.folder / WRITTEN, {"sha256": written | made})

    def path(self, name: str, meaning: str) -> Path:
        """Path of a file that is about to be written, and what it is; the one before is listed."""
        assert not self._names or name in self._names
        self._list(*list(self.meanings)[-1:])
        self.meanings[self.folder / name] = meaning
        return self.folder / name

    def write_text(self, name: str, meaning: str, text: str) -> None:
        """Write a text, whole or not at all."""
        with whole_file(self.path(name, meaning)) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")

    def list_files(self) -> None:
        """Say what was written and where."""
        there = {path: meaning for path, meaning in self.meanings.items() if path.exists()}
        list_files("Written", there)


def output_file(out: Path, *beside: str) -> OutputFolder:
    """The folder of a file that --out names, and of those that are written beside it."""
    return OutputFolder(out.parent, (out.name, *beside), single=True)


def _is_same(path: Path, sha256: str | None) -> bool:
    """Whether a path is a file with the hash that the list gives."""
    regular = path.is_file() and not path.is_symlink()
    return sha256 is not None and regular and file_hash(path) == sha256


def list_files(title: str, meanings: Mapping[Path, str]) -> None:
    """Say what was made and where."""
    tell(f"\n{title}:")
    width = max(len(str(path)) for path in meanings)
    for path, meaning in meanings.items():
        tell(f"  {path!s:<{width}}  {meaning}")
