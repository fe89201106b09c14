"""What commands print, and the folders that they write to: every file is named once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from geodis.base.check import InputError
from geodis.base.write import to_jsonable, whole_file


def check_folder(folder: Path) -> None:
    """Find what would stop the writing before the work, not after it."""
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(folder / "try"):
            pass
        (folder / "try").unlink()
        if made:
            folder.rmdir()
    except OSError as problem:
        raise InputError(
            f"--out must be a folder that can be written to; got {folder} ({problem.strerror})."
        ) from problem


def say(text: object, values: Mapping[str, Any], as_json: bool) -> None:
    """Print a text for people, or the same as JSON for machines."""
    print(json.dumps(to_jsonable(values), indent=2) if as_json else text)


class OutputFolder:
    """A folder whose files are named, and explained, where they are written.

    Parameters
    ----------
    folder : Path

    Attributes
    ----------
    meanings : dict of Path to str
        What each file is that was written so far.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.meanings: dict[Path, str] = {}

    def path(self, name: str, meaning: str) -> Path:
        """Path of a file that is about to be written, and what it is."""
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
    print(f"\n{title}:")
    width = max(len(str(path)) for path in meanings)
    for path, meaning in meanings.items():
        print(f"  {path!s:<{width}}  {meaning}")
