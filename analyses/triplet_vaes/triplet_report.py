"""What `triplet_vaes` found, beside what was published, and its figure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analyses.shared.model_runs import Row, hours_of, summarise, table, write_markdown
from analyses.shared.studies.seed_claims import claims_table
from analyses.shared.vae_cases import BY_FACTOR
from analyses.triplet_vaes.triplet_claims import CLAIMS
from geodis import plots

COLUMNS = {
    "truth along factors, published": "factor rank",
    "truth along factors": "factor rank, no self pairs",
    "truth random": "global rank",
    "linearity": "linearity",
    "axis": "axis",
    "mig": "MIG",
    "dci": "DCI",
}
SCHEDULE_1 = (
    "Schedule 1 of table 5.2 as printed, a threshold from 0 to .5 with a shared weight of 1, is "
    "the plain triplet loss, for equation 5.19 then weighs all latents by 1: its runs are those "
    "of TVAE to the last digit, and say nothing of a threshold. Beside them stands the same "
    "threshold with a weight of .5, which the claims are about."
)


FINAL = (
    "The paper compares l1 with l2, and schedules with each other, by the maximum of a score over "
    "a training run; here all scores are those at its end. It says of the strong schedules (3 and "
    "5 of table 5.2) that they decay towards the end and leaves them out."
)
NOT_RUN = (
    "The threshold by KL and l2 or soft triplets are compared on both sets, scaled and unscaled "
    "distances on sprites alone, schedules on squares alone. Not run: other margins and weights of "
    "the triplet loss, Fig. 5.3 (reconstruction with the decoder's gradient cut), and the three "
    "sets that need files (3D Shapes, Cars3D, Small NORB)."
)
ERROR = (
    '"Error" is the squared error of decodings cut to [0, 1], of models with a blurred loss too.'
)


def write_report(
    rows: Sequence[Row],
    out: Path,
    name: str,
    preset: Any,
    words: str,
    sets: Sequence[str],
    planned: int,
) -> None:
    """Tables and the figure."""
    lines = ["# Triplet autoencoders", "", words, ""]
    lines += [
        f"Preset {name}: {preset}; {len(rows)} of {planned} runs are finished. {hours_of(rows)}",
        "",
    ]
    lines += [
        "Published: figures of five sets of 64 x 64 pixels (squares: 8 pixels wide, three of "
        "them), convolutions, 25 latents, 57,600 or 86,400 steps, without tables.",
        "",
        FINAL,
        "",
        SCHEDULE_1,
        "",
        NOT_RUN,
        "",
    ]
    lines += claims_table(rows, CLAIMS)
    lines += [ERROR, ""]
    for data in sets:
        own = [row for row in rows if row["case"]["data"] == data]
        columns = [*COLUMNS, "error", "error of the mean image"]
        header = ["model", "seeds", *COLUMNS.values(), "error", "error of the mean image"]
        lines += [f"## {data}", "", *table(header, summarise(own, ["model"], columns, 3)), ""]
        names = list(dict.fromkeys(key for row in own for key in row if key.startswith(BY_FACTOR)))
        if names:
            header = ["model", "seeds", *(name.removeprefix(BY_FACTOR) for name in names)]
            lines += ["Rank correlation factor by factor, no self pairs:", ""]
            lines += [*table(header, summarise(own, ["model"], names)), ""]
    write_markdown(out, lines[:-1])
    plots.save_figure(draw(rows, name, sets), out / "triplets.png")


def draw(rows: Sequence[Row], preset: str, sets: Sequence[str]) -> Any:
    """Every score of every model, a dot a seed; a column a score, a row a model."""
    shown = [data for data in sets if any(row["case"]["data"] == data for row in rows)]
    longest = max(
        len({row["case"]["model"] for row in rows if row["case"]["data"] == d}) for d in shown
    )
    axes = plots.new_axes(len(shown), len(COLUMNS), 13.0, len(shown) * (1.0 + 0.27 * longest))
    for line, data in zip(axes, shown, strict=True):
        own = [row for row in rows if row["case"]["data"] == data]
        models = list(dict.fromkeys(row["case"]["model"] for row in own))
        for axis, (key, title) in zip(line, COLUMNS.items(), strict=True):
            for place, model in enumerate(models):
                values = [row[key] for row in own if row["case"]["model"] == model]
                known = [value for value in values if value is not None]
                axis.plot(known, [place] * len(known), "o", ms=5, alpha=0.7, color=plots.ACCENT)
            axis.set_yticks(range(len(models)), models if axis is line[0] else [], fontsize=8)
            axis.set(ylim=(len(models) - 0.4, -0.6), xlim=(-0.12, 1.07))
            axis.grid(axis="y", color="#eeeeee")
            axis.set_title(textwrap.fill(title, 14), fontsize=9, loc="left")
            axis.spines[["top", "right"]].set_visible(False)
        line[0].set_ylabel(data)
    axes[-1][0].set_xlabel(f"preset {preset}")
    return axes[0][0]
