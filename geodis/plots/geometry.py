"""Figures of manifolds: dimension, spectra, factors and their directions, holonomy, accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int
from geodis.manifold.holonomy.eigenfields import BULK_PART, PARALLEL_VARIATION, UNCERTAIN_VARIATION
from geodis.manifold.principal import principal_components
from geodis.plots.style import ACCENT, FACTOR_COLORS, FAINT, INK, MARKERS, new_axis, tidy

# Logarithmic axes end here, in parts of the largest eigenvalue: smaller ones are rounding.
FLOOR = 1e-6
VARIATION_FLOOR = 1e-3
LABELLED_FIELDS = 16
MAX_BACKGROUND = 4000
DIRECTION_STEP = 4  # every fourth of those points says where a factor's axes lead
# Of the largest singular value: directions with less hold nothing of a factor.
NEGLIGIBLE = 0.05


def plot_principal_spectrum(explained: np.ndarray, dim: int | None = None, axis: Any = None) -> Any:
    """Draw the fraction of variance along each principal component.

    Parameters
    ----------
    explained : ndarray of shape (c,)
        Fractions of the variance, largest first.
    dim : int, optional
        Intrinsic dimension, marked by a line: a manifold of dimension k bends through more than
        k ambient directions, so the spectrum usually goes on beyond it.

    Examples
    --------
    >>> plot_principal_spectrum(np.array([0.6, 0.3, 0.1]), dim=2).get_ylabel()
    'variance (%)'
    """
    axis = new_axis() if axis is None else axis
    shown = np.asarray(explained)[:50]
    axis.bar(np.arange(1, len(shown) + 1), 100 * shown, color=INK)
    if dim is not None and dim < len(shown):
        axis.axvline(dim + 0.5, color=ACCENT, linestyle="--", label=f"intrinsic dimension {dim}")
        axis.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    axis.set(xlabel="principal component", ylabel="variance (%)")
    return tidy(axis, whole_x=True)


def plot_eigenvalue_spectrum(
    spectrum: Any,
    n_parallel: int | None = None,
    axis: Any = None,
    *,
    variation: np.ndarray | None = None,
) -> Any:
    """Draw the bottom eigenvalues, parallel fields in another colour, and the gap above them.

    Parameters
    ----------
    spectrum : GeoManCER or array of shape (q,)
        A fitted estimator, which brings the numbers below with it; or eigenvalues, ascending.
    n_parallel : int, optional
        How many of the first fields are parallel; none by default.
    variation : array of shape (q,), optional
        Variation over points of each field's norm, written at its eigenvalue.

    Examples
    --------
    >>> plot_eigenvalue_spectrum([0.001, 0.05, 0.06], 1).get_title(loc="left")
    '1 parallel field'
    """
    axis, split = new_axis() if axis is None else axis, ""
    if hasattr(spectrum, "evidence_"):
        if not spectrum.evidence_:
            return _empty(axis)
        whole = spectrum.evidence_[0]
        spectrum, variation, split = whole.eigenvalues, whole.variation, f": {_named(whole)}"
        n_parallel = whole.n_parallel if n_parallel is None else n_parallel
    values = _above_rounding(np.asarray(spectrum, dtype=float))
    count = check_int(n_parallel or 0, "n_parallel", low=0, high=len(values))
    place = np.arange(1, len(values) + 1)
    axis.set_yscale("log")
    axis.scatter(place[:count], values[:count], s=50, color=ACCENT, label="parallel", zorder=3)
    axis.scatter(place[count:], values[count:], s=50, color=INK, label="not parallel", zorder=3)
    axis.set_ylim(values[0] / 3, values[-1] * 3)
    if 0 < count < len(values):
        low, high = values[count - 1], values[count]
        axis.axhspan(low, high, color=FAINT, alpha=0.15, linewidth=0)
        times = f"gap: {high / low:,.{1 if high < 10 * low else 0}f} times"
        axis.text((len(values) + 1) / 2, np.sqrt(low * high), times, ha="center", va="center")
        axis.legend(frameon=False, loc="lower right")
    note = ""
    if variation is not None:
        note = "\n(number: how much the norm of the field varies; 0 if it is parallel)"
        for x, y, number in list(zip(place, values, variation, strict=True))[:LABELLED_FIELDS]:
            axis.annotate(
                f"{number:.2f}", (x, y), (0, 7), textcoords="offset points", ha="center", fontsize=8
            )
    fields = f"{count or 'no'} parallel field{'' if count == 1 else 's'}"
    axis.set_title(f"{fields}{split}", loc="left", fontsize=10)
    axis.set(xlabel=f"eigenfield{note}", ylabel="eigenvalue", xlim=(0.4, len(values) + 0.6))
    return tidy(axis, whole_x=True)


def plot_field_separation(evidence: Sequence[Any], axis: Any = None) -> Any:
    """Draw the two tests on every eigenfield: why so many factors were found.

    Fields of small eigenvalue and of the same norm everywhere are parallel; m factors have m - 1
    of them, a flat part more. The large marks decide: the parallel fields and the next one. The
    wider the empty space between these, the more certain the number.

    Parameters
    ----------
    evidence : sequence of Evidence
        Such as `GeoManCER.evidence_`: of the whole manifold, then of each part.
    """
    axis = new_axis(7.6, 4.6) if axis is None else axis
    if not evidence:
        return _empty(axis)
    axis.set(xscale="log", yscale="log")
    left, lowest = VARIATION_FLOOR / 1.5, 1e-2
    for item, color, marker in zip(evidence, cycle(FACTOR_COLORS), cycle(MARKERS), strict=False):
        x = np.maximum(item.variation, VARIATION_FLOOR)
        y = _above_rounding(item.eigenvalues)
        y = y / y[-1]
        lowest = min(lowest, y.min())
        deciding = np.arange(len(x)) <= item.n_parallel
        axis.scatter(x[~deciding], y[~deciding], marker=marker, s=14, color=color, alpha=0.5)
        axis.scatter(
            x[deciding],
            y[deciding],
            marker=marker,
            s=70,
            color=color,
            edgecolors="black",
            zorder=3,
            label=_named(item) + (" (uncertain)" if item.doubts else ""),
        )
    bottom = lowest / 4
    axis.fill_between([left, PARALLEL_VARIATION], bottom, BULK_PART, color="#009E73", alpha=0.12)
    axis.axvspan(*UNCERTAIN_VARIATION, fill=False, edgecolor="#cccccc", hatch="////", linewidth=0)
    axis.axvline(PARALLEL_VARIATION, color=FAINT, linestyle="--", linewidth=1)
    axis.axhline(BULK_PART, color=FAINT, linestyle="--", linewidth=1)
    axis.text(left * 1.15, BULK_PART / 1.2, "parallel", color="#00694c", va="top")
    axis.text(UNCERTAIN_VARIATION[1] * 1.05, bottom * 1.3, "hatched: uncertain")
    axis.set(xlim=(left, 2.5), ylim=(bottom, 2.0))
    axis.set_xlabel(f"variation of the field's norm (threshold {PARALLEL_VARIATION})")
    axis.set_ylabel(f"eigenvalue / largest computed (threshold {BULK_PART})")
    axis.set_title("Large marks decide: the parallel fields, and the next", loc="left", fontsize=10)
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return tidy(axis)


def plot_factor_directions(
    points: np.ndarray,
    est: Any,
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
    from matplotlib.collections import LineCollection
    from scipy.spatial import KDTree

    axis = new_axis(5.4, 5.0) if axis is None else axis
    points = np.asarray(points, dtype=float)
    if points.shape != (needed := est.axes_.shape[::2]):
        raise InputError(f"points must be those of the fit, {needed}; {points.shape} came.")
    rows = np.flatnonzero(np.isfinite(est.axes_).all(axis=(1, 2)))
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), MAX_BACKGROUND)).astype(int)]
    points, axes = points[rows], est.axes_[rows]
    directions, seen = _directions(points, est, rows, view)
    flat = (points - points.mean(axis=0)) @ directions.T @ _camera(len(directions))
    # The leaves of a tree are in spatial order: every c-th of them covers the picture evenly.
    order = KDTree(flat).indices
    shown = order[np.linspace(0, len(order) - 1, min(n_shown, len(order))).astype(int)]
    size = np.ptp(flat[:, :2], axis=0).max()
    depth = flat[:, 2] / max(np.abs(flat[:, 2]).max(), 1e-9 * size)
    axis.scatter(*flat[:, :2].T, s=1.5, color="#c4c4c4", linewidths=0, zorder=0)
    half = 0.03 * size * axes[shown] @ directions.T @ _camera(len(directions))  # (s, k, 3)
    start = 0
    for j, dim in enumerate(est.factor_dims_):
        color = FACTOR_COLORS[j % len(FACTOR_COLORS)]
        own = half[:, start : start + dim, :2]
        centre = flat[shown, None, :2]
        alpha = np.repeat(0.6 + 0.4 * depth[shown], dim)
        lines = list(np.stack([centre - own, centre + own], axis=2).reshape(-1, 2, 2))
        axis.add_collection(LineCollection(lines, colors=color, alpha=alpha, linewidths=1.3))
        axis.plot([], [], color=color, label=f"factor {j} (dimension {dim})")
        start += dim
    axis.set_title(seen, loc="left", fontsize=10)
    axis.set_aspect("equal", adjustable="box")
    axis.margins(0.08)
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
    if legend:
        axis.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3)
    return axis


def plot_directions_by_factor(points: np.ndarray, est: Any) -> Any:
    """Draw `plot_factor_directions` for every factor in its own directions; the first axis is out.

    In up to three columns of data one picture shows everything, and only that is drawn.
    """
    from matplotlib.figure import Figure

    if points.shape[1] <= 3:
        return plot_factor_directions(points, est)
    count = est.n_factors_
    wide = 2 if count == 4 else min(count, 3)
    high = -(-count // wide)
    figure = Figure(figsize=(max(4.0 * wide, 5.4), 3.9 * high + 0.8), layout="constrained")
    panels = [figure.add_subplot(high, wide, j + 1) for j in range(count)]
    for j, panel in enumerate(panels):
        plot_factor_directions(points, est, j, panel, legend=False)
    title = "One panel a factor, projected on its directions: lines of other factors should vanish"
    figure.suptitle(title, fontsize=10)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=wide, frameon=False)
    return panels[0]


def plot_holonomy(holonomy: Any, factor_dims: Any = None, axis: Any = None) -> Any:
    """Draw the share of loops whose parallel transport turns a factor by less than each angle.

    The curve of a flat factor stands at zero; that of a curved one spreads with the loops' length.

    Parameters
    ----------
    holonomy : Holonomy
    factor_dims : sequence of int, optional
        For the legend.
    """
    axis = new_axis() if axis is None else axis
    angles = np.degrees(holonomy.angles)
    share = np.arange(1, len(angles) + 1) / max(len(angles), 1)
    for j, column in enumerate(angles.T):
        dim = "" if factor_dims is None else f" (dimension {factor_dims[j]})"
        middle = f": median {np.median(column):.0f}°" if len(column) else ""
        axis.step(
            np.r_[0.0, np.sort(column), 180.0],
            100 * np.r_[0.0, share, 1.0],
            where="post",
            color=FACTOR_COLORS[j % len(FACTOR_COLORS)],
            label=f"factor {j}{dim}{middle}",
        )
    if len(angles):
        length, leaked = np.median(holonomy.lengths), np.median(holonomy.leakage)
        axis.set_title(
            f"Parallel transport around {len(angles)} loops of {length:.0f} edges (median)\n"
            f"A flat factor stays at 0°; {leaked:.2g} leaks from factor to factor",
            loc="left",
            fontsize=10,
        )
    axis.set_xlabel("angle by which the loop turns the factor (degrees)")
    axis.set_ylabel("loops that turn it by less (%)")
    axis.set(xlim=(-3, 180), ylim=(0, 101), xticks=range(0, 181, 30))
    axis.legend(frameon=False, loc="lower right")
    return tidy(axis)


def plot_error_against_n(
    rows: Sequence[Mapping[str, Any]], axis: Any = None, *, x: str = "n", by: str = "manifold"
) -> Any:
    """Draw the error of the factors against the number of points, or another setting.

    Parameters
    ----------
    rows : sequence of mappings
        Each with `x`, `by`, "error" in radians and "right": whether the dimensions of the factors
        are. Lines join medians of rows equal in both, bars span them all, and a cross marks where
        most are wrong.
    x, by : str
        What is on the axis, and what has a line each.
    """
    axis = new_axis(7.6, 4.8) if axis is None else axis
    places = np.array(sorted({row[x] for row in rows}))
    wrong: list[tuple[float, float]] = []
    for j, name in enumerate(dict.fromkeys(row[by] for row in rows)):
        style = "-" if j < len(FACTOR_COLORS) else "--"
        color, marker = FACTOR_COLORS[j % len(FACTOR_COLORS)], MARKERS[j % len(MARKERS)]
        drawn = []
        for place in places:
            own = [row for row in rows if row[by] == name and row[x] == place]
            if own:
                errors = [row["error"] for row in own]
                drawn.append((place, np.median(errors)))
                axis.vlines(place, min(errors), max(errors), color=color, alpha=0.5, linewidth=3)
                if np.mean([row["right"] for row in own]) < 0.5:
                    wrong.append(drawn[-1])
        axis.plot(*zip(*drawn, strict=True), style, color=color, marker=marker, ms=5, label=name)
    if wrong:
        axis.plot(*zip(*wrong, strict=True), "kx", ms=9, zorder=4, label="wrong factors")
    axis.axhline(np.pi / 2, color=FAINT, linestyle=":", linewidth=1)
    axis.set_yscale("log")
    if x == "n":
        axis.set_xscale("log")
        axis.set_xticks(places, [f"{place:,}" for place in places])
        axis.minorticks_off()
    axis.set_xlabel("points" if x == "n" else x)
    axis.set_ylabel("mean angle to the true factors (radians)")
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return tidy(axis)


def _above_rounding(values: np.ndarray) -> np.ndarray:
    """Ascending eigenvalues, those that are zero but for rounding lifted onto a log axis."""
    return np.maximum(values, max(FLOOR * values[-1], np.finfo(np.float32).tiny))


def _empty(axis: Any) -> Any:
    text = "one factor, by dimension or by request: no field was computed"
    axis.text(0.5, 0.5, text, ha="center", va="center", transform=axis.transAxes)
    axis.set_axis_off()
    return axis


def _named(evidence: Any) -> str:
    """What happened to one set of points."""
    dims = evidence.factor_dims
    parts = f"into {' + '.join(map(str, dims))}" if len(dims) > 1 else "is one factor"
    return f"dimension {evidence.dim} {parts}"


def _camera(dims: int) -> np.ndarray:
    """Coordinates of a view (dims) -> right, up and towards the eye, shape (dims, 3)."""
    if dims < 3:
        return np.eye(dims, 3)
    around, above = np.radians(35.0), np.radians(22.0)
    right = [-np.sin(around), np.cos(around), 0.0]
    eye = [np.cos(above) * np.cos(around), np.cos(above) * np.sin(around), np.sin(above)]
    return np.column_stack([right, np.cross(eye, right), eye])


def _directions(
    points: np.ndarray, est: Any, rows: np.ndarray, view: int | np.ndarray | None
) -> tuple[np.ndarray, str]:
    """Orthonormal rows to project on, at most three, and what to call the view."""
    d = points.shape[1]
    if view is None and d <= 3:
        return np.eye(d), "the points in their own coordinates"
    if view is None:
        found = principal_components(points, random_state=0)
        part = 100 * found.explained[:3].sum()
        return found.axes[:3], f"3 principal axes ({part:.0f} % of the variance)"
    if np.ndim(view) == 0:
        own = est.subspace(view)[rows[::DIRECTION_STEP]]
        _, sizes, right = np.linalg.svd(own.reshape(-1, d), full_matrices=False)
        kept = max(1, min(3, int((sizes > NEGLIGIBLE * sizes[0]).sum())))
        part = (sizes[:kept] ** 2).sum() / (sizes**2).sum()
        return right[:kept], f"directions of factor {view} ({100 * part:.0f} % of their length)"
    view = np.asarray(view, dtype=float)
    if view.ndim != 2 or view.shape[0] > 3 or view.shape[1] != d:
        raise InputError(f"view must have shape (2 or 3, {d}); shape {view.shape} came.")
    return view, "projection"
