"""Figures of the study, as those of seed 000 are numbered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analyses.unsupervised_study.published_study import GROUPED_BY, SHARES
from analyses.unsupervised_study.share_tables import share_found
from analyses.unsupervised_study.study_measures import (
    DOWNSTREAM,
    EFFICIENCY,
    PUBLISHED_SCORES,
    TC_MEAN,
    TC_SAMPLED,
    UNSUPERVISED,
)
from analyses.unsupervised_study.study_presets import METHODS
from analyses.unsupervised_study.study_sets import PUBLISHED
from geodis import plots
from geodis.plots import FACTOR_COLORS, MARKERS, tidy

LOOKS = dict(zip(METHODS, zip(FACTOR_COLORS, MARKERS, strict=True), strict=False))


def save_all(frame: pd.DataFrame, out: Path) -> None:
    """Draw every figure that there are runs for."""
    for name, draw in FIGURES.items():
        axis = draw(frame)
        if axis is not None:
            plots.save_figure(axis, out / name)


def _sets(frame: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    return [(str(name), own) for name, own in frame.groupby("data", sort=False)]


def draw_total_correlation(frame: pd.DataFrame) -> Any:
    """Figure 1: total correlation against strength, without AnnealedVAE, as published."""
    sets = _sets(frame[frame["method"] != "AnnealedVAE"])
    axes = plots.new_axes(2, len(sets), 1.0 + 2.9 * len(sets), 5.6)
    for column, (data, own) in enumerate(sets):
        for row, quantity in enumerate((TC_SAMPLED, TC_MEAN)):
            axis = axes[row, column]
            for method, runs in own.groupby("method", sort=False):
                color, marker = LOOKS[str(method)]
                mean = runs.groupby("place")[quantity].mean()
                axis.plot(mean.index, mean, color=color, marker=marker, ms=4, lw=1, label=method)
                axis.plot(runs["place"], runs[quantity], ".", color=color, ms=3, alpha=0.5)
            axis.set_title(f"{quantity}, {PUBLISHED[data]}", loc="left", fontsize=9)
            # A few latents that follow each other closely would hide all the rest.
            axis.set_yscale("symlog", linthresh=0.01)
            axis.set_ylim(bottom=0)
            tidy(axis, whole_x=True)
            axis.set_xticks(sorted(own["place"].unique()))
        axes[1, column].set_xlabel("strength, 0: weakest")
    axes[0, 0].set_ylabel("nats")
    axes[1, 0].set_ylabel("nats")
    _legend(axes[0, 0])
    return axes[0, 0]


def draw_agreement(frame: pd.DataFrame) -> Any:
    """Figure 2: rank correlations of scores, a panel a set."""
    keys = list(PUBLISHED_SCORES.values())
    return _heat_maps(frame, keys, keys, list(PUBLISHED_SCORES), list(PUBLISHED_SCORES))


def draw_selection(frame: pd.DataFrame) -> Any:
    """Figure 4: rank correlations of quantities without factors with scores."""
    keys = list(PUBLISHED_SCORES.values())
    return _heat_maps(frame, list(UNSUPERVISED), keys, list(UNSUPERVISED), list(PUBLISHED_SCORES))


def draw_downstream(frame: pd.DataFrame) -> Any:
    """Figure 5: rank correlations of scores with downstream accuracy and efficiency."""
    keys = list(PUBLISHED_SCORES.values())
    return _heat_maps(frame, list(DOWNSTREAM), keys, list(DOWNSTREAM), list(PUBLISHED_SCORES))


def _heat_maps(
    frame: pd.DataFrame, rows: list[str], columns: list[str], named: list[str], across: list[str]
) -> Any:
    sets = [(data, own) for data, own in _sets(frame) if len(own) > 2]
    if not sets:
        return None
    height = 1.6 + 0.34 * len(rows)
    axes = plots.new_axes(1, len(sets), 1.6 + 2.9 * len(sets), height)[0]
    for axis, (data, own) in zip(axes, sets, strict=True):
        ranks = own[list(dict.fromkeys([*rows, *columns]))].rank()
        matrix = ranks.corr(min_periods=3).loc[rows, columns].to_numpy()
        axis.imshow(matrix, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
        for (i, j), value in np.ndenumerate(matrix):
            if np.isfinite(value):
                color = "white" if abs(value) > 0.65 else "black"
                text = f"{100 * value:.0f}"
                axis.text(j, i, text, ha="center", va="center", fontsize=8, color=color)
        axis.set_xticks(range(len(across)), across, rotation=45, ha="right", fontsize=8)
        axis.set_yticks(range(len(named)), named if axis is axes[0] else [], fontsize=8)
        axis.set_title(f"{PUBLISHED[data]}, {len(own)} runs: 100 rho", loc="left", fontsize=9)
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    return axes[0]


def draw_spread(frame: pd.DataFrame) -> Any:
    """Figure 3: FactorVAE score by method, and by strength within each."""
    sets = _sets(frame)
    axes = plots.new_axes(len(sets), 1, 7.6, 1.0 + 1.9 * len(sets))[:, 0]
    random = np.random.default_rng(0)
    for axis, (data, own) in zip(axes, sets, strict=True):
        methods = list(dict.fromkeys(own["method"]))
        places = sorted(own["place"].unique())
        for number, method in enumerate(methods):
            runs = own[own["method"] == method]
            color, marker = LOOKS[method]
            axis.plot(
                [number - 0.4, number + 0.4], [runs["factor_vae"].median()] * 2, color=color, lw=1
            )
            for place, some in runs.groupby("place"):
                at = number + 0.6 * ((places.index(place) + 0.5) / len(places) - 0.5)
                jitter = random.uniform(-0.02, 0.02, len(some))
                axis.plot(at + jitter, some["factor_vae"], marker, color=color, ms=4, alpha=0.8)
        axis.set_xticks(range(len(methods)), methods, fontsize=8)
        axis.set_ylabel("FactorVAE score, not pruned", fontsize=8)
        title = f"{PUBLISHED[data]}: a point a run, weak to strong from the left; lines are medians"
        axis.set_title(title, loc="left", fontsize=9)
        tidy(axis)
    return axes[0]


def draw_efficiency(frame: pd.DataFrame) -> Any:
    """Figure 6: efficiency of boosted trees against the FactorVAE score."""
    sets = _sets(frame)
    axes = plots.new_axes(1, len(sets), 1.0 + 2.9 * len(sets), 3.4)[0]
    for axis, (data, own) in zip(axes, sets, strict=True):
        for method, runs in own.groupby("method", sort=False):
            color, marker = LOOKS[str(method)]
            axis.plot(
                runs["factor_vae"], runs[EFFICIENCY["trees"]], marker, color=color, ms=4,
                alpha=0.8, label=method,
            )  # fmt: skip
        axis.set(xlabel="FactorVAE score, not pruned")
        axis.set_title(f"{PUBLISHED[data]}, {len(own)} runs", loc="left", fontsize=9)
        tidy(axis)
    axes[0].set_ylabel("accuracy from 100 rows\nover that from all")
    _legend(axes[0])
    return axes[0]


def draw_shares(frame: pd.DataFrame) -> Any:
    """Shares of variance with intervals, and the published ones as crosses."""
    sets = _sets(frame)
    axes = plots.new_axes(2, len(sets), 1.0 + 2.6 * len(sets), 5.0)
    for column, (data, own) in enumerate(sets):
        for row, name in enumerate(GROUPED_BY):
            axis = axes[row, column]
            for number, key in enumerate(PUBLISHED_SCORES.values()):
                found, there = share_found(own, name, key), SHARES[name][data][number] / 100
                here, published = ("", "") if number else ("here, 95 % interval", "published")
                axis.plot([number] * 2, [found.low, found.high], color=FACTOR_COLORS[0], lw=2)
                axis.plot(number, found.value, "o", color=FACTOR_COLORS[0], ms=5, label=here)
                axis.plot(number, there, "x", color=FACTOR_COLORS[1], label=published)
            axis.set_ylim(min(-0.25, axis.get_ylim()[0]), 1.02)
            axis.axhline(0, color="#d0d0d0", lw=0.8, zorder=0)
            axis.set_title(f"{name}\n{PUBLISHED[data]}, {len(own)} runs", loc="left", fontsize=9)
            ticks = list(PUBLISHED_SCORES) if row else []
            axis.set_xticks(range(len(PUBLISHED_SCORES)), ticks or [""] * len(PUBLISHED_SCORES))
            axis.tick_params(axis="x", labelrotation=60, labelsize=8)
            tidy(axis)
    axes[0, 0].set_ylabel("share of variance")
    axes[1, 0].set_ylabel("share of variance")
    _legend(axes[0, 0])
    return axes[0, 0]


def _legend(axis: Any) -> None:
    handles, labels = axis.get_legend_handles_labels()
    axis.figure.legend(
        handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=8
    )


FIGURES = {
    "total_correlation.png": draw_total_correlation,
    "agreement.png": draw_agreement,
    "spread.png": draw_spread,
    "selection.png": draw_selection,
    "downstream.png": draw_downstream,
    "efficiency.png": draw_efficiency,
    "shares.png": draw_shares,
}
