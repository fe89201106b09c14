"""The public door of every score: latents and factors of the same rows, checked and coded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_finite, check_points
from geodis.data._columns import called, factor_columns, refuse_missing
from geodis.data.files.load import Factors

# A numeric factor with more different values than this is not a class: it must be binned, or
# scored by something that takes continuous factors.
MAX_CLASSES = 256


@dataclass(frozen=True)
class CodedFactors:
    """Factors of n rows, as classes or as numbers.

    Attributes
    ----------
    codes : ndarray of int64, shape (n, f)
        Values as 0, 1, ... in sorted order of the values, without gaps.
    values : ndarray of shape (n, f)
        The values as numbers; the codes where they are not numbers.
    sizes : ndarray of int64, shape (f,)
        Different values of every factor.
    names : tuple of str
        Empty when the factors came without names.
    continuous : ndarray of bool, shape (f,)
        Numbers that are not all whole, or with too many values to be classes.
    numeric : ndarray of bool, shape (f,)
        Factors that came as numbers; labels have an order only by accident.
    """

    codes: np.ndarray
    values: np.ndarray
    sizes: np.ndarray
    names: tuple[str, ...]
    continuous: np.ndarray
    numeric: np.ndarray

    def called(self, j: int) -> str:
        """What to call a factor in a message."""
        return called(self.names, j)

    def varying(self) -> tuple[np.ndarray, str]:
        """Indices of the factors with at least two values, and a note on the others."""
        kept = np.flatnonzero(self.sizes > 1)
        if not len(kept):
            raise InputError(
                f"A score needs a factor with at least two values; {len(self.sizes)} with one came."
            )
        alone = [self.called(j) for j in np.flatnonzero(self.sizes == 1)]
        return kept, f"left out, with one value: {', '.join(alone)}" if alone else ""


def check_latents(latents: Any, min_points: int = 2) -> np.ndarray:
    """Return latents as float64 (n, z); integers, float16 and tensors are converted."""
    return check_points(latents, name="latents", min_points=min_points)


def check_scored(
    latents: Any, factors: Any, *, min_points: int = 2, allow_continuous: bool = False
) -> tuple[np.ndarray, CodedFactors]:
    """Check that latents and factors describe the same rows.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f), or (n,) for one factor
        Numbers, strings or pandas categories.
    min_points : int
    allow_continuous : bool
        Whether the caller knows what to do with continuous factors; otherwise they are refused.

    Returns
    -------
    latents : ndarray of float64, shape (n, z)
    factors : CodedFactors

    Examples
    --------
    >>> latents, factors = check_scored([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    >>> factors.codes.ravel().tolist(), factors.sizes.tolist()
    ([0, 1, 0], [2])
    """
    checked = check_latents(latents, min_points)
    coded = code_factors(factors)
    n = len(checked)
    if len(coded.codes) != n:
        raise InputError(
            f"latents and factors must have as many rows: {n} and {len(coded.codes)} came."
        )
    many = ~coded.numeric & (coded.sizes > MAX_CLASSES)
    if many.any():
        j = int(np.flatnonzero(many)[0])
        raise InputError(
            f"{coded.called(j)} has {coded.sizes[j]} different labels in {n} rows, more than the "
            f"{MAX_CLASSES} that scores take as classes: leave it out."
        )
    if coded.continuous.any() and not allow_continuous:
        j = int(np.flatnonzero(coded.continuous)[0])
        raise InputError(
            f"{coded.called(j)} is continuous ({coded.sizes[j]} different values in {n} rows): "
            "this score needs classes; bin it first with geodis.scores.bin_factors, or by "
            "score_latents(..., bins=20) or --bins 20."
        )
    return checked, coded


def code_factors(factors: Any) -> CodedFactors:
    """Turn factors of any kind into codes and numbers.

    Examples
    --------
    >>> coded = code_factors([[0.5, 3], [0.25, 3], [0.5, 9], [0.25, 9]])
    >>> coded.codes.T.tolist(), coded.sizes.tolist(), coded.continuous.tolist()
    ([[1, 0, 1, 0], [0, 0, 1, 1]], [2, 2], [False, False])
    """
    columns, names = factor_columns(factors)
    coded = [_code(column, called(names, j)) for j, column in enumerate(columns)]
    codes = np.column_stack([item[0] for item in coded])
    labels = factors.categories if isinstance(factors, Factors) else {}
    numeric = np.array(
        [
            item[3] and name not in labels
            for item, name in zip(coded, names or [""] * len(coded), strict=True)
        ]
    )
    return CodedFactors(
        codes,
        values=np.column_stack([item[1] for item in coded]),
        sizes=codes.max(axis=0) + 1,
        names=names,
        continuous=np.array([item[2] for item in coded]) & numeric,
        numeric=numeric,
    )


def _code(column: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray, bool, bool]:
    """Codes, numbers, whether the factor is continuous, and whether it came as numbers."""
    if column.dtype.kind == "O":
        try:
            numbers = column.astype(float)  # held as objects
        except (TypeError, ValueError):
            numbers = None
        if numbers is None:
            refuse_missing(column, name)
        column = column.astype(str) if numbers is None else numbers
    if column.dtype.kind == "c":
        raise InputError(f"{name} must hold real numbers or labels; complex numbers came.")
    number = column.dtype.kind in "fiub"
    if number:
        column = check_finite(column.astype(float), name)
    values, codes = np.unique(column, return_inverse=True)
    codes = codes.reshape(-1).astype(np.int64)
    if not number:
        return codes, codes.astype(float), False, False
    whole = bool((values == np.round(values)).all())
    # Few values that come back are levels of a grid, whole or not (0, 0.25, 0.5, ...).
    few = len(values) <= MAX_CLASSES and 2 * len(values) <= len(column)
    continuous = not few and (not whole or len(values) > MAX_CLASSES)
    return codes, column, continuous, True
