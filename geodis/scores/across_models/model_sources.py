"""What is scored of many models: files of a folder, paths, or arrays, each with a name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError, to_numpy
from geodis.data.files.contents import suffix_of
from geodis.data.files.formats import READERS
from geodis.data.files.load import load_array

Stamp = list[int] | str


@dataclass(frozen=True)
class ModelSource:
    """Where the latents of one model are.

    Attributes
    ----------
    name : str
    place : str or ndarray
        A file, perhaps with the key of an array in it, or the latents themselves.
    """

    name: str
    place: str | np.ndarray

    def stamp(self) -> Stamp:
        """What changes with the content: size and time of a file, a hash of an array.

        Examples
        --------
        >>> ModelSource("a", np.zeros(3)).stamp()
        '68b59104335b75f8b05a168c'
        """
        if isinstance(self.place, str):
            found = file_of_place(self.place).stat()
            return [found.st_size, found.st_mtime_ns]
        array = np.ascontiguousarray(self.place)
        digest = hashlib.blake2b(f"{array.dtype.str}{array.shape}".encode(), digest_size=12)
        digest.update(array.data)
        return digest.hexdigest()

    def load(self) -> np.ndarray:
        """Read the latents; a file that changes meanwhile is refused."""
        if not isinstance(self.place, str):
            return self.place
        before = self.stamp()
        latents = load_array(self.place, mmap=False)
        if self.stamp() != before:
            raise InputError("A file must stay as it is while it is read; got one that changed.")
        return latents


def file_of_place(place: str) -> Path:
    """Return the file of a path that may end in the key of an array.

    Examples
    --------
    >>> file_of_place("run.npz:latents").name
    'run.npz'
    """
    whole = Path(place).expanduser()
    return whole if whole.exists() or ":" not in whole.name else Path(place.rpartition(":")[0])


def model_sources(
    models: Any, key: str | None = None, apart: Iterable[Path] = ()
) -> Iterator[ModelSource]:
    """Read what a user says of many models, one by one.

    Parameters
    ----------
    models : str, path, mapping or iterable
        A folder, whose files of a known format are taken in the order of their names, those in its
        folders too; paths; arrays; or names with either.
    key : str, optional
        Of the array in every file.
    apart : iterable of Path
        Files of the folder that are no models.

    Yields
    ------
    ModelSource
        Of a name of its own.

    Examples
    --------
    >>> [one.name for one in model_sources({"a": np.zeros((2, 1)), "b": "b.npy"})]
    ['a', 'b']
    """
    seen: set[str] = set()
    for name, place in _named(models, {path.resolve() for path in apart}):
        if name in seen:
            raise InputError(f"Every model needs a name of its own; got {name} twice.")
        seen.add(name)
        if not isinstance(place, str | os.PathLike):
            yield ModelSource(name, to_numpy(place, name))
        else:
            # Workers may have another current folder.
            text = str(Path(place).expanduser().absolute())
            yield ModelSource(name, text if key is None else f"{text}:{key}")


def _named(models: Any, apart: set[Path]) -> Iterator[tuple[str, Any]]:
    if isinstance(models, str | os.PathLike):
        yield from _in_folder(Path(models).expanduser(), apart)
    elif isinstance(models, Mapping):
        yield from ((str(name), place) for name, place in models.items())
    elif isinstance(models, Iterable):
        for number, place in enumerate(models):
            path = isinstance(place, str | os.PathLike)
            yield (Path(place).as_posix() if path else str(number)), place
    else:
        raise InputError(
            "models must be a folder, paths, arrays or a mapping of names to either; got "
            f"{type(models).__name__}."
        )


def _in_folder(folder: Path, apart: set[Path]) -> Iterator[tuple[str, Path]]:
    if not folder.is_dir():
        raise InputError(f"models must be a folder that is there; got {folder}.")
    found = False
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if any(part.startswith(".") for part in inside.parts) or not path.is_file():
            continue
        if suffix_of(path) in READERS and path.resolve() not in apart:
            found = True
            yield inside.as_posix(), path
    if not found:
        raise InputError(f"models must be a folder with files of arrays; got {folder}, without.")
