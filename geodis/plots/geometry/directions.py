"""Points of a manifold with the directions of its factors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError, check_points
from geodis.manifold.linalg import largest_singular
from geodis.manifold.local.principal import principal_components
from geodis.plots.figure.linked_views import camera, line_ends
from geodis.plots.figure.marks import (
    Axis,
    Dots,
    Figure,
    Panel,
    PickedEnds,
    Segments,
    factor_color,
    one_panel,
)
from geodis.plots.figure.matplotlib_figure import draw_figure
from geodis.plots.style import FACTOR_COLORS, FAINT, new_axes, new_axis, tidy

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER


MAX_BACKGROUND = 4000
FITTED_POINTS = 1000  # so many say where a factor's axes lead
# Of the largest singular value: directions with less hold nothing of a factor.
NEGLIGIBLE = 0.05
MOST_DIRECTIONS = 3
HALF_LENGTH = 0.03  # of a line, in parts of the picture
HIDDEN = Axis(ticks=False)
TITLE = "One panel a factor, projected on its directions: lines of other factors should vanish"


def usable_points(est: GeoManCER) -> np.ndarray:
    """Points that have directions, by number."""
    return np.flatnonzero(np.isfinite(est.axes_).all(axis=(1, 2)))


def leading_directions(est: GeoManCER, factor: int) -> tuple[np.ndarray, float]:
    """Directions in which a factor's axes lead, and the share of their length that these hold.

    Returns
    -------
    directions : ndarray of shape (at most 3, d)
        Orthonormal; fewer where the others would hold nothing.
    share : float
    """
    usable = usable_points(est)
    own = est.subspace(factor)[usable[:: max(1, len(usable) // FITTED_POINTS)]]
    lines = own.reshape(-1, own.shape[2])
    squares, right = largest_singular(lines, MOST_DIRECTIONS)
    kept = max(1, int((squares > NEGLIGIBLE**2 * squares[0]).sum()))
    return right[:kept], float(squares[:kept].sum() / (lines**2).sum())


def factor_slices(est: GeoManCER) -> list[slice]:
    """Where the axes of every factor stand in `axes_`."""
    ends = np.cumsum(est.factor_dims_).tolist()
    return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]


def plot_factor_directions(
    points: np.ndarray,
    est: GeoManCER,
    view: int | np.ndarray | None = None,
    axis: Any = None,
    *,
    n_shown: int = 200,
    legend: bool = True,
) -> Any:
    """Draw the points, and short lines along the axes of each factor at some of them.

    Three dimensions are seen from an angle, and what is behind is paler.

    Parameters
    ----------
    points : array of shape (n, d)
        Those of the fit.
    est : GeoManCER
        Fitted.
    view : int or array of shape (2 or 3, d), optional
        What to project on: the leading directions of one factor's axes, where that factor shows
        its shape and the others shrink to dots, or given rows. By default the coordinates
        themselves for d <= 3, and principal axes beyond.
    n_shown : int
        Points with lines, spread evenly.
    """
    panel = _directions_panel(points, est, view, n_shown)
    panel = panel if legend else replace(panel, legend="none")
    return draw_figure(one_panel("directions", "", panel, size=(5.4, 5.0)), axis)


def plot_directions_by_factor(points: np.ndarray, est: GeoManCER, *, figure: Any = None) -> Any:
    """Draw `plot_factor_directions` for every factor in its own directions; the first axis is out.

    In up to three columns of data one picture shows everything, and only that is drawn.

    Parameters
    ----------
    points : array of shape (n, d)
    est : GeoManCER
        Fitted to them.
    figure : matplotlib Figure or SubFigure, optional
        What the panels are drawn on; one of their own by default.
    """
    if points.shape[1] <= 3:
        panel = _directions_panel(points, est, None)
        return draw_figure(one_panel("directions", "", panel, size=(5.4, 5.0)), whole=figure)
    count = est.n_factors_
    wide = 2 if count == 4 else min(count, 3)
    panels: list[Panel | None] = [
        replace(_directions_panel(points, est, j), legend="none") for j in range(count)
    ]
    panels += [None] * (-count % wide)
    rows = [panels[start : start + wide] for start in range(0, count, wide)]
    size = (max(4.0 * wide, 5.4), 3.9 * len(rows) + 0.8)
    described = Figure("directions", "", rows, title=TITLE, legend=True, size=size)
    return draw_figure(described, whole=figure)


def _directions_panel(
    points: np.ndarray, est: GeoManCER, view: int | np.ndarray | None, n_shown: int = 200
) -> Panel:
    """Points seen in a view, and lines along the axes of every factor at some of them."""
    from scipy.spatial import KDTree

    points = np.asarray(points, dtype=float)
    if points.shape != (needed := est.axes_.shape[::2]):
        raise InputError(f"points must be those of the fit, {needed}; got shape {points.shape}.")
    rows = usable_points(est)
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), MAX_BACKGROUND)).astype(int)]
    directions, name = _view(points[rows], est, view)
    to_view = directions.T @ (camera() if len(directions) == 3 else np.eye(len(directions), 3))
    flat = (points[rows] - points[rows].mean(axis=0)) @ to_view
    # The leaves of a tree are in spatial order: every c-th of them covers the picture evenly.
    order = KDTree(flat).indices
    shown = order[np.linspace(0, len(order) - 1, min(n_shown, len(order))).astype(int)]
    lines = _lines(flat, est.axes_[rows[shown]] @ to_view, shown, est)
    dots = Dots(flat[:, 0], flat[:, 1], color="pale", size="tiny")
    return Panel(
        [dots, *lines], HIDDEN, HIDDEN, title=name, legend="below", equal=True, frame="none"
    )


def _lines(flat: np.ndarray, axes: np.ndarray, shown: np.ndarray, est: GeoManCER) -> list[Segments]:
    """Lines of every factor at the points that are shown; what is behind is paler."""
    size = np.ptp(flat[:, :2], axis=0).max()
    depth = flat[:, 2] / max(np.abs(flat[:, 2]).max(), 1e-9 * size)
    half = HALF_LENGTH * size * axes[..., :2]  # (s, k, 2)

    def ends(factor: int, own: slice) -> np.ndarray:
        dim = own.stop - own.start
        centres = np.repeat(flat[shown, :2], dim, axis=0)
        return line_ends(centres, half[:, own].reshape(-1, 2))

    return direction_lines(est, ends, 0.6 + 0.4 * depth[shown])


def direction_lines(
    est: GeoManCER, ends: Callable[[int, slice], np.ndarray | PickedEnds], alpha: np.ndarray
) -> list[Segments]:
    """Lines along the axes of every factor at some points, on paper and on a page.

    Parameters
    ----------
    ends : callable
        Number of a factor, and where its axes stand -> ends of its lines, point by point.
    alpha : array of shape (s,)
        Of the lines at every point.
    """
    segments = []
    for j, own in enumerate(factor_slices(est)):
        dim = own.stop - own.start
        name = f"factor {j} (dimension {dim})"
        segments.append(Segments(ends(j, own), np.repeat(alpha, dim), name, factor_color(j)))
    return segments


def _view(
    points: np.ndarray, est: GeoManCER, view: int | np.ndarray | None
) -> tuple[np.ndarray, str]:
    """Orthonormal rows to project on, at most three, and what to call the view."""
    d = points.shape[1]
    if view is None and d <= 3:
        return np.eye(d), "the points in their own coordinates"
    if view is None:
        spectrum = principal_components(points, random_state=0)
        part = 100 * spectrum.explained[:3].sum()
        return spectrum.axes[:3], f"3 principal axes ({part:.0f} % of the variance)"
    if np.ndim(view) == 0:
        directions, share = leading_directions(est, int(view))
        return directions, f"directions of factor {view} ({100 * share:.0f} % of their length)"
    view = np.asarray(view, dtype=float)
    if view.ndim != 2 or view.shape[0] > 3 or view.shape[1] != d:
        raise InputError(f"view must have shape (2 or 3, {d}); got shape {view.shape}.")
    return view, "projection"


# Figures of flat factors: unrolled coordinates, and what tells factors apart.

MAX_SHOWN = 5000


def plot_flat_coordinates(
    coordinates: Any, factors: Any, names: Any = None, *, figure: Any = None
) -> Any:
    """Draw two unrolled coordinates for every true factor, which is the colour.

    Across stands the coordinate that follows the factor most, by rank. Where that is the factor,
    the stripes of colour are upright; stripes at a slant are factors mixed.

    Parameters
    ----------
    coordinates : array-like of shape (n, f)
        Such as `GeoManCER.flat_coordinates_`; with one column, the factors stand on the other
        axis.
    factors : Factors, or array-like of shape (n, g)
        Of any kind that `as_factors` reads; labels have the colours of their codes.
    names : sequence of str, optional
        Instead of those that the factors have.
    figure : matplotlib Figure or SubFigure, optional
        What the panels are drawn on; one of their own by default.

    Returns
    -------
    ndarray of axes, shape (g,)

    Examples
    --------
    >>> x = np.random.default_rng(0).uniform(size=(50, 2))
    >>> [axis.get_title(loc="left") for axis in plot_flat_coordinates(x, x, ["size", "hue"])]
    ['colour: size', 'colour: hue']
    """
    from geodis.data.factors import as_factors

    coordinates = check_points(np.nan_to_num(np.asarray(coordinates, float)), name="coordinates")
    known = as_factors(factors, names=names).refuse_missing()
    if len(known) != len(coordinates):
        raise InputError(
            f"factors must have a row for each of {len(coordinates)} points; got {len(known)}."
        )
    count = len(known.names)
    step = -(-len(coordinates) // MAX_SHOWN)
    axes = new_axes(1, count, 3.2 * count + 0.6, 3.2, figure)[0]
    for axis, values, name in zip(axes, known.values.T, known.names, strict=True):
        own = _followed(coordinates, values)
        beside = int(own == 0)
        other = coordinates[:, beside] if coordinates.shape[1] > 1 else values
        axis.scatter(
            coordinates[::step, own],
            other[::step],
            c=values[::step],
            s=6,
            cmap="viridis",
            linewidths=0,
            rasterized=True,
        )
        axis.set_title(f"colour: {name}", loc="left", fontsize=10)
        axis.set_xlabel(f"flat coordinate {own}")
        axis.set_ylabel(f"flat coordinate {beside}" if coordinates.shape[1] > 1 else name)
        axis.set_aspect("equal" if coordinates.shape[1] > 1 else "auto", adjustable="datalim")
        tidy(axis)
    return axes


def _followed(coordinates: np.ndarray, values: np.ndarray) -> int:
    """The column whose ranks follow the values most."""
    ranks = np.argsort(np.argsort(coordinates, axis=0), axis=0)
    own = np.argsort(np.argsort(values))
    related = (ranks - ranks.mean(axis=0)).T @ (own - own.mean())
    return int(np.argmax(np.abs(related)))


def plot_contrast_angles(evidence: Any, axis: Any = None) -> Any:
    """Draw by how much the factors of every contrast turn between halves of the points.

    A contrast is believed where it finds the most factors, and among those where it is most
    stable; above the line at 8 degrees none is.

    Parameters
    ----------
    evidence : FlatEvidence or Independence
        Such as `GeoManCER.flat_evidence_`.

    Examples
    --------
    >>> from geodis.manifold import independent_rotation
    >>> rotation = independent_rotation(np.random.default_rng(0).uniform(size=(500, 2)))
    >>> plot_contrast_angles(rotation).get_xlabel()
    'turn between halves of the points (degrees)'
    """
    from geodis.manifold.flat.independent_rotation import MAX_INSTABILITY

    axis = new_axis(6.4, 2.6) if axis is None else axis
    results = list(evidence.contrasts)
    if not results:
        axis.text(0.5, 0.5, "no contrast was needed", ha="center", transform=axis.transAxes)
        axis.set_axis_off()
        return axis
    for place, result in enumerate(results):
        chosen = result.name == evidence.contrast
        axis.barh(place, max(result.instability, 0.02), color=FACTOR_COLORS[0] if chosen else FAINT)
        label = " + ".join(map(str, result.dims))
        axis.annotate(
            label,
            (max(result.instability, 0.02), place),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    axis.axvline(MAX_INSTABILITY, color="black", linewidth=1, linestyle=":")
    axis.set_yticks(range(len(results)), [result.name for result in results])
    axis.invert_yaxis()
    axis.set_xlabel("turn between halves of the points (degrees)")
    axis.set_title("dimensions of the factors each finds; blue: believed", loc="left", fontsize=10)
    return tidy(axis)
