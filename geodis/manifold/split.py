"""Points -> axes by factor: the steps of the algorithm in order, applied again to each factor."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from geodis._check import InputError
from geodis._progress import Stages
from geodis.manifold.ambient import ambient_split
from geodis.manifold.coarse import coarse_start, extend_fields
from geodis.manifold.connection import connection
from geodis.manifold.dimension import points_needed
from geodis.manifold.eigenfields import Eigenfields, bottom_eigenfields
from geodis.manifold.factors import Factors, factor_axes
from geodis.manifold.graph import (
    NeighborGraph,
    Neighbors,
    default_degree,
    distinct_rows,
    graph_of_neighbors,
    nearest_neighbors,
    neighbors_at,
    neighbors_in_graph,
)
from geodis.manifold.laplacian import ConnectionLaplacian
from geodis.manifold.symmetric import n_coordinates
from geodis.manifold.tangents import (
    Tangents,
    choose_n_neighbors,
    neighbors_for_tangents,
    quadratic_pairs,
    tangent_frames,
)

# Fields are smooth and need fewer points than tangents: beyond this many the eigenproblem is
# posed on an even sample of the points, with the tangents that all points give.
FIELD_POINTS = 10_000
# Largest growth of what displacements leave outside the tangent spaces at which the ambient
# split is believed; splits of products of immersions lower it.
BELIEVED = 1.02
MAX_FIELDS = 64


@dataclass(frozen=True)
class Settings:
    """What `GeoManCER` was told, resolved."""

    tangents: str = "curved"
    refinements: int = 2
    rule: str = "parallel"
    normalized: bool = True
    n_neighbors: int | None = None
    tangent_neighbors: int | None = None
    n_fields: int = 8
    n_jobs: int = 1


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
    refined: str = "none"
    tangent_neighbors: int = 0
    leakage: float = np.nan
    history: list[dict[str, Any]] = field(default_factory=list)


def split_factors(
    points: np.ndarray,
    dim: int,
    settings: Settings,
    stages: Stages,
    rng: np.random.Generator,
    *,
    graph: NeighborGraph | None = None,
    n_factors: int | None = None,
) -> Split:
    """Split a set of points into factors; see `GeoManCER` for the steps.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    dim : int
    settings : Settings
    stages : Stages
        Timed and shown.
    rng : Generator
    graph : NeighborGraph, optional
        True neighbours.
    n_factors : int, optional
        Factors when their number is known.

    Returns
    -------
    Split
    """
    if graph is not None:
        return _split_ordered(points, dim, settings, stages, rng, graph, n_factors)
    # Neighbours that lie side by side in memory make the operator several times faster, and
    # identical rows are one place: solve on distinct rows in spatial order, and undo both.
    places, representative, place = distinct_rows(points)
    order = KDTree(places).indices
    solved = _split_ordered(places[order], dim, settings, stages, rng, None, n_factors)
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    axes = solved.axes[position if place is None else position[place]]
    return replace(solved, axes=axes, rows=representative[order[solved.rows]])


def _split_ordered(
    points: np.ndarray,
    dim: int,
    settings: Settings,
    stages: Stages,
    rng: np.random.Generator,
    graph: NeighborGraph | None,
    n_factors: int | None,
) -> Split:
    n = len(points)
    everywhere = np.arange(n)
    if dim == 1 or n_factors == 1:
        tangents = _tangents(points, everywhere, dim, settings, stages, rng, graph)
        return Split(
            tangents.frames, (dim,), (False,), None, everywhere,
            tangent_neighbors=tangents.n_neighbors,
        )  # fmt: skip
    rows = everywhere
    if graph is None and settings.refinements > 0 and n > FIELD_POINTS:
        rows = np.linspace(0, n - 1, FIELD_POINTS).astype(np.intp)
    tangents, found = _one_level(points, rows, dim, settings, stages, rng, graph, n_factors)
    if len(found.dims) > 1 and settings.refinements > 0 and graph is None:
        refined = _refine_in_ambient(points, found, settings, stages, rng, n_factors)
        if refined is not None:
            return refined
    if len(rows) < n:
        if len(found.dims) == 1:
            count = found.tangent_neighbors
            tangents = _tangents(points, everywhere, dim, settings, stages, rng, None, count)
            return replace(found, axes=tangents.frames)
        tangents, found = _one_level(
            points, everywhere, dim, settings, stages, rng, graph, n_factors
        )
    return _refine_tangents(points, tangents, found, settings, stages, rng, graph, n_factors)


def _one_level(
    points: np.ndarray,
    rows: np.ndarray,
    dim: int,
    settings: Settings,
    stages: Stages,
    rng: np.random.Generator,
    graph: NeighborGraph | None,
    n_factors: int | None,
) -> tuple[Tangents, Split]:
    """The published algorithm, on some rows: tangents, connection Laplacian, factors."""
    tangents = _tangents(points, rows, dim, settings, stages, rng, graph)
    fields, factors = _solve(points[rows], tangents.frames, settings, stages, rng, graph, n_factors)
    return tangents, Split(
        factors.axes @ tangents.frames,
        factors.dims,
        _flags(factors),
        fields,
        rows,
        tangent_neighbors=tangents.n_neighbors,
        history=[_record("together", fields, factors)],
    )


def _tangents(
    points: np.ndarray,
    rows: np.ndarray,
    dim: int,
    settings: Settings,
    stages: Stages,
    rng: np.random.Generator,
    graph: NeighborGraph | None,
    count: int | None = None,
) -> Tangents:
    """Step 1 of the paper: tangent frames, at some rows."""
    n, d = points.shape
    if d == dim:  # the whole space is tangent
        frames = np.broadcast_to(np.eye(d), (len(rows), d, d)).copy()
        return Tangents(frames, np.zeros(len(rows)), np.zeros(len(rows)), 0)
    count = count or settings.tangent_neighbors
    if settings.tangents == "pca":
        count = count or settings.n_neighbors or default_degree(dim)
    else:
        needed = points_needed(dim)[0]
        if n < needed:
            raise InputError(
                f"Curved tangents of dimension {dim} need at least {needed} distinct points; "
                f"{n} came: give more points, or tangents='pca'."
            )
        with stages.stage("neighbourhood size"):
            least = neighbors_for_tangents(dim) if graph is not None else 0
            count = (
                count
                or least
                or choose_n_neighbors(points, dim, n_jobs=settings.n_jobs, random_state=rng)
            )
    count = min(count, n - 1)
    with stages.stage("neighbours"):
        if graph is not None:
            near = neighbors_in_graph(points, graph, count)
        elif len(rows) == n:
            near = nearest_neighbors(points, count, n_jobs=settings.n_jobs, random_state=rng)
        else:
            near = neighbors_at(points, rows, count, n_jobs=settings.n_jobs)
    with stages.stage("tangents"):
        return tangent_frames(
            points, near, dim, method=settings.tangents, rows=rows, n_jobs=settings.n_jobs,
            done=stages.advance,
        )  # fmt: skip


def _solve(
    points: np.ndarray,
    frames: np.ndarray,
    settings: Settings,
    stages: Stages,
    rng: np.random.Generator,
    graph: NeighborGraph | None,
    n_factors: int | None,
    start: np.ndarray | None = None,
) -> tuple[Eigenfields, Factors]:
    """Steps 2 and 3 of the paper: connection Laplacian, eigenfields, factors."""
    k = frames.shape[1]
    with stages.stage("graph"):
        near = None
        if graph is None:
            degree = min(settings.n_neighbors or default_degree(k), len(points) - 1)
            near = nearest_neighbors(points, degree, n_jobs=settings.n_jobs, random_state=rng)
            graph = graph_of_neighbors(near, degree)
    with stages.stage("connection"):
        transports = connection(frames, graph)
    laplacian = ConnectionLaplacian(graph, transports, settings.normalized)
    weights = None if near is None else _inverse_density(near, k)
    width = settings.n_fields
    with stages.stage("eigenfields"):
        if start is None:
            start = coarse_start(
                points, frames, width, normalized=settings.normalized,
                n_jobs=settings.n_jobs, random_state=rng,
            )  # fmt: skip
        fields = bottom_eigenfields(
            laplacian, n_fields=width, start=start, weights=weights, rule=settings.rule,
            random_state=rng, done=stages.advance,
        )  # fmt: skip
        # Every field may be parallel: on a flat part of dimension f there are f (f + 1) / 2.
        limit = (n_coordinates(k) - 1) * len(points)
        while fields.n_parallel >= width - 1 and 2 * width <= min(MAX_FIELDS, limit):
            width *= 2
            more = rng.standard_normal((*laplacian.shape, width), dtype=np.float32)
            more[..., : width // 2] = fields.fields
            fields = bottom_eigenfields(
                laplacian, n_fields=width, start=more, top=fields.top, weights=weights,
                rule=settings.rule, random_state=rng, done=stages.advance,
            )  # fmt: skip
        if n_factors is not None and fields.n_parallel < n_factors - 1:
            fields = bottom_eigenfields(
                laplacian, n_fields=max(width, n_factors), n_wanted=n_factors - 1,
                top=fields.top, weights=weights, random_state=rng, done=stages.advance,
            )  # fmt: skip
    if settings.rule == "gap" and n_factors is None:
        n_factors = min(fields.n_parallel + 1, k)  # as published: every field below the gap counts
    with stages.stage("factors"):
        factors = factor_axes(fields, n_factors, n_jobs=settings.n_jobs, random_state=rng)
    return fields, factors


def _refine_in_ambient(
    points: np.ndarray,
    found: Split,
    settings: Settings,
    stages: Stages,
    rng: np.random.Generator,
    n_factors: int | None,
) -> Split | None:
    """Split each factor on its own in its ambient subspace, if the ambient space splits.

    A factor is left whole when the number of factors was given.
    """
    with stages.stage("ambient split"):
        ambient = ambient_split(found.axes, found.dims)
    if any(len(basis) < dim for basis, dim in zip(ambient.bases, found.dims, strict=True)):
        return None
    try:
        parts = tuple(
            split_factors(points @ basis.T, dim, settings, stages, rng, n_factors=n_factors and 1)
            for basis, dim in zip(ambient.bases, found.dims, strict=True)
        )
    except InputError:  # too few distinct places in a factor, as on a coarse grid
        return None
    axes = np.concatenate(
        [part.axes @ basis for part, basis in zip(parts, ambient.bases, strict=True)], axis=1
    )
    with stages.stage("ambient split"):
        near = neighbors_at(points, found.rows, axes.shape[1], n_jobs=settings.n_jobs)
        before = _outside(points, near, found.rows, found.axes)
        after = _outside(points, near, found.rows, axes[found.rows])
    if after > BELIEVED * before:
        return None
    dims = np.array([dim for part in parts for dim in part.dims])
    flat = list(found.flat) if n_factors else [flag for part in parts for flag in part.flat]
    order = np.argsort(-dims, kind="stable")  # largest first, as without refinement
    rows = np.split(np.arange(axes.shape[1]), np.cumsum(dims)[:-1])
    return replace(
        found,
        axes=axes[:, np.concatenate([rows[j] for j in order])],
        dims=tuple(int(dims[j]) for j in order),
        flat=tuple(flat[j] for j in order),
        parts=parts,
        refined="ambient",
        leakage=ambient.leakage,
        history=found.history + [entry for part in parts for entry in part.history],
    )


def _outside(points: np.ndarray, near: Neighbors, rows: np.ndarray, axes: np.ndarray) -> float:
    """Share of squared displacements to near points that lies outside the tangent spaces."""
    displacements = points[near.indices] - points[rows, None]
    inside = displacements @ np.swapaxes(axes, 1, 2)
    return 1.0 - float((inside**2).sum() / (displacements**2).sum())


def _refine_tangents(
    points: np.ndarray,
    tangents: Tangents,
    found: Split,
    settings: Settings,
    stages: Stages,
    rng: np.random.Generator,
    graph: NeighborGraph | None,
    n_factors: int | None,
) -> Split:
    """Fit the tangents again without quadratic terms that mix factors, and solve again.

    Rounds go on while they make the fields more parallel: the eigenvalues of parallel fields are
    zero but for errors in the tangents.
    """
    rows = np.arange(len(points))
    dim = found.axes.shape[1]
    for _ in range(settings.refinements):
        if found.fields is None or len(found.dims) == 1 or settings.tangents == "pca":
            break
        if points.shape[1] == dim:  # the tangents are exact
            break
        count = tangents.n_neighbors
        if count == neighbors_for_tangents(dim):  # no noise: fewer terms, fewer neighbours
            count = 2 * (1 + dim + len(quadratic_pairs(dim, found.dims)[0]))
        with stages.stage("neighbours"):
            count = min(count, len(points) - 1)
            if graph is not None:
                near = neighbors_in_graph(points, graph, count)
            else:
                near = nearest_neighbors(points, count, n_jobs=settings.n_jobs, random_state=rng)
        with stages.stage("tangents"):
            new = tangent_frames(
                points, near, dim, factor_dims=found.dims, start=found.axes,
                n_jobs=settings.n_jobs, done=stages.advance,
            )  # fmt: skip
        with stages.stage("eigenfields"):
            start = extend_fields(found.fields.fields, tangents.frames, new.frames, rows[:, None])
        fields, factors = _solve(
            points, new.frames, settings, stages, rng, graph, n_factors, start=start
        )
        wanted = len(found.dims) - 1
        better = fields.values[:wanted].sum() < found.fields.values[:wanted].sum()
        history = [*found.history, _record("refined" if better else "rejected", fields, factors)]
        if not better or len(factors.dims) < len(found.dims):
            return replace(found, history=history)
        tangents = new
        found = Split(
            factors.axes @ new.frames, factors.dims, _flags(factors), fields, rows,
            refined="tangents", tangent_neighbors=count, history=history,
        )  # fmt: skip
    return found


def _inverse_density(near: Neighbors, dim: int) -> np.ndarray:
    """Weights of the points: the volume that each stands for, without its rare extremes."""
    volume = (near.distances[:, -1] / np.median(near.distances[:, -1])) ** dim
    return np.minimum(volume, np.quantile(volume, 0.99))


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
