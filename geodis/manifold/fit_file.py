"""A fit in one file: arrays in safetensors, and everything else as a note of plain values.

Nothing in a file names a class: a fit is rebuilt by the types of its attributes, and each value
is held against them before anything is computed from it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from scipy import sparse

from geodis.base.check import InputError
from geodis.base.notes import note_entry, rebuilding
from geodis.base.safetensors_files import read_arrays, read_note, write_arrays
from geodis.manifold.confidence.fit_confidence import FitConfidence
from geodis.manifold.fitted import Fit
from geodis.manifold.flat.flat_axes import FlatAxes
from geodis.manifold.preparation.row_measure import RowMeasure
from geodis.manifold.split_result import Settings, Split

KIND, VERSION = "geodis fit", 1
# Made again from the parameters of the estimator.
FROM_PARAMETERS = ("settings", "measure")


def write_fit(
    path: str | os.PathLike[str],
    fit: Fit,
    parameters: Mapping[str, Any],
    columns: Any = None,
    *,
    overwrite: bool = False,
) -> Path:
    """Write a fit, whole or not at all.

    Parameters
    ----------
    path : path
        Ends in .safetensors.
    fit : Fit
    parameters : mapping
        Those of the estimator.
    columns : sequence of str, optional
        Names of the columns of the rows.
    overwrite : bool
        Replace a file of an earlier fit.
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
    arrays = _Writer()
    parts = {each.name: getattr(fit, each.name) for each in fields(Fit)}
    parts["doubts"] = fit.all_doubts
    note = {
        "kind": KIND,
        "version": VERSION,
        "parameters": arrays.plain("parameters", kept),
        "columns": None if columns is None else [str(name) for name in columns],
        "fit": {
            name: arrays.plain(name, value)
            for name, value in parts.items()
            if name not in FROM_PARAMETERS
        },
        "confidence": arrays.plain("confidence", fit.confidence),
    }
    return write_arrays(path, arrays.arrays, note)


@dataclass(frozen=True)
class SavedFit:
    """What a file holds: the parts of a fit that do not follow from the parameters, and these."""

    parameters: dict[str, Any]
    columns: list[str] | None
    parts: dict[str, Any]
    confidence: FitConfidence | None
    path: str

    def fit(self, settings: Settings, measure: RowMeasure) -> Fit:
        """The fit, once all of it is known to fit together."""
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
    arrays, note = read_arrays(path)
    if note.get("kind") != KIND:
        raise InputError(f"{path} must hold a fit; got a file of something else.")
    if note.get("version") != VERSION:
        raise InputError(
            f"{path} must hold a fit of version {VERSION}; got {note.get('version')}: fit again "
            "with this geodis."
        )
    hints = {
        name: hint for name, hint in get_type_hints(Fit).items() if name not in FROM_PARAMETERS
    }
    reader = _Reader(arrays)
    with rebuilding(path):
        return SavedFit(
            reader.value(note["parameters"], dict[str, Any]),
            None if note["columns"] is None else note_entry(note, "columns", list, path),
            reader.entries(note_entry(note, "fit", dict, path), hints),
            reader.value(note["confidence"], FitConfidence | None),
            str(path),
        )


