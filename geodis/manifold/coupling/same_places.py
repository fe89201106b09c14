"""Maps of the factors -> how many points have the places of others in all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geodis.manifold.flat.differences import Edges
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.maps.factor_map import FactorMap

# Points are apart where they are this many times farther than those that edges lead to.
APART = 2.0


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
