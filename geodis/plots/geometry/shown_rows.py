"""Where a map ends, and the rows that lie there: the first that one wants to see of it."""

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


# Which rows to show as images on a map: places spread evenly, the other factors nearly still.

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


# Places -> colours that say where they are: near places have nearly the same.

# Of the colours, in CIELAB: lightness in the middle and how far it goes, and how far colours go
# from grey. Nothing is so dark or so light that it could not be seen on either ground.
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
    """Red, green and blue of places: hues around the first two directions, light along the third.

    Parameters
    ----------
    places : ndarray of shape (s, r)
        From -1 to 1; r of 1 to 3, more are not seen.

    Returns
    -------
    ndarray of shape (s, 3)
        From 0 to 1.

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
    """As pages and matplotlib read them.

    Examples
    --------
    >>> hex_colors(np.array([[1.0, 0.5, 0.0]]))
    ['#ff8000']
    """
    codes = np.rint(255 * np.clip(np.asarray(rgb, float)[:, :3], 0, 1)).astype(int)
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in codes.tolist()]


# What a factor is called above its picture, in plain words.

# Name of a space -> what to call one of the kind.
WORDS = {
    "interval": "an open line",
    "circle": "a circle",
    "sheet": "a sheet with an edge",
    "cap": "a cap, curved like a part of a ball",
    "saddle": "a saddle with an edge",
    "cylinder": "a cylinder",
    "Moebius band": "a Moebius band",
    "sphere": "a sphere",
    "torus": "a torus, which goes around in two ways",
    "Klein bottle": "a Klein bottle",
    "projective plane": "a projective plane",
    "block": "a block with a surface",
    "SO(3)": "all rotations of an object, SO(3)",
    "S^3": "a sphere of dimension 3",
    "3-torus": "a torus, which goes around in three ways",
    "S^2 x S^1": "a sphere times a circle",
}

ROUND = ("circle", "sphere", "S^3")  # spaces whose radius is part of the title


def factor_titles(est: GeoManCER) -> tuple[str, ...]:
    """What every factor is called, such as "Factor 0: a sphere of radius 1.0"."""
    return tuple(
        f"Factor {j}: {words or _by_dimension(int(dim))}"
        for j, (words, dim) in enumerate(zip(words_of(est), est.factor_dims_, strict=True))
    )


def words_of(est: GeoManCER) -> tuple[str, ...]:
    """What kind of space every factor is, such as "a sphere of radius 1.0"; empty if unknown."""
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
    """Two digits, a decimal at least where it is small."""
    return f"{value:.1f}" if 0.95 <= value < 100 else f"{value:.2g}"


def check_titles(names: object, count: int) -> tuple[str, ...]:
    """Titles that were given, one for every factor."""
    if isinstance(names, str) or not hasattr(names, "__len__"):
        raise InputError(f"names must be a sequence of {count} texts; got {names!r}.")
    titles = tuple(str(name) for name in names)  # type: ignore[attr-defined]
    if len(titles) != count:
        raise InputError(f"names must be {count}, one for every factor; got {len(titles)}.")
    return titles
