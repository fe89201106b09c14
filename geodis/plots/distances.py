"""Figures of distances: matrices along factors, distributions, and correlations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from textwrap import fill
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.distances.along_factors import FactorImportance
from geodis.distances.correlations import Correlation
from geodis.distances.distance_agreement import RANDOM, DistanceCorrelations, SourcePair
from geodis.plots.figure.linked_views import Choices
from geodis.plots.figure.marks import (
    Axis,
    Cells,
    Color,
    Dots,
    Figure,
    Panel,
    Picked,
    PickedLabel,
    factor_color,
    one_panel,
    rows_panel,
)
from geodis.plots.figure.matplotlib_figure import draw_figure
from geodis.plots.style import ACCENT, FACTOR_COLORS, MARKERS, new_axis, tidy

# Agreement between kinds of distance.

# Random pairs or factor -> kind of distance -> distances of the same pairs.
PairDistances = Mapping[str, Mapping[str, np.ndarray]]
# Random pairs or factor -> two kinds of distance -> their rank correlation.
RankCorrelations = Mapping[str, Mapping[SourcePair, float]]

RANDOM_PAIRS = "random pairs"
ROW_OFFSET = 0.22  # between marks of one row
HOVER = "{row}: {label}\nrank {rank:.3f}, linear {linear:.3f}\n{pairs:,} pairs"


def distance_correlations_figure(correlations: DistanceCorrelations) -> Figure:
    """Describe rank correlations (filled) and linear correlations (hollow) for every factor.

    Parameters
    ----------
    correlations : DistanceCorrelations

    Examples
    --------
    >>> from geodis.data.grids.grid import FactorGrid
    >>> from geodis.distances import distance_correlations
    >>> grid = FactorGrid((4, 4))
    >>> agreed = distance_correlations(grid, grid.factors(range(16)) ** 2, random_state=0)
    >>> distance_correlations_figure(agreed).panels[0][0].y.names
    ('random pairs', 'factor 0', 'factor 1')
    """
    rows = {RANDOM_PAIRS: correlations.random, **correlations.factors}
    kinds = list(correlations.random)
    lowest = min(min(one.pearson, one.spearman) for row in rows.values() for one in row.values())
    marks = [mark for k in range(len(kinds)) for mark in _correlation_marks(rows, kinds, k)]
    across = Axis("correlation", limits=(min(0.0, lowest) - 0.02, 1.0), zero=True)
    panel = rows_panel(marks, list(rows), across, "rank correlation (hollow: linear)")
    return one_panel(
        "distance_correlations",
        "rank correlations of distances; linear correlations are hollow",
        panel,
        size=(6.4, 1.3 + 0.36 * len(rows)),
        height=160 + 44 * len(rows),
    )


def _correlation_marks(
    rows: Mapping[str, Mapping[SourcePair, Correlation]], kinds: list[SourcePair], k: int
) -> list[Dots]:
    """Marks of the k-th pair of kinds of distance, at a vertical offset from the others."""
    of_rows = [row[kinds[k]] for row in rows.values()]
    height = np.arange(len(rows)) + (k - (len(kinds) - 1) / 2) * ROW_OFFSET
    rank, linear = ([getattr(one, name) for one in of_rows] for name in ("spearman", "pearson"))
    pairs = [one.n for one in of_rows]
    told = {"row": list(rows), "rank": rank, "linear": linear, "pairs": pairs}
    first, second = kinds[k]
    color, hover = factor_color(k), HOVER
    return [
        Dots(
            linear, height, "", color, k, True, hover=hover.replace("{label}", "linear"), told=told
        ),
        Dots(
            rank,
            height,
            f"{first} ~ {second}",
            color,
            k,
            spans=[one.spearman_interval for one in of_rows],
            hover=hover,
            told=told,
        ),
    ]


def plot_distance_correlations(correlations: DistanceCorrelations, axis: Any = None) -> Any:
    """Draw rank correlations (filled) and linear correlations (hollow) for every factor.

    Parameters
    ----------
    correlations : DistanceCorrelations

    Examples
    --------
    >>> from geodis.data.grids.grid import FactorGrid
    >>> from geodis.distances import distance_correlations
    >>> grid = FactorGrid((4, 4))
    >>> agreed = distance_correlations(grid, grid.factors(range(16)) ** 2, random_state=0)
    >>> plot_distance_correlations(agreed).get_xlabel()
    'correlation'
    """
    return draw_figure(distance_correlations_figure(correlations), axis)


@dataclass(frozen=True, eq=False)
class PairGroup:
    """Pairs of points with one colour and marker: random pairs, or those along a factor."""

    source: str
    name: str
    color: Color
    marker: int
    distances: Mapping[str, np.ndarray]


def pair_groups(pairs: PairDistances) -> list[PairGroup]:
    """Assign names, colours and markers to groups of pairs.

    Examples
    --------
    >>> steps = {"latent": np.arange(3.0)}
    >>> [(group.name, group.color) for group in pair_groups({"random": steps, "hue": steps})]
    [('random pairs', 'faint'), ('along hue', 'c0')]
    """
    groups: list[PairGroup] = []
    number = 0
    for source, distances in pairs.items():
        if source == RANDOM:
            groups.append(PairGroup(source, RANDOM_PAIRS, "faint", 0, distances))
            continue
        color = factor_color(number)
        groups.append(PairGroup(source, f"along {source}", color, number, distances))
        number += 1
    return groups


def _kinds_of(pairs: PairDistances) -> list[str]:
    kinds = list(next(iter(pairs.values()), {}))
    if len(kinds) < 2:
        raise InputError(
            f"pairs must have at least two kinds of distance; got {', '.join(kinds) or 'none'}."
        )
    return kinds


def plot_distance_scatter(
    pairs: PairDistances,
    x: str | None = None,
    y: str | None = None,
    axis: Any = None,
    *,
    rank: RankCorrelations | None = None,
) -> Any:
    """Draw a scatter plot of pairs of points, by two kinds of distance.

    Parameters
    ----------
    pairs : mapping of str to mapping of str to ndarray of shape (p,)
        "random" or a factor -> kind of distance -> distances of the same pairs.
    x, y : str, optional
        Kinds of distance; the first and the last by default.
    rank : mapping of str to mapping of (kind, kind) to float, optional
        As in `distance_scatter_choices`.

    Examples
    --------
    >>> steps = np.arange(4.0)
    >>> pairs = {"random": {"ground truth": steps, "latent": steps**2}}
    >>> plot_distance_scatter(pairs).get_xlabel()
    'ground truth distance'
    """
    kinds = _kinds_of(pairs)
    x, y = x or kinds[0], y or kinds[-1]
    for kind in (x, y):
        if kind not in kinds:
            raise InputError(f"x and y must be of {', '.join(kinds)}; got {kind!r}.")
    choices = distance_scatter_choices(pairs, rank)
    return draw_figure(choices.figure(0, kinds.index(x), kinds.index(y)), axis)


def distance_scatter_choices(pairs: PairDistances, rank: RankCorrelations | None = None) -> Choices:
    """Describe scatter plots of pairs of points, by any two kinds of distance.

    Parameters
    ----------
    pairs : mapping of str to mapping of str to ndarray of shape (p,)
        "random" or a factor -> kind of distance -> distances of the same pairs.
    rank : mapping of str to mapping of (kind, kind) to float, optional
        "random" or a factor -> rank correlations over all pairs, not only those drawn.

    Examples
    --------
    >>> pairs = {"random": {"ground truth": np.arange(4.0), "latent": np.arange(4.0) ** 2}}
    >>> drawn = distance_scatter_choices(pairs, {"random": {("ground truth", "latent"): 1.0}})
    >>> drawn.figure().panels[0][0].marks[0].label
    'random pairs (rank correlation 1.00)'
    """
    kinds = _kinds_of(pairs)
    groups = pair_groups(pairs)
    columns, dots = {}, []
    for i, group in enumerate(groups):
        columns[f"pairs {i}"] = np.stack([group.distances[kind] for kind in kinds])
        known = {} if rank is None else rank.get(group.source, {})
        dots.append(_pair_dots(group, f"pairs {i}", kinds, known))
    alone = [Panel([one], title=group.name) for group, one in zip(groups, dots, strict=True)]
    return Choices(
        "distance_scatter",
        "pairs of points by two kinds of distance",
        [Panel(dots, title="all pairs", legend="beside"), *alone],
        [Axis(f"{kind} distance", from_zero=True) for kind in kinds],
        columns,
        asked="pairs",
        y=len(kinds) - 1,
    )


def _pair_dots(
    group: PairGroup, columns: str, kinds: Sequence[str], rank: Mapping[SourcePair, float]
) -> Dots:
    """Marks of a group of pairs; the label has the rank correlation of the two kinds."""
    more = {}
    for (a, b), value in rank.items():
        across, up = kinds.index(a), kinds.index(b)
        more[across, up] = more[up, across] = f" (rank correlation {value:.2f})"
    return Dots(
        Picked(columns, "x"),
        Picked(columns, "y"),
        PickedLabel(group.name, more),
        group.color,
        group.marker,
        size="small",
        alpha=0.6,
        hover="{x:.3g} across, {y:.3g} up",
    )


def plot_correlation_by_spacing(
    lines: Mapping[str, Mapping[float, float]],
    published: Mapping[str, Mapping[float, float]] | None = None,
    axis: Any = None,
    *,
    twins: Mapping[str, str] | None = None,
) -> Any:
    """Draw correlations against the spacing of a grid, with published values as crosses.

    Parameters
    ----------
    lines : mapping of str to mapping of spacing to correlation
    published : mapping of str to mapping of spacing to correlation, optional
        With keys of `lines`.
    twins : mapping of str to str, optional
        Lines to draw dashed, in the color of another line.

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


