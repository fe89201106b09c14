"""Rows to show on maps: even samples and extremes; colours of positions and titles of factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from geodis.base.check import InputError
from geodis.manifold.topology.space_names import UNKNOWN
from geodis.plots.figure.linked_views import spread_order

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER
    from geodis.manifold.topology.topology_of import Topology


# Rows to show as images: evenly spread on a map, with the other factors nearly constant.

# Number of candidate positions on a map, and the radius around each (in halves of the picture)
# within which the row with the least change in the other factors is taken.
TRIED, AROUND = 200, 0.25
CANDIDATES = 8000


def rows_moving_alone(places: Sequence[np.ndarray], usable: np.ndarray) -> list[np.ndarray]:
    """Select, for every view, rows that are spread over it and differ little in the other views.

    Parameters
    ----------
    places : sequence of ndarray of shape (n, 3)
        Positions of all points in each view.
    usable : ndarray of int
        Rows to choose from.

    Returns
    -------
    list of ndarray of int
        An even sample of each view, by priority.

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
    """Compute, for every view, squared distances in the other views from a central point.

    Examples
    --------
    >>> across, up = np.array([[0.0], [1.0], [2.0]]), np.array([[0.0], [3.0], [0.0]])
    >>> [own.tolist() for own in moved_elsewhere([across, up])]
    [[0.0, 9.0, 0.0], [0.0, 1.0, 4.0]]
    """
    # The row that is closest to the centre of all views.
    still = int(np.argmin(sum((own**2).sum(axis=1) for own in places)))
    away = [((own - own[still]) ** 2).sum(axis=1) for own in places]
    return [
        np.sum([other for i, other in enumerate(away) if i != j], axis=0) + 0 * away[j]
        for j in range(len(away))
    ]


def _first_of_each(numbers: np.ndarray) -> np.ndarray:
    """Return the unique numbers in the order of first occurrence."""
    return numbers[np.sort(np.unique(numbers, return_index=True)[1])]


# Maximal distance, in halves of the picture, from a corner to the nearest point of the map, and
# from an extreme to a row that represents it.
IN_CORNER, AT_END = 0.25, 0.25
# Maps of lower height are treated as lines.
FLAT = 0.2
CORNERS = {"top left": (-1, 1), "top right": (1, 1), "bottom left": (-1, -1),
           "bottom right": (1, -1)}  # fmt: skip
SIDES = {"left": (-1, 0, 0), "right": (1, 0, 0), "bottom": (0, -1, 0), "top": (0, 1, 0)}
TURNED = {"x \N{MINUS SIGN}": (-1, 0, 0), "x +": (1, 0, 0), "y \N{MINUS SIGN}": (0, -1, 0),
          "y +": (0, 1, 0), "z \N{MINUS SIGN}": (0, 0, -1), "z +": (0, 0, 1)}  # fmt: skip


