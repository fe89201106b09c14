"""Orienting a map, which is known only up to rotation, in the same way every time."""

from __future__ import annotations

import numpy as np

# A column of the points is believed to show a direction of the map where it shows half as much as
# the column that shows most: so the choice does not change with every draw of the points.
CLEAR = 0.5


def orientation_of(coordinates: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Orthonormal rows: directions in a map, in the order in which the points' columns show them.

    The first is that in which the first clear column grows; the second that in which the next
    one grows, apart from the first; and so on. A fit to other draws of the same points is turned
    the same way.

    Parameters
    ----------
    coordinates : ndarray of shape (c, r)
        Centred.
    points : ndarray of shape (c, d)

    Returns
    -------
    ndarray of shape (r, r)
        Coordinates times its transpose are the turned ones.

    Examples
    --------
    >>> points = np.random.default_rng(0).standard_normal((500, 2))
    >>> quarter = np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> turned = points @ quarter
    >>> bool(np.abs(turned @ orientation_of(turned, points).T - points).max() < 0.2)
    True
    """
    r = coordinates.shape[1]
    seen = coordinates.T @ (points - points.mean(axis=0)) / len(points)  # (r, d)
    directions = np.zeros((r, r))
    for row in range(r):
        left = seen - directions[:row].T @ (directions[:row] @ seen)
        shown = np.linalg.norm(left, axis=0)
        if shown.max() <= 1e-9 * np.linalg.norm(seen):
            directions[row:] = _complement(directions[:row], coordinates)
            break
        clear = int(np.argmax(shown >= CLEAR * shown.max()))
        directions[row] = left[:, clear] / shown[clear]
    q, r_factor = np.linalg.qr(directions.T)
    return q.T * np.sign(np.diag(r_factor))[:, None]


def _complement(known: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """The directions that no column shows, by how far the map extends in them."""
    r = coordinates.shape[1]
    others = np.linalg.svd(np.vstack([known, np.zeros((1, r))]))[2][len(known) :]
    within = coordinates @ others.T
    turned = np.linalg.eigh(within.T @ within)[1][:, ::-1].T @ others
    largest = np.abs(turned).argmax(axis=1)
    return turned * np.sign(turned[np.arange(len(turned)), largest])[:, None]
