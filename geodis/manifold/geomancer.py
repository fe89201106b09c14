"""GeoManCER: points -> how many factors, of which dimensions, along which directions."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from geodis.base.check import (
    GeodisWarning,
    InputError,
    check_choice,
    check_int,
    check_random_state,
)
from geodis.base.jobs import check_jobs, one_blas_thread
from geodis.base.progress import Stages
from geodis.manifold.atlas.charted_factors import ChartedFactors
from geodis.manifold.confidence.fit_confidence import FitConfidence, fit_confidence
from geodis.manifold.coupling.product_test import ProductTest
from geodis.manifold.coupling.product_tested import ProductTested
from geodis.manifold.denoising.denoised_fit import DenoisedFit
from geodis.manifold.denoising.surface_points import SurfacePoints
from geodis.manifold.dimension_scan import scanned_fit
from geodis.manifold.doubts import Doubt
from geodis.manifold.flat.flat_axes import FlatAxes, split_flat_axes
from geodis.manifold.flat.flat_evidence import FlatEvidence
from geodis.manifold.flat.flat_graph import CurveOrder, curve_order
from geodis.manifold.holonomy.departure import Departure
from geodis.manifold.holonomy.eigenfields import FactorRule
from geodis.manifold.holonomy.loops import Holonomy, loop_holonomy
from geodis.manifold.local.dimension import intrinsic_dimension
from geodis.manifold.local.dimension_estimate import DimensionEstimate
from geodis.manifold.local.exact_search import Apart
from geodis.manifold.local.graph import NeighborGraph
from geodis.manifold.local.neighbors import distinct_rows
from geodis.manifold.local.tangents import TangentMethod
from geodis.manifold.maps.factor_map import FactorMap
from geodis.manifold.new_points import FittedAxes
from geodis.manifold.preparation.grids_and_walks import path_doubts, sampling_doubts
from geodis.manifold.preparation.kept_apart import coverage_doubts, kept_apart, of_rows
from geodis.manifold.preparation.prepared import Prepared, graph_of, prepared, supported_dim
from geodis.manifold.preparation.principal import KeptDirections
from geodis.manifold.preparation.row_measure import Metric, Preparation, RowMeasure
from geodis.manifold.preparation.sampled import sampled_points, whole_problem_doubts
from geodis.manifold.refine import split_pieces
from geodis.manifold.split_result import Split
from geodis.manifold.task import FlatTreatment, Settings, Task
from geodis.manifold.topology.topology_of import Topology
from geodis.manifold.verdict.doubts import doubts_of_fit, late_doubts, remedy_for_counts
from geodis.manifold.verdict.evidence import Evidence, collect_evidence
from geodis.manifold.verdict.fit_summary import describe_fit, warnings_of
from geodis.manifold.verdict.shown_fit import ShownFit
from geodis.manifold.walks.moving_factors import MovingFactors


class GeoManCER(
    ShownFit,
    ChartedFactors,
    DenoisedFit,
    MovingFactors,
    ProductTested,
    TransformerMixin,
    BaseEstimator,
):
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

    dim_: int
    n_factors_: int
    factor_dims_: np.ndarray
    axes_: np.ndarray
    flat_: np.ndarray
    flat_coordinates_: np.ndarray
    periods_: tuple[np.ndarray, ...]
    flat_evidence_: FlatEvidence | None
    eigenvalues_: np.ndarray
    evidence_: list[Evidence]
    uncertain_: bool
    doubts_: tuple[Doubt, ...]
    departure_: Departure | None
    outliers_: np.ndarray
    n_copies_: int
    graph_: NeighborGraph
    confidence_: FitConfidence | None
    converged_: bool
    history_: list[dict[str, Any]]
    points_: np.ndarray
    n_directions_: int
    directions_: KeptDirections
    noise_: float
    dimension_: DimensionEstimate
    sample_rows_: np.ndarray | None
    split_: Split
    seconds_: dict[str, float]
    peak_memory_: float

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
        measure = RowMeasure(self.prepare, self.metric)
        sample_rows = None
        if sample is not None:
            if measure.by_distances:
                raise InputError("A sample is read of rows, not of distances: leave sample out.")
            taken = sampled_points(
                X,
                sample,
                check_random_state(self.random_state),
                graph=graph,
                tangents=self.tangents,
            )
            X, sample_rows = taken.points, taken.rows
            groups, times = (of_rows(values, sample_rows) for values in (groups, times))
            for found in taken.doubts:
                warnings.warn(found.advice, GeodisWarning, stacklevel=2)
        if isinstance(self.dim, str) and self.dim == "scan":
            scanned_fit(self, X, graph=graph, groups=groups, times=times, confidence=confidence)
            self.sample_rows_ = sample_rows
            return self
        points, scaled = measure.points_of(X)
        validate_data(self, X, skip_check_array=True)
        settings = self._settings()
        treatment = check_choice(self.flat, "flat", ("split", "keep"))
        if confidence is not None:
            check_choice(confidence, "confidence", ("quick", "full"))
        rng = check_random_state(self.random_state)
        with Stages("GeoManCER", self.verbose) as stages, one_blas_thread():
            least = int(self.dim) if isinstance(self.dim, Integral) else 1
            begun = Task(settings, stages, rng)
            ready = prepared(points, begun, told=graph is not None, least=least)
            apart = kept_apart(ready.points, groups, times, noise=ready.directions.noise)
            estimate, dim, n_factors = self._dimensions(points, ready, stages, apart)
            task = Task(settings, stages, rng, n_factors=n_factors, apart=apart)
            if ready.further is not None:
                task.searches.tell(ready.points, ready.further.nearest)
            with stages.stage("graph"):
                built = graph_of(ready, dim, task, graph)
            sampled: tuple[Doubt, ...] = (
                () if ready.near is None else sampling_doubts(ready.inside, ready.near, dim=dim)
            )
            if ready.near is not None and apart is not None:
                inside = apart.rows(np.flatnonzero(~ready.outliers))
                sampled += coverage_doubts(ready.inside, ready.near, inside)
            paths: list[tuple[Doubt, ...]] = [(), ()]  # of a curve that is open, and that closes
            if ready.near is not None and dim == 1 and times is None:
                paths = [
                    path_doubts(
                        ready.inside, ready.near, closed=closed, noise=ready.directions.noise
                    )
                    for closed in (False, True)
                ]
            # Of many points the largest of what is held.
            ready = replace(ready, near=None, further=None)
            if graph is not None:
                task = replace(task, graph=built)
            split = split_pieces(ready.points, dim, task, built)
            flat = split_flat_axes(ready.points, split, task, built, treatment)
            sampled += paths[any(map(len, flat.periods))]
            order = None
            if dim == 1 and graph is None and flat.pieces:
                order = _order_of_curve(ready.points, flat, split.tangent_neighbors)
        # Nothing is published before everything is done: an interrupt leaves the old state.
        self.dim_ = dim
        self.n_directions_ = ready.directions.n_directions
        self.directions_ = ready.directions
        self.noise_ = ready.directions.noise
        self.dimension_ = estimate
        self.outliers_ = ready.outliers
        self.n_copies_ = ready.n_copies
        self.sample_rows_ = sample_rows
        self.split_ = split
        self.axes_ = ready.directions.lift(flat.axes)
        self.factor_dims_ = np.array(flat.dims)
        self.n_factors_ = len(flat.dims)
        self.flat_ = np.array(flat.flat)
        self.flat_coordinates_ = flat.coordinates
        self.periods_ = flat.periods
        self.flat_evidence_ = flat.evidence
        self.graph_ = built
        self.evidence_ = collect_evidence(split)
        self.departure_ = split.departure
        self.doubts_ = doubts_of_fit(
            dim,
            estimate,
            self.dim != "auto",
            built,
            ready.outliers,
            self.axes_,
            self.evidence_,
            flat.evidence,
            sampled,
        )
        self.doubts_ += scaled
        of_bytes = getattr(X, "dtype", None) == np.uint8
        counts = remedy_for_counts(points, of_bytes) if measure.is_plain else ()
        self.doubts_ += counts if self.doubts_ else ()
        self._order = order
        late = self._late_doubts(told=self.dim != "auto")
        if late and not self.doubts_:
            late += tuple(replace(one, weight=0.0) for one in counts)
        self.doubts_ += late
        self.uncertain_ = bool(self.doubts_)
        self.eigenvalues_ = self.evidence_[0].eigenvalues if self.evidence_ else np.zeros(0)
        self.history_ = split.history
        self.converged_ = all(entry["converged"] for entry in split.history)
        self.seconds_ = dict(stages.seconds)
        self.peak_memory_ = _peak_memory()
        self.points_ = points
        self._measure = measure
        self._points, self._basis, self._flat = points, ready.directions.basis, flat
        self._places = ready.points  # near copies have the same coordinates here
        every = np.arange(len(points))
        self._recorded = of_rows(groups, every), of_rows(times, every)
        self._fitted = FittedAxes(
            points,
            self._places,
            self.axes_,
            self._basis,
            split,
            flat,
            built.piece,
        )
        self._holonomy: Holonomy | None = None
        self._maps: list[FactorMap] = []
        self._topologies: list[Topology] = []
        self._product_test: list[ProductTest] = []
        self._denoising: list[SurfacePoints] = []
        self.confidence_ = None
        if confidence is not None:
            self.confidence_ = fit_confidence(
                self, quick=confidence == "quick", verbose=self.verbose
            )
            with suppress(InputError):  # too few points for maps
                _ = self.product_test_
        for text in warnings_of(self):
            warnings.warn(text, GeodisWarning, stacklevel=2)
        for found in () if sample is None else whole_problem_doubts(split, len(points)):
            warnings.warn(found.advice, GeodisWarning, stacklevel=2)
        return self

    def _late_doubts(self, told: bool) -> tuple[Doubt, ...]:
        """What checks of the finished fit found; see `late_doubts`."""
        dims = self.factor_dims_.tolist()
        return late_doubts(dims, self.dimension_, told, self.evidence_, self._order)

    @property
    def holonomy_(self) -> Holonomy:
        """Transport around loops of the graph, by factor."""
        self._check_fitted()
        if self._holonomy is None:
            usable = np.isfinite(self.axes_).all(axis=(1, 2))
            axes = np.where(usable[:, None, None], self.axes_, 0.0)
            self._holonomy = loop_holonomy(axes, tuple(self.factor_dims_), self.graph_)
        return self._holonomy

    def subspace(self, factor: int) -> np.ndarray:
        """Orthonormal rows spanning one factor's subspace at every point, shape (n, k_j, d)."""
        factor = self._check_factor(factor)
        stop = int(self.factor_dims_[: factor + 1].sum())
        return self.axes_[:, stop - int(self.factor_dims_[factor]) : stop]

    def at(self, points: Any) -> np.ndarray:
        """Axes at new points, in the same order of factors, shape (p, k, d).

        A fitted point gets its own axes. Elsewhere tangents are fitted among the fitted points,
        factor by factor where the factors have ambient subspaces of their own: as accurate as
        at the fitted points, as long as the new ones lie among them.

        Parameters
        ----------
        points : array-like of shape (p, d)
        """
        self._check_fitted()
        points = self._measure.new_points(points, self.n_features_in_)
        return self._axes_at(points)

    def _axes_at(self, points: np.ndarray) -> np.ndarray:
        """Axes at points that are measured like the fitted ones."""
        return self._fitted.at(points, method=self.tangents, n_jobs=self._settings().n_jobs)

    def to_networkx(self) -> Any:
        """The neighbour graph, each node with its piece and each factor's axes."""
        import networkx

        self._check_fitted()
        graph = networkx.from_scipy_sparse_array(self.graph_.adjacency, edge_attribute="weight")
        networkx.set_node_attributes(graph, dict(enumerate(self.graph_.piece.tolist())), "piece")
        networkx.set_node_attributes(graph, dict(enumerate(self.axes_)), "axes")
        return graph

    def summary(self) -> str:
        """A readable account of the fit."""
        self._check_fitted()
        return describe_fit(self)

    def __str__(self) -> str:
        """The summary after a fit, the constructor call before."""
        return self.summary() if hasattr(self, "split_") else repr(self)

    def _settings(self) -> Settings:
        if self.n_neighbors is not None:
            check_int(self.n_neighbors, "n_neighbors", low=1)
        if self.tangent_neighbors is not None:
            check_int(self.tangent_neighbors, "tangent_neighbors", low=2)
        return Settings(
            tangents=check_choice(self.tangents, "tangents", ("curved", "pca")),
            refinements=check_int(self.refinements, "refinements", low=0),
            rule=check_choice(self.rule, "rule", ("parallel", "gap")),
            normalized=bool(self.normalized),
            n_neighbors=self.n_neighbors,
            tangent_neighbors=self.tangent_neighbors,
            n_jobs=check_jobs(self.n_jobs, default=2),
        )

    def _dimensions(
        self, points: np.ndarray, ready: Prepared, stages: Stages, apart: Apart | None
    ) -> tuple[DimensionEstimate, int, int | None]:
        """The estimate of the dimension, the dimension, and the number of factors, as asked for."""
        varying = ready.points.shape[1]
        if isinstance(self.dim, str) and self.dim != "auto":
            raise InputError(f"dim must be a positive integer, 'auto' or 'scan'; got {self.dim!r}.")
        told = None if isinstance(self.dim, str) else check_int(self.dim, "dim", low=1)
        if told is not None and told > varying:
            raise InputError(
                f"dim={told} needs as many directions in which the points vary; got {varying} "
                f"(of {points.shape[1]} columns)."
            )
        with stages.stage("dimension"):
            estimate = intrinsic_dimension(
                ready.inside,
                directions=ready.directions,
                neighbors=ready.further if apart is None else None,
                apart=None if apart is None else apart.rows(np.flatnonzero(~ready.outliers)),
                n_jobs=self._settings().n_jobs,
                random_state=0,
            )
        dim = supported_dim(estimate.dim, ready.inside, self.tangents) if told is None else told
        if isinstance(self.n_factors, str):
            check_choice(self.n_factors, "n_factors", ("auto",))
            return estimate, dim, None
        return estimate, dim, check_int(self.n_factors, "n_factors", low=1, high=dim)

    def __sklearn_tags__(self) -> Any:
        """What X is: distances, where they are precomputed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    def _check_fitted(self) -> None:
        if not hasattr(self, "split_"):
            raise NotFittedError("This GeoManCER is not fitted yet: call fit first.")


def _order_of_curve(points: np.ndarray, flat: FlatAxes, n_neighbors: int) -> CurveOrder:
    """The order of the largest piece of a curve, with rows of the points."""
    rows = flat.pieces[0].rows
    places, first, _ = distinct_rows(points[rows])
    rows = rows[first]
    order = curve_order(places, flat.coordinates[rows, 0], flat.pieces[0].periods[0], n_neighbors)
    return order if order.row < 0 else replace(order, row=int(rows[order.row]))


def _peak_memory() -> float:
    try:
        import resource
    except ImportError:  # not on Windows
        return np.nan
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
