"""Out-of-sample extension of the axes, and the ambient subspaces of the factors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from geodis.base.jobs import blocks, check_jobs
from geodis.manifold.fitted import Fit
from geodis.manifold.holonomy.connection import transports_between
from geodis.manifold.holonomy.factor_axes import ffdiag
from geodis.manifold.holonomy.laplacian import symmetric_basis
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.exact_search import Search, searcher, spatial_order
from geodis.manifold.local.graph import default_degree
from geodis.manifold.local.neighbors import Neighbors, distinct_rows
from geodis.manifold.local.tangents import TangentMethod, tangent_frames
from geodis.manifold.split_result import Split, join_axes, part_axes

# Neighbours whose axes are averaged.
AVERAGED = 3
# If the nearest neighbour is nearly as far as the farthest, a point is far outside the fitted ones,
# where a quadratic would extrapolate without bound. Among the fitted points in dimension k the
# ratio of the distances is near (1 / neighbours)^(1 / k), .6 for k = 10.
OUTSIDE = 0.8
BLOCK = 4096
# New points in a block.
TARGETS = 2**16
# Relative difference below which coordinates are equal.
ROUNDING = 16 * np.finfo(float).eps


def axes_of_fit(fit: Fit, targets: np.ndarray) -> np.ndarray:
    """Compute axes at points (p, d).

    Fitted points get their own axes; others are estimated within the graph component of the
    nearest fitted point, along the kept directions. Searches are cached with the fit.

    Returns
    -------
    ndarray of shape (p, k, d)
    """
    reduced = targets @ fit.basis.T
    axes = np.empty((len(targets), *fit.axes.shape[1:]))
    order = spatial_order(reduced)
    for block in blocks(len(targets), TARGETS):
        rows = order[block]
        axes[rows] = _axes_of_block(fit, reduced[rows])
    return axes


def _axes_of_block(fit: Fit, reduced: np.ndarray) -> np.ndarray:
    usable, search, rounding = fit.search("axes", lambda: _search_with_axes(fit))
    nearest, distances = search(reduced, 1)
    nearest, known = usable[nearest[:, 0]], distances[:, 0] <= rounding
    axes = fit.axes[nearest]
    for piece in np.unique(fit.piece[nearest[~known]]):
        rows = np.flatnonzero((fit.piece[nearest] == piece) & ~known)
        prepared = fit.search(f"axes in piece {piece}", partial(_prepared_piece, fit, int(piece)))
        by_holonomy = prepared.at(reduced[rows], fit.settings.tangents, check_jobs(fit.n_jobs))
        axes[rows] = fit.flat.axes_at(by_holonomy, axes[rows] @ fit.basis.T) @ fit.basis
    return axes


def _search_with_axes(fit: Fit) -> tuple[np.ndarray, Search, float]:
    """Return rows with axes, a search among them, and the distance that is rounding error."""
    usable = np.flatnonzero(fit.with_axes)
    own = fit.points[usable] @ fit.basis.T  # near copies are not merged here
    # Matrix products of different blocks may differ in their last digits.
    rounding = ROUNDING * float(np.abs(own).max()) * np.sqrt(own.shape[1])
    own, first, _ = distinct_rows(own)
    return usable[first], searcher(own, n_jobs=check_jobs(fit.n_jobs)), rounding


def _prepared_piece(fit: Fit, piece: int) -> _PreparedSplit:
    """Prepare the estimation of axes in one graph component."""
    usable = fit.search("axes", lambda: _search_with_axes(fit))[0]
    fitted = usable[fit.piece[usable] == piece]
    fitted = fitted[distinct_rows(fit.places[fitted])[1]]
    split = fit.split
    if piece != fit.piece[split.rows[0]]:  # its ambient subspaces are not known
        split = replace(split, parts=(), refined="none")
    return _prepare(split, fit.places[fitted], fit.split.axes[fitted], check_jobs(fit.n_jobs))


@dataclass(frozen=True)
class _PreparedSplit:
    """A split with a search among its points, or with prepared parts in their own subspaces."""

    split: Split
    points: np.ndarray
    axes: np.ndarray
    search: Search | None
    parts: tuple[_PreparedSplit, ...]

    def at(self, targets: np.ndarray, method: TangentMethod, n_jobs: int) -> np.ndarray:
        """Estimate axes at points of its space, shape (p, k, d)."""
        split, axes = self.split, self.axes
        if self.parts:
            own = [
                part.at(targets @ basis.T, method, n_jobs)
                for part, basis in zip(self.parts, split.bases, strict=True)
            ]
            return join_axes(split.parts, split.bases, own)
        p, (_, k, d) = len(targets), axes.shape
        if self.search is None:  # the whole space is tangent
            return np.broadcast_to(np.eye(k), (p, k, k)).copy()
        count = min(max(split.tangent_neighbors, AVERAGED), len(self.points))
        near = Neighbors(*self.search(targets, count), "exact")
        if d == k:
            frames = np.broadcast_to(np.eye(k), (p, k, k)).copy()
        else:
            refined: dict[str, Any] = {}
            if split.refined == "tangents":
                start = _averaged_axes(axes, near, split.dims)
                refined = {"factor_dims": split.dims, "start": start}
            frames = tangent_frames(
                self.points, near, k, centres=targets, method=method, n_jobs=n_jobs, **refined
            ).frames
        outside = np.flatnonzero(near.distances[:, 0] > OUTSIDE * near.distances[:, -1])
        if len(outside):
            beyond = Neighbors(near.indices[outside], near.distances[outside], near.method)
            frames[outside] = _averaged_axes(axes, beyond, split.dims)
        if len(split.dims) == 1:
            return frames
        return _carried_axes(axes, frames, near.indices[:, : default_degree(k)], split.dims)


def _prepare(
    split: Split, points: np.ndarray, axes: np.ndarray, n_jobs: int | None = None
) -> _PreparedSplit:
    """Prepare searches among fitted points (n, d) with axes (n, k, d), part by part."""
    if split.parts:
        own = part_axes(split.parts, split.bases, axes)
        parts = tuple(
            _prepare(part, points @ basis.T, inside, n_jobs)
            for part, basis, inside in zip(split.parts, split.bases, own, strict=True)
        )
        return _PreparedSplit(split, points, axes, None, parts)
    whole = points.shape[1] == axes.shape[1] and len(split.dims) == 1
    search = None if whole else searcher(points, n_jobs=n_jobs)
    return _PreparedSplit(split, points, axes, search, ())


def axes_at(
    split: Split,
    points: np.ndarray,
    axes: np.ndarray,
    targets: np.ndarray,
    *,
    method: TangentMethod = "curved",
    n_jobs: int | None = None,
) -> np.ndarray:
    """Estimate axes at new points, with factors in the same order as at the fitted ones.

    New points are treated like fitted ones: they are projected onto the ambient subspace of each
    factor, if there are such, and tangents are fitted to their neighbours among the fitted points.
    If several factors share a space, their projectors at the neighbours are transported to the new
    point and averaged.

    Parameters
    ----------
    split : Split
        Of the fitted points.
    points : ndarray of shape (n, d)
        Fitted points, distinct.
    axes : ndarray of shape (n, k, d)
        Axes at the fitted points, in the order of `points`.
    targets : ndarray of shape (p, d)
    method : {"curved", "pca"}
        How tangents were estimated.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    ndarray of shape (p, k, d)
    """
    n_jobs = check_jobs(n_jobs)
    return _prepare(split, points, axes, n_jobs).at(targets, method, n_jobs)


def _averaged_axes(axes: np.ndarray, near: Neighbors, dims: tuple[int, ...]) -> np.ndarray:
    """Return leading directions of the factors' mean projectors over the nearest points."""
    indices, distances = near.indices[:, :AVERAGED], near.distances[:, :AVERAGED]
    bounds = np.cumsum((0, *dims))
    averaged = np.empty((len(indices), *axes.shape[1:]))
    for rows in blocks(len(indices), BLOCK):
        squared = distances[rows] ** 2
        weights = 1 / np.maximum(squared, 1e-12 * (1 + squared.max()))
        weights = np.sqrt(weights / weights.sum(axis=1, keepdims=True))
        for start, stop in pairwise(bounds):
            stacked = weights[..., None, None] * axes[indices[rows], start:stop]  # (b, c, k_j, d)
            stacked = stacked.reshape(len(stacked), -1, stacked.shape[-1])
            directions = np.linalg.svd(stacked, full_matrices=False)[2]
            averaged[rows, start:stop] = directions[:, : stop - start]
    return polar_rows(averaged)


