"""Figures of distances: averages along factors, their distribution, and how far kinds agree."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from textwrap import fill
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.distances.agreement import RANDOM, DistanceCorrelations
from geodis.distances.along_factors import FactorImportance
from geodis.plots.style import ACCENT, FACTOR_COLORS, FAINT, MARKERS, new_axes, new_axis, tidy

LEGEND_WIDTH = 20  # letters a line


def plot_traversal_matrices(
    matrices: Mapping[str, Mapping[str, np.ndarray]], title: str = ""
) -> Any:
    """Draw average distance matrices: a row for every kind of distance, a column for a factor.

    Shades of a panel go from zero to its own largest distance, which stands below it. What no
    traversal of a sample has is hatched.

    Parameters
    ----------
    matrices : mapping of str to mapping of str to ndarray of shape (s, s)
        Kind of distance -> factor -> matrix, as `geodis.distances.traversal_matrix` returns them.
    title : str

    Returns
    -------
    axis
        The first panel.

    Examples
    --------
    >>> steps = np.abs(np.subtract.outer(range(4), range(4)))
    >>> plot_traversal_matrices({"ground truth": {"x": steps}}).get_title()
    'x'
    """
    columns = list(dict.fromkeys(name for row in matrices.values() for name in row))
    if not columns:
        raise InputError("A figure of distance matrices needs at least one matrix; none came.")
    axes = new_axes(len(matrices), len(columns), 1.5 * len(columns) + 0.9, 1.75 * len(matrices))
    maps = cycle(("Blues", "Purples", "Greens", "Oranges"))
    for i, ((kind, row), colors) in enumerate(zip(matrices.items(), maps, strict=False)):
        line = axes[i]
        for axis, name in zip(line, columns, strict=True):
            axis.set_xticks([])
            axis.set_yticks([])
            if name not in row:
                axis.set_visible(False)
                continue
            matrix = np.asarray(row[name], float)
            high = float(np.nanmax(matrix)) if np.isfinite(matrix).any() else 0.0
            axis.patch.set(facecolor="#dddddd", hatch="///", edgecolor=FAINT)  # shows where NaN is
            axis.imshow(matrix, cmap=colors, vmin=0, vmax=high or 1, interpolation="nearest")
            axis.set_xlabel(f"up to {high:.3g}", fontsize=8, color=FAINT)
            if i == 0:
                axis.set_title(name, fontsize=9)
        line[0].set_ylabel(kind, fontsize=9)
    if title:
        axes[0, 0].figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    return axes[0, 0]


def plot_distance_distribution(importance: FactorImportance, axis: Any = None) -> Any:
    """Draw the cumulative proportion of perceived distances along each factor and at random.

    Factors further to the right have larger distances and matter more to the loss; a step is one
    distance that many pairs share, which leaves nothing to order them by. Factors whose curves
    are the same share one.

    Parameters
    ----------
    importance : FactorImportance

    Examples
    --------
    >>> from geodis.data.grids.squares import XYSquares
    >>> from geodis.distances import factor_importance
    >>> found = factor_importance(XYSquares(4), n_pairs=100, random_state=0)
    >>> plot_distance_distribution(found).get_xlabel()
    'perceived distance (mse)'
    """
    axis = new_axis() if axis is None else axis
    curves = {name: _proportions(values) for name, values in importance.distances.items()}
    right = 1.03 * max(float(distances[-1]) for distances, _ in curves.values()) or 1.0
    alike: list[list[str]] = []
    for name in importance.names:
        if name == RANDOM:
            continue
        same = (names for names in alike if _same(curves[names[0]], curves[name]))
        if (names := next(same, None)) is None:
            alike.append([name])
        else:
            names.append(name)
    # Curves that nearly agree lie under each other: the earlier ones are drawn wider.
    widths = np.linspace(4.5, 1.2, len(alike)) if len(alike) > 1 else [1.8]
    for names, color, width in zip(alike, cycle(FACTOR_COLORS), widths, strict=False):
        label = fill(", ".join(names), LEGEND_WIDTH)
        _steps(axis, curves[names[0]], right, color=color, lw=width, label=label)
    if RANDOM in curves:
        _steps(axis, curves[RANDOM], right, color="black", lw=1.2, ls="--", label="any two")
    axis.set(
        xlabel=f"perceived distance ({importance.loss})",
        ylabel="cumulative proportion of pairs",
        ylim=(0, 1.02),
    )
    axis.set_xlim(0, right)
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9)
    return tidy(axis)


def plot_distance_correlations(found: DistanceCorrelations, axis: Any = None) -> Any:
    """Draw rank correlations (filled) and linear ones (hollow) for every factor.

    Parameters
    ----------
    found : DistanceCorrelations

    Examples
    --------
    >>> from geodis.data.grids.grid import FactorGrid
    >>> from geodis.distances import distance_correlations
    >>> grid = FactorGrid((4, 4))
    >>> found = distance_correlations(grid, grid.factors(range(16)) ** 2, random_state=0)
    >>> plot_distance_correlations(found).get_xlabel()
    'correlation'
    """
    rows = {RANDOM: found.random, **found.factors}
    names = ["any two" if name == RANDOM else name for name in rows]
    axis = new_axis(6.4, 1.3 + 0.36 * len(names)) if axis is None else axis
    pairs = list(found.random)
    for k, (pair, color, marker) in enumerate(
        zip(pairs, cycle(FACTOR_COLORS), cycle(MARKERS), strict=False)
    ):
        height = np.arange(len(names)) + (k - (len(pairs) - 1) / 2) * 0.22
        items = [row[pair] for row in rows.values()]
        rank, linear = ([getattr(i, kind) for i in items] for kind in ("spearman", "pearson"))
        axis.plot(linear, height, marker, mfc="white", color=color, ms=6, clip_on=False, zorder=3)
        axis.plot(
            rank,
            height,
            marker,
            color=color,
            ms=6,
            clip_on=False,
            zorder=3,
            label=f"{pair[0]} ~ {pair[1]}",
        )
        for y, item in zip(height, items, strict=True):
            if item.spearman_interval is not None:
                axis.plot(item.spearman_interval, [y, y], color=color, lw=1.2)
    axis.axvline(0, color=FAINT, lw=0.8)
    for stripe in range(0, len(names), 2):
        axis.axhspan(stripe - 0.5, stripe + 0.5, color="#f3f3f3", linewidth=0, zorder=-1)
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    lowest = min(min(i.pearson, i.spearman) for row in rows.values() for i in row.values())
    axis.set_xlim(min(0.0, lowest) - 0.02, 1.0)
    axis.set_xlabel("correlation")
    axis.set_title("rank correlation (hollow: linear)", loc="left", fontsize=10)
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9)
    return tidy(axis)


def plot_correlation_by_spacing(
    lines: Mapping[str, Mapping[float, float]],
    published: Mapping[str, Mapping[float, float]] | None = None,
    axis: Any = None,
    *,
    twins: Mapping[str, str] | None = None,
) -> Any:
    """Draw correlations against the spacing of a grid, published values as crosses.

    Parameters
    ----------
    lines : mapping of str to mapping of spacing to correlation
    published : mapping of str to mapping of spacing to correlation, optional
        Of the same names as some of the lines.
    twins : mapping of str to str, optional
        Lines that are dashed, in the color of another line.

    Examples
    --------
    >>> plot_correlation_by_spacing({"mse": {1: 1.0, 8: 0.52}}).get_xlabel()
    'spacing (pixels)'
    """
    axis = new_axis() if axis is None else axis
    twins = twins or {}
    alone = [name for name in lines if name not in twins]
    color = dict(zip(alone, cycle(FACTOR_COLORS), strict=False))
    marker = dict(zip(alone, cycle(MARKERS), strict=False))
    for name, points in lines.items():
        like = twins.get(name, name)
        axis.plot(
            list(points),
            list(points.values()),
            "--" if name in twins else "-",
            ms=5,
            marker=marker[like],
            color=color[like],
            label=name,
            mfc="white" if name in twins else color[like],
        )
        shown = (published or {}).get(name)
        if shown:
            axis.plot(list(shown), list(shown.values()), "x", color=ACCENT, ms=8, mew=1.6, zorder=4)
    if published:
        axis.plot([], [], "x", color=ACCENT, ms=8, mew=1.6, label="published")
    axis.set(xlabel="spacing (pixels)", ylabel="correlation with ground truth")
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9)
    return tidy(axis, whole_x=True)


def _proportions(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct distances, and the proportion that is not above each."""
    distinct, counts = np.unique(values, return_counts=True)
    return distinct, np.cumsum(counts) / max(len(values), 1)


def _same(curve: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(curve, other, strict=True))


def _steps(axis: Any, curve: tuple[np.ndarray, np.ndarray], right: float, **style: Any) -> None:
    """Draw from 0 at the least distance to 1, and on to the edge of the figure."""
    distinct, height = curve
    x = np.concatenate([distinct[:1], distinct, [right]])
    axis.step(x, np.concatenate([[0.0], height, height[-1:]]), where="post", **style)
