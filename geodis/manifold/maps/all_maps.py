"""A fit -> the maps of all its factors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from geodis.base.progress import Stages
from geodis.manifold.local.graph import NeighborGraph
from geodis.manifold.maps.coarse_sample import CoarseSample, coarse_sample, fewest_for_maps
from geodis.manifold.maps.factor_map import FactorMap
from geodis.manifold.maps.refined_map import refined_map
from geodis.manifold.maps.unrolled_map import UnrolledFactor, unrolled_map
from geodis.manifold.preparation.places import pieces_largest_first

# Above this strain an unrolled factor is fitted as one that is curved too, and that map is taken
# where its misfit is a smaller share of the strain.
EVEN, BETTER = 0.01, 0.7


def factor_maps(
    points: np.ndarray,
    places: np.ndarray,
    axes: np.ndarray,
    dims: Sequence[int],
    graph: NeighborGraph,
    *,
    unrolled: Sequence[UnrolledFactor | None],
    strain: float = np.nan,
    stages: Stages | None = None,
    n_jobs: int | None = None,
) -> tuple[FactorMap, ...]:
    """Make the map of every factor.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        As they were given.
    places : ndarray of shape (n, c)
        In the directions that were kept.
    axes : ndarray of shape (n, k, c)
        Grouped by factor; NaN where there are none.
    dims : sequence of int
        Of the factors.
    graph : NeighborGraph
        Of the points, with its pieces.
    unrolled : sequence of UnrolledFactor or None
        Of every factor that was unrolled.
    strain : float
        By how much lengths along these are wrong.
    stages : Stages, optional
        Timed and shown.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    tuple of FactorMap
        In the order of the factors.
    """
    stages = Stages("", verbose=0) if stages is None else stages
    # A curve has no curvature; what is unrolled in more dimensions may have some.
    doubtful = [
        known is not None and dim > 1 and not strain <= EVEN
        for dim, known in zip(dims, unrolled, strict=True)
    ]
    samples: list[CoarseSample] = []
    pieces: list[np.ndarray] = []
    if any(doubtful) or any(known is None for known in unrolled):
        with stages.stage("coarse sample"):
            usable = np.isfinite(axes).all(axis=(1, 2))
            given = graph if graph.method == "given" else None
            for rows in pieces_largest_first(graph.piece):
                rows = rows[usable[rows]]
                if len(pieces) and len(rows) < fewest_for_maps(sum(dims)):
                    continue
                samples.append(coarse_sample(places, rows, axes, given=given, n_jobs=n_jobs))
                pieces.append(rows)
    maps: list[FactorMap] = []
    bounds = pairwise(np.cumsum([0, *dims]))
    for (start, stop), known, doubt in zip(bounds, unrolled, doubtful, strict=True):
        own = axes[:, start:stop]
        options: list[FactorMap] = []
        with stages.stage("maps"):
            if known is not None:
                options.append(unrolled_map(points, places, own, known, strain))
            if known is None or doubt:
                options.append(refined_map(points, places, own, samples, pieces, n_jobs=n_jobs))
        # A gently curved patch that was unrolled is better bent than flattened.
        last = options[-1]
        better = last.n_coordinates > stop - start and last.residual < BETTER * options[0].residual
        maps.append(last if len(options) == 1 or better else options[0])
    return tuple(maps)
