"""Which rows to show as images on a map: places spread evenly, the other factors nearly still."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geodis.plots.figure.linked_views import spread_order

# So many images are tried on a map; around each place, in halves of the picture, the row whose
# other factors are nearest to those of one row is shown.
TRIED, AROUND = 200, 0.25
CANDIDATES = 8000


def rows_moving_alone(places: Sequence[np.ndarray], usable: np.ndarray) -> list[np.ndarray]:
    """For every view, rows whose places are spread over it and differ little in the other views.

    Parameters
    ----------
    places : sequence of ndarray of shape (n, 3)
        Of all points, a view each.
    usable : ndarray of int
        Rows that may be taken.

    Returns
    -------
    list of ndarray of int
        An even sample of each view, the first first.

    Examples
    --------
    >>> side = np.array([[x, y] for x in (-1.0, 0.0, 1.0) for y in (0.0, 0.9, -0.9)])
    >>> across, up = (np.pad(side[:, [j]], ((0, 0), (0, 2))) for j in (0, 1))
    >>> [sorted(rows.tolist()) for rows in rows_moving_alone([across, up], np.arange(9))]
    [[0, 3, 6], [3, 4, 5]]
    """
    usable = usable[:: -(-len(usable) // CANDIDATES)]
    near = [own[usable] for own in places]
    chosen = []
    for own, moved in zip(near, moved_elsewhere(near), strict=True):
        anchors = own[spread_order(own, TRIED)]
        away = ((own[None] - anchors[:, None]) ** 2).sum(axis=2)  # (t, c)
        best = np.where(away <= AROUND**2, moved, np.inf).argmin(axis=1)
        chosen.append(usable[_first_of_each(best)])
    return chosen


def moved_elsewhere(places: Sequence[np.ndarray]) -> list[np.ndarray]:
    """For every view, how far each point is in the others from one that is in their middle.

    Examples
    --------
    >>> across, up = np.array([[0.0], [1.0], [2.0]]), np.array([[0.0], [3.0], [0.0]])
    >>> [own.tolist() for own in moved_elsewhere([across, up])]
    [[0.0, 9.0, 0.0], [0.0, 1.0, 4.0]]
    """
    # One row that is at the middle of every view, as far as there is one.
    still = int(np.argmin(sum((own**2).sum(axis=1) for own in places)))
    away = [((own - own[still]) ** 2).sum(axis=1) for own in places]
    return [
        np.sum([other for i, other in enumerate(away) if i != j], axis=0) + 0 * away[j]
        for j in range(len(away))
    ]


def _first_of_each(numbers: np.ndarray) -> np.ndarray:
    """Without repetition, in the order in which they come."""
    return numbers[np.sort(np.unique(numbers, return_index=True)[1])]
