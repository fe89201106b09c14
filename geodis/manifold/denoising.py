"""Points, tangents and neighbours -> points on the curved fits, where what is left is noise."""

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
# The intercept of a fit that bends too little errs by more than its residuals do on the mean: its
# square was up to so many times theirs.
AT_THE_CENTRE = 3.0
# Parts of the neighbours that are tried, and the part of the noise that must go at least.
PARTS = (1.0, 0.7, 0.5, 0.35, 0.25)
WORTH_IT = 0.8
ROWS_LOOKED_AT = 400


@dataclass(frozen=True)
class SurfacePoints:
    """Points on the surface.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        As they were where they were left alone.
    noise : float
        Standard deviation across the surface in each direction; 0.0 where they were left alone.
    how : str
        What was done, and why.
    """

    points: np.ndarray
    noise: float
    how: str


def denoising_of(fit: Fit) -> SurfacePoints:
    """The points of a fit on its surface, in all columns; see `surface_points`. Found once."""
    return fit.once("denoising", lambda: _denoise(fit))


def _denoise(fit: Fit) -> SurfacePoints:
    basis = fit.basis
    count = max(fit.split.tangent_neighbors, 4 * tangent_terms(fit.dim))
    found = surface_points(fit.points @ basis.T, fit.axes @ basis.T, count, n_jobs=fit.n_jobs)
    # In the directions that are all noise the points are at their mean.
    mean = fit.points.mean(axis=0)
    mean -= mean @ basis.T @ basis
    return replace(found, points=found.points @ basis + mean)


def surface_points(
    points: np.ndarray, axes: np.ndarray, count: int, *, n_jobs: int | None = None
) -> SurfacePoints:
    r"""Move points along their normals onto the surface that their neighbours lie on.

    With t_j = E (x_j - x) the displacement of a neighbour along the axes E of a point x and s_j
    what is left of it, the neighbours alone are fitted by::

        s_j ~ a + B t_j + Q(t_j),           x -> x + a

    so that the point keeps its place along the surface, and its noise there, and loses that across
    it but for the error of the fit.

    What fits leave, v, is noise s^2 and curvature, which grows with the number of neighbours c::

        v(c) = s^2 + b c^(6 / k),       error(c) = s^2 h(c) + 3 b c^(6 / k)

    with h the leverage of the intercept. Both are read from fits to all of the neighbours and to
    half of them; the c of the smallest error is used, and where even that is above .8 s^2 the
    points are left alone.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    axes : ndarray of shape (n, k, d)
        Orthonormal rows; points without any stay where they are.
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
    some = np.unique(np.linspace(0, len(known) - 1, ROWS_LOOKED_AT).astype(int))
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
            tried[c] = even * leverage + AT_THE_CENTRE * curved * part ** (6 / k)
    count = min(tried, key=lambda c: tried[c])
    if tried[count] >= WORTH_IT * even:
        return SurfacePoints(
            points,
            0.0,
            "what fits leave shrinks with the neighbourhood, as curvature does: left alone",
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
    """Shift onto the surface (r, d), and residual variance across it (r,)."""
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
    """Variance of the shift for noise of unit variance, shape (r,)."""
    along = _coordinates(points, axes, rows, near)[0]
    intercepts = quadratic_operators(along, np.ones(along.shape[:2]))[:, 0]
    return (intercepts**2).sum(axis=1)


def _coordinates(
    points: np.ndarray, axes: np.ndarray, rows: np.ndarray, near: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours' displacements along the axes (r, c, k), and the displacements (r, c, d)."""
    away = points[near] - points[rows, None]
    return away @ axes[rows].swapaxes(1, 2), away
