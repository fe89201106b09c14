"""New points -> the fitted ones next to them, and whether these reach so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.manifold.local.exact_search import searcher

# A new point belongs to the fitted ones where it is nearer to one than so many of its neighbours.
WITHIN_REACH = 40


@dataclass(frozen=True)
class NearestFitted:
    """The fitted point next to each of some others.

    Attributes
    ----------
    rows : ndarray of int, shape (p,)
    distances : ndarray of shape (p,)
    reach : ndarray of shape (p,)
        How far the `count` nearest neighbours of that fitted point are; infinite at a fitted point
        itself.
    count : int
    """

    rows: np.ndarray
    distances: np.ndarray
    reach: np.ndarray
    count: int

    @property
    def beyond(self) -> np.ndarray:
        """Which lie farther off than neighbours do, shape (p,)."""
        return self.distances > self.reach


def nearest_fitted(
    places: np.ndarray, targets: np.ndarray, *, n_jobs: int | None = None
) -> NearestFitted:
    """Find the fitted point next to each target, and how far its neighbours are.

    Parameters
    ----------
    places : ndarray of shape (n, c)
        The fitted points.
    targets : ndarray of shape (p, c)
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    NearestFitted

    Examples
    --------
    >>> line = np.arange(100.0)[:, None]
    >>> near = nearest_fitted(line, np.array([[50.4], [-60.0]]))
    >>> near.rows.tolist(), near.reach.tolist(), near.beyond.tolist()
    ([50, 0], [20.0, 39.0], [False, True])
    """
    search = searcher(places, n_jobs=n_jobs)
    near, distances = search(targets, 1)
    rows, apart = near[:, 0], distances[:, 0]
    reach = np.full(len(rows), np.inf)
    count = min(WITHIN_REACH, len(places))
    new = np.flatnonzero(apart > 0)
    if len(new):
        reach[new] = search(places[rows[new]], count)[1][:, -1]
    return NearestFitted(rows, apart, reach, count)
