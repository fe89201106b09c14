"""A chart: fitted points in the ambient subspace of some factors, and the quadratic fits there."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from geodis.base.jobs import check_jobs
from geodis.manifold.atlas.chart_steps import add_mixed_axes, stepped_axes, stepped_values
from geodis.manifold.flat.flat_axes import coordinates_from
from geodis.manifold.local.exact_search import Nearest, Search, searcher
from geodis.manifold.maps.flat_map import ClosedCoordinates

# For one nearest point a tree beats all distances by ten times and more where the points, in
# whatever space, are of few dimensions.
TREE_DIMS = 9
LEAF_POINTS = 40


def few_nearest(places: np.ndarray, dim: int, n_jobs: int | None = None) -> Search:
    """A search for the few nearest of places that lie on a manifold of so many dimensions.

    Examples
    --------
    >>> few_nearest(np.eye(12), 2)(np.eye(12)[3:4], 1)[0]
    array([[3]])
    """
    if dim <= TREE_DIMS:
        return _nearest_by_tree(places, check_jobs(n_jobs))
    return searcher(places, n_jobs=n_jobs)


def _nearest_by_tree(places: np.ndarray, n_jobs: int) -> Search:
    """A tree whose boxes fit the points: for one neighbour a tenth faster than of even ones."""
    from scipy.spatial import KDTree

    tree = KDTree(places, leafsize=LEAF_POINTS, balanced_tree=False)

    def find(queries: np.ndarray, count: int) -> Nearest:
        distances, indices = tree.query(queries, count, workers=n_jobs)
        shape = (len(queries), count)
        return indices.reshape(shape), distances.reshape(shape)

    return Search(find)


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

    def axes(
        self, nearest: np.ndarray, own: np.ndarray, n_jobs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Axes (p, k, b) and steps (p, k) at points (p, b) of the subspace; see `stepped_axes`."""
        return stepped_axes(
            self.places, self.frames, self.bends, self.radius, nearest, own, n_jobs=n_jobs
        )

    def add_axes(self, axes: np.ndarray, own: np.ndarray) -> None:
        """Add what axes (p, k, b) in the subspace are of the axes (p, k_all, c) of all factors."""
        if not self.mixing.any():
            return
        add_mixed_axes(axes, own, self.mixing, self.basis, whole=self.is_whole)


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

    def at(
        self,
        chart: LocalChart,
        nearest: np.ndarray,
        own: np.ndarray,
        axes: np.ndarray,
        along: np.ndarray,
        n_jobs: int | None = None,
    ) -> np.ndarray:
        """Coordinates (p, r) of points (p, b) with axes (p, k, b) and steps (p, k)."""
        return stepped_values(self.polynomials, nearest, along[:, self.own], n_jobs=n_jobs)


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
    turn : ndarray of shape (r, r')
        See `UnrolledPiece`.
    """

    chart: int
    own: slice
    flat: np.ndarray
    closed: ClosedCoordinates
    turn: np.ndarray

    @property
    def n_coordinates(self) -> int:
        """The r of the map."""
        return len(self.turn)

    def at(
        self,
        chart: LocalChart,
        nearest: np.ndarray,
        own: np.ndarray,
        axes: np.ndarray,
        along: np.ndarray,
        n_jobs: int | None = None,
    ) -> np.ndarray:
        """Coordinates (p, r) of points (p, b) with axes (p, k, b) and steps (p, k)."""
        flat = coordinates_from(
            own,
            axes[:, self.own],
            chart.places[nearest],
            chart.frames[nearest, self.own].astype(float),
            self.flat[nearest],
        )
        return self.closed.close(flat) @ self.turn.T


Sheet = BentSheet | FlatSheet


@dataclass(frozen=True, eq=False)
class AtlasPiece:
    """Charts of one piece of the graph, and the sheets of the factors: none without maps."""

    charts: tuple[LocalChart, ...]
    sheets: tuple[Sheet, ...]
