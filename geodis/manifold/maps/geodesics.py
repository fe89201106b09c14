"""A map -> geodesics in it: how far apart its points are, and in which direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.base.compiled import njit
from geodis.base.jobs import over_ranges
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.graph import graph_of_neighbors
from geodis.manifold.local.neighbors import nearest_neighbors
from geodis.manifold.maps.edge_steps import steps_within

NEIGHBORS = 30
# A path that is longer than its development by more goes around something: a hole, a notch.
# Paths zigzag by a tenth in two dimensions, and by a quarter in four.
DETOUR = 1.35


@dataclass(frozen=True)
class Geodesics:
    """The neighbour graph of a map, with a step and a turn along every edge, in both directions.

    Attributes
    ----------
    indptr, indices : ndarray of int
        Neighbours of every point, as in a CSR matrix.
    lengths : ndarray of shape (e,)
    steps : ndarray of shape (e, k_j)
        In the frame of the point where the edge begins.
    turns : ndarray of shape (e, k_j, k_j)
        What turns the frame at the end into that at the beginning.
    """

    indptr: np.ndarray
    indices: np.ndarray
    lengths: np.ndarray
    steps: np.ndarray
    turns: np.ndarray

    def logarithms(
        self, sources: np.ndarray, *, n_jobs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Where all points lie as seen from some, and how far it is to them.

        A shortest path in the graph zigzags. Its development does not: the sum of its steps, each
        carried back to the source by the turns on the way, is the vector at which the exponential
        map at the source begins, but for curvature times the square of how far the path strays.

        Parameters
        ----------
        sources : ndarray of int, shape (s,)
        n_jobs : int, optional
            Threads; one by default, -1 for every core.

        Returns
        -------
        vectors : ndarray of shape (s, c, k_j)
            In the frames of the sources; NaN where no path leads.
        distances : ndarray of shape (s, c)
            Their lengths, or nearly that of the path where this is much longer; infinite where
            no path leads.
        """
        sources = np.asarray(sources, np.int64)
        vectors = np.empty((len(sources), len(self.indptr) - 1, self.steps.shape[1]))
        paths = np.empty(vectors.shape[:2])

        def work(start: int, stop: int) -> None:
            _logarithms(
                self.indptr,
                self.indices,
                self.lengths,
                self.steps,
                self.turns,
                sources[start:stop],
                vectors[start:stop],
                paths[start:stop],
            )

        over_ranges(work, len(sources), n_jobs)
        straight = np.linalg.norm(vectors, axis=2)
        return vectors, np.where(np.isfinite(paths), np.maximum(straight, paths / DETOUR), np.inf)

    def distances(
        self,
        a: np.ndarray,
        b: np.ndarray,
        beside_a: np.ndarray | None = None,
        beside_b: np.ndarray | None = None,
        *,
        n_jobs: int | None = None,
    ) -> np.ndarray:
        """Distances of pairs of points, or of points beside them.

        Parameters
        ----------
        a, b : ndarray of int, shape (p,)
        beside_a, beside_b : ndarray of shape (p, k_j), optional
            From a and b, in their frames, to the points that are meant.
        n_jobs : int, optional
            Threads; one by default, -1 for every core.

        Returns
        -------
        ndarray of shape (p,)
            Infinite where no path leads.
        """
        k = self.steps.shape[1]
        beside_a = np.zeros((len(a), k)) if beside_a is None else beside_a
        beside_b = np.zeros((len(b), k)) if beside_b is None else beside_b
        if len(np.unique(b)) < len(np.unique(a)):  # paths from every one of the first are sought
            a, b, beside_a, beside_b = b, a, beside_b, beside_a
        sources, source = np.unique(a, return_inverse=True)
        order = np.argsort(source, kind="stable")
        bounds = np.searchsorted(source[order], np.arange(len(sources) + 1)).astype(np.int64)
        own = b[order].astype(np.int64), beside_a[order], beside_b[order]
        found = np.empty(len(a))
        graph = self.indptr, self.indices, self.lengths, self.steps, self.turns

        def work(start: int, stop: int) -> None:
            pairs = bounds[start : stop + 1]
            _distances_from(*graph, sources[start:stop].astype(np.int64), pairs, *own, found)

        over_ranges(work, len(sources), n_jobs)
        distances = np.empty(len(a))
        distances[order] = found
        return distances


