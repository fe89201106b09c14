"""Map a part of the rows with an atlas and write one file; read a folder of parts."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import InputError, check_choice
from geodis.base.journal import CHECKSUM, array_pieces, changed_settings, plain_digest
from geodis.base.row_source import RowSource
from geodis.base.safetensors_files import read_arrays, write_arrays
from geodis.base.write import to_jsonable, write_json
from geodis.data.files.open_rows import open_rows
from geodis.manifold.atlas.fitted_atlas import Atlas

BLOCK = 2**20


def file_state(path: str | os.PathLike[str]) -> str:
    """Return size and modification time of a file, or a digest of these for a folder.

    Parameters
    ----------
    path : path
        With or without a key after a colon.

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
    """Return the file or folder of "file:key"."""
    parts = os.fspath(path).split(":")
    for cut in range(len(parts), 0, -1):
        place = Path(":".join(parts[:cut])).expanduser()
        if place.exists():
            return place
    raise InputError(f"{path} must be a file; there is none of this name.")


def hash_of(path: str | os.PathLike[str]) -> str:
    """Compute the SHA-256 of the bytes of a file."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def check_unchanged(path: str | os.PathLike[str], before: str) -> None:
    """Require that a file has not changed since the run began."""
    if file_state(path) != before:
        raise InputError(
            f"{path} must stay as it is while it is read; it has changed since the first part: "
            "what was read of it is not kept, and a run on what it is now needs another folder."
        )


def _of_one(path: Path) -> str:
    stat = path.stat()
    return f"{stat.st_size} {stat.st_mtime_ns}"


KIND = "geodis part"
FULL = (errno.ENOSPC, errno.EDQUOT)
# Number of rows with NaN or infinity that a note names.
NAMED = 5


@dataclass(frozen=True)
class PartTask:
    """The description of one part; it is small, so that it can be sent to other processes.

    Attributes
    ----------
    source : str or RowSource
        A file, which every process opens, or rows in this process.
    unchanged : str
        State of the file; empty if there is none.
    start, stop : int
        Rows of the part.
    atlas : str
        File of the atlas.
    atlas_hash : str
        Hash of that file.
    out : str
        File to write.
    dtype : str
        Dtype of axes, coordinates and distances.
    axes : bool
        Write the axes too.
    """

    source: str | RowSource
    unchanged: str
    start: int
    stop: int
    atlas: str
    atlas_hash: str
    out: str
    dtype: str = "float32"
    axes: bool = True

    @property
    def note(self) -> dict[str, Any]:
        """Return the entries of the file's note that identify the part."""
        return {
            "kind": KIND,
            "rows": [self.start, self.stop],
            "atlas": self.atlas_hash,
            "dtype": self.dtype,
            "axes": self.axes,
        }


def map_part(task: PartTask) -> dict[str, Any]:
    """Map the rows of a part and write the result to a file, which is complete or absent.

    The same task always gives the same bytes.

    Parameters
    ----------
    task : PartTask

    Returns
    -------
    dict
        The note of the file: its rows, how many are outside and how far, how many are not finite.

    Raises
    ------
    InputError
        If the file of the rows has changed, the atlas is another one, or the disk is full.
    """
    atlas = _atlas(task.atlas, task.atlas_hash)
    if isinstance(task.source, str):
        check_unchanged(task.source, task.unchanged)
        rows = _source(task.source, task.unchanged).read(task.start, task.stop)
        check_unchanged(task.source, task.unchanged)
    else:
        rows = task.source.read(task.start, task.stop)
    arrays, found = mapped(rows, atlas, task.dtype, first=task.start)
    note = {**task.note, **found}
    if not task.axes:
        del arrays["axes"]
    try:
        write_arrays(task.out, arrays, {**note, CHECKSUM: plain_digest(note, array_pieces(arrays))})
    except OSError as error:
        if error.errno in FULL:
            raise no_room(Path(task.out), f"rows {task.start} to {task.stop}") from error
        raise
    return note