LEGEND_WIDTH = 20  # characters per line
HIDDEN = Axis(ticks=False)


def traversal_matrices_figure(
    matrices: Mapping[str, Mapping[str, np.ndarray]], title: str = ""
) -> Figure:
    """Describe average distance matrices, with a row per kind of distance and a column per factor.

    Parameters are those of `plot_traversal_matrices`.

    Examples
    --------
    >>> steps = np.abs(np.subtract.outer(range(4), range(4)))
    >>> traversal_matrices_figure({"ground truth": {"x": steps}}).columns
    ('x',)
    """
    names = tuple(dict.fromkeys(name for row in matrices.values() for name in row))
    if not names:
        raise InputError("A figure of distance matrices needs at least one matrix; got none.")
    kinds = tuple(matrices)
    panels = [
        [_matrix_panel(row[name], kind, i) if name in row else None for name in names]
        for i, (kind, row) in enumerate(matrices.items())
    ]
    return Figure(
        "distance_matrices",
        f"distance matrices of {', '.join(kinds)} distances",
        panels,
        rows=kinds,
        columns=names,
        title=title,
        size=(1.5 * len(names) + 0.9, 1.75 * len(kinds)),
        height=50 + 170 * len(kinds),
        min_width=60 + 76 * len(names),
    )


