"""Preparation of points: kept directions, near copies, outliers, order and graph components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial import KDTree

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
from geodis.manifold.local.principal import (
    KeptDirections,
    PrincipalComponents,
    kept_directions,
    principal_components,
)
from geodis.manifold.local.tangents import TangentMethod
from geodis.manifold.preparation.rows import LOOKED_AT, near_copies, outlying
from geodis.manifold.split_result import Split, Task

# Rounds of outlier detection, because outliers mask each other.
OUTLIER_ROUNDS = 4
# Up to this many points, one search finds enough neighbours for outliers, dimension and tangents.
FEW_POINTS, SHARED_NEIGHBORS = 5_000, 56
# Share of the variance to keep for neighbour search; distances then change by less than 1 %.
SEARCH_VARIANCE = 1 - 1e-4


@dataclass(frozen=True)
class Prepared:
    """Points in the kept directions, with near copies merged and outliers marked.

    Attributes
    ----------
    directions : KeptDirections
        Directions with more variance than the noise.
    points : ndarray of shape (n, c)
        Coordinates in these; near copies have the same coordinates.
    outliers : ndarray of bool, shape (n,)
    n_copies : int
        Number of rows that nearly duplicate an earlier row.
    near : Neighbors or None
        Twenty neighbours of every point that is no outlier; None if a graph was given.
    further : Neighbors or None
        More neighbours for later steps, if points are few and no row was excluded or moved.
    """

    directions: KeptDirections
    points: np.ndarray
    outliers: np.ndarray
    n_copies: int
    near: Neighbors | None
    further: Neighbors | None = None

    @property
    def inside(self) -> np.ndarray:
        """The points without outliers."""
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
    """Find the directions that vary, near copies and outliers.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    task : Task
    graph_given : bool
        If neighbours are given, rows stay as they are.
    least : int
        Minimum number of directions.
    most : int, optional
        Search neighbours in at most this many principal components, and no more than hold all but
        a ten-thousandth of the variance.
    spectrum : PrincipalComponents, optional
        Of the points, if known.

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
                reduced = reduced.copy()  # may be the input array
                reduced[rows] = placed
            new = rows[outlying(near)]
        if not len(new) or not left:  # results must match the last set of outliers
            break
        outliers = outliers.copy()
        outliers[new] = True
        with task.stages.stage("principal components"):  # without the outliers
            directions, searched = _directions(points[~outliers], least, most)
    as_given = not outliers.any() and placed is inside
    return Prepared(directions, reduced, outliers, n_copies, near, further if as_given else None)


def dimension_of(prepared: Prepared, task: Task) -> DimensionEstimate:
    """Estimate the intrinsic dimension without outliers."""
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
    """Build the neighbour graph without edges to outliers, or return the given graph.

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
    """Reduce an estimated dimension until there are enough distinct points for tangents.

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
    points: np.ndarray, least: int, most: int | None, spectrum: PrincipalComponents | None = None
) -> tuple[KeptDirections, KeptDirections]:
    """Return the directions that vary, and those used for neighbour search."""
    if spectrum is None:
        spectrum = principal_components(points, random_state=0)
    kept = kept_directions(points, spectrum=spectrum, least=least)
    if most is None or kept.n_directions <= most:
        return kept, kept
    enough = int(np.searchsorted(np.cumsum(spectrum.explained), SEARCH_VARIANCE)) + 1
    return kept, replace(kept, basis=spectrum.axes[: min(enough, most)])


def _places(reduced: np.ndarray, task: Task) -> tuple[np.ndarray, int, Neighbors, Neighbors | None]:
    """Merge near copies; return points, number of copies, neighbours, and more if few points."""
    task = replace(task, apart=None)  # copies and outliers do not depend on groups and times
    n_places = len(distinct_rows(reduced)[0])
    few = n_places == len(reduced) <= FEW_POINTS
    further = _nearest(reduced, min(SHARED_NEIGHBORS if few else LOOKED_AT, n_places - 1), task)
    near = replace(
        further, indices=further.indices[:, :LOOKED_AT], distances=further.distances[:, :LOOKED_AT]
    )
    first = near_copies(near)
    if first is None:
        return reduced, 0, near, further if few else None
    reduced = reduced[first]
    n_copies = int((first != np.arange(len(first))).sum())
    near = _nearest(reduced, min(LOOKED_AT, len(reduced) - n_copies - 1), task)
    return reduced, n_copies, near, None


def _nearest(points: np.ndarray, count: int, task: Task) -> Neighbors:
    return nearest_neighbors(
        points, count, apart=task.apart, n_jobs=task.settings.n_jobs, random_state=task.rng
    )


