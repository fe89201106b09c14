"""Grids of all combinations of known factors, their images, and latents by index."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from geodis.base.check import (
    InputError,
    check_choice,
    check_finite,
    check_int,
    check_numeric,
    to_numpy,
)
from geodis.data.factors import FactorKind, Factors, default_names

if TYPE_CHECKING:
    from geodis.data.grids.observed import ObservedGrid


PixelDtype: TypeAlias = Literal["uint8", "float32"]


class FactorGrid:
    """All combinations of f factors, with an optional image of each.

    A combination is a row of integers, ``0 <= factors[i, j] < sizes[j]``. Its index is its position
    in row-major order, in which the last factor changes fastest:
    ``index = (... (k_0 sizes[1] + k_1) sizes[2] + ...) + k_{f-1}``.
    Methods take one index or an array of n, and return n rows in either case.

    For images of your own, define a subclass with a method ``_draw(index)``, which gets a checked
    int64 array (n,) and returns the images (n, h, w, c) as uint8, or as floats in [0, 1].
    Torch's DataLoader accepts a grid directly and gets float32 batches (n, c, h, w).

    Parameters
    ----------
    sizes : sequence of f ints
        Number of values of each factor.
    names : sequence of f str, optional
        "factor 0", "factor 1", ... by default.
    image_shape : (h, w, c), optional
        None for factors without images.
    kinds : sequence of f str, optional
        "labels" for values without an order, "ordered" for ordered labels, "cyclic" if the first
        value follows the last, and "numbers" otherwise and by default.

    Attributes
    ----------
    sizes, names, image_shape, kinds : tuples as above
    periods : tuple of f ints
        The sizes; one less for a cyclic factor whose last value equals its first.
    complete : bool
        Whether every combination occurs exactly once, so index and factors determine each other.

    Examples
    --------
    >>> grid = FactorGrid((2, 3), names=("shape", "x"))
    >>> print(grid)
    FactorGrid with 6 combinations
    factor  name   size
         0  shape     2
         1  x         3
    >>> grid.factors([0, 1, 5]).tolist()
    [[0, 0], [0, 1], [1, 2]]
    >>> grid.index([[1, 2]]).tolist()
    [5]
    >>> grid.traversal("x", at=4).tolist()
    [3, 4, 5]
    """

    def __init__(
        self,
        sizes: Sequence[int],
        names: Sequence[str] | None = None,
        image_shape: tuple[int, int, int] | None = None,
        kinds: Sequence[FactorKind] | None = None,
    ) -> None:
        self.sizes = tuple(check_int(size, "A size", low=1) for size in sizes)
        if not self.sizes:
            raise InputError("sizes must have one number per factor; got none.")
        if math.prod(self.sizes) > np.iinfo(np.int64).max:
            raise InputError(f"sizes must have at most 2^63 - 1 combinations; got {self.sizes}.")
        self.names = default_names(len(self.sizes)) if names is None else tuple(map(str, names))
        if len(self.names) != len(self.sizes) or len(set(self.names)) != len(self.names):
            raise InputError(
                f"names must be {len(self.sizes)} different names, one per factor; "
                f"got {self.names}."
            )
        self.image_shape = image_shape
        self.kinds: tuple[FactorKind, ...] = _check_kinds(kinds, len(self.sizes))
        self.periods = self.sizes
        self.complete = True

    @staticmethod
    def from_arrays(
        images: Any,
        factors: Any,
        names: Sequence[str] | None = None,
        *,
        sizes: Sequence[int] | None = None,
    ) -> ObservedGrid:
        """Make a grid from arrays of images and factors, complete or not.

        Parameters
        ----------
        images : array-like of shape (n, h, w, c) or (n, h, w), callable, or None
            uint8, or floats in [0, 1]; arrays from `numpy.memmap` or h5py stay in their file. A
            callable gets rows (int64 array) of `factors` and returns their images. None for factors
            without images.
        factors : array-like of shape (n, f)
            Row i has the factors of image i: numbers or labels of any kind that `as_factors`
            reads. Distinct values, sorted, become 0, 1, 2, ...; labels keep the order of their
            categories. A cyclic factor stays cyclic if its values are evenly spaced over the
            period, as 0, 90, 180, 270 (and 360) for the period 360; otherwise it becomes numeric.
        names : sequence of f str, optional
            By default the names of the columns of a frame, or else "factor 0", ...
        sizes : sequence of f ints, optional
            If given, the factors must already be integers ``0 <= factors[i, j] < sizes[j]``;
            some values may never occur.

        Returns
        -------
        ObservedGrid
            If every combination occurs once, a complete grid in row-major order, independent of the
            order of the rows. Otherwise an incomplete grid whose indices are the given rows, with
            ``complete`` False and a ``note`` on what is missing. ``values[j][k]`` is the original
            value k of factor j.

        Examples
        --------
        >>> images = np.zeros((4, 8, 8), dtype=np.uint8)
        >>> FactorGrid.from_arrays(images, [[1, 0], [0, 0], [0, 1], [1, 1]]).complete
        True
        >>> print(FactorGrid.from_arrays(images[:3], [[1, 0], [0, 0], [0, 1]]))
        ObservedGrid with 3 images of 8 x 8 x 1
        factor  name      size
             0  factor 0     2
             1  factor 1     2
        3 of 4 combinations of the factors are present.
        """
        from geodis.data.grids.observed import ObservedGrid

        return ObservedGrid(images, factors, names, sizes)

    @property
    def note(self) -> str:
        """A sentence on what is missing from the grid; empty if it is complete."""
        return ""

    def require_complete(self, purpose: str) -> None:
        """Raise an InputError unless every combination occurs exactly once."""
        if not self.complete:
            raise InputError(f"{purpose} needs every combination of the factors once: {self.note}")

    def __len__(self) -> int:
        return math.prod(self.sizes)

    def factors(self, index: Any) -> np.ndarray:
        """Return the factors (n, f) of n indices, int64."""
        return self._factors(self.check_index(index))

    def known_factors(self, index: Any) -> Factors:
        """Return the factors of n indices with names, labels, order and periods.

        The values are those of `factors`, as floats, and the periods are those of the grid.

        Examples
        --------
        >>> FactorGrid((2, 8), ("shape", "angle"), kinds=("labels", "cyclic")).known_factors([3, 8])
        2 points, 2 factors
        name   distinct  range
        shape         2  0, 1
        angle         2  0 to 3, period 8
        """
        kinds = dict(zip(self.names, self.kinds, strict=True))
        return Factors(
            self.factors(index).astype(float),
            self.names,
            {
                name: self._labels(j)
                for j, name in enumerate(self.names)
                if kinds[name] in ("labels", "ordered")
            },
            ordered=tuple(name for name in self.names if kinds[name] == "ordered"),
            periods={
                name: float(period)
                for name, period in zip(self.names, self.periods, strict=True)
                if kinds[name] == "cyclic"
            },
        )

    def index(self, factors: Any) -> np.ndarray:
        """Return the indices (n,) of factors (n, f): ``index(factors(i)) == i``."""
        return self._index(self._check_factors(factors))

    def check_index(self, index: Any) -> np.ndarray:
        """Return one index or n indices as an int64 array (n,), checked to be in the grid."""
        array = _whole_numbers(index, "index")
        if array.ndim > 1:
            raise InputError(f"index must be one number or of shape (n,); got shape {array.shape}.")
        if array.size and not 0 <= array.min() <= array.max() < len(self):
            wrong = array.min() if array.min() < 0 else array.max()
            raise InputError(f"index must be between 0 and {len(self) - 1}; got {wrong}.")
        return array.reshape(-1)

    def images(self, index: Any, dtype: PixelDtype | Literal["auto"] = "uint8") -> np.ndarray:
        """Return the images (n, h, w, c) of n indices.

        Parameters
        ----------
        index : int or array-like of shape (n,)
        dtype : "uint8", "float32" or "auto"
            As float32, black is 0 and white is 1. "auto" keeps uint8 data, and returns floats as
            float32.
        """
        check_choice(dtype, "dtype", (*get_args(PixelDtype), "auto"))
        index = self.check_index(index)
        if self.image_shape is None:
            raise InputError("The grid must have images; got factors without images.")
        return _as_dtype(self._draw(index), dtype)

    def traversal(self, factor: int | str, at: Any) -> np.ndarray:
        """Return the indices along one factor, with the other factors fixed at those of an index.

        Parameters
        ----------
        factor : int or str
            Position or name of the factor.
        at : int or array-like of shape (m,)
            The indices that give the other factors.

        Returns
        -------
        ndarray of shape (sizes[factor],), or (m, sizes[factor]) for m indices
            ``factors(traversal)[t, factor] == t``.
        """
        j = self.factor_number(factor)
        rows = np.repeat(self.factors(at)[:, None], self.sizes[j], axis=1)  # (m, size, f)
        rows[:, :, j] = np.arange(self.sizes[j])
        index = self._index(rows.reshape(-1, len(self.sizes))).reshape(len(rows), -1)
        return index[0] if np.ndim(at) == 0 else index

    def factor_number(self, factor: int | str) -> int:
        """Return the position of a factor given by position or by name."""
        if isinstance(factor, str):
            if factor not in self.names:
                raise InputError(f"factor must be one of {', '.join(self.names)}; got {factor!r}.")
            return self.names.index(factor)
        return check_int(factor, "factor", low=0, high=len(self.sizes) - 1)

    def __getitem__(self, i: int) -> np.ndarray:
        """Return one image as float32 (c, h, w) in [0, 1], as torch models expect."""
        n = len(self)
        if not -n <= i < n:
            raise IndexError(f"index {i} is out of range for {n} images")  # ends a for loop
        return self.__getitems__([i % n])[0]

    def __getitems__(self, index: Sequence[int]) -> list[np.ndarray]:
        """Return a batch for torch's DataLoader, drawn in one call."""
        images = self.images(index, dtype="float32")
        return list(np.ascontiguousarray(images.transpose(0, 3, 1, 2)))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={n}" for name, n in zip(self.names, self.sizes, strict=True))
        return f"{type(self).__name__}({sizes})"

    def __str__(self) -> str:
        shape = "" if self.image_shape is None else " x ".join(map(str, self.image_shape))
        what = f"images of {shape}" if shape else "combinations"
        width = max(len("name"), *map(len, self.names))
        lines = [
            f"{type(self).__name__} with {len(self)} {what}",
            f"factor  {'name':<{width}}  size",
        ]
        for j, (name, size) in enumerate(zip(self.names, self.sizes, strict=True)):
            lines.append(f"{j:>6}  {name:<{width}}  {size:>4}")
        return "\n".join([*lines, self.note] if self.note else lines)

    # Methods that a subclass may override; their arguments have been checked.

    def _draw(self, index: np.ndarray) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} must define _draw to have images.")

    def _factors(self, index: np.ndarray) -> np.ndarray:
        return np.stack(np.unravel_index(index, self.sizes), axis=1).astype(np.int64, copy=False)

    def _labels(self, j: int) -> tuple[str, ...]:
        """Return the labels of the values of factor j."""
        return tuple(map(str, range(self.sizes[j])))

    def _index(self, factors: np.ndarray) -> np.ndarray:
        return np.asarray(np.ravel_multi_index(tuple(factors.T), self.sizes), dtype=np.int64)

    def _check_factors(self, factors: Any) -> np.ndarray:
        array = np.atleast_2d(_whole_numbers(factors, "factors"))
        if array.ndim != 2 or array.shape[1] != len(self.sizes):
            raise InputError(
                f"factors must have {len(self.sizes)} columns ({', '.join(self.names)}); "
                f"got shape {array.shape}."
            )
        outside = (array < 0) | (array >= self.sizes)
        if outside.any():
            row, j = np.argwhere(outside)[0]
            raise InputError(
                f"{self.names[j]} must be between 0 and {self.sizes[j] - 1}; got {array[row, j]}."
            )
        return array


