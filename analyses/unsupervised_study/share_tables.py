"""Tables of shares of variance beside the published cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analyses.shared.model_runs import table
from analyses.shared.studies.variance_shares import share_of, share_power
from analyses.shared.studies.verdicts import CANNOT_TELL, Interval, spearman_of, verdict_equal
from analyses.unsupervised_study.published_study import (
    CROSSED_WITH,
    GROUPED_BY,
    PUBLISHED_RUNS,
    SHARES,
)
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


def share_found(own: pd.DataFrame, name: str, key: str) -> Interval:
    """The share of the variance of a score over the runs of a set, by a name of `GROUPED_BY`."""
    return share_of(own, GROUPED_BY[name], key, CROSSED_WITH[name])


def share_cells(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Every cell of the tables of shares that there are runs for."""
    cells = []
    for name in GROUPED_BY:
        for data, own in frame.groupby("data", sort=False):
            methods, strengths = own["method"].nunique(), own["place"].nunique()
            seeds = len(own) // (methods * strengths)
            for number, (score, key) in enumerate(PUBLISHED_SCORES.items()):
                found = share_found(own, name, key)
                published = SHARES[name][str(data)][number] / 100
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
                        "power": cell_power(name, str(data), number, methods, strengths, seeds),
                        "verdict": verdict_equal(found, published, SHARE_MARGIN),
                    }
                )
    return cells


def cell_power(
    name: str, data: str, number: int, methods: int, strengths: int, seeds: int
) -> float:
    """How often a study of so many runs could tell a cell, were the published shares true."""
    both = SHARES["method x strength"][data][number] / 100
    if name == "method x strength":
        return share_power(both, methods * strengths, seeds, both, SHARE_MARGIN)
    share, size = SHARES[name][data][number] / 100, strengths * seeds
    return share_power(share, methods, size, share, SHARE_MARGIN, both, strengths)


def share_lines(
    frame: pd.DataFrame, cells: Sequence[dict[str, Any]], means: Sequence[dict[str, Any]]
) -> list[str]:
    """Tables of cells and of their means."""
    lines = [
        "## Shares of variance",
        "",
        "Per cent of the variance of a score that lies between methods, and between methods with "
        "their strengths: here adjusted for the number of groups, which pure noise leaves at 0, "
        "with the interval of 95 % of normal scores (inverted noncentral F of mean squares between "
        "groups and within settings; for methods the variance of their strengths is taken at its "
        f"estimate), and published ({PUBLISHED_RUNS} runs a set, where adjusting changes little) "
        "after the stroke. "
        f"In bold where the interval lies within {100 * SHARE_MARGIN:.0f} points of the published "
        "share (reproduced), in italics where it lies outside (not reproduced); in all others it "
        "cannot be told, and the power is in brackets: how often a study of this size could tell, "
        "were the published share true.",
        "",
    ]
    for name in GROUPED_BY:
        rows = []
        for data in frame["data"].unique():
            own = [cell for cell in cells if cell["by"] == name and cell["data"] == data]
            rows.append([PUBLISHED[data], str(own[0]["runs"]), *map(_share_text, own)])
        header = [name, "runs", *PUBLISHED_SCORES]
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
            *_mean_lines(means),
            _paper_power(cells),
            "",
            "![shares](shares.png)",
            "",
            "A panel a set: circles are shares here with their intervals, crosses the published "
            "shares.",
            "",
        ]
    return lines


def _mean_lines(means: Sequence[dict[str, Any]]) -> list[str]:
    named = {
        "method": "the method",
        "strength": "its strength, beyond the method",
        "seeds": "left to seeds",
    }
    rows = [
        [
            named[mean["part"]],
            f"{100 * mean['published']:.0f}",
            f"{100 * mean['here']:.0f} ({100 * mean['low']:.0f} to {100 * mean['high']:.0f})",
            f"{mean['runs']} on {mean['sets']} sets",
            f"{mean['power']:.2f}",
            mean["verdict"],
        ]
        for mean in means
    ]
    return [
        "Means over scores and these sets, in per cent. The interval is of a parametric bootstrap: "
        "runs are drawn anew, with the means of settings and the covariance of scores within them; "
        "sets and scores are fixed, as published. Verdicts and power are of the same margin. What "
        "is left to seeds contains the noise of scoring 2,000 rows (published 10,000).",
        "",
        *table(["part", "published", "here", "runs", "power", "verdict"], rows),
        "",
    ]


def _paper_power(cells: Sequence[dict[str, Any]]) -> str:
    """What the paper preset could tell."""
    paper, scores = PRESETS["paper"], list(PUBLISHED_SCORES)
    methods, strengths = len(paper.methods), len(paper.strengths)
    power = [
        np.mean(
            [
                cell_power(
                    name, cell["data"], scores.index(cell["score"]), methods, strengths, paper.seeds
                )
                for cell in cells
                if cell["by"] == name
            ]
        )
        for name in GROUPED_BY
    ]
    return (
        f"With the {methods * strengths * paper.seeds} runs a set of the paper preset the mean "
        f"power of the cells is {power[0]:.2f} and {power[1]:.2f}."
    )


def _share_text(cell: dict[str, Any]) -> str:
    value, low, high = (f"{100 * cell[name]:.0f}" for name in ("adjusted", "low", "high"))
    mark = {"reproduced": "**", "not reproduced": "_", CANNOT_TELL: ""}[cell["verdict"]]
    power = f" [{cell['power']:.2f}]" if cell["verdict"] == CANNOT_TELL else ""
    return f"{mark}{value}{mark} ({low} to {high}) / {100 * cell['published']:.0f}{power}"