def mapped(
    rows: np.ndarray, atlas: Atlas, dtype: str, *, first: int = 0
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Map rows with an atlas, and count those that are outside or not finite.

    Parameters
    ----------
    rows : ndarray of shape (p, d)
    atlas : Atlas
    dtype : {"float32", "float64"}
    first : int
        Number of the first row.

    Returns
    -------
    arrays : dict of str to ndarray
        ``axes`` (p, k, c) in the basis of varying directions, ``coordinates`` (p, r), ``distances``
        (p,) and ``outside`` (p,). A row with NaN or infinity is NaN in all of them.
    note : dict
    """
    kind = np.dtype(dtype)
    # A sum detects NaN without a mask of the size of the rows.
    with np.errstate(over="ignore", invalid="ignore"):
        sums = rows.sum(axis=1, dtype=float)
    usable = np.isfinite(sums)
    if not usable.all():
        usable = np.isfinite(rows).all(axis=1)
    p, width = len(rows), sum(atlas.n_coordinates)
    arrays = {
        "axes": np.full((p, atlas.dim, len(atlas.basis)), np.nan, kind),
        "coordinates": np.full((p, width), np.nan, kind),
        "distances": np.full(p, np.nan, kind),
        "outside": np.zeros(p, bool),
    }
    note = {"outside": 0, "farthest": 0.0, "unusable": int((~usable).sum())}
    note["unusable_rows"] = (first + np.flatnonzero(~usable)[:NAMED]).tolist()
    if usable.any():
        some = slice(None) if usable.all() else usable
        found = atlas.at(rows[some], reduced=True, dtype=kind, n_jobs=1)
        for name in arrays:
            arrays[name][some] = getattr(found, name)
        note["outside"] = int(found.outside.sum())
        if found.outside.any():
            note["farthest"] = float(found.distances[found.outside].max())
    return arrays, note


def is_done(task: PartTask) -> dict[str, Any] | None:
    """Return the note of a part that this task has already written, or None.

    A part whose bytes have changed does not count.
    """
    try:
        arrays, note = read_arrays(task.out)
    except (InputError, OSError):
        return None
    checksum = note.pop(CHECKSUM, None)
    wanted: Mapping[str, Any] = task.note
    fits = all(note.get(name) == value for name, value in wanted.items())
    return note if fits and checksum == plain_digest(note, array_pieces(arrays)) else None


def no_room(path: Path, what: str) -> InputError:
    """Make the error for a full disk."""
    return InputError(
        f"{path.parent} needs room for {what}; the disk is full: what is written is kept, and the "
        "same command goes on from there."
    )


@lru_cache(maxsize=2)
def _atlas(path: str, expected: str) -> Atlas:
    """Read the atlas, once in every process."""
    if hash_of(path) != expected:
        raise InputError(f"{path} must be the atlas that the run began with; got another.")
    return Atlas.load(path)


@lru_cache(maxsize=4)
def _source(path: str, unchanged: str) -> RowSource:
    """Open the file, once in every process and state of the file."""
    return open_rows(path)


MANIFEST, ATLAS, PARTS = "manifest.json", "atlas.safetensors", "part"

PartArray = Literal["axes", "coordinates", "distances", "outside"]
ARRAYS = get_args(PartArray)


@dataclass(frozen=True)
class PartsFolder:
    """A folder with axes, coordinates and distances of all rows, in one file per part.

    Attributes
    ----------
    folder : Path
    manifest : dict
        ``made_with``: settings, shape and file of the rows; ``fit``: results of the sample;
        ``done``: number of outside rows, once all parts are finished.
    """

    folder: Path
    manifest: Mapping[str, Any]

    @cached_property
    def atlas(self) -> Atlas:
        """The atlas with which the rows were mapped."""
        return Atlas.load(self.folder / ATLAS)

    @property
    def n_rows(self) -> int:
        """Number of rows of all parts."""
        return int(self.manifest["made_with"]["shape"][0])

    @property
    def is_complete(self) -> bool:
        """Whether all parts are finished."""
        return "done" in self.manifest

    def read(self, name: PartArray, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Read rows of one of the arrays from their parts.

        Parameters
        ----------
        name : {"axes", "coordinates", "distances", "outside"}
            Axes are in the basis of varying directions; multiply by ``atlas.basis`` to get axes
            in the space of the points.
        start, stop : int
            All rows by default.

        Returns
        -------
        ndarray
        """
        check_choice(name, "name", ARRAYS)
        stop = self.n_rows if stop is None else stop
        if not 0 <= start < stop <= self.n_rows:
            raise InputError(
                f"Rows must lie between 0 and {self.n_rows:,}; got {start:,} to {stop:,}."
            )
        step = int(self.manifest["made_with"]["part_rows"])
        found = []
        for number in range(start // step, -(-stop // step)):
            begin = number * step
            arrays, _ = read_arrays(part_path(self.folder, number), names=[name])
            if name not in arrays:
                raise InputError(f"{self.folder} must hold {name}; they were not written.")
            found.append(arrays[name][max(0, start - begin) : stop - begin])
        return np.concatenate(found)

    def __str__(self) -> str:
        """Summarise the results in a few lines."""
        made, fit = self.manifest["made_with"], self.manifest.get("fit")
        n, d = made["shape"]
        lines = [f"{n:,} rows in {d} columns, in parts of {made['part_rows']:,}"]
        if fit is not None:
            factors = " + ".join(
                f"{dim}{' (flat)' if flat else ''}"
                for dim, flat in zip(fit["factor_dims"], fit["flat"], strict=True)
            )
            lines.append(f"  sample of {fit['sampled']:,} rows: factors of dimension {factors}")
            lines += [f"  - {doubt}" for doubt in fit["doubts"]]
        done = self.manifest.get("done")
        lines += (
            ["  not all parts are finished"]
            if done is None
            else [*map("  {}".format, done["said"])]
        )
        return "\n".join(lines)


def open_parts(folder: str | os.PathLike[str]) -> PartsFolder:
    """Open a folder that `factorise_parts` wrote.

    Parameters
    ----------
    folder : path

    Returns
    -------
    PartsFolder
    """
    return PartsFolder(Path(folder), read_manifest(Path(folder)))


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a folder."""
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(f"{folder} must be a folder of parts; there is no {MANIFEST} in it.")
    try:
        manifest = json.loads(path.read_bytes())
        if not isinstance(manifest["made_with"], dict):
            raise TypeError("made_with must be an object")
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} cannot be read as a manifest of parts: {error}.") from error
    return manifest


def begin_manifest(folder: Path, made_with: Mapping[str, Any]) -> dict[str, Any]:
    """Make a manifest, or read that of an earlier run, which must have the same settings."""
    made_with = to_jsonable(dict(made_with))
    if not (folder / MANIFEST).exists():
        others = [path.name for path in folder.iterdir() if not path.name.startswith(".")]
        if others:
            raise InputError(
                f"{folder} must be empty or a folder of parts; got {', '.join(sorted(others)[:3])}"
                ": choose another --out."
            )
        manifest = {"made_with": made_with}
        write_json(folder / MANIFEST, manifest)
        return manifest
    manifest = read_manifest(folder)
    for name, before, now in changed_settings(manifest["made_with"], made_with):
        raise InputError(
            f"{folder} holds parts that were made with {name}={before!r}; got {now!r}: choose "
            "another --out, or the same settings."
        )
    return manifest


def part_path(folder: Path, number: int) -> Path:
    """Return the path of a part."""
    return folder / f"{PARTS}-{number:06d}.safetensors"
