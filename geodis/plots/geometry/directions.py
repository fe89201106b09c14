"""Points of a manifold with the directions of its factors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError
from geodis.manifold.linalg import largest_singular
from geodis.manifold.preparation.principal import principal_components
from geodis.plots.figure.choices import line_ends
from geodis.plots.figure.linked_views import camera
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
from geodis.plots.figure.static import draw_figure

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
