"""A folder of parts: what it was made with, what is in it, and rows of it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.array_file import read_arrays
from geodis.base.check import InputError, check_choice
from geodis.base.engines.journal import differences
from geodis.base.write import to_jsonable, write_json
from geodis.manifold.atlas.fitted_atlas import Atlas

MANIFEST, ATLAS, PARTS = "manifest.json", "atlas.safetensors", "part"

PartArray = Literal["axes", "coordinates", "distances", "outside"]
ARRAYS = get_args(PartArray)


@dataclass(frozen=True)
class PartsFolder:
    """Axes, coordinates and distances of all rows, in one file a part.

    Attributes
    ----------
    folder : Path
    manifest : dict
        ``made_with``: settings, rows and the file they are of; ``fit``: what the sample showed;
        ``done``: how many rows lie outside, once all parts are there.
    """

    folder: Path
    manifest: Mapping[str, Any]

    @cached_property
    def atlas(self) -> Atlas:
        """What the rows were mapped with."""
        return Atlas.load(self.folder / ATLAS)

    @property
    def n_rows(self) -> int:
        """Rows of all parts together."""
        return int(self.manifest["made_with"]["shape"][0])

    @property
    def is_complete(self) -> bool:
        """Whether all parts are there."""
        return "done" in self.manifest

    def read(self, name: PartArray, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Rows of one of the arrays, from the parts that they lie in.

        Parameters
        ----------
        name : {"axes", "coordinates", "distances", "outside"}
            Axes are along the directions that vary: times ``atlas.basis`` they are those of the
            points.
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
        """What was found, in a few lines."""
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
            ["  not all parts are there"] if done is None else [*map("  {}".format, done["said"])]
        )
        return "\n".join(lines)


def open_parts(folder: str | os.PathLike[str]) -> PartsFolder:
    """Open what `factorise_parts` wrote.

    Parameters
    ----------
    folder : path

    Returns
    -------
    PartsFolder
    """
    return PartsFolder(Path(folder), read_manifest(Path(folder)))


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder, or one sentence about it."""
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
    """The manifest to go on with: a new one, or that of an earlier run with the same settings."""
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
    for name, before, now in differences(manifest["made_with"], made_with):
        raise InputError(
            f"{folder} holds parts that were made with {name}={before!r}; got {now!r}: choose "
            "another --out, or the same settings."
        )
    return manifest


def part_path(folder: Path, number: int) -> Path:
    """Where a part stands."""
    return folder / f"{PARTS}-{number:06d}.safetensors"
