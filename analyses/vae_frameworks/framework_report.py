"""What `vae_frameworks` found, beside what was published, and its figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analyses.shared.model_runs import Row, summarise, table, write_markdown
from analyses.shared.studies.framework_sets import APART, MASKED, OBJECT, OVERLAP, SHADES, SPRITES
from analyses.shared.studies.seed_claims import SeedClaim, claims_table
from geodis import plots

MSE, BOX, LEARNT = "MSE", "MSE + box blur", "MSE + learnt kernel"
FRAMEWORKS = ("BetaVAE", "AdaGVAE")
# A difference of two sets, or of two losses, of which the first disentangles better.
PAIRS = (
    ("places that overlap - apart", "above (Fig. 3.7, 3.10)", (OVERLAP, MSE), (APART, MSE)),
    ("box blur - plain", "above (Fig. 3.12)", (APART, BOX), (APART, MSE)),
    ("learnt kernel - plain", "above (Fig. 6.4)", (APART, LEARNT), (APART, MSE)),
    ("learnt kernel - box blur", "above (Fig. 6.4)", (APART, LEARNT), (APART, BOX)),
    ("Sprites - squares", "above (Fig. 3.7)", (SPRITES, MSE), (APART, MSE)),
    ("shades a factor - a value", "above (Fig. 7.3)", (SHADES, MSE), (OBJECT, MSE)),
    ("clean - noise 50 %", "above (Fig. 7.6)", (SPRITES, MSE), (MASKED[50], MSE)),
    ("noise 50 % - 100 %", "above (Fig. 7.6)", (MASKED[50], MSE), (MASKED[100], MSE)),
)
SCORES = {"mig": "MIG", "dci": "DCI"}
CLAIMS = tuple(
    SeedClaim(
        f"{SCORES[column]}, {framework}: {words}",
        published,
        {"data": first[0], "loss": first[1], "model": framework},
        {"data": second[0], "loss": second[1], "model": framework},
        column,
    )
    for words, published, first, second in PAIRS
    for framework in FRAMEWORKS
    for column in SCORES
)


def write_report(
    rows: Sequence[Row], out: Path, name: str, preset: Any, words: str, planned: int
) -> None:
    """Tables and the figure."""
    lines = ["# Two frameworks on sets that are easy or hard to perceive", "", words, ""]
    lines += [f"Preset {name}: {preset}; {len(rows)} of {planned} runs are finished.", ""]
    lines += [
        "Published: figures of sets of 64 x 64 pixels, convolutions, 57,600 or 115,200 steps, "
        "one to five repeats of each of many settings, without tables.",
        "",
    ]
    columns = ["mig", "dci", "error", "error of the mean image"]
    header = ["set", "loss", "beta", "model", "seeds", "MIG", "DCI", *columns[2:]]
    cells = summarise(rows, ["data", "loss", "beta", "model"], columns, 4)
    lines += [
        "Where neither framework is above .1 in MIG after so few steps, as on the object and on "
        "sprites, a verdict is one on these sizes and lengths, and says little of the paper's.",
        "",
    ]
    lines += ["## Scores", "", *table(header, cells), "", *claims_table(rows, CLAIMS)]
    write_markdown(out, lines[:-1])
    plots.save_figure(draw(rows, name), out / "frameworks.png")


def draw(rows: Sequence[Row], preset: str) -> Any:
    """MIG and DCI of every run, a row a set and loss."""
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
        axis.set_xlim(left=0)
        axis.locator_params(axis="x", nbins=6)
        axis.grid(axis="y", color="#eeeeee")
        axis.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    axes[0].figure.legend(
        handles, labels, frameon=False, fontsize=8, loc="outside upper left", ncols=2
    )
    return axes[0]
