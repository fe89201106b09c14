"""Scatter plots of points, coloured by factors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from geodis.base.check import InputError, check_points, check_random_state
from geodis.base.text import counted
from geodis.plots.figure.linked_views import Choices
from geodis.plots.figure.marks import (
    FACTORS,
    Axis,
    Dots,
    Figure,
    Mark,
    Numbers,
    Panel,
    Picked,
    PickedEnds,
    Segments,
    clip,
    factor_color,
)
from geodis.plots.figure.matplotlib_figure import draw_figure
from geodis.plots.geometry.directions import (
    HALF_LENGTH,
    factor_label,
    factor_slices,
    leading_directions,
)

if TYPE_CHECKING:
    from geodis.data.factors import Factors
    from geodis.manifold.geomancer import GeoManCER


MAX_POINTS = 2000
# Factors with more values than this are coloured by a scale instead of a legend.
MAX_LABELS = len(FACTORS)
HIDDEN = Axis(ticks=False)
ALPHA = 0.6  # points overlap
# Rows -> horizontal and vertical positions of their points.
Places: TypeAlias = "Callable[[np.ndarray], tuple[Numbers | Picked, Numbers | Picked]]"


@dataclass(frozen=True, eq=False)
class Coloring:
    """A coloring of points.

    Attributes
    ----------
    name : str
    values : ndarray of shape (n,)
    labels : tuple of str
        Labels of the codes 0, 1, ... in `values`, if each has its own colour.
    names : tuple of str
        Labels of the codes, if there are so many that they share a colour scale.
    """

    name: str
    values: np.ndarray
    labels: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def of_rows(self, rows: np.ndarray) -> Coloring:
        """Select some of the points."""
        return Coloring(self.name, self.values[rows], self.labels, self.names)


def factor_colorings(factors: Factors) -> list[Coloring]:
    """Make a coloring for each factor: a colour per value if there are few, otherwise a scale.

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
    """Make the marks of points: one with a colour scale, or one per label.

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
    hover_values: Any = coloring.values
    if coloring.names:
        hover_values = [coloring.names[int(code)] for code in coloring.values]
    look |= {"hover": f"{name}: {{value}}", "told": {"value": hover_values}}
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
    """Draw a two-dimensional projection of the points for every factor, coloured by it.

    Parameters
    ----------
    points : array-like of shape (n, d)
    factors : Factors, or array-like of shape (n, f)
    view : ndarray of shape (2, d), optional
        Projection; the first two principal components by default.
    axis : matplotlib axis, optional
        Where to draw a single factor.
    figure : matplotlib Figure or SubFigure, optional
        Where to draw the panels; a new figure by default.

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
    from geodis.manifold.local.principal import principal_components

    points = check_points(points)
    known = as_factors(factors).refuse_missing()
    if len(known) != len(points):
        raise InputError(
            f"points and factors must have as many rows; got {len(points)} and {len(known)}."
        )
    view = principal_components(points, random_state=0).axes[:2] if view is None else view
    flat = (points - points.mean(axis=0)) @ np.asarray(view, dtype=float).T
    flat = np.column_stack([flat, np.zeros(len(flat))])[:, :2]  # a single column is drawn on a line
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
    """Arrange panels in rows of up to three."""
    wide = min(len(panels), 3)
    filled = [*panels, *[None] * (-len(panels) % wide)]
    rows = [filled[start : start + wide] for start in range(0, len(filled), wide)]
    return Figure("points", "points by factor", rows, size=(3.9 * wide, 3.3 * len(rows)))


# Points and directions of factors, along axes that the reader chooses.

# Maximal numbers of points and lines, which keep a page small and fast.
SHOWN_POINTS, SHOWN_LINES = 1200, 450
COMPONENTS, COLUMNS = 6, 8
POINTS, ROW = "points", "row"


class NamedAxis(NamedTuple):
    """A named projection direction."""

    name: str
    direction: np.ndarray


def point_cloud(
    points: np.ndarray,
    factors: Factors | None = None,
    est: GeoManCER | None = None,
    numbers: np.ndarray | None = None,
) -> Choices:
    """Describe the points along chosen axes, coloured by a factor, with directions of factors.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    factors : Factors, optional
        Colorings; without factors, the columns of the points are used.
    est : GeoManCER, optional
        Fitted to the points.
    numbers : ndarray of int of shape (n,), optional
        Row numbers that link the points to other figures of a page.

    Examples
    --------
    >>> cloud = point_cloud(np.random.default_rng(0).normal(size=(50, 2)))
    >>> cloud.about, [axis.title for axis in cloud.axes][2:]
    ('50 of 50 points', ['latent 0', 'latent 1'])
    """
    n = len(points)
    rows = np.sort(check_random_state(0).choice(n, min(n, SHOWN_POINTS), replace=False))
    components = _components(points)
    axes = [*components, *_factor_axes(est), *_columns(points.shape[1])]
    basis = np.stack([axis.direction for axis in axes])  # (a, d)
    line_rows = _rows_with_lines(est, rows)
    called = None if numbers is None else numbers[rows]
    lines = _lines(est, np.searchsorted(rows, line_rows))
    colorings = [one.of_rows(rows) for one in _colorings(points, factors, est)]
    views = _views(est, len(components), axes)
    x, y = list(views.values())[1 if len(views) > 2 else 0]  # start with the view of one factor
    return Choices(
        "cloud",
        f"{len(rows):,} of {counted(n, 'point')}",
        [_cloud_panel(coloring, lines, called) for coloring in colorings],
        [Axis(axis.name) for axis in axes],
        {
            POINTS: basis @ (points - points.mean(axis=0))[rows].T,
            **_directions(est, line_rows, basis),
        },
        asked="coloured by",
        views=views,
        x=x,
        y=y,
        height=520,
    )


