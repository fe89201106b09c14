"""GeoManCER: points -> how many factors, of which dimensions, along which directions."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from geodis.base.check import (
    InputError,
    check_choice,
    check_int,
    check_points,
    check_random_state,
)
from geodis.base.jobs import check_jobs, one_blas_thread
from geodis.base.progress import Stages
from geodis.manifold.evidence import Evidence, collect_evidence
from geodis.manifold.fit_summary import describe_fit, warnings_of
from geodis.manifold.flat.flat_axes import coordinates_from, split_flat_axes
from geodis.manifold.flat.flat_part import FlatEvidence
from geodis.manifold.holonomy.eigenfields import FactorRule
from geodis.manifold.holonomy.loops import Holonomy, loop_holonomy
from geodis.manifold.local.dimension import DimensionEstimate, intrinsic_dimension
from geodis.manifold.local.graph import NeighborGraph, default_degree, neighbor_graph
from geodis.manifold.local.neighbors import distinct_rows, searcher
from geodis.manifold.local.tangents import TangentMethod
from geodis.manifold.new_points import axes_at
from geodis.manifold.pipeline import published_pipeline
from geodis.manifold.places import distinct_places, pieces_largest_first, task_inside
from geodis.manifold.principal import varying_directions
from geodis.manifold.refine import refined, with_other_pieces
from geodis.manifold.split_result import Split
from geodis.manifold.task import FlatTreatment, Settings, Task


class GeoManCER(BaseEstimator):
    """Geometric Manifold Component Estimator.

    Finds how many independent factors a manifold splits into, their dimensions, and at every
    point which tangent directions belong to which factor (Pfau, Higgins, Botev and Racaniere
    2020, algorithm 1), with tangents corrected for curvature, the same factor labels at every
    point, and factors refined in their own ambient subspaces.

    Parameters
    ----------
    dim : int or "auto"
        Intrinsic dimension k; "auto" estimates it by maximum likelihood.
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
        factor. It is also left as it is where the tests of the unrolling fail, and where
        `n_factors` is given.
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
        Orthonormal rows grouped by factor, in the same order of factors at every point. NaN in
        pieces of the graph that do not split like the largest.
    flat_ : ndarray of bool, shape (m,)
        Which factors are flat. Where the flat part was not unrolled, only those of dimension two
        or more are marked.
    flat_coordinates_ : ndarray of shape (n, f)
        Isometric coordinates along the flat factors, in their order: the latent variables up to
        sign and origin, in units of length. No columns where nothing was unrolled.
    periods_ : tuple of ndarray of shape (b, f_j)
        For every flat factor, the periods of its coordinates; no rows where it does not close.
    flat_evidence_ : FlatEvidence or None
        How flat the flat part is, what told its factors apart, and what speaks against them.
        Independence is assumed there, not proved, and only between pairs of directions: factors
        told apart by their spread alone may be the principal axes of correlated Gaussians, which
        is said, and a gently curved patch passes as flat.
    eigenvalues_ : ndarray of shape (q,)
        Bottom of the spectrum, of the whole manifold's problem.
    evidence_ : list of Evidence
        For the whole manifold first, then for every factor that was tested on its own.
    uncertain_ : bool
        Whether any of the evidence leaves doubt about the number of factors.
    graph_ : NeighborGraph
    holonomy_ : Holonomy
        Transport around loops, by factor; computed when first asked for.
    converged_ : bool
    history_ : list of dict
    n_directions_ : int
        Ambient directions that were used: those that vary by more than a floor of even noise.
    dimension_ : DimensionEstimate or None
        Both estimates, where the dimension was "auto".
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
    graph_: NeighborGraph
    converged_: bool
    history_: list[dict[str, Any]]
    n_directions_: int
    dimension_: DimensionEstimate | None
    split_: Split
    seconds_: dict[str, float]
    peak_memory_: float

    def __init__(
        self,
        dim: int | Literal["auto"] = "auto",
        n_factors: int | Literal["auto"] = "auto",
        n_neighbors: int | None = None,
        tangents: TangentMethod = "curved",
        refinements: int = 2,
        *,
        rule: FactorRule = "parallel",
        normalized: bool = True,
        tangent_neighbors: int | None = None,
        flat: FlatTreatment = "split",
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, graph: Any = None) -> GeoManCER:
        """Split the manifold that the points lie on.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored
        graph : sparse matrix, array of shape (n, n) or networkx graph, optional
            The true neighbours, when they are known.

        Returns
        -------
        self
        """
        points = check_points(X, name="X")
        validate_data(self, X, skip_check_array=True)
        settings = self._settings()
        treatment = check_choice(self.flat, "flat", ("split", "keep"))
        rng = check_random_state(self.random_state)
        with Stages("GeoManCER", self.verbose) as stages:
            # Directions without variance cost time and mean nothing: work in the others.
            with stages.stage("principal components"):
                basis = varying_directions(points)
                reduced = points @ basis.T
            dimension, dim, n_factors = self._dimensions(points, reduced, stages)
            with stages.stage("graph"):
                built = neighbor_graph(
                    reduced,
                    min(self.n_neighbors or default_degree(dim), _n_distinct_limit(reduced)),
                    graph=graph,
                    n_jobs=settings.n_jobs,
                    random_state=rng,
                )
            task = Task(settings, stages, rng, built if graph is not None else None, n_factors)
            with one_blas_thread():
                # The largest piece of the graph, mostly all of it, says how many factors there are.
                rows = pieces_largest_first(built.piece)[0]
                inside = task_inside(task, rows, len(reduced))
                places = distinct_places(reduced if built.n_pieces == 1 else reduced[rows], inside)
                solution = published_pipeline(places.points, dim, inside)
                split = places.spread(refined(places.points, solution, inside))
                if built.n_pieces > 1:
                    split = with_other_pieces(reduced, dim, task, built.piece, split)
            flat = split_flat_axes(reduced, split, task, built, treatment)
        # Nothing is published before everything is done: an interrupt leaves the old state.
        self.dim_ = dim
        self.n_directions_ = len(basis)
        self.dimension_ = dimension
        self.split_ = split
        self.axes_ = flat.axes @ basis
        self.factor_dims_ = np.array(flat.dims)
        self.n_factors_ = len(flat.dims)
        self.flat_ = np.array(flat.flat)
        self.flat_coordinates_ = flat.coordinates
        self.periods_ = flat.periods
        self.flat_evidence_ = flat.evidence
        self.graph_ = built
        self.evidence_ = collect_evidence(split)
        self.uncertain_ = any(item.doubts for item in self.evidence_) or bool(flat.doubts)
        self.eigenvalues_ = self.evidence_[0].eigenvalues if self.evidence_ else np.zeros(0)
        self.history_ = split.history
        self.converged_ = all(entry["converged"] for entry in split.history)
        self.seconds_ = dict(stages.seconds)
        self.peak_memory_ = _peak_memory()
        self._points, self._basis, self._flat = points, basis, flat
        self._holonomy: Holonomy | None = None
        for text in warnings_of(self):
            warnings.warn(text, stacklevel=2)
        return self

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
        self._check_fitted()
        factor = check_int(factor, "factor", low=0, high=self.n_factors_ - 1)
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
        points = check_points(points, min_points=1)
        if points.shape[1] != self._points.shape[1]:
            raise InputError(
                f"points must have {self._points.shape[1]} columns as in the fit; "
                f"got {points.shape[1]}."
            )
        usable = np.flatnonzero(np.isfinite(self.axes_).all(axis=(1, 2)))
        usable = usable[distinct_rows(self._points[usable])[1]]
        nearest, distances = searcher(self._points[usable])(points, 1)
        nearest, known = usable[nearest[:, 0]], distances[:, 0] == 0
        axes_at_points = self.axes_[nearest]
        jobs = self._settings().n_jobs
        largest = self.graph_.piece[self.split_.rows[0]]
        for piece in np.unique(self.graph_.piece[nearest[~known]]):
            rows = np.flatnonzero((self.graph_.piece[nearest] == piece) & ~known)
            fitted = usable[self.graph_.piece[usable] == piece]
            split = self.split_
            if piece != largest:  # its ambient subspaces were not kept
                split = replace(split, parts=(), refined="none")
            axes = axes_at(
                split,
                self._points[fitted] @ self._basis.T,
                self.split_.axes[fitted],
                points[rows] @ self._basis.T,
                method=self.tangents,
                n_jobs=jobs,
            )
            own = self.axes_[nearest[rows]] @ self._basis.T
            axes_at_points[rows] = self._flat.axes_at(axes, own) @ self._basis
        return axes_at_points

    @available_if(lambda self: getattr(self, "flat_coordinates_", np.zeros((0, 0))).shape[1] > 0)
    def transform(self, X: Any) -> np.ndarray:
        """Flat coordinates of points, shape (p, f); only where there is a flat part.

        Displacements from the nearest fitted point are read in the frames of both: a fitted
        point gets its own coordinates, others theirs up to whole periods. What is not flat has
        no coordinates, and is left out.

        Parameters
        ----------
        X : array-like of shape (p, d)
        """
        points = check_points(X, name="X", min_points=1)
        axes = self.at(points)
        rows = self._flat.rows
        usable = np.flatnonzero(np.isfinite(self.axes_).all(axis=(1, 2)))
        nearest = usable[searcher(self._points[usable])(points, 1)[0][:, 0]]
        return coordinates_from(
            points,
            axes[:, rows],
            self._points[nearest],
            self.axes_[nearest][:, rows],
            self.flat_coordinates_[nearest],
        )

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
        self, points: np.ndarray, reduced: np.ndarray, stages: Stages
    ) -> tuple[DimensionEstimate | None, int, int | None]:
        """The estimate of the dimension, the dimension, and the number of factors, as asked for."""
        varying = reduced.shape[1]
        estimate, dim = None, self.dim
        if dim == "auto":
            with stages.stage("dimension"):
                estimate = intrinsic_dimension(reduced, random_state=0)
            dim = min(estimate.dim, varying)
        if isinstance(dim, str):
            raise InputError(f"dim must be a positive integer or 'auto'; got {dim!r}.")
        dim = check_int(dim, "dim", low=1)
        if dim > varying:
            raise InputError(
                f"dim={dim} needs as many directions in which the points vary; got {varying} "
                f"(of {points.shape[1]} columns)."
            )
        if isinstance(self.n_factors, str):
            check_choice(self.n_factors, "n_factors", ("auto",))
            return estimate, dim, None
        return estimate, dim, check_int(self.n_factors, "n_factors", low=1, high=dim)

    def _check_fitted(self) -> None:
        if not hasattr(self, "split_"):
            raise NotFittedError("This GeoManCER is not fitted yet: call fit first.")


def _n_distinct_limit(points: np.ndarray) -> int:
    return len(distinct_rows(points)[0]) - 1


def _peak_memory() -> float:
    try:
        import resource
    except ImportError:  # not on Windows
        return np.nan
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
