"""The maps of all factors around a point: standing there, walking, and carrying steps along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from geodis.base.check import InputError
from geodis.manifold.maps.factor_map import FactorMap
from geodis.manifold.walks.ground import Ground, ground_of
from geodis.manifold.walks.joint_map import JointMap, joint_map
from geodis.manifold.walks.standpoint import Standpoint
from geodis.manifold.walks.track import Track
from geodis.manifold.walks.walk_results import Analogy, Walk

# So many places on the way are looked at to see where the data end.
LOOKED_AT = 400
# Of the extent of the maps: two places that are nearer are the same.
SAME = 1e-9
# So many points tell how far a factor goes.
ENDS = 500


@dataclass(frozen=True)
class Terrain:
    """The maps of all factors in one piece of the graph.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        As they were given.
    maps : tuple of FactorMap
    grounds : tuple of Ground
    usable : ndarray of bool, shape (n,)
        Points of the piece.
    joint : JointMap
    """

    points: np.ndarray
    maps: tuple[FactorMap, ...]
    grounds: tuple[Ground, ...]
    usable: np.ndarray
    joint: JointMap

    def stand(
        self, place: np.ndarray, axes: np.ndarray, positions: Sequence[np.ndarray]
    ) -> Standpoint:
        """Stand at a point (c,) with its axes (k, c) and its coordinates in every map."""
        bounds = np.cumsum([0, *(own.dim for own in self.maps)])
        settled = []
        for ground, position, (start, stop) in zip(
            self.grounds, positions, pairwise(bounds), strict=True
        ):
            frame = ground.frame_of(place, axes[start:stop], position)
            settled.append(ground.settled(position, frame))
        return Standpoint(tuple(at[0] for at in settled), tuple(at[1] for at in settled))

    def ahead(self, stand: Standpoint, factor: int, direction: np.ndarray, length: float) -> Track:
        """The geodesic from a stand in a direction along the factor's axes there."""
        position, frame = stand.positions[factor], stand.frames[factor]
        return self.grounds[factor].geodesic(position, frame, direction, length)

    def between(self, stand: Standpoint, end: Standpoint, factor: int) -> Track | None:
        """The geodesic from one stand to another in a factor; None where they are the same."""
        position, frame = stand.positions[factor], stand.frames[factor]
        extent = np.abs(self.joint.coordinates).max()
        if np.linalg.norm(end.positions[factor] - position) <= SAME * extent:
            return None
        return self.grounds[factor].between(position, frame, end.positions[factor])

    def farthest(self, row: int, factor: int) -> float:
        """How far it is from a fitted point to the farthest in a factor."""
        others = self.joint.rows[:: max(1, len(self.joint.rows) // ENDS)]
        found = self.maps[factor].distances(np.full(len(others), row), others, n_jobs=1)
        return float(found[np.isfinite(found)].max())

    def walk(self, stand: Standpoint, factor: int, track: Track, length: float, steps: int) -> Walk:
        """Points at even lengths along a track in one factor, as far as there are data."""
        length = min(length, float(track.lengths[-1]))
        fine = track.at(np.linspace(0.0, length, LOOKED_AT))
        places = stand.along(factor, fine)
        own = joint_map(
            self.points, [self.maps[factor].coordinates], self.usable, self.maps[factor].dim
        )
        left = own.around(fine.positions, fine.velocities, fine.frames).left
        left |= self.joint.around(places.targets, places.ahead, places.frames).left
        first = int(np.argmax(left)) if left.any() else len(left)
        stopped = float(fine.lengths[first]) if left.any() else None
        reached = float(fine.lengths[max(first - 1, 0)])
        lengths = np.linspace(0.0, reached, steps if reached > 0 else 1)
        places = stand.along(factor, track.at(lengths))
        near = self.joint.around(places.targets, places.ahead, places.frames)
        return Walk(
            factor,
            self.joint.decoded(places.targets, places.frames),
            lengths,
            places.targets,
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
            ground = self.grounds[factor]
            position, frame = ground.settled(c.positions[factor], carried)
            moved = ground.geodesic(position, frame, step.direction, lengths[i])
            last = moved.at(np.minimum(lengths[i : i + 1], moved.lengths[-1]))
            ends[factor] = last.positions[0], last.frames[0]
        places = c.moved(ends).places()
        near = self.joint.around(places.targets, places.ahead, places.frames)
        return Analogy(
            self.joint.decoded(places.targets, places.frames),
            tuple(factors),
            lengths,
            places.targets,
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
    return Terrain(points, tuple(maps), tuple(ground_of(own, row) for own in maps), usable, joint)
