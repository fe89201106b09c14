"""The maps of all factors around a point: traversals along one factor, and analogies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from geodis.base.check import InputError
from geodis.manifold.maps.factor_map import FactorMap
from geodis.manifold.maps.surfaces import Geodesic, Surface
from geodis.manifold.walks.joint_map import JointMap, joint_map
from geodis.manifold.walks.standpoint import Standpoint
from geodis.manifold.walks.walk_results import Analogy, Walk

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
