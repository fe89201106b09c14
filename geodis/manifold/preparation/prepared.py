"""Points -> what a fit works on: kept directions, near copies at one place, outliers marked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geodis.manifold.local.dimension import intrinsic_dimension
from geodis.manifold.local.dimension_estimate import DimensionEstimate, fewest_points
from geodis.manifold.local.graph import (
    NeighborGraph,
    connecting_degree,
    graph_among,
    graph_of_neighbors,
    neighbor_graph,
)
from geodis.manifold.local.neighbors import Neighbors, distinct_rows, nearest_neighbors
from geodis.manifold.local.tangents import TangentMethod
from geodis.manifold.preparation.principal import (
    KeptDirections,
    PrincipalComponents,
    kept_directions,
    principal_components,
)
from geodis.manifold.preparation.sampling_scale import LOOKED_AT, near_copies, outlying
from geodis.manifold.task import Task

# Outliers hide one another: what is left is looked at again, so many times.
OUTLIER_ROUNDS = 4
# Of so few points the estimates of the dimension ask for fifty neighbours of at least every other
# point, and tangents of dimension six for so many of all: one search is less than three.
FEW_POINTS, ASKED_FOR = 5_000, 56
# Distances change by less than a hundredth where this part of the variance is kept.
SEARCH_VARIANCE = 1 - 1e-4


@dataclass(frozen=True)
class Prepared:
    """Points in the directions that are kept, near copies as one place, outliers marked.

    Attributes
    ----------
    directions : KeptDirections
        Those in which the points vary by more than noise.
    points : ndarray of shape (n, c)
        Along them; near copies have the same coordinates.
    outliers : ndarray of bool, shape (n,)
    n_copies : int
        Rows that are near copies of an earlier row.
    near : Neighbors or None
        Twenty neighbours of every point but the outliers, among these; None where a graph was
        given.
    further : Neighbors or None
        As many more of few points as others will ask for, where no row was left out or moved.
    """

    directions: KeptDirections
    points: np.ndarray
    outliers: np.ndarray
    n_copies: int
    near: Neighbors | None
    further: Neighbors | None = None

    @property
    def inside(self) -> np.ndarray:
        """The points that are no outliers, in their order."""
        return self.points[~self.outliers] if self.outliers.any() else self.points


def prepared(
    points: np.ndarray,
    task: Task,
    *,
    graph_given: bool = False,
    least: int = 1,
    most: int | None = None,
    spectrum: PrincipalComponents | None = None,
) -> Prepared:
    """Find the directions that matter, near copies and outliers.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    task : Task
    graph_given : bool
        The neighbours are given: rows stay as they are.
    least : int
        Directions that are needed: a dimension that was given.
    most : int, optional
        Where more directions vary, look for neighbours in so many principal components at most, and
        no more than hold all but a ten-thousandth of the variance.
    spectrum : PrincipalComponents, optional
        Of the points, where they are known.

    Returns
    -------
    Prepared

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.vstack([rng.uniform(size=(200, 2)), [[9.0, 9.0]]])
    >>> np.flatnonzero(prepared(rows, Task()).outliers).tolist()
    [200]
    """
    outliers = np.zeros(len(points), bool)
    with task.stages.stage("principal components"):
        directions, searched = _directions(points, least, most, spectrum)
    if graph_given:
        return Prepared(directions, searched.project(points), outliers, 0, None)
    for left in reversed(range(OUTLIER_ROUNDS)):
        with task.stages.stage("sampling"):
            rows = np.flatnonzero(~outliers)
            reduced = searched.project(points)
            inside = reduced[rows] if outliers.any() else reduced
            placed, n_copies, near, further = _places(inside, task)
            if placed is not inside:
                reduced = reduced.copy()  # may be the points themselves
                reduced[rows] = placed
            new = rows[outlying(near)]
        if not len(new) or not left:  # what was looked at last is what is returned
            break
        outliers = outliers.copy()
        outliers[new] = True
        with task.stages.stage("principal components"):  # those of outliers are not the others'
            directions, searched = _directions(points[~outliers], least, most)
    as_given = not outliers.any() and placed is inside
    return Prepared(directions, reduced, outliers, n_copies, near, further if as_given else None)


def dimension_of(prepared: Prepared, task: Task) -> DimensionEstimate:
    """The dimension of prepared points, without outliers."""
    apart = task.apart
    with task.stages.stage("dimension"):
        return intrinsic_dimension(
            prepared.inside,
            directions=prepared.directions,
            neighbors=prepared.further if apart is None else None,
            apart=None if apart is None else apart.rows(np.flatnonzero(~prepared.outliers)),
            n_jobs=task.settings.n_jobs,
            random_state=0,
        )


def graph_of(prepared: Prepared, dim: int, task: Task, given: Any) -> NeighborGraph:
    """The graph that was given, or that of the nearest neighbours, without edges to outliers.

    Parameters
    ----------
    prepared : Prepared
    dim : int
    task : Task
    given : graph or None
    """
    points, near = prepared.points, prepared.near
    if given is not None or near is None:
        return neighbor_graph(points, graph=given, n_jobs=task.settings.n_jobs)
    rows = np.flatnonzero(~prepared.outliers)
    degree = task.settings.n_neighbors or connecting_degree(dim)
    if task.apart is not None:
        near = _nearest(points[rows], degree, task.at(rows))
    elif degree > near.indices.shape[1]:
        degree = min(degree, len(distinct_rows(points[rows])[0]) - 1)
        near = _nearest(points[rows], degree, task)
    graph = graph_of_neighbors(near, degree)
    return graph if len(rows) == len(points) else graph_among(graph, rows, len(points))


def supported_dim(dim: int, points: np.ndarray, tangents: TangentMethod) -> int:
    """An estimated dimension, or the largest below it that so many places have tangents for.

    Examples
    --------
    >>> points = np.random.default_rng(0).standard_normal((40, 9))
    >>> supported_dim(3, points, "curved"), supported_dim(6, points, "curved")
    (3, 4)
    """
    dim = min(dim, points.shape[1])
    n_places = len(distinct_rows(points)[0])
    while tangents == "curved" and 1 < dim < points.shape[1] and fewest_points(dim) > n_places:
        dim -= 1
    return dim


def _directions(
    points: np.ndarray,
    least: int,
    most: int | None,
    spectrum: PrincipalComponents | None = None,
) -> tuple[KeptDirections, KeptDirections]:
    """The directions that vary, and those in which neighbours are looked for."""
    if spectrum is None:
        spectrum = principal_components(points, random_state=0)
    kept = kept_directions(points, spectrum=spectrum, least=least)
    if most is None or kept.n_directions <= most:
        return kept, kept
    enough = int(np.searchsorted(np.cumsum(spectrum.explained), SEARCH_VARIANCE)) + 1
    return kept, replace(kept, basis=spectrum.axes[: min(enough, most)])


def _places(reduced: np.ndarray, task: Task) -> tuple[np.ndarray, int, Neighbors, Neighbors | None]:
    """Points with near copies at one place, how many those are, neighbours, and more of few."""
    task = replace(task, apart=None)  # copies and outliers are the same whenever they were recorded
    n_places = len(distinct_rows(reduced)[0])
    few = n_places == len(reduced) <= FEW_POINTS
    further = _nearest(reduced, min(ASKED_FOR if few else LOOKED_AT, n_places - 1), task)
    near = _first(further, LOOKED_AT)
    first = near_copies(near)
    if first is None:
        return reduced, 0, near, further if few else None
    reduced = reduced[first]
    n_copies = int((first != np.arange(len(first))).sum())
    near = _nearest(reduced, min(LOOKED_AT, len(reduced) - n_copies - 1), task)
    return reduced, n_copies, near, None


def _first(near: Neighbors, count: int) -> Neighbors:
    return replace(near, indices=near.indices[:, :count], distances=near.distances[:, :count])


def _nearest(points: np.ndarray, count: int, task: Task) -> Neighbors:
    return nearest_neighbors(
        points, count, apart=task.apart, n_jobs=task.settings.n_jobs, random_state=task.rng
    )
