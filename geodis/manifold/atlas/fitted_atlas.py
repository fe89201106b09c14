"""The atlas: a compact form of a fit that gives axes and coordinates at millions of points."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from geodis.base.check import GeodisWarning, InputError, check_choice, check_points
from geodis.base.jobs import blocks, check_jobs, one_blas_thread
from geodis.manifold.atlas.charts import AtlasPiece, few_nearest
from geodis.manifold.local.exact_search import Search

# Largest number of rows named in a sentence.
NAMED = 5


@dataclass(frozen=True, eq=False)
class AtlasPoints:
    """Axes, coordinates and distances of points in an atlas.

    Attributes
    ----------
    axes : ndarray of shape (p, k, d) or (p, k, c)
        In the order of the factors; in the reduced space if that was requested.
    coordinates : ndarray of shape (p, r_0 + r_1 + ...)
        Coordinates in the maps of all factors; NaN outside, and no columns without maps.
    distances : ndarray of shape (p,)
        Distance to the nearest fitted point.
    outside : ndarray of bool, shape (p,)
        Whether a point is farther from the nearest fitted point than the neighbours of that point,
        or nearer to a fitted point without axes. Its axes are extrapolated from the nearest fitted
        point with axes.
    """

    axes: np.ndarray
    coordinates: np.ndarray
    distances: np.ndarray
    outside: np.ndarray

    def __str__(self) -> str:
        """Say how many points lie outside, and name some."""
        return outside_sentence(np.flatnonzero(self.outside), len(self.outside), self.distances)


def outside_sentence(rows: np.ndarray, total: int, distances: np.ndarray) -> str:
    """Say how many points lie outside the fitted ones, and name some.

    Parameters
    ----------
    rows : ndarray of int
        Rows of the points outside.
    total : int
        Number of all points.
    distances : ndarray of shape (total,)
        Distances to the nearest fitted point.

    Examples
    --------
    >>> outside_sentence(np.array([2]), 3, np.array([0.1, 0.2, 7.0]))
    '1 of 3 points lies outside the fitted ones (row 2, up to 7 from the nearest)'
    """
    if not len(rows):
        return f"all {total:,} points lie among the fitted ones"
    lie = "points lies" if len(rows) == 1 else "points lie"
    some = ", ".join(str(row) for row in rows[:NAMED].tolist())
    named = f"row {some}" if len(rows) == 1 else f"rows {some}"
    named += ", ..." if len(rows) > NAMED else ""
    farthest = distances[rows].max()
    return (
        f"{len(rows):,} of {total:,} {lie} outside the fitted ones ({named}, up to "
        f"{farthest:.3g} from the nearest)"
    )


# Number of new points in a block.
TARGETS = 2**16


@dataclass(frozen=True, eq=False)
class Atlas:
    """Axes and coordinates at new points, by one step from the nearest fitted point.

    `GeoManCER.at` fits a quadratic at every new point. An atlas stores the quadratic fits of the
    fitted points, which determine the rotation of the axes nearby. It is made by
    `GeoManCER.atlas`, is saved to one file, and needs neither the points of the fit nor the
    estimator.

    Attributes
    ----------
    basis : ndarray of shape (c, d)
        Orthonormal rows that span the reduced space, in which the points vary.
    origin : ndarray of shape (d,)
        Mean of the fitted points, from which distances to the reduced space are measured.
    away : float
        Largest distance of a point inside from the reduced space.
    places : ndarray of shape (n, c)
        Distinct fitted points in the reduced space.
    piece : ndarray of int, shape (n,)
        Number of the piece, and so the charts, of every point.
    reach : ndarray of shape (n,)
        Distance of the neighbours; a new point farther than that lies outside.
    lost : ndarray of shape (q, c)
        Fitted points without axes.
    pieces : tuple of AtlasPiece
    factor_dims : tuple of int
    flat : tuple of bool
        Which factors are flat.

    Examples
    --------
    >>> import geodis as gd
    >>> sample = gd.product_manifold("S^2 x S^2", n=1100, random_state=0)
    >>> est = gd.GeoManCER(verbose=0).fit(sample.points[:1000])
    >>> atlas = est.atlas()
    >>> new = sample.points[1000:]
    >>> found = atlas.at(new)
    >>> print(found)
    all 100 points lie among the fitted ones
    >>> true = [frames[1000:] for frames in sample.tangents]
    >>> bool(gd.subspace_angles([found.axes[:, :2], found.axes[:, 2:]], true).mean() < 0.01)
    True
    """

    basis: np.ndarray
    origin: np.ndarray
    away: float
    places: np.ndarray
    piece: np.ndarray
    reach: np.ndarray
    lost: np.ndarray
    pieces: tuple[AtlasPiece, ...]
    factor_dims: tuple[int, ...]
    flat: tuple[bool, ...]

    @property
    def dim(self) -> int:
        """Intrinsic dimension k."""
        return sum(self.factor_dims)

    @property
    def n_columns(self) -> int:
        """Number d of columns of the points."""
        return self.basis.shape[1]

    @property
    def n_coordinates(self) -> tuple[int, ...]:
        """Number r_j of coordinates of every factor's map; empty without maps."""
        return tuple(sheet.n_coordinates for sheet in self.pieces[0].sheets)

    def at(
        self, X: Any, *, reduced: bool = False, dtype: Any = np.float64, n_jobs: int | None = None
    ) -> AtlasPoints:
        """Compute axes, coordinates and distances at points.

        Parameters
        ----------
        X : array-like of shape (p, d)
        reduced : bool
            Return the axes in the reduced space, (p, k, c) instead of (p, k, d); the latter are the
            former times `basis`.
        dtype : dtype
            Type of axes and coordinates, float32 or float64.
        n_jobs : int, optional
            Threads; one by default, -1 for every core.

        Returns
        -------
        AtlasPoints
        """
        points = check_points(X, name="X", min_points=1, dtype=None)
        if points.shape[1] != self.n_columns:
            raise InputError(
                f"X must have {self.n_columns} columns as in the fit; got {points.shape[1]}."
            )
        n_jobs = check_jobs(n_jobs)
        kind = np.dtype(dtype)
        check_choice(kind.name, "dtype", ("float32", "float64"))
        p = len(points)
        width = len(self.basis) if reduced else self.n_columns
        found = AtlasPoints(
            np.empty((p, self.dim, width), kind),
            np.empty((p, sum(self.n_coordinates)), kind),
            np.empty(p),
            np.empty(p, bool),
        )
        with one_blas_thread():
            for rows in blocks(p, TARGETS):
                self._fill(found, rows, points[rows].astype(float, copy=False), reduced, n_jobs)
        return found

    def axes(self, X: Any, *, n_jobs: int | None = None) -> np.ndarray:
        """Compute axes at points, shape (p, k, d), like `GeoManCER.at`."""
        return self.at(X, n_jobs=n_jobs).axes

    def transform(self, X: Any, *, n_jobs: int | None = None) -> np.ndarray:
        """Compute coordinates of points in all factors, like `GeoManCER.transform`.

        Points outside the fitted ones have NaN, with a warning that names some of them.
        """
        if not self.n_coordinates:
            raise InputError(
                "An atlas needs maps for coordinates; got one without maps. Make it with "
                "est.atlas(coordinates=True)."
            )
        found = self.at(X, n_jobs=n_jobs)
        if found.outside.any():
            warnings.warn(f"{found}: their coordinates are NaN.", GeodisWarning, stacklevel=2)
        return found.coordinates

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Name the columns of `transform`, such as ``factor0_x``."""
        names = []
        for j, r in enumerate(self.n_coordinates):
            letters = "xyz"[:r] if r <= 3 else [str(c) for c in range(r)]
            names += [f"factor{j}_{letter}" for letter in letters]
        return np.array(names, dtype=object)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the atlas atomically to one .safetensors file, without pickling."""
        from geodis.manifold.atlas.atlas_file import write_atlas

        write_atlas(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Atlas:
        """Read an atlas written by `save`."""
        from geodis.manifold.atlas.atlas_file import read_atlas

        return read_atlas(path)

    def __str__(self) -> str:
        """Summarise the atlas in one line."""
        factors = " x ".join(
            f"{dim}{' flat' if flat else ''}"
            for dim, flat in zip(self.factor_dims, self.flat, strict=True)
        )
        maps = "with" if self.n_coordinates else "without"
        return (
            f"Atlas of {len(self.places):,} points in {len(self.basis)} of {self.n_columns} "
            f"directions, factors of dimension {factors}, {maps} maps"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the search, which is fast to recompute."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def _along_charts(self) -> np.ndarray | None:
        """Rotation (c, c) to the directions of the charts, if these span the reduced space.

        The boxes of a search tree are then aligned with the factors, and a fifth fewer are visited.
        """
        bases = [chart.basis for chart in self.pieces[0].charts]
        turn = np.concatenate(bases) if bases else np.zeros((0, len(self.basis)))
        square = len(bases) > 1 and turn.shape == (len(self.basis),) * 2
        return turn if square and np.allclose(turn @ turn.T, np.eye(len(turn)), atol=1e-9) else None

    @cached_property
    def _search(self) -> Search:
        turn = self._along_charts
        return few_nearest(self.places if turn is None else self.places @ turn.T, self.dim)

    @cached_property
    def _search_lost(self) -> Search:
        return few_nearest(self.lost, self.dim)

    @cached_property
    def _row_in_piece(self) -> np.ndarray:
        """Row of every place within its piece."""
        rows = np.empty(len(self.places), np.int64)
        for label in range(len(self.pieces)):
            own = self.piece == label
            rows[own] = np.arange(own.sum())
        return rows

    def _fill(
        self, found: AtlasPoints, rows: slice, points: np.ndarray, reduced: bool, n_jobs: int
    ) -> None:
        """Fill in the results for a block of points."""
        places = points @ self.basis.T
        # In this order, consecutive queries visit the same part of a tree, which stays in the
        # cache.
        order = _order_in_space(places)
        places = places[order]
        turn = self._along_charts
        turned = places if turn is None else places @ turn.T
        nearest, distances = (each[:, 0] for each in self._search(turned, 1))
        off = self._squared_off(points)[order]
        outside = (distances > self.reach[nearest]) | (off > self.away**2)
        if len(self.lost):
            to_lost = self._search_lost(places, 1)[1][:, 0]
            outside |= to_lost < distances
            distances = np.minimum(distances, to_lost)
        if len(self.pieces) == 1:
            axes, coordinates = self._in_piece(self.pieces[0], places, nearest, n_jobs)
        else:
            axes = np.zeros((len(places), self.dim, len(self.basis)))
            coordinates = np.empty((len(places), found.coordinates.shape[1]))
            for label in np.unique(self.piece[nearest]):
                own = np.flatnonzero(self.piece[nearest] == label)
                inside = self._in_piece(self.pieces[label], places[own], nearest[own], n_jobs)
                axes[own], coordinates[own] = inside
        coordinates[outside] = np.nan
        if not reduced:
            axes = (axes.reshape(-1, axes.shape[2]) @ self.basis).reshape(*axes.shape[:2], -1)
        found.axes[rows][order], found.coordinates[rows][order] = axes, coordinates
        found.distances[rows][order] = np.sqrt(distances**2 + off)
        found.outside[rows][order] = outside

    def _squared_off(self, points: np.ndarray) -> np.ndarray:
        """Return squared distances (p,) from the reduced space."""
        if len(self.basis) == self.n_columns:
            return np.zeros(len(points))
        off = points - self.origin
        off -= (off @ self.basis.T) @ self.basis
        return np.einsum("pd,pd->p", off, off)

    def _in_piece(
        self, piece: AtlasPiece, places: np.ndarray, nearest: np.ndarray, n_jobs: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute axes (p, k, c) and coordinates (p, r) by the charts of a piece."""
        axes = np.zeros((len(places), self.dim, len(self.basis)))
        coordinates: list[np.ndarray] = [np.empty((len(places), 0))] * len(piece.sheets)
        for number, chart in enumerate(piece.charts):
            rows = self._row_in_piece[nearest] if chart.is_whole else None
            step = chart.step(chart.project(places), rows, n_jobs)
            chart.add_axes(axes, step.axes)
            for factor, sheet in enumerate(piece.sheets):
                if sheet.chart == number:
                    coordinates[factor] = sheet.at(chart, step)
        return axes, np.hstack(coordinates) if coordinates else np.empty((len(places), 0))


def _order_in_space(places: np.ndarray) -> np.ndarray:
    """Return an order in which consecutive places are close to each other."""
    return KDTree(places, compact_nodes=False, balanced_tree=False).indices
