"""How many neighbours a tangent fit takes: noise against curvature."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import nnls

from geodis.base.check import check_random_state
from geodis.base.jobs import check_jobs, over_blocks
from geodis.manifold.local.angles import angles_of_parts
from geodis.manifold.local.exact_search import Search, searcher
from geodis.manifold.local.neighbors import Neighbors, neighbors_at
from geodis.manifold.local.quadratic_fits import fit_frames, quadratic_pairs, tangent_terms
from geodis.manifold.local.tangents import block_size, neighbors_for_tangents

# The search for the number of neighbours: unknowns fitted at all trial points together, fewer where
# each has more columns than so many, but never fewer points than the last; and growth from one
# trial to the next.
TRIAL_ENTRIES = 3000


MANY_COLUMNS, FEWEST_TRIALS = 100, 40


GROWTH = 1.6


AHEAD = 2


PATIENCE = 3


# A neighbourhood so many times as wide as the noise is chosen by where points lie along the
# surface. The nearest in a smaller one are those whose noise is alike, and it seems too small.
WIDE_ENOUGH = 6.0


# A predicted angle in radians that nobody would miss: more neighbours only cost time.
NEGLIGIBLE = 8e-6


# Neighbours at most: so many times the unknowns of few points. Noise is averaged over a radius that
# does not depend on n, so that the best number grows with n, and the work with its square. Beyond
# so many points the number grows as their third root, with which the error still falls, until all
# fits together use so many neighbours; but always so many times the unknowns.
MOST_FACTOR, FEW_POINTS, LEAST_FACTOR = 1_000, 20_000, 100
WORK = 6.5e8


def choose_n_neighbors(
    points: np.ndarray, dim: int, *, n_jobs: int | None = None, random_state: Any = 0
) -> int:
    r"""Neighbours for curved tangents that balance noise against curvature.

    At a few points and for growing neighbourhoods of radius r, the squared misfit s^2 of the
    quadratic fit is split into noise, which does not depend on r, and what the quadratic leaves
    of the surface, which is of third order::

        s^2(r) ~ sigma^2 + beta r^6

    The predicted squared angle is s^2 v(r) + beta r^4 / 4, with v the variance of a linear
    coefficient for unit noise: without noise the fewest neighbours are best, with noise more.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    dim : int
    n_jobs : int, optional
        Threads; one by default, -1 for every core.
    random_state : int, Generator or None
        Draws the points at which neighbourhoods are tried.

    Returns
    -------
    int

    Examples
    --------
    >>> from geodis import product_manifold
    >>> clean, noisy = (
    ...     product_manifold("S^2", 2000, noise=sigma, random_state=0).points for sigma in (0, 0.02)
    ... )
    >>> choose_n_neighbors(clean, 2)
    12
    >>> choose_n_neighbors(noisy, 2) > 100
    True
    """
    return balanced_n_neighbors(
        points, dim, searcher(points, n_jobs=n_jobs), n_jobs=n_jobs, random_state=random_state
    )


def balanced_n_neighbors(
    points: np.ndarray,
    dim: int,
    search: Search,
    *,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> int:
    """The same with a search among the points (n, d) that is prepared."""
    n_jobs = check_jobs(n_jobs)
    n, d = points.shape
    least = min(neighbors_for_tangents(dim), n - 1)
    if d == dim:
        return least
    most = max(least, min(n // 4, most_neighbors(n, dim)))
    rng = check_random_state(random_state)
    trials = trial_points(dim, d)
    rows = np.sort(rng.choice(n, min(n, trials), replace=False))
    near = None
    counts: list[int] = []
    measured: list[tuple[float, float, float]] = []
    best = 0
    while (count := int(least * GROWTH ** len(counts))) <= most:
        if near is None or near.indices.shape[1] < count:  # some trials at once are soon found
            further = int(least * GROWTH ** (len(counts) + AHEAD))
            near = neighbors_at(points, rows, max(count, min(further, most)), search=search)
        counts.append(count)
        nearest = Neighbors(near.indices[:, :count], near.distances[:, :count], near.method)
        measured.append(_try_neighborhood(points, rows, nearest, dim, n_jobs))
        misfit, variance, radius = np.array(measured).T
        unit = max(radius[-1], np.finfo(float).tiny)  # any unit of length will do
        misfit, variance, radius = misfit / unit**2, variance * unit**2, radius / unit
        # Relative least squares, so that the small neighbourhoods tell the noise.
        model = np.stack([np.ones_like(radius), radius**6], axis=1)
        scale = np.maximum(misfit, 1e-30)
        wide = radius**2 > WIDE_ENOUGH**2 * misfit
        settled = wide.sum() >= PATIENCE
        if not settled:  # the largest come nearest
            wide = np.arange(len(counts)) >= len(counts) - PATIENCE
        (_, beta), _ = nnls((model / scale[:, None])[wide], (misfit / scale)[wide])
        predicted = misfit * variance + beta * radius**4 / 4
        best = int(np.argmin(predicted))
        if predicted[best] < NEGLIGIBLE**2:  # then the fewest that are as good are enough
            best = int(np.argmax(predicted < NEGLIGIBLE**2))
            break
        if settled and best < len(counts) - PATIENCE:
            break
    return counts[best]


def trial_points(dim: int, d: int) -> int:
    """Points at which neighbourhoods are tried: fits in many columns are dear, and say no less.

    Examples
    --------
    >>> trial_points(3, 6), trial_points(3, 500)
    (300, 60)
    """
    return max(FEWEST_TRIALS, int(TRIAL_ENTRIES / tangent_terms(dim) / max(1.0, d / MANY_COLUMNS)))


def most_neighbors(n: int, dim: int) -> int:
    """Neighbours of a tangent fit at most, of n points.

    Examples
    --------
    >>> [most_neighbors(n, 4) for n in (4_000, 100_000, 200_000, 1_000_000)]
    [15000, 2564, 3231, 1500]
    """
    terms = tangent_terms(dim)
    if n < FEW_POINTS:
        return MOST_FACTOR * terms
    growing = LEAST_FACTOR * terms * (n / FEW_POINTS) ** (1 / 3)
    return max(LEAST_FACTOR * terms, int(min(growing, WORK / n)))


def _try_neighborhood(
    points: np.ndarray, rows: np.ndarray, near: Neighbors, dim: int, n_jobs: int
) -> tuple[float, float, float]:
    """Median squared misfit, variance of a linear coefficient for unit noise, and radius."""
    pairs = quadratic_pairs(dim)
    measured = np.empty((3, len(rows)))

    def fit(some: slice) -> None:
        around, distances = near.indices[some], near.distances[some]
        fits = fit_frames(points, points[rows[some]], around, distances, dim, pairs, None)
        # Linear terms are odd and quadratic ones even: their coefficients hardly interact.
        squared = (fits.frames @ fits.displacements) ** 2  # (b, k, nt)
        weights = fits.weights[:, None]
        wide = ((weights * weights) * squared).sum(axis=2)
        variance = (wide / (weights * squared).sum(axis=2) ** 2).max(axis=1)
        radius = np.sqrt(squared.sum(axis=1).max(axis=1))
        measured[:, some] = fits.residual**2, variance, radius

    over_blocks(
        fit,
        len(rows),
        block_size(near.indices.shape[1], tangent_terms(dim), points.shape[1]),
        n_jobs,
    )
    misfit, variance, radius = np.median(measured, axis=1)
    return float(misfit), float(variance), float(radius)


# A number of neighbours -> more of them, while the measured error of the tangents falls.

# From one number of neighbours to the next, and to what part the error must fall for it to be
# taken. The last step, to the most there may be, is shorter; less than so much more is none.
MEASURED_GROWTH, FALLS, LEAST_GROWTH = 1.6, 0.85, 1.3
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
    tried = min(int(MEASURED_GROWTH * count), most)
    near = neighbors_at(
        points, rows, min(int(MEASURED_GROWTH * tried), most), search=search, n_jobs=n_jobs
    )
    error = _measured(points, rows, near, count, dim, n_jobs, rng)
    while error > ENOUGH and tried >= LEAST_GROWTH * count:
        if near.indices.shape[1] < tried:
            further = min(int(MEASURED_GROWTH * tried), most)
            near = neighbors_at(points, rows, further, search=search, n_jobs=n_jobs)
        next_error = _measured(points, rows, near, tried, dim, n_jobs, rng)
        if next_error > FALLS * error:
            break
        count, error = tried, next_error
        tried = min(int(MEASURED_GROWTH * count), most)
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
