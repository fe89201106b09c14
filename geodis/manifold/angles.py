"""Estimated and true subspaces -> angles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment

from geodis.base.check import (
    InputError,
    check_choice,
    check_finite,
    check_int,
    check_numeric,
    check_points,
    to_numpy,
)
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.neighbors import nearest_neighbors

Matching = Literal["global", "local"]

RIGHT_ANGLE = np.pi / 2


def principal_angles(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Largest principal angle between subspaces given by orthonormal rows, shape (n,).

    The sine is computed, because the arc cosine loses half the digits of a small angle; it is
    pi / 2 where the dimensions differ.

    Parameters
    ----------
    first, second : ndarray of shape (n, k_1, d), (n, k_2, d)

    Examples
    --------
    >>> principal_angles(np.array([[[1.0, 0.0]]]), np.array([[[0.6, 0.8]]])).round(4)
    array([0.9273])
    """
    if first.shape[1] != second.shape[1]:
        return np.full(len(first), RIGHT_ANGLE)
    overlap = first @ np.swapaxes(second, 1, 2)
    outside = first - overlap @ second
    sine = np.sqrt(np.maximum(np.linalg.eigvalsh(outside @ np.swapaxes(outside, 1, 2))[:, -1], 0.0))
    return np.arcsin(np.minimum(sine, 1.0))


def subspace_angles(
    estimated: Sequence[np.ndarray], true: Sequence[np.ndarray], *, matching: Matching = "global"
) -> np.ndarray:
    """Mean over factors of the largest principal angle, at every point, in radians.

    Parameters
    ----------
    estimated, true : sequence of ndarray of shape (n, k_j, d)
        Orthonormal rows spanning each factor's subspace, in any order of the factors.
    matching : {"global", "local"}
        "global" pairs the factors once for all points, which asks that labels agree everywhere.
        "local" takes the best pairing at each point, as published, which does not.

    Returns
    -------
    ndarray of shape (n,)
        pi / 2 for a factor whose partner has another dimension, or which has no partner.

    Examples
    --------
    >>> x, y = np.array([[[1.0, 0.0]]]), np.array([[[0.0, 1.0]]])
    >>> subspace_angles([x, y], [y, x])
    array([0.])
    """
    check_choice(matching, "matching", ("global", "local"))
    estimated, true = _check_sides(estimated, true)
    shapes = {(item.shape[0], item.shape[2]) for item in [*estimated, *true]}
    if len(shapes) > 1:
        raise InputError(f"All subspaces must share n and d; got {sorted(shapes)} as (n, d).")
    return _match(estimated, true, principal_angles, matching, len(true[0]))


