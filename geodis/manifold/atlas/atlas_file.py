"""An atlas in one file: arrays in safetensors, and what they are as a note of plain values."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.base.notes import note_counts, note_entry
from geodis.base.safetensors_files import read_arrays, write_arrays
from geodis.manifold.atlas.charts import AtlasPiece, BentSheet, FlatSheet, LocalChart, Sheet
from geodis.manifold.atlas.fitted_atlas import Atlas
from geodis.manifold.maps.closed_coordinates import ClosedCoordinates

KIND, VERSION = "geodis atlas", 1
# Products of the columns of a rotation are those of the identity but for rounding, far below this.
ORTHONORMAL = 1e-6


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
    held = _Arrays(path, arrays)
    try:
        atlas = _atlas(held, note)
    except KeyError as error:
        raise InputError(f"{path} must hold a whole atlas; {error} is missing.") from error
    if others := arrays.keys() - held.taken:
        raise held.refusal("no arrays but those of its pieces", f"{min(others)}")
    return atlas


@dataclass(frozen=True)
class _Arrays:
    """The arrays of a file, each held against the shape and the type that it must have.

    Compiled loops look up rows in them without a look at their lengths.
    """

    path: str | os.PathLike[str]
    arrays: dict[str, np.ndarray]
    taken: set[str] = field(default_factory=set)

    def take(
        self,
        name: str,
        shape: tuple[int | None, ...],
        dtype: type = np.float64,
        *,
        gaps: bool = False,
    ) -> np.ndarray:
        """The array of a name; None is a size that may be any, and NaN may stand for gaps."""
        array = self.arrays[name]
        self.taken.add(name)
        fits = len(array.shape) == len(shape) and all(
            wanted in (None, size) for wanted, size in zip(shape, array.shape, strict=True)
        )
        if not fits or array.dtype != dtype:
            wanted = f"({', '.join('any' if size is None else str(size) for size in shape)})"
            raise self.refusal(
                f"{name} of shape {wanted} and dtype {np.dtype(dtype)}",
                f"shape {array.shape} and dtype {array.dtype}",
            )
        if np.isinf(array).any() or (not gaps and np.isnan(array).any()):
            raise self.refusal(f"finite numbers in {name}", "NaN or infinity")
        return array

    def refusal(self, needed: str, got: str) -> InputError:
        """The sentence for what does not fit."""
        return InputError(f"{self.path} must hold an atlas with {needed}; got {got}.")


def _atlas(arrays: _Arrays, note: dict[str, Any]) -> Atlas:
    """Build an atlas from a file, once all of it is known to fit together."""
    dims, flat = note_counts(note, "factor_dims", arrays.path), note["flat"]
    if not dims or min(dims) < 1 or not _is_list(flat, bool, len(dims)):
        raise arrays.refusal("factors of dimension 1 or more, each flat or not", f"{dims}, {flat}")
    basis = arrays.take("basis", (None, None))
    c, d = basis.shape
    places = arrays.take("places", (None, c))
    n, entries = len(places), note_entry(note, "pieces", list, arrays.path)
    if not 1 <= sum(dims) <= c <= d:
        raise arrays.refusal(f"{sum(dims)} or more of {d} directions", str(c))
    piece = arrays.take("piece", (n,), np.int64)
    if not np.array_equal(np.unique(piece), np.arange(len(entries))):
        raise arrays.refusal(
            f"places in each of {len(entries)} pieces and no other", "other pieces"
        )
    away = np.inf if note["away"] is None else note_entry(note, "away", float, arrays.path, low=0)
    if not np.isinf(away) == (c == d):
        raise arrays.refusal("a distance from its directions where there are others", f"{away}")
    pieces = tuple(
        _piece(arrays, p, own, c, dims, int((piece == p).sum())) for p, own in enumerate(entries)
    )
    widths = {tuple(sheet.n_coordinates for sheet in own.sheets) for own in pieces}
    if len(widths) > 1:
        raise arrays.refusal("the same coordinates in every piece", f"{sorted(widths)}")
    return Atlas(
        basis,
        arrays.take("origin", (d,)),
        away,
        places,
        piece,
        arrays.take("reach", (n,)),
        arrays.take("lost", (None, c)),
        pieces,
        dims,
        tuple(flat),
    )


def _is_list(given: Any, kind: type, length: int) -> bool:
    return isinstance(given, list) and [type(own) for own in given] == [kind] * length


def _piece(
    arrays: _Arrays, p: int, entries: Any, c: int, dims: tuple[int, ...], n_places: int
) -> AtlasPiece:
    """Piece p, which has so many places."""
    n_charts = note_entry(entries, "charts", int, arrays.path, low=1)
    sheets = note_entry(entries, "sheets", list, arrays.path)
    charts = tuple(
        _chart(arrays, f"{p}/chart{number}/", c, sum(dims), n_places) for number in range(n_charts)
    )
    if not np.hstack([chart.mixing for chart in charts]).any(axis=1).all():
        raise arrays.refusal("charts of all axes in every piece", f"fewer in piece {p}")
    if sheets and len(sheets) != len(dims):
        raise arrays.refusal(f"{len(dims)} sheets in every piece, or none", f"{len(sheets)}")
    taken: set[tuple[int, int]] = set()
    made = []
    for j, (own, dim) in enumerate(zip(sheets, dims, strict=False)):
        number = note_entry(own, "chart", int, arrays.path, low=0)
        rows = note_entry(own, "own", list, arrays.path)
        rank = charts[number].frames.shape[1] if number < n_charts else 0
        if not _is_list(rows, int, 2) or not 0 <= rows[0] == rows[1] - dim <= rank - dim:
            raise arrays.refusal(f"{dim} rows of a chart for factor {j}", f"{rows} of {rank}")
        owned = {(number, row) for row in range(*rows)}
        if owned & taken:
            raise arrays.refusal("sheets on rows of their own", f"factor {j} on those of another")
        taken |= owned
        n = len(charts[number].places)
        made.append(_sheet(arrays, f"{p}/sheet{j}/", number, slice(*rows), n))
    return AtlasPiece(charts, tuple(made))


def _chart(arrays: _Arrays, prefix: str, c: int, dim: int, n_places: int) -> LocalChart:
    basis = arrays.take(f"{prefix}basis", (None, c))
    b, frames = len(basis), arrays.arrays[f"{prefix}frames"]
    n, k = frames.shape[:2] if frames.ndim == 3 else (n_places, dim)
    chart = LocalChart(
        basis,
        arrays.take(f"{prefix}places", (n, b)),
        arrays.take(f"{prefix}frames", (n, k, b), np.float32),
        arrays.take(f"{prefix}bends", (n, k * (k + 1) // 2, b), np.float32),
        arrays.take(f"{prefix}radius", (n,), np.float32),
        arrays.take(f"{prefix}mixing", (dim, k)),
    )
    # Of a chart of the whole space, the rows are those of the places.
    if not 1 <= k <= b <= c or n < 1 or (chart.is_whole and n != n_places):
        got = f"{n} places of {k} axes in {b} directions"
        raise arrays.refusal(f"up to {n_places} places and {c} directions in {prefix}", got)
    return chart


def _sheet_arrays(sheet: Sheet) -> dict[str, np.ndarray]:
    if isinstance(sheet, BentSheet):
        return {"polynomials": sheet.polynomials}
    closed = {each.name: getattr(sheet.closed, each.name) for each in fields(ClosedCoordinates)}
    return {"flat": sheet.flat, "turn": sheet.closed.turn, **closed}


def _sheet(arrays: _Arrays, prefix: str, chart: int, own: slice, n: int) -> Sheet:
    """A sheet of a chart of n places."""
    dim = own.stop - own.start
    if f"{prefix}polynomials" in arrays.arrays:
        shape = (n, 1 + dim + dim * (dim + 1) // 2, None)
        # Gaps, where a piece of the points has no map.
        polynomials = arrays.take(f"{prefix}polynomials", shape, np.float32, gaps=True)
        return BentSheet(chart, own, polynomials)
    flat = arrays.take(f"{prefix}flat", (n, dim), gaps=True)
    periods = arrays.take(f"{prefix}periods", (None, dim))
    forms = arrays.take(f"{prefix}forms", (None, len(periods)), np.int64)
    straight = arrays.take(f"{prefix}open_directions", (dim - len(periods), dim))
    radii = arrays.take(f"{prefix}radii", (len(forms),))
    turn = arrays.take(f"{prefix}turn", (None, 2 * len(forms) + len(straight)))
    if not np.allclose(turn.T @ turn, np.eye(turn.shape[1]), atol=ORTHONORMAL):
        raise arrays.refusal(f"orthonormal columns in {prefix}turn", "others")
    return FlatSheet(chart, own, flat, ClosedCoordinates(periods, straight, forms, radii, turn))
