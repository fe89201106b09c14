"""Tangent estimation with correction for curvature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from geodis.base.check import InputError, check_choice, check_int, check_points
from geodis.base.jobs import blocks, check_jobs, over_blocks
from geodis.manifold.local.exact_search import Search, searcher
from geodis.manifold.local.many_nearest import MANY, leaves_of, many_nearest
from geodis.manifold.local.neighbors import Neighbors, neighbors_at
from geodis.manifold.local.quadratic_fits import (
    fit_frames,
    principal_frame,
    quadratic_pairs,
    tangent_terms,
)

# Numbers in a block of design matrices: 2 MB, which fits into the processor's cache.
BLOCK_ENTRIES = 2**18
# Largest number of neighbours of all points to hold in memory (100 MB); above, they are searched
# in blocks of HELD_ENTRIES.
SEARCHED_ENTRIES = 2**23
HELD_ENTRIES = 2**21


TangentMethod = Literal["curved", "pca"]


@dataclass(frozen=True)
class Tangents:
    """Tangent frames, and how well a quadratic fits each neighbourhood.

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

    ``method="pca"`` uses the leading right singular vectors of the displacements x_j - x_i, as
    published. ``method="curved"`` then fits, twice, with t = B (x_j - x_i) and weights
    w_j = exp(-2 |x_j - x_i|^2 / max_j |x_j - x_i|^2)::

        x_j - x_i  ~  c + sum_a t_a l_a + sum_{a <= b} t_a t_b q_ab,      B <- polar factor of l

    The constant c is needed because a noisy point lies off the surface.

    Parameters
    ----------
    points : array-like of shape (n, d)
    neighbors : Neighbors
    dim : int
        Intrinsic dimension k.
    method : {"curved", "pca"}
    n_neighbors : int, optional
        Neighbours used at each point; all of `neighbors` by default.
    factor_dims : tuple of int, optional
        Fit only quadratic terms within these groups of rows of `start`, since second fundamental
        forms of a product manifold do not mix factors.
    start : ndarray of shape (n, k, d), optional
        Initial frames; local principal directions by default.
    centres : ndarray of shape (r, d), optional
        Where to estimate tangents; at all points by default. `neighbors` and `start` have r rows.
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
            f"{method} tangents of dimension {dim} need at least {terms} neighbours per point; "
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
        indices, distances = neighbors.indices[some, :count], neighbors.distances[some, :count]
        frame = None if start is None else start[some]
        if method == "curved":
            fits = fit_frames(points, centres[some], indices, distances, dim, pairs, frame)
            frames[some], residual[some] = fits.frames, fits.residual
            return
        displacements = points[indices] - centres[some, None]
        if frame is None:
            frame = principal_frame(displacements, None, dim)
        frames[some], residual[some] = frame, _distance_from_plane(displacements, frame)

    size = block_size(count, terms, points.shape[1])
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
    search: Search | None = None,
    n_jobs: int | None = None,
    done: Callable[[float], None] | None = None,
) -> Tangents:
    """Estimate tangent frames, searching neighbours for a block of points at a time.

    The result is that of `tangent_frames` with exact neighbours, which may be too many to hold in
    memory, since the best number under noise grows with n.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Distinct.
    dim : int
    n_neighbors : int
    rows : ndarray of int, shape (r,), optional
        Points at which to estimate tangents; all by default.
    method, factor_dims, start, n_jobs, done
        As in `tangent_frames`; `start` has r rows.
    search : Search, optional
        Prepared search among the points.

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
    search = searcher(points, n_jobs=n_jobs) if search is None else search
    # Whole blocks of fits, so that sums are the same as with all points together.
    fits = block_size(n_neighbors, _unknowns(dim, method, factor_dims), points.shape[1])
    size = fits * max(1, HELD_ENTRIES // (n_neighbors * fits))
    # Fits need no sorted neighbours; small numbers, as for clean points, are sorted anyway.
    many = n_neighbors > max(MANY, neighbors_for_tangents(dim)) and search.apart is None
    leaves = leaves_of(points) if many else None
    parts = []
    for some in blocks(len(rows), size):
        if leaves is None:
            near = neighbors_at(points, rows[some], n_neighbors, search=search)
        else:
            nearest = many_nearest(leaves, rows[some], n_neighbors, n_jobs=n_jobs)
            near = Neighbors(*nearest, "exact")
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


def neighbors_for_tangents(dim: int) -> int:
    """Return the fewest neighbours for curved tangents: twice the unknowns of the quadratic fit."""
    return 2 * tangent_terms(dim)


def _unknowns(dim: int, method: TangentMethod, factor_dims: tuple[int, ...] | None) -> int:
    """Return the number of unknowns of a fit, which is the fewest neighbours it needs."""
    return 1 + dim + len(quadratic_pairs(dim, factor_dims)[0]) if method == "curved" else dim


def block_size(count: int, terms: int, d: int) -> int:
    """Return the number of points in a block of fits."""
    return max(1, BLOCK_ENTRIES // (count * (terms + d)))


def _distance_from_plane(displacements: np.ndarray, frame: np.ndarray) -> np.ndarray:
    inside = displacements @ np.swapaxes(frame, 1, 2)
    squared = (displacements**2).sum(axis=2) - (inside**2).sum(axis=2)
    return np.sqrt(np.maximum(squared, 0.0).mean(axis=1))