def _carried_axes(
    axes: np.ndarray, frames: np.ndarray, indices: np.ndarray, dims: tuple[int, ...]
) -> np.ndarray:
    """Return leading directions of the mean transported projectors in given tangent spaces."""
    bounds = np.cumsum((0, *dims))
    carried_axes = np.empty_like(frames)
    for rows in blocks(len(frames), BLOCK):
        b, count = indices[rows].shape
        indptr = np.arange(0, b * count + 1, count, dtype=np.int32)
        transports = transports_between(frames[rows], axes, indptr, indices[rows].ravel())
        transports = transports.reshape(b, count, *transports.shape[1:]).astype(float)
        inside = np.empty((b, *transports.shape[2:]))  # in coordinates of the frames
        for start, stop in pairwise(bounds):
            carried = transports[..., start:stop]
            mean = np.einsum("bcij,bckj->bik", carried, carried) / count
            leading = np.linalg.eigh(mean)[1][..., : start - stop - 1 : -1]
            inside[:, start:stop] = np.swapaxes(leading, 1, 2)
        carried_axes[rows] = polar_rows(inside) @ frames[rows]
    return carried_axes


# Ambient subspaces. If second fundamental forms do not mix factors, an isometric immersion of a
# product is a product of immersions (Moore 1971): the ambient space splits into orthogonal
# subspaces V_j, and factor j is the projection of the points onto V_j. There it is a manifold of
# dimension k_j sampled by all n points, so its tangents need far smaller neighbourhoods.

