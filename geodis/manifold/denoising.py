"""Denoising: projection of points onto curved fits of their neighbours."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from geodis.base.jobs import blocks
from geodis.manifold.fitted import Fit
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.local.neighbors import neighbors_at
from geodis.manifold.local.quadratic_fits import (
    quadratic_coefficients,
    quadratic_operators,
    quadratic_terms,
    tangent_terms,
)

# Numbers in a block of displacements: 32 MB.
BLOCK_NUMBERS = 2**22
# The squared bias of a fit at its centre was up to this multiple of its mean squared residuals.
CENTRE_BIAS = 3.0
# Shares of the neighbours that are tried, and the largest error relative to the noise for which
# points are moved.
PARTS = (1.0, 0.7, 0.5, 0.35, 0.25)
LARGEST_ERROR = 0.8
# Points at which fits are tried.
TRIALS = 400


@dataclass(frozen=True)
class SurfacePoints:
    """Points projected onto the fitted surface.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        Unchanged if points were left alone.
    noise : float
        Standard deviation per direction across the surface; 0.0 if points were left alone.
    how : str
        What was done, and why.
    """

    points: np.ndarray
    noise: float
    how: str


def denoising_of(fit: Fit) -> SurfacePoints:
    """Project the points of a fit onto its surface, in all columns; see `surface_points`."""
    return fit.once("denoising", lambda: _denoise(fit))


def _denoise(fit: Fit) -> SurfacePoints:
    basis = fit.basis
    count = max(fit.split.tangent_neighbors, 4 * tangent_terms(fit.dim))
    found = surface_points(fit.points @ basis.T, fit.axes @ basis.T, count, n_jobs=fit.n_jobs)
    # In directions that are only noise, points are at their mean.
    mean = fit.points.mean(axis=0)
    mean -= mean @ basis.T @ basis
    return replace(found, points=found.points @ basis + mean)


def surface_points(
    points: np.ndarray, axes: np.ndarray, count: int, *, n_jobs: int | None = None
) -> SurfacePoints:
    r"""Move points along their normals onto a surface fitted to their neighbours.

    With t_j = E (x_j - x) the displacement of a neighbour along the axes E of a point x and s_j the
    remaining displacement, a quadratic is fitted to the neighbours, without the point itself::

        s_j ~ a + B t_j + Q(t_j),           x -> x + a

    The position along the surface, including its noise, does not change; noise across the surface
    is reduced to the error of the fit.

    The residual variance v is noise s^2 plus curvature, which grows with the number c of
    neighbours::

        v(c) = s^2 + b c^(6 / k),       error(c) = s^2 h(c) + 3 b c^(6 / k)

    with h the leverage of the intercept. s and b come from fits to all neighbours and to half of
    them. The c with the smallest error is used; if it exceeds .8 s^2, points are left alone.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    axes : ndarray of shape (n, k, d)
        Orthonormal rows; points with NaN axes are not moved.
    count : int
        Neighbours of each fit.
    n_jobs : int, optional
        Threads of the search; every core by default and for -1.

    Returns
    -------
    SurfacePoints

    Examples
    --------
    >>> from geodis import product_manifold
    >>> circle = product_manifold("S^1", 400, noise=0.05, pad=1, random_state=0)
    >>> moved = surface_points(circle.points, circle.tangents[0], 40).points
    >>> off = [np.abs(np.linalg.norm(x, axis=1) - 1).mean() for x in (circle.points, moved)]
    >>> bool(off[1] < 0.5 * off[0])
    True
    """
    k, d = axes.shape[1:]
    known = np.flatnonzero(np.isfinite(axes).all(axis=(1, 2)))
    least = 2 * tangent_terms(k)
    count = min(count, len(known) - 1)
    if k >= d:
        return SurfacePoints(points, 0.0, "there is no direction across the surface: left alone")
    if count < 2 * least:
        return SurfacePoints(points, 0.0, f"{len(known)} points are too few: left alone")
    own, frames = points[known], axes[known]
    search = searcher(own, n_jobs=n_jobs)
    some = np.unique(np.linspace(0, len(known) - 1, TRIALS).astype(int))
    near = neighbors_at(own, some, count, search=search).indices
    of_all, of_half = (_fitted(own, frames, some, near[:, :c]) for c in (count, count // 2))
    whole, half = float(np.median(of_all[1])), float(np.median(of_half[1]))
    grows = 2.0 ** (6 / k)
    even = max((grows * half - whole) / (grows - 1), 0.0)
    curved = max(whole - even, 0.0)
    tried = {}
    for part in PARTS:
        if (c := int(part * count)) >= least:
            leverage = float(np.median(_leverage(own, frames, some, near[:, :c])))
            tried[c] = even * leverage + CENTRE_BIAS * curved * part ** (6 / k)
    count = min(tried, key=lambda c: tried[c])
    if tried[count] >= LARGEST_ERROR * even:
        return SurfacePoints(
            points, 0.0, "residuals shrink with the neighbourhood, as from curvature: left alone"
        )
    rows = np.arange(len(known))
    shift = _fitted(own, frames, rows, neighbors_at(own, rows, count, search=search).indices)[0]
    moved = points.copy()
    moved[known] += shift
    noise = float(np.sqrt(even))
    return SurfacePoints(
        moved, noise, f"moved onto fits to {count} neighbours, across noise of {noise:.2g}"
    )


def _fitted(
    points: np.ndarray, axes: np.ndarray, rows: np.ndarray, near: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the shift onto the surface (r, d), and the residual variance across it (r,)."""
    k, d = axes.shape[1:]
    count, terms = near.shape[1], tangent_terms(k)
    shift, left = np.empty((len(rows), d)), np.empty(len(rows))
    for block in blocks(len(rows), max(1, BLOCK_NUMBERS // (count * (2 * d + terms)))):
        along, away = _coordinates(points, axes, rows[block], near[block])
        across = away - along @ axes[rows[block]]
        found = quadratic_coefficients(along, np.ones(along.shape[:2]), across)  # (b, p, d)
        shift[block] = found[:, 0]
        rest = across - quadratic_terms(along) @ found
        left[block] = (rest**2).sum(axis=(1, 2)) / ((count - terms) * (d - k))
    return shift, left


def _leverage(
    points: np.ndarray, axes: np.ndarray, rows: np.ndarray, near: np.ndarray
) -> np.ndarray:
    """Return the variance of the shift for noise of unit variance, shape (r,)."""
    along = _coordinates(points, axes, rows, near)[0]
    intercepts = quadratic_operators(along, np.ones(along.shape[:2]))[:, 0]
    return (intercepts**2).sum(axis=1)


def _coordinates(
    points: np.ndarray, axes: np.ndarray, rows: np.ndarray, near: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return displacements of neighbours along the axes (r, c, k), and in full (r, c, d)."""
    away = points[near] - points[rows, None]
    return away @ axes[rows].swapaxes(1, 2), away
