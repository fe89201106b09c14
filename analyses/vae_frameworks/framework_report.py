"""What `vae_frameworks` found, beside what was published, and its figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from analyses.shared.model_runs import Row, hours_of, summarise, table, write_markdown
from analyses.shared.studies.seed_claims import claims_table
from analyses.vae_frameworks.framework_claims import FRAMEWORKS, SCORES, claims_with
from analyses.vae_frameworks.loss_left import LEFT, learnt_lines
from analyses.vae_frameworks.spacing_trend import trend_lines
from geodis import plots

WHICH = ("data", "loss", "model")
NOT_HERE = (
    "Of the five sets of Fig. 3.7 two are here, squares and sprites; 3D Shapes, Cars3D and Small "
    "NORB need their files: `--published shapes3d=3dshapes.h5 cars3d=cars smallnorb=norb`, with "
    "another `--out`. Of the eight spacings of Fig. 3.10 four fit into so small images. Fig. 7.6 "
    "has noise with the spectrum of photographs, of the background at four visibilities and of the "
    "foreground at two."
)


def best_by_other_seeds(rows: Sequence[Row]) -> list[Row]:
    """Of every seed the scores at the strength that is best for all other seeds, score by score.

    A strength that is chosen on the seeds it is judged by would be better by luck alone. Seeds that
    not all strengths have, and all of what has one seed only, are left out.

    Returns
    -------
    list of dict
        One row a set, loss, model and seed, whose "case" says no strength, with those chosen.

    Examples
    --------
    >>> lucky = {(0.1, 0): 0.9, (0.1, 1): 0.2, (0.1, 2): 0.1}
    >>> steady = {(0.2, 0): 0.5, (0.2, 1): 0.4, (0.2, 2): 0.4}
    >>> shared = {"data": "a", "loss": "MSE", "model": "BetaVAE"}
    >>> rows = [{"case": {**shared, "beta": beta, "seed": seed}, "mig": v, "dci": v}
    ...         for (beta, seed), v in {**lucky, **steady}.items()]
    >>> [(row["mig"], row["beta of mig"]) for row in best_by_other_seeds(rows)]
    [(0.5, 0.2), (0.2, 0.1), (0.1, 0.1)]
    """
    groups: dict[tuple[str, ...], dict[float, dict[int, Row]]] = {}
    for row in rows:
        case = row["case"]
        own = groups.setdefault(tuple(case[name] for name in WHICH), {})
        own.setdefault(case["beta"], {})[case["seed"]] = row
    best = []
    for which, by_beta in groups.items():
        seeds = sorted(set.intersection(*(set(own) for own in by_beta.values())))
        for seed in seeds if len(seeds) > 1 else []:
            found: Row = {"case": {**dict(zip(WHICH, which, strict=True)), "seed": seed}}
            others = [other for other in seeds if other != seed]
            for column in SCORES:
                means = {b: np.mean([by_beta[b][s][column] for s in others]) for b in by_beta}
                chosen = max(means, key=lambda beta: means[beta])
                found |= {column: by_beta[chosen][seed][column], f"beta of {column}": chosen}
            best.append(found)
    return best


def write_report(
    rows: Sequence[Row],
    out: Path,
    name: str,
    preset: Any,
    words: str,
    planned: int,
    files: Sequence[str] = (),
) -> None:
    """Tables and the figure."""
    best = best_by_other_seeds(rows)
    lines = ["# Two frameworks on sets that are easy or hard to perceive", "", words, ""]
    lines += [
        f"Preset {name}: {preset}; {len(rows)} of {planned} runs are finished.",
        hours_of(rows),
        "",
    ]
    lines += [
        "Published: figures of sets of 64 x 64 pixels, convolutions, 57,600 or 115,200 steps, "
        "one to five repeats of each of many settings, without tables.",
        "",
        NOT_HERE,
        "",
    ]
    header = ["set", "loss", "model", "seeds", "MIG", "DCI", "strengths chosen for MIG", "for DCI"]
    cells = [[*line, *_chosen(best, line)] for line in summarise(best, WHICH, list(SCORES))]
    lines += [
        "## At the strength that is best for the other seeds",
        "",
        "The seeds that choose are those that other seeds are compared at, so that intervals are "
        "somewhat too short.",
        "",
        *table(header, cells),
        "",
    ]
    lines += claims_table(best, claims_with(files))
    lines += trend_lines(best)
    lines += learnt_lines(rows)
    columns = ["mig", "dci", LEFT]
    header = ["set", "loss", "beta", "model", "seeds", "MIG", "DCI", LEFT]
    cells = summarise(rows, ["data", "loss", "beta", "model"], columns)
    lines += ["## All strengths", "", *table(header, cells), ""]
    write_markdown(out, lines[:-1])
    if best:
        plots.save_figure(draw(best, name), out / "frameworks.png")


def _chosen(best: Sequence[Row], line: Sequence[str]) -> list[str]:
    """Strengths that were chosen for a line of the table, score by score, and how often."""
    own = [row for row in best if [str(row["case"][name]) for name in WHICH] == [*line[:3]]]
    counts = [Counter(row[f"beta of {column}"] for row in own) for column in SCORES]
    return [", ".join(f"{beta:g} ({n})" for beta, n in sorted(each.items())) for each in counts]


def draw(rows: Sequence[Row], preset: str) -> Any:
    """MIG and DCI of every seed, a row a set and loss."""
    pairs = list(dict.fromkeys((row["case"]["data"], row["case"]["loss"]) for row in rows))
    axes = plots.new_axes(1, 2, 10.5, 1.2 + 0.42 * len(pairs))[0]
    for axis, (key, title) in zip(axes, SCORES.items(), strict=True):
        for j, framework in enumerate(FRAMEWORKS):
            for i, pair in enumerate(pairs):
                own = [
                    row[key]
                    for row in rows
                    if (row["case"]["data"], row["case"]["loss"]) == pair
                    and row["case"]["model"] == framework
                ]
                axis.plot(
                    own,
                    [i + 0.3 * (j - 0.5)] * len(own),
                    plots.MARKERS[j],
                    color=plots.FACTOR_COLORS[j],
                    ms=5,
                    alpha=0.75,
                    label=framework if i == 0 else None,
                )
        names = [f"{data}, {loss}" for data, loss in pairs] if axis is axes[0] else []
        axis.set_yticks(range(len(pairs)), names, fontsize=8)
        axis.set(ylim=(len(pairs) - 0.4, -0.6), xlabel=f"{title}, preset {preset}")
        axis.set_xlim(left=-0.02)  # a marker at 0 is drawn whole
        axis.locator_params(axis="x", nbins=6)
        axis.grid(axis="y", color="#eeeeee")
        axis.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    axes[0].figure.legend(
        handles, labels, frameon=False, fontsize=8, loc="outside upper left", ncols=2
    )
    return axes[0]