def map_ends(
    places: Sequence[np.ndarray], turns: Sequence[bool], usable: np.ndarray
) -> list[list[tuple[str, int]]]:
    """Find the extremes of every view, and the row near each that differs least in other views.

    A line has two ends, a sheet its four corners or else four sides, and a rotating view both
    ends of three axes.

    Parameters
    ----------
    places : sequence of ndarray of shape (n, 3)
        Positions of all points in each view.
    turns : sequence of bool
        Whether each view can be rotated.
    usable : ndarray of int
        Rows to choose from.

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
    """Return the names and positions of the extremes of a view."""
    if turned:
        return {name: places[(places @ np.array(way)).argmax()] for name, way in TURNED.items()}
    reach = np.abs(places).max(axis=0)
    corners = {name: np.array([*way, 0]) * reach for name, way in CORNERS.items()}
    gaps = [((places - place) ** 2).sum(axis=1).min() ** 0.5 for place in corners.values()]
    if reach[1] > FLAT and max(gaps) <= IN_CORNER:
        return corners
    ways = list(SIDES.items())[: 2 if reach[1] <= FLAT else 4]
    return {name: places[(places @ np.array(way)).argmax()] for name, way in ways}


# Colours of positions: nearby positions have similar colours.

# In CIELAB: central lightness, range of lightness, and range of chroma, chosen so that all colours
# are visible on light and dark backgrounds.
LIGHTNESS, LIGHTER, CHROMA = 62.0, 20.0, 62.0
WHITE = np.array([0.95047, 1.0, 1.08883])
XYZ_TO_RGB = np.array(
    [
        [3.2404542, -1.5371385, -0.4985314],
        [-0.9692660, 1.8760108, 0.0415560],
        [0.0556434, -0.2040259, 1.0572252],
    ]
)


def place_colors(places: np.ndarray) -> np.ndarray:
    """Map positions to RGB: hue from the first two coordinates, lightness from the third.

    Parameters
    ----------
    places : ndarray of shape (s, r)
        From -1 to 1; only the first three coordinates are used.

    Returns
    -------
    ndarray of shape (s, 3)
        In [0, 1].

    Examples
    --------
    >>> place_colors(np.array([[0.0, 0.0, 0.0]])).round(2).tolist()
    [[0.59, 0.59, 0.59]]
    """
    x, y, z = np.zeros((3, len(places)))
    columns = [x, y, z]
    for own, given in zip(columns, np.clip(np.nan_to_num(places.T[:3]), -1, 1), strict=False):
        own += given
    lightness = (LIGHTNESS + LIGHTER * z + 16) / 116
    lab = np.stack([lightness + CHROMA * x / 500, lightness, lightness - CHROMA * y / 200], axis=1)
    xyz = WHITE * np.where(lab > 6 / 29, lab**3, 3 * (6 / 29) ** 2 * (lab - 4 / 29))
    linear = np.clip(xyz @ XYZ_TO_RGB.T, 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def hex_colors(rgb: np.ndarray) -> list[str]:
    """Convert RGB values in [0, 1] to "#rrggbb".

    Examples
    --------
    >>> hex_colors(np.array([[1.0, 0.5, 0.0]]))
    ['#ff8000']
    """
    codes = np.rint(255 * np.clip(np.asarray(rgb, float)[:, :3], 0, 1)).astype(int)
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in codes.tolist()]


# Titles of factors.

# Name of a space -> its description.
WORDS = {
    "interval": "an open line",
    "circle": "a circle",
    "sheet": "a sheet with a boundary",
    "cap": "a cap of a sphere",
    "saddle": "a saddle with a boundary",
    "cylinder": "a cylinder",
    "Moebius band": "a Moebius band",
    "sphere": "a sphere",
    "torus": "a torus with two periodic directions",
    "Klein bottle": "a Klein bottle",
    "projective plane": "a projective plane",
    "block": "a block with a boundary",
    "SO(3)": "all rotations of an object, SO(3)",
    "S^3": "a sphere of dimension 3",
    "3-torus": "a torus with three periodic directions",
    "S^2 x S^1": "a sphere times a circle",
}

ROUND = ("circle", "sphere", "S^3")  # spaces whose titles state the radius


def factor_titles(est: GeoManCER) -> tuple[str, ...]:
    """Return a title for every factor, such as "Factor 0: a sphere of radius 1.0"."""
    return tuple(
        f"Factor {j}: {words or _by_dimension(int(dim))}"
        for j, (words, dim) in enumerate(zip(words_of(est), est.factor_dims_, strict=True))
    )


def words_of(est: GeoManCER) -> tuple[str, ...]:
    """Describe the space of every factor, such as "a sphere of radius 1.0"; empty if unknown."""
    return tuple(map(_words, est.topology_))


def _by_dimension(dim: int) -> str:
    return f"a {dim}-dimensional space of unknown topology"


def _words(topology: Topology) -> str:
    name, radius, size = topology.name, topology.radius, topology.size
    if name == UNKNOWN:
        return ""
    words = WORDS.get(name, name)
    if name == "circle" and size is not None:
        radius = size / (2 * np.pi)
    if radius is not None and name in ROUND:
        return f"{words} of radius {_measure(radius)}"
    if name == "interval" and size is not None:
        return f"{words} of length {_measure(size)}"
    return words


def _measure(value: float) -> str:
    """Format a length with two digits, or one decimal below 100."""
    return f"{value:.1f}" if 0.95 <= value < 100 else f"{value:.2g}"


def check_titles(names: object, count: int) -> tuple[str, ...]:
    """Check that there is one title per factor."""
    if isinstance(names, str) or not hasattr(names, "__len__"):
        raise InputError(f"names must be a sequence of {count} strings; got {names!r}.")
    titles = tuple(str(name) for name in names)  # type: ignore[attr-defined]
    if len(titles) != count:
        raise InputError(f"names must have {count} entries, one per factor; got {len(titles)}.")
    return titles
