"""Directions of the factors at the points, and unrolled coordinates of flat factors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError, check_points
from geodis.manifold.linalg import largest_singular
from geodis.manifold.local.principal import principal_components
from geodis.plots.figure.linked_views import camera, line_ends
from geodis.plots.style import FACTOR_COLORS, FAINT, PALE, new_axes, new_axis, tidy

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER


MAX_BACKGROUND = 4000
FITTED_POINTS = 1000  # sample from which the leading directions of a factor are computed
NEGLIGIBLE = 0.05  # singular values below this share of the largest are ignored
MOST_DIRECTIONS = 3
HALF_LENGTH = 0.03  # of a line, as a share of the extent of the points
TITLE = "One panel per factor, projected on its directions: lines of other factors should vanish"


def usable_points(est: GeoManCER) -> np.ndarray:
    """Return the indices of the points that have directions."""
    return np.flatnonzero(np.isfinite(est.axes_).all(axis=(1, 2)))


def leading_directions(est: GeoManCER, factor: int) -> tuple[np.ndarray, float]:
    """Compute the principal directions of a factor's axes, pooled over the points.

    Returns
    -------
    directions : ndarray of shape (at most 3, d)
        Orthonormal; directions with negligible singular values are left out.
    share : float
        Share of the squared length of the axes within these directions.
    """
    usable = usable_points(est)
    own = est.subspace(factor)[usable[:: max(1, len(usable) // FITTED_POINTS)]]
    lines = own.reshape(-1, own.shape[2])
    squares, right = largest_singular(lines, MOST_DIRECTIONS)
    kept = max(1, int((squares > NEGLIGIBLE**2 * squares[0]).sum()))
    return right[:kept], float(squares[:kept].sum() / (lines**2).sum())


def factor_slices(est: GeoManCER) -> list[slice]:
    """Return the slice of `axes_` that belongs to each factor."""
    ends = np.cumsum(est.factor_dims_).tolist()
    return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]


def factor_label(factor: int, own: slice) -> str:
    """Name a factor and its dimension in a legend.

    Examples
    --------
    >>> factor_label(0, slice(0, 2))
    'factor 0 (dimension 2)'
    """
    return f"factor {factor} (dimension {own.stop - own.start})"


def plot_factor_directions(
    points: np.ndarray,
    est: GeoManCER,
    view: int | np.ndarray | None = None,
    axis: Any = None,
    *,
    n_shown: int = 200,
    legend: bool = True,
) -> Any:
    """Draw the points, with short lines along the axes of each factor at some of them.

    Three dimensions are shown in perspective, with distant lines paler.

    Parameters
    ----------
    points : array of shape (n, d)
        The fitted points.
    est : GeoManCER
        Fitted.
    view : int or array of shape (2 or 3, d), optional
        Projection: the leading directions of one factor's axes, in which the lines of the other
        factors shrink to dots, or given rows. By default the coordinates themselves for d <= 3,
        and principal components otherwise.
    n_shown : int
        Number of points with lines, evenly spread.
    legend : bool
        Add a legend below the axis.
    """
    from matplotlib.collections import LineCollection
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
    size = np.ptp(flat[:, :2], axis=0).max()
    depth = flat[:, 2] / max(np.abs(flat[:, 2]).max(), 1e-9 * size)
    half = HALF_LENGTH * size * (est.axes_[rows[shown]] @ to_view)[..., :2]  # (s, k, 2)

    axis = new_axis(5.4, 5.0) if axis is None else axis
    axis.scatter(flat[:, 0], flat[:, 1], s=1.5, color=PALE, linewidths=0, zorder=0)
    for j, own in enumerate(factor_slices(est)):
        dim = own.stop - own.start
        centres = np.repeat(flat[shown, :2], dim, axis=0)
        ends = line_ends(centres, half[:, own].reshape(-1, 2))
        look: dict[str, Any] = {"color": FACTOR_COLORS[j % len(FACTOR_COLORS)], "linewidths": 1.3}
        alpha = np.repeat(0.6 + 0.4 * depth[shown], dim)
        axis.add_collection(LineCollection(list(ends), alpha=alpha, **look))
        axis.plot([], [], color=look["color"], label=factor_label(j, own))
    axis.set(xticks=[], yticks=[])
    axis.set_aspect("equal", adjustable="box")
    axis.spines[:].set_visible(False)
    axis.set_title(name, loc="left", fontsize=10)
    if legend:
        axis.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3)
    return axis


def plot_directions_by_factor(points: np.ndarray, est: GeoManCER, *, figure: Any = None) -> Any:
    """Draw `plot_factor_directions` for every factor in its own directions.

    For up to three columns, a single panel shows all factors.

    Parameters
    ----------
    points : array of shape (n, d)
    est : GeoManCER
        Fitted to them.
    figure : matplotlib Figure or SubFigure, optional
        Where to draw the panels; a new figure by default.

    Returns
    -------
    axis
        The first panel.
    """
    if points.shape[1] <= 3:
        return plot_factor_directions(points, est, axis=new_axes(1, 1, 5.4, 5.0, figure)[0, 0])
    count = est.n_factors_
    wide = 2 if count == 4 else min(count, 3)
    high = -(-count // wide)
    axes = new_axes(high, wide, max(4.0 * wide, 5.4), 3.9 * high + 0.8, figure)
    for j, axis in enumerate(axes.ravel()[:count]):
        plot_factor_directions(points, est, j, axis, legend=False)
    for axis in axes.ravel()[count:]:
        axis.remove()
    whole = axes[0, 0].figure
    whole.suptitle(TITLE, fontsize=10, x=0.01, ha="left")
    # Without a layout engine, a legend outside the axes would cover the panels.
    place = "lower center" if whole.get_layout_engine() is None else "outside lower center"
    entries = axes[0, 0].get_legend_handles_labels()
    whole.legend(*entries, loc=place, ncols=wide, frameon=False)
    return axes[0, 0]


def _view(
    points: np.ndarray, est: GeoManCER, view: int | np.ndarray | None
) -> tuple[np.ndarray, str]:
    """Choose at most three orthonormal rows to project on, and name the view."""
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


# Flat factors: unrolled coordinates, and the stability of contrasts.

MAX_SHOWN = 5000


def plot_flat_coordinates(
    coordinates: Any, factors: Any, names: Any = None, *, figure: Any = None
) -> Any:
    """Draw two unrolled coordinates, in one panel per true factor and coloured by it.

    The horizontal axis is the coordinate with the highest rank correlation with the factor. Upright
    stripes of colour mean that the coordinate is the factor; slanted stripes mean that factors are
    mixed.

    Parameters
    ----------
    coordinates : array-like of shape (n, f)
        Such as `GeoManCER.flat_coordinates_`; with a single column, the vertical axis is the
        factor.
    factors : Factors, or array-like of shape (n, g)
        Anything that `as_factors` reads; labels are coloured by their codes.
    names : sequence of str, optional
        Names of the factors; their own by default.
    figure : matplotlib Figure or SubFigure, optional
        Where to draw the panels; a new figure by default.

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
        second = int(own == 0)
        other = coordinates[:, second] if coordinates.shape[1] > 1 else values
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
        axis.set_ylabel(f"flat coordinate {second}" if coordinates.shape[1] > 1 else name)
        axis.set_aspect("equal" if coordinates.shape[1] > 1 else "auto", adjustable="datalim")
        tidy(axis)
    return axes


