"""Points, neighbours -> tangent frames (n, k, d), corrected for curvature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import nnls

from geodis.base.check import InputError, check_choice, check_int, check_points, check_random_state
from geodis.base.jobs import blocks, check_jobs, over_blocks
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.dimension import tangent_terms
from geodis.manifold.local.neighbors import Neighbors, neighbors_at, searcher

# Numbers in a block of design matrices: 2 MB, which a processor keeps near at hand.
BLOCK_ENTRIES = 2**18
FIT_ROUNDS = 2
# Of so many times as many columns as neighbours the products of the neighbours are diagonalised.
WIDE = 1.5
# The search for the number of neighbours: unknowns fitted at all trial points together, and growth
# from one trial to the next.
TRIAL_ENTRIES = 3000
GROWTH = 1.6
PATIENCE = 3
# A neighbourhood so many times as wide as the noise is chosen by where points lie along the
# surface. The nearest in a smaller one are those whose noise is alike, and it seems too small.
WIDE_ENOUGH = 6.0
# A predicted angle in radians that nobody would miss: more neighbours only cost time.
NEGLIGIBLE = 8e-6
# Neighbours at most: so many times the unknowns.
MOST_FACTOR = 100
# Neighbours of all the points of a block that are held at once, with their distances: 100 MB.
SEARCHED_ENTRIES = 2**23


TangentMethod = Literal["curved", "pca"]


@dataclass(frozen=True)
class Tangents:
    """Tangent frames and how well a quadratic in them describes each neighbourhood.

    Attributes
    ----------
    frames : ndarray of shape (n, k, d)
        Orthonormal rows spanning the estimated tangent space at every point.
    residual : ndarray of shape (n,)
        Root mean square distance of the neighbours from the fitted surface.
    radius : ndarray of shape (n,)
        Distance to the farthest neighbour used.
    n_neighbors : int
        Neighbours used at each point.
    """

    frames: np.ndarray
    residual: np.ndarray
    radius: np.ndarray
    n_neighbors: int


def tangent_frames(
    points: Any,
    neighbors: Neighbors,
    dim: int,
    *,
    method: TangentMethod = "curved",
    n_neighbors: int | None = None,
    factor_dims: tuple[int, ...] | None = None,
    start: np.ndarray | None = None,
    centres: np.ndarray | None = None,
    n_jobs: int | None = None,
    done: Callable[[float], None] | None = None,
) -> Tangents:
    r"""Estimate an orthonormal tangent frame at every point.

    ``method="pca"`` takes the leading right singular vectors of the displacements x_j - x_i, as
    published. ``method="curved"`` then fits, twice, with t = B (x_j - x_i) and weights
    w_j = exp(-2 |x_j - x_i|^2 / max_j |x_j - x_i|^2)::

        x_j - x_i  ~  c + sum_a t_a l_a + sum_{a <= b} t_a t_b q_ab,      B <- polar factor of l

    The constant c matters as much as the quadratic terms: under noise the point itself lies off
    the surface.

    Parameters
    ----------
    points : array-like of shape (n, d)
    neighbors : Neighbors
        At least as many as are used.
    dim : int
        Intrinsic dimension k.
    method : {"curved", "pca"}
    n_neighbors : int, optional
        Neighbours used at each point; all that there are by default.
    factor_dims : tuple of int, optional
        Fit only the quadratic terms within these groups of rows of `start`: in a product
        manifold second fundamental forms do not mix factors.
    start : ndarray of shape (n, k, d), optional
        Frames to start from instead of local principal directions.
    centres : ndarray of shape (r, d), optional
        Estimate here instead of at all points; `neighbors` and `start` then have r rows as well.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.
    done : callable, optional
        Called with the fraction done.

    Returns
    -------
    Tangents

    Examples
    --------
    >>> from geodis import nearest_neighbors
    >>> angle = np.linspace(0, 6, 100)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> tangents = tangent_frames(circle, nearest_neighbors(circle, 8), 1)
    >>> bool(np.allclose((tangents.frames[:, 0] * circle).sum(axis=1)[10:-10], 0, atol=1e-4))
    True
    """
    points = check_points(points)
    check_choice(method, "method", ("curved", "pca"))
    n_jobs = check_jobs(n_jobs)
    dim = check_int(dim, "dim", low=1, high=points.shape[1])
    most = neighbors.indices.shape[1]
    count = most if n_neighbors is None else check_int(n_neighbors, "n_neighbors", 1, most)
    pairs = quadratic_pairs(dim, factor_dims)
    terms = _unknowns(dim, method, factor_dims)
    if count < terms:
        raise InputError(
            f"{method} tangents of dimension {dim} need at least {terms} neighbours a point; "
            f"got {count}."
        )
    centres = points if centres is None else centres
    for name, given in (("neighbors", neighbors.indices), ("start", start)):
        if given is not None and len(given) != len(centres):
            raise InputError(
                f"{name} must have a row for each of the {len(centres)} points; got {len(given)}."
            )
    frames = np.empty((len(centres), dim, points.shape[1]))
    residual = np.empty(len(centres))

    def fit(some: slice) -> None:
        displacements = np.take(points, neighbors.indices[some, :count], axis=0)  # (b, nt, d)
        displacements -= centres[some, None]
        weights = _weights(neighbors.distances[some, :count])
        if start is not None:
            frame = start[some]
        else:
            frame = _principal_frame(displacements, weights, dim, centred=method == "curved")
        if method == "curved":
            for _ in range(FIT_ROUNDS):
                frame, residual[some] = _quadratic_fit(displacements, weights, frame, pairs)
        else:
            residual[some] = _distance_from_plane(displacements, frame)
        frames[some] = frame

    size = _block_size(count, terms, points.shape[1])
    over_blocks(fit, len(centres), size, n_jobs, done)
    return Tangents(frames, residual, neighbors.distances[:, count - 1].copy(), count)


def searched_tangent_frames(
    points: np.ndarray,
    dim: int,
    n_neighbors: int,
    *,
    rows: np.ndarray | None = None,
    method: TangentMethod = "curved",
    factor_dims: tuple[int, ...] | None = None,
    start: np.ndarray | None = None,
    n_jobs: int | None = None,
    done: Callable[[float], None] | None = None,
) -> Tangents:
    """Tangent frames with neighbours found for a block of points at a time.

    The same as `tangent_frames` with exact neighbours, which are never held for all points: under
    noise the best number of them grows with n.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Distinct.
    dim : int
    n_neighbors : int
    rows : ndarray of int, shape (r,), optional
        Points at which to estimate; all by default.
    method, factor_dims, start, n_jobs, done
        As in `tangent_frames`; `start` has a row for each of the points at which to estimate.

    Returns
    -------
    Tangents

    Examples
    --------
    >>> angle = np.linspace(0, 6, 100)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> searched_tangent_frames(circle, 1, 8, rows=np.array([50])).frames.shape
    (1, 1, 2)
    """
    n_jobs = check_jobs(n_jobs)
    rows = np.arange(len(points)) if rows is None else rows
    search = searcher(points, n_jobs=n_jobs)
    # Whole blocks of fits, so that sums are the same as with all points at once.
    fits = _block_size(n_neighbors, _unknowns(dim, method, factor_dims), points.shape[1])
    size = fits * max(1, SEARCHED_ENTRIES // (n_neighbors * fits))
    parts = []
    for some in blocks(len(rows), size):
        near = neighbors_at(points, rows[some], n_neighbors, search=search)
        parts.append(
            tangent_frames(
                points,
                near,
                dim,
                method=method,
                factor_dims=factor_dims,
                start=None if start is None else start[some],
                centres=points[rows[some]],
                n_jobs=n_jobs,
            )
        )
        if done is not None:
            done(some.stop / len(rows))
    return Tangents(
        np.concatenate([part.frames for part in parts]),
        np.concatenate([part.residual for part in parts]),
        np.concatenate([part.radius for part in parts]),
        n_neighbors,
    )


def quadratic_pairs(
    dim: int, factor_dims: tuple[int, ...] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Index pairs a <= b of the quadratic terms, within groups of axes if any are given.

    Examples
    --------
    >>> len(quadratic_pairs(10)[0]), len(quadratic_pairs(10, (2, 2, 2, 2, 2))[0])
    (55, 15)
    """
    first, second = np.triu_indices(dim)
    if factor_dims is None:
        return first, second
    group = np.repeat(np.arange(len(factor_dims)), factor_dims)
    within = group[first] == group[second]
    return first[within], second[within]


