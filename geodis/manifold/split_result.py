"""Splits, the settings and tasks of the steps that make them, and their evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from geodis.base.check import InputError, check_choice, check_int
from geodis.base.jobs import blocks, check_jobs
from geodis.base.progress import Stages
from geodis.manifold.doubts import Doubt, doubt
from geodis.manifold.holonomy.eigenfields import (
    UNCERTAIN_VARIATION,
    Eigenfields,
    FactorRule,
    count_by_gap,
)
from geodis.manifold.holonomy.factor_count import Departure
from geodis.manifold.local.angles import TangentError
from geodis.manifold.local.dimension_estimate import SPLITTABLE
from geodis.manifold.local.exact_search import BLOCK_ROWS, Apart, Search, Searches
from geodis.manifold.local.graph import NeighborGraph
from geodis.manifold.local.tangents import TangentMethod


@dataclass(frozen=True)
class Split:
    """Factors of a set of points, nested by factor.

    Attributes
    ----------
    axes : ndarray of shape (n, k, d)
        Orthonormal rows grouped by factor, with factors in the same order at every point.
    dims : tuple of int
        Dimension of every factor.
    flat : tuple of bool
        Which factors are flat parts of dimension two or more.
    fields : Eigenfields or None
        Lowest eigenfields, at the points `rows`; None in dimension one.
    rows : ndarray of int
        Points of the eigenproblem.
    parts : tuple of Split
        The factors of this split, each split on its own; may be empty.
    bases : tuple of ndarray of shape (d_j, d)
        Orthonormal rows: the ambient subspace in which each part was split.
    refined : str
        "ambient" if factors were refined in their own ambient subspaces, "tangents" if only the
        tangent fits were, "none" otherwise.
    tangent_neighbors : int
        Neighbours of each tangent fit.
    leakage : float
        Share of the axes outside their factor's ambient subspace; NaN if not computed.
    tangent_error : TangentError or None
        Error of the frames; None without fields.
    departure : Departure or None
        Departure of the metric from a product of these factors.
    told_apart : int or None
        Number of factors that the fields show, if another number may have been given.
    history : list of dict
        One entry per round: step, factor dimensions, eigenvalues, norm variations.
    """

    axes: np.ndarray
    dims: tuple[int, ...]
    flat: tuple[bool, ...]
    fields: Eigenfields | None
    rows: np.ndarray
    parts: tuple[Split, ...] = ()
    bases: tuple[np.ndarray, ...] = ()
    refined: str = "none"
    tangent_neighbors: int = 0
    leakage: float = np.nan
    tangent_error: TangentError | None = None
    departure: Departure | None = None
    told_apart: int | None = None
    history: list[dict[str, Any]] = field(default_factory=list)


def round_of_history(what: str, fields: Eigenfields, dims: tuple[int, ...]) -> dict[str, Any]:
    """Return one entry of the history."""
    return {
        "what": what,
        "n_points": len(fields.fields),
        "factor_dims": dims,
        "eigenvalues": fields.values,
        "variation": fields.variation,
        "n_parallel": fields.n_parallel,
        "converged": fields.converged,
        "n_applications": fields.n_applications,
    }


def join_axes(
    parts: Sequence[Split], bases: Sequence[np.ndarray], axes: Sequence[np.ndarray]
) -> np.ndarray:
    """Join the axes of all parts, (p, k_j, d_j) each, with the largest factor first.

    Returns
    -------
    ndarray of shape (p, k, d)
    """
    k = sum(own.shape[1] for own in axes)
    joined = np.empty((len(axes[0]), k, bases[0].shape[1]))
    place = np.argsort(_row_order(parts))
    stop = 0
    for own, basis in zip(axes, bases, strict=True):  # in place
        start, stop = stop, stop + own.shape[1]
        for some in blocks(len(joined), BLOCK_ROWS):
            joined[some, place[start:stop]] = own[some] @ basis
    return joined


def part_axes(
    parts: Sequence[Split], bases: Sequence[np.ndarray], axes: np.ndarray
) -> list[np.ndarray]:
    """Return the axes of each part in its own space, the inverse of `join_axes`."""
    joined = np.empty_like(axes)
    joined[:, _row_order(parts)] = axes
    stops = np.cumsum([sum(part.dims) for part in parts])
    own = np.split(joined, stops[:-1], axis=1)
    return [rows @ basis.T for rows, basis in zip(own, bases, strict=True)]


def _row_order(parts: Sequence[Split]) -> np.ndarray:
    """Return the order that sorts the concatenated axes of the parts by factor dimension."""
    dims = [dim for part in parts for dim in part.dims]
    rows = np.split(np.arange(sum(dims)), np.cumsum(dims)[:-1])
    return np.concatenate([rows[j] for j in largest_first(dims)])


def largest_first(dims: Sequence[int]) -> np.ndarray:
    """Return the order of factors by dimension."""
    return np.argsort(-np.asarray(dims), kind="stable")


# How flat parts are treated; see `GeoManCER`.
FlatTreatment = Literal["split", "keep"]


@dataclass(frozen=True)
class Settings:
    """The checked parameters of `GeoManCER`, without `prepare` and `metric` (see `RowMeasure`).

    `n_jobs` is None for one thread, -1 for every core.
    """

    tangents: TangentMethod = "curved"
    refinements: int = 2
    rule: FactorRule = "parallel"
    normalized: bool = True
    n_neighbors: int | None = None
    tangent_neighbors: int | None = None
    n_fields: int = 8
    n_jobs: int | None = None
    dim: int | Literal["auto", "scan"] = "auto"
    n_factors: int | Literal["auto"] = "auto"
    flat: FlatTreatment = "split"
    random_state: Any = 0
    verbose: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        if self.n_neighbors is not None:
            check_int(self.n_neighbors, "n_neighbors", low=1)
        if self.tangent_neighbors is not None:
            check_int(self.tangent_neighbors, "tangent_neighbors", low=2)
        if isinstance(self.dim, str) and self.dim not in ("auto", "scan"):
            raise InputError(f"dim must be a positive integer, 'auto' or 'scan'; got {self.dim!r}.")
        if isinstance(self.n_factors, str):
            check_choice(self.n_factors, "n_factors", ("auto",))
        checked = {
            "tangents": check_choice(self.tangents, "tangents", ("curved", "pca")),
            "refinements": check_int(self.refinements, "refinements", low=0),
            "rule": check_choice(self.rule, "rule", ("parallel", "gap")),
            "normalized": bool(self.normalized),
            "n_jobs": check_jobs(self.n_jobs),
            "dim": self.dim if isinstance(self.dim, str) else check_int(self.dim, "dim", low=1),
            "flat": check_choice(self.flat, "flat", ("split", "keep")),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def refines(self) -> bool:
        """Whether factors are refined; PCA tangents never are."""
        return self.refinements > 0 and self.tangents == "curved"


@dataclass(frozen=True)
class Task:
    """Settings and state shared by all steps on one set of points.

    Attributes
    ----------
    settings : Settings
    stages : Stages
        Timing and progress.
    rng : Generator
    graph : NeighborGraph or None
        Known neighbours.
    n_factors : int or None
        Known number of factors.
    leave_whole : bool
        Treat the points as one factor.
    searches : Searches
        Prepared searches among the points.
    apart : Apart or None
        Rows to exclude from each other's neighbourhoods.
    """

    settings: Settings = field(default_factory=Settings)
    stages: Stages = field(default_factory=lambda: Stages("", verbose=0))
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    graph: NeighborGraph | None = None
    n_factors: int | None = None
    leave_whole: bool = False
    searches: Searches = field(default_factory=Searches)
    apart: Apart | None = None

    def search(self, points: np.ndarray) -> Search:
        """Return an exact search among points, prepared once."""
        return self.searches.among(points, apart=self.apart, n_jobs=self.settings.n_jobs)

    def at(self, rows: np.ndarray) -> Task:
        """Restrict the task to some rows, in their order; a given graph is not restricted."""
        if self.apart is None:
            return self
        return replace(self, apart=self.apart.rows(rows), searches=Searches())


# With noisy tangents, parallel fields may have eigenvalues up to this share of the bulk.
SMALL_VALUE = 0.1
# Above this share of the bulk no field is parallel, however even its norm.
NOT_SMALL = 0.3
# Without parallel fields, a lowest eigenvalue this far below the next may be due to errors of the
# tangents, because on single factors the lowest eigenvalues form clusters.
ISOLATED = 1.5
# Errors of the tangents in radians above which several factors may appear as one, and above which
# the number of separated factors may be wrong.
MERGING_ERROR, MIXING_ERROR = 0.15, 0.19
# Slow fields of a long factor also have small eigenvalues, but their norm varies by more.
SLOW_VARIATION = 0.35


@dataclass(frozen=True)
class Evidence:
    """Evidence for the number of factors: two tests on the lowest eigenfields of one problem.

    Attributes
    ----------
    dim : int
        Dimension of the points.
    eigenvalues : ndarray of shape (q,)
        Zero for a parallel field, up to errors of the tangents.
    variation : ndarray of shape (q,)
        Variation over points of each field's norm; zero for a parallel field.
    n_parallel : int
        Number of leading fields accepted as parallel.
    factor_dims : tuple of int
        Dimensions of the factors at this level.
    gap_rule : int
        Number of factors by the published rule, the largest gap between eigenvalues.
    doubts : tuple of Doubt
        Reasons why the number is uncertain.
    departure : Departure or None
        Departure of the metric from a product of these factors.
    tangent_error : TangentError or None
    """

    dim: int
    eigenvalues: np.ndarray
    variation: np.ndarray
    n_parallel: int
    factor_dims: tuple[int, ...]
    gap_rule: int
    doubts: tuple[Doubt, ...]
    departure: Departure | None = None
    tangent_error: TangentError | None = None

    def __str__(self) -> str:
        """Describe the evidence in one line."""
        count = min(self.n_parallel + 1, len(self.variation))
        values = " ".join(f"{value:.2g}" for value in self.eigenvalues[:count])
        varies = " ".join(f"{value:.3f}" for value in self.variation[:count])
        uncertain = f"; uncertain: {'; '.join(self.doubts)}" if self.doubts else ""
        fields = (
            "1 parallel field" if self.n_parallel == 1 else f"{self.n_parallel} parallel fields"
        )
        departure = f"; {self.departure}" if self.departure else ""
        error = f"; {self.tangent_error}" if self.tangent_error else ""
        return (
            f"dimension {self.dim} -> {' + '.join(map(str, self.factor_dims))}: {fields}, "
            f"eigenvalues {values}, norms vary by {varies}{departure}{error}{uncertain}"
        )


def collect_evidence(split: Split) -> list[Evidence]:
    """Collect the evidence of a split and all its parts, outermost first."""
    own = [] if split.fields is None else [_weigh(split)]
    return own + [item for part in split.parts for item in collect_evidence(part)]


def _weigh(split: Split) -> Evidence:
    fields = split.fields
    assert fields is not None
    dim = split.axes.shape[1]
    # If factors were split further, the factors at this level are those of the first round.
    dims = split.history[0]["factor_dims"] if split.parts else split.dims
    gap_rule = count_by_gap(fields.values) + 1 if len(fields.values) > 1 else 1
    doubts = doubts_of(fields, dim)
    counted, used = split.told_apart, len(split.dims)
    if counted not in (None, used):
        doubts += (doubt("given-factors", "split", given=used, found=counted),)
    if split.tangent_error is None and used > 1:
        doubts += (doubt("unmeasured-departure", "split"),)
    if not split.parts:  # otherwise the evidence of the parts counts
        doubts += doubts_of_tangents(split)
    if split.departure and not split.departure.is_product:
        doubts += (doubt("departure", "split", departure=str(split.departure)),)
    return Evidence(
        dim,
        fields.values,
        fields.variation,
        fields.n_parallel,
        dims,
        gap_rule,
        doubts,
        split.departure,
        split.tangent_error,
    )


def doubts_of_tangents(split: Split) -> tuple[Doubt, ...]:
    """Return a doubt if errors of the tangents may merge or mix factors."""
    error = split.tangent_error
    limit = MERGING_ERROR if len(split.dims) == 1 else MIXING_ERROR
    if error is None or error.angle <= limit or split.axes.shape[1] < SPLITTABLE:
        return ()
    more = f", more than {limit}," if np.isfinite(error.noise) else ", which"
    return (doubt("noisy-tangents", "split", error=str(error), limit=more),)


def doubts_of(fields: Eigenfields, dim: int = SPLITTABLE) -> tuple[Doubt, ...]:
    """Return the reasons why the number of parallel fields is uncertain."""
    low, high = UNCERTAIN_VARIATION
    counted, values = fields.n_parallel, fields.values
    doubts = []
    for r, varies in enumerate(fields.variation[: counted + 1]):
        if r == counted and values[r] > NOT_SMALL * values[-1]:
            continue  # not parallel even if its norm is constant, as on a torus
        if low < varies and (varies < high or r < counted):
            doubts.append(doubt("uneven-field", "split", field=r + 1, variation=varies))
    after = fields.variation[counted] if counted < len(values) - 1 else np.inf
    if after < SLOW_VARIATION and values[counted] < SMALL_VALUE * values[-1]:
        doubts.append(doubt("small-eigenvalue", "split", field=counted + 1))
    elif counted == 0 and dim >= SPLITTABLE and values[1] > ISOLATED * values[0]:
        doubts.append(doubt("lone-eigenvalue", "split", ratio=values[1] / values[0]))
    if not fields.converged:
        doubts.append(doubt("not-converged", "split"))
    return tuple(doubts)
