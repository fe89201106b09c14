"""A figure whose panel and axes are chosen: described once, for a page and for paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

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
    one_panel,
)


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
