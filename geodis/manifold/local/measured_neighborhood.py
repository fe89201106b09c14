"""A number of neighbours -> more of them, while the measured error of the tangents falls."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import check_random_state
from geodis.base.jobs import check_jobs
from geodis.manifold.local.exact_search import Search
from geodis.manifold.local.neighborhood_size import trial_points
from geodis.manifold.local.neighbors import Neighbors, neighbors_at
from geodis.manifold.local.tangent_error import angles_of_parts
from geodis.manifold.local.tangents import neighbors_for_tangents

# From one number of neighbours to the next, and to what part the error must fall for it to be
# taken. The last step, to the most there may be, is shorter; less than so much more is none.
GROWTH, FALLS, LEAST_GROWTH = 1.6, 0.85, 1.3
# Radians. Frames that err less are exact for all that follows, and thousands of neighbours of a
# million points are not free.
ENOUGH = 2e-3
# A larger part of the points is no neighbourhood.
LARGEST_PART = 4


def more_neighbors(
    points: np.ndarray,
    dim: int,
    count: int,
    most: int,
    search: Search,
    *,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> int:
    r"""More neighbours for curved tangents than a model of the noise advises, where they help.

    The misfit of a quadratic says little of the tangents: what it leaves of a sphere is even, and
    turns none. So the error is measured. The c nearest neighbours are dealt to two halves, whose
    frames A and B err independently and by twice the variance of the frame C of all; and the frame
    F of the c / 2 nearest has a bias smaller by 2^(-2/k)::

        error^2 = |A - B|^2 / 4 + bias^2
        bias = sqrt(max(|C - F|^2 - v |A - B|^2 / 4, 0)) / (1 - 2^(-2/k)),    v = 2^(1 + 2/k) - 1

    where v is the variance that noise gives to C - F, in units of that of C. The number grows while
    this error falls by a seventh, and is more than a tenth of a degree.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    dim : int
    count : int
        Neighbours to begin with.
    most : int
        Neighbours at most; never more than a quarter of the points.
    search : Search
        Among the points.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.
    random_state : int, Generator or None
        Draws the points at which the error is measured, and the halves.

    Returns
    -------
    int
        At least `count`.

    Examples
    --------
    >>> from geodis import product_manifold
    >>> from geodis.manifold.local.exact_search import searcher
    >>> noisy = product_manifold("S^2 x S^2", 4000, noise=0.05, random_state=0).points
    >>> more_neighbors(noisy, 4, 196, 1000, searcher(noisy)) > 300
    True
    """
    n_jobs = check_jobs(n_jobs)
    rng = check_random_state(random_state)
    n = len(points)
    most = min(most, n // LARGEST_PART)
    rows = np.sort(rng.choice(n, min(n, trial_points(dim, points.shape[1])), replace=False))
    # Halves must allow a fit; and where so few neighbours are best there is next to no noise.
    if most < LEAST_GROWTH * count or count < 2 * neighbors_for_tangents(dim):
        return count
    tried = min(int(GROWTH * count), most)
    near = neighbors_at(points, rows, min(int(GROWTH * tried), most), search=search, n_jobs=n_jobs)
    error = _measured(points, rows, near, count, dim, n_jobs, rng)
    while error > ENOUGH and tried >= LEAST_GROWTH * count:
        if near.indices.shape[1] < tried:
            further = min(int(GROWTH * tried), most)
            near = neighbors_at(points, rows, further, search=search, n_jobs=n_jobs)
        next_error = _measured(points, rows, near, tried, dim, n_jobs, rng)
        if next_error > FALLS * error:
            break
        count, error = tried, next_error
        tried = min(int(GROWTH * count), most)
    return count


def _measured(
    points: np.ndarray,
    rows: np.ndarray,
    near: Neighbors,
    count: int,
    dim: int,
    n_jobs: int,
    rng: np.random.Generator,
) -> float:
    """Root mean square angle by which frames from so many neighbours err."""
    halves, sizes = angles_of_parts(points, rows, near, count // 2, dim, n_jobs, rng)
    noise = float((halves**2).mean()) / 4
    reach = 2 ** (2 / dim)
    bias = max(float((sizes**2).mean()) - (2 * reach - 1) * noise, 0.0) / (1 - 1 / reach) ** 2
    return float(np.sqrt(noise + bias))
