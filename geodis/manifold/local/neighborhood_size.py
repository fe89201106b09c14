"""Choice of the number of neighbours of tangent fits, balancing noise and curvature."""

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

# Unknowns of the fits at all trial points together. Fits in more than MANY_COLUMNS are slow, so
# fewer points are used, but at least FEWEST_TRIALS.
TRIAL_ENTRIES = 3000
MANY_COLUMNS, FEWEST_TRIALS = 100, 40
# Growth of the number of neighbours, and how many sizes are searched together.
GROWTH, AHEAD = 1.6, 2
# Sizes fitted by the model, and sizes tried beyond the best.
PATIENCE = 3
# Neighbourhoods whose radius is at least this multiple of the noise are used for the model. In
# smaller ones the nearest points are those with similar noise, which biases the fit.
WIDE_ENOUGH = 6.0
# Angle in radians below which more neighbours only cost time.
NEGLIGIBLE = 8e-6
# Most neighbours, as a multiple of the unknowns for up to FEW_POINTS points. The best number grows
# with n, since noise is averaged over a fixed radius, and the work with its square. Above
# FEW_POINTS the limit therefore grows as n^(1/3), with which the error still falls, until all fits
# together use WORK neighbours; it never falls below LEAST_FACTOR times the unknowns.
MOST_FACTOR, FEW_POINTS, LEAST_FACTOR = 1_000, 20_000, 100
WORK = 6.5e8
# The factor to which the measured error must fall, and the least growth of the last step.
FALLS, LEAST_GROWTH = 0.85, 1.3
# Error in radians that is small enough for all later steps.
ENOUGH = 2e-3
# Neighbourhoods hold at most a quarter of the points.
LARGEST_PART = 4


def choose_n_neighbors(
    points: np.ndarray, dim: int, *, n_jobs: int | None = None, random_state: Any = 0
) -> int:
    r"""Choose the number of neighbours for curved tangents that balances noise and curvature.

    At some points and for growing neighbourhoods of radius r, the squared misfit s^2 of the
    quadratic fit is modelled as noise, which does not depend on r, plus terms of third order::

        s^2(r) ~ sigma^2 + beta r^6

    The predicted squared angle is s^2 v(r) + beta r^4 / 4, with v the variance of a linear
    coefficient for unit noise. Without noise the fewest neighbours are best.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    dim : int
    n_jobs : int, optional
        Threads; one by default, -1 for every core.
    random_state : int, Generator or None
        Draws the trial points.

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
    """Choose the number of neighbours as `choose_n_neighbors`, with a prepared search."""
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
        if near is None or near.indices.shape[1] < count:  # search for the next sizes too
            further = int(least * GROWTH ** (len(counts) + AHEAD))
            near = neighbors_at(points, rows, max(count, min(further, most)), search=search)
        counts.append(count)
        nearest = Neighbors(near.indices[:, :count], near.distances[:, :count], near.method)
        measured.append(_try_neighborhood(points, rows, nearest, dim, n_jobs))
        misfit, variance, radius = np.array(measured).T
        unit = max(radius[-1], np.finfo(float).tiny)  # a unit of length
        misfit, variance, radius = misfit / unit**2, variance * unit**2, radius / unit
        # Relative least squares, so that small neighbourhoods determine the noise.
        model = np.stack([np.ones_like(radius), radius**6], axis=1)
        scale = np.maximum(misfit, 1e-30)
        wide = radius**2 > WIDE_ENOUGH**2 * misfit
        settled = wide.sum() >= PATIENCE
        if not settled:  # use the largest
            wide = np.arange(len(counts)) >= len(counts) - PATIENCE
        (_, beta), _ = nnls((model / scale[:, None])[wide], (misfit / scale)[wide])
        predicted = misfit * variance + beta * radius**4 / 4
        best = int(np.argmin(predicted))
        if predicted[best] < NEGLIGIBLE**2:  # then the fewest suffice
            best = int(np.argmax(predicted < NEGLIGIBLE**2))
            break
        if settled and best < len(counts) - PATIENCE:
            break
    return counts[best]


def trial_points(dim: int, d: int) -> int:
    """Return the number of trial points, which is smaller for many columns.

    Examples
    --------
    >>> trial_points(3, 6), trial_points(3, 500)
    (300, 60)
    """
    return max(FEWEST_TRIALS, int(TRIAL_ENTRIES / tangent_terms(dim) / max(1.0, d / MANY_COLUMNS)))


def most_neighbors(n: int, dim: int) -> int:
    """Return the largest number of neighbours of a tangent fit among n points.

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
    """Return medians of squared misfit, coefficient variance for unit noise, and radius."""
    pairs = quadratic_pairs(dim)
    measured = np.empty((3, len(rows)))

    def fit(some: slice) -> None:
        around, distances = near.indices[some], near.distances[some]
        fits = fit_frames(points, points[rows[some]], around, distances, dim, pairs, None)
        # Linear terms are odd and quadratic ones even, so coefficients are nearly uncorrelated.
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
    r"""Increase the number of neighbours while the measured error of the tangents falls.

    The misfit of a quadratic overestimates the error if residuals are even, as on a sphere, so the
    error is measured. The c nearest neighbours are split into two halves, whose frames A and B err
    independently and with twice the variance of the frame C of all; the frame F of the c / 2
    nearest has a bias smaller by 2^(-2/k)::

        error^2 = |A - B|^2 / 4 + bias^2
        bias = sqrt(max(|C - F|^2 - v |A - B|^2 / 4, 0)) / (1 - 2^(-2/k)),    v = 2^(1 + 2/k) - 1

    where v is the variance of C - F from noise, in units of that of C. The number grows while this
    error falls by at least 15 % and exceeds a tenth of a degree.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    dim : int
    count : int
        Initial number of neighbours.
    most : int
        Largest number; never more than a quarter of the points.
    search : Search
        Among the points.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.
    random_state : int, Generator or None
        Draws the trial points and the halves.

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
    # Halves must allow a fit; with fewer neighbours there is hardly any noise.
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
    """Return the root mean square error of frames from `count` neighbours, as an angle."""
    halves, sizes = angles_of_parts(points, rows, near, count // 2, dim, n_jobs, rng)
    noise = float((halves**2).mean()) / 4
    reach = 2 ** (2 / dim)
    bias = max(float((sizes**2).mean()) - (2 * reach - 1) * noise, 0.0) / (1 - 1 / reach) ** 2
    return float(np.sqrt(noise + bias))
