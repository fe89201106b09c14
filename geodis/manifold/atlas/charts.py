"""Charts of an atlas: fitted points in a subspace, with quadratic fits for axes and coordinates."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from geodis.base.jobs import njit, over_ranges
from geodis.manifold.flat.flat_axes import coordinates_from
from geodis.manifold.linalg import departure_of_rows, newton_schulz
from geodis.manifold.local.exact_search import Nearest, Search, searcher
from geodis.manifold.local.quadratic_fits import quadratic_pairs
from geodis.manifold.maps.closed_coordinates import ClosedCoordinates

# Largest number of Newton-Schulz steps; rows that turned by one radian are orthonormal after seven.
NEWTON_STEPS = 10
# Largest rotation of the axes in radians, since a quadratic extrapolates without bound.
MOST_TURNED = 1.0


def stepped_axes(
    places: np.ndarray,
    frames: np.ndarray,
    bends: np.ndarray,
    radius: np.ndarray,
    nearest: np.ndarray,
    targets: np.ndarray,
    *,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Compute axes at new points by rotating those of the nearest fitted point.

    Let t = A (x - x_i), at most as long as the radius of the fit, and N(t) = sum_b t_b D_.b. The
    step along the arc is ``s = t + N(t) N(t)^T t / 6``, and the axes are
    ``A + (1 + N(s) N(s)^T / 3) N(s)`` made orthonormal. This is exact to the fourth order on
    symmetric spaces such as spheres and rotation groups, and to the first order in changes of the
    curvature.

    Parameters
    ----------
    places : ndarray of shape (n, c)
    frames : ndarray of shape (n, k, c)
    bends : ndarray of shape (n, k (k + 1) / 2, c)
    radius : ndarray of shape (n,)
    nearest : ndarray of int, shape (p,)
    targets : ndarray of shape (p, c)
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    axes : ndarray of shape (p, k, c)
    along : ndarray of shape (p, k)
        The steps t.

    Examples
    --------
    >>> frames, bends = np.array([[[0.0, 1.0]]]), np.array([[[-1.0, 0.0]]])  # at (1, 0) of a circle
    >>> new = np.array([[np.cos(0.1), np.sin(0.1)]])
    >>> axes, _ = stepped_axes(np.eye(2)[:1], frames, bends, np.ones(1), np.zeros(1, int), new)
    >>> axes.round(3), np.sin(0.1).round(3), np.cos(0.1).round(3)
    (array([[[-0.1  ,  0.995]]]), np.float64(0.1), np.float64(0.995))
    """
    p, k, c = len(targets), *frames.shape[1:]
    axes, along = np.empty((p, k, c)), np.empty((p, k))
    pairs = quadratic_pairs(k)
    nearest = np.asarray(nearest, np.int64)
    targets = np.ascontiguousarray(targets, float)

    def work(start: int, stop: int) -> None:
        _step(places, frames, bends, radius, *pairs, nearest, targets, axes, along, start, stop)

    over_ranges(work, p, n_jobs)
    return axes, along


