"""Geodesic distances and logarithms in a map, by developed shortest paths."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from geodis.base.jobs import njit, over_ranges
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.graph import graph_of_neighbors
from geodis.manifold.local.neighbors import nearest_neighbors
from geodis.manifold.maps.rigid_map import steps_within

NEIGHBORS = 30
# A path that is longer than its development by more than this factor leads around a hole or a
# notch. Zigzag alone lengthens paths by a tenth in two dimensions, and by a quarter in four.
DETOUR = 1.35


@dataclass(frozen=True)
class Geodesics:
    """The neighbour graph of a map, with a step and a rotation for both directions of every edge.

    Attributes
    ----------
    indptr, indices : ndarray of int
        Neighbours of every point, as in a CSR matrix.
    lengths : ndarray of shape (e,)
    steps : ndarray of shape (e, k_j)
        In the frame of the point where the edge starts.
    turns : ndarray of shape (e, k_j, k_j)
        Rotation from the frame at the end to that at the start.
    """

    indptr: np.ndarray
    indices: np.ndarray
    lengths: np.ndarray
    steps: np.ndarray
    turns: np.ndarray

    def logarithms(self, source: int) -> tuple[np.ndarray, np.ndarray]:
        """Compute the logarithms and distances of all points at a source.

        A shortest path in the graph zigzags, but its development does not: the sum of its steps,
        each transported back to the source, approximates the logarithm of the end. The error is
        curvature times the squared deviation of the path from the geodesic.

        Parameters
        ----------
        source : int

        Returns
        -------
        vectors : ndarray of shape (c, k_j)
            In the frame of the source; NaN for points that no path reaches.
        distances : ndarray of shape (c,)
            Lengths of these vectors, or about that of the path if this is much longer; infinite for
            points that no path reaches.
        """
        vectors, _, paths = self._developed(source)
        straight = np.linalg.norm(vectors, axis=1)
        return vectors, np.where(np.isfinite(paths), np.maximum(straight, paths / DETOUR), np.inf)

    def distances(
        self,
        a: np.ndarray,
        b: np.ndarray,
        offset_a: np.ndarray | None = None,
        offset_b: np.ndarray | None = None,
        *,
        n_jobs: int | None = None,
    ) -> np.ndarray:
        """Compute distances between pairs of points, or between points near them.

        Parameters
        ----------
        a, b : ndarray of int, shape (p,)
        offset_a, offset_b : ndarray of shape (p, k_j), optional
            Offsets of the actual points from a and b, in their frames.
        n_jobs : int, optional
            Threads; one by default, -1 for every core.

        Returns
        -------
        ndarray of shape (p,)
            Infinite if no path leads there.
        """
        k = self.steps.shape[1]
        offset_a = np.zeros((len(a), k)) if offset_a is None else offset_a
        offset_b = np.zeros((len(b), k)) if offset_b is None else offset_b
        if len(np.unique(b)) < len(np.unique(a)):  # one search for each distinct source
            a, b, offset_a, offset_b = b, a, offset_b, offset_a
        sources, source = np.unique(a, return_inverse=True)
        order = np.argsort(source, kind="stable")
        bounds = np.searchsorted(source[order], np.arange(len(sources) + 1))
        distances = np.empty(len(a))

        def work(start: int, stop: int) -> None:
            for s in range(start, stop):
                own = order[bounds[s] : bounds[s + 1]]
                vectors, frames, paths = (each[b[own]] for each in self._developed(sources[s]))
                apart = vectors - offset_a[own]
                for axis in range(k):
                    apart += frames[:, :, axis] * offset_b[own, axis, None]
                detour = paths / DETOUR - np.sqrt(_squared(vectors))
                found = np.sqrt(_squared(apart)) + np.maximum(detour, 0.0)
                distances[own] = np.where(np.isfinite(paths), found, np.inf)

        over_ranges(work, len(sources), n_jobs)
        return distances

    def _developed(self, source: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the vector, frame and length of the shortest path from a source to every point."""
        graph = self.indptr, self.indices, self.lengths, self.steps, self.turns
        return _develop(*graph, int(source))  # type: ignore[no-any-return]


def geodesics_of(
    coordinates: np.ndarray, frames: np.ndarray, *, n_jobs: int | None = None
) -> Geodesics:
    """Build the neighbour graph of a map with the step and the rotation along every edge.

    Parameters
    ----------
    coordinates : ndarray of shape (c, r)
    frames : ndarray of shape (c, r, k_j)
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    Geodesics

    Examples
    --------
    >>> angle = 2 * np.pi * np.arange(200) / 200
    >>> circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> frames = np.stack([-np.sin(angle), np.cos(angle)], axis=1)[:, :, None]
    >>> geodesics = geodesics_of(circle, frames)
    >>> geodesics.distances(np.array([0, 0]), np.array([50, 100])).round(6).tolist()
    [1.570796, 3.141593]
    """
    count = min(NEIGHBORS, len(coordinates) - 1)
    near = nearest_neighbors(coordinates, count, n_jobs=n_jobs)
    graph = graph_of_neighbors(near, count)
    indptr, j = graph.adjacency.indptr.astype(np.int64), graph.adjacency.indices.astype(np.int64)
    i = np.repeat(np.arange(len(coordinates)), graph.degrees)
    axes = np.swapaxes(frames, 1, 2)
    steps = steps_within(coordinates, axes, i, j, n_jobs=n_jobs)
    turns = polar_rows(axes[i] @ frames[j])
    back = np.einsum("eab,eb->ea", turns, steps.back)
    both = (steps.out + back) / 2
    lengths = steps.lengths
    norms = np.maximum(np.linalg.norm(both, axis=1), np.finfo(float).tiny)
    both *= (lengths / norms)[:, None]
    return Geodesics(indptr, j, lengths, both, turns)


def _squared(vectors: np.ndarray) -> np.ndarray:
    """Return squared lengths, summed in the order of the axes."""
    return sum(column**2 for column in vectors.T)  # type: ignore[return-value]


@njit(nogil=True, cache=True, error_model="numpy")
def _develop(  # type: ignore[no-untyped-def]
    indptr, indices, lengths, steps, turns, source
):  # pragma: no cover
    """Develop Dijkstra's shortest paths from a source to all points."""
    n, k = len(indptr) - 1, steps.shape[1]
    vectors, frames = np.full((n, k), np.nan), np.zeros((n, k, k))
    paths, done = np.full(n, np.inf), np.zeros(n, np.bool_)
    via, came = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    vectors[source], frames[source], paths[source] = 0.0, np.eye(k), 0.0
    heap = [(0.0, source)]
    while heap:
        point = heappop(heap)[1]
        if done[point]:
            continue
        done[point] = True
        edge, before = via[point], came[point]
        if edge >= 0:
            for a in range(k):
                moved = vectors[before, a]
                for b in range(k):
                    moved += frames[before, a, b] * steps[edge, b]
                    turned = 0.0
                    for c in range(k):
                        turned += frames[before, a, c] * turns[edge, c, b]
                    frames[point, a, b] = turned
                vectors[point, a] = moved
        for edge in range(indptr[point], indptr[point + 1]):
            other = indices[edge]
            length = paths[point] + lengths[edge]
            if not done[other] and length < paths[other]:
                paths[other], via[other], came[other] = length, edge, point
                heappush(heap, (length, other))
    return vectors, frames, paths
