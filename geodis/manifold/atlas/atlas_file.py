"""Save an atlas to one safetensors file and load it again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import numpy as np

from geodis.base.check import InputError
from geodis.base.notes import NoteWriter, array_misfits, note_entry, read_saved, rebuilding
from geodis.base.safetensors_files import write_arrays
from geodis.manifold.atlas.charts import AtlasPiece, BentSheet, LocalChart, Sheet
from geodis.manifold.atlas.fitted_atlas import Atlas

KIND, VERSION = "geodis atlas", 2
# Tolerance for the products of the columns of a rotation, far above rounding errors.
ORTHONORMAL = 1e-6


def write_atlas(atlas: Atlas, path: str | os.PathLike[str]) -> Path:
    """Write an atlas; an interrupted write leaves no file.

    Parameters
    ----------
    atlas : Atlas
    path : path
        Ends in .safetensors.
    """
    if Path(path).suffix != ".safetensors":
        raise InputError(f"An atlas is written to a file that ends in .safetensors; got {path}.")
    writer = NoteWriter()
    own = writer.attributes(atlas, [each.name for each in fields(Atlas)])
    return write_arrays(path, writer.arrays, {"kind": KIND, "version": VERSION, "atlas": own})


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
    reader, note = read_saved(path, "an atlas", VERSION)
    with rebuilding(path):
        own = note_entry(note, "atlas", dict, path)
        atlas = Atlas(**reader.attributes(own, get_type_hints(Atlas)))
        for needed in _misfits(atlas):
            raise InputError(f"{path} must hold an atlas with {needed}; got others.")
        for other in reader.unused():
            raise InputError(f"{path} must hold an atlas and no other arrays; got {other}.")
    return atlas


def _misfits(atlas: Atlas) -> Iterator[str]:
    """Describe what the parts of an atlas must be and are not."""
    dims = atlas.factor_dims
    if not dims or min(dims) < 1 or len(atlas.flat) != len(dims):
        yield "factors of dimension 1 or more, each flat or not"
    yield from array_misfits("basis", atlas.basis, (None, None))
    c, d = atlas.basis.shape
    if not 1 <= sum(dims) <= c <= d:
        yield f"{sum(dims)} or more of {d} directions"
    yield from array_misfits("places", atlas.places, (None, c))
    n = len(atlas.places)
    yield from array_misfits("origin", atlas.origin, (d,))
    yield from array_misfits("reach", atlas.reach, (n,))
    yield from array_misfits("lost", atlas.lost, (None, c))
    yield from array_misfits("piece", atlas.piece, (n,), np.int64)
    if not np.array_equal(np.unique(atlas.piece), np.arange(len(atlas.pieces))):
        yield f"places in each of {len(atlas.pieces)} pieces and no other"
    if not atlas.away >= 0 or np.isinf(atlas.away) != (c == d):
        yield "a distance from its directions where there are others"
    for p, piece in enumerate(atlas.pieces):
        yield from _piece_misfits(piece, c, dims, int((atlas.piece == p).sum()))
    if len({tuple(sheet.n_coordinates for sheet in piece.sheets) for piece in atlas.pieces}) > 1:
        yield "the same coordinates in every piece"


def _piece_misfits(
    piece: AtlasPiece, c: int, dims: tuple[int, ...], n_places: int
) -> Iterator[str]:
    """Describe what a piece with so many places must be and is not."""
    for chart in piece.charts:
        yield from _chart_misfits(chart, c, sum(dims), n_places)
    if not np.hstack([chart.mixing for chart in piece.charts]).any(axis=1).all():
        yield "charts of all axes in every piece"
    if piece.sheets and len(piece.sheets) != len(dims):
        yield f"{len(dims)} sheets in every piece, or none"
    owned: set[tuple[int, int]] = set()
    for j, (sheet, dim) in enumerate(zip(piece.sheets, dims, strict=False)):
        rows = range(sheet.own.start, sheet.own.stop)
        if not 0 <= sheet.chart < len(piece.charts):
            yield f"a chart for factor {j}"
        chart = piece.charts[sheet.chart]
        if not 0 <= rows.start == rows.stop - dim <= chart.frames.shape[1] - dim:
            yield f"{dim} rows of a chart for factor {j}"
        own = {(sheet.chart, row) for row in rows}
        if own & owned:
            yield f"rows of its own for factor {j}"
        owned |= own
        yield from _sheet_misfits(sheet, dim, len(chart.places))


def _chart_misfits(chart: LocalChart, c: int, dim: int, n_places: int) -> Iterator[str]:
    yield from array_misfits("basis of a chart", chart.basis, (None, c))
    b = len(chart.basis)
    yield from array_misfits("frames", chart.frames, (None, None, b), np.float32)
    n, k, _ = chart.frames.shape
    yield from array_misfits("places of a chart", chart.places, (n, b))
    yield from array_misfits("bends", chart.bends, (n, k * (k + 1) // 2, b), np.float32)
    yield from array_misfits("radius", chart.radius, (n,), np.float32)
    yield from array_misfits("mixing", chart.mixing, (dim, k))
    # The rows of a chart of the whole space are those of the places.
    if not 1 <= k <= b <= c or n < 1 or (chart.is_whole and n != n_places):
        yield f"up to {n_places} places and {c} directions in every chart"


def _sheet_misfits(sheet: Sheet, dim: int, n: int) -> Iterator[str]:
    """Describe what a sheet on a chart with n places must be and is not."""
    if isinstance(sheet, BentSheet):
        shape = (n, 1 + dim + dim * (dim + 1) // 2, None)
        # NaN where a piece of the points has no map.
        yield from array_misfits("polynomials", sheet.polynomials, shape, np.float32, gaps=True)
        return
    closed = sheet.closed
    yield from array_misfits("flat coordinates", sheet.flat, (n, dim), gaps=True)
    yield from array_misfits("periods", closed.periods, (None, dim))
    yield from array_misfits("forms", closed.forms, (None, len(closed.periods)), np.int64)
    straight, circles = closed.open_directions, len(closed.forms)
    yield from array_misfits("open directions", straight, (dim - len(closed.periods), dim))
    yield from array_misfits("radii", closed.radii, (circles,))
    yield from array_misfits("turn", closed.turn, (None, 2 * circles + len(straight)))
    product = closed.turn.T @ closed.turn
    if not np.allclose(product, np.eye(len(product)), atol=ORTHONORMAL):
        yield "orthonormal columns in every turn"