def _check_kinds(kinds: Sequence[FactorKind] | None, count: int) -> tuple[FactorKind, ...]:
    numbers: FactorKind = "numbers"
    known = (numbers,) * count if kinds is None else tuple(kinds)
    if len(known) != count or not {*known} <= {*get_args(FactorKind)}:
        raise InputError(
            f"kinds must be {count} of {', '.join(get_args(FactorKind))}, one per factor; "
            f"got {known}."
        )
    return known


def _whole_numbers(values: Any, name: str) -> np.ndarray:
    """Convert to int64, in any shape; whole floats are accepted because pandas makes them."""
    array = np.asarray(values if isinstance(values, range) else to_numpy(values, name))
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        numbers = check_numeric(array, name) if array.dtype.kind in "fO" else None
        if numbers is None or not (numbers == np.round(numbers)).all():
            raise InputError(f"{name} must hold whole numbers; got dtype {array.dtype}.")
        array = numbers
    return array.astype(np.int64, copy=False)


def _as_dtype(images: np.ndarray, dtype: str) -> np.ndarray:
    """Convert images between uint8 and floats in [0, 1]."""
    if images.dtype == np.uint8:
        return images / np.float32(255) if dtype == "float32" else images
    low, high = (images.min(), images.max()) if images.size else (0.0, 1.0)
    if not 0 <= low <= high <= 1:  # NaN fails too
        raise InputError(f"Images of floats must be in [0, 1]; got {low:g} to {high:g}.")
    if dtype == "uint8":
        return np.round(images * 255).astype(np.uint8)
    return images.astype(np.float32, copy=False)


