"""Whether a part that holonomy did not find flat should be unrolled, and unrolling by pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from geodis.base.check import check_random_state
from geodis.base.jobs import check_jobs
from geodis.manifold.flat.curvature import Curvature, measure_curvature
from geodis.manifold.flat.flat_evidence import strain_of
from geodis.manifold.flat.flat_graph import connected_graph, unrolled_with_periods
from geodis.manifold.flat.flat_part import (
    DOUBTED_STRAIN,
    MAX_STRAIN,
    MIN_SHARE,
    POINTS_A_DIMENSION,
    FlatPart,
)
from geodis.manifold.local.graph import neighbor_graph
from geodis.manifold.local.neighbors import distinct_rows
from geodis.manifold.preparation.prepared import same_factors

# Sample sizes for each dimension beyond the first. The second is used where lengths on a surface
# are wrong and its curvature is less than so many standard errors from zero. Spheres are at 11 and
# more (4 spikes at the peak included), and bent cylinders of noisy cells at 3 to 8.
SAMPLED_POINTS, MORE_POINTS = 500, 1_000
CERTAINLY = 10.0
# "closed" if every direction closes, as on a torus; "half-closed" if the part is curved but one
# direction closes, so that it may be two factors after all.
Worth = Literal["no", "half-closed", "perhaps", "closed"]


def worth_unrolling(
    points: np.ndarray, subspaces: np.ndarray, *, n_jobs: int | None = None, random_state: Any = 0
) -> Worth:
    """Decide by a sample of the points whether a part may have flat coordinates.

    Unrolling all points of a curved manifold is expensive, and a sample is enough to recognise it.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    subspaces : ndarray of shape (n, f, d)
    n_jobs : int
    random_state : int, Generator or None

    Returns
    -------
    {"no", "half-closed", "perhaps", "closed"}
        "no" also if the sample is too small or disconnected.

    Examples
    --------
    >>> from geodis import product_manifold
    >>> from geodis.data.manifolds.flat_products import flat_sample
    >>> sphere = product_manifold("S^2", 1000, random_state=0)
    >>> box = flat_sample("rectangle", 1000, random_state=0)
    >>> worth_unrolling(sphere.points, sphere.tangents[0])
    'no'
    >>> worth_unrolling(box.points, np.concatenate(box.tangents, axis=1))
    'perhaps'
    """
    n_jobs = check_jobs(n_jobs)
    rng = check_random_state(random_state)
    points, rows, _ = distinct_rows(points)
    for each in (SAMPLED_POINTS, MORE_POINTS):
        wanted = each * max(subspaces.shape[1] - 1, 1)
        some = np.unique(np.linspace(0, len(points) - 1, wanted).astype(np.intp))
        worth = _worth(points[some], subspaces[rows[some]], n_jobs, rng)
        if worth is not None:
            return worth
        if len(points) <= wanted:
            break
    return "no"


def looks_curved(dim: int, strain: float, curvature: Curvature | None, closed: bool) -> bool:
    """Whether a part that holonomy did not find flat is clearly curved.

    Images of an object in several poses bend much more than they curve and do not count as curved.
    For surfaces, wrong lengths are evidence of curvature that is too uneven to be significant. A
    surface whose directions all close is a torus, however: its mean curvature is zero (Gauss and
    Bonnet). The torus of a few cells tuned to two circles is uneven and has lengths wrong by a
    tenth, but its factors are two circles. The directions of tori of revolution do not close.
    """
    if dim == 2 and closed:
        return False
    curved = curvature is not None and curvature.curved
    return curved or (dim == 2 and strain > DOUBTED_STRAIN)


def _worth(
    points: np.ndarray, subspaces: np.ndarray, n_jobs: int, rng: np.random.Generator
) -> Worth | None:
    """Decide by these points; None if lengths are wrong without significant curvature."""
    f = subspaces.shape[1]
    if len(points) < POINTS_A_DIMENSION:
        return "no"
    graph = connected_graph(points, f, None, n_jobs, rng)
    inside = np.flatnonzero(graph.piece == np.bincount(graph.piece).argmax())
    if len(inside) < MIN_SHARE * len(points):
        return "no"
    graph = neighbor_graph(graph=graph.adjacency[inside][:, inside])
    periods = unrolled_with_periods(points[inside], subspaces[inside], graph)
    strain = strain_of(periods.unrolling, periods.vectors)
    if strain > MAX_STRAIN and f > 2:
        return "no"
    curvature = measure_curvature(
        points[inside],
        periods.unrolling.frames,
        periods.unrolling.coordinates,
        n_jobs=n_jobs,
        random_state=rng,
    )
    closed = len(periods) == f
    if strain > MAX_STRAIN:
        return None if curvature is not None and curvature.z < CERTAINLY else "no"
    if looks_curved(f, strain, curvature, closed):
        return "half-closed" if f == 2 and len(periods) else "no"
    return "closed" if closed else "perhaps"


# The flat parts of the smaller pieces of a graph.


@dataclass(frozen=True)
class FlatPiece:
    """Periods of the flat factors in one piece of a graph.

    Attributes
    ----------
    rows : ndarray of int, shape (p,)
        Points of the piece that have coordinates.
    periods : tuple of ndarray of shape (b_j, f_j)
        Periods of every flat factor in the coordinates of the piece.
    """

    rows: np.ndarray
    periods: tuple[np.ndarray, ...]


def with_other_flat_pieces(
    part: FlatPart, pieces: Sequence[np.ndarray], unroll: Callable[[np.ndarray], FlatPart]
) -> tuple[FlatPart, tuple[FlatPiece, ...]]:
    """Unroll every piece separately, with the factors in the order of the largest piece.

    Parameters
    ----------
    part : FlatPart
        The flat part of the largest piece, with NaN in the rows of other points.
    pieces : sequence of ndarray of int
        Rows of the pieces whose axes are known, largest first.
    unroll : callable
        Returns the flat part of given rows.

    Returns
    -------
    part : FlatPart
        With the frames and coordinates of all pieces that have the same factors. Coordinates of
        different pieces are unrelated.
    pieces : tuple of FlatPiece
        Pieces that have coordinates, largest first.

    Examples
    --------
    >>> from geodis.manifold.flat.flat_part import split_flat_part
    >>> points = np.random.default_rng(0).uniform(size=(400, 2)) * [1, 3]
    >>> def unroll(rows):
    ...     return split_flat_part(points[rows], np.tile(np.eye(2), (len(rows), 1, 1)))
    >>> pieces = np.arange(220), np.arange(220, 400)
    >>> part = unroll(pieces[0])
    >>> missing = [(0, 180), (0, 0), (0, 0)]
    >>> frames = np.pad(part.frames, missing, constant_values=np.nan)
    >>> coordinates = np.pad(part.coordinates, missing[:2], constant_values=np.nan)
    >>> part = replace(part, frames=frames, coordinates=coordinates)
    >>> np.isfinite(with_other_flat_pieces(part, pieces, unroll)[0].coordinates).all()
    np.True_
    """
    frames, coordinates = part.frames.copy(), part.coordinates.copy()
    known = np.flatnonzero(np.isfinite(coordinates).all(axis=1))
    found = [FlatPiece(known, part.periods)]
    for rows in pieces[1:]:
        if len(rows) < POINTS_A_DIMENSION:
            break
        other = unroll(rows)
        inside = np.isfinite(other.coordinates).all(axis=1)
        if not inside.any():
            continue
        matched = _with_matched_factors(other, inside, part, known)
        if matched is None:
            continue
        frames[rows], coordinates[rows] = matched.frames, matched.coordinates
        found.append(FlatPiece(rows[inside], matched.periods))
    return replace(part, frames=frames, coordinates=coordinates), tuple(found)


def _with_matched_factors(
    other: FlatPart, inside: np.ndarray, part: FlatPart, known: np.ndarray
) -> FlatPart | None:
    """Order the factors of a piece as in another; None if their dimensions differ."""
    if len(part.dims) == 1 and other.dims != part.dims:
        stops = np.cumsum(other.dims)
        periods = [
            np.pad(own, ((0, 0), (stop - own.shape[1], stops[-1] - stop)))
            for own, stop in zip(other.periods, stops, strict=True)
        ]
        return replace(other, dims=part.dims, periods=(np.concatenate(periods),))
    if other.dims != part.dims:
        return None
    order = same_factors(
        other.frames[inside],
        [len(own) for own in other.periods],
        part.frames[known],
        [len(own) for own in part.periods],
        part.dims,
    )
    columns = np.split(np.arange(sum(part.dims)), np.cumsum(part.dims)[:-1])
    moved = np.concatenate([columns[j] for j in order])
    return replace(
        other,
        frames=other.frames[:, moved],
        coordinates=other.coordinates[:, moved],
        periods=tuple(other.periods[j] for j in order),
    )
