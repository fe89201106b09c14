"""Descriptions of figures with interaction: linked views of points, and choices of axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from geodis.plots.figure.marks import (
    Axis,
    Dots,
    Figure,
    Mark,
    Panel,
    Picked,
    PickedEnds,
    PickedLabel,
    Segments,
    clip,
    one_panel,
    short,
)
from geodis.plots.figure.sprite_sheet import sprite_sheet

OutlineLook = Literal["edge", "guide", "silhouette"]


@dataclass(frozen=True, eq=False)
class Outline:
    """A line in a view.

    Attributes
    ----------
    path : ndarray of shape (p, 3)
    look : {"edge", "guide", "silhouette"}
        Part of the space, a guide to the eye, or an outline that does not rotate with the view.
    heads : int
        Number of arrow heads in the middle; edges with equal numbers are identified.
    """

    path: np.ndarray
    look: OutlineLook = "guide"
    heads: int = 0


@dataclass(frozen=True, eq=False)
class View:
    """One space and the points in it.

    Attributes
    ----------
    title, note : str
        What the view shows, and how to read it.
    places : ndarray of shape (s, 3)
        Positions of the points (right, up, towards the viewer), from -1 to 1.
    outlines : sequence of Outline
    letters : sequence of (str, ndarray of shape (3,))
        Letters at positions; positions with the same letter are the same point.
    turns : bool
        Whether the view can be rotated; otherwise it is flat.
    hides : bool
        Whether the points lie on a closed surface: its back is faint on a page, and drawn
        separately by matplotlib.
    with_image : ndarray of int, optional
        Points to show as images, by priority, as many as fit; an even sample by default.
    ends : sequence of (str, int)
        Names of the extremes of the view and the points there. These are always shown as images,
        and listed in a table.
    """

    title: str
    note: str
    places: np.ndarray
    outlines: Sequence[Outline] = ()
    letters: Sequence[tuple[str, np.ndarray]] = ()
    turns: bool = False
    hides: bool = False
    with_image: np.ndarray | None = None
    ends: Sequence[tuple[str, int]] = ()

    @property
    def first_images(self) -> np.ndarray | None:
        """Indices of the points to show as images, those at the extremes first."""
        if self.with_image is None:
            return None
        ends = np.array([number for _, number in self.ends], dtype=int)
        every = np.concatenate([ends, self.with_image])
        return every[np.sort(np.unique(every, return_index=True)[1])]

    @property
    def sides(self) -> list[np.ndarray]:
        """Rotations of shape (3, 3), as from `camera`, for a static picture of the view."""
        eye = camera() if self.turns else np.eye(3)
        if not self.hides:
            return [eye]
        return [eye, eye @ np.diag([-1.0, 1.0, -1.0])]  # rotated about the vertical axis


@dataclass(frozen=True, eq=False)
class SpotColors:
    """A coloring of the points.

    Attributes
    ----------
    name : str
    colors : sequence of sequences of str
        A colour "#rrggbb" per point: one list for all views, or one per view.
    legend : sequence of (str, str)
        Texts and colours.
    """

    name: str
    colors: Sequence[Sequence[str]]
    legend: Sequence[tuple[str, str]] = ()

    def of_view(self, number: int) -> Sequence[str]:
        """Return the colours in one of the views.

        Examples
        --------
        >>> SpotColors("all", [["#000000"]]).of_view(3)
        ['#000000']
        """
        return self.colors[number if len(self.colors) > 1 else 0]


@dataclass(frozen=True, eq=False)
class LinkedViews:
    """Linked views of the same s points: a selection in one is shown in all.

    Attributes
    ----------
    name, about
        As in `Figure`.
    views : sequence of View
    colorings : sequence of SpotColors
        The first is selected initially.
    images : ndarray of uint8, shape (s, h, w, c), optional
        One per point.
    told : sequence of str
        Tooltip of each point.
    n_on_paper : int
        Number of colorings that matplotlib draws, a row each.
    shown_points : (int, int)
        Number of points shown, and of all points.
    rows : ndarray of int, optional
        Row number of each point, which links it to other parts of a page.
    """

    name: str
    about: str
    views: Sequence[View]
    colorings: Sequence[SpotColors]
    images: np.ndarray | None = None
    told: Sequence[str] = ()
    n_on_paper: int = 1
    shown_points: tuple[int, int] = (0, 0)
    rows: np.ndarray | None = None


def camera(around: float = 35.0, above: float = 22.0) -> np.ndarray:
    """Return the rotation (3, 3) of a camera at two angles in degrees.

    Its transpose maps positions to (right, up, towards the viewer).

    Examples
    --------
    >>> camera(-90, 0).round(9) + 0.0
    array([[ 1.,  0.,  0.],
           [ 0.,  0., -1.],
           [ 0.,  1.,  0.]])
    """
    turn, lift = np.radians(around), np.radians(above)
    eye = np.array([np.cos(lift) * np.cos(turn), np.cos(lift) * np.sin(turn), np.sin(lift)])
    right = np.array([-np.sin(turn), np.cos(turn), 0.0])
    return np.column_stack([right, np.cross(eye, right), eye])


def spread_order(places: np.ndarray, most: int) -> np.ndarray:
    """Order positions by farthest-point sampling, so that every prefix is an even sample.

    Parameters
    ----------
    places : ndarray of shape (s, r)
    most : int

    Returns
    -------
    ndarray of int, shape (min(s, most),)

    Examples
    --------
    >>> spread_order(np.array([[0.0], [0.1], [1.0], [0.5]]), 3).tolist()
    [0, 2, 3]
    """
    order: list[int] = []
    far = np.full(len(places), np.inf)
    chosen = 0
    for _ in range(min(len(places), most)):
        order.append(chosen)
        far = np.minimum(far, ((places - places[chosen]) ** 2).sum(axis=1))
        far[chosen] = -1.0
        chosen = int(np.argmax(far))
    return np.array(order, dtype=int)


# Figures whose panel and axes are chosen by the reader.


@dataclass(frozen=True, eq=False)
class Choices:
    """A figure in which the reader of a page chooses a panel and both axes.

    Attributes
    ----------
    panels : sequence of Panel
        One per choice, named by its title. Their marks have `Picked` positions.
    axes : sequence of Axis
        The axes to choose from, named by their titles.
    columns : mapping of str to ndarray of shape (a, n)
        Positions of the marks along every axis, shared by all panels.
    asked : str
        Label of the list of panels.
    views : mapping of str to (int, int)
        Suggested pairs of axes, by name.
    x, y : int
        Axes selected initially, and drawn by matplotlib.
    size : (float, float)
        In inches, outside pages.
    height : int
        In pixels, on a page.

    Examples
    --------
    >>> dots = Dots(Picked("points", "x"), Picked("points", "y"))
    >>> axes = [Axis("a"), Axis("b")]
    >>> choices = Choices("p", "points", [Panel([dots])], axes, {"points": np.eye(2)}, y=1)
    >>> seen = choices.figure().panels[0][0]
    >>> seen.y.title, seen.marks[0].x
    ('b', array([1., 0.]))
    """

    name: str
    about: str
    panels: Sequence[Panel]
    axes: Sequence[Axis]
    columns: Mapping[str, np.ndarray]
    asked: str = "shown"
    views: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    x: int = 0
    y: int = 0
    size: tuple[float, float] = (6.4, 4.4)
    height: int = 420

    def figure(self, panel: int = 0, x: int | None = None, y: int | None = None) -> Figure:
        """Return the figure of one choice, by default the initial one."""
        x, y = self.x if x is None else x, self.y if y is None else y
        chosen = self.panels[panel]
        marks = [self._seen(mark, x, y) for mark in chosen.marks]
        seen = replace(chosen, marks=marks, x=self.axes[x], y=self.axes[y])
        return one_panel(self.name, self.about, seen, size=self.size, height=self.height)

    def _seen(self, mark: Mark, x: int, y: int) -> Mark:
        """Fill in the positions, ends and label of a mark for the chosen axes."""
        if isinstance(mark, Segments) and isinstance(mark.ends, PickedEnds):
            return replace(mark, ends=self._ends(mark.ends, x, y))
        if not isinstance(mark, Dots):
            return mark
        at = {"x": x, "y": y}
        for name in at:
            if isinstance(place := getattr(mark, name), Picked):
                filled = self.columns[place.columns][at[place.along]]
                filled = filled if place.rows is None else filled[place.rows]
                mark = replace(mark, **{name: filled})
        if isinstance(mark.label, PickedLabel):
            mark = replace(mark, label=mark.label.text + mark.label.more.get((x, y), ""))
        return mark

    def _ends(self, ends: PickedEnds, x: int, y: int) -> np.ndarray:
        points = self.columns[ends.columns][[x, y]].T
        half = ends.half * np.ptp(points, axis=0).max()
        return line_ends(points[ends.rows], half * self.columns[ends.directions][[x, y]].T)


def line_ends(centres: np.ndarray, halves: np.ndarray) -> np.ndarray:
    """Compute the ends (s, 2, 2) of lines from their centres and half vectors (s, 2).

    Examples
    --------
    >>> line_ends(np.array([[1.0, 1.0]]), np.array([[0.5, 0.0]])).tolist()
    [[[0.5, 1.0], [1.5, 1.0]]]
    """
    return np.stack([centres - halves, centres + halves], axis=1)


# Linked views as plain data for the script of a page.

# Candidates for images on a view; those that fit are shown.
TRIED_IMAGES = 240
LONGEST_TOLD, LONGEST_VIEW_TITLE = 300, 120


def views_data(figure: LinkedViews) -> dict[str, Any]:
    """Return everything that the script needs; it inserts texts as text, so they are not escaped.

    Examples
    --------
    >>> from geodis.plots.figure.linked_views import SpotColors
    >>> view = View("<b>", "a note", np.zeros((1, 3)))
    >>> data = views_data(LinkedViews("v", "about", [view], [SpotColors("all", [["#fff"]])]))
    >>> data["views"][0]["title"], data["sheet"]
    ('<b>', None)
    """
    sheet = None if figure.images is None else sprite_sheet(figure.images)._asdict()
    return {
        "views": [_view(view, with_images=sheet is not None) for view in figure.views],
        "colorings": [
            {
                "name": clip(one.name),
                "colors": [list(colors) for colors in one.colors],
                "legend": [[clip(text), color] for text, color in one.legend],
            }
            for one in figure.colorings
        ],
        "sheet": sheet,
        "told": [clip(text, LONGEST_TOLD) for text in figure.told],
        "shown": list(figure.shown_points),
        "rows": [] if figure.rows is None else figure.rows.tolist(),
    }


def _view(view: View, with_images: bool) -> dict[str, Any]:
    eye = camera().T if view.turns else np.eye(3)
    return {
        "title": clip(view.title, LONGEST_VIEW_TITLE),
        "note": view.note,
        "places": short(view.places, 3),
        "order": _order(view).tolist() if with_images else [],
        "outlines": [
            {"path": short(one.path, 3), "look": one.look, "heads": one.heads}
            for one in view.outlines
        ],
        "letters": [[text, short(place, 3)] for text, place in view.letters],
        "turns": view.turns,
        "hides": view.hides,
        "eye": short(eye, 5),
        "ends": [[text, int(number)] for text, number in view.ends],
    }


def _order(view: View) -> np.ndarray:
    if (first := view.first_images) is not None:
        return first
    return spread_order(view.places, TRIED_IMAGES)
