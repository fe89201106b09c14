"""What `triplet_vaes` found, beside what was published, and its figure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analyses.shared.model_runs import Row, hours_of, summarise, table, write_markdown
from analyses.shared.studies.framework_sets import APART, SPRITES
from analyses.shared.studies.seed_claims import SeedClaim, claims_table
from analyses.shared.vae_cases import BY_FACTOR
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
RANK, LINEAR, AXIS, MIG, ERROR = "truth along factors", "linearity", "axis", "mig", "error"
GLOBAL = "truth random"
ALIKE = "alike"
PERCEIVED, BLURRED = "AdaTVAE, perceived", "AdaTVAE, perceived, blurred"
STRONG = "above, for strong schedules decay towards the end (5.4.6)"
SCHEDULE_1 = (
    "Schedule 1 of table 5.2 as printed, a threshold from 0 to .5 with a shared weight of 1, is "
    "the plain triplet loss, for equation 5.19 then weighs all latents by 1: its runs are those "
    "of TVAE to the last digit, and say nothing of a threshold. Beside them stands the same "
    "threshold with a weight of .5, which the claim is about."
)


def _claim(
    words: str, published: str, first: str, second: str, column: str, data: str = APART
) -> SeedClaim:
    one, other = ({"data": data, "model": model} for model in (first, second))
    said = f"{words}: {first} - {second}, {data}"
    return SeedClaim(said, published, one, other, column, equal=published.startswith(ALIKE))


CLAIMS = (
    _claim("factor rank", "above (Fig. 5.1)", "TVAE", "BetaVAE", RANK),
    _claim("linearity", "above (Fig. 5.1)", "TVAE", "BetaVAE", LINEAR),
    _claim("MIG", "l1 above l2 (Fig. 5.1)", "TVAE", "TVAE, l2", MIG),
    _claim("axis", "l1 above l2 (Fig. 5.1)", "TVAE", "TVAE, l2", AXIS),
    _claim("factor rank", "alike (Fig. 5.1)", "TVAE", "TVAE, soft", RANK),
    _claim("axis", "above, almost perfect (Fig. 5.4)", "AdaTVAE", "TVAE", AXIS),
    _claim("MIG", "above, greatly (Fig. 5.5)", "AdaTVAE", "AdaGVAE", MIG),
    _claim("MIG", "above (Fig. 5.5)", "AdaTVAE", "AdaTVAE, threshold by KL", MIG),
    _claim("MIG", STRONG, "AdaTVAE", "AdaTVAE, weight 1 to 0", MIG),
    _claim("MIG", "alike (Fig. 5.4)", "AdaTVAE", "AdaTVAE, threshold 0 to .5, weight .5", MIG),
    _claim("MIG", "alike, but later (Fig. 5.4)", "AdaTVAE", "AdaTVAE, both", MIG),
    _claim("factor rank", "has an order by blurred error (Fig. 5.7)", BLURRED, PERCEIVED, RANK),
    _claim("MIG", "above plain error (Fig. 5.7, 3.7)", BLURRED, PERCEIVED, MIG),
    _claim("MIG", "below an autoencoder alone (Fig. 5.7)", "BetaVAE, blurred", BLURRED, MIG),
    _claim("global rank", "above (Fig. 5.1)", "TVAE", "BetaVAE", GLOBAL, SPRITES),
    _claim("axis", "above (Fig. 5.4)", "AdaTVAE", "TVAE", AXIS, SPRITES),
    _claim("MIG", "above, greatly (Fig. 5.5)", "AdaTVAE", "AdaGVAE", MIG, SPRITES),
    _claim(
        "axis", "scaled above unscaled (Fig. 5.4)", "AdaTVAE", "AdaTVAE, unscaled", AXIS, SPRITES
    ),
    _claim("MIG", "below an autoencoder alone (Fig. 5.7)", "BetaVAE", PERCEIVED, MIG, SPRITES),
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
        SCHEDULE_1,
        "",
    ]
    lines += claims_table(rows, CLAIMS)
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
            axis.set(ylim=(len(models) - 0.4, -0.6), xlim=(-0.08, 1.05))
            axis.grid(axis="y", color="#eeeeee")
            axis.set_title(textwrap.fill(title, 14), fontsize=9, loc="left")
            axis.spines[["top", "right"]].set_visible(False)
        line[0].set_ylabel(data)
    axes[-1][0].set_xlabel(f"preset {preset}")
    return axes[0][0]
