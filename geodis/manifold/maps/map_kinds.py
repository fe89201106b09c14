"""The kinds of maps, and the best map of every factor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from geodis.base.progress import Stages
from geodis.manifold.local.graph import NeighborGraph
from geodis.manifold.maps.factor_map import FactorData, FactorMap, UnrolledFactor
from geodis.manifold.maps.refined_map import refined_map
from geodis.manifold.maps.samples import CoarseSample, coarse_sample, fewest_for_maps
from geodis.manifold.maps.unrolled_map import unrolled_map
from geodis.manifold.preparation.prepared import pieces_largest_first

# Functions that make a map, or return None if the kind does not apply. The first map is kept unless
# a later one is clearly better.
KINDS: tuple[Callable[[FactorData], FactorMap | None], ...] = (unrolled_map, refined_map)
# A later map is better if it is bent and its misfit is below this share of the first one's.
BETTER = 0.7


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
        The original points.
    places : ndarray of shape (n, c)
        The points in the reduced space.
    axes : ndarray of shape (n, k, c)
        Grouped by factor; NaN for points without axes.
    dims : sequence of int
        Dimensions of the factors.
    graph : NeighborGraph
    unrolled : sequence of UnrolledFactor or None
        None for every factor that was not unrolled.
    strain : float
        Relative error of lengths along unrolled coordinates.
    stages : Stages, optional
        Progress display.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    tuple of FactorMap
        In the order of the factors.
    """
    stages = Stages("", verbose=0) if stages is None else stages
    samples: list[tuple[np.ndarray, CoarseSample]] = []
    factors = [
        FactorData(points, places, axes[:, start:stop], known, strain, samples, n_jobs)
        for (start, stop), known in zip(pairwise(np.cumsum([0, *dims])), unrolled, strict=True)
    ]
    if not all(data.is_even for data in factors):
        with stages.stage("coarse sample"):
            usable = np.isfinite(axes).all(axis=(1, 2))
            given = graph if graph.method == "given" else None
            for rows in pieces_largest_first(graph.piece):
                rows = rows[usable[rows]]
                if samples and len(rows) < fewest_for_maps(sum(dims)):
                    continue
                sample = coarse_sample(places, rows, axes, given=given, n_jobs=n_jobs)
                samples.append((rows, sample))
    maps = []
    for data in factors:
        with stages.stage("maps"):
            maps.append(_best_map(data))
    return tuple(maps)


def _best_map(data: FactorData) -> FactorMap:
    """Return the map of the first kind that applies, or a later one that is clearly better."""
    best, *others = [made for kind in KINDS if (made := kind(data)) is not None]
    for other in others:
        # For a gently curved patch that was unrolled, a bent map may be better than a flat one.
        if other.n_coordinates > other.dim and other.residual < BETTER * best.residual:
            best = other
    return best
