"""Where a map ends, and the rows that lie there: the first that one wants to see of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geodis.plots.map_views.moving_alone import CANDIDATES, moved_elsewhere

# A corner of the frame belongs to a map, and a place to an end, where the nearest point is no
# farther away than this, in halves of the picture.
IN_CORNER, AT_END = 0.25, 0.25
# Less high than this a map is a line.
FLAT = 0.2
CORNERS = {"top left": (-1, 1), "top right": (1, 1), "bottom left": (-1, -1),
           "bottom right": (1, -1)}  # fmt: skip
SIDES = {"left": (-1, 0, 0), "right": (1, 0, 0), "bottom": (0, -1, 0), "top": (0, 1, 0)}
TURNED = {"x \N{MINUS SIGN}": (-1, 0, 0), "x +": (1, 0, 0), "y \N{MINUS SIGN}": (0, -1, 0),
          "y +": (0, 1, 0), "z \N{MINUS SIGN}": (0, 0, -1), "z +": (0, 0, 1)}  # fmt: skip


def map_ends(
    places: Sequence[np.ndarray], turns: Sequence[bool], usable: np.ndarray
) -> list[list[tuple[str, int]]]:
    """For every view its ends, and the row near each whose other places differ least.

    A line has two ends, a sheet with corners four of these, another flat map the four sides, and
    what is turned both ends of three axes.

    Parameters
    ----------
    places : sequence of ndarray of shape (n, 3)
        Of all points, a view each.
    turns : sequence of bool
        Which of the views are turned.
    usable : ndarray of int
        Rows that may be taken.

    Examples
    --------
    >>> line = np.array([[x, 0.0, 0.0] for x in (-1.0, -0.9, 0.0, 1.0)])
    >>> other = np.array([[0.0, y, 0.0] for y in (0.8, 0.1, 0.0, -0.1)])
    >>> map_ends([line, other], [False, False], np.arange(4))[0]
    [('left', 1), ('right', 3)]
    """
    usable = usable[:: -(-len(usable) // CANDIDATES)]
    near = [own[usable] for own in places]
    moved = moved_elsewhere(near)
    made = []
    for own, other, turned in zip(near, moved, turns, strict=True):
        own_ends: list[tuple[str, int]] = []
        for name, place in _ends_of(own, turned).items():
            away = ((own - place) ** 2).sum(axis=1)
            close = away <= max(AT_END**2, float(away.min()))
            row = int(usable[np.where(close, other, np.inf).argmin()])
            if row not in [taken for _, taken in own_ends]:
                own_ends.append((name, row))
        made.append(own_ends)
    return made


def _ends_of(places: np.ndarray, turned: bool) -> dict[str, np.ndarray]:
    """Names of the ends of a view, and the place that is farthest there."""
    if turned:
        return {name: places[(places @ np.array(way)).argmax()] for name, way in TURNED.items()}
    reach = np.abs(places).max(axis=0)
    corners = {name: np.array([*way, 0]) * reach for name, way in CORNERS.items()}
    gaps = [((places - place) ** 2).sum(axis=1).min() ** 0.5 for place in corners.values()]
    if reach[1] > FLAT and max(gaps) <= IN_CORNER:
        return corners
    ways = list(SIDES.items())[: 2 if reach[1] <= FLAT else 4]
    return {name: places[(places @ np.array(way)).argmax()] for name, way in ways}
