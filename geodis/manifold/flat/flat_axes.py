"""Factors found by holonomy -> the same with the flat ones split further, and their coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace

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

# Fields of constant norm that were not counted as parallel: the unrolling decides.
CONSTANT_NORM = 0.05
# One factor of at most this dimension is unrolled though no field was parallel: images of one
# object in some poses and lights have parameters, and a metric that is no product of theirs.
TRIED_DIM = 3
# The first unwanted eigenvalue of the connection Laplacian over the last wanted one.
MIN_FIELD_RATIO = 1.8
# Lengths along coordinates of closed curved manifolds are wrong by .3 and more, those of flat parts
# under strong noise by .18: above this nothing flat was tried.
CLOSED_STRAIN = 0.25


@dataclass(frozen=True)
class FlatAxes:
    """Axes of all factors, the flat ones one by one.

    Attributes
    ----------
    axes : ndarray of shape (n, k, d)
        Orthonormal rows grouped by factor.
    dims : tuple of int
        Largest first.
    flat : tuple of bool
        Which factors are flat.
    coordinates : ndarray of shape (n, f)
        Isometric coordinates of the flat factors, in their order; no columns where nothing flat
        could be unrolled.
    periods : tuple of ndarray
        Of every flat factor, in the largest piece of the graph.
    pieces : tuple of FlatPiece
        Pieces of the graph that have coordinates, largest first.
    evidence : FlatEvidence or None
        None where there is no flat part, or it was to be kept.
    own : ndarray of bool, shape (k,)
        Axes of the split by holonomy that make up the flat part.
    order : ndarray of int, shape (k,)
        Place of every row of `axes` among the other axes of that split, then those of the flat
        part.
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
        """Which rows of the axes are those of the flat factors, in the order of coordinates."""
        return np.flatnonzero(np.repeat(self.flat, self.dims) & self.own.any())

    def axes_at(self, split_axes: np.ndarray, nearest: np.ndarray) -> np.ndarray:
        """Axes (p, k, d) at new points, from those of the split there and of the nearest point.

        On the flat part the axes of the nearest fitted point are carried over, by the polar
        factor; the others stay as they are.
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
    """Flat coordinates of points near fitted ones, pair by pair; up to whole periods.

    ``u = u_i + c``, with c the wanted step along an edge of the unrolling.

    Parameters
    ----------
    points, fitted : ndarray of shape (p, d)
    frames, fitted_frames : ndarray of shape (p, f, d)
    coordinates : ndarray of shape (p, f)
        Of the fitted points.

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
        Of the points; what is not flat in it stays as it is.
    task : Task
    graph : NeighborGraph or None
        Of the points; its largest piece says into what the flat part splits. None takes that of
        the nearest neighbours, as a fit does.
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
    maybe = [dim == 1 or flag for dim, flag in zip(split.dims, split.flat, strict=True)]
    asked = [flag or test for flag, test in zip(maybe, _to_be_tested(split), strict=True)]
    # A given number of factors counts the flat part as one, or as the caller thinks best.
    if how == "keep" or task.n_factors is not None:
        return _as_it_was(split, None)
    tried, worth = not any(asked) and _may_be_tried(split, task), Worth("perhaps")
    if tried:
        with task.stages.stage("flat factors"):
            known = np.isfinite(split.axes).all(axis=(1, 2))
            worth = worth_unrolling(
                points[known],
                split.axes[known],
                n_jobs=check_jobs(task.settings.n_jobs),
                random_state=np.random.default_rng(0),  # leaves the other draws as they are
            )
            tried = worth.verdict != "no"
        asked = [tried]
    if not any(asked):
        return _as_it_was(split, _only_doubted(split.dims[0]) if worth.half_closed else None)
    with task.stages.stage("flat factors"):
        part, own = _unrolled(points, split, task, graph, asked)
        if tried:
            part = _with_doubt(part, _why_tried(split))
        if asked != maybe and (
            not np.isfinite(part.coordinates).any() or (tried and _is_curved(part))
        ):
            if not any(maybe):
                curved = worth.verdict != "closed" and (
                    tried or part.evidence.strain > CLOSED_STRAIN
                )
                return _as_it_was(split, None if curved else part.evidence)
            asked = maybe
            part, own = _unrolled(points, split, task, graph, asked)
    if not np.isfinite(part.coordinates).any():
        return _as_it_was(split, part.evidence)
    with task.stages.stage("flat factors"):
        known = np.isfinite(split.axes).all(axis=(1, 2))
        part, pieces = with_other_flat_pieces(
            part,
            [rows[known[rows]] for rows in pieces_largest_first(graph.piece)],
            lambda rows: _unrolled_rows(points, split, task, graph, own, rows),
        )
    axes = np.concatenate([split.axes[:, ~own], part.frames], axis=1)
    dims = [dim for dim, flag in zip(split.dims, asked, strict=True) if not flag] + [*part.dims]
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


