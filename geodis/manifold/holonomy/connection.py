"""Frames, graph -> parallel transports (e, k, k) along the edges."""

from __future__ import annotations

import numpy as np

from geodis.base.compiled import njit
from geodis.base.jobs import over_ranges
from geodis.manifold.local.graph import NeighborGraph

# Newton-Schulz multiplies a small singular value by 1.5 a step: twelve steps bring .03 to one,
# and neighbours whose tangent spaces are nearer to orthogonal than that carry no information.
MAX_STEPS = 12
TOLERANCE = 1e-6


def connection(
    frames: np.ndarray, graph: NeighborGraph, *, n_jobs: int | None = None
) -> np.ndarray:
    """Transport between the tangent spaces of neighbours, for every directed edge.

    ``Q_ij`` is the orthogonal polar factor of ``U_i U_j^T``, where rows of U are tangent
    directions: it takes coordinates in the frame of j to coordinates in the frame of i
    (algorithm 1, step 2), so that ``Q_ji = Q_ij^T``.

    Parameters
    ----------
    frames : ndarray of shape (n, k, d)
    graph : NeighborGraph
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    ndarray of float32, shape (e, k, k)
        In the order of the graph's CSR entries, both directions of every edge. Directions in
        which two tangent spaces are orthogonal to within .03 come out shorter than one.

    Examples
    --------
    >>> from geodis import neighbor_graph
    >>> frames = np.array([[[1.0, 0.0]], [[0.6, 0.8]], [[-1.0, 0.0]]])
    >>> graph = neighbor_graph(graph=[[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> connection(frames, graph).ravel()
    array([ 1.,  1., -1., -1.], dtype=float32)
    """
    adjacency = graph.adjacency
    return transports_between(frames, frames, adjacency.indptr, adjacency.indices, n_jobs=n_jobs)


def transports_between(
    to_frames: np.ndarray,
    from_frames: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Polar factors of U_i V_j^T for the entries (i, j) of a CSR pattern, shape (e, k, k)."""
    k = to_frames.shape[1]
    transports = np.empty((len(indices), k, k), np.float32)
    single = np.ascontiguousarray(to_frames, dtype=np.float32)
    other = single
    if from_frames is not to_frames:
        other = np.ascontiguousarray(from_frames, dtype=np.float32)
    indices = indices.astype(np.int32, copy=False)
    over_ranges(
        lambda start, stop: _polar_products(
            start, stop, single, other, indptr, indices, transports
        ),
        len(indptr) - 1,
        n_jobs,
    )
    return transports


@njit(nogil=True, cache=True, fastmath={"contract", "nsz"}, error_model="numpy")
def _polar_products(start, stop, to_frames, from_frames, indptr, indices, transports):  # type: ignore[no-untyped-def]
    _, k, d = to_frames.shape
    X = np.empty((k, k), np.float32)
    step = np.empty((k, k), np.float32)
    new = np.empty((k, k), np.float32)
    for i in range(start, stop):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            for a in range(k):
                for b in range(k):
                    total = np.float32(0.0)
                    for c in range(d):
                        total += to_frames[i, a, c] * from_frames[j, b, c]
                    X[a, b] = total
            for _ in range(MAX_STEPS):
                # X <- X (1.5 I - 0.5 X^T X)
                worst = np.float32(0.0)
                for a in range(k):
                    for b in range(a + 1):
                        total = np.float32(0.0)
                        for c in range(k):
                            total += X[c, a] * X[c, b]
                        defect = -total
                        if a == b:
                            defect += np.float32(1.0)
                        worst = max(worst, abs(defect))
                        step[a, b] = np.float32(0.5) * defect
                        step[b, a] = step[a, b]
                if worst < TOLERANCE:
                    break
                for a in range(k):
                    for b in range(k):
                        total = X[a, b]
                        for c in range(k):
                            total += X[a, c] * step[c, b]
                        new[a, b] = total
                for a in range(k):
                    for b in range(k):
                        X[a, b] = new[a, b]
            for a in range(k):
                for b in range(k):
                    transports[e, a, b] = X[a, b]