def stepped_values(polynomials: np.ndarray, nearest: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Evaluate the polynomials of the nearest fitted points at steps from these.

    Parameters
    ----------
    polynomials : ndarray of shape (n, 1 + k + k (k + 1) / 2, r)
        Coefficients of 1, of every axis, and of every pair a <= b.
    nearest : ndarray of int, shape (p,)
    along : ndarray of shape (p, k)

    Returns
    -------
    ndarray of shape (p, r)

    Examples
    --------
    >>> stepped_values(np.array([[[1.0], [2.0], [3.0]]]), np.zeros(1, int), np.array([[2.0]]))
    array([[17.]])
    """
    k = along.shape[1]
    values = polynomials[nearest, 0].astype(float)
    for a in range(k):
        values += along[:, a, None] * polynomials[nearest, 1 + a]
    for pair, (a, b) in enumerate(zip(*quadratic_pairs(k), strict=True)):
        values += (along[:, a] * along[:, b])[:, None] * polynomials[nearest, 1 + k + pair]
    return values


@njit(nogil=True, cache=True, error_model="numpy")
def _step(  # type: ignore[no-untyped-def]
    places, frames, bends, radius, first, second, nearest, targets, axes, along, start, stop
):  # pragma: no cover
    k, c = frames.shape[1:]
    turned, gram = np.empty((k, c)), np.empty((k, k))
    arc, column = np.empty(k), np.empty(k)
    for p in range(start, stop):
        i = nearest[p]
        length = 0.0
        for a in range(k):
            total = 0.0
            for x in range(c):
                total += frames[i, a, x] * (targets[p, x] - places[i, x])
            along[p, a] = total
            length += total * total
        if length > radius[i] ** 2:
            shorter = radius[i] / np.sqrt(length)
            for a in range(k):
                along[p, a] *= shorter
        size = _turn(bends[i], along[p], first, second, turned, gram)
        if size <= MOST_TURNED**2:
            for a in range(k):
                arc[a] = along[p, a]
                for b in range(k):
                    arc[a] += gram[a, b] * along[p, b] / 6.0
            size = _turn(bends[i], arc, first, second, turned, gram)
            for x in range(c):
                for a in range(k):
                    column[a] = turned[a, x]
                for a in range(k):
                    for b in range(k):
                        turned[a, x] += gram[a, b] * column[b] / 3.0
        share = 1.0 if size <= MOST_TURNED**2 else MOST_TURNED / np.sqrt(size)
        for a in range(k):
            for x in range(c):
                axes[p, a, x] = frames[i, a, x] + share * turned[a, x]
        _orthonormalise(axes[p], gram, column)


@njit(nogil=True, cache=True, error_model="numpy")
def _turn(bends, step, first, second, turned, gram):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Compute N_a = sum_b t_b D_ab and N N^T; return its trace."""
    k, c = turned.shape
    turned[:] = 0.0
    for pair in range(len(first)):
        a, b = first[pair], second[pair]
        for x in range(c):
            turned[a, x] += step[b] * bends[pair, x]
            if a != b:
                turned[b, x] += step[a] * bends[pair, x]
    size = 0.0
    for a in range(k):
        for b in range(a + 1):
            total = 0.0
            for x in range(c):
                total += turned[a, x] * turned[b, x]
            gram[a, b] = gram[b, a] = total
        size += gram[a, a]
    return size


@njit(nogil=True, cache=True, error_model="numpy")
def _orthonormalise(rows, gram, column):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Find the nearest orthonormal rows by iterating A <- A - (A A^T - 1) A / 2."""
    for _ in range(NEWTON_STEPS):
        worst = departure_of_rows(rows, gram)
        newton_schulz(rows, gram, column)
        if worst < 1e-8:  # convergence is quadratic
            return


# Up to this intrinsic dimension, a tree finds the nearest point ten times as fast as brute force.
TREE_DIMS = 9
LEAF_POINTS = 40


def few_nearest(places: np.ndarray, dim: int) -> Search:
    """Make a search for a few nearest neighbours on a manifold of a given dimension.

    Examples
    --------
    >>> few_nearest(np.eye(12), 2)(np.eye(12)[3:4], 1)[0]
    array([[3]])
    """
    if dim > TREE_DIMS:
        return searcher(places)
    # An unbalanced tree is a tenth faster for a single neighbour.
    tree = KDTree(places, leafsize=LEAF_POINTS, balanced_tree=False)

    def find(queries: np.ndarray, count: int) -> Nearest:
        distances, indices = tree.query(queries, count)
        shape = (len(queries), count)
        return indices.reshape(shape), distances.reshape(shape)

    return Search(find)


@dataclass(frozen=True)
class ChartStep:
    """Steps from the places of a chart to target points in its subspace.

    Attributes
    ----------
    targets : ndarray of shape (p, b)
    nearest : ndarray of int, shape (p,)
        Nearest places of the chart.
    axes : ndarray of shape (p, k, b)
        Axes at the targets; see `stepped_axes`.
    along : ndarray of shape (p, k)
        Steps from the nearest places, in their frames.
    """

    targets: np.ndarray
    nearest: np.ndarray
    axes: np.ndarray
    along: np.ndarray


@dataclass(frozen=True, eq=False)
class LocalChart:
    """Fitted points in a subspace, with the quadratic fits there.

    Attributes
    ----------
    basis : ndarray of shape (b, c)
        Orthonormal rows that span the subspace of the reduced space.
    places : ndarray of shape (n, b)
        Distinct.
    frames : ndarray of shape (n, k, b)
    bends : ndarray of shape (n, k (k + 1) / 2, b)
        See `chart_fits`.
    radius : ndarray of shape (n,)
    mixing : ndarray of shape (k_all, k)
        Orthonormal columns: the axes of all factors as combinations of the frames. Zero if a chart
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
        """Nearest-neighbour search among the places."""
        return few_nearest(self.places, self.frames.shape[1])

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the search, which is fast to recompute."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def project(self, reduced: np.ndarray) -> np.ndarray:
        """Project points (p, c) on the subspace, shape (p, b)."""
        return reduced if self.is_whole else reduced @ self.basis.T

    @property
    def is_whole(self) -> bool:
        """Whether the subspace is the whole space."""
        b, c = self.basis.shape
        return b == c and bool((self.basis == np.eye(c)).all())

    def step(self, targets: np.ndarray, nearest: np.ndarray | None, n_jobs: int) -> ChartStep:
        """Step to points (p, b) of the subspace from the nearest places, or from given ones."""
        near = self.search(targets, 1)[0][:, 0] if nearest is None else nearest
        own = self.places, self.frames, self.bends, self.radius
        return ChartStep(targets, near, *stepped_axes(*own, near, targets, n_jobs=n_jobs))

    def add_axes(self, axes: np.ndarray, own: np.ndarray) -> None:
        """Add the contribution of axes (p, k, b) to the axes (p, k_all, c) of all factors."""
        if self.mixing.any() and not self.is_whole:
            p, k, b = own.shape
            own = (own.reshape(p * k, b) @ self.basis).reshape(p, k, -1)
        for row, column in zip(*np.nonzero(self.mixing), strict=True):
            axes[:, row] += self.mixing[row, column] * own[:, column]


@dataclass(frozen=True, eq=False)
class BentSheet:
    """Coordinates of a factor with a curved map: a polynomial about every point.

    Attributes
    ----------
    chart : int
        Number of the chart in the piece.
    own : slice
        The factor's rows of the chart's frames.
    polynomials : ndarray of shape (n, 1 + k_j + k_j (k_j + 1) / 2, r)
    """

    chart: int
    own: slice
    polynomials: np.ndarray

    @property
    def n_coordinates(self) -> int:
        """Number r of coordinates of the map."""
        return self.polynomials.shape[2]

    def at(self, chart: LocalChart, step: ChartStep) -> np.ndarray:
        """Compute coordinates (p, r) at the end of a step on the chart."""
        return stepped_values(self.polynomials, step.nearest, step.along[:, self.own])


@dataclass(frozen=True, eq=False)
class FlatSheet:
    """Coordinates of an unrolled factor: a step along it, closed along the periods.

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
        """Number r of coordinates of the map."""
        return self.closed.n_coordinates

    def at(self, chart: LocalChart, step: ChartStep) -> np.ndarray:
        """Compute coordinates (p, r) at the end of a step on the chart."""
        near = step.nearest
        frames = chart.frames[near, self.own].astype(float)
        fitted = chart.places[near], frames, self.flat[near]
        flat = coordinates_from(step.targets, step.axes[:, self.own], *fitted)
        return self.closed.close(flat)


Sheet = BentSheet | FlatSheet


@dataclass(frozen=True, eq=False)
class AtlasPiece:
    """Charts of one piece of the graph, and the sheets of the factors (none without maps)."""

    charts: tuple[LocalChart, ...]
    sheets: tuple[Sheet, ...]
