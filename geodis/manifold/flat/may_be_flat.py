"""A part that transport did not find flat -> whether coordinates may be meant all the same."""

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

# Points for each dimension beyond the first that are asked; and more of them where lengths on a
# surface are wrong and its curvature lies less than so many standard errors from zero. Spheres lie
# 11 and more from it, 4 spikes at the peak included, and bent cylinders of noisy cells 3 to 8.
ASKED_POINTS, MORE_POINTS = 500, 1_000
CERTAINLY = 10.0


@dataclass(frozen=True)
class Worth:
    """Whether coordinates may be meant.

    Attributes
    ----------
    verdict : {"no", "perhaps", "closed"}
        "closed" where every direction closes, as on a torus alone.
    half_closed : bool
        Whether the answer is no, but one direction closes: there may be two factors all the same.
    """

    verdict: Literal["no", "perhaps", "closed"]
    half_closed: bool = False


def worth_unrolling(
    points: np.ndarray, subspaces: np.ndarray, *, n_jobs: int | None = None, random_state: Any = 0
) -> Worth:
    """Whether an even sample of the points says that coordinates may be meant.

    The unrolling of all of a curved manifold is dear, and few points tell it.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    subspaces : ndarray of shape (n, f, d)
    n_jobs : int
    random_state : int, Generator or None

    Returns
    -------
    Worth
        "no" also where the sample is too small, or in pieces.

    Examples
    --------
    >>> from geodis import product_manifold
    >>> from geodis.data.manifolds.flat_products import flat_sample
    >>> sphere = product_manifold("S^2", 1000, random_state=0)
    >>> box = flat_sample("rectangle", 1000, random_state=0)
    >>> worth_unrolling(sphere.points, sphere.tangents[0]).verdict
    'no'
    >>> worth_unrolling(box.points, np.concatenate(box.tangents, axis=1)).verdict
    'perhaps'
    """
    n_jobs = check_jobs(n_jobs)
    rng = check_random_state(random_state)
    points, rows, _ = distinct_rows(points)
    for asked in (ASKED_POINTS, MORE_POINTS):
        wanted = asked * max(subspaces.shape[1] - 1, 1)
        some = np.unique(np.linspace(0, len(points) - 1, wanted).astype(np.intp))
        worth = _worth(points[some], subspaces[rows[some]], n_jobs, rng)
        if worth is not None:
            return worth
        if len(points) <= wanted:
            break
    return Worth("no")


def looks_curved(dim: int, strain: float, curvature: Curvature | None, closed: bool) -> bool:
    """Whether a part that transport did not find flat is curved, beyond what images are.

    Images of one object in some poses bend so much more than they curve that they are not. Of
    surfaces, lengths that are wrong are a sign of it where curvature is too uneven to be certain.
    A surface of which every direction closes is a torus, though: its curvature is zero in the mean
    (Gauss and Bonnet), and what few cells that are tuned to two circles make of one is uneven, has
    lengths that are wrong by a tenth, and is meant to be two circles. Tori of revolution are too
    far from flat for their directions to close.
    """
    if dim == 2 and closed:
        return False
    curved = curvature is not None and curvature.curved
    return curved or (dim == 2 and strain > DOUBTED_STRAIN)


def _worth(
    points: np.ndarray, subspaces: np.ndarray, n_jobs: int, rng: np.random.Generator
) -> Worth | None:
    """What these points say; None where their lengths are wrong for no reason that is seen."""
    f = subspaces.shape[1]
    if len(points) < POINTS_A_DIMENSION:
        return Worth("no")
    graph = connected_graph(points, f, None, n_jobs, rng)
    inside = np.flatnonzero(graph.piece == np.bincount(graph.piece).argmax())
    if len(inside) < MIN_SHARE * len(points):
        return Worth("no")
    graph = neighbor_graph(graph=graph.adjacency[inside][:, inside])
    periods = unrolled_with_periods(points[inside], subspaces[inside], graph)
    strain = strain_of(periods.unrolling, periods.vectors)
    if strain > MAX_STRAIN and f > 2:
        return Worth("no")
    curvature = measure_curvature(
        points[inside],
        periods.unrolling.frames,
        periods.unrolling.coordinates,
        n_jobs=n_jobs,
        random_state=rng,
    )
    closed = len(periods) == f
    if strain > MAX_STRAIN:
        return None if curvature is not None and curvature.z < CERTAINLY else Worth("no")
    if looks_curved(f, strain, curvature, closed):
        return Worth("no", half_closed=f == 2 and len(periods) > 0)
    return Worth("closed" if closed else "perhaps")


# The flat part of the largest piece of a graph -> those of the other pieces beside it.


@dataclass(frozen=True)
class FlatPiece:
    """What closes in one piece of a graph.

    Attributes
    ----------
    rows : ndarray of int, shape (p,)
        Points of the piece that have coordinates.
    periods : tuple of ndarray of shape (b_j, f_j)
        Of every flat factor, in the piece's coordinates.
    """

    rows: np.ndarray
    periods: tuple[np.ndarray, ...]


def with_other_flat_pieces(
    part: FlatPart, pieces: Sequence[np.ndarray], unroll: Callable[[np.ndarray], FlatPart]
) -> tuple[FlatPart, tuple[FlatPiece, ...]]:
    """Unroll every piece on its own, and put its factors in the order of the largest piece's.

    Parameters
    ----------
    part : FlatPart
        Of the largest piece, with rows for all points: NaN elsewhere.
    pieces : sequence of ndarray of int
        Rows of the pieces whose axes are known, largest first.
    unroll : callable
        Rows -> the flat part of these.

    Returns
    -------
    part : FlatPart
        With the frames and coordinates of all pieces that split alike. Coordinates of different
        pieces have nothing in common.
    pieces : tuple of FlatPiece
        Those that have coordinates, largest first.

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
        alike = _in_order_of(other, inside, part, known)
        if alike is None:
            continue
        frames[rows], coordinates[rows] = alike.frames, alike.coordinates
        found.append(FlatPiece(rows[inside], alike.periods))
    return replace(part, frames=frames, coordinates=coordinates), tuple(found)


def _in_order_of(
    other: FlatPart, inside: np.ndarray, part: FlatPart, known: np.ndarray
) -> FlatPart | None:
    """The flat part of a piece with the factors of another's; None where it has others."""
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
