"""A factor as it is seen from one of its points: every other in its direction, as far as it is."""

from __future__ import annotations

import numpy as np

from geodis.manifold.maps.map_orientation import orientation_of
from geodis.manifold.maps.refined_map import PieceMap


def log_chart(piece: PieceMap) -> np.ndarray:
    """Logarithms of the points that carry a map, at the one nearest to its middle.

    Geodesics from that point become straight lines of their own length. A space without boundary
    becomes a ball, and points of its skin are the same in pairs or all together: of SO(3)
    opposite ones, of a sphere all.

    Parameters
    ----------
    piece : PieceMap

    Returns
    -------
    ndarray of shape (c, k_j)
        Oriented by the map's coordinates; NaN where no path leads.
    """
    away = piece.coordinates - piece.coordinates.mean(axis=0)
    source = int(np.argmin((away**2).sum(axis=1)))
    vectors, distances = piece.geodesics.logarithms(np.array([source]))
    chart = np.where(np.isfinite(distances[0])[:, None], vectors[0], np.nan)
    known = np.isfinite(chart).all(axis=1)
    return chart @ orientation_of(chart[known], piece.coordinates[known]).T
