"""Figures of a comparison: scores beside one another, similarities, distances along factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from geodis.base.text import fixed
from geodis.plots.figure.marks import Axis, Cells, Dots, Figure, Panel, factor_color, one_panel

if TYPE_CHECKING:
    from geodis.distances.agreement_table import DistanceCorrelations
    from geodis.report.comparison.paired_scores import PairedScores
    from geodis.report.comparison.similarities import Similarity

APART = 0.7  # of the room of one name, for the marks of all runs


def scores_of_runs_figure(scores: PairedScores, models: Sequence[str]) -> Figure:
    """Describe every score that has a common scale, a mark for each run in its model's colour."""
    number_of = {model: number for number, model in enumerate(dict.fromkeys(models))}
    seeds = [list(models[:i]).count(model) for i, model in enumerate(models)]
    judged = scores.chance.notna().any(axis=1)
    judged = judged if judged.any() else scores.value.notna().any(axis=1)
    value, chance = scores.value[judged], scores.chance[judged]
    names, runs = tuple(map(str, value.index)), list(map(str, value.columns))
    k, count = len(names), len(runs)
    place = np.arange(k)
    marks = []
    if chance.notna().any(axis=None):
        marks.append(Dots(chance.mean(axis=1).to_numpy(), place, "chance", "faint", 1, True,
                          "small", hover="{y}: chance {x:.3f}"))  # fmt: skip
    for number, run in enumerate(runs):
        ends = zip(scores.low.loc[value.index, run], scores.high.loc[value.index, run], strict=True)
        spans = [(float(a), float(b)) if np.isfinite(a) else None for a, b in ends]
        shift = (number - (count - 1) / 2) * APART / max(count, 1)
        told = {"score": names}
        marks.append(
            Dots(value[run].to_numpy(), place + shift, run, factor_color(number_of[models[number]]),
                 seeds[number], spans=spans,
                 hover="{label}\n{score}: {x:.3f}", told=told)
        )  # fmt: skip
    numbers = value.to_numpy(float)
    limits = min(-0.02, float(np.nanmin(numbers))), max(1.02, float(np.nanmax(numbers)))
    up = Axis(names=names, limits=(k - 0.5, -0.5))
    panel = Panel(marks, Axis("score", limits=limits), up, legend="beside", striped=True)
    return one_panel("scores", f"{k} scores of {count} runs beside chance", panel,
                     height=90 + k * max(19, 7 * count))  # fmt: skip


def similarity_figure(alike: Similarity, names: Sequence[str]) -> Figure:
    """Describe one measure between all runs."""
    told = f"{{y}} and {{x}}\n{alike.name}: {{z:.3f}}"
    low = min(0.0, float(np.nanmin(alike.matrix)))
    return _square(alike.name.lower(), f"{alike.name} (unrelated: {fixed(alike.chance)})",
                   np.round(alike.matrix, 3) + 0.0, low, told, names)  # fmt: skip


def factors_agree_figure(matrix: np.ndarray, names: Sequence[str]) -> Figure:
    """Describe what share of the factors of one run the factors of another tell."""
    told = "of the factors of {y}, those of {x} tell {z:.2f}"
    title = "R² of the factors of a row by those of a column"
    return _square("factors", title, np.clip(matrix, 0, 1), 0.0, told, names)


def _square(
    name: str, title: str, matrix: np.ndarray, low: float, told: str, names: Sequence[str]
) -> Figure:
    cells = Cells(np.asarray(matrix, float), low, 1.0, digits=2, hover=told)
    axis = Axis(names=tuple(names))
    panel = Panel([cells], axis, axis, title=title, frame="none")
    size = int(np.clip(130 + 34 * len(names), 200, 760))
    return one_panel(name, title, panel, height=size)


def distances_of_runs_figure(agreed: Mapping[str, DistanceCorrelations]) -> Figure:
    """Describe rank correlations of latent with ground-truth distances, a mark for each run."""
    from geodis.distances.grid_distances import GROUND_TRUTH, LATENT

    key = (GROUND_TRUTH, LATENT)
    rows = ["random pairs", *next(iter(agreed.values())).factors]
    marks = []
    for number, (run, one) in enumerate(agreed.items()):
        measured = [one.random[key], *(one.factors[name][key] for name in rows[1:])]
        shift = (number - (len(agreed) - 1) / 2) * APART / len(agreed)
        marks.append(
            Dots([m.spearman for m in measured], np.arange(len(rows)) + shift, run,
                 factor_color(number), spans=[m.spearman_interval for m in measured],
                 hover="{label}\n{row}: {x:.3f}", told={"row": rows})
        )  # fmt: skip
    low = min(float(np.min(np.asarray(mark.x))) for mark in marks)
    across = Axis("rank correlation with the factors' distances", limits=(min(low, 0) - 0.02, 1.0))
    up = Axis(names=tuple(rows), limits=(len(rows) - 0.5, -0.5))
    panel = Panel(marks, across, up, legend="beside", striped=True)
    return one_panel("distances", "how far distances of the latents follow those of the factors",
                     panel, height=110 + len(rows) * max(28, 8 * len(agreed)))  # fmt: skip
