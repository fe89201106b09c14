"""The three steps of the published algorithm, on points that are ready for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.base.progress import Stages
from geodis.manifold.holonomy.coarse import coarse_start
from geodis.manifold.holonomy.connection import connection
from geodis.manifold.holonomy.eigenfields import Eigenfields, bottom_eigenfields
from geodis.manifold.holonomy.factor_axes import Factors, factor_axes
from geodis.manifold.holonomy.laplacian import ConnectionLaplacian
from geodis.manifold.holonomy.symmetric import n_coordinates
from geodis.manifold.local.dimension import fewest_points
from geodis.manifold.local.graph import (
    NeighborGraph,
    default_degree,
    graph_of_neighbors,
    neighbors_in_graph,
)
from geodis.manifold.local.neighbors import Neighbors, nearest_neighbors, neighbors_at
from geodis.manifold.local.tangents import (
    Tangents,
    choose_n_neighbors,
    neighbors_for_tangents,
    tangent_frames,
)

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

    @property
    def refines(self) -> bool:
        """Whether factors are refined: the published tangents have nothing to refine."""
        return self.refinements > 0 and self.tangents == "curved"


def _silent() -> Stages:
    return Stages("", verbose=0)


def _seeded() -> np.random.Generator:
    return np.random.default_rng(0)


@dataclass(frozen=True)
class Task:
    """What all steps on one set of points share.

    Attributes
    ----------
    settings : Settings
    stages : Stages
        Timed and shown.
    rng : Generator
    graph : NeighborGraph or None
        The true neighbours, where the caller gave them.
    n_factors : int or None
        Factors, where their number is known.
    """

    settings: Settings = field(default_factory=Settings)
    stages: Stages = field(default_factory=_silent)
    rng: np.random.Generator = field(default_factory=_seeded)
    graph: NeighborGraph | None = None
    n_factors: int | None = None


def estimate_tangents(
    points: np.ndarray,
    dim: int,
    task: Task,
    *,
    rows: np.ndarray | None = None,
    count: int | None = None,
) -> Tangents:
    """Step 1: tangent frames at all points, or at some rows.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    dim : int
    task : Task
    rows : ndarray of int, shape (r,), optional
    count : int, optional
        Neighbours of each fit; as the settings say by default, or else chosen.

    Returns
    -------
    Tangents
    """
    n, d = points.shape
    settings, stages = task.settings, task.stages
    if d == dim:  # the whole space is tangent
        return whole_space(n if rows is None else len(rows), d)
    if settings.tangents == "curved" and n < fewest_points(dim):
        raise InputError(
            f"Curved tangents of dimension {dim} need at least {fewest_points(dim)} distinct "
            f"points; {n} came: give more points, or tangents='pca'."
        )
    count = count or settings.tangent_neighbors
    if count is None and settings.tangents == "pca":
        count = settings.n_neighbors or default_degree(dim)
    if count is None and task.graph is not None:
        count = neighbors_for_tangents(dim)
    if count is None:
        with stages.stage("neighbourhood size"):
            count = choose_n_neighbors(points, dim, n_jobs=settings.n_jobs, random_state=task.rng)
    with stages.stage("neighbours"):
        near = neighbors_for_fit(points, min(count, n - 1), task, rows)
    with stages.stage("tangents"):
        return tangent_frames(
            points,
            near,
            dim,
            method=settings.tangents,
            n_jobs=settings.n_jobs,
            centres=None if rows is None else points[rows],
            done=stages.advance,
        )


def whole_space(n: int, d: int) -> Tangents:
    """Frames where the dimension is that of the space: the same at every point."""
    frames = np.broadcast_to(np.eye(d), (n, d, d)).copy()
    return Tangents(frames, np.zeros(n), np.zeros(n), 0)


def neighbors_for_fit(
    points: np.ndarray, count: int, task: Task, rows: np.ndarray | None = None
) -> Neighbors:
    """Neighbours for tangent fits: along the edges where a graph was given."""
    if task.graph is not None:
        return neighbors_in_graph(points, task.graph, count)
    if rows is not None:
        return neighbors_at(points, rows, count, n_jobs=task.settings.n_jobs)
    return nearest_neighbors(points, count, n_jobs=task.settings.n_jobs, random_state=task.rng)


def solve(
    points: np.ndarray, frames: np.ndarray, task: Task, start: np.ndarray | None = None
) -> tuple[Eigenfields, Factors]:
    """Steps 2 and 3: connection Laplacian and its eigenfields; factors.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    frames : ndarray of shape (n, k, d)
    task : Task
    start : ndarray of shape (n, k (k + 1) / 2, R), optional
        Fields to start from; the solution on few of the points by default.

    Returns
    -------
    fields : Eigenfields
    factors : Factors
    """
    k = frames.shape[1]
    settings, stages = task.settings, task.stages
    graph, weights = task.graph, None
    with stages.stage("graph"):
        if graph is None:
            degree = min(settings.n_neighbors or default_degree(k), len(points) - 1)
            near = nearest_neighbors(points, degree, n_jobs=settings.n_jobs, random_state=task.rng)
            graph, weights = graph_of_neighbors(near, degree), _inverse_density(near, k)
    with stages.stage("connection"):
        transports = connection(frames, graph, n_jobs=settings.n_jobs)
    laplacian = ConnectionLaplacian(graph, transports, settings.normalized, settings.n_jobs)
    with stages.stage("eigenfields"):
        if start is None:
            start = coarse_start(
                points,
                frames,
                settings.n_fields,
                normalized=settings.normalized,
                n_jobs=settings.n_jobs,
                random_state=task.rng,
            )
        fields = _enough_fields(laplacian, start, weights, task)
    n_factors = task.n_factors
    if settings.rule == "gap" and n_factors is None:
        n_factors = min(fields.n_parallel + 1, k)  # as published: every field below the gap counts
    with stages.stage("factors"):
        factors = factor_axes(fields, n_factors, n_jobs=settings.n_jobs, random_state=task.rng)
    return fields, factors


def _enough_fields(
    laplacian: ConnectionLaplacian,
    start: np.ndarray | None,
    weights: np.ndarray | None,
    task: Task,
) -> Eigenfields:
    """Bottom eigenfields, more of them while all may be parallel or wanted."""
    options: dict[str, Any] = {
        "weights": weights,
        "random_state": task.rng,
        "done": task.stages.advance,
    }
    rule, width = task.settings.rule, task.settings.n_fields
    fields = bottom_eigenfields(laplacian, n_fields=width, start=start, rule=rule, **options)
    # On a flat part of dimension f there are f (f + 1) / 2 parallel fields.
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


def _inverse_density(near: Neighbors, dim: int) -> np.ndarray:
    """Weights of the points: the volume that each stands for, without its rare extremes."""
    volume = (near.distances[:, -1] / np.median(near.distances[:, -1])) ** dim
    return np.minimum(volume, np.quantile(volume, 0.99))
