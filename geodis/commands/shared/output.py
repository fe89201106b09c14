"""What commands print, and the folders that they write to: every file is named once."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from geodis.base.check import InputError
from geodis.base.text import listed, printable
from geodis.base.whole_set import file_hash, listed_files
from geodis.base.write import to_jsonable, whole_file, write_json

WRITTEN = ".geodis-written.json"


def check_folder(folder: Path) -> None:
    """Find what would stop the writing before the work, not after it."""
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
        if made:
            folder.rmdir()
    except OSError as problem:
        raise InputError(
            f"--out must be a folder that can be written to; got {folder} ({problem.strerror})."
        ) from problem


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

    def __init__(self, folder: Path, names: Sequence[str] = ()) -> None:
        self.folder = folder
        self.meanings: dict[Path, str] = {}
        self._names = names
        self._listed = listed_files(folder / WRITTEN) or {}
        check_folder(folder)
        there = [name for name in names if (folder / name).exists()]
        taken = [name for name in there if self._listed.get(name) != file_hash(folder / name)]
        if taken:
            raise InputError(
                "--out must be a folder in which no file of yours is replaced; got "
                f"{folder} with {listed(taken)}: name another folder."
            )

    def __enter__(self) -> OutputFolder:
        return self

    def __exit__(self, *exception: object) -> None:
        """List what was written."""
        made = {path.name: file_hash(path) for path in self.meanings if path.is_file()}
        write_json(self.folder / WRITTEN, {"sha256": self._listed | made})

    def path(self, name: str, meaning: str) -> Path:
        """Path of a file that is about to be written, and what it is."""
        assert not self._names or name in self._names
        self.meanings[self.folder / name] = meaning
        return self.folder / name

    def write_text(self, name: str, meaning: str, text: str) -> None:
        """Write a text, whole or not at all."""
        with whole_file(self.path(name, meaning)) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")

    def list_files(self) -> None:
        """Say what was written and where."""
        list_files("Written", self.meanings)


def list_files(title: str, meanings: Mapping[Path, str]) -> None:
    """Say what was made and where."""
    tell(f"\n{title}:")
    width = max(len(str(path)) for path in meanings)
    for path, meaning in meanings.items():
        tell(f"  {path!s:<{width}}  {meaning}")
