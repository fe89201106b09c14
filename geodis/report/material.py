"""What the user gave -> the rows that a report is made of, checked, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geodis.base.check import (
    InputError,
    check_int,
    check_numeric,
    check_random_state,
    to_numpy,
)
from geodis.data.files.load import Factors
from geodis.scores.inputs import code_factors
from geodis.scores.binning import bin_factors

MAX_POINTS = 10_000
BINS = 10
# So many images are looked at before the work; the others are checked as they are used.
CHECKED_IMAGES = 256


@dataclass(frozen=True, eq=False)
class Material:
    """Rows of a report.

    Attributes
    ----------
    latents : ndarray of float64, shape (n, z)
    factors : Factors or None
        Of the same rows, as they came.
    classes : Factors or None
        The same with continuous factors in bins.
    images : array-like of shape (n_given, h, w, c) or None
        As they came, for they may lie in a file; `rows` says which are meant.
    rows : ndarray of int64, shape (n,)
        Which of the rows that were given.
    n_given : int
    bins : int
    notes : tuple of str
        What was left out, sampled or binned.
    """

    latents: np.ndarray
    factors: Factors | None
    classes: Factors | None
    images: Any
    rows: np.ndarray
    n_given: int
    bins: int
    notes: tuple[str, ...]

    def images_of(self, index: np.ndarray) -> np.ndarray:
        """Images of some of the rows; what lies in a file is read in order, each once."""
        distinct, back = np.unique(self.rows[index], return_inverse=True)
        return np.asarray(self.images[distinct])[back.reshape(-1)]

    def thinned(self, most: int, random_state: Any) -> Material:
        """At most so many of the rows, drawn at random."""
        if len(self.rows) <= most:
            return self
        rng = check_random_state(random_state)
        kept = np.sort(rng.choice(len(self.rows), most, replace=False))

        def of(factors: Factors | None) -> Factors | None:
            return None if factors is None else replace(factors, values=factors.values[kept])

        return replace(
            self,
            latents=self.latents[kept],
            factors=of(self.factors),
            classes=of(self.classes),
            rows=self.rows[kept],
        )


def gather_material(
    latents: Any,
    factors: Any = None,
    images: Any = None,
    *,
    max_points: int = MAX_POINTS,
    bins: int = BINS,
    random_state: Any = 0,
) -> Material:
    """Check that all have as many rows, leave out rows that are not finite, and draw some.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f), pandas frame, Factors or None
        Rows with a missing value are left out.
    images : array-like of shape (n, h, w, c) or (n, h, w), or None
        uint8, or floats in [0, 1].
    max_points : int
        Most rows; of more, so many are drawn at random.
    bins : int
        Bins of continuous factors where classes are needed.
    random_state : None, int or Generator

    Examples
    --------
    >>> some = gather_material([[0.0], [1.0], [np.nan], [3.0]], [0, 1, 1, 0])
    >>> some.rows.tolist(), some.notes
    ([0, 1, 3], ('1 of 4 rows has an entry that is not finite, and was left out.',))
    """
    check_int(max_points, "max_points", low=10)
    check_int(bins, "bins", low=2)
    points = check_numeric(to_numpy(latents, "latents"), "latents")
    if points.ndim != 2 or 0 in points.shape:
        raise InputError(
            f"latents must have shape (n, z), one row a point; shape {points.shape} came."
        )
    n = len(points)
    for name, given in (("factors", factors), ("images", images)):
        if given is not None and _length(given) != n:
            raise InputError(
                f"latents and {name} must have as many rows: {n} and {_length(given)} came."
            )
    if images is not None:
        images = _check_images(images)
    notes = []
    whole = np.isfinite(points).all(axis=1)
    if factors is not None:
        values, factors = _complete(factors)
        whole &= values
    rows = np.flatnonzero(whole)
    if lost := n - len(rows):
        have = "has" if lost == 1 else "have"
        was = "was" if lost == 1 else "were"
        notes.append(
            f"{lost:,} of {n:,} rows {have} an entry that is not finite, and {was} left out."
        )
    if not len(rows):
        raise InputError("latents and factors must have rows that are finite; none came.")
    if len(rows) > max_points:
        rng = check_random_state(random_state)
        notes.append(f"{max_points:,} of {len(rows):,} rows were drawn at random.")
        rows = np.sort(rng.choice(rows, max_points, replace=False))
    used = np.asarray(points[rows], dtype=float)
    if factors is None:
        return Material(used, None, None, images, rows, n, bins, tuple(notes))
    factors = replace(factors, values=factors.values[rows])
    continuous = code_factors(factors).continuous
    classes = factors
    if continuous.any():
        classes = bin_factors(factors, bins)
        named = ", ".join(factors.names[j] for j in np.flatnonzero(continuous))
        notes.append(
            f"Continuous factors were cut into {bins} bins of equal width where classes are "
            f"needed: {named}."
        )
    return Material(used, factors, classes, images, rows, n, bins, tuple(notes))


def _length(given: Any) -> int:
    try:
        return len(given)
    except TypeError as error:
        raise InputError(f"factors and images must be arrays; {given!r} came.") from error


def _complete(factors: Any) -> tuple[np.ndarray, Factors]:
    """Which rows have a value of every factor, and the factors as numbers and codes."""
    if isinstance(factors, Factors):
        return np.isfinite(factors.values).all(axis=1), factors
    if hasattr(factors, "isna"):  # pandas
        table = factors.to_frame() if factors.ndim == 1 else factors
        columns = {str(name): table.iloc[:, j] for j, name in enumerate(table.columns)}
    else:
        array = to_numpy(factors, "factors")
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2 or 0 in array.shape:
            raise InputError(f"factors must have shape (n, f); shape {array.shape} came.")
        columns = {f"factor {j}": column for j, column in enumerate(array.T)}
    coded = {name: _numbers(column) for name, column in columns.items()}
    values = np.column_stack([numbers for numbers, _ in coded.values()])
    labels = {name: found for name, (_, found) in coded.items() if found}
    return np.isfinite(values).all(axis=1), Factors(values, tuple(columns), labels)


def _numbers(column: Any) -> tuple[np.ndarray, tuple[str, ...]]:
    """Numbers of one factor, NaN where there is none; and what they stand for, of labels."""
    import pandas as pd

    missing = np.asarray(pd.isna(column))
    values = np.asarray(column)
    if values.dtype.kind in "fiub":
        return np.where(missing, np.nan, values.astype(float)), ()
    try:  # numbers held as objects
        return np.where(missing, np.nan, np.where(missing, 0, values).astype(float)), ()
    except (TypeError, ValueError):
        pass
    labels, codes = np.unique(values[~missing].astype(str), return_inverse=True)
    found = np.full(len(values), np.nan)
    found[~missing] = codes.reshape(-1)
    return found, tuple(map(str, labels))


def _check_images(images: Any) -> Any:
    """Images with channels last, still in their file if they came from one."""
    if not (hasattr(images, "shape") and hasattr(images, "dtype")) or hasattr(images, "detach"):
        images = to_numpy(images, "images")
    if len(images.shape) not in (3, 4):
        raise InputError(
            f"images must have shape (n, h, w, c) or (n, h, w); shape {tuple(images.shape)} came."
        )
    kind = np.dtype(images.dtype).kind
    if images.dtype != np.uint8 and kind not in "bf":
        raise InputError(
            f"images must be uint8, or floats in [0, 1]; an array of dtype {images.dtype} came."
        )
    if kind == "f":
        some = np.asarray(images[:: -(-len(images) // CHECKED_IMAGES)])
        low, high = float(some.min()), float(some.max())
        if not 0 <= low <= high <= 1:  # NaN fails too
            way = f": divide them by {high:g}" if low >= 0 else ""
            raise InputError(
                f"images must be uint8, or floats in [0, 1]; floats from {low:g} to {high:g} "
                f"came{way}."
            )
    return images
