"""Save a fit to one safetensors file and load it again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from geodis.base.check import InputError
from geodis.base.notes import NoteWriter, array_misfits, note_entry, read_saved, rebuilding
from geodis.base.safetensors_files import read_note, write_arrays
from geodis.manifold.confidence.fit_confidence import FitConfidence
from geodis.manifold.fitted import Fit
from geodis.manifold.flat.flat_axes import FlatAxes
from geodis.manifold.preparation.row_measure import LARGEST_EXTENT, RowMeasure
from geodis.manifold.split_result import Settings, Split

KIND, VERSION = "geodis fit", 1
# Largest entry of a unit vector, with room for rounding.
LONGEST = 1 + 1e-6
# Attributes that are made from the parameters of the estimator; all others are in the file.
FROM_PARAMETERS = ("settings", "measure")
SAVED = [each.name for each in fields(Fit) if each.name not in FROM_PARAMETERS]


def write_fit(
    path: str | os.PathLike[str],
    fit: Fit,
    parameters: Mapping[str, Any],
    columns: Any = None,
    *,
    overwrite: bool = False,
) -> Path:
    """Write a fit; an interrupted write leaves no file.

    Parameters
    ----------
    path : path
        Ends in .safetensors.
    fit : Fit
    parameters : mapping
        Parameters of the estimator.
    columns : sequence of str, optional
        Names of the columns of the data.
    overwrite : bool
        Replace a file that holds an earlier fit.
    """
    if Path(path).suffix != ".safetensors":
        raise InputError(f"A fit is written to a file that ends in .safetensors; got {path}.")
    if Path(path).exists() and not overwrite:
        raise InputError(f"There is a file at {path} already: give overwrite=True to replace it.")
    if Path(path).exists() and (Path(path).is_dir() or read_note(path).get("kind") != KIND):
        raise InputError(f"Only the file of a fit is replaced; {path} is something else.")
    functions = [name for name in ("prepare", "metric") if callable(parameters[name])]
    if functions:
        raise InputError(
            f"A fit with a function for {functions[0]} cannot be saved, because a file holds no "
            "code: give the fit rows that were prepared, or distances."
        )
    kept = dict(parameters)
    if not isinstance(kept["random_state"], int | np.integer):
        kept["random_state"] = None
    writer = NoteWriter()
    with_doubts = replace(fit, doubts=fit.all_doubts)
    note = {
        "kind": KIND,
        "version": VERSION,
        "parameters": writer.plain("parameters", kept),
        "columns": None if columns is None else [str(name) for name in columns],
        "fit": writer.attributes(with_doubts, SAVED),
        "confidence": writer.plain("confidence", fit.confidence),
    }
    return write_arrays(path, writer.arrays, note)


@dataclass(frozen=True)
class SavedFit:
    """The contents of a file: parameters, and the parts of a fit that do not follow from them."""

    parameters: dict[str, Any]
    columns: list[str] | None
    parts: dict[str, Any]
    confidence: FitConfidence | None
    path: str

    def fit(self, settings: Settings, measure: RowMeasure) -> Fit:
        """Build the fit and check that its parts are consistent."""
        with rebuilding(self.path):
            fit = Fit(settings=settings, measure=measure, **self.parts)
            for needed in _misfits(fit):
                raise InputError(f"{self.path} must hold a fit with {needed}; got others.")
        if self.confidence is not None:
            fit.once("confidence", lambda: self.confidence)
        return fit


def read_fit(path: str | os.PathLike[str]) -> SavedFit:
    """Read a fit.

    Parameters
    ----------
    path : path

    Raises
    ------
    InputError
        If there is no such file, it is damaged, or holds something else.
    """
    reader, note = read_saved(path, "a fit", VERSION)
    hints = get_type_hints(Fit)
    with rebuilding(path):
        return SavedFit(
            reader.value(note["parameters"], dict[str, Any]),
            None if note["columns"] is None else note_entry(note, "columns", list, path),
            reader.attributes(
                note_entry(note, "fit", dict, path), {name: hints[name] for name in SAVED}
            ),
            reader.value(note["confidence"], FitConfidence | None),
            str(path),
        )


def _misfits(fit: Fit) -> Iterator[str]:
    """Describe what the parts of a fit must be and are not."""
    n, flat, split = len(fit.points), fit.flat, fit.split
    c, d = fit.basis.shape
    k = fit.dim
    yield from array_misfits("points", fit.points, (n, d))
    yield from array_misfits("places", fit.places, (n, c))
    yield from array_misfits("directions", fit.basis, (c, d))
    if not (n > 0 and 1 <= k <= c <= d and fit.directions.n_columns == d):
        yield f"at least {k} directions of {d} columns"
    if fit.outliers.shape != (n,) or fit.outliers.dtype != bool:
        yield f"outliers of {n} points"
    for column in (fit.groups, fit.times, fit.sample_rows):
        if column is not None and (column.shape != (n,) or not np.isfinite(column).all()):
            yield f"groups, times and rows of {n} points"
    piece = fit.graph.piece
    if fit.graph.adjacency.shape != (n, n) or piece.shape != (n,):
        yield f"a graph of {n} points"
    elif not np.array_equal(np.unique(piece), np.arange(fit.graph.n_pieces)):
        yield f"points in each of {fit.graph.n_pieces} pieces of the graph"
    both: tuple[tuple[str, Split | FlatAxes], ...] = (("split", split), ("flat part", flat))
    for name, own in both:
        if own.axes.shape != (n, k, c) or own.axes.dtype != float:
            yield f"axes of {n} points in the {name}"
        if (np.abs(own.axes) > LONGEST).any():
            yield f"axes of length 1 in the {name}"
        if sum(own.dims) != k or min(own.dims) < 1 or len(own.flat) != len(own.dims):
            yield f"factors of {k} dimensions in the {name}"
    yield from _split_misfits(split, n, c)
    f = flat.coordinates.shape[-1]
    if flat.coordinates.shape != (n, f) or f not in (0, len(flat.rows)):
        yield "coordinates of the flat factors"
    if flat.own.shape != (k,) or flat.own.dtype != bool:
        yield f"a flat part of {k} axes"
    if flat.order.dtype.kind != "i" or sorted(flat.order.tolist()) != list(range(k)):
        yield f"an order of {k} axes"
    dims = [dim for dim, flag in zip(flat.dims, flat.flat, strict=True) if flag]
    for some in (flat.periods, *(one.periods for one in flat.pieces)):
        if f and [one.shape[1:] for one in some] != [(dim,) for dim in dims]:
            yield "periods of every flat factor"
        if not all((np.abs(one) <= LARGEST_EXTENT).all() for one in some):
            yield "finite periods"
    if not all(_are_rows(one.rows, n) for one in flat.pieces):
        yield f"pieces of {n} points"


def _split_misfits(split: Split, n: int, c: int) -> Iterator[str]:
    """Describe what a split of n points in c directions, and its parts, must be and are not."""
    if not _are_rows(split.rows, n) or not 0 <= split.tangent_neighbors < n:
        yield f"a split of {n} points"
    if not len(split.rows):
        yield "points in every split"
    if len(split.parts) != len(split.bases):
        yield "a space for every part"
    if split.parts and sum(sum(part.dims) for part in split.parts) != sum(split.dims):
        yield f"parts of {sum(split.dims)} dimensions"
    for part, basis in zip(split.parts, split.bases, strict=True):
        if basis.ndim != 2 or basis.shape[1] != c or len(basis) < sum(part.dims):
            yield f"parts in {c} directions"
        if not (np.abs(basis) <= LONGEST).all():
            yield "directions of length 1 in every part"
        yield from _split_misfits(part, len(part.axes), len(basis))


def _are_rows(rows: np.ndarray, n: int) -> bool:
    """Whether these are row numbers of n points."""
    whole = rows.ndim == 1 and np.issubdtype(rows.dtype, np.integer)
    return bool(whole and (not len(rows) or 0 <= rows.min() <= rows.max() < n))
