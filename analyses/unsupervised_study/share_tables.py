"""Tables of shares of variance beside the published cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analyses.shared.model_runs import table
from analyses.shared.studies.variance_shares import share_of, share_power
from analyses.shared.studies.verdicts import CANNOT_TELL, spearman_of, verdict_equal
from analyses.unsupervised_study.published_study import GROUPED_BY, PUBLISHED_RUNS, SHARES
from analyses.unsupervised_study.study_measures import PUBLISHED_SCORES
from analyses.unsupervised_study.study_presets import PRESETS
from analyses.unsupervised_study.study_sets import PUBLISHED

# A share of variance within this of the published one is that.
SHARE_MARGIN = 0.15


def counted_verdicts(verdicts: Iterable[str]) -> str:
    """How many verdicts of which kind, in a sentence."""
    counted = Counter(verdicts)
    said = ", ".join(f"{name}: {number}" for name, number in counted.most_common())
    return f"Of {sum(counted.values())} verdicts {said}."


def share_cells(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Every cell of the tables of shares that there are runs for."""
    cells = []
    for name, by in GROUPED_BY.items():
        for data, own in frame.groupby("data", sort=False):
            groups = own.groupby(list(by)).ngroups
            for number, (score, key) in enumerate(PUBLISHED_SCORES.items()):
                found = share_of(own, by, key)
                published = SHARES[name][str(data)][number] / 100
                size = len(own) // groups
                verdict = verdict_equal(found, published, SHARE_MARGIN)
                power = share_power(published, groups, size, published, SHARE_MARGIN)
                cells.append(
                    {
                        "by": name,
                        "data": data,
                        "score": score,
                        "published": published,
                        "adjusted": found.value,
                        "low": found.low,
                        "high": found.high,
                        "runs": found.n,
                        "power": power,
                        "verdict": verdict,
                    }
                )
    return cells


def share_lines(frame: pd.DataFrame, cells: Sequence[dict[str, Any]]) -> list[str]:
    lines = [
        "## Shares of variance",
        "",
        "Per cent of the variance of a score that lies between methods, and between methods with "
        "their strengths: here adjusted for the number of groups, which pure noise leaves at 0, "
        "with the interval of 95 % of normal scores (inverted noncentral F), and published "
        f"({PUBLISHED_RUNS} runs a set, where adjusting changes little) after the stroke. "
        f"In bold where the interval lies within {100 * SHARE_MARGIN:.0f} points of the published "
        f"share (reproduced), in italics where it lies outside (not reproduced); in all others it "
        "cannot be told. Power is how often a study of this size could tell, were the published "
        "share true.",
        "",
    ]
    for name in GROUPED_BY:
        rows = []
        for data in frame["data"].unique():
            own = [cell for cell in cells if cell["by"] == name and cell["data"] == data]
            power = np.mean([cell["power"] for cell in own])
            rows.append(
                [PUBLISHED[data], str(own[0]["runs"]), *map(_share_text, own), f"{power:.2f}"]
            )
        header = [name, "runs", *PUBLISHED_SCORES, "power (mean)"]
        lines += [*table(header, rows), ""]
    told = counted_verdicts(cell["verdict"] for cell in cells)
    published = sum(len(row) for side in SHARES.values() for row in side.values())
    lines += [
        f"{told} Of {published} published cells {len(cells)} are of sets that are here; Cars3D, "
        "Shapes3D and SmallNORB need their files.",
        "",
    ]
    if cells:
        gap = [cell["adjusted"] - cell["published"] for cell in cells]
        pairs = spearman_of(
            [cell["published"] for cell in cells], [cell["adjusted"] for cell in cells]
        )
        inside = sum(cell["low"] <= cell["published"] <= cell["high"] for cell in cells)
        lines += [
            f"Ours less published: {100 * np.mean(gap):+.0f} points on average, "
            f"{100 * np.mean(np.abs(gap)):.0f} points off; the published share is inside the "
            f"interval in {inside} of {len(cells)} cells, and cells rank alike with rho {pairs}.",
            "",
            f"{_mean_shares(cells)} {_paper_power(cells)}",
            "",
            "![shares](shares.png)",
            "",
        ]
    return lines


def _mean_shares(cells: Sequence[dict[str, Any]]) -> str:
    """What method, strength and seed explain on average over sets and scores."""
    mean = {
        side: {
            name: 100 * np.mean([cell[side] for cell in cells if cell["by"] == name])
            for name in GROUPED_BY
        }
        for side in ("adjusted", "published")
    }
    told = []
    for side, word in (("adjusted", "here"), ("published", "published")):
        method, both = mean[side].values()
        told.append(
            f"{word} the method explains {method:.0f} %, its strength {both - method:.0f} % more, "
            f"and {100 - both:.0f} % are left to seeds"
        )
    return f"On average over these sets and scores, {'; '.join(told)}."


def _paper_power(cells: Sequence[dict[str, Any]]) -> str:
    """What the paper preset could tell."""
    paper = PRESETS["paper"]
    methods, settings = len(paper.methods), len(paper.methods) * len(paper.strengths)
    power = [
        np.mean(
            [
                share_power(cell["published"], groups, size, cell["published"], SHARE_MARGIN)
                for cell in cells
                if cell["by"] == name
            ]
        )
        for name, groups, size in (
            ("method", methods, settings // methods * paper.seeds),
            ("method x strength", settings, paper.seeds),
        )
    ]
    return (
        f"With the {settings * paper.seeds} runs a set of the paper preset the mean power is "
        f"{power[0]:.2f} and {power[1]:.2f}."
    )


def _share_text(cell: dict[str, Any]) -> str:
    value, low, high = (f"{100 * cell[name]:.0f}" for name in ("adjusted", "low", "high"))
    mark = {"reproduced": "**", "not reproduced": "_", CANNOT_TELL: ""}[cell["verdict"]]
    return f"{mark}{value}{mark} ({low} to {high}) / {100 * cell['published']:.0f}"
