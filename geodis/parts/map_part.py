"""Some rows and an atlas -> one file of axes, coordinates and distances: a pure function."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.array_file import read_arrays, write_arrays
from geodis.base.check import InputError
from geodis.base.engines.journal import CHECKSUM, array_pieces, plain_digest
from geodis.base.row_source import RowSource
from geodis.data.files.open_rows import open_rows
from geodis.manifold.atlas.fitted_atlas import Atlas
from geodis.parts.file_states import check_unchanged, hash_of

KIND = "geodis part"
FULL = (errno.ENOSPC, errno.EDQUOT)
# Rows of a part that are named where they hold no numbers.
NAMED = 5


@dataclass(frozen=True)
class PartTask:
    """What one part is made of; small, so that it can be sent anywhere.

    Attributes
    ----------
    source : str or RowSource
        A file, which every process opens for itself, or rows in this process.
    unchanged : str
        State of the file; empty where there is none.
    start, stop : int
        Rows of the part.
    atlas : str
        File of the atlas.
    atlas_hash : str
        Of its bytes.
    out : str
        File to write.
    dtype : str
        Of axes, coordinates and distances.
    axes : bool
        Write these too.
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
        """What a file says of itself that holds this part."""
        return {
            "kind": KIND,
            "rows": [self.start, self.stop],
            "atlas": self.atlas_hash,
            "dtype": self.dtype,
            "axes": self.axes,
        }


def map_part(task: PartTask) -> dict[str, Any]:
    """Map the rows of a part and write what was found, whole or not at all.

    The same task gives the same bytes wherever, and however often, it is done.

    Parameters
    ----------
    task : PartTask

    Returns
    -------
    dict
        The note of the file: its rows, how many lie outside and how far, how many hold no numbers.

    Raises
    ------
    InputError
        If the file of the rows has changed, the atlas is another, or there is no room.
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
    """What an atlas says of rows, as arrays, and a note of what is not among the fitted points.

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
        ``axes`` (p, k, c) along the directions that vary, ``coordinates`` (p, r), ``distances``
        (p,) and ``outside`` (p,). A row with NaN or infinity has NaN everywhere.
    note : dict
    """
    kind = np.dtype(dtype)
    # One sum sees every NaN without a mask as large as the rows.
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
    """The note of a part that was written already by this task; None where it was not.

    A part whose bytes have changed since is none.
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
    """The sentence for a disk that is full."""
    return InputError(
        f"{path.parent} needs room for {what}; the disk is full: what is written is kept, and the "
        "same command goes on from there."
    )


@lru_cache(maxsize=2)
def _atlas(path: str, expected: str) -> Atlas:
    """Read once in every process."""
    if hash_of(path) != expected:
        raise InputError(f"{path} must be the atlas that the run began with; got another.")
    return Atlas.load(path)


@lru_cache(maxsize=4)
def _source(path: str, unchanged: str) -> RowSource:
    """Opened once in every process, as long as the file stays as it is."""
    return open_rows(path)
