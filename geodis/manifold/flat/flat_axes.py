"""Further splitting of the flat factors found by holonomy, and their coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from geodis.base.jobs import check_jobs
from geodis.manifold.doubts import FLAT, Doubt, doubt
from geodis.manifold.flat.differences import Edges
from geodis.manifold.flat.flat_evidence import FlatEvidence
from geodis.manifold.flat.flat_part import FlatPart, split_flat_part
from geodis.manifold.flat.may_be_flat import (
    FlatPiece,
    Worth,
    looks_curved,
    with_other_flat_pieces,
    worth_unrolling,
)
from geodis.manifold.flat.unroll import steps_along
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.graph import NeighborGraph, connecting_degree, neighbor_graph
from geodis.manifold.preparation.prepared import pieces_largest_first
from geodis.manifold.split_result import Split, Task

# Variation of the norm below which fields that were not counted as parallel are constant, so that
# the unrolling decides.
CONSTANT_NORM = 0.05
# A single factor of at most this dimension is unrolled even without parallel fields: images of an
# object in several poses and lights have parameters, but not a product metric.
TRIED_DIM = 3
# Smallest ratio of the first unwanted to the last wanted eigenvalue of the connection Laplacian.
MIN_FIELD_RATIO = 1.8
# Lengths along coordinates of closed curved manifolds are wrong by .3 and more, those of flat parts
# under strong noise by .18. Above this strain the part was not flat.
CLOSED_STRAIN = 0.25


@dataclass(frozen=True)
class FlatAxes:
    """Axes of all factors after splitting the flat part.

    Attributes
    ----------
    axes : ndarray of shape (n, k, d)
        Orthonormal rows grouped by factor.
    dims : tuple of int
        Largest first.
    flat : tuple of bool
        Which factors are flat.
    coordinates : ndarray of shape (n, f)
        Isometric coordinates of the flat factors, in their order; no columns if no flat part could
        be unrolled.
    periods : tuple of ndarray
        Periods of every flat factor in the largest piece of the graph.
    pieces : tuple of FlatPiece
        Pieces of the graph that have coordinates, largest first.
    evidence : FlatEvidence or None
        None if there is no flat part, or it was not to be split.
    own : ndarray of bool, shape (k,)
        Axes of the split by holonomy that form the flat part.
    order : ndarray of int, shape (k,)
        Position of every row of `axes` in the list of the other axes of that split followed by
        those of the flat part.
    """

    axes: np.ndarray
    dims: tuple[int, ...]
    flat: tuple[bool, ...]
    coordinates: np.ndarray
    periods: tuple[np.ndarray, ...]
    pieces: tuple[FlatPiece, ...]
    evidence: FlatEvidence | None
    own: np.ndarray
    order: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """Rows of the axes of the flat factors, in the order of the coordinates."""
        return np.flatnonzero(np.repeat(self.flat, self.dims) & self.own.any())

    def axes_at(self, split_axes: np.ndarray, nearest: np.ndarray) -> np.ndarray:
        """Compute axes (p, k, d) at new points from those of the split and of the nearest point.

        In the flat part, the axes of the nearest fitted point are transported by the polar factor;
        the other axes are those of the split.
        """
        if not self.own.any():
            return split_axes
        subspace = split_axes[:, self.own]
        carried = polar_rows(nearest[:, self.rows] @ np.swapaxes(subspace, 1, 2)) @ subspace
        return np.concatenate([split_axes[:, ~self.own], carried], axis=1)[:, self.order]


def coordinates_from(
    points: np.ndarray,
    frames: np.ndarray,
    fitted: np.ndarray,
    fitted_frames: np.ndarray,
    coordinates: np.ndarray,
) -> np.ndarray:
    """Extend flat coordinates from fitted points to points near them, up to whole periods.

    ``u = u_i + c``, where c is the wanted step along an edge of the unrolling.

    Parameters
    ----------
    points, fitted : ndarray of shape (p, d)
    frames, fitted_frames : ndarray of shape (p, f, d)
    coordinates : ndarray of shape (p, f)
        Coordinates of the fitted points.

    Returns
    -------
    ndarray of shape (p, f)

    Examples
    --------
    >>> angle = np.array([[0.0], [0.2]])
    >>> circle = np.hstack([np.cos(angle), np.sin(angle)])
    >>> frames = np.hstack([-np.sin(angle), np.cos(angle)])[:, None]
    >>> new = coordinates_from(circle[1:], frames[1:], circle[:1], frames[:1], np.zeros((1, 1)))
    >>> new.round(4).tolist()
    [[0.2]]
    """
    p = len(points)
    pairs = Edges(np.arange(p), np.arange(p, 2 * p), 2 * p)
    both, turning = np.vstack([fitted, points]), np.concatenate([fitted_frames, frames])
    return coordinates + steps_along(both, turning, pairs)


def split_flat_axes(
    points: np.ndarray, split: Split, task: Task, graph: NeighborGraph | None, how: str
) -> FlatAxes:
    """Split the flat factors further; see `split_flat_part` for the steps.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    split : Split
        Split of the points by holonomy; its curved factors are unchanged.
    task : Task
    graph : NeighborGraph or None
        Graph of the points, whose largest piece determines the split of the flat part. None takes
        the graph of nearest neighbours, as a fit does.
    how : {"split", "keep"}

    Returns
    -------
    FlatAxes

    Examples
    --------
    >>> from geodis import neighbor_graph, product_manifold
    >>> from geodis.manifold.refine import split_factors
    >>> from geodis.manifold.split_result import Task
    >>> points = product_manifold("S^2 x S^1(2)", 800, random_state=0).points
    >>> split = split_factors(points, 3)
    >>> both = split_flat_axes(points, split, Task(), neighbor_graph(points, 8), "split")
    >>> both.flat, np.abs(both.periods[0]).round(1).tolist()
    ((False, True), [[12.6]])
    """
    if graph is None:
        degree = task.settings.n_neighbors or connecting_degree(split.axes.shape[1])
        graph = neighbor_graph(points, degree, n_jobs=task.settings.n_jobs)
    likely = [dim == 1 or flag for dim, flag in zip(split.dims, split.flat, strict=True)]
    chosen = [flag or test for flag, test in zip(likely, _to_be_tested(split), strict=True)]
    # A given number of factors counts the flat part as it was found.
    if how == "keep" or task.n_factors is not None:
        return _unchanged(split, None)
    # A single factor without parallel fields is tried if it has few dimensions.
    tried = (
        not any(chosen)
        and task.graph is None
        and len(split.dims) == 1
        and 1 < split.dims[0] <= TRIED_DIM
        and split.fields is not None
    )
    worth: Worth = "perhaps"
    if tried:
        with task.stages.stage("flat factors"):
            known = np.isfinite(split.axes).all(axis=(1, 2))
            worth = worth_unrolling(
                points[known],
                split.axes[known],
                n_jobs=check_jobs(task.settings.n_jobs),
                random_state=np.random.default_rng(0),  # leaves the random stream unchanged
            )
        tried = worth in ("perhaps", "closed")
        chosen = [tried]
    if not any(chosen):
        doubts = (doubt("half-closed", FLAT),)
        dim, nothing = split.dims[0], (np.nan,) * 3
        closed = FlatEvidence(dim, (dim,), *nothing, doubts=doubts)
        return _unchanged(split, closed if worth == "half-closed" else None)
    with task.stages.stage("flat factors"):
        part, own = _unrolled(points, split, task, graph, chosen)
        if tried:
            part = _with_doubt(part, _why_tried(split))
        if chosen != likely and (
            not np.isfinite(part.coordinates).any() or (tried and _is_curved(part))
        ):
            if not any(likely):
                curved = worth != "closed" and (tried or part.evidence.strain > CLOSED_STRAIN)
                return _unchanged(split, None if curved else part.evidence)
            chosen = likely
            part, own = _unrolled(points, split, task, graph, chosen)
    if not np.isfinite(part.coordinates).any():
        return _unchanged(split, part.evidence)
    with task.stages.stage("flat factors"):
        known = np.isfinite(split.axes).all(axis=(1, 2))
        part, pieces = with_other_flat_pieces(
            part,
            [rows[known[rows]] for rows in pieces_largest_first(graph.piece)],
            partial(_unrolled_rows, points, split, task, graph, own),
        )
    axes = np.concatenate([split.axes[:, ~own], part.frames], axis=1)
    dims = [dim for dim, flag in zip(split.dims, chosen, strict=True) if not flag] + [*part.dims]
    flat = [False] * (len(dims) - len(part.dims)) + [True] * len(part.dims)
    order = np.argsort([-dim for dim in dims], kind="stable")
    rows = np.split(np.arange(axes.shape[1]), np.cumsum(dims)[:-1])
    moved = np.concatenate([rows[j] for j in order])
    axes = axes[:, moved]
    axes[np.isnan(axes).any(axis=(1, 2))] = np.nan  # a point has all its axes or none
    return FlatAxes(
        axes,
        tuple(int(dims[j]) for j in order),
        tuple(flat[j] for j in order),
        part.coordinates,  # the order is stable and largest first among the flat ones too
        part.periods,
        pieces,
        part.evidence,
        own,
        moved,
    )


def _unchanged(split: Split, evidence: FlatEvidence | None) -> FlatAxes:
    """Return the axes of a split without a flat part."""
    n, k, _ = split.axes.shape
    nothing = np.zeros((n, 0)), (), (), evidence, np.zeros(k, bool), np.arange(k)
    return FlatAxes(split.axes, split.dims, split.flat, *nothing)


def _unrolled(
    points: np.ndarray, split: Split, task: Task, graph: NeighborGraph, chosen: list[bool]
) -> tuple[FlatPart, np.ndarray]:
    """Unroll chosen factors in the largest piece (NaN elsewhere); also return their axes."""
    own = np.repeat(chosen, split.dims)
    rows = pieces_largest_first(graph.piece)[0]
    part = _unrolled_rows(points, split, task, graph, own, rows)
    ratio = _field_ratio(split)
    if ratio < MIN_FIELD_RATIO:
        part = _with_doubt(part, doubt("unclear-flatness", FLAT, ratio=ratio))
    if len(rows) < len(points):
        frames = np.full((len(points), *part.frames.shape[1:]), np.nan)
        coordinates = np.full((len(points), part.coordinates.shape[1]), np.nan)
        frames[rows], coordinates[rows] = part.frames, part.coordinates
        part = replace(part, frames=frames, coordinates=coordinates)
    return part, own


def _unrolled_rows(
    points: np.ndarray,
    split: Split,
    task: Task,
    graph: NeighborGraph,
    own: np.ndarray,
    rows: np.ndarray,
) -> FlatPart:
    """Split the flat part at the points of one piece."""
    given = task.graph
    if given is not None and graph.n_pieces > 1:
        given = neighbor_graph(graph=given.adjacency[rows][:, rows])
    tangent_neighbors = max(part.tangent_neighbors for part in (split, *split.parts))
    return split_flat_part(
        points[rows],
        split.axes[rows][:, own],
        graph=given,
        n_neighbors=task.settings.n_neighbors,
        tangent_neighbors=tangent_neighbors or None,
        n_jobs=task.settings.n_jobs,
        random_state=task.rng,
    )


def _with_doubt(part: FlatPart, one: Doubt) -> FlatPart:
    return replace(part, evidence=replace(part.evidence, doubts=(*part.evidence.doubts, one)))


def _why_tried(split: Split) -> Doubt:
    assert split.fields is not None
    return doubt("unrolled-alone", FLAT, variation=split.fields.variation.min())


def _is_curved(part: FlatPart) -> bool:
    """Whether a part that was unrolled as a trial is one curved factor."""
    evidence = part.evidence
    closed = sum(map(len, part.periods)) == evidence.dim
    return looks_curved(evidence.dim, evidence.strain, evidence.curvature, closed)


def _field_ratio(split: Split) -> float:
    """Return the smallest ratio of the next eigenvalue to the last one of the parallel fields."""
    ratios = [np.inf]
    for part in (split, *split.parts):
        if part.fields is not None and any(part.flat):
            count, values = part.fields.n_parallel, part.fields.values
            if 0 < count < len(values):
                ratios.append(float(values[count] / values[count - 1]))
    return min(ratios)


def _to_be_tested(split: Split) -> list[bool]:
    """Find factors whose fields have constant norms although none was counted as parallel.

    This occurs if all computed fields are parallel, so that there is no bulk to compare with.
    """
    if split.parts:
        tested = [test for part in split.parts for test in _to_be_tested(part)]
        dims = [dim for part in split.parts for dim in part.dims]
        return [tested[j] for j in np.argsort([-dim for dim in dims], kind="stable")]
    fields = split.fields
    constant = fields is not None and fields.n_parallel == 0 and fields.variation[0] < CONSTANT_NORM
    return [constant and dim > 1 for dim in split.dims]
