"""Tables of the study in `results.md`, with what was published beside, and `results.json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analyses.shared.model_runs import table, write_markdown
from analyses.shared.studies.verdicts import spearman_of, spearman_power
from analyses.unsupervised_study.published_study import DIFFERENCES
from analyses.unsupervised_study.share_tables import counted_verdicts, share_cells, share_lines
from analyses.unsupervised_study.study_claims import (
    ASSUMED_GAP,
    OF_STRENGTHS,
    STRONG,
    Claim,
    all_claims,
    overlaps,
)
from analyses.unsupervised_study.study_figures import save_all
from analyses.unsupervised_study.study_measures import (
    ACCURACY,
    DOWNSTREAM,
    LEARNT,
    UNSUPERVISED,
    best_learnt_share,
    guessing,
    learnt,
    learnt_share,
)
from analyses.unsupervised_study.study_presets import Preset
from analyses.unsupervised_study.study_sets import PUBLISHED
from geodis import __version__
from geodis.base import to_jsonable, write_json


def write_study(
    frame: pd.DataFrame, steps: pd.DataFrame, preset: Preset, name: str, out: Path, cost: str
) -> None:
    """Write tables, figures and all numbers.

    Parameters
    ----------
    frame : DataFrame
        As `measured_table` gives.
    steps : DataFrame
        As `finished_table` gives.
    preset : Preset
    name : str
    out : Path
    cost : str
        What the sweep has cost so far, in a sentence, or nothing.
    """
    out.mkdir(parents=True, exist_ok=True)
    told = learnt(frame)
    claims, cells = all_claims(told), share_cells(told)
    made = {"preset": name, "geodis": __version__, "settings": str(preset), "cost": cost}
    content = {
        **made,
        "claims": [asdict(claim) for claim in claims],
        "shares": cells,
        "rows": frame.to_dict(orient="records"),
    }
    write_json(out / "results.json", to_jsonable(content))
    write_markdown(out, markdown(frame, steps, preset, name, claims, cells, cost))
    save_all(frame, out)


def markdown(
    frame: pd.DataFrame,
    steps: pd.DataFrame,
    preset: Preset,
    name: str,
    claims: Sequence[Claim],
    cells: Sequence[dict[str, Any]],
    cost: str,
) -> list[str]:
    """Lines of `results.md`."""
    told = learnt(frame)
    counted = ", ".join(f"{PUBLISHED[str(d)]} {n}" for d, n in frame["data"].value_counts().items())
    rest = preset.planned - len(frame)
    left = (
        f" Of {preset.planned} planned runs {rest} are in no number: they are not finished, or "
        "others of their set and seed are not."
    )
    dead = int((frame["latents in use"] == 0).sum())
    counted += f"), of which {dead} use no latent"
    lines = [
        "# What decides how well models disentangle",
        "",
        f"Preset {name}: {preset.steps:,} steps, {preset.rows:,} rows scored, "
        f"{len(preset.strengths)} strengths of 6, up to {preset.seeds} seeds. Runs finished: "
        f"{len(frame)} ({counted}.{left * (rest > 0)}"
        f"{' ' * bool(cost)}{cost}",
        "",
        DIFFERENCES,
        "",
        *_learnt_lines(frame),
        "## Claims",
        "",
        "A verdict is of models of this size and length, on sets of which they have learnt "
        "something. "
        f"Reproduced means that the whole interval of 95 % is on the claimed side, not reproduced "
        f"that it is on the other, and else it cannot be told. Power is how often studies of this "
        f"size would say 'reproduced', simulated: where the text gives no number, from a rank "
        f"correlation of .5 (of .8 where 'strongly' is taken to mean above {STRONG}), from a "
        f"difference of {ASSUMED_GAP:g} between mean correlations, and for Fig. 3 from strengths "
        f"that explain {OF_STRENGTHS:.0%} within a method, as published; runs taken as "
        "independent. On 'all' sets it is that power to the number of sets.",
        "",
        *table(
            ["where", "set", "claim", "published", "here", "runs", "power", "verdict"],
            [_cells_of(claim) for claim in claims],
        ),
        "",
        counted_verdicts(claim.verdict for claim in claims if claim.verdict),
        "",
        *share_lines(told, cells),
        *_spread_lines(told),
        *_correlation_lines(
            told, "Quantities without factors (Fig. 4)", UNSUPERVISED, "selection.png"
        ),
        *_correlation_lines(
            told, "Downstream accuracy and efficiency (Fig. 5)", DOWNSTREAM, "downstream.png"
        ),
        *_step_lines(frame, steps, preset),
    ]
    return lines[:-1] if lines[-1] == "" else lines


def _learnt_lines(frame: pd.DataFrame) -> list[str]:
    """Whether the codes of a set say anything of its factors."""
    rows = []
    for data, own in frame.groupby("data", sort=False):
        chance = guessing(str(data))
        share, best = learnt_share(own, chance), best_learnt_share(own, chance)
        said = "yes" if best >= LEARNT else "no: in the figures only"
        accuracy = f"{own[ACCURACY['trees']].mean():.3f}"
        mig = f"{own['mig'].mean():.3f}"
        shares = f"{chance:.3f}", f"{share:.2f}", f"{best:.2f}"
        rows.append([PUBLISHED[str(data)], str(len(own)), accuracy, *shares, mig, said])
    header = ["set", "runs", "accuracy of trees", "guessing", "of the way", "best method", "MIG"]
    return [
        "## What was learnt",
        "",
        f"A set of which boosted trees read the codes of no method {LEARNT:.0%} of the way from "
        "guessing to always right says nothing of disentanglement, and is in no claim and no table "
        "below but the last.",
        "",
        *table([*header, "learnt"], rows),
        "",
    ]


def _cells_of(claim: Claim) -> list[str]:
    power = f"{claim.power:.2f}" if np.isfinite(claim.power) else ""
    return [
        claim.where,
        PUBLISHED.get(claim.data, claim.data),
        claim.claim,
        claim.published,
        claim.found,
        str(claim.runs),
        power,
        claim.verdict,
    ]


def _spread_lines(frame: pd.DataFrame) -> list[str]:
    """Figure 3 as a table."""
    rows = []
    for data, own in frame.groupby("data", sort=False):
        chances = overlaps(own)
        for method, runs in own.groupby("method", sort=False):
            seeds = runs.groupby("place")["factor_vae"].std().mean()
            means = runs.groupby("place")["factor_vae"].mean()
            rows.append(
                [
                    PUBLISHED[str(data)],
                    str(method),
                    str(len(runs)),
                    f"{runs['factor_vae'].median():.3f}",
                    f"{runs['factor_vae'].min():.3f} to {runs['factor_vae'].max():.3f}",
                    f"{seeds:.3f}",
                    f"{means.max() - means.min():.3f}",
                    "" if np.isnan(chances[str(method)]) else f"{chances[str(method)]:.0%}",
                ]
            )
    header = [
        *("set", "method", "runs", "median", "range", "deviation over seeds"),
        *("between strengths", "worst strength beats best"),
    ]
    return [
        "## FactorVAE score by method and strength (Fig. 3)",
        "",
        "The last column: of all pairs of a run of a method's worst strength and one of its best, "
        "how many the worst wins. Published, on Cars3D, as a figure without numbers: heavily "
        "overlapping.",
        "",
        *table(header, rows),
        "",
        "![spread](spread.png)",
        "",
    ]


def _correlation_lines(
    frame: pd.DataFrame, title: str, quantities: Sequence[str], figure: str
) -> list[str]:
    """Rank correlations with MIG and the FactorVAE score; the figure has all."""
    rows = []
    for data, own in frame.groupby("data", sort=False):
        for quantity in quantities:
            found = [spearman_of(own[quantity], own[key]) for key in ("mig", "factor_vae")]
            power = spearman_power(0.5, found[0].n)
            cells = [PUBLISHED[str(data)], quantity, *map(str, found)]
            rows.append([*cells, str(found[0].n), f"{power:.2f}"])
    return [
        f"## {title}",
        "",
        "Spearman's rank correlation over the runs of a set; all six scores in the figure. "
        "Published as figures without numbers in the text. Power: of telling .5 from 0.",
        "",
        *table(["set", "quantity", "with MIG", "with FactorVAE score", "runs", "power"], rows),
        "",
        f"![{figure.split('.')[0]}]({figure})",
        "",
    ]


def _step_lines(frame: pd.DataFrame, steps: pd.DataFrame, preset: Preset) -> list[str]:
    """How far ranks at earlier steps are those at the last one."""
    rows = []
    for data in frame["data"].unique():
        own = steps[steps["data"] == data]
        last = own[own["step"] == preset.steps].set_index("run")
        for step in sorted(own["step"].unique()):
            some = own[own["step"] == step].set_index("run").reindex(last.index)
            rows.append(
                [
                    PUBLISHED[data],
                    str(int(step)),
                    f"{some['score mig'].mean():.3f}",
                    str(spearman_of(some["score mig"], last["score mig"]))
                    if step < preset.steps
                    else "1",
                    str(len(last)),
                ]
            )
    return [
        "## Have they converged?",
        "",
        "Mean MIG at a step, and the rank correlation of the runs there with the last step.",
        "",
        *table(["set", "step", "mean MIG", "ranks against the last", "runs"], rows),
        "",
    ]
