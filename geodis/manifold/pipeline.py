"""The published algorithm in eight steps, from points to axes by factor.

Pfau, Higgins, Botev and Racaniere (2020), algorithm 1. Improvements are described in the modules of
the steps, and the settings of `GeoManCER` restore the published form of each. `refine` continues
from the result, and `flat` splits its flat part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.manifold.holonomy.connection import connection
from geodis.manifold.holonomy.eigenfields import (
    Eigenfields,
    bottom_eigenfields,
    coarse_start,
    count_parallel,
)
from geodis.manifold.holonomy.factor_axes import factor_axes
from geodis.manifold.holonomy.factor_count import count_factors, departure_of, mean_square_turn
from geodis.manifold.holonomy.laplacian import ConnectionLaplacian, n_coordinates
from geodis.manifold.local.angles import TangentError, tangent_error
from geodis.manifold.local.dimension_estimate import fewest_points
from geodis.manifold.local.graph import (
    NeighborGraph,
    default_degree,
    graph_of_neighbors,
    neighbors_in_graph,
)
from geodis.manifold.local.neighborhood_size import (
    balanced_n_neighbors,
    more_neighbors,
    most_neighbors,
)
from geodis.manifold.local.neighbors import (
    Neighbors,
    is_searched_exactly,
    nearest_neighbors,
    neighbors_at,
)
from geodis.manifold.local.tangents import (
    SEARCHED_ENTRIES,
    Tangents,
    neighbors_for_tangents,
    searched_tangent_frames,
    tangent_frames,
)
from geodis.manifold.split_result import Split, Task, round_of_history

MAX_FIELDS = 64
# Fields are smooth and need fewer points than tangents, the fewer the lower the dimension. Above
# these numbers the eigenproblem is solved on an even sample of the points, with tangents estimated
# from all points.
FIELD_POINTS = {2: 1_500, 3: 5_000}
MOST_FIELD_POINTS = 10_000


@dataclass(frozen=True)
class Solution:
    """Result of the pipeline.

    Attributes
    ----------
    tangents : Tangents
        At the points of `split.rows`.
    split : Split
    """

    tangents: Tangents
    split: Split


def published_pipeline(
    points: np.ndarray,
    dim: int,
    task: Task,
    *,
    rows: np.ndarray | None = None,
    tangents: Tangents | None = None,
    start: np.ndarray | None = None,
    what: str = "together",
) -> Solution:
    """Split a set of points into factors, without refinement.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Distinct, preferably in spatial order; see `distinct_places`.
    dim : int
    task : Task
        Settings, progress, random numbers, and a known graph or number of factors.
    rows : ndarray of int, shape (r,), optional
        Points for the eigenproblem. Default: all, or an even sample if there are many.
    tangents : Tangents, optional
        At all points, if known from a round of refinement.
    start : ndarray of shape (n, k (k + 1) / 2, R), optional
        Initial fields; by default the solution on few of the points.
    what : str
        Name of this step in the history.

    Returns
    -------
    Solution
        With axes at `rows`; without fields in dimension one and if the task says `leave_whole`.

    Examples
    --------
    >>> from geodis import product_manifold
    >>> points = product_manifold("S^2 x S^1", 500, random_state=0).points
    >>> published_pipeline(points, 3, Task()).split.dims
    (2, 1)
    """
    settings, stages, n = task.settings, task.stages, len(points)
    whole = dim == 1 or task.leave_whole
    if rows is None:
        rows = np.arange(n) if whole else field_rows(n, dim, task)
    # 1 and 2. Neighbours of every point, and its tangent space from them.
    if tangents is None:
        tangents = estimate_tangents(points, dim, task, rows=None if len(rows) == n else rows)
    if whole:
        axes, count = tangents.frames, tangents.n_neighbors
        return Solution(
            tangents, Split(axes, (dim,), (False,), None, rows, tangent_neighbors=count)
        )
    # 3. Graph: an edge ij if x_j is among the nearest of x_i, or x_i among those of x_j.
    with stages.stage("graph"):
        graph, weights = _graph_for_fields(points if len(rows) == n else points[rows], dim, task)
    # 4. Connection: Q_ij = U V^T from U S V^T = U_j^T U_i, the nearest rotation between frames.
    with stages.stage("connection"):
        transports = connection(tangents.frames, graph, n_jobs=settings.n_jobs)
    # 5. Second-order connection Laplacian on traceless symmetric matrices.
    laplacian = ConnectionLaplacian(graph, transports, settings.normalized, settings.n_jobs)
    # 6. Its bottom eigenfields Omega^r, as matrices at every point.
    with stages.stage("eigenfields"):
        start = _coarse_solution(points[rows], tangents, task) if start is None else start
        fields = _enough_fields(laplacian, start, weights, task)
    # 7. Number of factors: one plus the combinations of parallel fields that commute with all; by
    # the published rule, one plus the fields below the gap.
    n_factors = task.n_factors
    if settings.rule == "gap" and n_factors is None:
        n_factors = min(fields.n_parallel + 1, dim)
    with stages.stage("factors"):
        counted = count_factors(fields, n_factors, random_state=task.rng)
        # 8. Joint diagonalisation and clustering: the factor of every axis, the same everywhere.
        factors = factor_axes(fields, counted, n_jobs=settings.n_jobs, random_state=task.rng)
        told_apart = None if task.n_factors is None else _count_freely(fields, task)
    # The error of the tangents limits what small eigenvalues can show.
    with stages.stage("error of the tangents"):
        error = _error_of_tangents(points, dim, tangents.n_neighbors, task)
        turn = mean_square_turn(tangents.frames, graph)
    split = Split(
        factors.axes @ tangents.frames,
        factors.dims,
        tuple(j == factors.flat for j in range(len(factors.dims))),
        fields,
        rows,
        tangent_neighbors=tangents.n_neighbors,
        tangent_error=error,
        departure=None if error is None else departure_of(fields, counted, error, turn),
        told_apart=told_apart,
        history=[round_of_history(what, fields, factors.dims)],
    )
    return Solution(tangents, split)


def field_rows(n: int, dim: int, task: Task) -> np.ndarray:
    """Return the points for the eigenproblem: all, or an even sample if there are many."""
    enough = FIELD_POINTS.get(dim, MOST_FIELD_POINTS)
    if n <= enough or task.graph is not None or not task.settings.refines:
        return np.arange(n)
    return np.linspace(0, n - 1, enough).astype(np.intp)


def estimate_tangents(
    points: np.ndarray,
    dim: int,
    task: Task,
    *,
    rows: np.ndarray | None = None,
    count: int | None = None,
) -> Tangents:
    """Estimate tangent frames at all points, or at some rows.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    dim : int
    task : Task
    rows : ndarray of int, shape (r,), optional
    count : int, optional
        Neighbours of each fit; by default from the settings, or else chosen.

    Returns
    -------
    Tangents
    """
    n, d = points.shape
    if d == dim:  # the whole space is tangent
        return _whole_space(n if rows is None else len(rows), d)
    count = count or _tangent_neighbors(points, dim, task)
    return fit_tangents(points, dim, min(count, n - 1), task, rows=rows)


def fit_tangents(
    points: np.ndarray,
    dim: int,
    count: int,
    task: Task,
    *,
    rows: np.ndarray | None = None,
    start: np.ndarray | None = None,
    factor_dims: tuple[int, ...] | None = None,
) -> Tangents:
    """Fit tangent frames to `count` neighbours, searched in blocks if they are many.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    dim, count : int
    task : Task
    rows : ndarray of int, shape (r,), optional
    start : ndarray of shape (r, k, d), optional
    factor_dims : tuple of int, optional
        As in `tangent_frames`.

    Returns
    -------
    Tangents
    """
    settings, n = task.settings, len(points)
    n_fits = n if rows is None else len(rows)
    if task.graph is None and n_fits * count > SEARCHED_ENTRIES:
        with task.stages.stage("tangents"):
            return searched_tangent_frames(
                points,
                dim,
                count,
                rows=rows,
                method=settings.tangents,
                factor_dims=factor_dims,
                start=start,
                search=task.search(points),
                n_jobs=settings.n_jobs,
                done=task.stages.advance,
            )
    with task.stages.stage("neighbours"):
        near = neighbors_for_fit(points, count, task, rows)
    with task.stages.stage("tangents"):
        return tangent_frames(
            points,
            near,
            dim,
            method=settings.tangents,
            factor_dims=factor_dims,
            start=start,
            centres=None if rows is None else points[rows],
            n_jobs=settings.n_jobs,
            done=task.stages.advance,
        )


def neighbors_for_fit(
    points: np.ndarray, count: int, task: Task, rows: np.ndarray | None = None
) -> Neighbors:
    """Find neighbours for tangent fits, along the edges of a given graph."""
    if task.graph is not None:
        return neighbors_in_graph(points, task.graph, count)
    if rows is not None or is_searched_exactly(*points.shape):
        rows = np.arange(len(points)) if rows is None else rows
        return neighbors_at(points, rows, count, search=task.search(points))
    return nearest_neighbors(
        points, count, apart=task.apart, n_jobs=task.settings.n_jobs, random_state=task.rng
    )


def _tangent_neighbors(points: np.ndarray, dim: int, task: Task) -> int:
    """Return the number of neighbours of tangent fits, from the settings or else chosen."""
    settings = task.settings
    if settings.tangents == "curved" and len(points) < fewest_points(dim):
        raise InputError(
            f"Curved tangents of dimension {dim} need at least {fewest_points(dim)} distinct "
            f"points; got {len(points)}: give more points, or tangents='pca'."
        )
    if settings.tangent_neighbors:
        return settings.tangent_neighbors
    if settings.tangents == "pca":
        return settings.n_neighbors or default_degree(dim)
    if task.graph is not None:
        return neighbors_for_tangents(dim)
    with task.stages.stage("neighbourhood size"):
        search = task.search(points)
        count = balanced_n_neighbors(
            points, dim, search, n_jobs=settings.n_jobs, random_state=task.rng
        )
        most = most_neighbors(len(points), dim)
        # Uses its own random numbers, so that those of the fit do not change.
        return more_neighbors(points, dim, count, most, search, n_jobs=settings.n_jobs)


def _error_of_tangents(points: np.ndarray, dim: int, count: int, task: Task) -> TangentError | None:
    """Measure the error of curved tangents; None for others, and for too sparse a graph."""
    if task.settings.tangents != "curved":
        return None
    near = None
    if task.graph is not None:
        try:
            near = neighbors_in_graph(points, task.graph, 2 * count)
        except InputError:
            return None
    search = task.search(points) if near is None else None
    return tangent_error(points, dim, count, near=near, search=search, n_jobs=task.settings.n_jobs)


def _count_freely(fields: Eigenfields, task: Task) -> int:
    """Count the factors that the fields show, whatever number was given."""
    own = replace(fields, n_parallel=count_parallel(fields.values, fields.variation))
    return count_factors(own, random_state=task.rng).n_factors


def _whole_space(n: int, d: int) -> Tangents:
    """Return identity frames, for the dimension of the space."""
    frames = np.broadcast_to(np.eye(d), (n, d, d)).copy()
    return Tangents(frames, np.zeros(n), np.zeros(n), 0)


def _graph_for_fields(
    points: np.ndarray, dim: int, task: Task
) -> tuple[NeighborGraph, np.ndarray | None]:
    """Return the graph of the eigenproblem, and the volume per point."""
    if task.graph is not None:
        return task.graph, None
    degree = min(task.settings.n_neighbors or default_degree(dim), len(points) - 1)
    if task.searches.is_among(points):
        near = neighbors_at(points, np.arange(len(points)), degree, search=task.search(points))
    else:
        near = nearest_neighbors(
            points, degree, apart=task.apart, n_jobs=task.settings.n_jobs, random_state=task.rng
        )
    return graph_of_neighbors(near, degree), _inverse_density(near, dim)


def _inverse_density(near: Neighbors, dim: int) -> np.ndarray:
    """Return the volume per point, with rare extremes limited."""
    volume = (near.distances[:, -1] / np.median(near.distances[:, -1])) ** dim
    return np.minimum(volume, np.quantile(volume, 0.99))


def _coarse_solution(points: np.ndarray, tangents: Tangents, task: Task) -> np.ndarray | None:
    """Compute initial fields on few of the points."""
    settings = task.settings
    return coarse_start(
        points,
        tangents.frames,
        settings.n_fields,
        normalized=settings.normalized,
        n_jobs=settings.n_jobs,
        random_state=task.rng,
    )


def _enough_fields(
    laplacian: ConnectionLaplacian, start: np.ndarray | None, weights: np.ndarray | None, task: Task
) -> Eigenfields:
    """Compute the lowest eigenfields, with more of them if all may be parallel or are wanted."""
    options: dict[str, Any] = {
        "weights": weights,
        "random_state": task.rng,
        "done": task.stages.advance,
    }
    rule = task.settings.rule
    width = task.settings.n_fields if start is None else start.shape[-1]
    fields = bottom_eigenfields(laplacian, n_fields=width, start=start, rule=rule, **options)
    # A flat part of dimension f has f (f + 1) / 2 parallel fields.
    unknowns = (n_coordinates(laplacian.k) - 1) * laplacian.graph.n_points
    limit = min(MAX_FIELDS, unknowns // 2)
    while fields.n_parallel >= width - 1 and 2 * width <= limit:
        width *= 2
        more = task.rng.standard_normal((*laplacian.shape, width), dtype=np.float32)
        more[..., : width // 2] = fields.fields
        fields = bottom_eigenfields(
            laplacian, n_fields=width, start=more, top=fields.top, rule=rule, **options
        )
    wanted = (task.n_factors or 1) - 1
    if fields.n_parallel < wanted:
        fields = bottom_eigenfields(
            laplacian, n_fields=max(width, wanted + 1), n_wanted=wanted, top=fields.top, **options
        )
    return fields
