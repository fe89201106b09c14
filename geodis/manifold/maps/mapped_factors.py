"""What a fitted estimator says of its factors through their maps."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import validate_data

from geodis.base.check import GeodisWarning, InputError, MissingResultError, check_int, check_points
from geodis.base.jobs import one_blas_thread
from geodis.base.progress import Stages
from geodis.manifold.coupling.same_places import (
    FEW,
    common_points,
    share_at_same_places,
)
from geodis.manifold.doubts import Doubt, doubt, each_once
from geodis.manifold.flat.flat_axes import FlatAxes
from geodis.manifold.flat.flat_evidence import FlatEvidence
from geodis.manifold.local.graph import NeighborGraph
from geodis.manifold.maps.all_maps import factor_maps
from geodis.manifold.maps.annotated_places import write_places
from geodis.manifold.maps.factor_map import FactorMap, UnrolledFactor
from geodis.manifold.maps.nearest_fitted import nearest_fitted
from geodis.manifold.maps.told_by_places import explained_variance
from geodis.manifold.preparation.row_measure import RowMeasure
from geodis.manifold.task import Settings
from geodis.manifold.topology.space_names import UNKNOWN
from geodis.manifold.topology.topology_of import Topology, nameless


class MappedFactors(TransformerMixin):
    """Coordinates, distances and names of the factors of a fitted `GeoManCER`.

    Maps are made when they are first asked for, and kept. Where they put points that lie apart at
    the same place, that is added to `doubts_` as they are made.
    """

    verbose: int
    dim_: int
    n_factors_: int
    factor_dims_: np.ndarray
    flat_: np.ndarray
    flat_coordinates_: np.ndarray
    flat_evidence_: FlatEvidence | None
    graph_: NeighborGraph
    n_features_in_: int
    doubts_: tuple[Doubt, ...]
    uncertain_: bool
    _measure: RowMeasure
    _points: np.ndarray
    _places: np.ndarray
    _basis: np.ndarray
    _flat: FlatAxes
    _maps: list[FactorMap]
    _topologies: list[Topology]

    @abstractmethod
    def at(self, points: Any) -> np.ndarray:
        """Axes at new points."""

    @abstractmethod
    def _axes_at(self, points: np.ndarray) -> np.ndarray:
        """Axes at points that are measured like the fitted ones."""

    @abstractmethod
    def _check_fitted(self) -> None: ...

    @abstractmethod
    def _settings(self) -> Settings: ...

    @property
    def maps_(self) -> tuple[FactorMap, ...]:
        """The map of every factor; not there, with a reason, where there are too few points."""
        self._check_fitted()
        if not self._maps:
            with Stages("maps of the factors", self.verbose) as stages, one_blas_thread():
                try:
                    made = factor_maps(
                        self._points,
                        self._places,
                        self._flat.axes,
                        self._flat.dims,
                        self.graph_,
                        unrolled=self._unrolled(),
                        strain=np.nan
                        if self.flat_evidence_ is None
                        else self.flat_evidence_.strain,
                        stages=stages,
                        n_jobs=self._settings().n_jobs,
                    )
                except InputError as problem:
                    raise MissingResultError(str(problem)) from problem
                if self._overlaid_by(made):
                    self.doubts_ = each_once((*self.doubts_, doubt("overlaid", "maps")))
                    self.uncertain_ = True
            self._maps.extend(made)  # in place: nothing else of the estimator changes
        return tuple(self._maps)

    @property
    def has_maps(self) -> bool:
        """Whether the maps are made already."""
        self._check_fitted()
        return bool(self._maps)

    @property
    def topology_(self) -> tuple[Topology, ...]:
        """Which space every factor is, with the evidence: see `Topology`."""
        try:
            maps = self.maps_
        except MissingResultError as problem:
            why = doubt("few-for-name", "maps", why=str(problem).rstrip("."))
            return tuple(nameless(int(dim), why) for dim in self.factor_dims_)
        if not self._topologies:
            with Stages("names of the factors", self.verbose) as stages, one_blas_thread():
                for own, flat in zip(maps, self.flat_, strict=True):
                    with stages.stage("topology"):
                        named = own.topology(bool(flat), n_jobs=self._settings().n_jobs)
                        for one in self.doubts_:
                            if one.code == "overlaid":
                                named = nameless(own.dim, one, named.evidence)
                        self._topologies.append(named)
        return tuple(self._topologies)

    @property
    def names_(self) -> tuple[str, ...]:
        """What every factor is, as "sphere" or "circle"; "unknown" where that cannot be told.

        That is so with too few points for maps, and where maps put points that lie apart at the
        same place.
        """
        return tuple(topology.name for topology in self.topology_)

    def coordinates(self, factor: int) -> np.ndarray:
        """Coordinates of the fitted points in one factor, shape (n, r_j).

        A map of the factor that is as isometric as it can be, in a space of as few dimensions as
        it needs: a sphere has three coordinates, a circle two, an open flat part its unrolled
        ones. It is centred, and turned alike every time: its first direction is that in which
        the first clear column of the points grows; what closes along its periods is centred on
        its circles. NaN where a point has no axes; coordinates of different pieces of the graph
        have nothing in common.

        Parameters
        ----------
        factor : int
        """
        return self._map(factor).coordinates.copy()

    def factor_distances(self, factor: int, a: Any, b: Any) -> np.ndarray:
        """How far apart fitted points are in one factor alone.

        Parameters
        ----------
        factor : int
        a, b : int or array-like of int
            Rows of the fitted points; broadcast against each other.

        Returns
        -------
        ndarray
            Lengths of geodesics, in the units of the points: ``d_f`` with
            ``d^2 = sum_f d_f^2`` in a product. Infinite between pieces of the graph.
        """
        chosen = self._map(factor)
        a, b = self._check_rows(a, "a"), self._check_rows(b, "b")
        try:
            a, b = np.broadcast_arrays(a, b)
        except ValueError as error:
            raise InputError(
                f"a and b must be as many rows, or one of them one; got shapes {a.shape} and "
                f"{b.shape}."
            ) from error
        found = chosen.distances(a.ravel(), b.ravel(), n_jobs=self._settings().n_jobs)
        return found.reshape(a.shape)

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of points in all factors, side by side: (p, r_0 + r_1 + ...).

        A fitted point gets its own, others what steps from the nearest fitted points lead to:
        NaN beside a fitted point without coordinates, and beyond the reach of the fitted points.
        Where there are too few points for maps, all are NaN, as many columns as there are
        dimensions.

        Parameters
        ----------
        X : array-like of shape (p, d)
        """
        self._check_fitted()
        check_points(X, name="X", min_points=1)  # its shape, before its columns are counted
        validate_data(self, X, reset=False, skip_check_array=True)
        points = self._measure.new_points(X, self.n_features_in_)
        try:
            _ = self.maps_
        except MissingResultError as problem:
            warnings.warn(f"{problem} All coordinates are NaN.", GeodisWarning, stacklevel=2)
            return np.full((len(points), self.dim_), np.nan)
        axes = self._axes_at(points) @ self._basis.T
        places = points @ self._basis.T
        n_jobs = self._settings().n_jobs
        with one_blas_thread():
            coordinates = np.hstack(self._coordinates_at(places, axes, n_jobs))
        near = nearest_fitted(self._places, places, n_jobs=n_jobs)
        lost = near.beyond | ~self._with_axes[near.rows]
        coordinates[lost] = np.nan
        if lost.any():
            warnings.warn(
                f"{lost.sum():,} of {len(lost):,} points lie beyond the fitted ones, or beside one "
                "without coordinates: theirs are NaN.",
                GeodisWarning,
                stacklevel=2,
            )
        return coordinates

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`, such as ``factor0_sphere_x``."""
        names = []
        topologies = self.topology_  # makes the maps, where there can be any
        widths = [own.n_coordinates for own in self._maps] or [int(k) for k in self.factor_dims_]
        for j, (r, topology) in enumerate(zip(widths, topologies, strict=True)):
            letters = "xyz"[:r] if r <= 3 else [str(c) for c in range(r)]
            kind = "" if topology.name == UNKNOWN else f"{topology.short}_"
            names += [f"factor{j}_{kind}{letter}" for letter in letters]
        return np.array(names, dtype=object)

    def score(self, X: Any, y: Any = None) -> float:
        """How much of points is told by where they lie on the maps of all factors: R^2, 1 at best.

        ``1 - sum |x - f(t(x))|^2 / sum |x - mean|^2`` with t the coordinates of `transform` and f
        their inverse by local regression of the fitted points; points without coordinates count
        as not told, which gives 0 where there are no maps. Meant for points that were held out, as
        `GridSearchCV` does, and for fits of the same dimension: more dimensions tell more, noise
        among it. It says nothing of whether the factors are right, for any split of a chart tells
        as much; `doubts_` and `confidence_` do.

        Parameters
        ----------
        X : array-like of shape (p, d)
        y : ignored
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GeodisWarning)  # points without places lower the score
            places = self.transform(X)
        if not self.has_maps:
            return 0.0
        points = self._measure.new_points(X, self.n_features_in_)
        own = np.hstack([one.coordinates for one in self.maps_])
        return explained_variance(own, self._points, places, points)

    def write_obsm(self, adata: Any, X: Any = None, *, key: str = "X_geodis") -> Any:
        """Write where the rows of an AnnData object lie on the map of every factor into its `obsm`.

        ``obsm[key]`` has all coordinates side by side, ``obsm[key + "_factor0"]`` and so on those
        of a factor, as plots of embeddings take them, and ``uns["geodis"]`` what the factors are.

        Parameters
        ----------
        adata : AnnData
            Changed in place.
        X : array-like of shape (n_obs, d), optional
            Rows for `transform`, where not the rows of the object were fitted but others.
        key : str

        Returns
        -------
        AnnData
            The same object.
        """
        places = [one.coordinates for one in self.maps_]
        whole = np.hstack(places) if X is None else self.transform(X)
        return write_places(adata, whole, [own.shape[1] for own in places], self, key)

    @property
    def _with_axes(self) -> np.ndarray:
        """Which of the fitted points have axes, shape (n,)."""
        return np.isfinite(self._flat.axes).all(axis=(1, 2))

    def _overlaid_by(self, maps: Sequence[FactorMap]) -> bool:
        """Whether these maps have points that lie apart at the same place."""
        n_jobs = self._settings().n_jobs
        try:
            rows, edges = common_points(
                maps, self._places, self._flat.axes, self.graph_, n_jobs=n_jobs
            )
        except InputError:  # too few points that all maps share
            return False
        return share_at_same_places(maps, self._places, rows, edges, n_jobs=n_jobs) > FEW

    def _map(self, factor: int) -> FactorMap:
        return self.maps_[self._check_factor(factor)]

    def _coordinates_at(
        self, places: np.ndarray, axes: np.ndarray, n_jobs: int | None
    ) -> list[np.ndarray]:
        """Coordinates (p, r_j) of other places in every factor, with the axes (p, k, c) there."""
        bounds = pairwise(np.cumsum([0, *self.factor_dims_]))
        return [
            own.at(places, axes[:, start:stop], n_jobs=n_jobs)
            for own, (start, stop) in zip(self.maps_, bounds, strict=True)
        ]

    def _check_factor(self, factor: Any) -> int:
        self._check_fitted()
        return check_int(factor, "factor", low=0, high=self.n_factors_ - 1)

    def _check_rows(self, rows: Any, name: str) -> np.ndarray:
        asked = np.asarray(rows)
        asked = asked if asked.size else asked.astype(int)
        n = len(self._points)
        if not np.issubdtype(asked.dtype, np.integer):
            raise InputError(f"{name} must be rows of the fitted points, integers; got {rows!r}.")
        if asked.size and not (-n <= asked.min() and asked.max() < n):
            outside = asked[(asked < -n) | (asked >= n)].ravel()
            raise InputError(f"{name} must be rows of the {n:,} fitted points; got {outside[0]}.")
        return np.where(asked < 0, asked + n, asked)

    def _unrolled(self) -> list[UnrolledFactor | None]:
        """Unrolled coordinates of every factor; None of those that were not."""
        known: list[UnrolledFactor | None] = []
        column, flat = 0, 0
        for dim, is_flat in zip(self.factor_dims_, self.flat_, strict=True):
            if not is_flat or not self.flat_coordinates_.shape[1]:
                known.append(None)
                continue
            pieces = [(piece.rows, piece.periods[flat]) for piece in self._flat.pieces]
            own = self.flat_coordinates_[:, column : column + dim]
            known.append(UnrolledFactor(own, tuple(pieces)))
            column, flat = column + dim, flat + 1
        return known
