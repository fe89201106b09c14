"""Checked inputs of a report: the used rows, and notes on what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geodis.base.check import (
    InputError,
    check_int,
    check_numeric,
    check_random_state,
    shape_hint,
    to_numpy,
    transposed_question,
)
from geodis.base.text import counted
from geodis.data.factors import Factors, as_factors
from geodis.manifold.preparation.row_measure import Metric, RowMeasure
from geodis.manifold.preparation.sampling_checks import of_rows
from geodis.scores.binning import bin_factors
from geodis.scores.inputs import code_factors

MAX_POINTS = 10_000
BINS = 10
# Number of images checked in advance; others are checked when they are used.
CHECKED_IMAGES = 256


@dataclass(frozen=True, eq=False)
class Material:
    """The used rows of a report.

    Attributes
    ----------
    latents : ndarray of float64, shape (n, z)
    factors : Factors or None
        Factors of the same rows.
    classes : Factors or None
        The factors, with continuous ones binned.
    images : array-like of shape (n_given, h, w, c) or None
        All given images, which may be in a file; `rows` are the indices of the used ones.
    rows : ndarray of int64, shape (n,)
        Indices of the used rows among the given ones.
    n_given : int
    bins : int
    notes : tuple of str
        Notes on rows that were left out or sampled, and on binned factors.
    times : ndarray of shape (n,) or None
        Recording times of the rows.
    of_bytes : bool
        Whether the latents were given as uint8, such as pixels.
    """

    latents: np.ndarray
    factors: Factors | None
    classes: Factors | None
    images: Any
    rows: np.ndarray
    n_given: int
    bins: int
    notes: tuple[str, ...]
    times: np.ndarray | None = None
    of_bytes: bool = False

    @property
    def rows_told(self) -> str:
        """The numbers of given and used rows, in words."""
        used, given = len(self.rows), counted(self.n_given, "row")
        return given if used == self.n_given else f"{used:,} of {given}"

    def images_of(self, index: np.ndarray) -> np.ndarray:
        """Return images of some of the rows, reading each once and in order."""
        distinct, back = np.unique(self.rows[index], return_inverse=True)
        return np.asarray(self.images[distinct])[back.reshape(-1)]

    def thinned(self, most: int, random_state: Any) -> Material:
        """Draw at most `most` of the rows at random."""
        if len(self.rows) <= most:
            return self
        rng = check_random_state(random_state)
        kept = np.sort(rng.choice(len(self.rows), most, replace=False))

        def take(factors: Factors | None) -> Factors | None:
            return None if factors is None else factors.take(kept)

        return replace(
            self,
            latents=self.latents[kept],
            factors=take(self.factors),
            classes=take(self.classes),
            rows=self.rows[kept],
            times=of_rows(self.times, kept),
        )


def gather_material(
    latents: Any,
    factors: Any = None,
    images: Any = None,
    *,
    times: Any = None,
    metric: Metric = "euclidean",
    max_points: int = MAX_POINTS,
    bins: int = BINS,
    random_state: Any = 0,
) -> Material:
    """Check the inputs, leave out rows that are not finite, and subsample large inputs.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : Factors, or what `geodis.data.factors.as_factors` reads, or None
        Rows with a missing value are left out.
    images : array-like of shape (n, h, w, c) or (n, h, w), or None
        uint8, or floats in [0, 1].
    times : array-like of shape (n,), or None
        Recording times of the rows.
    metric : as in `GeoManCER`
        With "precomputed", the latents are distances, and are converted to coordinates.
    max_points : int
        Larger inputs are subsampled to this many rows.
    bins : int
        Bins of continuous factors, where classes are needed.
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
    scaled: Sequence[str] = ()
    if metric == "precomputed":
        if len(points) > max_points:
            raise InputError(
                f"A matrix of distances must have at most max_points ({max_points:,}) rows; got "
                f"{len(points):,}."
            )
        points, scaled = RowMeasure(metric=metric).points_of(points)
    if points.ndim != 2 or 0 in points.shape:
        raise InputError(
            f"latents must have shape (n, z), one row per point; got shape {points.shape}. "
            f"{shape_hint(points.shape)}".rstrip()
        )
    known = None if factors is None else as_factors(factors)
    _check_lengths(len(points), known, images, times)
    images = None if images is None else _check_images(images)
    rows, notes = _usable_rows(points, known, max_points, random_state)
    times = of_rows(times, rows)
    if asked := transposed_question(points.shape):
        notes.insert(0, asked)
    notes += [f"{text[:1].upper()}{text[1:]}." for text in scaled]
    used, n = np.asarray(points[rows], dtype=float), len(points)
    more: dict[str, Any] = {"times": times, "of_bytes": points.dtype == np.uint8}
    if known is None:
        return Material(used, None, None, images, rows, n, bins, tuple(notes), **more)
    known = known.take(rows)
    classes, binned = _classes(known, bins)
    return Material(used, known, classes, images, rows, n, bins, (*notes, *binned), **more)


