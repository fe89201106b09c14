"""Factors of one piece of a graph and of another -> which of them are the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment


def same_factors(
    axes: np.ndarray,
    marks: Sequence[int],
    known_axes: np.ndarray,
    known_marks: Sequence[int],
    dims: Sequence[int],
) -> np.ndarray:
    """For every known factor, the one of another set of points that is most like it.

    Factors of one dimension are told apart by a mark first, such as whether they are flat, and
    then by their directions: the sum of ``tr(M_a M_b) / |M_a| |M_b|`` over the pairs is the
    largest, with M the mean projection on a factor's axes over its points.

    Parameters
    ----------
    axes : ndarray of shape (n, k, d)
        Orthonormal rows grouped by factor; all finite.
    marks : sequence of int, of length m
    known_axes : ndarray of shape (p, k, d)
    known_marks : sequence of int, of length m
    dims : sequence of int, of length m
        Of the factors, the same in both.

    Returns
    -------
    ndarray of int, shape (m,)

    Examples
    --------
    >>> axes = np.broadcast_to(np.eye(2), (5, 2, 2))
    >>> same_factors(axes[:, ::-1], (0, 0), axes, (0, 0), (1, 1))
    array([1, 0])
    >>> same_factors(axes[:, ::-1], (0, 1), axes, (0, 1), (1, 1))
    array([0, 1])
    """
    stops = np.cumsum(dims)[:-1]
    means = [_mean_projections(own, stops) for own in (known_axes, axes)]
    alike = np.einsum("axy,bxy->ab", *means)
    alike += 2.0 * (np.asarray(known_marks)[:, None] == np.asarray(marks))
    alike -= 2.0 * len(dims) ** 2 * (np.asarray(dims)[:, None] != np.asarray(dims))
    return linear_sum_assignment(-alike)[1]


def _mean_projections(axes: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Mean of A^T A over the points, of unit length, for every factor: (m, d, d)."""
    means = [np.einsum("nax,nay->xy", own, own) for own in np.split(axes, stops, axis=1)]
    return np.stack([mean / np.linalg.norm(mean) for mean in means])
