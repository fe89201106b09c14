"""Figures of how far kinds of distance agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.distances.agreement_table import RANDOM, DistanceCorrelations, SourcePair
from geodis.distances.correlations import Correlation
from geodis.plots.figure.choices import Choices
from geodis.plots.figure.marks import (
    Axis,
    Color,
    Dots,
    Figure,
    Panel,
    Picked,
    PickedLabel,
    factor_color,
    one_panel,
)
from geodis.plots.figure.static import draw_figure
from geodis.plots.style import ACCENT, FACTOR_COLORS, MARKERS, new_axis, tidy

# Kind of distance -> distances of the same pairs; of random pairs, or along a factor.
PairDistances = Mapping[str, Mapping[str, np.ndarray]]
# Rank correlations of two kinds of distance, by the same.
RankCorrelations = Mapping[str, Mapping[SourcePair, float]]

RANDOM_PAIRS = "random pairs"
APART = 0.22  # between marks of one row
TOLD_CORRELATION = "{row}: {label}\nrank {rank:.3f}, linear {linear:.3f}\n{pairs:,} pairs"


def distance_correlations_figure(correlations: DistanceCorrelations) -> Figure:
    """Describe rank correlations (filled) and linear ones (hollow) for every factor.

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
    panel = Panel(
        marks,
        x=Axis("correlation", limits=(min(0.0, lowest) - 0.02, 1.0), zero=True),
        y=Axis(names=tuple(rows), limits=(len(rows) - 0.5, -0.5)),
        title="rank correlation (hollow: linear)",
        legend="beside",
        striped=True,
    )
    return one_panel(
        "distance_correlations",
        "rank correlations of distances; linear ones are hollow",
        panel,
        size=(6.4, 1.3 + 0.36 * len(rows)),
        height=160 + 44 * len(rows),
    )


def _correlation_marks(
    rows: Mapping[str, Mapping[SourcePair, Correlation]], kinds: list[SourcePair], k: int
) -> list[Dots]:
    """Linear and rank correlations of one pair of kinds, a little apart from the others."""
    of_rows = [row[kinds[k]] for row in rows.values()]
    height = np.arange(len(rows)) + (k - (len(kinds) - 1) / 2) * APART
    rank, linear = ([getattr(one, name) for one in of_rows] for name in ("spearman", "pearson"))
    pairs = [one.n for one in of_rows]
    told = {"row": list(rows), "rank": rank, "linear": linear, "pairs": pairs}
    first, second = kinds[k]
    color, hover = factor_color(k), TOLD_CORRELATION
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
    """Draw rank correlations (filled) and linear ones (hollow) for every factor.

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
    """Pairs of points that are drawn alike: random ones, or those along a factor."""

    source: str
    name: str
    color: Color
    marker: int
    distances: Mapping[str, np.ndarray]


def pair_groups(pairs: PairDistances) -> list[PairGroup]:
    """How pairs are named and coloured.

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
    """Draw pairs of points by two kinds of their distance.

    Parameters
    ----------
    pairs : mapping of str to mapping of str to ndarray of shape (p,)
        "random" or a factor -> kind of distance -> distances of the same pairs.
    x, y : str, optional
        Kinds; the first and the last by default.
    rank : mapping of str to mapping of (kind, kind) to float, optional
        As of `distance_scatter_choices`.

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
    """Describe pairs of points by any two kinds of their distance.

    Parameters
    ----------
    pairs : mapping of str to mapping of str to ndarray of shape (p,)
        "random" or a factor -> kind of distance -> distances of the same pairs.
    rank : mapping of str to mapping of (kind, kind) to float, optional
        "random" or a factor -> rank correlations, of all pairs and not only of these.

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
    """The pairs of a group; its label says how far the two kinds of distance agree."""
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