def geodesics_of(
    coordinates: np.ndarray, frames: np.ndarray, *, n_jobs: int | None = None
) -> Geodesics:
    """The neighbour graph of a map, and what it takes to go along its edges.

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


@njit(nogil=True, cache=True, error_model="numpy")
def _logarithms(
    indptr: np.ndarray,
    indices: np.ndarray,
    lengths: np.ndarray,
    steps: np.ndarray,
    turns: np.ndarray,
    sources: np.ndarray,
    vectors: np.ndarray,
    paths: np.ndarray,
) -> None:  # pragma: no cover
    n, k = vectors.shape[1:]
    frames = np.empty((n, k, k))
    for s in range(len(sources)):
        _develop(indptr, indices, lengths, steps, turns, sources[s], vectors[s], frames, paths[s])


@njit(nogil=True, cache=True, error_model="numpy")
def _distances_from(
    indptr: np.ndarray,
    indices: np.ndarray,
    lengths: np.ndarray,
    steps: np.ndarray,
    turns: np.ndarray,
    sources: np.ndarray,
    pairs: np.ndarray,
    targets: np.ndarray,
    beside_source: np.ndarray,
    beside_target: np.ndarray,
    distances: np.ndarray,
) -> None:  # pragma: no cover
    """Distances of the pairs of every source: those from pairs[s] to pairs[s + 1]."""
    n, k = len(indptr) - 1, steps.shape[1]
    vectors, frames, paths = np.empty((n, k)), np.empty((n, k, k)), np.empty(n)
    for s in range(len(sources)):
        _develop(indptr, indices, lengths, steps, turns, sources[s], vectors, frames, paths)
        for p in range(pairs[s], pairs[s + 1]):
            target = targets[p]
            squared = between = 0.0
            for a in range(k):
                between += vectors[target, a] ** 2
                along = vectors[target, a] - beside_source[p, a]
                for b in range(k):
                    along += frames[target, a, b] * beside_target[p, b]
                squared += along * along
            distances[p] = np.inf
            if paths[target] < np.inf:
                detour = paths[target] / DETOUR - np.sqrt(between)
                distances[p] = np.sqrt(squared) + max(detour, 0.0)


@njit(nogil=True, cache=True, error_model="numpy")
def _develop(
    indptr: np.ndarray,
    indices: np.ndarray,
    lengths: np.ndarray,
    steps: np.ndarray,
    turns: np.ndarray,
    source: int,
    vectors: np.ndarray,
    frames: np.ndarray,
    paths: np.ndarray,
) -> None:  # pragma: no cover
    """Dijkstra's shortest paths from a point; every other's vector once the way to it is known."""
    n, k = vectors.shape
    heap = np.empty(len(indices) + 1, np.int64)
    keys = np.empty(len(indices) + 1)
    done = np.zeros(n, np.bool_)
    via, came = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    vectors[:], paths[:] = np.nan, np.inf
    vectors[source], paths[source] = 0.0, 0.0
    frames[source] = np.eye(k)
    heap[0], keys[0] = source, 0.0
    size = 1
    while size:
        point = heap[0]
        size -= 1
        _sift_down(heap, keys, size)
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
                size = _push(heap, keys, size, other, length)


@njit(nogil=True, cache=True)
def _push(
    heap: np.ndarray, keys: np.ndarray, size: int, point: int, key: float
) -> int:  # pragma: no cover
    """Put a point into a binary heap; the new size."""
    place = size
    while place > 0:
        parent = (place - 1) // 2
        if keys[parent] <= key:
            break
        heap[place], keys[place] = heap[parent], keys[parent]
        place = parent
    heap[place], keys[place] = point, key
    return size + 1


@njit(nogil=True, cache=True)
def _sift_down(heap: np.ndarray, keys: np.ndarray, size: int) -> None:  # pragma: no cover
    """Put the last of size + 1 entries in the place of the first, and downwards."""
    point, key = heap[size], keys[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        heap[place], keys[place] = heap[child], keys[child]
        place = child
    heap[place], keys[place] = point, key