def _followed(coordinates: np.ndarray, values: np.ndarray) -> int:
    """Return the column with the largest absolute rank correlation with the values."""
    ranks = np.argsort(np.argsort(coordinates, axis=0), axis=0)
    own = np.argsort(np.argsort(values))
    related = (ranks - ranks.mean(axis=0)).T @ (own - own.mean())
    return int(np.argmax(np.abs(related)))


def plot_contrast_angles(evidence: Any, axis: Any = None) -> Any:
    """Draw the angle by which the factors of each contrast differ between halves of the points.

    The accepted contrast finds the most factors and, among those, is the most stable. Contrasts
    above the line at 8 degrees are rejected.

    Parameters
    ----------
    evidence : FlatEvidence or Independence
        Such as `GeoManCER.flat_evidence_`.

    Examples
    --------
    >>> from geodis.manifold import independent_rotation
    >>> rotation = independent_rotation(np.random.default_rng(0).uniform(size=(500, 2)))
    >>> plot_contrast_angles(rotation).get_xlabel()
    'angle between halves of the points (degrees)'
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
    axis.set_xlabel("angle between halves of the points (degrees)")
    axis.set_title(
        "dimensions of the factors that each finds; blue: accepted", loc="left", fontsize=10
    )
    return tidy(axis)