def unaligned_angles(
    points: Any,
    estimated: Sequence[np.ndarray],
    true_points: Any,
    true: Sequence[np.ndarray],
    *,
    n_neighbors: int | None = None,
    matching: Matching = "global",
) -> np.ndarray:
    """Angles between subspaces of two spaces that correspond only point by point.

    At every point, the displacements to its true neighbours are taken in the coordinates of all
    estimated axes and of all true axes, X and Y of shape (c, k). With the covariances
    ``S_xy = X^T Y``, canonical correlation analysis relates the two by the orthogonal matrix R,
    the polar factor of ``S_xx^(-1/2) S_xy S_yy^(-1/2)``; the cosine of a factor's angle is the
    smallest singular value of its block of R. Use it when estimates live in latents or pixels and
    the truth in other coordinates. It flatters: whitening hides how unevenly a space is stretched.

    Parameters
    ----------
    points : array-like of shape (n, d)
    estimated : sequence of ndarray of shape (n, k_j, d)
    true_points : array-like of shape (n, d')
    true : sequence of ndarray of shape (n, k_j, d')
    n_neighbors : int, optional
        True neighbours whose displacements are compared; twice the dimension, at least 10 as
        published, by default.
    matching : {"global", "local"}
        As in `subspace_angles`.

    Returns
    -------
    ndarray of shape (n,)
    """
    points = check_points(points)
    true_points = check_points(true_points, name="true_points")
    if len(points) != len(true_points):
        raise InputError(
            f"points and true_points must correspond row by row; got {len(points)} and "
            f"{len(true_points)} rows."
        )
    check_choice(matching, "matching", ("global", "local"))
    estimated, true = _check_sides(estimated, true)
    for side, of in ((estimated, points), (true, true_points)):
        if any((len(item), item.shape[2]) != of.shape for item in side):
            raise InputError(
                "Subspaces must share n and d with their points; "
                f"got {[item.shape for item in side]} with points of shape {of.shape}."
            )
    dims, true_dims = ([frame.shape[1] for frame in side] for side in (estimated, true))
    dim = max(sum(dims), sum(true_dims))
    count = max(2 * dim, 10) if n_neighbors is None else n_neighbors
    near = nearest_neighbors(
        true_points, check_int(count, "n_neighbors", low=dim), n_jobs=-1
    ).indices
    x = _whitened_displacements(points, near, np.concatenate(estimated, axis=1))
    y = _whitened_displacements(true_points, near, np.concatenate(true, axis=1))
    left, _, right = np.linalg.svd(np.swapaxes(x, 1, 2) @ y, full_matrices=False)
    rotation = left @ right  # (n, k, k), from true to estimated coordinates
    return _match(
        np.split(rotation, np.cumsum(dims)[:-1], axis=1),
        np.split(np.eye(sum(true_dims)), np.cumsum(true_dims)[:-1]),
        _block_angles,
        matching,
        len(points),
    )


def _whitened_displacements(points: np.ndarray, near: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """X S_xx^(-1/2), shape (n, c, k): the polar factor of the displacements' coordinates."""
    displacements = (points[near] - points[:, None]) @ np.swapaxes(axes, 1, 2)
    return np.swapaxes(polar_rows(np.swapaxes(displacements, 1, 2)), 1, 2)


def _block_angles(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Angle of the block of a rotation between estimated rows (n, k_j, k) and true columns."""
    if rows.shape[1] != len(columns):
        return np.full(len(rows), RIGHT_ANGLE)
    cosines = np.linalg.svd(rows @ columns.T, compute_uv=False)
    return np.arccos(np.clip(cosines[:, -1], 0.0, 1.0))


def _match(
    estimated: list[np.ndarray],
    true: list[np.ndarray],
    angle: Callable[[np.ndarray, np.ndarray], np.ndarray],
    matching: Matching,
    n: int,
) -> np.ndarray:
    """Mean angle under the best pairing of factors, once for all points or at each of them."""
    size = max(len(estimated), len(true))
    angles = np.full((size, size, n), RIGHT_ANGLE)
    for i, first in enumerate(estimated):
        for j, second in enumerate(true):
            angles[i, j] = angle(first, second)
    if matching == "global":
        rows, columns = linear_sum_assignment(angles.mean(axis=2))
        return angles[rows, columns].mean(axis=0)
    # Cheapest pairing of the first |S| estimates with the set S of true factors, for all points
    # at once: 2^m sets instead of m! pairings.
    cheapest = {0: np.zeros(n)}
    for chosen in range(1, 2**size):
        i = chosen.bit_count() - 1
        cheapest[chosen] = np.min(
            [cheapest[chosen & ~(1 << j)] + angles[i, j] for j in range(size) if chosen >> j & 1],
            axis=0,
        )
    return cheapest[2**size - 1] / size


def _check_sides(
    estimated: Sequence[Any], true: Sequence[Any]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    if len(estimated) == 0 or len(true) == 0:
        raise InputError("Angles need at least one subspace on each side; got none.")
    return [_check_frames(frames) for frames in estimated], [_check_frames(f) for f in true]


def _check_frames(frames: Any) -> np.ndarray:
    frames = check_finite(check_numeric(to_numpy(frames, "subspaces"), "subspaces"), "subspaces")
    if frames.ndim != 3:
        raise InputError(f"A subspace must have shape (n, k_j, d); got shape {frames.shape}.")
    return frames
