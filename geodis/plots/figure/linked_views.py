"""The same things seen in several spaces side by side: described once, for a page and for paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

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
