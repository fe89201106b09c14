"""Maps of the factors -> how many points have the places of others in all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geodis.base.check import InputError
from geodis.manifold.flat.differences import Edges
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.local.graph import NeighborGraph
from geodis.manifold.maps.coarse_sample import coarse_sample
from geodis.manifold.maps.factor_map import FactorMap
from geodis.manifold.preparation.places import pieces_largest_first

# Points are apart where they are this many times farther than the longest of their edges. Noise,
# which lengthens the edges too, does not take them there.
APART = 1.25
# Of the points that have the places of others in all maps: none on a product, also under noise,
# and a third or more where two sheets lie on one another.
FEW = 0.05


def share_at_same_places(
    maps: Sequence[FactorMap],
    places: np.ndarray,
    rows: np.ndarray,
    edges: Edges,
    *,
    n_jobs: int | None = None,
) -> float:
    """Of the points, those whose nearest in all maps together lies apart from them.

    The maps of a product side by side are an embedding: there are none. Where a space is a product
    nearby, but not as a whole, half of the points or more: in tensors ``x y^T`` of unit vectors,
    which -x and -y make too, moving y to -y and back by x leads from a point to another that all
    maps have at its place.

    Parameters
    ----------
    maps : sequence of FactorMap
    places : ndarray of shape (n, d)
    rows : ndarray of int, shape (c,)
        Points that carry every map.
    edges : Edges
        Between them.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    float
    """
    own = places[rows]
    lengths = np.linalg.norm(own[edges.j] - own[edges.i], axis=1)
    reach = np.zeros(len(rows))
    np.maximum.at(reach, edges.i, lengths)
    np.maximum.at(reach, edges.j, lengths)
    joint = np.hstack([own.coordinates[rows] for own in maps])
    near = searcher(joint, n_jobs=n_jobs)(joint, 2)[0]
    # Of several at the very same place, the point itself may come second.
    nearest = np.where(near[:, 1] == np.arange(len(rows)), near[:, 0], near[:, 1])
    return float((np.linalg.norm(own[nearest] - own, axis=1) > APART * reach).mean())


def common_points(
    maps: Sequence[FactorMap],
    places: np.ndarray,
    axes: np.ndarray,
    graph: NeighborGraph,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, Edges]:
    """Points that carry every map, and the edges between them: those that maps are fitted to."""
    sample = next((own.sample for own in maps if own.sample is not None), None)
    if sample is None:  # all were unrolled, from all points
        usable = np.isfinite(axes).all(axis=(1, 2))
        largest = pieces_largest_first(graph.piece)[0]
        given = graph if graph.method == "given" else None
        sample = coarse_sample(places, largest[usable[largest]], axes, given=given, n_jobs=n_jobs)
    known = np.logical_and.reduce([np.isin(sample.rows, own.tangents()[0]) for own in maps])
    if not known.any():
        raise InputError("The maps of factors must have points in common; got none.")
    both = known[sample.edges.i] & known[sample.edges.j]
    number = np.cumsum(known) - 1
    edges = Edges(number[sample.edges.i[both]], number[sample.edges.j[both]], int(known.sum()))
    return sample.rows[known], edges
