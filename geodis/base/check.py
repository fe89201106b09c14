"""Checks of arguments, whose errors say what was needed and what was given."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from numbers import Integral, Real
from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np

Choice = TypeVar("Choice")
Options = TypeVar("Options")

# A sparse matrix with more entries would take gigabytes once dense (2 GiB in float64).
MOST_DENSE = 2**28
# So few rows, with so many times more columns, suggest that points are in columns.
FEW_ROWS, MANY_COLUMNS = 20, 10


class InputError(ValueError):
    """An argument is invalid; the message says what was needed and what was given."""


class MissingResultError(InputError, AttributeError):
    """A result that the data do not allow, behaving like a missing attribute.

    `hasattr` returns False for it, as for methods that a scikit-learn estimator does not have.
    """


class GeodisWarning(UserWarning):
    """A warning about a result that needs attention."""


class MissingExtraError(ImportError):
    """An optional package is missing."""


def require(module: str, *, purpose: str) -> ModuleType:
    """Import an optional module, or raise an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise MissingExtraError(
            f"{purpose} needs {package}, which could not be imported ({error}): "
            f"pip install {package}"
        ) from error


def to_numpy(values: Any, name: str = "points") -> np.ndarray:
    """Convert a numpy array, torch tensor, pandas object or nested sequence to a numpy array.

    An AnnData object is replaced by its ``X``, made dense if it is sparse.
    """
    if hasattr(values, "obsm") and hasattr(values, "obs_names"):  # AnnData
        values = _matrix_of(values, name)
    if hasattr(values, "to_memory") and not hasattr(values, "__array__"):
        raise InputError(
            f"{name} must be in memory; got a sparse matrix of AnnData that is backed by a file: "
            "load it with .to_memory(), or some rows at a time with [start:stop].to_memory()."
        )
    if hasattr(values, "detach"):  # a torch tensor, possibly on a GPU or with a gradient
        tensor = values.detach().cpu()
        try:
            values = tensor.numpy()
        except TypeError:  # bfloat16, which numpy does not have
            values = tensor.float().numpy()
    if hasattr(values, "tocsr"):
        raise TypeError(f"{name} must be a dense array; got a sparse matrix: use .toarray().")
    if isinstance(values, np.ma.MaskedArray) and values.dtype.names is None:
        values = _unmasked(values)
    try:
        return np.asarray(values)
    except ValueError as error:  # ragged nested sequences
        raise InputError(f"{name} must be a rectangular array: {error}.") from error


def _matrix_of(annotated: Any, name: str) -> Any:
    """Return the matrix X of an AnnData object."""
    matrix = annotated.X
    if matrix is None:
        raise InputError(f"{name} must be an AnnData object with X; got one without.")
    if not hasattr(matrix, "tocsr"):
        return matrix
    entries = math.prod(matrix.shape)
    if entries > MOST_DENSE:
        reduced = ", ".join(f"obsm[{key!r}]" for key in annotated.obsm)
        raise InputError(
            f"{name} must have at most {MOST_DENSE} entries once dense; got a sparse X of shape "
            f"{matrix.shape}: reduce it first{f', or take {reduced}' if reduced else ''}."
        )
    return matrix.toarray()


def _unmasked(values: np.ma.MaskedArray) -> np.ndarray:
    """Replace masked values by NaN, so that they are not taken for data."""
    if not np.ma.getmaskarray(values).any():
        return np.asarray(values.data)
    kind = values.dtype.kind
    if kind not in "fc":
        values = np.ma.asarray(values.astype(float if kind in "biu" else object))
    return np.asarray(values.filled(np.nan))


def check_numeric(array: np.ndarray, name: str = "points") -> np.ndarray:
    """Require real numbers; booleans and numbers held as objects are converted."""
    if np.iscomplexobj(array):
        raise InputError(f"Complex data not supported: {name} must be real; got {array.dtype}.")
    if array.dtype.kind in "fiu":
        return array
    if array.dtype.kind in "bO":
        try:
            return array.astype(float)
        except ValueError as error:
            raise InputError(f"{name} must hold numbers only: {error}.") from error
        except TypeError as error:  # scikit-learn expects this type
            raise TypeError(f"{name} must hold numbers only: {error}.") from error
    raise InputError(f"{name} must hold numbers; got an array of dtype {array.dtype}.")