@dataclass
class _Writer:
    """Turns values into what JSON can hold; arrays are kept apart, each once."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    names: dict[int, tuple[str, np.ndarray]] = field(default_factory=dict)

    def plain(self, name: str, value: Any) -> Any:
        """A value as JSON can hold it; an object of one entry says what JSON has no word for."""
        if isinstance(value, np.ndarray):
            # The order of the axes in memory moves last digits of products.
            order = sorted(range(value.ndim), key=lambda axis: -abs(value.strides[axis]))
            return {"array": [self._stored(name, value, order), order]}
        if isinstance(value, sparse.csr_array):
            parts = (value.data, value.indices, value.indptr)
            names = [self._stored(f"{name}/{j}", part) for j, part in enumerate(parts)]
            return {"csr": [*names, list(value.shape)]}
        if is_dataclass(value):
            own = {each.name: getattr(value, each.name) for each in fields(value)}
            return {"fields": {part: self.plain(f"{name}/{part}", v) for part, v in own.items()}}
        if isinstance(value, dict):
            pairs = enumerate(value.items())
            return {
                "dict": [[self.plain("", k), self.plain(f"{name}/{j}", v)] for j, (k, v) in pairs]
            }
        if isinstance(value, list | tuple):
            items = [self.plain(f"{name}/{j}", item) for j, item in enumerate(value)]
            return items if isinstance(value, list) else {"tuple": items}
        if isinstance(value, float | np.floating):
            return float(value) if np.isfinite(value) else {"float": str(float(value))}
        if isinstance(value, np.bool_ | np.integer):
            return value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        raise InputError(f"A fit with {type(value).__name__} in {name} cannot be saved.")

    def _stored(self, name: str, array: np.ndarray, order: list[int] | None = None) -> str:
        """The name under which an array is kept: the first, where several share it."""
        if id(array) not in self.names:
            self.names[id(array)] = name, array  # held, so that nothing else has its id
            self.arrays[name] = array.transpose(order)
        return self.names[id(array)][0]


@dataclass(frozen=True)
class _Reader:
    """Turns them back, and holds each against the type that it must have."""

    arrays: Mapping[str, np.ndarray]

    def entries(self, plain: Mapping[str, Any], hints: Mapping[str, Any]) -> dict[str, Any]:
        """Values by their names."""
        if plain.keys() != hints.keys():
            raise InputError(f"{min(plain.keys() ^ hints.keys())} is missing or not known")
        return {name: self.value(own, hints[name]) for name, own in plain.items()}

    def value(self, plain: Any, hint: Any) -> Any:
        """A value of a type."""
        options = _options(hint)
        value = self._object(plain, options) if isinstance(plain, dict) else plain
        if isinstance(value, list):
            own = next((get_args(one) for one in options if get_origin(one) is list), (Any,))
            value = [self.value(item, own[0]) for item in value]
        if not any(_is_of(value, one) for one in options):
            raise InputError(f"a value of type {hint} is {str(plain)[:40]}")
        return value

    def _object(self, plain: dict[str, Any], options: list[Any]) -> Any:
        made_of: Any
        ((kind, content),) = plain.items()
        if kind == "array":
            name, order = content
            return self.arrays[name].transpose(np.argsort(order))
        if kind == "csr":
            *names, shape = content
            made = sparse.csr_array(tuple(self.arrays[name] for name in names), shape=shape)
            made.check_format(full_check=True)
            return made
        if kind == "float":
            return float(content)
        if kind == "fields":
            (made_of,) = [one for one in options if is_dataclass(one)]
            return made_of(**self.entries(content, get_type_hints(made_of)))
        if kind == "dict":
            of = next((get_args(one) for one in options if get_origin(one) is dict), (Any, Any))
            return {self.value(k, of[0]): self.value(v, of[1]) for k, v in content}
        if kind == "tuple":
            of = next((get_args(one) for one in options if get_origin(one) is tuple), (Any, ...))
            own = of if ... not in of else of[:1] * len(content)
            return tuple(self.value(v, hint) for v, hint in zip(content, own, strict=True))
        raise InputError(f"{kind} is not known")


def _options(hint: Any) -> list[Any]:
    """The types that a value may have."""
    return list(get_args(hint)) if get_origin(hint) in (Union, UnionType) else [hint]


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a value has a type; of containers only the outermost is looked at."""
    if hint is Any:
        return True
    if hint is None or hint is NoneType:
        return value is None
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if isinstance(value, bool):  # which would pass for an integer
        return hint is bool
    kind = get_origin(hint) or hint
    return isinstance(value, int | float if kind is float else kind)


def _misfits(fit: Fit) -> Iterator[str]:
    """What the parts of a fit must have, and do not: compiled loops look rows up unasked."""
    n, flat, split = len(fit.points), fit.flat, fit.split
    c, d = fit.basis.shape
    k = fit.dim
    floats: dict[str, tuple[np.ndarray, tuple[int, ...]]] = {
        "points": (fit.points, (n, d)),
        "places": (fit.places, (n, c)),
        "directions": (fit.basis, (c, d)),
    }
    for name, (array, shape) in floats.items():
        if array.shape != shape or array.dtype != float or not np.isfinite(array).all():
            yield f"finite {name} of shape {shape}"
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
        if own.axes.shape != (n, k, c) or own.axes.dtype != float or np.isinf(own.axes).any():
            yield f"axes of {n} points in the {name}"
        if sum(own.dims) != k or min(own.dims) < 1 or len(own.flat) != len(own.dims):
            yield f"factors of {k} dimensions in the {name}"
    yield from _split_misfits(split, n, c)
    f = flat.coordinates.shape[-1]
    if flat.coordinates.shape != (n, f) or f not in (0, len(flat.rows)):
        yield "coordinates of the flat factors"
    if flat.own.shape != (k,) or flat.own.dtype != bool:
        yield f"a flat part of {k} axes"
    if sorted(flat.order.tolist()) != list(range(k)):
        yield f"an order of {k} axes"
    dims = [dim for dim, flag in zip(flat.dims, flat.flat, strict=True) if flag]
    for some in (flat.periods, *(one.periods for one in flat.pieces)):
        if f and [one.shape[1:] for one in some] != [(dim,) for dim in dims]:
            yield "periods of every flat factor"
    if not all(_are_rows(one.rows, n) for one in flat.pieces):
        yield f"pieces of {n} points"


def _split_misfits(split: Split, n: int, c: int) -> Iterator[str]:
    """The same of a split of n points in c directions, and of its parts."""
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
        yield from _split_misfits(part, len(part.axes), len(basis))


def _are_rows(rows: np.ndarray, n: int) -> bool:
    """Whether these are rows of n points."""
    whole = rows.ndim == 1 and np.issubdtype(rows.dtype, np.integer)
    return bool(whole and (not len(rows) or 0 <= rows.min() <= rows.max() < n))
