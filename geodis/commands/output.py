"""Printing, and output folders in which no file of the user is replaced."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from geodis.base.check import InputError
from geodis.base.text import listed, printable
from geodis.base.whole_set import add_to_manifest, is_listed, manifest_hashes
from geodis.base.write import to_jsonable, whole_file, write_json

WRITTEN = ".geodis-written.json"


def check_folder(folder: Path, must: str = "--out must be") -> None:
    """Require a writable folder, before the work begins."""
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
        for one in new:  # remove folders that stayed empty
            with suppress(OSError):
                one.rmdir()


def say(text: object, values: Mapping[str, Any], as_json: bool) -> None:
    """Print a text, or the corresponding values as JSON."""
    tell(json.dumps(to_jsonable(values), indent=2) if as_json else text)


def tell(text: object, *, error: bool = False) -> None:
    """Print to standard output or standard error, without control characters."""
    print(printable(text), file=sys.stderr if error else sys.stdout, flush=True)


class OutputFolder:
    """A folder that may contain other files, none of which is replaced.

    A manifest in the folder lists the files written by geodis with their SHA-256, as in
    `geodis.base.whole_set`.

    Parameters
    ----------
    folder : Path
    files : mapping of str to str
        The files that may be written, and what each contains.
    single : bool
        Whether --out names a file in the folder instead of the folder.
    begun : bool
        Whether the existing files are known to be from an earlier run and may be replaced.

    Raises
    ------
    InputError
        If the folder is not writable, or has a file with one of these names that geodis did not
        write or that was changed since.
    """

    def __init__(
        self, folder: Path, files: Mapping[str, str], *, single: bool = False, begun: bool = False
    ) -> None:
        self.folder = folder
        self._files = files
        self._written: list[Path] = []
        known = manifest_hashes(folder / WRITTEN) or {}
        check_folder(folder, "--out must be in" if single else "--out must be")
        taken = [
            name
            for name in ([] if begun else files)
            if os.path.lexists(folder / name) and not is_listed(folder / name, known.get(name))
        ]
        if taken and single:
            raise InputError(
                "--out must be a file that replaces none of yours; got "
                f"{listed([str(folder / name) for name in taken])}, not written by geodis or "
                "changed since: choose another file."
            )
        if taken:
            raise InputError(
                "--out must be a folder in which no file of yours is replaced; got "
                f"{folder} with {listed(taken)}: choose another folder."
            )

    def __enter__(self) -> OutputFolder:
        return self

    def __exit__(self, *exception: object) -> None:
        """Add the written files to the manifest."""
        add_to_manifest(self.folder / WRITTEN, self._written)

    def path(self, name: str) -> Path:
        """Return the path for a file to write, and add the previous one to the manifest."""
        assert name in self._files
        add_to_manifest(self.folder / WRITTEN, self._written[-1:])
        self._written.append(self.folder / name)
        return self.folder / name

    def write_text(self, name: str, text: str) -> None:
        """Write a text atomically."""
        with whole_file(self.path(name)) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")

    def write_json(self, name: str, values: Any) -> None:
        """Write values as JSON, atomically."""
        write_json(self.path(name), values)

    def write_array(self, name: str, array: Any) -> None:
        """Write an array as .npy, atomically."""
        import numpy as np

        with whole_file(self.path(name)) as temporary:
            np.save(temporary, array)

    def save_figure(self, name: str, axis: Any) -> None:
        """Write the figure of some axes, atomically."""
        from geodis import plots

        plots.save_figure(axis, self.path(name))

    def list_files(self, as_json: bool, others: Mapping[Path, str] | None = None) -> None:
        """Print the paths and contents of the written files, unless JSON was printed."""
        if not as_json:
            there = {path: self._files[path.name] for path in self._written if path.exists()}
            list_files("Written", {**there, **(others or {})})


def output_file(out: Path, meaning: str, beside: Mapping[str, str] | None = None) -> OutputFolder:
    """Open the folder of a file named by --out, for this file and others next to it."""
    return OutputFolder(out.parent, {out.name: meaning, **(beside or {})}, single=True)


def list_files(title: str, meanings: Mapping[Path, str]) -> None:
    """Print the paths of files and what each contains."""
    tell(f"\n{title}:")
    width = max(len(str(path)) for path in meanings)
    for path, meaning in meanings.items():
        tell(f"  {path!s:<{width}}  {meaning}")
