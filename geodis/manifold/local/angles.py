"""Estimated and true subspaces -> angles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    check_random_state,
    to_numpy,
)
from geodis.base.jobs import check_jobs
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.exact_search import Search
from geodis.manifold.local.neighbors import Neighbors, nearest_neighbors, neighbors_at
from geodis.manifold.local.tangents import neighbors_for_tangents, tangent_frames

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


# Points -> how far tangent frames err, measured on the points themselves.
#
# Nothing is known of the true tangents, but two fits to disjoint neighbours err independently, and
# two sizes of neighbourhood differ by the bias that curvature gives them.

# Points at which the error is measured: its mean square is then known to about a tenth. Fits in
# more columns than so many are dear, and fewer do, but not fewer than the last.
TRIAL_POINTS, MANY_COLUMNS, FEWEST_POINTS = 400, 100, 100
# Where density is uneven the lowest fields that are not parallel gather where neighbours are near:
# at this quantile of their squared distances.
EVEN = 0.25


@dataclass(frozen=True)
class TangentError:
    """By how much tangent frames err, as largest principal angles in radians.

    Attributes
    ----------
    noise : float
        Root mean square error by the neighbours that happened to be there.
    bias : float
        Error by curvature that a quadratic does not follow.
    unevenness : float
        By how much more than their mean square the errors count where neighbours are far apart:
        1 where points lie evenly.
    """

    noise: float
    bias: float
    unevenness: float = 1.0

    @property
    def angle(self) -> float:
        """Both errors together."""
        return min(float(np.hypot(self.noise, self.bias)), np.pi / 2)

    def __str__(self) -> str:
        """One line for people."""
        if not np.isfinite(self.noise):
            return "points are too few to measure how far tangents err"
        return (
            f"tangents err by {self.angle:.3f} rad (noise {self.noise:.3f}, bias {self.bias:.3f})"
        )


def tangent_error(
    points: np.ndarray,
    dim: int,
    n_neighbors: int,
    *,
    near: Neighbors | None = None,
    search: Search | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> TangentError:
    r"""Measure how far curved tangents from so many neighbours err.

    At some points the 2c nearest neighbours are dealt to two halves of c each. Their frames differ
    by an angle whose square is twice the variance of one; and the frame of all 2c, whose radius is
    larger by 2^(1/k) than that of c, has a bias larger by 2^(2/k), so that::

        noise = |A - B| / sqrt(2),     bias = |C - F| / (2^(2/k) - 1)

    with A, B the frames of the halves, C that of all 2c, and F that of the c nearest. What noise
    adds to the last difference is taken away.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Distinct.
    dim : int
    n_neighbors : int
        Neighbours c of each fit.
    near : Neighbors, optional
        Twice as many neighbours of all points, where they are known; searched for by default.
    search : Search, optional
        Among the points, where it is prepared.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.
    random_state : int, Generator or None
        Draws the points at which the error is measured, and the halves.

    Returns
    -------
    TangentError

    Examples
    --------
    >>> from geodis import product_manifold
    >>> clean, noisy = (
    ...     product_manifold("S^2", 2000, noise=sigma, random_state=0).points for sigma in (0, 0.02)
    ... )
    >>> tangent_error(clean, 2, 12).angle < 0.01 < tangent_error(noisy, 2, 100).angle
    True
    """
    n_jobs = check_jobs(n_jobs)
    n, d = points.shape
    least = neighbors_for_tangents(dim)
    count = min(max(n_neighbors, least), (n - 1) // 2)
    if d == dim or count < least:  # nothing to err, or too few points to measure
        return TangentError(0.0, 0.0) if d == dim else TangentError(np.inf, np.inf)
    rng = check_random_state(random_state)
    asked = max(FEWEST_POINTS, int(TRIAL_POINTS / max(1.0, d / MANY_COLUMNS)))
    rows = np.sort(rng.choice(n, min(n, asked), replace=False))
    if near is None or near.indices.shape[1] < 2 * count:
        near = neighbors_at(points, rows, 2 * count, search=search, n_jobs=n_jobs)
    else:
        near = Neighbors(near.indices[rows], near.distances[rows], near.method)
    halves, sizes = angles_of_parts(points, rows, near, count, dim, n_jobs, rng)
    noise = float(np.sqrt((halves**2).mean() / 2))
    excess = np.sqrt(max(float((sizes**2).mean()) - noise**2, 0.0))
    reach = near.distances[:, count - 1] ** 2
    uneven = (halves**2 * reach).mean() / max((halves**2).mean() * np.quantile(reach, EVEN), 1e-300)
    return TangentError(
        noise, float(excess / (2 ** (2 / dim) - 1)), max(1.0, float(np.sqrt(uneven)))
    )


def angles_of_parts(
    points: np.ndarray,
    rows: np.ndarray,
    near: Neighbors,
    count: int,
    dim: int,
    n_jobs: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Largest angles between frames of the two halves of 2 `count` neighbours, and of all and half.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    rows : ndarray of shape (m,)
        Points at which frames are fitted.
    near : Neighbors
        Of these, nearest first; at least 2 `count`.
    count : int
        Neighbours of a half: dealt in turns, so that both halves reach as far.
    dim : int
    n_jobs : int
    rng : Generator
        Deals.

    Returns
    -------
    halves : ndarray of shape (m,)
        Between the frames of the halves.
    sizes : ndarray of shape (m,)
        Between the frame of all and that of the `count` nearest.
    """

    def frames(columns: np.ndarray) -> np.ndarray:
        chosen = Neighbors(
            np.take_along_axis(near.indices, columns, axis=1),
            np.take_along_axis(near.distances, columns, axis=1),
            near.method,
        )
        return tangent_frames(points, chosen, dim, centres=points[rows], n_jobs=n_jobs).frames

    # One of every two consecutive neighbours goes to each half.
    first = 2 * np.arange(count) + rng.integers(2, size=(len(rows), count))
    everything = np.broadcast_to(np.arange(2 * count), (len(rows), 2 * count))
    return (
        principal_angles(frames(first), frames(first ^ 1)),
        principal_angles(frames(everything), frames(everything[:, :count])),
    )
