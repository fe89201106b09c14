"""Points -> axes by factor: the steps of the algorithm in order, applied again to each factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from geodis.base.check import InputError
from geodis.manifold.ambient import ambient_split
from geodis.manifold.holonomy.coarse import extend_fields
from geodis.manifold.holonomy.eigenfields import Eigenfields
from geodis.manifold.holonomy.factor_axes import Factors
from geodis.manifold.local.graph import neighbor_graph
from geodis.manifold.local.neighbors import Neighbors, distinct_rows, neighbors_at
from geodis.manifold.local.tangents import (
    Tangents,
    neighbors_for_tangents,
    quadratic_pairs,
    tangent_frames,
)
from geodis.manifold.steps import Task, estimate_tangents, neighbors_for_fit, solve

# Fields are smooth and need fewer points than tangents, and the fewer the lower the dimension:
# beyond so many the eigenproblem is posed on an even sample of the points, with the tangents that
# all points give.
FIELD_POINTS = {2: 1_500, 3: 5_000}
MOST_FIELD_POINTS = 10_000
# Largest growth of what displacements leave outside the tangent spaces at which the ambient
# split is believed; splits of products of immersions lower it.
BELIEVED = 1.02


@dataclass(frozen=True)
class Split:
    """Factors of a set of points, and of each factor in turn.

    Attributes
    ----------
    axes : ndarray of shape (n, k, d)
        Orthonormal rows grouped by factor, the same order of factors at every point.
    dims : tuple of int
        Dimension of every factor.
    flat : tuple of bool
        Which factors are flat parts of dimension two or more.
    fields : Eigenfields or None
        Bottom eigenfields, at the points `rows`; None in dimension one.
    rows : ndarray of int
        Points on which the eigenproblem was posed.
    parts : tuple of Split
        The factors found here, each split on its own; empty where there is one.
    bases : tuple of ndarray of shape (d_j, d)
        Orthonormal rows: the ambient subspace in which each part was split.
    refined : str
        "ambient" where factors were refined in their own ambient subspaces, "tangents" where
        only the tangent fits were, "none" where nothing was.
    tangent_neighbors : int
        Neighbours of each tangent fit.
    leakage : float
        Share of the axes outside their factor's ambient subspace; NaN where not asked.
    history : list of dict
        One entry a round: what was done, factor dimensions, eigenvalues, norm variations.
    """

    axes: np.ndarray
    dims: tuple[int, ...]
    flat: tuple[bool, ...]
    fields: Eigenfields | None
    rows: np.ndarray
    parts: tuple[Split, ...] = ()
    bases: tuple[np.ndarray, ...] = ()
    refined: str = "none"
    tangent_neighbors: int = 0
    leakage: float = np.nan
    history: list[dict[str, Any]] = field(default_factory=list)


def split_factors(points: np.ndarray, dim: int, task: Task | None = None) -> Split:
    """Split a set of points into factors; see `GeoManCER` for the steps.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    dim : int
    task : Task, optional
        Settings, progress, random numbers, and what is known of graph and factors.

    Returns
    -------
    Split

    Examples
    --------
    >>> from geodis import product_manifold
    >>> split_factors(product_manifold("S^2 x S^1", 500, random_state=0).points, 3).dims
    (2, 1)
    """
    task = task or Task()
    if task.graph is not None:
        return _split_ordered(points, dim, task)
    # Neighbours that lie side by side in memory make the operator several times faster, and
    # identical rows are one place: solve on distinct rows in spatial order, and undo both.
    places, representative, place = distinct_rows(points)
    order = KDTree(places).indices
    solved = _split_ordered(places[order], dim, task)
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    axes = solved.axes[position if place is None else position[place]]
    return replace(solved, axes=axes, rows=representative[order[solved.rows]])


def split_pieces(points: np.ndarray, dim: int, task: Task, piece: np.ndarray) -> Split:
    """Split every piece of the graph on its own; the largest says how many factors there are.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    dim : int
    task : Task
    piece : ndarray of int, shape (n,)
        The piece that each point belongs to.

    Returns
    -------
    Split
        Of the largest piece, with the axes of all pieces that split alike; NaN in the others.
    """
    sizes = np.bincount(piece)
    if len(sizes) == 1:
        return split_factors(points, dim, task)
    axes = np.full((len(points), dim, points.shape[1]), np.nan)
    result: Split | None = None
    for largest in np.argsort(-sizes, kind="stable"):
        rows = np.flatnonzero(piece == largest)
        inside = None
        if task.graph is not None:
            inside = neighbor_graph(graph=task.graph.adjacency[rows][:, rows])
        try:
            found = split_factors(points[rows], dim, replace(task, graph=inside))
        except InputError:
            if result is None:
                raise
            break  # this piece and all smaller ones have too few points for the tangents
        if result is None:
            result = replace(found, rows=rows[found.rows])
        if found.dims == result.dims:
            axes[rows] = found.axes
    assert result is not None
    return replace(result, axes=axes)


def _split_ordered(points: np.ndarray, dim: int, task: Task) -> Split:
    n = len(points)
    everywhere = np.arange(n)
    if dim == 1 or task.n_factors == 1:
        tangents = estimate_tangents(points, dim, task)
        return Split(
            tangents.frames,
            (dim,),
            (False,),
            None,
            everywhere,
            tangent_neighbors=tangents.n_neighbors,
        )
    refining = task.graph is None and task.settings.refines
    rows = everywhere
    enough = FIELD_POINTS.get(dim, MOST_FIELD_POINTS)
    if refining and n > enough:
        rows = np.linspace(0, n - 1, enough).astype(np.intp)
    tangents, found = _split_together(points, rows, dim, task)
    if refining and len(found.dims) > 1:
        refined = _refine_in_ambient(points, found, task)
        if refined is not None:
            return refined
    if len(rows) < n:
        if len(found.dims) == 1:
            tangents = estimate_tangents(points, dim, task, count=found.tangent_neighbors)
            return replace(found, axes=tangents.frames)
        tangents, found = _split_together(points, everywhere, dim, task)
    return _refine_tangents(points, tangents, found, task)


def _split_together(
    points: np.ndarray, rows: np.ndarray, dim: int, task: Task
) -> tuple[Tangents, Split]:
    """The published algorithm, on some rows: all factors at once, without refinement."""
    some = None if len(rows) == len(points) else rows
    tangents = estimate_tangents(points, dim, task, rows=some)
    fields, factors = solve(points[rows], tangents.frames, task)
    return tangents, Split(
        factors.axes @ tangents.frames,
        factors.dims,
        _flags(factors),
        fields,
        rows,
        tangent_neighbors=tangents.n_neighbors,
        history=[_record("together", fields, factors)],
    )


def _refine_in_ambient(points: np.ndarray, found: Split, task: Task) -> Split | None:
    """Split each factor on its own in its ambient subspace, if the ambient space splits.

    A factor is left whole when the number of factors was given.
    """
    with task.stages.stage("ambient split"):
        ambient = ambient_split(found.axes, found.dims)
    if any(len(basis) < dim for basis, dim in zip(ambient.bases, found.dims, strict=True)):
        return None
    whole = replace(task, n_factors=None if task.n_factors is None else 1)
    try:
        parts = tuple(
            split_factors(points @ basis.T, dim, whole)
            for basis, dim in zip(ambient.bases, found.dims, strict=True)
        )
    except InputError:  # too few distinct places in a factor, as on a coarse grid
        return None
    bases = tuple(ambient.bases)
    axes = join_axes(parts, bases, [part.axes for part in parts])
    with task.stages.stage("ambient split"):
        near = neighbors_at(points, found.rows, axes.shape[1], n_jobs=task.settings.n_jobs)
        before = _outside(points, near, found.rows, found.axes)
        after = _outside(points, near, found.rows, axes[found.rows])
    if after > BELIEVED * before:
        return None
    dims = [dim for part in parts for dim in part.dims]
    flat = found.flat if task.n_factors else [flag for part in parts for flag in part.flat]
    order = _largest_first(dims)
    return replace(
        found,
        axes=axes,
        dims=tuple(dims[j] for j in order),
        flat=tuple(flat[j] for j in order),
        parts=parts,
        bases=bases,
        refined="ambient",
        leakage=ambient.leakage,
        history=found.history + [entry for part in parts for entry in part.history],
    )


def join_axes(
    parts: Sequence[Split], bases: Sequence[np.ndarray], axes: Sequence[np.ndarray]
) -> np.ndarray:
    """Axes of the parts, (p, k_j, d_j) each, in the space of their bases, largest factor first.

    Returns
    -------
    ndarray of shape (p, k, d)
    """
    joined = np.concatenate([own @ basis for own, basis in zip(axes, bases, strict=True)], axis=1)
    return joined[:, _row_order(parts)]


def part_axes(
    parts: Sequence[Split], bases: Sequence[np.ndarray], axes: np.ndarray
) -> list[np.ndarray]:
    """Axes of each part in its own space, from the axes of all: inverts `join_axes`."""
    joined = np.empty_like(axes)
    joined[:, _row_order(parts)] = axes
    stops = np.cumsum([sum(part.dims) for part in parts])
    own = np.split(joined, stops[:-1], axis=1)
    return [rows @ basis.T for rows, basis in zip(own, bases, strict=True)]


def _row_order(parts: Sequence[Split]) -> np.ndarray:
    """Rows of the parts' axes, one part after the other, in order of the factors' dimensions."""
    dims = [dim for part in parts for dim in part.dims]
    rows = np.split(np.arange(sum(dims)), np.cumsum(dims)[:-1])
    return np.concatenate([rows[j] for j in _largest_first(dims)])


def _largest_first(dims: Sequence[int]) -> np.ndarray:
    return np.argsort(-np.asarray(dims), kind="stable")


def _outside(points: np.ndarray, near: Neighbors, rows: np.ndarray, axes: np.ndarray) -> float:
    """Share of squared displacements to near points that lies outside the tangent spaces."""
    displacements = points[near.indices] - points[rows, None]
    inside = displacements @ np.swapaxes(axes, 1, 2)
    return 1.0 - float((inside**2).sum() / (displacements**2).sum())


def _refine_tangents(points: np.ndarray, tangents: Tangents, found: Split, task: Task) -> Split:
    """Fit the tangents again without quadratic terms that mix factors, and solve again.

    Rounds go on while they make the fields more parallel: the eigenvalues of parallel fields are
    zero but for errors in the tangents.
    """
    n, d = points.shape
    dim = found.axes.shape[1]
    if not task.settings.refines or len(found.dims) == 1 or d == dim:
        return found
    assert found.fields is not None
    for _ in range(task.settings.refinements):
        count = tangents.n_neighbors
        if count == neighbors_for_tangents(dim):  # no noise: fewer terms, fewer neighbours
            count = 2 * (1 + dim + len(quadratic_pairs(dim, found.dims)[0]))
        count = min(count, n - 1)
        with task.stages.stage("neighbours"):
            near = neighbors_for_fit(points, count, task)
        with task.stages.stage("tangents"):
            new = tangent_frames(
                points,
                near,
                dim,
                factor_dims=found.dims,
                start=found.axes,
                n_jobs=task.settings.n_jobs,
                done=task.stages.advance,
            )
        with task.stages.stage("eigenfields"):
            start = extend_fields(
                found.fields.fields, tangents.frames, new.frames, found.rows[:, None]
            )
        fields, factors = solve(points, new.frames, task, start)
        wanted = len(found.dims) - 1
        better = fields.values[:wanted].sum() < found.fields.values[:wanted].sum()
        history = [*found.history, _record("refined" if better else "rejected", fields, factors)]
        if not better or len(factors.dims) < len(found.dims):
            return replace(found, history=history)
        tangents = new
        found = Split(
            factors.axes @ new.frames,
            factors.dims,
            _flags(factors),
            fields,
            found.rows,
            refined="tangents",
            tangent_neighbors=count,
            history=history,
        )
    return found


def _flags(factors: Factors) -> tuple[bool, ...]:
    return tuple(j == factors.flat for j in range(len(factors.dims)))


def _record(what: str, fields: Eigenfields, factors: Factors) -> dict[str, Any]:
    """One line of the history."""
    return {
        "what": what,
        "n_points": len(fields.fields),
        "factor_dims": factors.dims,
        "eigenvalues": fields.values,
        "variation": fields.variation,
        "n_parallel": fields.n_parallel,
        "converged": fields.converged,
        "n_applications": fields.n_applications,
    }
