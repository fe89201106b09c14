"""GeoManCER: the number, dimensions and directions of the factors of a manifold."""

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
    """Placeholder for the fit: any access raises NotFittedError."""

    def __get__(self, est: Any, owner: type | None = None) -> Any:
        if est is None:
            return self
        raise NotFittedError("This GeoManCER is not fitted yet: call fit first.")


def _of_fit(path: str) -> Any:
    """Return a property that reads an attribute of the fit."""
    value = attrgetter(path)
    return property(lambda est: value(est.fitted_))


class GeoManCER(TransformerMixin, BaseEstimator):
    """Geometric Manifold Component Estimator.

    Estimates how many independent factors a manifold has, their dimensions, and which tangent
    directions belong to which factor at every point (Pfau, Higgins, Botev and Racaniere 2020,
    algorithm 1). Tangents are corrected for curvature, factors keep their labels across points,
    and each factor is refined in its own ambient subspace.

    Parameters
    ----------
    dim : int, "auto" or "scan"
        Intrinsic dimension k. "auto" estimates it; "scan" fits every plausible dimension when the
        estimate is unclear, and keeps the fit with the least serious doubts.
    n_factors : int or "auto"
        Number of factors m.
    n_neighbors : int, optional
        Neighbours per point in the graph. Default: twice the dimension, at least 8.
    tangents : {"curved", "pca"}
        Tangent estimation; "pca" is the published method.
    refinements : int
        Rounds of refinement. 0 gives the first solution; "pca" tangents are never refined.
    rule : {"parallel", "gap"}
        How factors are counted: "parallel" as one plus the independent combinations of parallel
        eigenfields that commute with all others, "gap" as published, by the largest gap in the
        spectrum, which never finds a single factor.
    normalized : bool
        Normalise the Laplacian by degree; the published one is not normalised.
    tangent_neighbors : int, optional
        Neighbours per tangent fit. Default: chosen to balance noise and curvature.
    flat : {"split", "keep"}
        Holonomy cannot split a flat part. "split" unrolls it to isometric coordinates and splits
        these by periods and statistical independence; "keep" leaves it as one factor. It is also
        kept whole if `n_factors` is given or if unrolling distorts lengths by a fifth or more.
    prepare : "sqrt" or callable, optional
        Transformation of the rows. "sqrt" is 2 sqrt(x + 3 / 8), for counts.
    metric : {"euclidean", "cosine", "correlation", "precomputed"} or callable
        Distance between rows. "precomputed": X holds distances, shape (n, n). For these and for
        callables, points are coordinates from classical scaling (`scaled_distances`).
    random_state : int, Generator or None
    n_jobs : int, optional
        Number of threads. Default 2; -1 uses all cores. The result does not depend on it.
    verbose : int
        1 shows progress in a terminal; 0 is silent.

    Attributes
    ----------
    dim_, n_factors_ : int
    factor_dims_ : ndarray of int, shape (m,)
        Dimensions of the factors, largest first.
    axes_ : ndarray of shape (n, k, d)
        Orthonormal tangent axes grouped by factor, in the same order at every point. NaN at
        outliers and in graph components that are too small or split differently from the largest.
    flat_ : ndarray of bool, shape (m,)
        Which factors are flat; one-dimensional factors only if the flat part was unrolled.
    flat_coordinates_ : ndarray of shape (n, f)
        Isometric coordinates along the flat factors, up to sign and origin in each graph
        component. No columns if nothing was unrolled.
    periods_ : tuple of ndarray of shape (b, f_j)
        Periods of each flat factor's coordinates; no rows if it does not close.
    flat_evidence_ : FlatEvidence or None
        Quality of the unrolled coordinates, and how the flat factors were separated. Their
        independence is assumed, not proved.
    eigenvalues_ : ndarray of shape (q,)
        Lowest eigenvalues of the connection Laplacian of the whole manifold.
    evidence_ : list of Evidence
        For the whole manifold, then for each factor that was tested on its own.
    uncertain_ : bool
        Whether there are doubts: read `doubts_` before publishing.
    doubts_ : tuple of Doubt
        Reasons to doubt the result. Maps and the product test add theirs once computed.
    departure_ : Departure or None
        Departure of the metric from a product metric. None for a single factor, and if the
        tangent error cannot be measured.
    outliers_ : ndarray of bool, shape (n,)
        Points excluded from the fit because they are far from all others.
    n_copies_ : int
        Number of rows that nearly duplicate an earlier row.
    maps_, topology_, names_, holonomy_, product_test_, denoising_, denoised_
        Computed on first use; each is documented as a property.
    confidence_ : FitConfidence or None
        Stability of the factors and their directions across refits, if requested in `fit`.
    points_ : ndarray of shape (n, d)
        The fitted points: prepared rows, or coordinates scaled from distances.
    directions_, n_directions_ : KeptDirections, int
        The ambient directions with more variance than the noise floor, and their number.
    noise_ : float
        Standard deviation of the noise per direction; 0.0 if no noise floor was found.
    dimension_ : DimensionEstimate
        Estimated dimension, also if `dim` was given.
    sample_rows_ : ndarray of int, shape (n,), or None
        Rows of X that were fitted, if a sample was requested.
    graph_, split_ : NeighborGraph, Split
        The neighbour graph, and the complete split, nested by factor.
    converged_, history_ : bool, list of dict
        Whether the eigenfields converged; one entry per round of refinement.
    seconds_, peak_memory_ : dict of str to float, float
        Wall-clock time of each stage; peak resident memory in MB.

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
        """Estimate the factors of the manifold that the points lie on.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored
        graph : sparse matrix, array of shape (n, n) or networkx graph, optional
            Known neighbours.
        groups : array-like of shape (n,), optional
            Trials, animals or objects. Rows of one group are not independent samples, so they are
            excluded from each other's neighbourhoods.
        times : array-like of shape (n,), optional
            Recording times. Rows of one group that are close in time are excluded likewise, until
            the state has moved half as far as two random rows are apart.
        confidence : {"quick", "full"}, optional
            Refit subsamples to measure stability, stored in `confidence_`, and run the product
            test. "quick" adds half the time of a fit, "full" several times; see `fit_confidence`.
        sample : int, optional
            Fit an even sample of this many rows. X is then read in one pass, so it may be a memory
            map, an HDF5, zarr or Dask array, or anything else with a shape and slices of rows.
            Use `atlas` for the remaining rows.

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
            quick = confidence == "quick"
            compute = partial(fit_confidence, self, quick=quick, verbose=self.verbose)
            self.fitted_.once("confidence", compute)
            with suppress(InputError):  # too few points for maps
                _ = self.product_test_
        for text in (*(one.advice for one in rows.notes), *warnings_of(self.fitted_)):
            warnings.warn(text, GeodisWarning, stacklevel=2)
        return self

    @property
    def maps_(self) -> tuple[FactorMap, ...]:
        """The map of every factor; MissingResultError if there are too few points."""
        return maps_of(self.fitted_)

    @property
    def has_maps(self) -> bool:
        """Whether the maps have been computed."""
        return self.fitted_.made("maps") is not None

    @property
    def topology_(self) -> tuple[Topology, ...]:
        """The topology of every factor, with the evidence; see `Topology`."""
        return topologies_of(self.fitted_)

    @property
    def names_(self) -> tuple[str, ...]:
        """The space of every factor, such as "sphere"; "unknown" if undetermined."""
        return tuple(topology.name for topology in self.topology_)

    @property
    def holonomy_(self) -> Holonomy:
        """Parallel transport around loops of the graph, by factor."""
        fit = self.fitted_
        axes = np.where(fit.with_axes[:, None, None], fit.axes, 0.0)
        return fit.once("holonomy", lambda: loop_holonomy(axes, fit.flat.dims, fit.graph))

    @property
    def product_test_(self) -> ProductTest:
        """Test whether each factor's metric depends on the others, and whether maps split again.

        Its doubts are added to `doubts_`.
        """
        return product_test_of(self.fitted_)

    @property
    def denoising_(self) -> SurfacePoints:
        """`denoised_`, the noise across the surface, and what was done; see `surface_points`."""
        return denoising_of(self.fitted_)

    @property
    def denoised_(self) -> np.ndarray:
        """The points, projected onto the fitted surface; see `surface_points`."""
        return self.denoising_.points

    def subspace(self, factor: int) -> np.ndarray:
        """Return an orthonormal basis of one factor at every point, shape (n, k_j, d)."""
        fit = self.fitted_
        factor = fit.check_factor(factor)
        stop = sum(fit.flat.dims[: factor + 1])
        return fit.axes[:, stop - fit.flat.dims[factor] : stop]

    def at(self, points: Any) -> np.ndarray:
        """Estimate the axes at points of shape (p, d), with factors in the same order: (p, k, d).

        Fitted points get their own axes. For other points tangents are fitted among the fitted
        points, and are as accurate as long as the new points lie among these.
        """
        return axes_of_fit(self.fitted_, self.fitted_.new_points(points))

    def coordinates(self, factor: int) -> np.ndarray:
        """Return the coordinates of the fitted points in one factor, shape (n, r_j).

        The map of a factor is as isometric as possible in as few dimensions as needed: three for
        a sphere, two for a circle, unrolled coordinates for an open flat part. Its origin and
        orientation are reproducible. NaN where a point has no axes; coordinates of different graph
        components are not comparable.
        """
        return maps_of(self.fitted_)[self.fitted_.check_factor(factor)].coordinates.copy()

    def factor_distances(self, factor: int, a: Any, b: Any) -> np.ndarray:
        """Compute geodesic distances in one factor between fitted points, given by their rows.

        Rows a and b are broadcast against each other. In a product the squared distances of all
        factors add up to the squared distance. Infinite between graph components.
        """
        return distances_in_factor(self.fitted_, factor, a, b)

    def transform(self, X: Any) -> np.ndarray:
        """Compute the coordinates of points (p, d) in all factors: (p, r_0 + r_1 + ...).

        Fitted points get their own coordinates; others are extrapolated from the nearest fitted
        points. NaN out of range of the fitted points and next to points without coordinates. With
        too few points for maps, all `dim_` columns are NaN.
        """
        return coordinates_at(self.fitted_, self._new_points(X))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of `transform`, such as ``factor0_sphere_x``."""
        return feature_names(self.fitted_)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the R^2 of points (p, d) predicted from their coordinates in all factors.

        ``1 - sum |x - f(t(x))|^2 / sum |x - mean|^2`` with t = `transform` and f its inverse, a
        local regression of the fitted points. Points without coordinates are predicted by the
        mean; without maps the score is 0. Use it on held-out points, as `GridSearchCV` does, and
        only to compare fits of the same dimension. It does not show that the factors are right,
        since any split of a chart scores the same; see `doubts_` and `confidence_`.
        """
        return explained_variance(self.fitted_, self._new_points(X))

    def write_obsm(self, adata: Any, X: Any = None, *, key: str = "X_geodis") -> Any:
        """Write coordinates into the `obsm` of an AnnData object, and return the object.

        ``obsm[key]`` holds all coordinates, ``obsm[key + "_factor0"]`` and so on those of single
        factors, and ``uns["geodis"]`` describes the factors. Give rows X of shape (n_obs, d) for
        `transform` if the rows of the object are not those that were fitted.
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
        """Move along a geodesic of one factor, with the other factors fixed.

        Positions on the factor's map become points by local quadratic regression of the fitted
        points on their coordinates in all maps. A walk that leaves the data stops there.

        Parameters
        ----------
        start : int or array-like of shape (d,)
            Row of a fitted point, or a new point among them.
        factor : int
        to : int or array-like of shape (d,), optional
            Target, in this factor.
        direction : int or array-like of shape (k_j,), optional
            Without a target: one of the factor's axes at the start, or a combination of them. By
            default the first axis, forwards or backwards, whichever leads further.
        length : float, optional
            In the units of the points. Default: the distance of the farthest point in the factor.
        steps : int
            Number of points, including start and end.

        Examples
        --------
        >>> import geodis as gd
        >>> sample = gd.product_manifold("S^2 x S^1", n=2000, random_state=0)
        >>> walk = gd.GeoManCER(verbose=0).fit(sample.points).walk(0, factor=0, length=3.0, steps=7)
        >>> still = walk.points[:, 3:] - sample.points[0, 3:]
        >>> bool(np.abs(still).max() < 0.05)
        True
        """
        return walk_in_factor(
            self.fitted_, start, factor, to=to, direction=direction, length=length, steps=steps
        )

    def analogy(self, a: Any, b: Any, c: Any, factors: Sequence[int] | None = None) -> Analogy:
        """Find the point d with a : b :: c : d in the chosen factors, by default all of them.

        In each chosen factor ``d_f = exp_c(P log_a(b))``, with parallel transport P along the
        geodesic from a to c; in the other factors d equals c. If a and b differ in some factors
        and a and c in others, nothing is transported and d is unique. Otherwise it depends on the
        transport: on a rotation group, parallel transport lies halfway between rotating before
        and rotating after. Points a, b and c are rows of fitted points or new points of shape
        (d,), all in one graph component.

        Examples
        --------
        >>> import geodis as gd
        >>> angles = np.random.default_rng(0).uniform(0, 2 * np.pi, (1500, 2))
        >>> angles[:3] = [0, 0], [1, 0.5], [3, 3]
        >>> torus = np.hstack([np.cos(angles), np.sin(angles)])[:, [0, 2, 1, 3]]
        >>> d = gd.GeoManCER(verbose=0).fit(torus).analogy(0, 1, 2).point
        >>> bool(np.allclose(np.arctan2(d[[1, 3]], d[[0, 2]]) % 6.28318, [4, 3.5], atol=0.05))
        True
        """
        return analogy_by_factor(self.fitted_, a, b, c, factors)

    def atlas(self, *, coordinates: bool = True) -> Atlas:
        """Build an atlas, which computes axes and coordinates for millions of new points.

        Its charts are refitted with curvature, in at most the time of the fit. Points then cost
        five to thirty times less than with `at`. ``coordinates=False`` leaves out the maps.

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
        """Write the fit, including its points, to a .safetensors file; `geodis.load` reads it.

        Fits with a callable `prepare` or `metric` cannot be saved, and a generator as
        `random_state` is not stored. With `overwrite` an earlier fit is replaced, but never a file
        of another kind.

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
        """Return the neighbour graph; nodes have their component (`piece`) and `axes`."""
        import networkx

        graph = networkx.from_scipy_sparse_array(self.graph_.adjacency, edge_attribute="weight")
        networkx.set_node_attributes(graph, dict(enumerate(self.graph_.piece.tolist())), "piece")
        networkx.set_node_attributes(graph, dict(enumerate(self.axes_)), "axes")
        return graph

    def summary(self) -> str:
        """Describe the fit in text: result, evidence, doubts and cost."""
        return describe_fit(self.fitted_)

    def _new_points(self, X: Any) -> np.ndarray:
        """Check new rows, and their columns against those of the fit."""
        fit = self.fitted_
        check_points(X, name="X", min_points=1)  # before columns are counted
        validate_data(self, X, reset=False, skip_check_array=True)
        return fit.new_points(X)

    def _settings(self) -> Settings:
        """Return the checked parameters."""
        names = {each.name for each in fields(Settings)}
        own = {name: value for name, value in self.get_params().items() if name in names}
        return Settings(**own | {"n_jobs": check_jobs(self.n_jobs, default=2)})

    def __str__(self) -> str:
        """Return the summary of a fit, or the constructor call before fitting."""
        return self.summary() if hasattr(self, "fitted_") else repr(self)

    def __sklearn_tags__(self) -> Any:
        """Mark X as pairwise if distances are precomputed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    # scikit-learn reads every attribute for display and completion, which would compute maps,
    # topologies and tests. The three methods below avoid that.

    def __dir__(self) -> list[str]:
        return list(object.__dir__(self))

    @property
    def _get_fitted_attr_html(self) -> Any:
        raise AttributeError("Fitted attributes are shown in the summary of the fit.")

    def _repr_mimebundle_(self, **options: Any) -> Any:
        if hasattr(self, "fitted_"):
            return {"text/plain": repr(self), "text/html": fit_html(self.fitted_)}
        return super()._repr_mimebundle_(**options)

    def _repr_html_inner(self) -> str:
        if hasattr(self, "fitted_"):
            return fit_html(self.fitted_)
        return str(super()._repr_html_inner())


def load(path: str | os.PathLike[str]) -> GeoManCER:
    """Read a fit written by `GeoManCER.save`.

    Raises InputError if the file is missing, damaged, or not a fit.
    """
    saved = read_fit(path)
    with rebuilding(path):
        est = GeoManCER(**saved.parameters)
        est.fitted_ = saved.fit(est._settings(), RowMeasure(est.prepare, est.metric))
    est.n_features_in_ = est.fitted_.n_columns
    if saved.columns is not None:
        est.feature_names_in_ = np.array(saved.columns, dtype=object)
    return est