def neighbors_for_tangents(dim: int) -> int:
    """Fewest neighbours for curved tangents: twice the unknowns of the quadratic fit."""
    return 2 * tangent_terms(dim)


def choose_n_neighbors(
    points: np.ndarray,
    dim: int,
    *,
    n_jobs: int | None = None,
    random_state: Any = 0,
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
    n_jobs = check_jobs(n_jobs)
    n, d = points.shape
    least = min(neighbors_for_tangents(dim), n - 1)
    if d == dim:
        return least
    most = max(least, min(n // 4, MOST_FACTOR * tangent_terms(dim)))
    rng = check_random_state(random_state)
    trials = max(40, TRIAL_ENTRIES // tangent_terms(dim))
    rows = np.sort(rng.choice(n, min(n, trials), replace=False))
    search = searcher(points, n_jobs=n_jobs)
    counts: list[int] = []
    measured: list[tuple[float, float, float]] = []
    best = 0
    while (count := int(least * GROWTH ** len(counts))) <= most:
        counts.append(count)
        near = neighbors_at(points, rows, count, search=search)
        measured.append(_try_neighborhood(points, rows, near, dim, n_jobs))
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


def _try_neighborhood(
    points: np.ndarray, rows: np.ndarray, near: Neighbors, dim: int, n_jobs: int
) -> tuple[float, float, float]:
    """Median squared misfit, variance of a linear coefficient for unit noise, and radius."""
    pairs = quadratic_pairs(dim)
    measured = np.empty((3, len(rows)))

    def fit(some: slice) -> None:
        displacements = points[near.indices[some]] - points[rows[some], None]
        weights = _weights(near.distances[some])
        frame = _principal_frame(displacements, weights, dim, centred=True)
        for _ in range(FIT_ROUNDS):
            frame, residual = _quadratic_fit(displacements, weights, frame, pairs)
        # Linear terms are odd and quadratic ones even: their coefficients hardly interact.
        squared = (frame @ np.swapaxes(displacements, 1, 2)) ** 2  # (b, k, nt)
        weights = weights[:, None]
        wide = (weights**2 * squared).sum(axis=2)
        variance = (wide / (weights * squared).sum(axis=2) ** 2).max(axis=1)
        measured[:, some] = residual**2, variance, np.sqrt(squared.sum(axis=1).max(axis=1))

    over_blocks(
        fit,
        len(rows),
        _block_size(near.indices.shape[1], tangent_terms(dim), points.shape[1]),
        n_jobs,
    )
    misfit, variance, radius = np.median(measured, axis=1)
    return float(misfit), float(variance), float(radius)


def _unknowns(dim: int, method: TangentMethod, factor_dims: tuple[int, ...] | None) -> int:
    """Unknowns of a fit: neighbours that it needs at least."""
    return 1 + dim + len(quadratic_pairs(dim, factor_dims)[0]) if method == "curved" else dim


def _block_size(count: int, terms: int, d: int) -> int:
    """Points in a block of fits to so many neighbours."""
    return max(1, BLOCK_ENTRIES // (count * (terms + d)))


def _weights(distances: np.ndarray) -> np.ndarray:
    """exp(-2 d^2 / d_max^2), shape (b, nt)."""
    return np.exp(-2.0 * (distances / distances[:, -1:]) ** 2)


def _principal_frame(
    displacements: np.ndarray, weights: np.ndarray, dim: int, centred: bool
) -> np.ndarray:
    """Leading principal directions of each neighbourhood: weighted and centred, or as published."""
    if displacements.shape[2] > WIDE * displacements.shape[1]:
        return _principal_frame_of_few(displacements, weights, dim, centred)
    if centred:
        share = (weights / weights.sum(axis=1, keepdims=True))[..., None]
        weighted = share * displacements
        mean = weighted.sum(axis=1, keepdims=True)
        covariance = np.swapaxes(weighted, 1, 2) @ (displacements - mean)
    else:
        covariance = np.swapaxes(displacements, 1, 2) @ displacements
    directions = np.linalg.eigh(covariance)[1]
    return np.swapaxes(directions[..., : -dim - 1 : -1], 1, 2)


def _principal_frame_of_few(
    displacements: np.ndarray, weights: np.ndarray, dim: int, centred: bool
) -> np.ndarray:
    """The same from fewer neighbours than columns: their products have the same eigenvalues."""
    if centred:
        share = (weights / weights.sum(axis=1, keepdims=True))[..., None]
        mean = (share * displacements).sum(axis=1, keepdims=True)
        displacements = np.sqrt(share) * (displacements - mean)
    gram = displacements @ np.swapaxes(displacements, 1, 2)
    leading = np.linalg.eigh(gram)[1][..., : -dim - 1 : -1]
    return polar_rows(np.swapaxes(leading, 1, 2) @ displacements)


def _quadratic_fit(
    displacements: np.ndarray,
    weights: np.ndarray,
    frame: np.ndarray,
    pairs: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted least squares of the displacements on [1, t, t_a t_b] at each point of a block.

    Returns the new frames (b, k, d) and the root mean square misfit (b,).
    """
    b, count, _ = displacements.shape
    dim = frame.shape[1]
    coordinates = frame @ np.swapaxes(displacements, 1, 2)  # (b, k, nt)
    # In units of the neighbourhood's radius all terms are of order one: a sound system.
    radius = np.sqrt((coordinates**2).sum(axis=1).max(axis=1))
    coordinates /= np.maximum(radius, np.finfo(float).tiny)[:, None, None]
    root = np.sqrt(weights)[:, None]  # (b, 1, nt)
    design = np.empty((b, 1 + dim + len(pairs[0]), count))  # one row a term
    design[:, :1] = root
    linear = design[:, 1 : 1 + dim]
    np.multiply(coordinates, root, out=linear)
    for term, (first, second) in enumerate(zip(*pairs, strict=True), start=1 + dim):
        np.multiply(linear[:, first], coordinates[:, second], out=design[:, term])
    target = displacements * np.swapaxes(root, 1, 2)
    transposed = np.swapaxes(design, 1, 2)
    normal = design @ transposed
    # Neighbours on a grid may not determine every term: a trace of ridge keeps the rest sound.
    diagonal = np.arange(normal.shape[1])
    normal[:, diagonal, diagonal] += 1e-9 * normal[:, diagonal, diagonal].mean(axis=1)[:, None]
    coefficients = np.linalg.solve(normal, design @ target)  # (b, p, d)
    target -= transposed @ coefficients
    # Each fitted term takes up one neighbour's worth of misfit.
    freedom = max(1.0 - design.shape[1] / count, 1.0 / count)
    squared = np.einsum("bnd,bnd->b", target, target)
    residual = np.sqrt(squared / (weights.sum(axis=1) * freedom))
    return polar_rows(coefficients[:, 1 : 1 + dim]), residual


def _distance_from_plane(displacements: np.ndarray, frame: np.ndarray) -> np.ndarray:
    inside = displacements @ np.swapaxes(frame, 1, 2)
    squared = (displacements**2).sum(axis=2) - (inside**2).sum(axis=2)
    return np.sqrt(np.maximum(squared, 0.0).mean(axis=1))
