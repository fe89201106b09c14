"""Points -> the places to solve on: distinct, in spatial order, a piece of the graph at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import KDTree

from geodis.manifold.local.graph import NeighborGraph, neighbor_graph
from geodis.manifold.local.neighbors import distinct_rows
from geodis.manifold.split_result import Split
from geodis.manifold.task import Task


@dataclass(frozen=True)
class Places:
    """Where a set of points lies, each place once.

    Attributes
    ----------
    points : ndarray of shape (p, d)
        Distinct rows in spatial order.
    rows : ndarray of int, shape (p,)
        The row of the given points that each place is.
    place : ndarray of int, shape (n,)
        The place of each given point.
    """

    points: np.ndarray
    rows: np.ndarray
    place: np.ndarray

    def spread(self, split: Split) -> Split:
        """A split of the places as one of the given points."""
        return replace(split, axes=self._given(split.axes), rows=self.rows[split.rows])

    def _given(self, axes: np.ndarray) -> np.ndarray:
        """Axes of the places, which are overwritten, as those of the given points."""
        if len(axes) != len(self.place):
            return axes[self.place]
        for j in range(axes.shape[1]):  # of a million points the largest array: never held twice
            axes[:, j] = axes[self.place, j]
        return axes


def distinct_places(points: np.ndarray, task: Task) -> Places:
    """Put points in spatial order, identical rows once.

    Neighbours that lie side by side in memory make the operator several times faster, and
    identical rows are one place. Where the graph was given, points stay as they are.

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
    if place is None and (known := task.searches.told(points)) is not None:
        indices, distances = known
        task.searches.tell(places, (position.astype(np.int32)[indices[order]], distances[order]))
    return Places(places, representative[order], position if place is None else position[place])


def pieces_largest_first(piece: np.ndarray) -> list[np.ndarray]:
    """Rows of every piece of a graph.

    Examples
    --------
    >>> pieces_largest_first(np.array([0, 1, 1]))
    [array([1, 2]), array([0])]
    """
    order = np.argsort(-np.bincount(piece), kind="stable")
    return [np.flatnonzero(piece == label) for label in order]


def task_inside(task: Task, rows: np.ndarray, n: int) -> Task:
    """The task for some rows: a graph that was given is cut to them."""
    given: NeighborGraph | None = task.graph
    if len(rows) == n:
        return task
    task = task.at(rows)
    if given is None:
        return task
    return replace(task, graph=neighbor_graph(graph=given.adjacency[rows][:, rows]))
