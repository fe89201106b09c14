"""Traversals along one factor with the others fixed, and analogies between points of a fit."""

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

# Number of positions along a geodesic at which the end of the data is checked.
CHECKED = 400
# Two positions within this share of the extent of the maps are the same.
SAME = 1e-9
# Number of points used to estimate the extent of a factor.
ENDS = 500


@dataclass(frozen=True)
class ProductPoint:
    """A position in the map of every factor.

    Attributes
    ----------
    positions : tuple of ndarray of shape (r_j,)
        On the surfaces of the maps.
    frames : tuple of ndarray of shape (r_j, k_j)
        The factors' axes at these positions.
    """

    positions: tuple[np.ndarray, ...]
    frames: tuple[np.ndarray, ...]

    def moved(self, ends: Mapping[int, tuple[np.ndarray, np.ndarray]]) -> ProductPoint:
        """Replace the position and frame in some factors."""
        both = dict(enumerate(zip(self.positions, self.frames, strict=True))) | dict(ends)
        positions, frames = zip(*both.values(), strict=True)
        return ProductPoint(positions, frames)

    def along(self, factor: int, way: Geodesic) -> Geodesic:
        """Return the curve in the joint map along which one factor varies and the others are fixed.

        Its frames are block diagonal, with one block per factor.

        Examples
        --------
        >>> point = ProductPoint((np.zeros(1), np.ones(1)), (np.eye(1), np.eye(1)))
        >>> way = Geodesic(np.arange(2.0), np.arange(2.0)[:, None], np.ones((2, 1, 1)), np.ones(1))
        >>> point.along(0, way).positions.tolist()
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
        """Return the position in the joint map as a curve of length zero."""
        k = self.frames[0].shape[1]
        still = Geodesic(np.zeros(1), self.positions[0][None], self.frames[0][None], np.zeros(k))
        return self.along(0, still)


@dataclass(frozen=True)
class ProductSurfaces:
    """The surfaces of all factors' maps in one piece of the graph.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        The original points.
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

    def point_at(
        self, place: np.ndarray, axes: np.ndarray, positions: Sequence[np.ndarray]
    ) -> ProductPoint:
        """Locate a point (c,) with axes (k, c) and given coordinates on every surface."""
        bounds = pairwise(np.cumsum([0, *(own.dim for own in self.maps)]))
        projected = []
        for surface, position, (start, stop) in zip(self.surfaces, positions, bounds, strict=True):
            frame = surface.frame_at(place, axes[start:stop], position)
            projected.append(surface.project(position, frame))
        return ProductPoint(tuple(at[0] for at in projected), tuple(at[1] for at in projected))

    def exp(
        self, point: ProductPoint, factor: int, direction: np.ndarray, length: float
    ) -> Geodesic:
        """Follow the geodesic of a factor from a point in a direction along its axes."""
        position, frame = point.positions[factor], point.frames[factor]
        return self.surfaces[factor].exp(position, frame, direction, length)

    def log(self, point: ProductPoint, end: ProductPoint, factor: int) -> Geodesic | None:
        """Find the geodesic of a factor from one point to another; None if they are the same."""
        position, frame = point.positions[factor], point.frames[factor]
        extent = np.abs(self.joint.coordinates).max()
        if np.linalg.norm(end.positions[factor] - position) <= SAME * extent:
            return None
        return self.surfaces[factor].log(position, frame, end.positions[factor])

    def extent_from(self, row: int, factor: int) -> float:
        """Return the distance in a factor from a fitted point to the farthest of some others."""
        others = self.joint.rows[:: max(1, len(self.joint.rows) // ENDS)]
        found = self.maps[factor].distances(np.full(len(others), row), others, n_jobs=1)
        return float(found[np.isfinite(found)].max())

    def walk(
        self, point: ProductPoint, factor: int, way: Geodesic, length: float, steps: int
    ) -> Walk:
        """Sample a geodesic of one factor evenly up to the end of the data."""
        length = min(length, float(way.lengths[-1]))
        fine = way.at(np.linspace(0.0, length, CHECKED))
        moving = self.maps[factor]
        own = joint_map(self.points, [moving.coordinates], self.usable, moving.dim)
        left = own.around(fine).left | self.joint.around(point.along(factor, fine)).left
        first = int(np.argmax(left)) if left.any() else len(left)
        stopped = float(fine.lengths[first]) if left.any() else None
        reached = float(fine.lengths[max(first - 1, 0)])
        lengths = np.linspace(0.0, reached, steps if reached > 0 else 1)
        path = point.along(factor, way.at(lengths))
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
        self, a: ProductPoint, b: ProductPoint, c: ProductPoint, factors: Sequence[int]
    ) -> Analogy:
        """Transport the steps from a to b along the geodesics from a to c, and follow them from c.

        See `GeoManCER.analogy`.
        """
        ends, lengths = {}, np.zeros(len(factors))
        for i, factor in enumerate(factors):
            step = self.log(a, b, factor)
            if step is None:
                continue
            lengths[i] = step.lengths[-1]
            way = self.log(a, c, factor)
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


def product_surfaces(
    points: np.ndarray, maps: Sequence[FactorMap], piece: np.ndarray, row: int
) -> ProductSurfaces:
    """Collect the surfaces of all maps in the piece of a fitted point.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        The original points.
    maps : sequence of FactorMap
    piece : ndarray of int, shape (n,)
        Piece of the graph that each point belongs to.
    row : int

    Returns
    -------
    ProductSurfaces
    """
    if not all(np.isfinite(own.coordinates[row]).all() for own in maps):
        raise InputError(
            f"A walk needs coordinates in every factor; row {row} has none because its piece of "
            "the graph has too few points for a map."
        )
    usable = piece == piece[row]
    dim = sum(own.dim for own in maps)
    joint = joint_map(points, [own.coordinates for own in maps], usable, dim)
    surfaces = tuple(own.pieces[own.piece[row]] for own in maps)
    return ProductSurfaces(points, tuple(maps), surfaces, usable, joint)


# Why a point has no axes.
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
        surfaces = product_surfaces(fit.points, maps_of(fit), fit.piece, row)
        point = _point_at(fit, surfaces, row, new)
        if to is None:
            length = surfaces.extent_from(row, chosen) if length is None else float(length)
            walks = []
            for way in [along] if direction is not None else [along, -along]:
                ahead = surfaces.exp(point, chosen, way, length)
                walks.append(surfaces.walk(point, chosen, ahead, length, steps))
                if walks[-1].stopped is None:
                    break
            return max(walks, key=lambda walk: float(walk.lengths[-1]))
        end = _point_at(fit, surfaces, *_check_place(fit, to, "to", piece_of=row))
        track = surfaces.log(point, end, chosen)
        if track is None:
            raise InputError(
                f"to must differ from the start in factor {chosen}; got the same position."
            )
        return surfaces.walk(point, chosen, track, np.inf, steps)


def analogy_by_factor(
    fit: Fit, a: Any, b: Any, c: Any, factors: Sequence[int] | None = None
) -> Analogy:
    """Find the point d with a : b :: c : d, factor by factor; see `GeoManCER.analogy`."""
    asked = range(fit.n_factors) if factors is None else np.atleast_1d(to_numpy(factors))
    chosen = sorted({fit.check_factor(factor) for factor in list(asked)})
    if not chosen:
        raise InputError("factors must name at least one factor; got none.")
    places = [_check_place(fit, a, "a")]
    for place, name in ((b, "b"), (c, "c")):
        places.append(_check_place(fit, place, name, piece_of=places[0][0]))
    with one_blas_thread():
        surfaces = product_surfaces(fit.points, maps_of(fit), fit.piece, places[0][0])
        at_a, at_b, at_c = (_point_at(fit, surfaces, row, new) for row, new in places)
        return surfaces.analogy(at_a, at_b, at_c, chosen)


def _check_direction(direction: Any, factor: int, k: int) -> np.ndarray:
    """Convert a direction to a vector (k,) along the k axes of a factor."""
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
    """Return the row of a fitted point, or the row nearest to a new point and that point (1, d)."""
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
            "another piece, to which no path leads."
        )
    return row, new


def _nearest_row(fit: Fit, new: np.ndarray, name: str) -> int:
    """Return the row of the fitted point nearest to a new one, which must lie among them."""
    near = nearest_fitted(fit.places, new @ fit.basis.T, n_jobs=1)
    row = int(near.rows[0])
    if near.beyond[0]:
        raise InputError(
            f"{name} must lie among the fitted points; got one {near.distances[0]:.3g} from "
            f"the nearest, which has {near.count} others within {near.reach[0]:.3g}."
        )
    if not fit.with_axes[row]:
        raise InputError(
            f"the fitted point nearest to {name} must have axes; got row {row}, {NO_AXES}."
        )
    return row


def _point_at(
    fit: Fit, surfaces: ProductSurfaces, row: int, new: np.ndarray | None
) -> ProductPoint:
    """Locate a fitted point, or a new one (1, d), on every surface."""
    if new is None:
        positions = [own.coordinates[row] for own in maps_of(fit)]
        return surfaces.point_at(fit.places[row], fit.flat.axes[row], positions)
    place, axes = new @ fit.basis.T, axes_of_fit(fit, new) @ fit.basis.T
    positions = [own[0] for own in coordinates_by_factor(fit, place, axes)]
    return surfaces.point_at(place[0], axes[0], positions)
