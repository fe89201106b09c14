"""Nearest fitted points of new points, and samples of points to which maps are fitted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components

from geodis.base.check import InputError
from geodis.base.jobs import blocks
from geodis.manifold.flat.differences import Edges, edges_of
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.local.graph import (
    NeighborGraph,
    graph_of_neighbors,
    neighbor_graph,
    neighbors_in_graph,
)
from geodis.manifold.local.neighbors import distinct_rows, nearest_neighbors

# A new point lies within the data if the nearest fitted point is nearer than its own neighbour of
# this rank.
WITHIN_REACH = 40


@dataclass(frozen=True)
class NearestFitted:
    """The nearest fitted point of every target.

    Attributes
    ----------
    rows : ndarray of int, shape (p,)
    distances : ndarray of shape (p,)
    reach : ndarray of shape (p,)
        Distance of that fitted point to the last of its `count` nearest neighbours; infinite if the
        target is a fitted point.
    count : int
    """

    rows: np.ndarray
    distances: np.ndarray
    reach: np.ndarray
    count: int

    @property
    def beyond(self) -> np.ndarray:
        """Which targets lie outside the data, shape (p,)."""
        return self.distances > self.reach


def nearest_fitted(
    places: np.ndarray, targets: np.ndarray, *, n_jobs: int | None = None
) -> NearestFitted:
    """Find the nearest fitted point of each target, and the distance of its neighbours.

    Parameters
    ----------
    places : ndarray of shape (n, c)
        The fitted points.
    targets : ndarray of shape (p, c)
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    NearestFitted

    Examples
    --------
    >>> line = np.arange(100.0)[:, None]
    >>> near = nearest_fitted(line, np.array([[50.4], [-60.0]]))
    >>> near.rows.tolist(), near.reach.tolist(), near.beyond.tolist()
    ([50, 0], [20.0, 39.0], [False, True])
    """
    search = searcher(places, n_jobs=n_jobs)
    near, distances = search(targets, 1)
    rows, apart = near[:, 0], distances[:, 0]
    reach = np.full(len(rows), np.inf)
    count = min(WITHIN_REACH, len(places))
    new = np.flatnonzero(apart > 0)
    if len(new):
        reach[new] = search(places[rows[new]], count)[1][:, -1]
    return NearestFitted(rows, apart, reach, count)


# Largest number of points to which a map is fitted. Maps are smooth and extend to all others.
MOST_POINTS = 6000
# Smallest number of points for a map, in general and on a manifold of dimension one.
FEWEST_POINTS, FEWEST_ON_CURVES = 300, 10
# Number of neighbours; at most this fraction of the points, so that a small circle has no edges
# across.
NEIGHBORS, FEWEST_NEIGHBORS, PART = 40, 3, 7
# Smallest squared share of an edge in the tangent spaces at its ends. Edges below are shortcuts, as
# between the turns of a roll; an arc of two radians still has .29.
ALONG = 0.25
BLOCK = 2**16


@dataclass(frozen=True)
class CoarseSample:
    """A sample of points to which maps are fitted, with edges.

    Attributes
    ----------
    rows : ndarray of int, shape (c,)
    edges : Edges
        Edges between the sampled points, numbered from 0 to c - 1.
    """

    rows: np.ndarray
    edges: Edges


def fewest_for_maps(dim: int) -> int:
    """Return the smallest number of points for a map on a manifold of a dimension."""
    return FEWEST_ON_CURVES if dim == 1 else FEWEST_POINTS


def coarse_sample(
    points: np.ndarray,
    rows: np.ndarray,
    axes: np.ndarray,
    *,
    given: NeighborGraph | None = None,
    n_jobs: int | None = None,
) -> CoarseSample:
    """Sample points at random without copies, and connect neighbours.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    rows : ndarray of int, shape (r,)
        Rows of one piece, to sample from.
    axes : ndarray of shape (n, k, d)
        Orthonormal rows that span the tangent spaces of all factors.
    given : NeighborGraph, optional
        The true neighbours of all points, if distances are misleading. It is used only if no points
        are left out, which would cut its edges.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    CoarseSample

    Examples
    --------
    >>> points = np.random.default_rng(0).standard_normal((500, 2))
    >>> axes = np.broadcast_to(np.eye(2), (500, 2, 2))
    >>> sample = coarse_sample(points, np.arange(400), axes)
    >>> len(sample.rows), sample.edges.n
    (400, 400)
    """
    rng = np.random.default_rng(0)
    fewest = fewest_for_maps(axes.shape[1])
    distinct = rows[distinct_rows(points[rows])[1]]
    if len(distinct) < fewest:
        raise InputError(
            f"A map of a factor needs at least {fewest} points in one piece, all distinct; "
            f"got {len(distinct)}."
        )
    chosen = np.sort(distinct)
    if len(chosen) > MOST_POINTS:
        chosen = np.sort(rng.choice(chosen, MOST_POINTS, replace=False))
    count = min(NEIGHBORS, max(len(chosen) // PART, FEWEST_NEIGHBORS))
    graph = None
    if given is not None and len(chosen) == len(rows):
        own = neighbor_graph(graph=given.adjacency[chosen][:, chosen])
        try:
            near = neighbors_in_graph(points[chosen], own, count)
            graph = graph_of_neighbors(near, near.indices.shape[1])
        except InputError:  # too sparse; use its edges alone
            graph = own
    while graph is None:
        near = nearest_neighbors(points[chosen], count, n_jobs=n_jobs, random_state=rng)
        graph = graph_of_neighbors(near, count)
        if graph.n_pieces > 1 and 2 * count < len(chosen):  # a gap that more neighbours may bridge
            graph, count = None, 2 * count
    edges = edges_of(graph)
    along = _along(points[chosen], axes[chosen], edges)
    if not along.all():
        fewer = Edges(edges.i[along], edges.j[along], edges.n)
        if connected_components(fewer.symmetric(np.ones(len(fewer))), directed=False)[0] == 1:
            edges = fewer
    return CoarseSample(chosen, edges)


def _along(points: np.ndarray, axes: np.ndarray, edges: Edges) -> np.ndarray:
    """Find the edges that lie along the tangent spaces at both ends."""
    along = np.empty(len(edges), bool)
    for rows in blocks(len(edges), BLOCK):
        i, j = edges.i[rows], edges.j[rows]
        chord = (points[j] - points[i])[..., None]
        seen = [(axes[end] @ chord)[..., 0] for end in (i, j)]
        least = np.minimum(*((own**2).sum(axis=1) for own in seen))
        along[rows] = least > ALONG * (chord[..., 0] ** 2).sum(axis=1)
    return along