def _matrix_panel(matrix: np.ndarray, kind: str, shade: int) -> Panel:
    """Describe one matrix; the scale ends at its largest distance."""
    matrix = np.asarray(matrix, float)
    high = float(np.nanmax(matrix)) if np.isfinite(matrix).any() else 0.0
    kind = kind.replace("{", "{{").replace("}", "}}")
    hover = f"{kind} distance of\nvalues {{x}} and {{y}}: {{z:.3g}}"
    cells = Cells(matrix, 0.0, high, shade, hover=hover)
    note = f"up to {high:.3g}"
    return Panel([cells], HIDDEN, HIDDEN, note=note, equal=True, frame="box")


def plot_traversal_matrices(
    matrices: Mapping[str, Mapping[str, np.ndarray]], title: str = "", *, figure: Any = None
) -> Any:
    """Draw average distance matrices, with a row per kind of distance and a column per factor.

    The scale of each panel ends at its largest distance, which is written below it. Pairs of
    values without data are hatched.

    Parameters
    ----------
    matrices : mapping of str to mapping of str to ndarray of shape (s, s)
        Kind of distance -> factor -> matrix, as `geodis.distances.traversal_matrix` returns them.
    title : str
    figure : matplotlib Figure or SubFigure, optional
        Where to draw the panels; a new figure by default.

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
    return draw_figure(traversal_matrices_figure(matrices, title), whole=figure)


def plot_distance_distribution(importance: FactorImportance, axis: Any = None) -> Any:
    """Draw the cumulative distribution of perceived distances along each factor and at random.

    Factors further to the right have larger distances and matter more to the loss. A step is a
    distance shared by many pairs. Factors with identical curves share one.

    Parameters
    ----------
    importance : FactorImportance

    Examples
    --------
    >>> from geodis.data.grids.squares import XYSquares
    >>> from geodis.distances import factor_importance
    >>> importance = factor_importance(XYSquares(4), n_pairs=100, random_state=0)
    >>> plot_distance_distribution(importance).get_xlabel()
    'perceived distance (mse)'
    """
    axis = new_axis() if axis is None else axis
    curves = {name: _proportions(values) for name, values in importance.distances.items()}
    right = 1.03 * max(float(distances[-1]) for distances, _ in curves.values()) or 1.0
    equal: list[list[str]] = []
    for name in importance.names:
        if name == RANDOM:
            continue
        same = (names for names in equal if _same(curves[names[0]], curves[name]))
        if (names := next(same, None)) is None:
            equal.append([name])
        else:
            names.append(name)
    # Earlier curves are drawn wider, so that they show below later ones that nearly coincide.
    widths = np.linspace(4.5, 1.2, len(equal)) if len(equal) > 1 else [1.8]
    for names, color, width in zip(equal, cycle(FACTOR_COLORS), widths, strict=False):
        label = fill(", ".join(names), LEGEND_WIDTH)
        _steps(axis, curves[names[0]], right, color=color, lw=width, label=label)
    if RANDOM in curves:
        _steps(axis, curves[RANDOM], right, color="black", lw=1.2, ls="--", label=RANDOM_PAIRS)
    axis.set(
        xlabel=f"perceived distance ({importance.loss})",
        ylabel="cumulative proportion of pairs",
        ylim=(0, 1.02),
    )
    axis.set_xlim(0, right)
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9)
    return tidy(axis)


def _proportions(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct distances, and the proportion of values up to each."""
    distinct, counts = np.unique(values, return_counts=True)
    return distinct, np.cumsum(counts) / max(len(values), 1)


def _same(curve: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(curve, other, strict=True))


def _steps(axis: Any, curve: tuple[np.ndarray, np.ndarray], right: float, **style: Any) -> None:
    """Draw a cumulative distribution, extended to the right edge of the figure."""
    distinct, height = curve
    x = np.concatenate([distinct[:1], distinct, [right]])
    axis.step(x, np.concatenate([[0.0], height, height[-1:]]), where="post", **style)
