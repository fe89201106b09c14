"""The map of a factor -> whether it splits again."""

from __future__ import annotations

import numpy as np

from geodis.manifold.holonomy.departure import SLIGHT
from geodis.manifold.local.tangents import Tangents, neighbors_for_tangents
from geodis.manifold.maps.factor_map import FactorMap
from geodis.manifold.pipeline import published_pipeline
from geodis.manifold.task import Settings, Task
from geodis.manifold.verdict.evidence import doubts_of

# A surface that splits is flat, about which the unrolling says more.
LEAST_DIM = 3
MOST_POINTS = 4000


def dims_of_map(own: FactorMap, *, n_jobs: int | None = None) -> tuple[int, ...]:
    """Dimensions of the factors into which the map of a factor clearly splits.

    In the map the other factors are gone, with what errors they bring and with most of the noise,
    so that parallel fields may be clear there that are not in all dimensions at once.

    Parameters
    ----------
    own : FactorMap
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    tuple of int
        Largest first; the dimension alone where the map does not split, or not clearly.
    """
    k = own.dim
    if k < LEAST_DIM or own.n_coordinates == k or own.periods is not None:
        return (k,)
    carriers, all_frames = own.tangents()
    some = np.linspace(0, len(carriers) - 1, min(len(carriers), MOST_POINTS)).astype(np.intp)
    rows, frames = carriers[some], np.swapaxes(all_frames[some], 1, 2)
    nothing = np.zeros(len(rows))
    count = min(neighbors_for_tangents(k), len(rows) // 2 - 1)
    known = Tangents(np.ascontiguousarray(frames), nothing, nothing, count)
    task = Task(Settings(n_jobs=n_jobs))
    split = published_pipeline(
        own.coordinates[rows], k, task, rows=np.arange(len(rows)), tangents=known
    ).split
    fields, departure = split.fields, split.departure
    clear = fields is not None and not doubts_of(fields, k)
    # What the map misfits by may be all that it departs by.
    if departure is not None and departure.low > max(SLIGHT, own.residual):
        clear = False
    if len(split.dims) < 2 or not clear:
        return (k,)
    return tuple(sorted(split.dims, reverse=True))
