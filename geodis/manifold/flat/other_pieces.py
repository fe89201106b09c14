"""The flat part of the largest piece of a graph -> those of the other pieces beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from geodis.manifold.flat.flat_part import POINTS_A_DIMENSION, FlatPart
from geodis.manifold.preparation.same_factors import same_factors


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
