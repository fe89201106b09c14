"""An atlas in one file: arrays in safetensors, and what they are as a note of plain values."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.array_file import read_arrays, write_arrays
from geodis.base.check import InputError
from geodis.manifold.atlas.charts import AtlasPiece, BentSheet, FlatSheet, LocalChart, Sheet
from geodis.manifold.atlas.fitted_atlas import Atlas
from geodis.manifold.maps.flat_map import ClosedCoordinates

KIND, VERSION = "geodis atlas", 1


def write_atlas(atlas: Atlas, path: str | os.PathLike[str]) -> Path:
    """Write an atlas, whole or not at all.

    Parameters
    ----------
    atlas : Atlas
    path : path
        Ends in .safetensors.
    """
    if Path(path).suffix != ".safetensors":
        raise InputError(f"An atlas is written to a file that ends in .safetensors; got {path}.")
    arrays = {
        name: getattr(atlas, name)
        for name in ("basis", "origin", "places", "piece", "reach", "lost")
    }
    pieces = []
    for p, piece in enumerate(atlas.pieces):
        for c, chart in enumerate(piece.charts):
            for each in fields(LocalChart):
                arrays[f"{p}/chart{c}/{each.name}"] = getattr(chart, each.name)
        sheets = []
        for s, sheet in enumerate(piece.sheets):
            parts = _sheet_arrays(sheet)
            arrays |= {f"{p}/sheet{s}/{name}": array for name, array in parts.items()}
            sheets.append({"chart": sheet.chart, "own": [sheet.own.start, sheet.own.stop]})
        pieces.append({"charts": len(piece.charts), "sheets": sheets})
    note: dict[str, Any] = {
        "kind": KIND,
        "version": VERSION,
        "away": None if np.isinf(atlas.away) else atlas.away,
        "factor_dims": atlas.factor_dims,
        "flat": atlas.flat,
        "pieces": pieces,
    }
    return write_arrays(path, arrays, note)


def read_atlas(path: str | os.PathLike[str]) -> Atlas:
    """Read an atlas.

    Parameters
    ----------
    path : path

    Raises
    ------
    InputError
        If there is no such file, it is damaged, or holds something else.
    """
    arrays, note = read_arrays(path)
    if note.get("kind") != KIND:
        raise InputError(f"{path} must hold an atlas; got a file of something else.")
    if note.get("version") != VERSION:
        raise InputError(
            f"{path} must hold an atlas of version {VERSION}; got {note.get('version')}: make it "
            "again with this geodis."
        )
    try:
        pieces = tuple(
            AtlasPiece(
                tuple(
                    LocalChart(
                        *(arrays[f"{p}/chart{c}/{each.name}"] for each in fields(LocalChart))
                    )
                    for c in range(piece["charts"])
                ),
                tuple(
                    _sheet(arrays, f"{p}/sheet{s}/", told) for s, told in enumerate(piece["sheets"])
                ),
            )
            for p, piece in enumerate(note["pieces"])
        )
        return Atlas(
            arrays["basis"],
            arrays["origin"],
            np.inf if note["away"] is None else float(note["away"]),
            arrays["places"],
            arrays["piece"],
            arrays["reach"],
            arrays["lost"],
            pieces,
            tuple(note["factor_dims"]),
            tuple(note["flat"]),
        )
    except (KeyError, TypeError, IndexError) as error:
        raise InputError(f"{path} must hold a whole atlas; {error} is missing.") from error


def _sheet_arrays(sheet: Sheet) -> dict[str, np.ndarray]:
    if isinstance(sheet, BentSheet):
        return {"polynomials": sheet.polynomials}
    closed = {each.name: getattr(sheet.closed, each.name) for each in fields(ClosedCoordinates)}
    return {"flat": sheet.flat, "turn": sheet.turn, **closed}


def _sheet(arrays: dict[str, np.ndarray], prefix: str, told: dict[str, Any]) -> Sheet:
    chart, own = int(told["chart"]), slice(*told["own"])
    if f"{prefix}polynomials" in arrays:
        return BentSheet(chart, own, arrays[f"{prefix}polynomials"])
    closed = [arrays[prefix + each.name] for each in fields(ClosedCoordinates)]
    flat, turn = arrays[f"{prefix}flat"], arrays[f"{prefix}turn"]
    return FlatSheet(chart, own, flat, ClosedCoordinates(*closed), turn)
