"""Arrays of images and factors -> a grid: of all combinations, or of those that were observed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_finite, to_numpy
from geodis.data._columns import called, factor_columns, refuse_missing
from geodis.data.grids.grid import FactorGrid


class ObservedGrid(FactorGrid):
    """What `FactorGrid.from_arrays` makes; the parameters are described there.

    Attributes
    ----------
    values : tuple of f ndarrays
        ``values[j][k]`` is what value k of factor j was called.
    """

    def __init__(
        self,
        images: Any,
        factors: Any,
        names: Sequence[str] | None = None,
        sizes: Sequence[int] | None = None,
    ) -> None:
        columns, own_names = factor_columns(factors)
        columns = [_check_column(column, called(own_names, j)) for j, column in enumerate(columns)]
        names = own_names or None if names is None else names
        if sizes is None:
            coded = [np.unique(column, return_inverse=True) for column in columns]
            self.values = tuple(values for values, _ in coded)
            rows = np.stack([codes.reshape(-1) for _, codes in coded], axis=1).astype(np.int64)
            counts = [len(values) for values in self.values]
            if math.prod(counts) > np.iinfo(np.int64).max:
                raise InputError(
                    f"factors must have fewer combinations than an index can count; {counts} "
                    "different values came: bin continuous factors first."
                )
            super().__init__(counts, names)
        else:
            super().__init__(sizes, names)
            rows = self._check_factors(np.stack(columns, axis=1))
            self.values = tuple(np.arange(size) for size in self.sizes)
        self._rows = rows
        self._images, self.image_shape = _check_images(images, rows)

        place = super()._index(rows)  # of each row, in row-major order
        self._order = np.argsort(place, kind="stable")
        self._places = place[self._order]
        n_present = len(np.unique(self._places))
        self._n_doubles = len(rows) - n_present
        self._n_missing = math.prod(self.sizes) - n_present
        self.complete = not (self._n_doubles or self._n_missing)

    @property
    def note(self) -> str:
        """One sentence on what is missing from the grid; empty when it is complete."""
        if self.complete:
            return ""
        all_of_them = math.prod(self.sizes)
        there = f"{all_of_them - self._n_missing} of {all_of_them} combinations of the factors"
        twice = f"; rows that repeat one: {self._n_doubles}" if self._n_doubles else ""
        return f"{there} are there{twice}."

    def __len__(self) -> int:
        return len(self._rows)

    def _factors(self, index: np.ndarray) -> np.ndarray:
        return super()._factors(index) if self.complete else self._rows[index]

    def _index(self, factors: np.ndarray) -> np.ndarray:
        places = super()._index(factors)
        if self.complete:
            return places
        # The first row with these factors, where there are several: the sort was stable.
        found = np.minimum(np.searchsorted(self._places, places), len(self._places) - 1)
        absent = self._places[found] != places
        if absent.any():
            row = factors[np.flatnonzero(absent)[0]]
            named = ", ".join(f"{name}={k}" for name, k in zip(self.names, row, strict=True))
            raise InputError(
                f"{int(absent.sum())} of {len(places)} combinations were not observed, such as "
                f"{named}: {self.note}"
            )
        return self._order[found]

    def _draw(self, index: np.ndarray) -> np.ndarray:
        rows = self._order[index] if self.complete else index
        if callable(self._images):
            drawn = to_numpy(self._images(self._rows[rows]), "images")
            if len(drawn) != len(rows):
                raise InputError(
                    f"The callable must return one image for each of {len(rows)} rows of factors; "
                    f"shape {drawn.shape} came."
                )
        elif isinstance(self._images, np.ndarray):
            drawn = np.asarray(self._images[rows])
        else:  # h5py reads rows in increasing order, each once
            distinct, inverse = np.unique(rows, return_inverse=True)
            drawn = np.asarray(self._images[distinct])[inverse.reshape(-1)]
        drawn = drawn[..., None] if drawn.ndim == 3 else drawn
        return drawn * np.uint8(255) if drawn.dtype == bool else drawn


def _check_column(column: np.ndarray, name: str) -> np.ndarray:
    if column.dtype.kind == "O":
        refuse_missing(column, name)
        column = np.array(column.tolist())  # numbers, or text where anything is text
    if column.dtype.kind == "f":
        check_finite(column, name)
    if column.dtype.kind not in "biufSU":
        raise InputError(f"{name} must hold numbers or labels; dtype {column.dtype} came.")
    return column


def _check_images(images: Any, rows: np.ndarray) -> tuple[Any, tuple[int, int, int] | None]:
    """Images that can be indexed by rows or called, and the shape of one of them."""
    if images is None:
        return None, None
    if callable(images):
        return images, _image_shape(to_numpy(images(rows[:1]), "images"), 1)
    # What has a shape and a dtype may lie in a file: it is not read as a whole.
    if not (hasattr(images, "shape") and hasattr(images, "dtype")) or hasattr(images, "detach"):
        images = to_numpy(images, "images")
    return images, _image_shape(images, len(rows))


def _image_shape(images: Any, n: int) -> tuple[int, int, int]:
    shape, dtype = tuple(images.shape), np.dtype(images.dtype)
    if len(shape) not in (3, 4) or shape[0] != n or 0 in shape:
        raise InputError(
            f"images must have shape (n, h, w, c) or (n, h, w), with n = {n} as many as the rows "
            f"of factors; shape {shape} came."
        )
    if len(shape) == 4 and shape[3] > 4 and shape[1] in (1, 3, 4):
        raise InputError(
            f"images must have their channels last; shape {shape} came, which is channels first: "
            "use images.transpose(0, 2, 3, 1)."
        )
    if dtype != np.uint8 and dtype.kind not in "bf":
        raise InputError(
            f"images must be uint8, or floats in [0, 1]; an array of dtype {dtype} came."
        )
    return int(shape[1]), int(shape[2]), int(shape[3]) if len(shape) == 4 else 1
