"""The map of a factor that is curved or could not be unrolled, fitted to its steps."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.base.jobs import blocks
from geodis.manifold.flat.differences import Edges
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.curved_fit_ratio import quadratic_count, regression_weights
from geodis.manifold.local.exact_search import Search, searcher
from geodis.manifold.maps.factor_map import (
    FactorData,
    FactorMap,
    Geodesic,
    MapView,
    Surface,
    nonzero_direction,
)
from geodis.manifold.maps.fit_map import fit_map, orientation_of
from geodis.manifold.maps.geodesics import Geodesics, geodesics_of
from geodis.manifold.maps.rigid_map import chords_of, orthonormal_columns, steps_within
from geodis.manifold.maps.samples import CoarseSample

# Number of carriers from which a new point is extended, and number of new points in a block.
NEAREST, BLOCK = 8, 8192
# Share of the carriers to which a surface is fitted locally.
SURFACE_SHARE = 0.01
# Step along a geodesic as a share of the radius of the surface fit, and largest number of steps.
STEP_SHARE, MOST_STEPS = 0.5, 500
# Tolerance of the end of a geodesic as a share of its length, and largest number of shots.
MISSED, AIMS = 1e-3, 8


@dataclass(frozen=True, eq=False)
class PieceMap(Surface):
    """The map of one piece at its carriers, the sample of points to which it was fitted.

    Attributes
    ----------
    rows : ndarray of int, shape (c,)
        Rows of the carriers among the fitted points.
    places : ndarray of shape (c, d)
    axes : ndarray of shape (c, k_j, d)
        Axes of the factor.
    coordinates : ndarray of shape (c, r)
    frames : ndarray of shape (c, r, k_j)
        Image of the factor's axes.
    edges : Edges
        Edges between the carriers along which the map was fitted.
    """

    rows: np.ndarray
    places: np.ndarray
    axes: np.ndarray
    coordinates: np.ndarray
    frames: np.ndarray
    edges: Edges

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the search and the geodesics, which are fast to recompute."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def geodesics(self) -> Geodesics:
        """Shortest paths along the map, computed on first use."""
        return geodesics_of(self.coordinates, self.frames)

    @cached_property
    def _search(self) -> Search:
        return searcher(self.coordinates, n_jobs=1)

    @property
    def _surface_count(self) -> int:
        """Number of carriers to which a surface is fitted locally."""
        carriers, count = len(self.rows), quadratic_count(self.frames.shape[2])
        return min(max(count, int(SURFACE_SHARE * carriers)), carriers)

    def widened(self, n_coordinates: int) -> PieceMap:
        """Pad the map with zeros to more dimensions."""
        more = (0, n_coordinates - self.coordinates.shape[1])
        return replace(
            self,
            coordinates=np.pad(self.coordinates, ((0, 0), more)),
            frames=np.pad(self.frames, ((0, 0), more, (0, 0))),
        )

    def extended(
        self, targets: np.ndarray, target_axes: np.ndarray, n_jobs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute coordinates and frames at other places (out-of-sample extension).

        ``y = sum_c w_c (y_c + t_c)`` with ``w_c ~ 1 / |x - x_c|^2`` and t_c the chord of the step
        from a nearby carrier c to the place, as in `RigidFit`. Carriers keep their coordinates.

        Parameters
        ----------
        targets : ndarray of shape (p, d)
        target_axes : ndarray of shape (p, k_j, d)
        n_jobs : int, optional
            Threads; one by default, -1 for every core.

        Returns
        -------
        coordinates : ndarray of shape (p, r)
        frames : ndarray of shape (p, r, k_j)
        """
        p, (r, k) = len(targets), self.frames.shape[1:]
        coordinates, frames = np.empty((p, r)), np.empty((p, r, k))
        search, count = searcher(self.places, n_jobs=n_jobs), min(NEAREST, len(self.places))
        for rows in blocks(p, BLOCK):
            indices, distances = search(targets[rows], count)
            b = len(indices)
            squared = distances**2
            # At a carrier, only its own weight counts.
            weights = 1 / np.maximum(squared, 1e-18 * (squared[:, -1:] + np.finfo(float).tiny))
            weights /= weights.sum(axis=1, keepdims=True)
            near, target = indices.ravel(), np.repeat(np.arange(b), count)
            steps = steps_within(
                self.places,
                self.axes,
                near,
                target,
                to_points=targets[rows],
                to_axes=target_axes[rows],
                n_jobs=n_jobs,
            )
            turns = self.axes[near] @ np.swapaxes(target_axes[rows], 1, 2)[target]
            carried = (self.frames[near] @ turns).reshape(b, count, r, k)
            own = orthonormal_columns(np.einsum("bc,bcrk->brk", weights, carried))
            chords = chords_of(self.frames[near], own[target], steps.out, steps.back)
            ends = (self.coordinates[near] + chords).reshape(b, count, r)
            coordinates[rows] = np.einsum("bc,bcr->br", weights, ends)
            frames[rows] = own
        return coordinates, frames

    def project(self, position: np.ndarray, frame: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Project on a local quadratic fit, and the frame on its tangent space."""
        near = self.coordinates[self._search(position[None], self._surface_count)[0][0]] - position
        along = near @ frame
        normal = near - along @ frame.T
        fitted = regression_weights(along[None])[0] @ normal  # (1 + k, r)
        tangent = polar_rows(frame.T + fitted[1:])
        return position + fitted[0], polar_rows(frame.T @ tangent.T @ tangent).T

    def frame_at(self, place: np.ndarray, axes: np.ndarray, position: np.ndarray) -> np.ndarray:
        """Extend the frame from the nearest carriers."""
        return self.extended(place[None], axes[None], 1)[1][0]

    def exp(
        self, position: np.ndarray, frame: np.ndarray, direction: np.ndarray, length: float
    ) -> Geodesic:
        """Take small straight steps, each followed by a projection on the surface.

        The frame is projected on the tangent space after every step, which is parallel transport in
        the limit of small steps. The direction is constant in this frame. Lengths are those of
        arcs: ``chord (phi / 2) / sin(phi / 2)`` where the direction turns by phi.
        """
        along = direction / np.linalg.norm(direction)
        radius = float(self._search(position[None], self._surface_count)[1][0, -1])
        step = max(STEP_SHARE * radius, length / MOST_STEPS)
        lengths, positions, frames = [0.0], [position], [frame]
        for _ in range(2 * MOST_STEPS):
            if lengths[-1] >= length:
                break
            ahead = frame @ along
            # The last step is slightly longer than the remaining length, which is that of an arc.
            here = min(step, 1.02 * (length - lengths[-1]) + 1e-9 * length)
            reached, frame = self.project(position + here * ahead, frame)
            chord = float(np.linalg.norm(reached - position))
            turned = np.arccos(np.clip(ahead @ (frame @ along), -1.0, 1.0)) / 2
            arc = chord * (turned / np.sin(turned) if turned > 0 else 1.0)
            lengths.append(lengths[-1] + arc)
            if not lengths[-1] > lengths[-2]:
                break
            position = reached
            positions.append(position)
            frames.append(frame)
        made = len(positions)
        return Geodesic(np.array(lengths[:made]), np.array(positions), np.array(frames), along)

    def log(self, position: np.ndarray, frame: np.ndarray, end: np.ndarray) -> Geodesic:
        """Shoot in the direction of the developed shortest path, and correct it by the error.

        The remaining error, as beyond the cut locus, is distributed along the geodesic.
        """
        start, stop = self._search(np.stack([position, end]), 1)[0][:, 0]
        vector = self.geodesics.logarithms(start)[0][stop]
        if not np.isfinite(vector).all():
            raise InputError("No path leads from start to end in this factor, which has a gap.")
        ends = self.coordinates[[start, stop]] - [position, end]
        aim = frame.T @ (self.frames[start] @ vector + ends[0] - ends[1])
        k = frame.shape[1]
        inverse = np.eye(k)
        best, least, last = None, np.inf, (aim, np.zeros(k))
        for round_ in range(AIMS):
            length = float(np.linalg.norm(aim))
            way = self.exp(position, frame, nonzero_direction(aim), length)
            way = way.at(np.linspace(0.0, min(length, way.lengths[-1]), len(way.lengths)))
            missed = end - way.positions[-1]
            error = way.frames[-1].T @ missed
            if np.linalg.norm(missed) < least:
                best, least = way.shifted(missed), float(np.linalg.norm(missed))
            if least < MISSED * length:
                break
            if round_:  # Broyden's update of how the aim acts on the end
                moved, changed = aim - last[0], last[1] - error
                acted = inverse @ changed
                share = moved @ acted
                if abs(share) > 1e-12 * (moved @ moved):
                    inverse += np.outer((moved - acted) / share, moved @ inverse)
            last = aim, error
            aim = aim + inverse @ error
        assert best is not None
        return best


@dataclass(frozen=True, eq=False)
class RefinedMap(FactorMap):
    """A map fitted to the steps along edges, one piece at a time.

    Attributes
    ----------
    nearest : ndarray of int, shape (n,)
        Nearest carrier of the piece, in the map.
    offset : ndarray of shape (n, k_j)
        Offset from that carrier to the point, in its frame.
    """

    pieces: tuple[PieceMap, ...]
    nearest: np.ndarray
    offset: np.ndarray

    @property
    def carriers(self) -> np.ndarray:
        """The points that the map was fitted to."""
        return np.concatenate([piece.rows for piece in self.pieces])

    @property
    def sample(self) -> CoarseSample:
        """Points and edges to which the largest piece was fitted."""
        return CoarseSample(self.pieces[0].rows, self.pieces[0].edges)

    def tangents(self) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and frames of the points that the largest piece was fitted to."""
        return self.pieces[0].rows, self.pieces[0].frames

    def log_chart(self) -> tuple[np.ndarray, np.ndarray]:
        """Return rows (c,) of the largest piece and their logarithms (c, k_j) at a central point.

        Geodesics from that point become straight lines of the same length. A closed space becomes a
        ball whose boundary points are identified: antipodal points for SO(3), all points for a
        sphere. The chart is oriented by the coordinates of the map, and NaN where no path leads.
        """
        piece = self.pieces[0]
        away = piece.coordinates - piece.coordinates.mean(axis=0)
        source = int(np.argmin((away**2).sum(axis=1)))
        chart, distances = piece.geodesics.logarithms(source)
        chart[~np.isfinite(distances)] = np.nan
        known = np.isfinite(chart).all(axis=1)
        return piece.rows, chart @ orientation_of(chart[known], piece.coordinates[known]).T

    def view(self, name: str) -> MapView:
        """Draw a ball around one point if three coordinates are not enough."""
        folded = self.n_coordinates > 3 or (self.dim == 3 and name in ("SO(3)", "S^3"))
        return "ball" if folded and 2 <= self.dim <= 3 else super().view(name)

    def _distances(
        self, label: int, a: np.ndarray, b: np.ndarray, n_jobs: int | None
    ) -> np.ndarray:
        return self.pieces[label].geodesics.distances(
            self.nearest[a], self.nearest[b], self.offset[a], self.offset[b], n_jobs=n_jobs
        )

    def _extended(
        self,
        label: int,
        nearest: np.ndarray,
        places: np.ndarray,
        axes: np.ndarray,
        n_jobs: int | None,
    ) -> np.ndarray:
        return self.pieces[label].extended(places, axes, n_jobs)[0]


def refined_map(data: FactorData) -> RefinedMap | None:
    """Fit the map of a factor to each piece of the graph, and extend it to all points.

    None if the unrolled coordinates are sufficient.
    """
    if data.is_even:
        return None
    n, k = data.axes.shape[:2]
    fitted = []
    misfits = []
    for _, sample in data.samples:
        places, axes = data.places[sample.rows], data.axes[sample.rows]
        edges = sample.edges
        steps = steps_within(places, axes, edges.i, edges.j, n_jobs=data.n_jobs)
        rigid = fit_map(steps, edges, places)
        turn = orientation_of(rigid.coordinates, data.points[sample.rows])
        frames = np.einsum("qr,crk->cqk", turn, rigid.frames)
        coordinates = rigid.coordinates @ turn.T
        fitted.append(PieceMap(sample.rows, places, axes, coordinates, frames, edges))
        misfits.append(rigid.misfit)
    width = max(piece.coordinates.shape[1] for piece in fitted)
    pieces = tuple(piece.widened(width) for piece in fitted)
    coordinates = np.full((n, width), np.nan)
    label_of, nearest, offset = np.full(n, -1), np.full(n, -1), np.full((n, k), np.nan)
    for label, (piece, (rows, _)) in enumerate(zip(pieces, data.samples, strict=True)):
        own = piece.extended(data.places[rows], data.axes[rows], data.n_jobs)[0]
        near = searcher(piece.coordinates, n_jobs=data.n_jobs)(own, 1)[0][:, 0]
        coordinates[rows], label_of[rows], nearest[rows] = own, label, near
        away = own - piece.coordinates[near]
        offset[rows] = np.einsum("prk,pr->pk", piece.frames[near], away)
    return RefinedMap(
        k, data.places, data.axes, coordinates, misfits[0], label_of, pieces, nearest, offset
    )
