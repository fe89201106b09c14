"""Points -> the scale of their sampling: below it lie copies, far above it outliers.

Both would be taken for geometry otherwise: copies with a little jitter look like points or lines,
and a few far points bend every fit near them.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from geodis.base.jobs import blocks
from geodis.manifold.local.exact_search import BLOCK_ROWS
from geodis.manifold.local.neighbors import Neighbors

# Neighbours that are looked at: a place may have a few copies, and still shows its surroundings.
LOOKED_AT = 20
# From a last copy to the next place the distance jumps by more than this. In a sample of a curve
# the nearest neighbour is so much nearer than the second at one point in thirty, of a surface at
# one in a thousand: copies are believed where ten times as many jump.
COPY_JUMP = 30.0
COPIED_SHARE = 1 / 3
LEAST_COPIED = 30
# An outlier's tenth neighbour is farther than so many times that of nine points in ten, or than so
# many times that of its own neighbours: at most 2.7 times in exponential and Gaussian samples of
# two dimensions and up, and 1.3 times within a manifold.
FAR_FROM_ALL, FAR_FROM_NEAR, FEW = 4.0, 2.75, 10
LEAST_POINTS = 100


def near_copies(near: Neighbors) -> np.ndarray | None:
    """The place of every point, where points are repeated with a jitter; None where not.

    Every point's neighbours are sorted by distance. Where a third of all points or more see a jump
    by a factor above 30 among the first twenty, points nearer to one another than the middle of
    the jump are one place.

    Parameters
    ----------
    near : Neighbors
        The nearest other points, a dozen or more of each.

    Returns
    -------
    ndarray of int, shape (n,), or None
        The first point of each point's place.

    Examples
    --------
    >>> from geodis import nearest_neighbors
    >>> rows = np.random.default_rng(0).uniform(size=(100, 2))
    >>> near_copies(nearest_neighbors(rows, 12)) is None
    True
    >>> twice = np.repeat(rows, 2, axis=0)
    >>> twice[1::2] += 1e-9
    >>> near_copies(nearest_neighbors(twice, 12))[:6].tolist()
    [0, 0, 2, 2, 4, 4]
    """
    distances = near.distances[:, :LOOKED_AT]
    n, count = distances.shape
    if n < LEAST_COPIED or count < 3:
        return None
    seen = np.concatenate(
        [some.start + _with_jump(distances[some]) for some in blocks(n, BLOCK_ROWS)]
    )
    if len(seen) / n < COPIED_SHARE:
        return None
    last = _jumps(distances[seen]).argmax(axis=1)
    middle = np.sqrt(distances[seen, last] * distances[seen, last + 1])
    copy = distances < np.median(middle)
    row = np.repeat(np.arange(n), copy.sum(axis=1))
    links = sparse.csr_array(
        (np.ones(len(row)), (row, near.indices[:, :LOOKED_AT][copy])), shape=(n, n)
    )
    label = connected_components(links, directed=False)[1]
    first = np.full(label.max() + 1, n)
    np.minimum.at(first, label, np.arange(n))
    return first[label]


def _jumps(distances: np.ndarray) -> np.ndarray:
    """By how much each distance of a row is larger than the one before."""
    jump: np.ndarray = distances[:, 1:] / np.maximum(distances[:, :-1], np.finfo(float).tiny)
    return jump


def _with_jump(distances: np.ndarray) -> np.ndarray:
    """Rows whose distances jump somewhere."""
    return np.flatnonzero(_jumps(distances).max(axis=1) > COPY_JUMP)


def outlying(near: Neighbors) -> np.ndarray:
    """Points far from all but a few others, shape (n,).

    Parameters
    ----------
    near : Neighbors
        The nearest other points, ten or more of each.

    Examples
    --------
    >>> from geodis import nearest_neighbors
    >>> rows = np.random.default_rng(0).uniform(size=(300, 2))
    >>> rows[7] = 5.0
    >>> np.flatnonzero(outlying(nearest_neighbors(rows, 10))).tolist()
    [7]
    """
    n, count = near.distances.shape
    if n < LEAST_POINTS or count < FEW:
        return np.zeros(n, bool)
    reach = near.distances[:, FEW - 1]
    around = np.median(reach[near.indices[:, :FEW]], axis=1)
    return (reach > FAR_FROM_ALL * np.quantile(reach, 0.9)) | (reach > FAR_FROM_NEAR * around)