def check_finite(array: np.ndarray, name: str = "points") -> np.ndarray:
    """Require finite entries, and count the others in the message."""
    # One sum detects every NaN and inf without a mask as large as the array. Finite entries may
    # overflow, too, so a sum that is not finite is only a reason to check the entries.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(array.sum(dtype=float))
    if suspicious and not (finite := np.isfinite(array)).all():
        n_nan = int(np.isnan(array).sum())
        n_inf = int((~finite).sum()) - n_nan
        rows = int((~finite).reshape(len(array), -1).any(axis=1).sum())
        raise InputError(
            f"{name} must be finite; got NaN in {n_nan} and infinity in {n_inf} entries, "
            f"in {rows} of {len(array)} rows."
        )
    return array


def check_points(
    points: Any,
    *,
    name: str = "points",
    min_points: int = 2,
    min_dims: int = 1,
    dtype: type | None = float,
) -> np.ndarray:
    """Return points as a finite (n, d) array.

    Parameters
    ----------
    points : array-like of shape (n, d)
        numpy array, torch tensor, pandas frame or nested sequence.
    name : str
        The name of the array in messages.
    min_points, min_dims : int
        Minimum numbers of rows and columns.
    dtype : type or None
        The dtype to convert to; None keeps any floating dtype.

    Returns
    -------
    ndarray of shape (n, d)

    Examples
    --------
    >>> check_points([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    >>> check_points([1.0, 2.0])
    Traceback (most recent call last):
    geodis.base.check.InputError: points must have shape (n, d), one row per point; \
got shape (2,). Reshape your data.
    """
    array = check_numeric(to_numpy(points, name), name)
    if array.ndim != 2:
        raise InputError(
            f"{name} must have shape (n, d), one row per point; got shape {array.shape}. "
            "Reshape your data."
        )
    n, d = array.shape
    if d < min_dims:
        raise InputError(
            f"Found array with {d} feature(s) (shape={array.shape}) while a minimum of {min_dims} "
            f"is required: {name} has too few columns."
        )
    if n < min_points:
        raise InputError(
            f"Found array with {n} sample(s) while a minimum of {min_points} is required: "
            f"{name} has too few rows."
        )
    check_finite(array, name)
    if dtype is None:
        return array if array.dtype.kind == "f" else array.astype(float)
    return array.astype(dtype, copy=False)


def has_pixels(array: Any) -> bool:
    """Return whether an array is uint8 images, (n, h, w, c) or (n, h, w).

    Examples
    --------
    >>> has_pixels(np.zeros((2, 8, 8, 3), np.uint8)), has_pixels(np.zeros((2, 8, 8, 3)))
    (True, False)
    """
    return isinstance(array, np.ndarray) and array.dtype == np.uint8 and array.ndim in (3, 4)


def rows_of_pixels(array: Any) -> Any:
    """Flatten uint8 images to rows (n, pixels); return anything else unchanged.

    Examples
    --------
    >>> rows_of_pixels(np.zeros((0, 8, 8, 3), np.uint8)).shape
    (0, 192)
    """
    if not has_pixels(array):
        return array
    # Not -1, which numpy cannot infer for zero rows.
    return array.reshape(len(array), math.prod(array.shape[1:]))


def shape_hint(shape: Sequence[int]) -> str:
    """Say how to turn an array of another shape into rows of points.

    Examples
    --------
    >>> shape_hint((10,)), shape_hint((10, 8, 8, 3))
    ('array[:, None] is one column.', 'For images, use array.reshape(len(array), -1).')
    """
    if len(shape) == 1:
        return "array[:, None] is one column."
    return "For images, use array.reshape(len(array), -1)." if len(shape) > 2 else ""


