"""Validation and coding of the inputs of scores: latents and factors of the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geodis.base.check import (
    InputError,
    check_finite,
    check_int,
    check_numeric,
    check_points,
    rounding_of,
    to_numpy,
)
from geodis.data.factors import FactorKind, Factors, as_factors, called
from geodis.scores.card import Score

# A numeric factor with more distinct values than this is continuous: it must be binned, or scored
# by a score of continuous factors.
MAX_CLASSES = 256

# Names of columns of row numbers.
ROW_NUMBERS = ("id", "ids", "idx", "index", "row", "row number", "image id", "image_id", "uid")

# Sums of larger numbers may overflow. Such numbers usually come from an overflow.
LARGEST = 1e300


@dataclass(frozen=True)
class ScoredFactors:
    """The factors that a score uses, among all factors.

    Attributes
    ----------
    kept : ndarray of int, shape (k,)
        Their column numbers.
    count : int
        Number of all factors, f.
    names : tuple of str
        Names of all factors; empty if they have none.
    note : str
        Which factors were left out, and why.
    """

    kept: np.ndarray
    count: int
    names: tuple[str, ...]
    note: str

    def only(self, usable: np.ndarray, note: str) -> ScoredFactors:
        """Leave out further factors, those for which usable (k,) is False."""
        return replace(self, kept=self.kept[usable], note=joined_notes(self.note, note))

    def spread(self, parts: Any, empty: float = np.nan) -> np.ndarray:
        """Expand values of the kept factors (k,) to all factors (f,)."""
        parts = np.asarray(parts)
        whole = np.full(self.count, empty, np.result_type(parts.dtype, type(empty)))
        whole[self.kept] = parts
        return whole

    def spread_columns(self, matrix: np.ndarray) -> np.ndarray:
        """Expand columns of the kept factors (z, k) to all factors (z, f), with zeros."""
        whole = np.zeros((len(matrix), self.count))
        whole[:, self.kept] = matrix
        return whole

    def score(
        self,
        name: str,
        per_factor: np.ndarray | None = None,
        *,
        value: float | None = None,
        per_latent: np.ndarray | None = None,
        matrix: np.ndarray | None = None,
        details: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
    ) -> Score:
        """Make a score of these factors, by default the mean of its parts."""
        parts = per_latent if per_factor is None else per_factor[self.kept]
        if value is None:
            assert parts is not None
            value = float(parts.mean())
        return Score(
            name,
            value,
            per_factor=per_factor,
            per_latent=per_latent,
            matrix=matrix,
            details=details or {},
            note=joined_notes(self.note, *notes),
            factor_names=self.names,
        )


def joined_notes(*notes: str) -> str:
    """Join the notes that are not empty.

    Examples
    --------
    >>> joined_notes("left out: a", "", "binned")
    'left out: a; binned'
    """
    return "; ".join(filter(None, notes))


def scored_factors(
    varies: np.ndarray, called: Sequence[str], names: tuple[str, ...]
) -> ScoredFactors:
    """Select the factors (f,) that vary, at least one, with a note on the others."""
    if not varies.any():
        raise InputError(
            f"A score needs a factor with at least two values; got {len(varies)} with one."
        )
    alone = ", ".join(called[j] for j in np.flatnonzero(~varies))
    note = f"left out, with one value: {alone}" if alone else ""
    return ScoredFactors(np.flatnonzero(varies), len(varies), names, note)


@dataclass(frozen=True)
class CodedFactors:
    """Factors as classes and as numbers.

    Attributes
    ----------
    codes : ndarray of int64, shape (n, f)
        Ranks 0, 1, ... of the distinct values.
    values : ndarray of shape (n, f)
        Values of numbers, codes of labels.
    sizes : ndarray of int64, shape (f,)
        Number of distinct values of every factor.
    names : tuple of str
        Empty if the factors have no names.
    continuous : ndarray of bool, shape (f,)
        Numbers that are not integers, or have too many values to be classes.
    kinds : tuple of f str
        "labels", "ordered", "numbers" or "cyclic", as in `Factors`.
    """

    codes: np.ndarray
    values: np.ndarray
    sizes: np.ndarray
    names: tuple[str, ...]
    continuous: np.ndarray
    kinds: tuple[FactorKind, ...]

    @property
    def numeric(self) -> np.ndarray:
        """Whether each factor (f,) is a number."""
        return np.array([kind in ("numbers", "cyclic") for kind in self.kinds])

    def called(self, j: int) -> str:
        """Return the name of a factor for messages."""
        return called(self.names, j)

    def varying(self) -> ScoredFactors:
        """Select the factors with at least two values."""
        called = [self.called(j) for j in range(len(self.sizes))]
        return scored_factors(self.sizes > 1, called, self.names)


def without_identities(factors: Factors) -> tuple[Factors, str]:
    """Drop columns that identify rows, such as file names, and return a note.

    These are labels with more values than scores accept as classes, and columns of row numbers
    that have a name such as "index". If there is no other factor, they are kept.

    Examples
    --------
    >>> table = {"id": range(300), "x": [0, 1, 2] * 100}
    >>> without_identities(as_factors(table))[1]
    'left out, for it names rows: id'
    """
    lost = [name for j, name in enumerate(factors.names) if _is_identity(factors, j)]
    if not lost or len(lost) == len(factors.names):
        return factors, ""
    kept = [j for j, name in enumerate(factors.names) if name not in lost]
    names = tuple(factors.names[j] for j in kept)
    groups = {
        name: tuple(one for one in own if one in names) for name, own in factors.groups.items()
    }
    left = Factors(
        factors.values[:, kept],
        names,
        {name: labels for name, labels in factors.categories.items() if name in names},
        ordered=tuple(name for name in factors.ordered if name in names),
        periods={name: period for name, period in factors.periods.items() if name in names},
        groups={name: own for name, own in groups.items() if own},
    )
    they_name = "it names" if len(lost) == 1 else "they name"
    return left, f"left out, for {they_name} rows: {', '.join(lost)}"


def _is_identity(factors: Factors, j: int) -> bool:
    name, column = factors.names[j], factors.values[:, j]
    distinct = np.unique(column)
    if name in factors.categories:
        return len(distinct) > MAX_CLASSES
    whole = len(distinct) == len(column) and np.ptp(distinct) == len(column) - 1
    return bool(whole and len(column) > MAX_CLASSES and name.strip().lower() in ROW_NUMBERS)


def check_latents(latents: Any, min_points: int = 2, dtype: type | None = float) -> np.ndarray:
    """Return latents as an array (n, z) of floats, by default float64; tensors are converted.

    In float64, a latent that varies by no more than rounding errors is made constant, because bins
    and standardisation would amplify them.
    """
    given = check_points(latents, name="latents", min_points=min_points, dtype=None)
    check_within(given, "latents")
    if dtype is None:
        return given
    low, high = given.min(axis=0).astype(dtype), given.max(axis=0).astype(dtype)
    still = (high > low) & (high - low <= 4 * rounding_of(given))
    checked: np.ndarray = given.astype(dtype, copy=False)
    return np.where(still, checked[0], checked) if still.any() else checked


def check_within(values: np.ndarray, name: str) -> np.ndarray:
    """Require numbers whose sums and differences do not overflow."""
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if largest > LARGEST:
        raise InputError(
            f"{name} must lie between -{LARGEST:g} and {LARGEST:g}, so that they can be added; "
            f"got {largest:g}: divide them by a number."
        )
    return values


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
        Whether continuous factors are accepted.

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
            f"latents and factors must have as many rows; got {n} and {len(coded.codes)}."
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


def codes_of(values: np.ndarray) -> np.ndarray:
    """Return the ranks 0, 1, ... of the distinct values of every column.

    Examples
    --------
    >>> codes_of(np.array([[5, 0], [7, 0]])).tolist()
    [[0, 0], [1, 0]]
    """
    columns = [np.unique(column, return_inverse=True)[1].reshape(-1) for column in values.T]
    return np.column_stack(columns)


def rows_at_most(
    max_rows: int | None, latents: np.ndarray, codes: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, str]:
    """Subsample latents and codes to at most `max_rows` rows, and return a note."""
    n = len(latents)
    if max_rows is None or n <= check_int(max_rows, "max_rows", low=2):
        return latents, codes, ""
    rows = np.sort(rng.choice(n, max_rows, replace=False))
    return latents[rows], codes_of(codes[rows]), f"{max_rows} of {n} rows (max_rows)"


def code_factors(factors: Any) -> CodedFactors:
    """Turn factors of any kind into codes and numbers.

    Examples
    --------
    >>> coded = code_factors([[0.5, 3], [0.25, 3], [0.5, 9], [0.25, 9]])
    >>> coded.codes.T.tolist(), coded.sizes.tolist(), coded.continuous.tolist()
    ([[1, 0, 1, 0], [0, 0, 1, 1]], [2, 2], [False, False])
    """
    known = as_factors(factors).refuse_missing()
    values = check_within(np.ascontiguousarray(known.values, dtype=float), "factors")
    distinct, codes = zip(
        *(np.unique(column, return_inverse=True) for column in values.T), strict=True
    )
    named = isinstance(factors, Factors) or known.has_own_names
    return CodedFactors(
        np.column_stack([column.reshape(-1) for column in codes]).astype(np.int64),
        values=values,
        sizes=np.array([len(numbers) for numbers in distinct]),
        names=known.names if named else (),
        continuous=np.array(
            [
                name not in known.categories and _is_continuous(numbers, len(values))
                for name, numbers in zip(known.names, distinct, strict=True)
            ]
        ),
        kinds=known.kinds,
    )


def _is_continuous(distinct: np.ndarray, n: int) -> bool:
    """Return whether a column of n numbers with these distinct values is continuous."""
    whole = bool((distinct == np.round(distinct)).all())
    # Few values that repeat are levels of a grid, integers or not (0, 0.25, 0.5, ...).
    few = len(distinct) <= MAX_CLASSES and 2 * len(distinct) <= n
    return not few and (not whole or len(distinct) > MAX_CLASSES)


def refuse_labels(factors: CodedFactors, score: str) -> None:
    """Require factors that are numbers, because the codes of labels have no order."""
    if not factors.numeric.all():
        j = int(np.flatnonzero(~factors.numeric)[0])
        raise InputError(
            f"{score} needs factors that are numbers; got labels in {factors.called(j)}."
        )


def varying_numbers(factors: CodedFactors, score: str) -> ScoredFactors:
    """Select the factors that are numbers with at least two values."""
    if not factors.numeric.any():
        refuse_labels(factors, score)
    varying = factors.varying()
    usable = factors.numeric[varying.kept]
    if not usable.any():
        refuse_labels(factors, score)
    labels = ", ".join(factors.called(j) for j in varying.kept[~usable])
    return varying.only(usable, f"left out, labels: {labels}" if labels else "")


# Scales that prevent overflow, and latents without information.


def of_order_one(latents: np.ndarray) -> np.ndarray:
    """Divide every column by a power of two, without rounding, such that it lies within 1.

    This prevents overflow and underflow of squares and in single precision.

    Examples
    --------
    >>> of_order_one(np.array([[6.0, 1.0], [-2.0, 0.0]]))
    array([[ 0.75,  0.5 ],
           [-0.25,  0.  ]])
    """
    return np.ldexp(latents, -_exponent(latents))


def unit_of(latents: np.ndarray) -> np.ndarray:
    """Return the divisors (z,) of `of_order_one`: ``of_order_one(z) unit_of(z) = z``.

    Examples
    --------
    >>> unit_of(np.array([[6.0, 1.0], [-2.0, 0.0]]))
    array([8., 2.])
    """
    return np.ldexp(1.0, _exponent(latents))


def _exponent(latents: np.ndarray) -> np.ndarray:
    return np.frexp(np.abs(latents).max(axis=0))[1]


# Rounding to float32 makes a constant latent vary by 3e-8 of its size. The threshold is above that,
# and below the resolution of float32.
ROUNDING = 1e-7

# Mean KL divergence from the prior, in nats, below which a latent of a VAE is inactive (Duan et
# al. 2020).
UNUSED_KL = 0.01


def varies(latents: np.ndarray) -> np.ndarray:
    """Return which latents vary by more than rounding, bool (z,), at any scale.

    Examples
    --------
    >>> varies(np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 3.0]])).tolist()
    [False, True]
    """
    scaled = of_order_one(latents)
    return scaled.std(axis=0) > ROUNDING * np.abs(scaled).max(axis=0)


def check_log_variances(log_variances: Any, latents: np.ndarray) -> np.ndarray | None:
    """Return the log-variances of Gaussian latents, which have the shape of their means."""
    if log_variances is None:
        return None
    array = check_numeric(to_numpy(log_variances, "log_variances"), "log_variances")
    if array.shape != latents.shape:
        raise InputError(
            f"log_variances must have the shape of the latents, {latents.shape}; got {array.shape}."
        )
    return check_finite(array, "log_variances").astype(float)


def prior_divergence(latents: np.ndarray, log_variances: np.ndarray) -> np.ndarray:
    """Mean over rows of KL(N(mean, exp(log_variance)) || N(0, 1)), in nats, shape (z,)."""
    rows = latents**2 + np.exp(log_variances) - log_variances - 1
    return 0.5 * rows.mean(axis=0)


def active_latents(latents: np.ndarray, log_variances: np.ndarray | None = None) -> np.ndarray:
    """Return which latents are active, bool (z,): they vary and are not equal to the prior."""
    active = varies(latents)
    if log_variances is not None:
        active &= prior_divergence(latents, log_variances) > UNUSED_KL
    return active
