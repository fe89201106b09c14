"""Points -> how far tangent frames err, measured on the points themselves.

Nothing is known of the true tangents, but two fits to disjoint neighbours err independently, and
two sizes of neighbourhood differ by the bias that curvature gives them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import check_random_state
from geodis.base.jobs import check_jobs
from geodis.manifold.angles import principal_angles
from geodis.manifold.local.exact_search import Search
from geodis.manifold.local.neighbors import Neighbors, neighbors_at
from geodis.manifold.local.tangents import neighbors_for_tangents, tangent_frames

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
