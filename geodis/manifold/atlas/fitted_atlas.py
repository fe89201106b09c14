"""An atlas: a compact form of a fit that gives axes and coordinates at millions of points."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from geodis.base.check import GeodisWarning, InputError, check_choice, check_points
from geodis.base.jobs import blocks, check_jobs, one_blas_thread
from geodis.manifold.atlas.charts import AtlasPiece, few_nearest
from geodis.manifold.local.exact_search import Search

# What an atlas says of points.

# Rows that a sentence names.
NAMED = 5


@dataclass(frozen=True, eq=False)
class AtlasPoints:
    """Points as an atlas sees them.

    Attributes
    ----------
    axes : ndarray of shape (p, k, d) or (p, k, c)
        In the order of the factors; along the directions that vary where that was asked for.
    coordinates : ndarray of shape (p, r_0 + r_1 + ...)
        In the maps of all factors, side by side; NaN outside, and no columns without maps.
    distances : ndarray of shape (p,)
        To the nearest fitted point.
    outside : ndarray of bool, shape (p,)
        Farther from it than its neighbours are, or nearer to a fitted point without axes. The
        axes there are those of the nearest fitted points with axes.
    """

    axes: np.ndarray
    coordinates: np.ndarray
    distances: np.ndarray
    outside: np.ndarray

    def __str__(self) -> str:
        """How many lie outside, and which."""
        return outside_sentence(np.flatnonzero(self.outside), len(self.outside), self.distances)


def outside_sentence(rows: np.ndarray, total: int, distances: np.ndarray) -> str:
    """Say how many points lie outside the fitted ones, and name some.

    Parameters
    ----------
    rows : ndarray of int
        Of the points outside.
    total : int
        Of all points.
    distances : ndarray of shape (total,)
        To the nearest fitted point.

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


# New points that are worked on at once.
TARGETS = 2**16


@dataclass(frozen=True, eq=False)
class Atlas:
    """Axes and coordinates at new points, by one step from the nearest fitted one.

    Where `GeoManCER.at` fits a quadratic anew at every point, an atlas keeps the quadratics of the
    fitted points: to first order the axes turn as they say. It is made by `GeoManCER.atlas`, saved
    to one file, and needs neither the points of the fit nor the estimator.

    Attributes
    ----------
    basis : ndarray of shape (c, d)
        Directions in which the points vary.
    origin : ndarray of shape (d,)
        Where the fitted points lie on average at right angles to them.
    away : float
        How far from there a fitted point lies at most.
    places : ndarray of shape (n, c)
        Fitted points along the basis, each place once.
    piece : ndarray of int, shape (n,)
        The charts that each belongs to.
    reach : ndarray of shape (n,)
        How far its neighbours are: a point farther off lies outside.
    lost : ndarray of shape (q, c)
        Fitted points that have no axes.
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
        """Columns d of the points."""
        return self.basis.shape[1]

    @property
    def n_coordinates(self) -> tuple[int, ...]:
        """Coordinates r_j of every factor's map; empty without maps."""
        return tuple(sheet.n_coordinates for sheet in self.pieces[0].sheets)

    def at(
        self, X: Any, *, reduced: bool = False, dtype: Any = np.float64, n_jobs: int | None = None
    ) -> AtlasPoints:
        """Axes, coordinates and distances at points.

        Parameters
        ----------
        X : array-like of shape (p, d)
        reduced : bool
            Give the axes along the directions that vary, (p, k, c) instead of (p, k, d); they are
            those times `basis`.
        dtype : dtype
            Of axes and coordinates, float32 or float64.
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
        """Axes at points, shape (p, k, d), as `GeoManCER.at` gives them."""
        return self.at(X, n_jobs=n_jobs).axes

    def transform(self, X: Any, *, n_jobs: int | None = None) -> np.ndarray:
        """Coordinates of points in all factors, side by side, as `GeoManCER.transform` gives them.

        NaN outside the fitted points, with a warning that names some of these.
        """
        if not self.n_coordinates:
            raise InputError(
                "An atlas needs maps for coordinates; got one without: make it with "
                "est.atlas(coordinates=True)."
            )
        found = self.at(X, n_jobs=n_jobs)
        if found.outside.any():
            warnings.warn(f"{found}: their coordinates are NaN.", GeodisWarning, stacklevel=2)
        return found.coordinates

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`, such as ``factor0_x``."""
        names = []
        for j, r in enumerate(self.n_coordinates):
            letters = "xyz"[:r] if r <= 3 else [str(c) for c in range(r)]
            names += [f"factor{j}_{letter}" for letter in letters]
        return np.array(names, dtype=object)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all to one .safetensors file, whole or not at all; nothing is pickled."""
        from geodis.manifold.atlas.atlas_file import write_atlas

        write_atlas(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Atlas:
        """Read what `save` wrote."""
        from geodis.manifold.atlas.atlas_file import read_atlas

        return read_atlas(path)

    def __str__(self) -> str:
        """What it holds, in a line."""
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
        """Without the search, which is soon made again."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def _along_charts(self) -> np.ndarray | None:
        """A rotation (c, c) to the directions of the charts, where these fill all that vary.

        The boxes of a tree are cut across the factors then, and a fifth fewer of them are near.
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
        """Which row of its piece every place is."""
        rows = np.empty(len(self.places), np.int64)
        for label in range(len(self.pieces)):
            own = self.piece == label
            rows[own] = np.arange(own.sum())
        return rows

    def _fill(
        self, found: AtlasPoints, rows: slice, points: np.ndarray, reduced: bool, n_jobs: int
    ) -> None:
        """Write what is known of a block of points."""
        places = points @ self.basis.T
        # Queries near one another find their part of a tree in the processor's cache.
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
        """Squared distances (p,) from where the fitted points lie, at right angles to the basis."""
        if len(self.basis) == self.n_columns:
            return np.zeros(len(points))
        off = points - self.origin
        off -= (off @ self.basis.T) @ self.basis
        return np.einsum("pd,pd->p", off, off)

    def _in_piece(
        self, piece: AtlasPiece, places: np.ndarray, nearest: np.ndarray, n_jobs: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Axes (p, k, c) and coordinates (p, r) by the charts of a piece."""
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
    """An order in which places that follow one another are near."""
    from scipy.spatial import KDTree

    return KDTree(places, compact_nodes=False, balanced_tree=False).indices
