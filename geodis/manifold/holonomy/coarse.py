"""Start fields for the eigenproblem of many points from the solution on few of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.jobs import check_jobs
from geodis.manifold.holonomy.connection import connection, transports_between
from geodis.manifold.holonomy.diffusion import diffuse
from geodis.manifold.holonomy.eigenfields import bottom_eigenfields
from geodis.manifold.holonomy.laplacian import ConnectionLaplacian
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.local.graph import neighbor_graph

MIN_POINTS = 2500
RATIO = 16
NEAREST = 3
TOLERANCE = 0.1


def coarse_start(
    points: np.ndarray,
    frames: np.ndarray,
    n_fields: int,
    *,
    normalized: bool = True,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> np.ndarray | None:
    """Solve on a sixteenth of the points, and carry the fields to all of them.

    The frames are those of all points: they are what takes many points to estimate, while the
    fields are smooth. A field at a point is the mean of those at the three nearest coarse points,
    carried there by the transports. Applied to itself: a coarse problem of more than 5,000 points
    starts from a coarser one.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        In spatial order, so that every sixteenth row covers space evenly.
    frames : ndarray of shape (n, k, d)
    n_fields : int
    normalized : bool
    n_jobs : int, optional
        Threads; one by default, -1 for every core.
    random_state : int, Generator or None

    Returns
    -------
    ndarray of float32, shape (n, k (k + 1) / 2, n_fields), or None
        None where there are too few points for a coarse problem to pay.
    """
    n_jobs = check_jobs(n_jobs)
    n, k, _ = frames.shape
    count = max(MIN_POINTS, n // RATIO)
    if n < 2 * count:
        return None
    chosen = np.linspace(0, n - 1, count).astype(np.intp)
    few, few_frames = points[chosen], frames[chosen]
    graph = neighbor_graph(few, 2 * k, n_jobs=n_jobs, random_state=random_state)
    laplacian = ConnectionLaplacian(
        graph, connection(few_frames, graph, n_jobs=n_jobs), normalized, n_jobs
    )
    start = coarse_start(
        few, few_frames, n_fields, normalized=normalized, n_jobs=n_jobs, random_state=random_state
    )
    solved = bottom_eigenfields(
        laplacian,
        n_fields=n_fields,
        start=start,
        tolerance=TOLERANCE,
        random_state=random_state,
    )
    nearest, _ = searcher(few, n_jobs=n_jobs)(points, NEAREST)
    return extend_fields(solved.fields, few_frames, frames, nearest, n_jobs=n_jobs)


def extend_fields(
    fields: np.ndarray,
    from_frames: np.ndarray,
    to_frames: np.ndarray,
    nearest: np.ndarray,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Average fields over given points, each carried to the frame of the row.

    Parameters
    ----------
    fields : ndarray of float32, shape (n_from, k (k + 1) / 2, R)
    from_frames, to_frames : ndarray of shape (n_from, k, d), (n_to, k, d)
    nearest : ndarray of int, shape (n_to, c)
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    ndarray of float32, shape (n_to, k (k + 1) / 2, R)
        ``mean_c Q_ic S_c Q_ic^T``, made traceless.
    """
    n, count = nearest.shape
    indptr = np.arange(0, n * count + 1, count, dtype=np.int32)
    indices = nearest.ravel().astype(np.int32)
    transports = transports_between(to_frames, from_frames, indptr, indices, n_jobs=n_jobs)
    scales = np.full(n, 1 / count, np.float32), np.ones(len(fields), np.float32)
    return diffuse(indptr, indices, transports, fields, scales=scales, n_jobs=n_jobs)
