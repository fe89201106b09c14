"""Factors of dimension one: a circle or an interval, from how many pieces a distance cuts them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import dijkstra

from geodis.manifold.topology.place_graph import PlaceGraph, pieces_of

# Slices by the distance from an end, and the share of them that must have one or two pieces.
SLICES, MOST = 40, 0.9
# Pieces with a smaller share of their slice are stray points.
PIECE = 0.1


@dataclass(frozen=True)
class Line:
    """A factor of dimension one.

    Attributes
    ----------
    closed : bool or None
        Whether it is a circle; None where it branches or is too noisy.
    length : float
    twofold : float
        Share of the slices with two pieces.
    """

    closed: bool | None
    length: float
    twofold: float

    def __str__(self) -> str:
        """In words."""
        if self.closed is None:
            return (
                "neither a circle nor an interval: slices by distance have other numbers of pieces"
            )
        pieces = "two pieces" if self.closed else "one piece"
        share = self.twofold if self.closed else 1 - self.twofold
        slices = f"{100 * share:.0f} % of the slices by distance from one end"
        return f"{pieces} in {slices}"


def follow_line(graph: PlaceGraph) -> Line:
    """Slice by the distance from the place that is farthest from some place.

    On an interval that is an end, and every slice has one piece; on a circle every slice but
    the first and the last has two, and the farthest place is half way round.
    """
    start = dijkstra(graph.adjacency, directed=False, indices=0)
    far = dijkstra(graph.adjacency, directed=False, indices=int(start.argmax()))
    length = float(far.max())
    which = np.minimum((far / max(length, 1e-300) * SLICES).astype(int), SLICES - 1)
    kept = which[graph.first] == which[graph.second]
    label = pieces_of(graph.first[kept], graph.second[kept], len(far))
    sizes = np.bincount(label)
    owner = np.zeros(len(sizes), int)
    owner[label] = which
    total = np.bincount(which, minlength=SLICES)
    pieces = np.bincount(owner[sizes > PIECE * total[owner]], minlength=SLICES)[1:-1]
    single, double = float((pieces == 1).mean()), float((pieces == 2).mean())
    closed = True if double > MOST else (False if single > MOST else None)
    return Line(closed, 2 * length if closed else length, double)
