"""GeoManCER: points -> how many factors, of which dimensions, along which directions."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from geodis.base.check import GeodisWarning, InputError, check_choice, check_points
from geodis.base.jobs import check_jobs
from geodis.base.notes import rebuilding
from geodis.manifold.atlas.fitted_atlas import Atlas
from geodis.manifold.atlas.make_atlas import atlas_of
from geodis.manifold.confidence.fit_confidence import FitConfidence, fit_confidence
from geodis.manifold.confidence.product_test import ProductTest, product_test_of
from geodis.manifold.denoising import SurfacePoints, denoising_of
from geodis.manifold.doubts import Doubt
from geodis.manifold.fit import fit_rows, scan_dimensions
from geodis.manifold.fit_doubts import describe_fit, fit_html, warnings_of
from geodis.manifold.fit_file import read_fit, write_fit
from geodis.manifold.fitted import Fit
from geodis.manifold.flat.flat_evidence import FlatEvidence
from geodis.manifold.holonomy.connection import Holonomy, loop_holonomy
from geodis.manifold.holonomy.eigenfields import FactorRule
from geodis.manifold.holonomy.factor_count import Departure
from geodis.manifold.local.dimension_estimate import DimensionEstimate
from geodis.manifold.local.graph import NeighborGraph
from geodis.manifold.local.principal import KeptDirections
from geodis.manifold.local.tangents import TangentMethod
from geodis.manifold.maps.explained_variance import explained_variance, write_places
from geodis.manifold.maps.factor_map import FactorMap
from geodis.manifold.maps.maps_of_fit import (
    coordinates_at,
    distances_in_factor,
    feature_names,
    maps_of,
    topologies_of,
)
from geodis.manifold.maps.walk_results import Analogy, Walk
from geodis.manifold.maps.walks_of_fit import analogy_by_factor, walk_in_factor
from geodis.manifold.out_of_sample import axes_of_fit
from geodis.manifold.preparation.row_measure import Metric, Preparation, RowMeasure
from geodis.manifold.preparation.rows import rows_to_fit
from geodis.manifold.split_result import Evidence, FlatTreatment, Settings, Split
from geodis.manifold.topology.topology_of import Topology


class _NotFitted:
    """What stands in for the fit until there is one."""

    def __get__(self, est: Any, owner: type | None = None) -> Any:
        if est is None:
            return self
        raise NotFittedError("This GeoManCER is not fitted yet: call fit first.")


def _of_fit(path: str) -> Any:
    """An attribute of the estimator that is one of its fit."""
    value = attrgetter(path)
    return property(lambda est: value(est.fitted_))


class GeoManCER(TransformerMixin, BaseEstimator):
    """Geometric Manifold Component Estimator.

    Finds how many independent factors a manifold splits into, their dimensions, and at every
    point which tangent directions belong to which factor (Pfau, Higgins, Botev and Racaniere
    2020, algorithm 1), with tangents corrected for curvature, the same factor labels at every
    point, and factors refined in their own ambient subspaces.

    Parameters
    ----------
    dim : int, "auto" or "scan"
        Intrinsic dimension k; "auto" finds the smallest whose curved fits leave nothing long, and
        "scan" fits all that may be meant where that is not clear, and keeps the fit against which
        least speaks.
    n_factors : int or "auto"
        Number of factors m; "auto" counts the combinations of the parallel eigenfields that
        commute with all of them, and one more.
    n_neighbors : int, optional
        Nearest neighbours in the graph; twice the dimension, at least 8, by default.
    tangents : {"curved", "pca"}
        "pca" is the published local principal component analysis.
    refinements : int
        0 leaves the first solution as it is; with ``tangents="pca"`` it is always left, because
        refinement fits again what those tangents do not have, their curvature.
    rule : {"parallel", "gap"}
        "gap" is the published rule: as many factors as lie below the largest gap in the
        spectrum. It never finds one factor.
    normalized : bool
        Normalise the Laplacian by degrees; the published one is not.
    tangent_neighbors : int, optional
        Neighbours of each tangent fit; chosen by balancing noise and curvature by default.
    flat : {"split", "keep"}
        What to do with a flat part, about which holonomy says nothing: unroll it to isometric
        coordinates and split these by periods and statistical independence, or leave it as one
        factor. It is also left as it is where lengths along any coordinates would be wrong by a
        fifth, and where `n_factors` is given.
    prepare : "sqrt" or callable, optional
        What is done to the rows before all else: "sqrt" takes 2 sqrt(x + 3 / 8), for counts, whose
        noise grows with them.
    metric : {"euclidean", "cosine", "correlation", "precomputed"} or callable
        How near rows are. Of "cosine" the rows are points of the unit sphere, of "correlation"
        those less their own mean. With "precomputed", X holds distances, shape (n, n), and with a
        callable of two rows these are asked for; points are then coordinates by classical scaling
        (`manifold.scaled_distances`), in which the axes are too.
    random_state : int, Generator or None
    n_jobs : int, optional
        Threads of the dense stages; 2 by default, -1 for all. The result does not depend on it.
    verbose : int
        1 shows progress on a terminal; 0 is silent.

    Attributes
    ----------
    dim_, n_factors_ : int
    factor_dims_ : ndarray of int, shape (m,)
        Sum to `dim_`, largest first.
    axes_ : ndarray of shape (n, k, d)
        Orthonormal rows grouped by factor, in the same order of factors at every point. NaN at
        outliers, and in pieces of the graph that do not split like the largest, or are too small.
    flat_ : ndarray of bool, shape (m,)
        Which factors are flat. Where the flat part was not unrolled, only those of dimension two
        or more are marked.
    flat_coordinates_ : ndarray of shape (n, f)
        Isometric coordinates along the flat factors, in their order: the latent variables up to
        sign and origin, in units of length; `flat_evidence_` has their quality. Every piece of
        the graph is unrolled on its own. No columns where nothing was unrolled.
    periods_ : tuple of ndarray of shape (b, f_j)
        For every flat factor, the periods of its coordinates in the largest piece of the graph;
        no rows where it does not close.
    flat_evidence_ : FlatEvidence or None
        How flat the flat part is, what told its factors apart, and what speaks against them.
        Independence is assumed there, not proved, and only between pairs of directions: factors
        told apart by their spread alone may be the principal axes of correlated Gaussians, which
        is said, as is curvature of the part.
    eigenvalues_ : ndarray of shape (q,)
        Bottom of the spectrum, of the whole manifold's problem.
    evidence_ : list of Evidence
        For the whole manifold first, then for every factor that was tested on its own.
    uncertain_ : bool
        Do not publish this without reading `doubts_`.
    doubts_ : tuple of Doubt
        Every reason to doubt the answer that was noticed: a `Doubt` is its sentence, and has a
        code, the numbers behind it and what to do. Maps and the product test add theirs once they
        have been asked for.
    departure_ : Departure or None
        How far the metric is from that of a product, in lengths; None with one factor, and where
        errors of the tangents cannot be measured.
    outliers_ : ndarray of bool, shape (n,)
        Points far from all others, left out of the fit; their axes are NaN.
    n_copies_ : int
        Rows that are near copies of an earlier one; such rows are one place.
    graph_ : NeighborGraph
    denoised_ : ndarray of shape (n, d)
        The points on the fitted surface; computed when first asked for, and used by nothing else.
        Noise across the surface goes, that along it stays; where it is curvature that fits leave,
        points are left alone (`denoising_` says which).
    holonomy_ : Holonomy
        Transport around loops, by factor; computed when first asked for.
    product_test_ : ProductTest
        Whether the metric of any factor depends on where one is in the others; computed from the
        maps when first asked for, as are these.
    confidence_ : FitConfidence or None
        How often refits gave the same factors, and how far their directions err at every point,
        where it was asked for.
    converged_ : bool
    history_ : list of dict
    points_ : ndarray of shape (n, d)
        What was fitted: the rows, prepared, or the coordinates that distances were scaled to.
    n_directions_ : int
        Ambient directions that were used: those that vary by more than a floor of even noise.
    directions_ : KeptDirections
        These directions, the spectrum that they were read from, and the noise.
    noise_ : float
        Standard deviation of the noise in every direction; 0.0 where no floor was seen.
    dimension_ : DimensionEstimate
        Of the dimension, also where it was given.
    sample_rows_ : ndarray of int, shape (n,), or None
        The rows of X that were fitted, where a sample was asked for.
    split_ : Split
        The whole split, factor within factor.
    seconds_ : dict of str to float
        Wall-clock time of each stage.
    peak_memory_ : float
        Peak resident memory of the process in MB, at the end of the fit.

    Examples
    --------
    >>> import geodis as gd
    >>> sample = gd.product_manifold("S^2 x S^2", n=1000, random_state=0)
    >>> est = gd.GeoManCER(verbose=0).fit(sample.points)
    >>> est.n_factors_, est.factor_dims_.tolist()
    (2, [2, 2])
    >>> true = sample.tangents
    >>> bool(gd.subspace_angles([est.subspace(0), est.subspace(1)], true).mean() < 0.01)
    True
    """

    fitted_: Fit = _NotFitted()  # type: ignore[assignment]
    dim_: int = _of_fit("dim")
    n_factors_: int = _of_fit("n_factors")
    factor_dims_: np.ndarray = _of_fit("factor_dims")
    axes_: np.ndarray = _of_fit("axes")
    flat_: np.ndarray = _of_fit("flat_factors")
    flat_coordinates_: np.ndarray = _of_fit("flat.coordinates")
    periods_: tuple[np.ndarray, ...] = _of_fit("flat.periods")
    flat_evidence_: FlatEvidence | None = _of_fit("flat.evidence")
    eigenvalues_: np.ndarray = _of_fit("eigenvalues")
    evidence_: list[Evidence] = _of_fit("evidence")
    uncertain_: bool = _of_fit("uncertain")
    doubts_: tuple[Doubt, ...] = _of_fit("all_doubts")
    departure_: Departure | None = _of_fit("split.departure")
    outliers_: np.ndarray = _of_fit("outliers")
    n_copies_: int = _of_fit("n_copies")
    graph_: NeighborGraph = _of_fit("graph")
    confidence_: FitConfidence | None = _of_fit("confidence")
    converged_: bool = _of_fit("converged")
    history_: list[dict[str, Any]] = _of_fit("split.history")
    points_: np.ndarray = _of_fit("points")
    n_directions_: int = _of_fit("directions.n_directions")
    directions_: KeptDirections = _of_fit("directions")
    noise_: float = _of_fit("directions.noise")
    dimension_: DimensionEstimate = _of_fit("dimension")
    sample_rows_: np.ndarray | None = _of_fit("sample_rows")
    split_: Split = _of_fit("split")
    seconds_: dict[str, float] = _of_fit("seconds")
    peak_memory_: float = _of_fit("peak_memory")

    def __init__(
        self,
        dim: int | Literal["auto", "scan"] = "auto",
        n_factors: int | Literal["auto"] = "auto",
        n_neighbors: int | None = None,
        tangents: TangentMethod = "curved",
        refinements: int = 2,
        *,
        rule: FactorRule = "parallel",
        normalized: bool = True,
        tangent_neighbors: int | None = None,
        flat: FlatTreatment = "split",
        prepare: Preparation | None = None,
        metric: Metric = "euclidean",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 1,
    ) -> None:
        self.dim = dim
        self.n_factors = n_factors
        self.n_neighbors = n_neighbors
        self.tangents = tangents
        self.refinements = refinements
        self.rule = rule
        self.normalized = normalized
        self.tangent_neighbors = tangent_neighbors
        self.flat = flat
        self.prepare = prepare
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        graph: Any = None,
        groups: Any = None,
        times: Any = None,
        confidence: Literal["quick", "full"] | None = None,
        sample: int | None = None,
    ) -> GeoManCER:
        """Split the manifold that the points lie on.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored
        graph : sparse matrix, array of shape (n, n) or networkx graph, optional
            The true neighbours, when they are known.
        groups : array-like of shape (n,), optional
            Trials, animals or objects: rows of one are no independent samples and are kept out of
            one another's neighbourhoods.
        times : array-like of shape (n,), optional
            When rows were recorded: those that follow one another are kept apart until the state
            has moved half as far as two random rows lie apart; of different groups none are.
        confidence : {"quick", "full"}, optional
            Say how far the fit can be trusted, in `confidence_`: by half a fit's time more, or by
            several; see `fit_confidence`. The product test is made too.
        sample : int, optional
            Fit so many rows only, an even sample that is read in one pass: X may then be a memory
            map, an HDF5 dataset, a zarr or Dask array, or anything else with a shape and slices of
            rows, larger than memory. The others are told by `atlas`.

        Returns
        -------
        self
        """
        if confidence is not None:
            check_choice(confidence, "confidence", ("quick", "full"))
        settings, measure = self._settings(), RowMeasure(self.prepare, self.metric)
        rows = rows_to_fit(
            X, measure, graph=graph, groups=groups, times=times, sample=sample, settings=settings
        )
        validate_data(self, rows.given, skip_check_array=True)
        fit_or_scan = scan_dimensions if settings.dim == "scan" else fit_rows
        self.fitted_ = fit_or_scan(rows, settings)
        if confidence is not None:
            made = partial(fit_confidence, self, quick=confidence == "quick", verbose=self.verbose)
            self.fitted_.once("confidence", made)
            with suppress(InputError):  # too few points for maps
                _ = self.product_test_
        for text in (*(one.advice for one in rows.notes), *warnings_of(self.fitted_)):
            warnings.warn(text, GeodisWarning, stacklevel=2)
        return self

    @property
    def maps_(self) -> tuple[FactorMap, ...]:
        """The map of every factor; not there, with a reason, where there are too few points."""
        return maps_of(self.fitted_)

    @property
    def has_maps(self) -> bool:
        """Whether the maps are made already."""
        return self.fitted_.made("maps") is not None

    @property
    def topology_(self) -> tuple[Topology, ...]:
        """Which space every factor is, with the evidence: see `Topology`."""
        return topologies_of(self.fitted_)

    @property
    def names_(self) -> tuple[str, ...]:
        """What every factor is, as "sphere" or "circle"; "unknown" where that cannot be told.

        That is so with too few points for maps, and where maps put points that lie apart at the
        same place.
        """
        return tuple(topology.name for topology in self.topology_)

    @property
    def holonomy_(self) -> Holonomy:
        """Transport around loops of the graph, by factor."""
        fit = self.fitted_
        axes = np.where(fit.with_axes[:, None, None], fit.axes, 0.0)
        return fit.once("holonomy", lambda: loop_holonomy(axes, fit.flat.dims, fit.graph))

    @property
    def product_test_(self) -> ProductTest:
        """Whether the metric of each factor depends on the others, and whether maps split again.

        Its doubts are added to `doubts_`.
        """
        return product_test_of(self.fitted_)

    @property
    def denoising_(self) -> SurfacePoints:
        """`denoised_`, the noise across the surface, and a sentence that says what was done."""
        return denoising_of(self.fitted_)

    @property
    def denoised_(self) -> np.ndarray:
        """Points on the fitted surface where what fits leave is noise; see `surface_points`."""
        return self.denoising_.points

    def subspace(self, factor: int) -> np.ndarray:
        """Orthonormal rows spanning one factor's subspace at every point, shape (n, k_j, d)."""
        fit = self.fitted_
        factor = fit.check_factor(factor)
        stop = sum(fit.flat.dims[: factor + 1])
        return fit.axes[:, stop - fit.flat.dims[factor] : stop]

    def at(self, points: Any) -> np.ndarray:
        """Axes at new points, in the same order of factors, shape (p, k, d).

        A fitted point gets its own axes. Elsewhere tangents are fitted among the fitted points,
        factor by factor where the factors have ambient subspaces of their own: as accurate as
        at the fitted points, as long as the new ones lie among them.

        Parameters
        ----------
        points : array-like of shape (p, d)
        """
        return axes_of_fit(self.fitted_, self.fitted_.new_points(points))

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
        return maps_of(self.fitted_)[self.fitted_.check_factor(factor)].coordinates.copy()

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
        return distances_in_factor(self.fitted_, factor, a, b)

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
        return coordinates_at(self.fitted_, self._new_points(X))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`, such as ``factor0_sphere_x``."""
        return feature_names(self.fitted_)

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
        return explained_variance(self.fitted_, self._new_points(X))

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
        own = np.hstack([one.coordinates for one in self.maps_])
        return write_places(adata, self.fitted_, own if X is None else self.transform(X), key)

    def walk(
        self,
        start: Any,
        factor: int,
        *,
        to: Any = None,
        direction: Any = None,
        length: float | None = None,
        steps: int = 16,
    ) -> Walk:
        """Move along a geodesic of one factor, with the other factors held still.

        Places lie on a geodesic of the factor's map; each is turned into a point by a local
        quadratic regression of the fitted points on their coordinates in all maps. A walk that
        leaves the data stops there, and says where.

        Parameters
        ----------
        start : int or array-like of shape (d,)
            Row of a fitted point, or a new point among them.
        factor : int
        to : int or array-like of shape (d,), optional
            Where to go, in this factor; otherwise `direction` says where.
        direction : int or array-like of shape (k_j,)
            One of the factor's axes at the start, or a combination of them; by default the
            first, or against it where there is more room.
        length : float, optional
            How far, in the units of the points; as far as the farthest point in the factor by
            default.
        steps : int
            Places, with the start and the end; they cover what could be walked.

        Returns
        -------
        Walk

        Examples
        --------
        >>> import geodis as gd
        >>> sample = gd.product_manifold("S^2 x S^1", n=2000, random_state=0)
        >>> est = gd.GeoManCER(verbose=0).fit(sample.points)
        >>> walk = est.walk(0, factor=0, length=3.0, steps=7)
        >>> still = walk.points[:, 3:] - sample.points[0, 3:]
        >>> bool(np.abs(still).max() < 0.05)
        True
        """
        return walk_in_factor(
            self.fitted_, start, factor, to=to, direction=direction, length=length, steps=steps
        )

    def analogy(self, a: Any, b: Any, c: Any, factors: Sequence[int] | None = None) -> Analogy:
        """The point d with a : b :: c : d, factor by factor.

        In every chosen factor, d is where the step from a to b leads from c:
        ``d_f = exp_c(P log_a(b))``, with the step carried along the geodesic from a to c by
        parallel transport P; in the other factors, d is c. Where a and b differ in some factors
        and a and c in others, as when an object is moved and then painted, no step is carried,
        and d is the only answer. Otherwise it depends on how the step is carried: on a rotation
        group parallel transport lies half way between turning before and turning after.

        Parameters
        ----------
        a, b, c : int or array-like of shape (d,)
            Rows of fitted points, or new points among them; all in one piece of the graph.
        factors : sequence of int, optional
            All of them by default.

        Returns
        -------
        Analogy

        Examples
        --------
        >>> import geodis as gd
        >>> angles = np.random.default_rng(0).uniform(0, 2 * np.pi, (1500, 2))
        >>> angles[:3] = [0, 0], [1, 0.5], [3, 3]
        >>> torus = np.hstack([np.cos(angles), np.sin(angles)])[:, [0, 2, 1, 3]]
        >>> est = gd.GeoManCER(verbose=0).fit(torus)
        >>> d = est.analogy(0, 1, 2).point
        >>> bool(np.allclose(np.arctan2(d[[1, 3]], d[[0, 2]]) % 6.28318, [4, 3.5], atol=0.05))
        True
        """
        return analogy_by_factor(self.fitted_, a, b, c, factors)

    def atlas(self, *, coordinates: bool = True) -> Atlas:
        """What is needed for axes and coordinates at millions of new points, apart from the fit.

        It keeps the curvature at every fitted point, which a fit itself does not: it is fitted
        again here, in no more time than the fit took. A new point then costs few searches and one
        step, five to thirty times less than `at`.

        Parameters
        ----------
        coordinates : bool
            With the maps of the factors, which are made where they are not yet.

        Returns
        -------
        Atlas

        Examples
        --------
        >>> import geodis as gd
        >>> sample = gd.product_manifold("S^2 x S^1", n=600, random_state=0)
        >>> atlas = gd.GeoManCER(verbose=0).fit(sample.points[:500]).atlas()
        >>> print(atlas)
        Atlas of 500 points in 5 of 5 directions, factors of dimension 2 x 1 flat, with maps
        >>> atlas.transform(sample.points[500:]).shape
        (100, 5)
        """
        return atlas_of(self.fitted_, coordinates=coordinates)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the fit to one file, whole or not at all; `geodis.load` reads it again.

        The file holds the fitted points too, so that new points can be told and walks taken. It
        holds no code: fits with a function for `prepare` or `metric` cannot be saved, and a
        generator for `random_state` is not kept.

        Parameters
        ----------
        path : path
            Ends in .safetensors.
        overwrite : bool
            Replace the file of an earlier fit. A file of anything else is never replaced.

        Returns
        -------
        Path

        Examples
        --------
        >>> import tempfile
        >>> import geodis as gd
        >>> points = gd.product_manifold("S^2 x S^1", n=500, random_state=0).points
        >>> est = gd.GeoManCER(verbose=0).fit(points)
        >>> path = est.save(Path(tempfile.mkdtemp()) / "fit.safetensors")
        >>> bool((gd.load(path).axes_ == est.axes_).all())
        True
        """
        columns = getattr(self, "feature_names_in_", None)
        return write_fit(path, self.fitted_, self.get_params(), columns, overwrite=overwrite)

    def to_networkx(self) -> Any:
        """The neighbour graph, each node with its piece and each factor's axes."""
        import networkx

        graph = networkx.from_scipy_sparse_array(self.graph_.adjacency, edge_attribute="weight")
        networkx.set_node_attributes(graph, dict(enumerate(self.graph_.piece.tolist())), "piece")
        networkx.set_node_attributes(graph, dict(enumerate(self.axes_)), "axes")
        return graph

    def summary(self) -> str:
        """A readable account of the fit."""
        return describe_fit(self.fitted_)

    def _new_points(self, X: Any) -> np.ndarray:
        """Points of new rows, whose columns scikit-learn compares with those of the fit."""
        fit = self.fitted_
        check_points(X, name="X", min_points=1)  # its shape, before its columns are counted
        validate_data(self, X, reset=False, skip_check_array=True)
        return fit.new_points(X)

    def _settings(self) -> Settings:
        """The parameters, checked."""
        names = {each.name for each in fields(Settings)}
        own = {name: value for name, value in self.get_params().items() if name in names}
        return Settings(**own | {"n_jobs": check_jobs(self.n_jobs, default=2)})

    def __str__(self) -> str:
        """The summary after a fit, the constructor call before."""
        return self.summary() if hasattr(self, "fitted_") else repr(self)

    def __sklearn_tags__(self) -> Any:
        """What X is: distances, where they are precomputed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    # Showing a fit, or completing its name, computes nothing that was not asked for. scikit-learn
    # reads every attribute for both, and with them maps, names and tests would be made.

    def __dir__(self) -> list[str]:
        return list(object.__dir__(self))

    @property
    def _get_fitted_attr_html(self) -> Any:
        raise AttributeError("The fitted attributes are shown by the findings alone.")

    def _repr_mimebundle_(self, **options: Any) -> Any:
        if hasattr(self, "fitted_"):
            return {"text/plain": repr(self), "text/html": fit_html(self.fitted_)}
        return super()._repr_mimebundle_(**options)

    def _repr_html_inner(self) -> str:
        if hasattr(self, "fitted_"):
            return fit_html(self.fitted_)
        return str(super()._repr_html_inner())


def load(path: str | os.PathLike[str]) -> GeoManCER:
    """Read a fit that `GeoManCER.save` wrote; it answers like the estimator that was saved.

    Parameters
    ----------
    path : path

    Returns
    -------
    GeoManCER

    Raises
    ------
    InputError
        If there is no such file, it is damaged, or holds something else.
    """
    saved = read_fit(path)
    with rebuilding(path):
        est = GeoManCER(**saved.parameters)
        est.fitted_ = saved.fit(est._settings(), RowMeasure(est.prepare, est.metric))
    est.n_features_in_ = est.fitted_.n_columns
    if saved.columns is not None:
        est.feature_names_in_ = np.array(saved.columns, dtype=object)
    return est