def transposed_question(shape: tuple[int, ...]) -> str:
    """Return a question about an array that seems to have its points in columns, or "".

    Examples
    --------
    >>> transposed_question((4, 1000))
    '4 rows of 1,000 columns: every row is a point. Are the columns the points? Then give the \
transposed array (array.T).'
    >>> transposed_question((1000, 4))
    ''
    """
    n, d = shape
    if n >= FEW_ROWS or d < MANY_COLUMNS * n:
        return ""
    return (
        f"{n:,} row{'s' * (n != 1)} of {d:,} columns: every row is a point. Are the columns the "
        "points? Then give the transposed array (array.T)."
    )


def check_int(value: Any, name: str, low: int | None = None, high: int | None = None) -> int:
    """Require an integer within [low, high]."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"{name} must be an integer; got {value!r}.")
    return int(_check_range(value, name, low, high))


def check_real(value: Any, name: str, low: float | None = None, high: float | None = None) -> float:
    """Require a finite real number within [low, high]."""
    if isinstance(value, bool) or not isinstance(value, Real) or not np.isfinite(float(value)):
        raise InputError(f"{name} must be a finite number; got {value!r}.")
    return float(_check_range(value, name, low, high))


def _check_range(value: Any, name: str, low: float | None, high: float | None) -> Any:
    if (low is not None and value < low) or (high is not None and value > high):
        wanted = f"at least {low}" if high is None else f"between {low} and {high}"
        if low is None:
            wanted = f"at most {high}"
        raise InputError(f"{name} must be {wanted}; got {value}.")
    return value


def check_choice(value: object, name: str, choices: Sequence[Choice]) -> Choice:
    """Require one of the choices, and return it with their type.

    Examples
    --------
    >>> check_choice("l1", "kind", ("l1", "l2"))
    'l1'
    >>> check_choice("l3", "kind", ("l1", "l2"))
    Traceback (most recent call last):
    geodis.base.check.InputError: kind must be one of 'l1', 'l2'; got 'l3'.
    """
    if value not in choices:
        names = ", ".join(repr(choice) for choice in choices)
        raise InputError(f"{name} must be one of {names}; got {value!r}.")
    return cast(Choice, value)


def check_random_state(random_state: Any) -> np.random.Generator:
    """Make a numpy Generator from None, an integer seed, a Generator or a RandomState."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise InputError(
        "random_state must be None, a non-negative integer or a numpy Generator; "
        f"got {random_state!r}."
    )


# Precision of numbers: the rounding error of arrays of different dtypes.

# Number of roundings behind a value: its own, and those of a sum of a few terms, as in a linear
# layer or a mean. Half-precision values are assumed to be stored, not computed.
ROUNDINGS, ROUNDINGS_OF_HALF = 4, 1


def trusted_digits(dtype: np.dtype) -> float:
    """Return the approximate relative error that rounding to a dtype may have caused.

    Non-float dtypes, and floats longer than double, are treated as double precision.

    Examples
    --------
    >>> trusted_digits(np.dtype("float32")) == 2.0**-22
    True
    """
    unit = np.finfo(dtype).eps / 2 if dtype.kind == "f" and dtype.itemsize < 8 else 2.0**-53
    return float((ROUNDINGS_OF_HALF if unit > 2.0**-24 else ROUNDINGS) * unit)


def rounding_of(values: np.ndarray, dtype: np.dtype | None = None) -> np.ndarray:
    """Return the rounding error of each column, in the units of the column.

    Parameters
    ----------
    values : ndarray of shape (..., z)
    dtype : dtype, optional
        The dtype in which the values were computed, if they were converted later.

    Returns
    -------
    ndarray of shape (z,)
        ``4 u max |column|`` with u the unit roundoff of the dtype.

    Examples
    --------
    >>> rounding_of(np.array([[1.0, 0.0], [-4.0, 0.0]], np.float32)) * 2.0**22
    array([4., 0.])
    """
    largest = np.abs(values.reshape(-1, values.shape[-1])).max(axis=0, initial=0.0)
    return largest.astype(float) * trusted_digits(dtype or values.dtype)


def checked_options(options: Options | None, kind: type[Options]) -> Options:
    """Check the type of options; None stands for the defaults."""
    if options is not None and not isinstance(options, kind):
        raise InputError(f"options must be {kind.__name__}; got {type(options).__name__}.")
    return kind() if options is None else options
