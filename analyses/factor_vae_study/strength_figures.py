"""Figures: scores and reconstruction by strength (Fig. 4) and against each other (Fig. 5)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from analyses.factor_vae_study.named_runs import BETA, FACTOR, GAN
from analyses.factor_vae_study.run_measures import ERROR, OLDER, SCORE
from analyses.factor_vae_study.total_correlation import ESTIMATE, TRUE
from analyses.shared.studies.verdicts import Interval, mean_interval
from geodis import plots

if TYPE_CHECKING:
    import pandas as pd

NATS = {ERROR: f"{ERROR}, nats", TRUE: f"{TRUE}, nats", ESTIMATE: f"{ESTIMATE}, nats"}
LOOKS = {
    name: (plots.FACTOR_COLORS[j], plots.MARKERS[j]) for j, name in enumerate((BETA, FACTOR, GAN))
}
# Where the label of a point may stand, in points of the page, the nearest first.
PLACES = [(x, y) for far in (5, 12, 19, 26) for y in (far, -far - 7) for x in (5, -18, far)]
LABEL = (16, 7)  # width and height that a label takes


def draw_strengths(rows: pd.DataFrame) -> Any:
    """As Fig. 4: error and both scores by strength, means with intervals over seeds."""
    columns = (ERROR, OLDER, SCORE)
    axes = plots.new_axes(len(columns), 2, 8.0, 7.6)
    for j, (name, letter) in enumerate(((BETA, "beta"), (FACTOR, "gamma"))):
        own = rows[rows["name"] == name]
        for i, column in enumerate(columns):
            axis = axes[i, j]
            strengths, means = _means(own, column)
            _draw_means(axis, np.arange(len(means)), means, *LOOKS[name])
            axis.set_xticks(np.arange(len(means)), [f"{value:g}" for value in strengths])
            plots.tidy(axis)
        axes[0, j].set_title(name, loc="left", fontsize=10)
        axes[-1, j].set_xlabel(letter)
    for i, column in enumerate(columns):
        ends = np.array([axis.get_ylim() for axis in axes[i]])
        for axis in axes[i]:
            axis.set_ylim(ends[:, 0].min(), ends[:, 1].max())
        axes[i, 0].set_ylabel(NATS.get(column, column))
    return axes[0, 0]


def draw_scores(rows: pd.DataFrame) -> Any:
    """As Fig. 5: score against error, means with intervals; and score against score, every run."""
    axes = plots.new_axes(1, 2, 11.0, 4.4)[0]
    labels, drawn = [], []
    for name in (BETA, FACTOR):
        own = rows[rows["name"] == name]
        if own.empty:
            continue
        color, marker = LOOKS[name]
        strengths, errors = _means(own, ERROR)
        _, means = _means(own, SCORE)
        at = [each.value for each in errors]
        axes[0].errorbar(at, [each.value for each in means], xerr=_reach(errors), fmt="none",
                         ecolor=color, elinewidth=0.8)  # fmt: skip
        _draw_means(axes[0], at, means, color, marker, name)
        drawn.append(_places_on(at, means))
        labels += [
            (f"{s:g}", x, each.value, color)
            for s, x, each in zip(strengths, at, means, strict=True)
        ]
    for name, own in rows.groupby("name"):
        color, marker = LOOKS[str(name)]
        axes[1].plot(own[OLDER], own[SCORE], marker, color=color, ms=4, alpha=0.6, label=name)
    axes[0].set(xlabel=NATS[ERROR], ylabel=SCORE)
    axes[0].set_title("numbers: beta, gamma; intervals of means", loc="left", fontsize=10)
    axes[1].set(xlabel=OLDER, ylabel=SCORE)
    axes[1].set_title("every run", loc="left", fontsize=10)
    for axis in axes:
        axis.legend(frameon=False, fontsize=8)
        plots.tidy(axis)
    if labels:
        _label_points(axes[0], labels, np.concatenate(drawn))
    return axes[0]


def draw_course(course: pd.DataFrame) -> Any:
    """As Fig. 7: truth and estimate against steps, means with intervals over seeds."""
    axes = plots.new_axes(1, 2, 9.6, 3.6)[0]
    for axis, column in zip(axes, (TRUE, ESTIMATE), strict=True):
        for j, (gamma, own) in enumerate(course.groupby("gamma")):
            steps, means = _means(own.assign(strength=own["step"]), column)
            look = plots.FACTOR_COLORS[j % 7], plots.MARKERS[j % 7]
            _draw_means(axis, steps, means, *look, f"gamma {gamma:g}")
        axis.set(xlabel="step")
        axis.set_title(NATS[column], loc="left", fontsize=10)
        plots.tidy(axis)
    ends = np.array([axis.get_ylim() for axis in axes])
    for axis in axes:
        axis.set_ylim(ends[:, 0].min(), ends[:, 1].max())
    axes[0].legend(frameon=False, fontsize=8)
    return axes[0]


def _means(own: pd.DataFrame, column: str) -> tuple[list[float], list[Interval]]:
    """Strengths, and the mean at each."""
    found = {float(s): mean_interval(each[column]) for s, each in own.groupby("strength")}
    return list(found), list(found.values())


def _reach(means: Sequence[Interval]) -> np.ndarray:
    """How far intervals reach below and above, (2, n); nowhere where one run has none."""
    ends = np.array([[each.value - each.low, each.high - each.value] for each in means])
    return np.where(np.isfinite(ends), ends, 0.0).reshape(-1, 2).T


def _draw_means(
    axis: Any, at: Any, means: Sequence[Interval], color: str, marker: str, label: str = ""
) -> None:
    if means:
        axis.errorbar(at, [each.value for each in means], yerr=_reach(means), fmt=marker + "-",
                      color=color, ms=5, lw=1, elinewidth=0.8, label=label or None)  # fmt: skip


def _label_points(
    axis: Any, labels: Sequence[tuple[str, float, float, str]], drawn: np.ndarray
) -> None:
    """Write labels (text, x, y, color) beside their points, where they cover nothing.

    Parameters
    ----------
    drawn : ndarray of shape (k, 2)
        Places on lines and at markers.
    """
    axis.figure.draw_without_rendering()  # lays the axes out: only then pixels are known
    scale = axis.figure.dpi / 72  # pixels of a point of the page
    taken = axis.transData.transform(drawn) / scale
    for text, x, y, color in labels:
        at = axis.transData.transform((x, y)) / scale
        covered = [_covered(at + np.array(place), taken) for place in PLACES]
        best = PLACES[int(np.argmin(covered))]
        axis.annotate(text, (x, y), best, textcoords="offset points", fontsize=8, color=color)
        corner = at + np.array(best)
        box = [corner + np.array(LABEL) * (i, j) for i in (0, 0.5, 1) for j in (0, 0.5, 1)]
        taken = np.concatenate([taken, box])


def _covered(corner: np.ndarray, taken: np.ndarray) -> int:
    """How many places a label with this lower left corner covers, in points of the page."""
    inside = taken - corner
    return int(((inside > -2) & (inside < np.array(LABEL) + 2)).all(axis=1).sum())


def _places_on(at: Sequence[float], means: Sequence[Interval]) -> np.ndarray:
    """Places on intervals, and on the lines that join means, (k, 2)."""
    part = np.linspace(0, 1, 20)[:, None]
    x, reach = np.asarray(at), _reach(means)
    y = np.array([each.value for each in means])
    low, high = np.column_stack([x, y - reach[0]]), np.column_stack([x, y + reach[1]])
    points = np.column_stack([x, y])
    ends = [*zip(low, high, strict=True), *pairwise(points)]
    return np.concatenate([first + part * (last - first) for first, last in ends])
