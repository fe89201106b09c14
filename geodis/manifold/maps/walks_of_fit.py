"""A fit -> walks along one factor while the others are fixed, and analogies between points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from geodis.base.check import (
    InputError,
    check_finite,
    check_int,
    check_numeric,
    check_real,
    to_numpy,
)
from geodis.base.jobs import one_blas_thread
from geodis.manifold.fitted import Fit
from geodis.manifold.maps.factor_map import FactorMap, Geodesic, Surface
from geodis.manifold.maps.maps_of_fit import coordinates_by_factor, maps_of
from geodis.manifold.maps.samples import nearest_fitted
from geodis.manifold.maps.walk_results import Analogy, JointMap, Walk, joint_map
from geodis.manifold.out_of_sample import axes_of_fit

# A point as its positions on the maps of all factors, and those it takes as one factor varies.


@dataclass(frozen=True)
class Standpoint:
    """A position in the map of every factor.

    Attributes
    ----------
    positions : tuple of ndarray of shape (r_j,)
        On the surfaces of the maps.
    frames : tuple of ndarray of shape (r_j, k_j)
        The factors' axes there.
    """

    positions: tuple[np.ndarray, ...]
    frames: tuple[np.ndarray, ...]

    def moved(self, ends: Mapping[int, tuple[np.ndarray, np.ndarray]]) -> Standpoint:
        """The same with other positions and frames in some factors."""
        both = dict(enumerate(zip(self.positions, self.frames, strict=True))) | dict(ends)
        positions, frames = zip(*both.values(), strict=True)
        return Standpoint(positions, frames)

    def along(self, factor: int, way: Geodesic) -> Geodesic:
        """The curve in all maps side by side as one factor moves and the others are fixed.

        Its frames are block diagonal, a block for every factor.

        Examples
        --------
        >>> stand = Standpoint((np.zeros(1), np.ones(1)), (np.eye(1), np.eye(1)))
        >>> way = Geodesic(np.arange(2.0), np.arange(2.0)[:, None], np.ones((2, 1, 1)), np.ones(1))
        >>> stand.along(0, way).positions.tolist()
        [[0.0, 1.0], [1.0, 1.0]]
        """
        s = len(way.lengths)
        below = np.cumsum([0, *(frame.shape[0] for frame in self.frames)])
        right = np.cumsum([0, *(frame.shape[1] for frame in self.frames)])
        positions = np.tile(np.concatenate(self.positions), (s, 1))
        frames, direction = np.zeros((s, below[-1], right[-1])), np.zeros(right[-1])
        for j, frame in enumerate(self.frames):
            rows, columns = slice(*below[j : j + 2]), slice(*right[j : j + 2])
            frames[:, rows, columns] = way.frames if j == factor else frame
            if j == factor:
                positions[:, rows], direction[columns] = way.positions, way.direction
        return Geodesic(way.lengths, positions, frames, direction)

    def at_rest(self) -> Geodesic:
        """The one position in all maps side by side, where nothing moves."""
        k = self.frames[0].shape[1]
        still = Geodesic(np.zeros(1), self.positions[0][None], self.frames[0][None], np.zeros(k))
        return self.along(0, still)


# The maps of all factors around a point: traversals along one factor, and analogies.

# Positions on the way at which to look where the data end.
LOOKED_AT = 400
# Two positions that are nearer, in shares of the extent of the maps, are the same.
SAME = 1e-9
# Points by which the extent of a factor is estimated.
ENDS = 500


@dataclass(frozen=True)
class Terrain:
    """The maps of all factors in one piece of the graph.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        As they were given.
    maps : tuple of FactorMap
    surfaces : tuple of Surface
    usable : ndarray of bool, shape (n,)
        Points of the piece.
    joint : JointMap
    """

    points: np.ndarray
    maps: tuple[FactorMap, ...]
    surfaces: tuple[Surface, ...]
    usable: np.ndarray
    joint: JointMap

    def stand(
        self, place: np.ndarray, axes: np.ndarray, positions: Sequence[np.ndarray]
    ) -> Standpoint:
        """Stand at a point (c,) with its axes (k, c) and its coordinates in every map."""
        bounds = pairwise(np.cumsum([0, *(own.dim for own in self.maps)]))
        projected = []
        for surface, position, (start, stop) in zip(self.surfaces, positions, bounds, strict=True):
            frame = surface.frame_at(place, axes[start:stop], position)
            projected.append(surface.project(position, frame))
        return Standpoint(tuple(at[0] for at in projected), tuple(at[1] for at in projected))

    def ahead(
        self, stand: Standpoint, factor: int, direction: np.ndarray, length: float
    ) -> Geodesic:
        """The geodesic from a stand in a direction along the factor's axes there."""
        position, frame = stand.positions[factor], stand.frames[factor]
        return self.surfaces[factor].exp(position, frame, direction, length)

    def between(self, stand: Standpoint, end: Standpoint, factor: int) -> Geodesic | None:
        """The geodesic from one stand to another in a factor; None where they are the same."""
        position, frame = stand.positions[factor], stand.frames[factor]
        extent = np.abs(self.joint.coordinates).max()
        if np.linalg.norm(end.positions[factor] - position) <= SAME * extent:
            return None
        return self.surfaces[factor].log(position, frame, end.positions[factor])

    def farthest(self, row: int, factor: int) -> float:
        """Distance in a factor from a fitted point to the farthest of some others."""
        others = self.joint.rows[:: max(1, len(self.joint.rows) // ENDS)]
        found = self.maps[factor].distances(np.full(len(others), row), others, n_jobs=1)
        return float(found[np.isfinite(found)].max())

    def walk(
        self, stand: Standpoint, factor: int, way: Geodesic, length: float, steps: int
    ) -> Walk:
        """Points at even lengths along a geodesic in one factor, as far as there are data."""
        length = min(length, float(way.lengths[-1]))
        fine = way.at(np.linspace(0.0, length, LOOKED_AT))
        moving = self.maps[factor]
        own = joint_map(self.points, [moving.coordinates], self.usable, moving.dim)
        left = own.around(fine).left | self.joint.around(stand.along(factor, fine)).left
        first = int(np.argmax(left)) if left.any() else len(left)
        stopped = float(fine.lengths[first]) if left.any() else None
        reached = float(fine.lengths[max(first - 1, 0)])
        lengths = np.linspace(0.0, reached, steps if reached > 0 else 1)
        path = stand.along(factor, way.at(lengths))
        near = self.joint.around(path)
        return Walk(
            factor,
            self.joint.decoded(path.positions, path.frames),
            lengths,
            path.positions,
            near.nearest,
            near.gap,
            near.spacing,
            stopped,
            length,
            len(self.points),
        )

    def analogy(
        self, a: Standpoint, b: Standpoint, c: Standpoint, factors: Sequence[int]
    ) -> Analogy:
        """The steps from a to b, carried to c along the geodesics from a to c."""
        ends, lengths = {}, np.zeros(len(factors))
        for i, factor in enumerate(factors):
            step = self.between(a, b, factor)
            if step is None:
                continue
            lengths[i] = step.lengths[-1]
            way = self.between(a, c, factor)
            carried = a.frames[factor] if way is None else way.frames[-1]
            surface = self.surfaces[factor]
            position, frame = surface.project(c.positions[factor], carried)
            moved = surface.exp(position, frame, step.direction, lengths[i])
            last = moved.at(np.minimum(lengths[i : i + 1], moved.lengths[-1]))
            ends[factor] = last.positions[0], last.frames[0]
        d = c.moved(ends).at_rest()
        near = self.joint.around(d)
        return Analogy(
            self.joint.decoded(d.positions, d.frames),
            tuple(factors),
            lengths,
            d.positions,
            near.nearest,
            near.gap,
            near.spacing,
            bool(near.gap[0] > near.reach[0]),
            len(self.points),
        )


def terrain_of(
    points: np.ndarray, maps: Sequence[FactorMap], piece: np.ndarray, row: int
) -> Terrain:
    """The terrain around a fitted point.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        As they were given.
    maps : sequence of FactorMap
    piece : ndarray of int, shape (n,)
        Of the graph.
    row : int

    Returns
    -------
    Terrain
    """
    if not all(np.isfinite(own.coordinates[row]).all() for own in maps):
        raise InputError(
            f"A walk needs coordinates in every factor; got row {row} without: its piece of the "
            "graph has too few points for a map."
        )
    usable = piece == piece[row]
    dim = sum(own.dim for own in maps)
    joint = joint_map(points, [own.coordinates for own in maps], usable, dim)
    surfaces = tuple(own.pieces[own.piece[row]] for own in maps)
    return Terrain(points, tuple(maps), surfaces, usable, joint)


# What a point without axes is.
NO_AXES = (
    "which is an outlier, or in a piece of the graph that does not split like the largest or is "
    "too small"
)


def walk_in_factor(
    fit: Fit,
    start: Any,
    factor: int,
    *,
    to: Any = None,
    direction: Any = None,
    length: float | None = None,
    steps: int = 16,
) -> Walk:
    """Walk along a geodesic of one factor; see `GeoManCER.walk`."""
    chosen = fit.check_factor(factor)
    steps = check_int(steps, "steps", low=2)
    if to is not None and length is not None:
        raise InputError("A walk goes to a point or for a length; got both.")
    if to is not None and direction is not None:
        raise InputError("A walk goes to a point or in a direction; got both.")
    if length is not None and check_real(length, "length") <= 0:
        raise InputError(f"length must be more than 0; got {length}.")
    along = _check_direction(0 if direction is None else direction, chosen, fit.flat.dims[chosen])
    row, new = _check_place(fit, start, "start")
    with one_blas_thread():
        terrain = terrain_of(fit.points, maps_of(fit), fit.piece, row)
        stand = _stand(fit, terrain, row, new)
        if to is None:
            length = terrain.farthest(row, chosen) if length is None else float(length)
            walks = []
            for way in [along] if direction is not None else [along, -along]:
                track = terrain.ahead(stand, chosen, way, length)
                walks.append(terrain.walk(stand, chosen, track, length, steps))
                if walks[-1].stopped is None:
                    break
            return max(walks, key=lambda walk: float(walk.lengths[-1]))
        end = _stand(fit, terrain, *_check_place(fit, to, "to", piece_of=row))
        between = terrain.between(stand, end, chosen)
        if between is None:
            raise InputError(
                f"to must be at another place than the start in factor {chosen}; got the same."
            )
        return terrain.walk(stand, chosen, between, np.inf, steps)


def analogy_by_factor(
    fit: Fit, a: Any, b: Any, c: Any, factors: Sequence[int] | None = None
) -> Analogy:
    """The point d with a : b :: c : d, factor by factor; see `GeoManCER.analogy`."""
    asked = range(fit.n_factors) if factors is None else np.atleast_1d(to_numpy(factors))
    chosen = sorted({fit.check_factor(factor) for factor in list(asked)})
    if not chosen:
        raise InputError("factors must name at least one factor; got none.")
    places = [_check_place(fit, a, "a")]
    for place, name in ((b, "b"), (c, "c")):
        places.append(_check_place(fit, place, name, piece_of=places[0][0]))
    with one_blas_thread():
        terrain = terrain_of(fit.points, maps_of(fit), fit.piece, places[0][0])
        at_a, at_b, at_c = (_stand(fit, terrain, row, new) for row, new in places)
        return terrain.analogy(at_a, at_b, at_c, chosen)


def _check_direction(direction: Any, factor: int, k: int) -> np.ndarray:
    """A direction among the k axes of a factor, shape (k,)."""
    if np.ndim(direction) == 0:
        return np.eye(k)[check_int(direction, "direction", low=0, high=k - 1)]
    vector = check_numeric(to_numpy(direction, "direction"), "direction").astype(float)
    if vector.shape != (k,):
        raise InputError(
            f"direction must be one of the {k} axes of factor {factor}, or a vector of {k} "
            f"numbers along them; got shape {vector.shape}."
        )
    check_finite(vector, "direction")
    if not np.linalg.norm(vector):
        raise InputError("direction must not be zero; got zeros.")
    return vector


def _check_place(
    fit: Fit, asked: Any, name: str, *, piece_of: int | None = None
) -> tuple[int, np.ndarray | None]:
    """Row of a fitted point; or of the one nearest to a new one, and the new one (1, d)."""
    new = None
    if np.ndim(asked) == 0:
        row = int(fit.check_rows(asked, name))
        if not fit.with_axes[row]:
            raise InputError(f"{name} must be a point with axes; got row {row}, {NO_AXES}.")
    else:
        vector = check_numeric(to_numpy(asked, name), name)
        if vector.shape != (fit.n_columns,):
            raise InputError(
                f"{name} must be a row of the fitted points or a point of {fit.n_columns} columns; "
                f"got shape {vector.shape}."
            )
        new = fit.new_points(vector[None], name=name)
        row = _nearest_row(fit, new, name)
    if piece_of is not None and fit.piece[row] != fit.piece[piece_of]:
        raise InputError(
            f"{name} must be in the same piece of the graph as the start; got a point in "
            "another one, to which no way leads."
        )
    return row, new


def _nearest_row(fit: Fit, new: np.ndarray, name: str) -> int:
    """Row of the fitted point next to a new one, which must be among them."""
    near = nearest_fitted(fit.places, new @ fit.basis.T, n_jobs=1)
    row = int(near.rows[0])
    if near.beyond[0]:
        raise InputError(
            f"{name} must lie among the fitted points; got one {near.distances[0]:.3g} from "
            f"the nearest, which has {near.count} others within {near.reach[0]:.3g}."
        )
    if not fit.with_axes[row]:
        raise InputError(
            f"{name} must lie beside a point with axes; got one beside row {row}, {NO_AXES}."
        )
    return row


def _stand(fit: Fit, terrain: Terrain, row: int, new: np.ndarray | None) -> Standpoint:
    """Stand at a fitted point, or at a new one (1, d)."""
    if new is None:
        positions = [own.coordinates[row] for own in maps_of(fit)]
        return terrain.stand(fit.places[row], fit.flat.axes[row], positions)
    place, axes = new @ fit.basis.T, axes_of_fit(fit, new) @ fit.basis.T
    positions = [own[0] for own in coordinates_by_factor(fit, place, axes)]
    return terrain.stand(place[0], axes[0], positions)
