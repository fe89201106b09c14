"""Values -> soft ranks, soft sort, and their exact vector-Jacobian products.

Ranks are the solution of a linear program over the permutahedron of (1, ..., n). Adding a strongly
convex term makes the solution differentiable (Blondel, Teboul, Berthet, Djolonga 2020): with
regularisation "l2",

    soft_rank(x) = argmin over the permutahedron of |r - x / strength|^2 / 2,

and with "kl" the same projection in relative entropy, onto the ranks' logarithms. As the strength
falls to 0 the soft ranks are the ranks, ties averaged; as it grows, l2 ranks become the values
themselves, centred and scaled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import (
    InputError,
    check_choice,
    check_finite,
    check_numeric,
    check_real,
    to_numpy,
)

Regularization = Literal["l2", "kl"]

Vjp = Callable[[np.ndarray], np.ndarray]


def soft_rank(values: Any, strength: float = 1.0, regularization: Regularization = "l2") -> Any:
    """Ranks 1..n of values, smallest first, that change smoothly with the values.

    Parameters
    ----------
    values : array-like or torch tensor of shape (..., n)
        Each row along the last axis is ranked. Equal values get equal ranks.
    strength : float
        How far ranks blend, in units of the values: with l2, values further than `strength` apart
        from their neighbours keep their ranks exactly. See `relative_strength` for a choice that
        does not depend on the scale of the values.
    regularization : {"l2", "kl"}

    Returns
    -------
    ndarray of float64, or tensor of the dtype of floats given, shape (..., n)
        A tensor carries its gradient; a CUDA tensor goes through torchsort where that is
        installed (l2 alone: the gradient of its kl turns NaN at small strengths).

    See Also
    --------
    soft_rank_vjp : the same on arrays, with the vector-Jacobian product.

    Examples
    --------
    >>> soft_rank([0.3, 5.0, 0.1], strength=0.1)
    array([2., 3., 1.])
    >>> soft_rank([0.3, 5.0, 0.1], strength=1.0)
    array([1.6, 3. , 1.4])
    """
    return _on_arrays_or_tensors(soft_rank_vjp, values, strength, regularization)


def soft_sort(values: Any, strength: float = 1.0, regularization: Regularization = "l2") -> Any:
    """Values in ascending order, blended where that order nearly changes.

    As the strength falls to 0 this is the sorted row; l2 results differ from it where neighbours
    in order are further than 1 / strength apart.

    Parameters
    ----------
    values : array-like or torch tensor of shape (..., n)
    strength : float
    regularization : {"l2", "kl"}

    Returns
    -------
    ndarray of float64, or tensor of the dtype given, shape (..., n)

    Examples
    --------
    >>> soft_sort([0.3, 5.0, 0.1], strength=0.1)
    array([0.1, 0.3, 5. ])
    """
    return _on_arrays_or_tensors(soft_sort_vjp, values, strength, regularization)


def soft_rank_vjp(
    values: Any, strength: float = 1.0, regularization: Regularization = "l2"
) -> tuple[np.ndarray, Vjp]:
    """Soft ranks r of an array, and the function g -> (dr/dx)^T g.

    Parameters
    ----------
    values, strength, regularization
        As in `soft_rank`; arrays only.

    Returns
    -------
    ranks : ndarray of float64, shape (..., n)
    vjp : callable
        Maps an array of that shape to one. At the values where the derivative does not exist it
        is that of one side.

    Examples
    --------
    >>> ranks, vjp = soft_rank_vjp([0.3, 5.0, 0.1])
    >>> vjp(np.array([1.0, 1.0, 0.0]))
    array([ 0.5,  0. , -0.5])
    """
    from geodis.kernels.ranks import isotonic

    rows, shape = _checked_rows(values, strength, regularization)
    order = np.argsort(rows, axis=1)
    ranks, sizes = np.empty_like(rows), np.empty(rows.shape, np.int64)
    forward = isotonic.rank_l2 if regularization == "l2" else isotonic.rank_kl
    forward(rows, order, strength, ranks, sizes)

    def vjp(gradient: np.ndarray) -> np.ndarray:
        gradient = np.ascontiguousarray(gradient, float).reshape(rows.shape)
        out = np.empty_like(rows)
        weights = np.ones_like(rows) if regularization == "l2" else ranks
        isotonic.rank_vjp(gradient, order, sizes, weights, strength, out)
        return out.reshape(shape)

    return ranks.reshape(shape), vjp


def soft_sort_vjp(
    values: Any, strength: float = 1.0, regularization: Regularization = "l2"
) -> tuple[np.ndarray, Vjp]:
    """Soft sort s of an array, and the function g -> (ds/dx)^T g.

    Examples
    --------
    >>> ordered, vjp = soft_sort_vjp([0.3, 5.0, 0.1], strength=0.1)
    >>> vjp(np.array([1.0, 0.0, 0.0]))
    array([0., 0., 1.])
    """
    from geodis.kernels.ranks import isotonic

    rows, shape = _checked_rows(values, strength, regularization)
    order = np.argsort(rows, axis=1)
    result, sizes = np.empty_like(rows), np.empty(rows.shape, np.int64)
    shares = np.empty_like(rows)
    if regularization == "l2":
        isotonic.sort_l2(rows, order, strength, result, sizes)
    else:
        isotonic.sort_kl(rows, order, strength, result, shares, sizes)

    def vjp(gradient: np.ndarray) -> np.ndarray:
        gradient = np.ascontiguousarray(gradient, float).reshape(rows.shape)
        out = np.empty_like(rows)
        if regularization == "l2":
            isotonic.sort_l2_vjp(gradient, order, sizes, out)
        else:
            isotonic.sort_kl_vjp(gradient, order, sizes, shares, out)
        return out.reshape(shape)

    return result.reshape(shape), vjp


def _on_arrays_or_tensors(
    operation: Callable, values: Any, strength: float, regularization: Regularization
) -> Any:
    if hasattr(values, "detach"):
        from geodis.kernels.ranks.autograd import apply_to_tensor

        _check_options(strength, regularization)
        return apply_to_tensor(operation, values, strength, regularization)
    return operation(values, strength, regularization)[0]


def _check_options(strength: float, regularization: Regularization) -> None:
    check_choice(regularization, "regularization", get_args(Regularization))
    if check_real(strength, "strength") <= 0:
        raise InputError(f"strength must be positive; got {strength}.")


def _checked_rows(
    values: Any, strength: float, regularization: Regularization
) -> tuple[np.ndarray, tuple[int, ...]]:
    """The values as contiguous float64 rows (rows, n), and the shape they have."""
    _check_options(strength, regularization)
    array = check_numeric(to_numpy(values, "values"), "values")
    if array.ndim == 0 or array.size == 0:
        raise InputError(f"values must have shape (..., n) with n >= 1; got shape {array.shape}.")
    rows = np.ascontiguousarray(array, float).reshape(-1, array.shape[-1])
    return check_finite(rows, "values"), array.shape