def _cloud_panel(coloring: Coloring, lines: Sequence[Segments], called: np.ndarray | None) -> Panel:
    n = len(coloring.values)

    def places(rows: np.ndarray) -> tuple[Picked, Picked]:
        some = rows if len(rows) < n else None
        return Picked(POINTS, "x", some), Picked(POINTS, "y", some)

    dots = colored_dots(places, coloring)
    if called is not None:
        dots = [_with_rows(mark, called) for mark in dots]
    marks: list[Mark] = [*dots, *lines]
    return Panel(marks, title=coloring.name, equal=True, legend="beside")


def _with_rows(mark: Dots, called: np.ndarray) -> Dots:
    """Add row numbers, by which a page highlights the same rows in all figures."""
    some = mark.x.rows if isinstance(mark.x, Picked) else None
    own = called if some is None else called[some]
    return replace(mark, told={**mark.told, ROW: [str(number) for number in own]})


def _components(points: np.ndarray) -> list[NamedAxis]:
    from geodis.manifold.local.principal import principal_components

    count = min(COMPONENTS, *points.shape)
    spectrum = principal_components(points, count, random_state=0)
    return [
        NamedAxis(f"principal component {i + 1} ({100 * part:.0f} %)", spectrum.axes[i])
        for i, part in enumerate(spectrum.explained[:COMPONENTS])
    ]


def _columns(d: int) -> list[NamedAxis]:
    return [NamedAxis(f"latent {j}", row) for j, row in enumerate(np.eye(d)[:COLUMNS])]


def _factor_axes(est: GeoManCER | None) -> list[NamedAxis]:
    if est is None:
        return []
    return [
        NamedAxis(f"factor {j}, direction {i + 1}", direction)
        for j in range(est.n_factors_)
        for i, direction in enumerate(leading_directions(est, j)[0])
    ]


def _rows_with_lines(est: GeoManCER | None, rows: np.ndarray) -> np.ndarray:
    """Select some of the rows that have directions."""
    if est is None:
        return rows[:0]
    usable = rows[np.isfinite(est.axes_[rows]).all(axis=(1, 2))]
    return usable[:: max(1, -(-len(usable) * est.dim_ // SHOWN_LINES))]


def _lines(est: GeoManCER | None, line_points: np.ndarray) -> list[Segments]:
    """Make the lines of every factor at some of the points, given by index."""
    if est is None:
        return []

    lines = []
    for j, own in enumerate(factor_slices(est)):
        rows = np.repeat(line_points, own.stop - own.start)
        ends = PickedEnds(POINTS, f"factor {j}", rows, HALF_LENGTH)
        lines.append(Segments(ends, np.ones(len(rows)), factor_label(j, own), factor_color(j)))
    return lines


def _directions(
    est: GeoManCER | None, rows: np.ndarray, basis: np.ndarray
) -> dict[str, np.ndarray]:
    """Project the axes of every factor at these points on all chosen directions."""
    slices = [] if est is None else factor_slices(est)
    return {
        f"factor {j}": basis @ est.axes_[rows, own].reshape(-1, basis.shape[1]).T
        for j, own in enumerate(slices)
        if est is not None
    }


def _views(
    est: GeoManCER | None, n_components: int, axes: Sequence[NamedAxis]
) -> dict[str, tuple[int, int]]:
    """Suggest pairs of axes, by name."""
    views = {"principal components": (0, min(1, n_components - 1))}
    for j in range(0 if est is None else est.n_factors_):
        own = [i for i, axis in enumerate(axes) if axis.name.startswith(f"factor {j}, ")]
        if len(own) > 1:
            views[f"directions of factor {j}"] = own[0], own[1]
    return views


def _colorings(
    points: np.ndarray, factors: Factors | None, est: GeoManCER | None
) -> list[Coloring]:
    """Make colorings by known factors, or else by columns, and by flat coordinates."""
    columns = points.T[:COLUMNS]
    by_column = [Coloring(f"latent {j}", values) for j, values in enumerate(columns)]
    flat = () if est is None else est.flat_coordinates_.T
    return [
        *(by_column if factors is None else factor_colorings(factors)),
        *(Coloring(f"flat coordinate {j}", values) for j, values in enumerate(flat)),
    ]
