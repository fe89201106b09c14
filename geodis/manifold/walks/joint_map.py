"""The maps of all factors side by side: places in them, and the points that belong there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from geodis.manifold.local.exact_search import Search, searcher
from geodis.manifold.maps.surfaces import Geodesic
from geodis.manifold.walks.local_regression import quadratic_count, regression_weights
from geodis.manifold.walks.trend import Trend, fit_trend

# So many nearest samples are the surroundings of a place. Where none of the first ones lies ahead,
# the data end: in their midst half of them do, and none by chance once in a million.
NEAREST, AHEAD = 40, 20
# And they end where one stands beyond all of so many along the mean direction from these, of which
# there is no chance in up to three dimensions either, and goes on outwards: at an angle whose
# cosine exceeds this. One who walks along an edge does not, and is not so far beyond, in spacings.
BEYOND, OUTWARDS, FARTHER = 30, 0.4, 0.5


@dataclass(frozen=True)
class Surroundings:
    """What samples there are around positions in the joint map.

    Attributes
    ----------
    nearest : ndarray of int, shape (s,)
        Row of the nearest sample.
    gap : ndarray of shape (s,)
        How far it is.
    reach : ndarray of shape (s,)
        How far the nearest samples of that sample are spread: the distance of the last.
    spacing : ndarray of shape (s,)
        Mean distance to the nearest sample there.
    left : ndarray of bool, shape (s,)
        Whether the position lies outside the data: no near sample lies ahead, or it lies beyond
        all of them and the way leads away, or its gap is larger than the reach.
    """

    nearest: np.ndarray
    gap: np.ndarray
    reach: np.ndarray
    spacing: np.ndarray
    left: np.ndarray


@dataclass(frozen=True)
class JointMap:
    """Samples with their coordinates in all factors.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        As they were given.
    rows : ndarray of int, shape (u,)
        Of them, those of one piece that have coordinates.
    coordinates : ndarray of shape (u, r)
        Their coordinates in all maps.
    search : callable
        Finds the nearest of these.
    dim : int
        k.
    """

    points: np.ndarray
    rows: np.ndarray
    coordinates: np.ndarray
    search: Search
    dim: int

    @cached_property
    def trend(self) -> Trend:
        """Points as a polynomial of the coordinates, fitted when it is first asked for."""
        return fit_trend(self.coordinates, self.points[self.rows])

    def decoded(self, targets: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """Points that belong to places in the joint map.

        A polynomial trend, and the value at the place of a local quadratic regression of what
        it leaves on the tangent coordinates ``u = F^T (y - target)`` of the joint map; see
        `regression_weights`. The trend lets neighbourhoods be wide: what it leaves is small.

        Parameters
        ----------
        targets : ndarray of shape (s, r)
        frames : ndarray of shape (s, r, k)
            Orthonormal columns that span the tangent space of the joint map.

        Returns
        -------
        ndarray of shape (s, d)
        """
        count = min(quadratic_count(self.dim), len(self.rows))
        near = self.search(targets, count)[0]
        offsets = (self.coordinates[near] - targets[:, None]) @ frames
        weights = regression_weights(offsets)[:, 0]
        left = self.points[self.rows[near]] - self.trend.at(self.coordinates[near])
        return self.trend.at(targets) + np.einsum("sc,scd->sd", weights, left)

    def around(self, way: Geodesic) -> Surroundings:
        """What samples there are around and ahead of positions on a curve."""
        count = min(NEAREST, len(self.rows) - 1)
        near, distances = self.search(way.positions, count)
        ahead, gap = way.velocities, distances[:, 0]
        apart = self.coordinates[near] - way.positions[:, None]
        forward = np.einsum("scr,sr->sc", apart[:, :AHEAD], ahead) > 0
        reach = self.search(self.coordinates[near[:, 0]], count + 1)[1][:, -1]
        spacing = reach / count ** (1 / self.dim)
        tangent = apart[:, :BEYOND] @ way.frames
        beyond = _beyond(tangent, np.einsum("sr,srk->sk", ahead, way.frames), spacing)
        left = ~forward.any(axis=1) | beyond | (gap > reach)
        return Surroundings(self.rows[near[:, 0]], gap, reach, spacing, left)


def _beyond(offsets: np.ndarray, ahead: np.ndarray, spacing: np.ndarray) -> np.ndarray:
    """Where all offsets (s, c, k) lie behind, along their mean, and the way (s, k) leads away."""
    behind = offsets.mean(axis=1)
    behind /= np.maximum(np.linalg.norm(behind, axis=1, keepdims=True), np.finfo(float).tiny)
    nearest = np.einsum("sck,sk->sc", offsets, behind).min(axis=1)
    return (nearest >= FARTHER * spacing) & ((ahead * behind).sum(axis=1) < -OUTWARDS)


def joint_map(
    points: np.ndarray, coordinates: Sequence[np.ndarray], usable: np.ndarray, dim: int
) -> JointMap:
    """Put maps side by side.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    coordinates : sequence of ndarray of shape (n, r_j)
    usable : ndarray of bool, shape (n,)
        Those of one piece.
    dim : int
        Of all these factors together.

    Returns
    -------
    JointMap
    """
    joint = np.hstack(list(coordinates))
    rows = np.flatnonzero(usable & np.isfinite(joint).all(axis=1))
    own = np.ascontiguousarray(joint[rows])
    return JointMap(points, rows, own, searcher(own, n_jobs=1), dim)
