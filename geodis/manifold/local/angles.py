"""Angles between subspaces, and the error of estimated tangents."""

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
    """Compute the largest principal angle between subspaces, shape (n,).

    The sine is used, because the arc cosine loses half the digits of a small angle. The angle is
    pi / 2 if the dimensions differ.

    Parameters
    ----------
    first, second : ndarray of shape (n, k_1, d), (n, k_2, d)
        Orthonormal rows.

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
    """Compute the mean over factors of the largest principal angle at every point, in radians.

    Parameters
    ----------
    estimated, true : sequence of ndarray of shape (n, k_j, d)
        Orthonormal rows spanning each factor's subspace, in any order of the factors.
    matching : {"global", "local"}
        "global" matches factors once for all points, so that labels must agree everywhere. "local"
        uses the best matching at each point, as published.

    Returns
    -------
    ndarray of shape (n,)
        A factor counts as pi / 2 if its match has another dimension, or if it has none.

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
    """Compute angles between subspaces of two spaces that are related only through their points.

    At every point, the displacements to its true neighbours are expressed along all estimated axes
    and along all true axes, as X and Y of shape (c, k). With the covariances ``S_xy = X^T Y``,
    canonical correlation analysis relates the two by the orthogonal polar factor R of
    ``S_xx^(-1/2) S_xy S_yy^(-1/2)``; the cosine of a factor's angle is the smallest singular value
    of its block of R. Use it if estimates live in latents or pixels and the truth in other
    coordinates. Angles are optimistic, because whitening ignores how unevenly a space is stretched.

    Parameters
    ----------
    points : array-like of shape (n, d)
    estimated : sequence of ndarray of shape (n, k_j, d)
    true_points : array-like of shape (n, d')
    true : sequence of ndarray of shape (n, k_j, d')
    n_neighbors : int, optional
        Number of true neighbours. Default: twice the dimension, at least 10 as published.
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
    """Return X S_xx^(-1/2), shape (n, c, k), the polar factor of the coordinates X."""
    displacements = (points[near] - points[:, None]) @ np.swapaxes(axes, 1, 2)
    return np.swapaxes(polar_rows(np.swapaxes(displacements, 1, 2)), 1, 2)


def _block_angles(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the angle of one block of a rotation: estimated rows (n, k_j, k), true columns."""
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
    """Return the mean angle under the best matching, for all points together or for each."""
    size = max(len(estimated), len(true))
    angles = np.full((size, size, n), RIGHT_ANGLE)
    for i, first in enumerate(estimated):
        for j, second in enumerate(true):
            angles[i, j] = angle(first, second)
    if matching == "global":
        rows, columns = linear_sum_assignment(angles.mean(axis=2))
        return angles[rows, columns].mean(axis=0)
    # Cheapest matching of the first |S| estimates with each set S of true factors: 2^m sets
    # instead of m! matchings.
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
        raise InputError("Angles need at least one estimated and one true subspace; got none.")
    return [_check_frames(frames) for frames in estimated], [_check_frames(f) for f in true]


def _check_frames(frames: Any) -> np.ndarray:
    frames = check_finite(check_numeric(to_numpy(frames, "subspaces"), "subspaces"), "subspaces")
    if frames.ndim != 3:
        raise InputError(f"A subspace must have shape (n, k_j, d); got shape {frames.shape}.")
    return frames


# The true tangents are unknown, but fits to disjoint neighbours have independent errors, and fits
# to two sizes of neighbourhood differ by the bias from curvature.

# Points at which the error is measured, which gives its mean square to about 10 %. Fits in more
# than MANY_COLUMNS are slow, so fewer points are used, but at least FEWEST_POINTS.
TRIAL_POINTS, MANY_COLUMNS, FEWEST_POINTS = 400, 100, 100
# With uneven density the lowest fields that are not parallel concentrate where neighbours are
# near, at about this quantile of squared distances.
EVEN = 0.25


@dataclass(frozen=True)
class TangentError:
    """Error of tangent frames, as largest principal angles in radians.

    Attributes
    ----------
    noise : float
        Root mean square error from the random choice of neighbours.
    bias : float
        Error from curvature beyond second order.
    unevenness : float
        Factor by which errors matter more because they are larger where neighbours are far apart;
        1 for even density.
    """

    noise: float
    bias: float
    unevenness: float = 1.0

    @property
    def angle(self) -> float:
        """Total error."""
        return min(float(np.hypot(self.noise, self.bias)), np.pi / 2)

    def __str__(self) -> str:
        """Describe the error in one line."""
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
    r"""Estimate the error of curved tangents for a given number of neighbours.

    At some points the 2c nearest neighbours are split into two halves of c each. Their frames A and
    B differ by an angle whose square is twice the variance of one. The frame C of all 2c, whose
    radius is larger by 2^(1/k) than that of the frame F of the c nearest, has a bias larger by
    2^(2/k), so that::

        noise = |A - B| / sqrt(2),     bias = |C - F| / (2^(2/k) - 1)

    after subtraction of the noise from the last difference.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Distinct.
    dim : int
    n_neighbors : int
        Neighbours c of each fit.
    near : Neighbors, optional
        At least 2c neighbours of all points, if known.
    search : Search, optional
        Prepared search among the points.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.
    random_state : int, Generator or None
        Draws the points and the halves.

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
    if d == dim or count < least:  # no error possible, or too few points
        return TangentError(0.0, 0.0) if d == dim else TangentError(np.inf, np.inf)
    rng = check_random_state(random_state)
    trials = max(FEWEST_POINTS, int(TRIAL_POINTS / max(1.0, d / MANY_COLUMNS)))
    rows = np.sort(rng.choice(n, min(n, trials), replace=False))
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
    """Compare frames of the two halves of 2 `count` neighbours, and of all and the nearest half.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    rows : ndarray of shape (m,)
        Points at which frames are fitted.
    near : Neighbors
        Of these, nearest first; at least 2 `count`.
    count : int
        Neighbours in a half; each takes one of every two consecutive neighbours.
    dim : int
    n_jobs : int
    rng : Generator
        Draws the halves.

    Returns
    -------
    halves : ndarray of shape (m,)
        Largest angle between the frames of the halves.
    sizes : ndarray of shape (m,)
        Largest angle between the frame of all and that of the `count` nearest.
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
