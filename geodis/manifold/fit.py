"""The steps of a fit: preparation, dimension, pipeline, refinement, flat part, doubts; scans."""

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
    """Fit points: all steps of GeoManCER.

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
        ready = replace(ready, near=None, further=None)  # frees the largest arrays
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
    """Run the pipeline and its refinement on every graph component.

    The largest component determines the number of factors.

    Returns
    -------
    Split
        NaN in components that split differently, or are too small for the tangents.
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
    """Add the axes of other graph components to the split of the largest one.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    dim : int
    task : Task
    piece : ndarray of int, shape (n,)
        The component of each point.
    largest : Split
        Of the points of the largest component.

    Returns
    -------
    Split
        NaN in components that split differently, or are too small for the tangents.
    """
    first, *others = pieces_largest_first(piece)
    axes = np.full((len(points), dim, points.shape[1]), np.nan)
    axes[first] = largest.axes
    for rows in others:
        try:
            split = split_factors(points[rows], dim, task_inside(task, rows, len(points)))
        except InputError:
            break  # this and all smaller components have too few points
        if split.dims == largest.dims:
            order = same_factors(split.axes, split.flat, largest.axes, largest.flat, split.dims)
            own = np.split(split.axes, np.cumsum(split.dims)[:-1], axis=1)
            axes[rows] = np.concatenate([own[j] for j in order], axis=1)
    return replace(largest, axes=axes, rows=first[largest.rows])


def _with_neighbors(task: Task, ready: Prepared, rows: Rows) -> Task:
    """Add to the task the rows to keep apart, and neighbours that are already known."""
    apart = kept_apart(ready.points, rows.groups, rows.times, noise=ready.directions.noise)
    if ready.further is not None:
        task.searches.store(ready.points, ready.further.nearest)
    return replace(task, apart=apart)


def _dimension(ready: Prepared, task: Task, n_columns: int) -> tuple[DimensionEstimate, int]:
    """Estimate the dimension; return the estimate and the dimension to use."""
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
    """Add a given number of factors to the task."""
    given = task.settings.n_factors
    if isinstance(given, str):
        return task
    return replace(task, n_factors=check_int(given, "n_factors", low=1, high=dim))


@dataclass(frozen=True)
class _SamplingDoubts:
    """Doubts about the sampling; for curves they depend on whether the curve closes."""

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
    """Order the points of the largest component of a curve, and test this order."""
    rows = flat.pieces[0].rows
    places, first, _ = distinct_rows(points[rows])
    rows = rows[first]
    order = curve_order(places, flat.coordinates[rows, 0], flat.pieces[0].periods[0], n_neighbors)
    return order if order.row < 0 else replace(order, row=int(rows[order.row]))


def _judged(fit: Fit, rows: Rows, sampling: tuple[Doubt, ...]) -> Fit:
    """Add all doubts to a fit."""
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
    late = late_doubts(fit.flat.dims, fit.dimension, fit.dim_given, fit.evidence, fit.order)
    if doubts:
        doubts += counts + late
    elif late:  # late doubts and their remedies do not count in scans
        doubts = late + tuple(replace(one, weight=0.0) for one in counts)
    return replace(fit, doubts=doubts, late_doubts=late)


def _peak_memory() -> float:
    try:
        import resource
    except ImportError:  # not on Windows
        return np.nan
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# Ratio of curved fits at any scale that makes a dimension plausible, and the most fits of a scan.
POSSIBLE, MOST_FITS = 1.6, 4
# Below this ratio at every scale the dimension is too small. Such fits often have few doubts.
LARGE_ENOUGH = 2.0


def scan_dimensions(rows: Rows, settings: Settings) -> Fit:
    """Fit with every plausible dimension, and keep the best of these fits.

    The dimension must be large enough, with a ratio of curved fits of at least two at some scale.
    Among these the total weight of the doubts decides, and then the ratio. Doubts about the
    dimension itself have no weight. A clear dimension is not scanned.

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
    kept = min(fits.values(), key=lambda fit: _penalty(fit, estimate))
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
    """Fit with a dimension; a random generator starts every fit in the same state."""
    random_state = deepcopy(settings.random_state)
    return fit_rows(rows, replace(settings, dim=dim, random_state=random_state))


def candidates(estimate: DimensionEstimate, fitted: int) -> list[int]:
    """Return other plausible dimensions, the nearest to the estimate first.

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
    """Return the total weight of the doubts about a fit."""
    return sum(one.weight for one in fit.doubts)


def _penalty(fit: Fit, estimate: DimensionEstimate) -> tuple[bool, float, float]:
    """Return the criteria of a scan in order of importance; smaller is better."""
    ratio = _best_ratio(estimate, fit.dim)
    filled = fit.dim >= estimate.n_directions
    return ratio < LARGE_ENOUGH and not filled, _weight(fit), -ratio


def _best_ratio(estimate: DimensionEstimate, dim: int) -> float:
    return max((row[dim - 1] for row in estimate.ratios if len(row) >= dim), default=0.0)