def _as_it_was(split: Split, evidence: FlatEvidence | None) -> FlatAxes:
    n, k, _ = split.axes.shape
    nothing = np.zeros((n, 0)), (), (), evidence, np.zeros(k, bool), np.arange(k)
    return FlatAxes(split.axes, split.dims, split.flat, *nothing)


def _only_doubted(dim: int) -> FlatEvidence:
    """What is said of a part of which a sample has one direction that closes."""
    doubts = (doubt("half-closed", FLAT),)
    return FlatEvidence(dim, (dim,), np.nan, np.nan, np.nan, doubts=doubts)


def _unrolled(
    points: np.ndarray, split: Split, task: Task, graph: NeighborGraph, asked: list[bool]
) -> tuple[FlatPart, np.ndarray]:
    """The flat part in the largest piece, NaN elsewhere, and which axes it takes."""
    own = np.repeat(asked, split.dims)
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
    """The flat part of the points of one piece."""
    given = task.graph
    if given is not None and graph.n_pieces > 1:
        given = neighbor_graph(graph=given.adjacency[rows][:, rows])
    return split_flat_part(
        points[rows],
        split.axes[rows][:, own],
        graph=given,
        n_neighbors=task.settings.n_neighbors,
        tangent_neighbors=_tangent_neighbors(split),
        n_jobs=task.settings.n_jobs,
        random_state=task.rng,
    )


def _with_doubt(part: FlatPart, one: Doubt) -> FlatPart:
    return replace(part, evidence=replace(part.evidence, doubts=(*part.evidence.doubts, one)))


def _may_be_tried(split: Split, task: Task) -> bool:
    """Whether one factor without parallel fields has so few dimensions that it is unrolled."""
    return (
        task.graph is None
        and len(split.dims) == 1
        and 1 < split.dims[0] <= TRIED_DIM
        and split.fields is not None
    )


def _why_tried(split: Split) -> Doubt:
    assert split.fields is not None
    return doubt("unrolled-alone", FLAT, variation=split.fields.variation.min())


def _is_curved(part: FlatPart) -> bool:
    """Whether a part that was only tried is one curved factor: then that is the answer."""
    evidence = part.evidence
    closed = sum(map(len, part.periods)) == evidence.dim
    return looks_curved(evidence.dim, evidence.strain, evidence.curvature, closed)


def _tangent_neighbors(split: Split) -> int | None:
    """Neighbours of the tangent fits: the most of any part that may be flat."""
    counts = [part.tangent_neighbors for part in (split, *split.parts)]
    return max(counts) or None


def _field_ratio(split: Split) -> float:
    """Next eigenvalue over the last of the parallel fields, where the flat part was told."""
    ratios = [np.inf]
    for part in (split, *split.parts):
        if part.fields is not None and any(part.flat):
            count, values = part.fields.n_parallel, part.fields.values
            if 0 < count < len(values):
                ratios.append(float(values[count] / values[count - 1]))
    return min(ratios)


def _to_be_tested(split: Split) -> list[bool]:
    """Factors whose fields have constant norms although none was counted as parallel.

    With as many parallel fields as were computed, there is no bulk to tell them from.
    """
    if split.parts:
        tested = [test for part in split.parts for test in _to_be_tested(part)]
        dims = [dim for part in split.parts for dim in part.dims]
        return [tested[j] for j in np.argsort([-dim for dim in dims], kind="stable")]
    fields = split.fields
    constant = fields is not None and fields.n_parallel == 0 and fields.variation[0] < CONSTANT_NORM
    return [constant and dim > 1 for dim in split.dims]
