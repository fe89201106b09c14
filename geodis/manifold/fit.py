"""Points -> a fit: prepare, dimension, the eight published steps, refine, flat part, judge."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state
from geodis.base.jobs import one_blas_thread
from geodis.base.progress import Stages
from geodis.manifold.doubts import Doubt, doubt
from geodis.manifold.fit_doubts import doubts_of_fit, late_doubts, remedy_for_counts
from geodis.manifold.fitted import Fit
from geodis.manifold.flat.flat_axes import FlatAxes, split_flat_axes
from geodis.manifold.flat.flat_graph import CurveOrder, curve_order
from geodis.manifold.local.dimension_estimate import DimensionEstimate
from geodis.manifold.local.graph import NeighborGraph
from geodis.manifold.local.neighbors import distinct_rows
from geodis.manifold.pipeline import published_pipeline
from geodis.manifold.preparation.prepared import (
    Prepared,
    dimension_of,
    distinct_places,
    graph_of,
    pieces_largest_first,
    prepared,
    same_factors,
    supported_dim,
    task_inside,
)
from geodis.manifold.preparation.rows import Rows
from geodis.manifold.preparation.sampling_checks import (
    coverage_doubts,
    kept_apart,
    path_doubts,
    sampling_doubts,
)
from geodis.manifold.refine import refined, split_factors
from geodis.manifold.split_result import Settings, Split, Task, collect_evidence


def fit_rows(rows: Rows, settings: Settings) -> Fit:
    """Fit points: the whole of GeoManCER, a step a line.

    Parameters
    ----------
    rows : Rows
    settings : Settings
        Its `dim` is a number or "auto".

    Returns
    -------
    Fit

    Examples
    --------
    >>> from geodis import product_manifold
    >>> points = product_manifold("S^2 x S^1", 500, random_state=0).points
    >>> fit_rows(Rows(points), Settings()).flat.dims
    (2, 1)
    """
    with Stages("GeoManCER", settings.verbose) as stages, one_blas_thread():
        task = Task(settings, stages, check_random_state(settings.random_state))
        least = 1 if isinstance(settings.dim, str) else settings.dim
        ready = prepared(rows.points, task, graph_given=rows.graph is not None, least=least)
        task = _with_neighbors(task, ready, rows)
        dimension, dim = _dimension(ready, task, rows.points.shape[1])
        task = _with_n_factors(task, dim)
        with stages.stage("graph"):
            graph = graph_of(ready, dim, task, rows.graph)
        sampling = _sampling_doubts(ready, dim, task, rows)
        ready = replace(ready, near=None, further=None)  # of many points the largest of all
        if rows.graph is not None:
            task = replace(task, graph=graph)
        split = split_pieces(ready.points, dim, task, graph)
        flat = split_flat_axes(ready.points, split, task, graph, settings.flat)
        order = None
        if dim == 1 and rows.graph is None and flat.pieces:
            order = _order_of_curve(ready.points, flat, split.tangent_neighbors)
    fit = Fit(
        settings=settings,
        measure=rows.measure,
        n_columns=rows.n_columns,
        points=rows.points,
        places=ready.points,
        directions=ready.directions,
        outliers=ready.outliers,
        n_copies=ready.n_copies,
        groups=rows.groups,
        times=rows.times,
        sample_rows=rows.sample_rows,
        dimension=dimension,
        dim=dim,
        graph=graph,
        split=split,
        flat=flat,
        evidence=collect_evidence(split),
        order=order,
        seconds=dict(stages.seconds),
        peak_memory=_peak_memory(),
    )
    return _judged(fit, rows, sampling.of(flat))


def split_pieces(points: np.ndarray, dim: int, task: Task, graph: NeighborGraph) -> Split:
    """The eight published steps, then refinement, on every piece of the graph.

    The largest piece, mostly all of it, says how many factors there are.

    Returns
    -------
    Split
        NaN at the points of pieces that split otherwise, or are too small for the tangents.
    """
    largest, *others = pieces_largest_first(graph.piece)
    inside = task_inside(task, largest, len(points))
    places = distinct_places(points[largest] if others else points, inside)
    inside = inside.at(places.rows)
    solution = published_pipeline(places.points, dim, inside)
    split = places.spread(refined(places.points, solution, inside))
    return with_other_pieces(points, dim, task, graph.piece, split) if others else split


def with_other_pieces(
    points: np.ndarray, dim: int, task: Task, piece: np.ndarray, largest: Split
) -> Split:
    """The split of the largest piece of a graph, with the axes of all pieces that split alike.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    dim : int
    task : Task
    piece : ndarray of int, shape (n,)
        The piece that each point belongs to.
    largest : Split
        Of the points of the largest piece.

    Returns
    -------
    Split
        NaN at the points of pieces that split otherwise, or are too small for the tangents.
    """
    first, *others = pieces_largest_first(piece)
    axes = np.full((len(points), dim, points.shape[1]), np.nan)
    axes[first] = largest.axes
    for rows in others:
        try:
            split = split_factors(points[rows], dim, task_inside(task, rows, len(points)))
        except InputError:
            break  # this piece and all smaller ones have too few points for the tangents
        if split.dims == largest.dims:
            order = same_factors(split.axes, split.flat, largest.axes, largest.flat, split.dims)
            own = np.split(split.axes, np.cumsum(split.dims)[:-1], axis=1)
            axes[rows] = np.concatenate([own[j] for j in order], axis=1)
    return replace(largest, axes=axes, rows=first[largest.rows])


def _with_neighbors(task: Task, ready: Prepared, rows: Rows) -> Task:
    """The task with rows that are no neighbours of one another, and what was found of others."""
    apart = kept_apart(ready.points, rows.groups, rows.times, noise=ready.directions.noise)
    if ready.further is not None:
        task.searches.store(ready.points, ready.further.nearest)
    return replace(task, apart=apart)


def _dimension(ready: Prepared, task: Task, n_columns: int) -> tuple[DimensionEstimate, int]:
    """The estimate of the dimension, and the dimension: the one that was given if there is one."""
    given, n_varying = task.settings.dim, ready.points.shape[1]
    if not isinstance(given, str) and given > n_varying:
        raise InputError(
            f"dim={given} needs as many directions in which the points vary; got {n_varying} "
            f"(of {n_columns} columns)."
        )
    estimate = dimension_of(ready, task)
    if isinstance(given, str):
        return estimate, supported_dim(estimate.dim, ready.inside, task.settings.tangents)
    return estimate, given


def _with_n_factors(task: Task, dim: int) -> Task:
    """The task with the number of factors, where it was given."""
    given = task.settings.n_factors
    if isinstance(given, str):
        return task
    return replace(task, n_factors=check_int(given, "n_factors", low=1, high=dim))


@dataclass(frozen=True)
class _SamplingDoubts:
    """Why rows are no random sample, and why a curve may be a path, by whether it closes."""

    always: tuple[Doubt, ...]
    if_open: tuple[Doubt, ...] = ()
    if_closed: tuple[Doubt, ...] = ()

    def of(self, flat: FlatAxes) -> tuple[Doubt, ...]:
        closed = any(map(len, flat.periods))
        return self.always + (self.if_closed if closed else self.if_open)


def _sampling_doubts(ready: Prepared, dim: int, task: Task, rows: Rows) -> _SamplingDoubts:
    if ready.near is None:
        return _SamplingDoubts(())
    points, near, noise = ready.inside, ready.near, ready.directions.noise
    doubts = sampling_doubts(points, near, dim=dim)
    if task.apart is not None:
        doubts += coverage_doubts(points, near, task.apart.rows(np.flatnonzero(~ready.outliers)))
    if dim > 1 or rows.times is not None:
        return _SamplingDoubts(doubts)
    paths = (path_doubts(points, near, closed=closed, noise=noise) for closed in (False, True))
    return _SamplingDoubts(doubts, *paths)


def _order_of_curve(points: np.ndarray, flat: FlatAxes, n_neighbors: int) -> CurveOrder:
    """The order of the largest piece of a curve, with rows of the points."""
    rows = flat.pieces[0].rows
    places, first, _ = distinct_rows(points[rows])
    rows = rows[first]
    order = curve_order(places, flat.coordinates[rows, 0], flat.pieces[0].periods[0], n_neighbors)
    return order if order.row < 0 else replace(order, row=int(rows[order.row]))


def _judged(fit: Fit, rows: Rows, sampling: tuple[Doubt, ...]) -> Fit:
    """The fit with everything that speaks against it."""
    doubts = doubts_of_fit(
        fit.dim,
        fit.dimension,
        fit.dim_given,
        fit.graph,
        fit.outliers,
        fit.axes,
        fit.evidence,
        fit.flat.evidence,
        sampling,
    )
    doubts += rows.doubts
    counts = remedy_for_counts(fit.points, rows.of_bytes) if fit.measure.is_plain else ()
    doubts += counts if doubts else ()
    late = late_doubts(fit.flat.dims, fit.dimension, fit.dim_given, fit.evidence, fit.order)
    more = late if doubts or not late else late + tuple(replace(o, weight=0.0) for o in counts)
    return replace(fit, doubts=doubts + more, late_doubts=late)


def _peak_memory() -> float:
    try:
        import resource
    except ImportError:  # not on Windows
        return np.nan
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# Several dimensions, fitted one by one -> the fit against which least speaks.

# Dimensions with a ratio of curved fits from here on at any scale may be meant; this many are
# fitted at most.
POSSIBLE, MOST_FITS = 1.6, 4
# Below this ratio something long is left at every scale, so that the dimension is too small; what
# is too small has often least to doubt.
LEAVES_NOTHING = 2.0


def scan_dimensions(rows: Rows, settings: Settings) -> Fit:
    """Fit with every dimension that may be meant, and keep the cleanest of these fits.

    A fit is clean if its curved fits leave nothing long at some scale; among these the doubts with
    the least total weight decide, and then how little the fits leave. Doubts about the dimension
    itself weigh nothing. A dimension that is clear is not scanned.

    Parameters
    ----------
    rows : Rows
    settings : Settings
        Its `dim` is "scan".

    Returns
    -------
    Fit
    """
    first = _fit_with("auto", rows, settings)
    estimate, fits = first.dimension, {first.dim: first}
    for dim in [] if estimate.verdict == "clear" else candidates(estimate, first.dim):
        try:
            fits[dim] = _fit_with(dim, rows, settings)
        except InputError:  # too few points or directions for it
            continue
    kept = min(fits.values(), key=lambda fit: _blemishes(fit, estimate))
    doubts = kept.doubts
    if len(fits) > 1:
        weights = ", ".join(f"{dim} ({_weight(fits[dim]):g})" for dim in sorted(fits))
        account = estimate.account
        late = late_doubts(kept.flat.dims, kept.dimension, False, kept.evidence, kept.order)
        doubts = (
            doubt("scanned-dimension", "dimension", estimate=account, fits=weights, kept=kept.dim),
            *(one for one in doubts if one.about != "dimension" and one not in kept.late_doubts),
            *late,
        )
    return replace(kept, settings=settings, doubts=doubts)


def _fit_with(dim: int | Literal["auto"], rows: Rows, settings: Settings) -> Fit:
    """Fit with a dimension; a generator starts every fit in the same state."""
    random_state = deepcopy(settings.random_state)
    return fit_rows(rows, replace(settings, dim=dim, random_state=random_state))


def candidates(estimate: DimensionEstimate, fitted: int) -> list[int]:
    """Other dimensions that may be meant, the nearest to the estimate first.

    Examples
    --------
    >>> from geodis import intrinsic_dimension
    >>> rows = np.random.default_rng(0).standard_normal((400, 3)) * [9, 1, 0.3]
    >>> candidates(intrinsic_dimension(rows), 3)
    [2, 1]
    """
    possible = {
        k
        for ratios in estimate.ratios
        for k, ratio in enumerate(ratios, start=1)
        if ratio >= POSSIBLE
    }
    seen = [value for value in (estimate.mle, estimate.two_nn) if np.isfinite(value)]
    possible |= {max(1, round(value)) for value in seen} | {estimate.dim - 1, estimate.dim + 1}
    possible -= {fitted}
    nearest = sorted(possible, key=lambda dim: (abs(dim - estimate.dim), dim))
    return [dim for dim in nearest if 1 <= dim <= estimate.n_directions][: MOST_FITS - 1]


def _weight(fit: Fit) -> float:
    """How much speaks against a fit."""
    return sum(one.weight for one in fit.doubts)


def _blemishes(fit: Fit, estimate: DimensionEstimate) -> tuple[bool, float, float]:
    """What speaks against a fit, in the order in which it counts."""
    ratio = _best_ratio(estimate, fit.dim)
    filled = fit.dim >= estimate.n_directions
    return ratio < LEAVES_NOTHING and not filled, _weight(fit), -ratio


def _best_ratio(estimate: DimensionEstimate, dim: int) -> float:
    return max((row[dim - 1] for row in estimate.ratios if len(row) >= dim), default=0.0)
