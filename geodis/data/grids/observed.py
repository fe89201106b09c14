"""Grids made from arrays of images and factors, complete or not; and resizing of images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from geodis.base.check import InputError, to_numpy
from geodis.data.factors import FactorKind, Factors, as_factors
from geodis.data.grids.grid import FactorGrid


class ObservedGrid(FactorGrid):
    """A grid made by `FactorGrid.from_arrays`, where the parameters are described.

    If `kinds` is None, kinds and periods are those of the factors, but a cyclic factor becomes
    numeric unless its values are evenly spaced over the period; the note names such factors.

    Attributes
    ----------
    values : tuple of f ndarrays
        ``values[j][k]`` is the original value k of factor j.
    row_order : ndarray of int64, shape (n,)
        Rows of the arrays in row-major order of their factors: index i of a complete grid is row
        ``row_order[i]``.
    """

    def __init__(
        self,
        images: Any,
        factors: Any,
        names: Sequence[str] | None = None,
        sizes: Sequence[int] | None = None,
        kinds: Sequence[FactorKind] | None = None,
    ) -> None:
        known = as_factors(factors).refuse_missing()
        names = known.names if names is None else names
        if sizes is None:
            coded = [np.unique(column, return_inverse=True) for column in known.values.T]
            self.values = tuple(
                _values(distinct, known.categories.get(name))
                for name, (distinct, _) in zip(known.names, coded, strict=True)
            )
            rows = np.stack([codes.reshape(-1) for _, codes in coded], axis=1).astype(np.int64)
            counts = [len(values) for values in self.values]
            if math.prod(counts) > np.iinfo(np.int64).max:
                raise InputError(
                    "factors must have at most 2^63 - 1 combinations; got "
                    f"{counts} different values: bin continuous factors first."
                )
            super().__init__(counts, names, kinds=kinds or known.kinds)
            distinct = [values for values, _ in coded]
        else:
            if known.categories and not isinstance(factors, Factors):
                raise InputError(
                    "factors must hold whole numbers if sizes are given; got labels in "
                    f"{', '.join(known.categories)}."
                )
            super().__init__(sizes, names, kinds=kinds or known.kinds)
            distinct = [np.arange(size) for size in self.sizes]
            rows = self._check_factors(known.values)
            self.values = tuple(
                _values(np.arange(size), labels if len(labels or ()) >= size else None)
                for size, labels in zip(
                    self.sizes, map(known.categories.get, known.names), strict=True
                )
            )
        if kinds is None:
            self.kinds, self.periods = _kinds_and_periods(known, distinct)
        self._uneven = [
            name
            for name, kind, used in zip(self.names, known.kinds, self.kinds, strict=True)
            if kind == "cyclic" and used == "numbers" and kinds is None
        ]
        self._grouped = tuple(known.groups)
        self._rows = rows
        self._images, self.image_shape = _check_images(images, rows)

        place = super()._index(rows)  # row-major position of each row
        self.row_order = np.argsort(place, kind="stable")
        self._places = place[self.row_order]
        n_present = len(np.unique(self._places))
        self._n_doubles = len(rows) - n_present
        self._n_missing = math.prod(self.sizes) - n_present
        self.complete = not (self._n_doubles or self._n_missing)

    @property
    def note(self) -> str:
        """Missing combinations, and factors that are not used as given; empty if there are none."""
        remarks = [
            (self._uneven, "Counted as numbers because their values are not evenly spaced"),
            (self._grouped, "Factors of several columns, of which each is treated separately"),
        ]
        return " ".join(
            filter(None, [self._missing(), *(f"{x}: {', '.join(n)}." for n, x in remarks if n)])
        )

    def _missing(self) -> str:
        if self.complete:
            return ""
        all_of_them = math.prod(self.sizes)
        there = f"{all_of_them - self._n_missing} of {all_of_them} combinations of the factors"
        twice = f"; rows that repeat one: {self._n_doubles}" if self._n_doubles else ""
        return f"{there} are present{twice}."

    def __len__(self) -> int:
        return len(self._rows)

    def _factors(self, index: np.ndarray) -> np.ndarray:
        return super()._factors(index) if self.complete else self._rows[index]

    def _labels(self, j: int) -> tuple[str, ...]:
        return tuple(map(str, self.values[j]))

    def _index(self, factors: np.ndarray) -> np.ndarray:
        places = super()._index(factors)
        if self.complete:
            return places
        # Among several rows with the same factors, take the first: the sort was stable.
        sorted_row = np.minimum(np.searchsorted(self._places, places), len(self._places) - 1)
        absent = self._places[sorted_row] != places
        if absent.any():
            row = factors[np.flatnonzero(absent)[0]]
            named = ", ".join(f"{name}={k}" for name, k in zip(self.names, row, strict=True))
            raise InputError(
                f"{int(absent.sum())} of {len(places)} combinations were not observed, such as "
                f"{named}: {self.note}"
            )
        return self.row_order[sorted_row]

    def _draw(self, index: np.ndarray) -> np.ndarray:
        rows = self.row_order[index] if self.complete else index
        if callable(self._images):
            drawn = to_numpy(self._images(self._rows[rows]), "images")
            if len(drawn) != len(rows):
                raise InputError(
                    f"The callable must return one image for each of {len(rows)} rows of factors; "
                    f"got shape {drawn.shape}."
                )
        elif isinstance(self._images, np.ndarray):
            drawn = np.asarray(self._images[rows])
        else:  # h5py requires increasing indices without repetition
            distinct, inverse = np.unique(rows, return_inverse=True)
            drawn = np.asarray(self._images[distinct])[inverse.reshape(-1)]
        drawn = drawn[..., None] if drawn.ndim == 3 else drawn
        return drawn * np.uint8(255) if drawn.dtype == bool else drawn


def _kinds_and_periods(
    known: Factors, distinct: Sequence[np.ndarray]
) -> tuple[tuple[FactorKind, ...], tuple[int, ...]]:
    """Return the kinds and periods of factors with these sorted distinct values."""
    # A step of the grid leads to the next value. For the values 0, 90 and 180 of a period of 360,
    # the step from the last value to the first would be half a turn.
    kinds, periods = [], []
    for name, kind, values in zip(known.names, known.kinds, distinct, strict=True):
        steps = _steps_of_turn(values, known.periods[name]) if kind == "cyclic" else len(values)
        kinds.append(kind if steps else "numbers")
        periods.append(steps or len(values))
    return tuple(kinds), tuple(periods)


def _steps_of_turn(values: np.ndarray, period: float) -> int:
    """Return the number of even steps in which sorted values cover one period; 0 if uneven.

    The last value is one step before the first, or equal to it.
    """
    gaps, n = np.diff(values), len(values)
    for steps in (n, max(n - 1, 1)):
        if np.allclose(gaps, period / steps, rtol=1e-6, atol=0):
            return steps
    return 0


def _values(distinct: np.ndarray, labels: tuple[str, ...] | None) -> np.ndarray:
    """Return the values of a factor: numbers, or the labels of its codes."""
    return distinct if labels is None else np.array(labels)[distinct.astype(np.int64)]


def _check_images(images: Any, rows: np.ndarray) -> tuple[Any, tuple[int, int, int] | None]:
    """Return images that can be indexed by rows or called, and the shape of one image."""
    if images is None:
        return None, None
    if callable(images):
        return images, _image_shape(to_numpy(images(rows[:1]), "images"), 1)
    # Objects with a shape and dtype may be stored in a file, so they are not read completely.
    if not (hasattr(images, "shape") and hasattr(images, "dtype")) or hasattr(images, "detach"):
        images = to_numpy(images, "images")
    return images, _image_shape(images, len(rows))


def _image_shape(images: Any, n: int) -> tuple[int, int, int]:
    shape, dtype = tuple(images.shape), np.dtype(images.dtype)
    if len(shape) not in (3, 4) or shape[0] != n or 0 in shape:
        raise InputError(
            f"images must have shape (n, h, w, c) or (n, h, w) with n = {n}, the number of rows "
            f"of factors; got shape {shape}."
        )
    if len(shape) == 4 and shape[3] > 4 and shape[1] in (1, 3, 4):
        raise InputError(
            f"images must have their channels last; got shape {shape}, which is channels first: "
            "use images.transpose(0, 2, 3, 1)."
        )
    if dtype != np.uint8 and dtype.kind not in "bf":
        raise InputError(
            f"images must be uint8, or floats in [0, 1]; got an array of dtype {dtype}."
        )
    return int(shape[1]), int(shape[2]), int(shape[3]) if len(shape) == 4 else 1


# Resizing with the bilinear filter of the published studies.


def resize(images: np.ndarray, size: int) -> np.ndarray:
    """Resize uint8 images (n, h, w, c) to (n, size, size, c).

    Each new pixel is the weighted mean of the old pixels under a triangle around its centre, whose
    half-width is one old or new pixel, whichever is larger: bilinear resizing with antialiasing.

    Examples
    --------
    >>> resize(np.array([[[[0], [255]], [[0], [255]]]], dtype=np.uint8), 1).ravel().tolist()
    [128]
    """
    n, h, w, c = images.shape
    if (h, w) == (size, size):
        return images
    rows, columns = _weights(h, size), _weights(w, size)
    # (size, h) @ (n, h, w c), then the last axis, which must be w: (n, size, c, w) @ (w, size)
    tall = np.matmul(rows, images.reshape(n, h, w * c).astype(np.float32))
    wide = np.matmul(tall.reshape(n, size, w, c).transpose(0, 1, 3, 2), columns.T)
    return np.floor(wide + 0.5).astype(np.uint8).transpose(0, 1, 3, 2)


def _weights(before: int, after: int) -> np.ndarray:
    """Return the weight (after, before) of every old pixel in every new one; rows sum to 1."""
    scale = before / after
    centres = (np.arange(after) + 0.5) * scale
    # A triangle narrower than an old pixel could miss all of them.
    reach = np.abs(np.arange(before) + 0.5 - centres[:, None]) / max(scale, 1.0)
    weights = np.maximum(0.0, 1.0 - reach)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