def _check_lengths(n: int, factors: Factors | None, images: Any, times: Any) -> None:
    for name, given in (("factors", factors), ("images", images), ("times", times)):
        if given is None:
            continue
        try:
            count = len(given)
        except TypeError as error:
            raise InputError(f"{name} must be an array; got {given!r}.") from error
        if count != n:
            raise InputError(f"latents and {name} must have as many rows; got {n} and {count}.")


def _usable_rows(
    points: np.ndarray, factors: Factors | None, max_points: int, random_state: Any
) -> tuple[np.ndarray, list[str]]:
    """Select complete rows, at most `max_points` at random; return them with notes."""
    notes = []
    whole = np.isfinite(points).all(axis=1)
    if factors is not None:
        whole &= factors.complete
    rows, n = np.flatnonzero(whole), len(points)
    if lost := n - len(rows):
        have, was = ("has", "was") if lost == 1 else ("have", "were")
        notes.append(
            f"{lost:,} of {n:,} rows {have} an entry that is not finite, and {was} left out."
        )
    if not len(rows):
        raise InputError("latents and factors must have rows that are finite; got none.")
    if len(rows) > max_points:
        rng = check_random_state(random_state)
        notes.append(f"{max_points:,} of {len(rows):,} rows were drawn at random.")
        rows = np.sort(rng.choice(rows, max_points, replace=False))
    return rows, notes


def _classes(factors: Factors, bins: int) -> tuple[Factors, list[str]]:
    """Bin continuous factors; return the classes with a note."""
    continuous = code_factors(factors).continuous
    if not continuous.any():
        return factors, []
    named = ", ".join(factors.names[j] for j in np.flatnonzero(continuous))
    note = (
        f"Continuous factors were divided into {bins} bins of equal width where classes are "
        f"needed: {named}."
    )
    return bin_factors(factors, bins), [note]


def _check_images(images: Any) -> Any:
    """Check shape, type and range of images, which may remain in a file."""
    if not (hasattr(images, "shape") and hasattr(images, "dtype")) or hasattr(images, "detach"):
        images = to_numpy(images, "images")
    if len(images.shape) not in (3, 4):
        raise InputError(
            f"images must have shape (n, h, w, c) or (n, h, w); got shape {tuple(images.shape)}."
        )
    kind = np.dtype(images.dtype).kind
    if images.dtype != np.uint8 and kind not in "bf":
        raise InputError(
            f"images must be uint8, or floats in [0, 1]; got an array of dtype {images.dtype}."
        )
    if kind == "f":
        some = np.asarray(images[:: -(-len(images) // CHECKED_IMAGES)])
        low, high = float(some.min()), float(some.max())
        if not 0 <= low <= high <= 1:  # NaN fails too
            way = f": divide them by {high:g}" if low >= 0 else ""
            raise InputError(
                f"images must be uint8, or floats in [0, 1]; got floats from {low:g} to "
                f"{high:g}{way}."
            )
    return images
