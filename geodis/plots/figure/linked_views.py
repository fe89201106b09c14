"""The same things seen in several spaces side by side: described once, for a page and for paper."""

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

OutlineLook = Literal["edge", "guide", "rim"]


@dataclass(frozen=True, eq=False)
class Outline:
    """A line through the space of a view.

    Attributes
    ----------
    path : ndarray of shape (p, 3)
    look : {"edge", "guide", "rim"}
        What belongs to the space, what only helps to see it, or what stays as it is however the
        view is turned.
    heads : int
        Arrow heads in the middle: edges with as many are the same edge.
    """

    path: np.ndarray
    look: OutlineLook = "guide"
    heads: int = 0


@dataclass(frozen=True, eq=False)
class View:
    """One space with the things in it.

    Attributes
    ----------
    title, note : str
        What it is, and how to read it.
    places : ndarray of shape (s, 3)
        Of every thing, across, up and towards the eye, from -1 to 1.
    outlines : sequence of Outline
    letters : sequence of (str, ndarray of shape (3,))
        Written at places; the same letter twice is the same place.
    turns : bool
        Whether a reader turns it; otherwise it is flat.
    hides : bool
        A surface around its inside: what is behind is faint, and on paper stands beside.
    with_image : ndarray of int, optional
        The things that are shown as images, as many as fit, the first first; an even sample by
        default.
    ends : sequence of (str, int)
        Where the view ends, and the thing that lies there: shown as an image in any case, and
        listed in a table beside the views.
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
        """The things that are shown as images, those at the ends before all others."""
        if self.with_image is None:
            return None
        ends = np.array([number for _, number in self.ends], dtype=int)
        every = np.concatenate([ends, self.with_image])
        return every[np.sort(np.unique(every, return_index=True)[1])]

    @property
    def sides(self) -> list[np.ndarray]:
        """Rotations (3, 3), as of `camera`, from which a still picture shows it."""
        eye = camera() if self.turns else np.eye(3)
        if not self.hides:
            return [eye]
        return [eye, eye @ np.diag([-1.0, 1.0, -1.0])]  # from behind: turned about the upright


@dataclass(frozen=True, eq=False)
class SpotColors:
    """What the things are coloured by.

    Attributes
    ----------
    name : str
    colors : sequence of sequences of str
        A colour for every thing, "#rrggbb": once for all views, or for every view.
    legend : sequence of (str, str)
        What some of the colours mean.
    """

    name: str
    colors: Sequence[Sequence[str]]
    legend: Sequence[tuple[str, str]] = ()

    def of_view(self, number: int) -> Sequence[str]:
        """The colours in one of the views.

        Examples
        --------
        >>> SpotColors("all", [["#000000"]]).of_view(3)
        ['#000000']
        """
        return self.colors[number if len(self.colors) > 1 else 0]


@dataclass(frozen=True, eq=False)
class LinkedViews:
    """Views of the same s things; what is chosen in one is seen in the others.

    Attributes
    ----------
    name, about
        As of a `Figure`.
    views : sequence of View
    colorings : sequence of SpotColors
        The first is shown first.
    images : ndarray of uint8, shape (s, h, w, c), optional
        Of every thing.
    told : sequence of str
        What there is to say of every thing, in as many words as it takes.
    n_on_paper : int
        On paper, so many of the colourings are drawn, a row each.
    shown_points : (int, int)
        How many of how many are shown.
    rows : ndarray of int, optional
        The row of every thing, by which it is told from elsewhere on a page.
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
    """Rotation (3, 3) whose transpose takes places to right, up and towards the eye, in degrees.

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
    """Numbers of places, each as far as can be from all before it: its beginning is an even sample.

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


# A figure whose panel and axes are chosen: described once, for a page and for paper.


@dataclass(frozen=True, eq=False)
class Choices:
    """A figure of which the reader of a page chooses one panel, and the axes across and up.

    Attributes
    ----------
    panels : sequence of Panel
        One a choice, named by its title. Their marks stand at `Picked` places.
    axes : sequence of Axis
        What can be across and up, named by their titles.
    columns : mapping of str to ndarray of shape (a, n)
        Where the marks stand along every axis, so that no panel needs them of its own.
    asked : str
        What the titles of the panels are, said before their list.
    views : mapping of str to (int, int)
        Pairs of axes that are worth a look, by name.
    x, y : int
        Axes at first, and on paper.
    size : (float, float)
        On paper, in inches.
    height : int
        On a page, in pixels.

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
        """What is seen of one choice; by default of the first."""
        x, y = self.x if x is None else x, self.y if y is None else y
        chosen = self.panels[panel]
        marks = [self._seen(mark, x, y) for mark in chosen.marks]
        seen = replace(chosen, marks=marks, x=self.axes[x], y=self.axes[y])
        return one_panel(self.name, self.about, seen, size=self.size, height=self.height)

    def _seen(self, mark: Mark, x: int, y: int) -> Mark:
        """A mark with everything filled in that was left to choose."""
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
    """Ends of lines of shape (s, 2, 2), from their centres and halves of shape (s, 2).

    Examples
    --------
    >>> line_ends(np.array([[1.0, 1.0]]), np.array([[0.5, 0.0]])).tolist()
    [[[0.5, 1.0], [1.5, 1.0]]]
    """
    return np.stack([centres - halves, centres + halves], axis=1)


# Linked views -> plain data, which the script beside this file draws.

# So many things are tried as images on a view; those that fit are shown.
TRIED_IMAGES = 240
LONGEST_TOLD, LONGEST_VIEW_TITLE = 300, 120


def views_data(figure: LinkedViews) -> dict[str, Any]:
    """Everything that the script needs; texts are plain, for it sets them as text.

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