@dataclass(frozen=True)
class Places:
    """Distinct points in spatial order.

    Attributes
    ----------
    points : ndarray of shape (p, d)
        Distinct rows in spatial order.
    rows : ndarray of int, shape (p,)
        For each of them, its row among the given points.
    place : ndarray of int, shape (n,)
        For each given point, its index among the distinct ones.
    """

    points: np.ndarray
    rows: np.ndarray
    place: np.ndarray

    def spread(self, split: Split) -> Split:
        """Extend a split of the distinct points to the given points."""
        return replace(split, axes=self._spread_axes(split.axes), rows=self.rows[split.rows])

    def _spread_axes(self, axes: np.ndarray) -> np.ndarray:
        """Extend axes to the given points, in place if possible."""
        if len(axes) != len(self.place):
            return axes[self.place]
        for j in range(axes.shape[1]):  # the largest array: avoid a copy
            axes[:, j] = axes[self.place, j]
        return axes


def distinct_places(points: np.ndarray, task: Task) -> Places:
    """Merge identical rows and put points in spatial order.

    Neighbours that are close in memory make the operator several times faster. If a graph was
    given, points stay as they are.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    task : Task

    Returns
    -------
    Places

    Examples
    --------
    >>> places = distinct_places(np.array([[3.0], [1.0], [3.0]]), Task())
    >>> places.points[places.place].ravel()
    array([3., 1., 3.])
    """
    if task.graph is not None:
        everywhere = np.arange(len(points))
        return Places(points, everywhere, everywhere)
    distinct, representative, place = distinct_rows(points)
    order = KDTree(distinct).indices
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    places = distinct[order]
    if place is None and (known := task.searches.stored(points)) is not None:
        indices, distances = known
        task.searches.store(places, (position.astype(np.int32)[indices[order]], distances[order]))
    return Places(places, representative[order], position if place is None else position[place])


def pieces_largest_first(piece: np.ndarray) -> list[np.ndarray]:
    """Return the rows of every graph component, largest first.

    Examples
    --------
    >>> pieces_largest_first(np.array([0, 1, 1]))
    [array([1, 2]), array([0])]
    """
    order = np.argsort(-np.bincount(piece), kind="stable")
    return [np.flatnonzero(piece == label) for label in order]


def task_inside(task: Task, rows: np.ndarray, n: int) -> Task:
    """Restrict a task, and a given graph, to some rows."""
    given: NeighborGraph | None = task.graph
    if len(rows) == n:
        return task
    task = task.at(rows)
    if given is None:
        return task
    return replace(task, graph=neighbor_graph(graph=given.adjacency[rows][:, rows]))


def same_factors(
    axes: np.ndarray,
    marks: Sequence[int],
    known_axes: np.ndarray,
    known_marks: Sequence[int],
    dims: Sequence[int],
) -> np.ndarray:
    """Match factors between two sets of points: for each known factor the most similar one.

    Factors of one dimension are matched by a mark first, such as whether they are flat, and then by
    their directions: the assignment maximises the sum of ``tr(M_a M_b) / |M_a| |M_b|`` with M the
    mean projection on a factor's axes over its points.

    Parameters
    ----------
    axes : ndarray of shape (n, k, d)
        Orthonormal rows grouped by factor; all finite.
    marks : sequence of int, of length m
    known_axes : ndarray of shape (p, k, d)
    known_marks : sequence of int, of length m
    dims : sequence of int, of length m
        Dimensions of the factors, the same in both sets.

    Returns
    -------
    ndarray of int, shape (m,)

    Examples
    --------
    >>> axes = np.broadcast_to(np.eye(2), (5, 2, 2))
    >>> same_factors(axes[:, ::-1], (0, 0), axes, (0, 0), (1, 1))
    array([1, 0])
    >>> same_factors(axes[:, ::-1], (0, 1), axes, (0, 1), (1, 1))
    array([0, 1])
    """
    stops = np.cumsum(dims)[:-1]
    means = [_mean_projections(own, stops) for own in (known_axes, axes)]
    similarity = np.einsum("axy,bxy->ab", *means)
    similarity += 2.0 * (np.asarray(known_marks)[:, None] == np.asarray(marks))
    similarity -= 2.0 * len(dims) ** 2 * (np.asarray(dims)[:, None] != np.asarray(dims))
    return linear_sum_assignment(-similarity)[1]


def _mean_projections(axes: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the normalised mean of A^T A over the points for every factor: (m, d, d)."""
    means = [np.einsum("nax,nay->xy", own, own) for own in np.split(axes, stops, axis=1)]
    return np.stack([mean / np.linalg.norm(mean) for mean in means])
