"""A chart: fitted points in the ambient subspace of some factors, and the quadratic fits there."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from geodis.manifold.atlas.chart_steps import stepped_axes, stepped_values
from geodis.manifold.flat.flat_axes import coordinates_from
from geodis.manifold.local.exact_search import Nearest, Search, searcher
from geodis.manifold.maps.flat_map import ClosedCoordinates

# For one nearest point a tree beats all distances by ten times and more where the points, in
# whatever space, are of few dimensions.
TREE_DIMS = 9
LEAF_POINTS = 40


def few_nearest(places: np.ndarray, dim: int) -> Search:
    """A search for the few nearest of places that lie on a manifold of so many dimensions.

    Examples
    --------
    >>> few_nearest(np.eye(12), 2)(np.eye(12)[3:4], 1)[0]
    array([[3]])
    """
    from scipy.spatial import KDTree

    if dim > TREE_DIMS:
        return searcher(places)
    # Boxes that fit the points: for one neighbour a tenth faster than even ones.
    tree = KDTree(places, leafsize=LEAF_POINTS, balanced_tree=False)

    def find(queries: np.ndarray, count: int) -> Nearest:
        distances, indices = tree.query(queries, count)
        shape = (len(queries), count)
        return indices.reshape(shape), distances.reshape(shape)

    return Search(find)


@dataclass(frozen=True)
class ChartStep:
    """Points of a chart's subspace, and the steps that lead to them.

    Attributes
    ----------
    targets : ndarray of shape (p, b)
    nearest : ndarray of int, shape (p,)
        Places of the chart.
    axes : ndarray of shape (p, k, b)
        At the points; see `stepped_axes`.
    along : ndarray of shape (p, k)
        Steps from the nearest places, in their frames.
    """

    targets: np.ndarray
    nearest: np.ndarray
    axes: np.ndarray
    along: np.ndarray


@dataclass(frozen=True, eq=False)
class LocalChart:
    """Fitted points in a subspace where their nearest neighbours are sought.

    Attributes
    ----------
    basis : ndarray of shape (b, c)
        Orthonormal rows: of the subspace, in the directions that vary.
    places : ndarray of shape (n, b)
        Distinct.
    frames : ndarray of shape (n, k, b)
    bends : ndarray of shape (n, k (k + 1) / 2, b)
        See `chart_fits`.
    radius : ndarray of shape (n,)
    mixing : ndarray of shape (k_all, k)
        Orthonormal columns: what the frames are of the axes of all factors. Zero where a chart
        gives coordinates only.
    """

    basis: np.ndarray
    places: np.ndarray
    frames: np.ndarray
    bends: np.ndarray
    radius: np.ndarray
    mixing: np.ndarray

    @cached_property
    def search(self) -> Search:
        """Among the places."""
        return few_nearest(self.places, self.frames.shape[1])

    def __getstate__(self) -> dict[str, Any]:
        """Without the search, which is soon made again."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def project(self, reduced: np.ndarray) -> np.ndarray:
        """Points (p, c) in the subspace, (p, b)."""
        return reduced if self.is_whole else reduced @ self.basis.T

    @property
    def is_whole(self) -> bool:
        """Whether the subspace is all of the space."""
        b, c = self.basis.shape
        return b == c and bool((self.basis == np.eye(c)).all())

    def step(self, targets: np.ndarray, nearest: np.ndarray | None, n_jobs: int) -> ChartStep:
        """Steps to points (p, b) of the subspace, from the nearest places or from given ones."""
        near = self.search(targets, 1)[0][:, 0] if nearest is None else nearest
        own = self.places, self.frames, self.bends, self.radius
        return ChartStep(targets, near, *stepped_axes(*own, near, targets, n_jobs=n_jobs))

    def add_axes(self, axes: np.ndarray, own: np.ndarray) -> None:
        """Add what axes (p, k, b) in the subspace are of the axes (p, k_all, c) of all factors."""
        if self.mixing.any() and not self.is_whole:
            p, k, b = own.shape
            own = (own.reshape(p * k, b) @ self.basis).reshape(p, k, -1)
        for row, column in zip(*np.nonzero(self.mixing), strict=True):
            axes[:, row] += self.mixing[row, column] * own[:, column]


@dataclass(frozen=True, eq=False)
class BentSheet:
    """Coordinates of a factor that is mapped as it is curved: a polynomial about every point.

    Attributes
    ----------
    chart : int
        Of the piece.
    own : slice
        The factor's rows of the chart's frames.
    polynomials : ndarray of shape (n, 1 + k_j + k_j (k_j + 1) / 2, r)
    """

    chart: int
    own: slice
    polynomials: np.ndarray

    @property
    def n_coordinates(self) -> int:
        """The r of the map."""
        return self.polynomials.shape[2]

    def at(self, chart: LocalChart, step: ChartStep) -> np.ndarray:
        """Coordinates (p, r) at the end of a step on the chart."""
        return stepped_values(self.polynomials, step.nearest, step.along[:, self.own])


@dataclass(frozen=True, eq=False)
class FlatSheet:
    """Coordinates of a factor that was unrolled: a step along it, closed along its periods.

    Attributes
    ----------
    chart : int
    own : slice
        As in `BentSheet`.
    flat : ndarray of shape (n, k_j)
        Unrolled coordinates.
    closed : ClosedCoordinates
    """

    chart: int
    own: slice
    flat: np.ndarray
    closed: ClosedCoordinates

    @property
    def n_coordinates(self) -> int:
        """The r of the map."""
        return self.closed.n_coordinates

    def at(self, chart: LocalChart, step: ChartStep) -> np.ndarray:
        """Coordinates (p, r) at the end of a step on the chart."""
        near = step.nearest
        frames = chart.frames[near, self.own].astype(float)
        fitted = chart.places[near], frames, self.flat[near]
        flat = coordinates_from(step.targets, step.axes[:, self.own], *fitted)
        return self.closed.close(flat)


Sheet = BentSheet | FlatSheet


@dataclass(frozen=True, eq=False)
class AtlasPiece:
    """Charts of one piece of the graph, and the sheets of the factors: none without maps."""

    charts: tuple[LocalChart, ...]
    sheets: tuple[Sheet, ...]