# Largest d for the commutant, which is computed among d (d + 1) / 2 symmetric matrices.
MAX_COMMUTANT_DIMS = 40
COMMUTANT_POINTS = 20_000
# A product has as many null directions as factors (flat ones have more); others are far above.
NEAR_NULL = 3.0
COMMUTANT_ROUNDS = 3


@dataclass(frozen=True)
class AmbientSplit:
    """Orthogonal subspaces of the ambient space that hold the factors' tangent spaces.

    Attributes
    ----------
    bases : list of ndarray of shape (d_j, d)
        Orthonormal rows; together they are a basis of the ambient space.
    leakage : float
        Share of the tangent axes' squared length outside their factor's subspace: zero for a
        product of immersions, and about the squared angular error of the axes.
    """

    bases: list[np.ndarray]
    leakage: float


def ambient_split(axes: np.ndarray, factor_dims: tuple[int, ...]) -> AmbientSplit:
    """Find the ambient subspaces spanned by the axes of each factor over all points.

    The second moments ``C_j = mean_i A_ij^T A_ij`` of the factors' axes (A_ij of shape
    (k_j, d)) have orthogonal ranges in a product of immersions. They are diagonalised jointly,
    and every direction is assigned to the factor with the largest share of it.

    Parameters
    ----------
    axes : ndarray of shape (n, k, d)
        Rows grouped by factor.
    factor_dims : tuple of int

    Returns
    -------
    AmbientSplit

    Examples
    --------
    >>> x, y = np.eye(2)
    >>> ambient_split(np.array([[x, y], [-x, y]]), (1, 1)).bases
    [array([[1., 0.]]), array([[0., 1.]])]
    """
    n, k, d = axes.shape
    bounds = np.cumsum((0, *factor_dims))
    moments = np.empty((len(factor_dims), d, d))
    for j, (start, stop) in enumerate(pairwise(bounds)):
        rows = axes[:, start:stop].reshape(-1, d)
        moments[j] = rows.T @ rows / n
    bases, leakage = _divide(moments, k)
    if d <= MAX_COMMUTANT_DIMS:
        null = _commuting_matrices(axes, len(factor_dims))
        for _ in range(COMMUTANT_ROUNDS):
            projectors = np.array([basis.T @ basis for basis in bases])
            flat = projectors.reshape(-1, d * d)
            bases, _ = _divide((flat @ null @ null.T).reshape(projectors.shape), k)
    return AmbientSplit(bases, leakage)


def _divide(moments: np.ndarray, k: int) -> tuple[list[np.ndarray], float]:
    """Assign common eigenvectors of the moments (m, d, d) to the factor with the largest value."""
    joint = ffdiag(moments)
    owner = np.argmax(joint.diagonals, axis=0)
    leakage = 1.0 - joint.diagonals.max(axis=0).sum() / k
    return [joint.rotations[owner == j] for j in range(len(moments))], float(leakage)


def _commuting_matrices(axes: np.ndarray, n_factors: int) -> np.ndarray:
    """Find symmetric matrices that nearly commute with all tangent projectors, shape (d^2, c).

    In a product of immersions the projector on V_j commutes with the projector P_i on the tangent
    space at every point. Systematic errors of the axes towards another factor rotate V_j, but not
    the tangent spaces as a whole. They are removed by projection onto the near null space of
    ``q(S) = mean_i |[P_i, S]|^2``, a small eigenproblem whose error averages out over points.

    Returns
    -------
    ndarray
        Orthonormal columns.
    """
    n, _, d = axes.shape
    chosen = axes[:: max(1, n // COMMUTANT_POINTS)]
    projectors = np.swapaxes(chosen, 1, 2) @ chosen
    mean = projectors.mean(axis=0)
    flat = projectors.reshape(len(projectors), d * d)
    products = (flat.T @ flat / len(flat)).reshape(d, d, d, d)
    # |[P, S]|^2 = 2 trace(S S P) - 2 trace(P S P S), because P P = P.
    basis = symmetric_basis(d)  # (d^2, t)
    twice = products.transpose(1, 2, 0, 3).reshape(d * d, d * d)
    once = np.einsum("ab,cd->acbd", np.eye(d), mean).reshape(d * d, d * d)
    form = basis.T @ (2 * once - 2 * twice) @ basis
    values, vectors = np.linalg.eigh((form + form.T) / 2)
    near_null = values <= NEAR_NULL * max(values[n_factors - 1], 1e-9)
    return basis @ vectors[:, near_null]
