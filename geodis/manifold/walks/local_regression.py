"""Values at scattered offsets -> value and slopes at the origin, by local quadratic fits."""

from __future__ import annotations

import numpy as np

from geodis.manifold.local.batched_fits import quadratic_operators, tangent_terms

# Offsets for every coefficient of a quadratic fit; with fewer, the fit is linear.
PER_COEFFICIENT = 4
FEWEST = 60
# Weight of the farthest offset.
EDGE_WEIGHT = 0.1


def quadratic_count(dim: int) -> int:
    """How many offsets a local quadratic fit in so many dimensions should have.

    Examples
    --------
    >>> [quadratic_count(dim) for dim in (1, 4, 5)]
    [60, 60, 84]
    """
    return max(FEWEST, PER_COEFFICIENT * tangent_terms(dim))


def regression_weights(offsets: np.ndarray) -> np.ndarray:
    """Weights of the values at offsets that give value and slopes at the origin.

    With ``w_i = 1 - (1 - EDGE_WEIGHT) |u_i|^2 / max |u|^2`` and the quadratic q that minimises
    ``sum_i w_i (y_i - q(u_i))^2``, ``q(0) = h_0 . y`` and ``grad q(0) = (h_1 . y, ...)``: exact
    for quadratics. Where there are too few offsets for a quadratic, q is linear.

    Parameters
    ----------
    offsets : ndarray of shape (s, c, k)

    Returns
    -------
    ndarray of shape (s, 1 + k, c)

    Examples
    --------
    >>> u = np.random.default_rng(0).standard_normal((1, 40, 2))
    >>> values = 3 + u @ [1.0, -2.0] + u[..., 0] * u[..., 1]
    >>> np.einsum("sqc,sc->sq", regression_weights(u), values).round(6).tolist()
    [[3.0, 1.0, -2.0]]
    """
    c, k = offsets.shape[1:]
    squared = (offsets**2).sum(axis=2)
    farthest = np.maximum(squared.max(axis=1, keepdims=True), np.finfo(float).tiny)
    weights = 1 - (1 - EDGE_WEIGHT) * squared / farthest
    linear = c < PER_COEFFICIENT * tangent_terms(k)
    return quadratic_operators(offsets, weights, linear=linear)[:, : 1 + k]
