"""Points in two directions, coloured by what is known of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from geodis.base.check import InputError, check_points
from geodis.plots.figure.labels import clip
from geodis.plots.figure.marks import (
    FACTORS,
    Axis,
    Dots,
    Figure,
    Numbers,
    Panel,
    Picked,
    factor_color,
)
from geodis.plots.figure.static import draw_figure

if TYPE_CHECKING:
    from geodis.data.factors import Factors

MAX_POINTS = 2000
# Factors with more values than this are coloured by a scale: a legend could not be read.
MAX_LABELS = len(FACTORS)
HIDDEN = Axis(ticks=False)
ALPHA = 0.6  # points lie on one another
# Rows -> where their points stand across and up.
Places: TypeAlias = "Callable[[np.ndarray], tuple[Numbers | Picked, Numbers | Picked]]"


@dataclass(frozen=True, eq=False)
class Coloring:
    """What points are coloured by.

    Attributes
    ----------
    name : str
    values : ndarray of shape (n,)
    labels : tuple of str
        What the codes 0, 1, ... stand for that `values` are, where each has a colour of its own.
    names : tuple of str
        The same where there are so many that they share a scale.
    """

    name: str
    values: np.ndarray
    labels: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def of_rows(self, rows: np.ndarray) -> Coloring:
        """The same of some of the points."""
        return Coloring(self.name, self.values[rows], self.labels, self.names)


def factor_colorings(factors: Factors) -> list[Coloring]:
    """How points are coloured by each factor: few values have a colour each, others a scale.

    Examples
    --------
    >>> from geodis import Factors
    >>> one, = factor_colorings(Factors(np.array([[0.5], [1.0], [0.5]]), ("size",)))
    >>> one.values.tolist(), one.labels
    ([0, 1, 0], ('0.5', '1'))
    """
    columns = zip(factors.names, factors.values.T, strict=True)
    return [_coloring(name, values, factors.categories.get(name)) for name, values in columns]


def _coloring(name: str, values: np.ndarray, labels: Sequence[str] | None) -> Coloring:
    if labels is not None and len(labels) <= MAX_LABELS:
        return Coloring(name, values, tuple(labels))
    few = np.unique(values)
    if len(few) <= MAX_LABELS:
        words = [f"{value:g}" for value in few]
        if labels is not None:
            words = [str(labels[int(code)]) for code in few]
        return Coloring(name, np.searchsorted(few, values), tuple(words))
    return Coloring(name, values, (), tuple(labels or ()))


def colored_dots(places: Places, coloring: Coloring) -> list[Dots]:
    """Marks for points, on paper and on a page: by a scale, or a mark for every label.

    Examples
    --------
    >>> flat = np.eye(3)
    >>> dots = colored_dots(lambda rows: (flat[rows, 0], flat[rows, 1]), Coloring("x", flat[0]))
    >>> dots[0].values.tolist(), dots[0].hover
    ([1.0, 0.0, 0.0], 'x: {value}')
    """
    name = clip(coloring.name).replace("{", "{{").replace("}", "}}")
    look: dict[str, Any] = {"size": "fine", "alpha": ALPHA}
    if coloring.labels:
        groups = [np.flatnonzero(coloring.values == code) for code in range(len(coloring.labels))]
        look["hover"] = f"{name}: {{label}}"
        return [
            Dots(*places(rows), label, factor_color(code), **look)
            for code, (rows, label) in enumerate(zip(groups, coloring.labels, strict=True))
        ]
    told: Any = coloring.values
    if coloring.names:
        told = [coloring.names[int(code)] for code in coloring.values]
    look |= {"hover": f"{name}: {{value}}", "told": {"value": told}}
    rows = np.arange(len(coloring.values))
    return [Dots(*places(rows), values=coloring.values, names=coloring.names, **look)]


def plot_points_by_factor(
    points: Any,
    factors: Any,
    view: np.ndarray | None = None,
    axis: Any = None,
    *,
    figure: Any = None,
) -> Any:
    """Draw the points in two directions, a panel for every factor and coloured by it.

    Parameters
    ----------
    points : array-like of shape (n, d)
    factors : Factors, or array-like of shape (n, f)
    view : ndarray of shape (2, d), optional
        What to project on; the first two principal axes by default.
    axis : matplotlib axis, optional
        For one factor only.
    figure : matplotlib Figure or SubFigure, optional
        What the panels are drawn on; one of their own by default.

    Returns
    -------
    axis
        The first panel.

    Examples
    --------
    >>> axis = plot_points_by_factor(np.eye(3), np.arange(3))
    >>> axis.get_title(loc="left")
    'factor 0'
    """
    from geodis.data.factors import as_factors
    from geodis.manifold.preparation.principal import principal_components

    points = check_points(points)
    known = as_factors(factors).refuse_missing()
    if len(known) != len(points):
        raise InputError(
            f"points and factors must have as many rows; got {len(points)} and {len(known)}."
        )
    view = principal_components(points, random_state=0).axes[:2] if view is None else view
    flat = (points - points.mean(axis=0)) @ np.asarray(view, dtype=float).T
    flat = np.column_stack([flat, np.zeros(len(flat))])[:, :2]  # one column is drawn on a line
    rows = np.linspace(0, len(flat) - 1, min(len(flat), MAX_POINTS)).astype(int)
    panels = [_panel(flat[rows], coloring.of_rows(rows)) for coloring in factor_colorings(known)]
    return draw_figure(_in_rows(panels), axis, figure)


def _panel(flat: np.ndarray, coloring: Coloring) -> Panel:
    return Panel(
        colored_dots(lambda rows: (flat[rows, 0], flat[rows, 1]), coloring),
        HIDDEN,
        HIDDEN,
        title=coloring.name,
        legend="beside" if coloring.labels else "none",
        equal=True,
        frame="none",
    )


def _in_rows(panels: Sequence[Panel]) -> Figure:
    """Up to three panels a row."""
    wide = min(len(panels), 3)
    filled = [*panels, *[None] * (-len(panels) % wide)]
    rows = [filled[start : start + wide] for start in range(0, len(filled), wide)]
    return Figure("points", "points by factor", rows, size=(3.9 * wide, 3.3 * len(rows)))