# Latents of the images of a grid, from a table or from an encoder.

# Number of images encoded at a time: a few megabytes at 64 x 64 x 3.
CODE_BATCH = 256


def latents_of(
    grid: FactorGrid, code: Any, batch_size: int = CODE_BATCH
) -> Callable[[Any], np.ndarray]:
    """Return a function from indices of a grid to latents.

    Parameters
    ----------
    grid : FactorGrid
    code : array-like of shape (len(grid), z), or callable
        A table with one row per index, or an encoder that gets float32 images (n, h, w, c) in
        [0, 1] and returns (n, z) as a numpy array or tensor.
    batch_size : int
        Maximum number of images held in memory and passed to an encoder at a time.

    Returns
    -------
    callable
        Maps an index, or an array (n,) of indices, to latents (n, z). They keep the float dtype of
        the code, because comparisons of latents depend on its precision.

    Examples
    --------
    >>> grid = FactorGrid((2, 3))
    >>> latents = latents_of(grid, grid.factors(range(6)) * 0.5)
    >>> latents([0, 5]).tolist()
    [[0.0, 0.0], [0.5, 1.0]]
    """
    batch_size = check_int(batch_size, "batch_size", low=1)
    if callable(code):
        return lambda index: _encode(grid, code, grid.check_index(index), batch_size)
    table = check_numeric(to_numpy(code, "code"), "code")
    if table.ndim != 2 or len(table) != len(grid) or not table.shape[1]:
        raise InputError(
            f"code must be a callable, or have shape ({len(grid)}, z), one row per index of "
            f"the grid; got shape {table.shape}."
        )
    check_finite(table, "code")
    return lambda index: _as_floats(table[grid.check_index(index)])


def _encode(
    grid: FactorGrid, code: Callable[[np.ndarray], Any], index: np.ndarray, batch_size: int
) -> np.ndarray:
    latents = []
    # An empty index is encoded as one empty batch, which gives the number of latents.
    for start in range(0, max(len(index), 1), batch_size):
        batch = index[start : start + batch_size]
        encoded = to_numpy(code(grid.images(batch, "float32")), "latents")
        encoded = check_numeric(encoded, "latents")
        if encoded.ndim != 2 or len(encoded) != len(batch) or not encoded.shape[1]:
            raise InputError(
                f"code must return latents of shape ({len(batch)}, z) for {len(batch)} images; "
                f"got shape {encoded.shape}."
            )
        latents.append(_as_floats(check_finite(encoded, "latents")))
    return np.concatenate(latents)


def _as_floats(latents: np.ndarray) -> np.ndarray:
    return latents if latents.dtype.kind == "f" else latents.astype(np.float64)
