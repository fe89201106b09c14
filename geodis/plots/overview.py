"""Figures of latents beside what is known of them: points by factor, pairs, scores by factor."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_points
from geodis.plots.style import FACTOR_COLORS, FAINT, MARKERS, new_axes, new_axis, tidy

MAX_POINTS = 2000
# Labels with more values than this are coloured by a scale: a legend could not be read.
MAX_LABELS = len(FACTOR_COLORS)
FIRST = ("mig", "sap_continuous", "modularity", "linearity_ratio", "distance_correlation")


def plain_text(text: Any) -> str:
    r"""Text that matplotlib shows as it is: a dollar sign would start a formula.

    Examples
    --------
    >>> plain_text("$x")
    '\\$x'
    """
    return str(text).replace("$", r"\$")


def plot_points_by_factor(
    points: Any, factors: Any, view: np.ndarray | None = None, axis: Any = None
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
    from geodis.manifold.principal import principal_components
    from geodis.scores.table import as_factors

    points = check_points(points)
    known = as_factors(factors)
    if len(known) != len(points):
        raise InputError(
            f"points and factors must have as many rows: {len(points)} and {len(known)} came."
        )
    view = principal_components(points, random_state=0).axes[:2] if view is None else view
    flat = (points - points.mean(axis=0)) @ np.asarray(view, dtype=float).T
    flat = np.column_stack([flat, np.zeros(len(flat))])[:, :2]  # one column is drawn on a line
    rows = np.linspace(0, len(flat) - 1, min(len(flat), MAX_POINTS)).astype(int)
    count = len(known.names)
    if axis is not None and count > 1:
        raise InputError(f"One axis shows one factor; {count} came.")
    wide = min(count, 3)
    panels = (
        np.array([axis])
        if axis is not None
        else new_axes(-(-count // wide), wide, 3.9 * wide, 3.3 * -(-count // wide)).ravel()
    )
    for panel in panels[count:]:
        panel.set_axis_off()
    for j, (panel, name) in enumerate(zip(panels, known.names, strict=False)):
        title = f"factor {name}" if name == str(j) else name
        labels = known.categories.get(name, ())
        _paint(panel, flat[rows], known.values[rows, j], labels)
        panel.set_title(plain_text(title), loc="left", fontsize=10)
        panel.set(xticks=[], yticks=[])
        panel.set_aspect("equal", adjustable="datalim")
        panel.spines[:].set_visible(False)
    return panels[0]


def _paint(axis: Any, flat: np.ndarray, values: np.ndarray, labels: Any) -> None:
    if labels and len(labels) <= MAX_LABELS:
        for code, label in enumerate(labels):
            own = flat[values == code]
            axis.scatter(*own.T, s=4, color=FACTOR_COLORS[code], linewidths=0)
            axis.plot([], [], "o", ms=4, color=FACTOR_COLORS[code], label=plain_text(label))
        axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return
    shown = axis.scatter(*flat.T, s=4, c=values, cmap="viridis", linewidths=0)
    axis.figure.colorbar(shown, ax=axis, shrink=0.8).outline.set_visible(False)


def plot_distance_scatter(
    pairs: Mapping[str, Mapping[str, np.ndarray]],
    x: str | None = None,
    y: str | None = None,
    axis: Any = None,
) -> Any:
    """Draw pairs of points by two kinds of their distance.

    Parameters
    ----------
    pairs : mapping of str to mapping of str to ndarray of shape (p,)
        "random" or a factor -> kind of distance -> distances of the same pairs.
    x, y : str, optional
        Kinds; the first and the last by default.

    Examples
    --------
    >>> steps = np.arange(4.0)
    >>> found = {"random": {"ground truth": steps, "latent": steps**2}}
    >>> plot_distance_scatter(found).get_xlabel()
    'ground truth distance'
    """
    kinds = list(next(iter(pairs.values()), {}))
    if len(kinds) < 2:
        raise InputError(f"Two kinds of distance are needed; {', '.join(kinds) or 'none'} came.")
    x, y = x or kinds[0], y or kinds[-1]
    for kind in (x, y):
        if kind not in kinds:
            raise InputError(f"Kinds of distance are {', '.join(kinds)}; {kind!r} came.")
    axis = new_axis(6.4, 4.4) if axis is None else axis
    colors, markers = cycle(FACTOR_COLORS), cycle(MARKERS)
    for name, own in pairs.items():
        any_two = name == "random"
        axis.scatter(
            own[x],
            own[y],
            s=10,
            linewidths=0,
            alpha=0.6,
            color=FAINT if any_two else next(colors),
            marker="o" if any_two else next(markers),
            label="any two" if any_two else f"along {plain_text(name)}",
        )
    axis.set(xlabel=f"{x} distance", ylabel=f"{y} distance")
    axis.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return tidy(axis)


def plot_scores_per_factor(table: Any, scores: Any = None, axis: Any = None) -> Any:
    """Draw bars of every factor, a colour for each score that has such parts.

    Parameters
    ----------
    table : ScoreTable
    scores : sequence of str, optional
        Which; by default one of each kind, as far as the table has them.
    """
    parts = table.per_factor
    wanted = [name for name in (FIRST if scores is None else scores) if name in parts.index]
    wanted = wanted or list(parts.index[:5])
    if not wanted:
        raise InputError("The table has no score with a part for every factor.")
    names = list(parts.columns)
    axis = new_axis(2.4 + 1.3 * len(names), 3.6) if axis is None else axis
    width = 0.8 / len(wanted)
    for k, (name, color) in enumerate(zip(wanted, cycle(FACTOR_COLORS), strict=False)):
        place = np.arange(len(names)) + (k - (len(wanted) - 1) / 2) * width
        axis.bar(place, parts.loc[name].to_numpy(float), width, color=color, label=name)
    axis.set_xticks(range(len(names)), [plain_text(name) for name in names])
    axis.set_ylabel("score of the factor")
    axis.axhline(0, color=FAINT, lw=0.8)
    axis.tick_params(axis="x", length=0)
    axis.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return tidy(axis)
