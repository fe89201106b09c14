"""Tables of the study in `results.md`, with what was published beside, and `results.json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analyses.shared.model_runs import table, write_markdown
from analyses.shared.studies.verdicts import NOT_REPRODUCED, REPRODUCED
from analyses.unsupervised_study.claims.claim import ASSUMED, MATTERS, STRONG, Claim
from analyses.unsupervised_study.claims.overlap_claims import OF_METHODS, OF_STRENGTHS
from analyses.unsupervised_study.claims.score_claims import GAP
from analyses.unsupervised_study.claims.study_claims import all_claims
from analyses.unsupervised_study.mean_shares import mean_shares
from analyses.unsupervised_study.published_study import DIFFERENCES, PRECISION
from analyses.unsupervised_study.share_tables import (
    SHARE_MARGIN,
    counted_verdicts,
    share_cells,
    share_lines,
)
from analyses.unsupervised_study.study_figures import save_all
from analyses.unsupervised_study.study_measures import DOWNSTREAM, UNSUPERVISED, learnt
from analyses.unsupervised_study.study_presets import Preset
from analyses.unsupervised_study.study_sets import PUBLISHED
from analyses.unsupervised_study.study_tables import (
    agreement_lines,
    correlation_lines,
    efficiency_lines,
    learnt_lines,
    setting_lines,
    spread_lines,
    step_lines,
    total_correlation_lines,
)
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
    claims, cells, means = all_claims(told), share_cells(told), mean_shares(told, SHARE_MARGIN)
    made = {"preset": name, "geodis": __version__, "settings": str(preset), "cost": cost}
    content = {
        **made,
        "claims": [asdict(claim) for claim in claims],
        "shares": cells,
        "mean shares": means,
        "rows": frame.to_dict(orient="records"),
    }
    write_json(out / "results.json", to_jsonable(content))
    write_markdown(out, markdown(frame, steps, preset, name, claims, cells, means, cost))
    save_all(frame, out)


def markdown(
    frame: pd.DataFrame,
    steps: pd.DataFrame,
    preset: Preset,
    name: str,
    claims: Sequence[Claim],
    cells: Sequence[dict[str, Any]],
    means: Sequence[dict[str, Any]],
    cost: str,
) -> list[str]:
    """Lines of `results.md`."""
    told = learnt(frame)
    counted = ", ".join(
        f"{PUBLISHED[str(data)]} {len(own)} of {own['seed'].nunique()} seeds"
        for data, own in frame.groupby("data", sort=False)
    )
    rest = preset.planned - len(frame)
    left = (
        f" Of {preset.planned} planned runs {rest} are in no number: they are not finished, or "
        "others of their set and seed are not."
    )
    dead = int((frame["latents in use"] == 0).sum())
    idle = f", of which {dead} use no latent and have no total correlation of means"
    counted += f"){idle * (dead > 0)}"
    lines = [
        "# What decides how well models disentangle",
        "",
        f"Preset {name}: {preset.steps:,} steps, {preset.rows:,} rows scored, "
        f"{len(preset.strengths)} strengths of 6, up to {preset.seeds} seeds. Runs finished: "
        f"{len(frame)} ({counted}.{left * (rest > 0)}"
        f"{' ' * bool(cost)}{cost}",
        "",
        f"{DIFFERENCES} {PRECISION}" if preset.precision == "bfloat16" else DIFFERENCES,
        "",
        *learnt_lines(frame),
        "## Claims",
        "",
        *_claim_words(),
        "",
        *table(
            ["where", "set", "claim", "published", "here", "runs", "power", "verdict"],
            [_cells_of(claim) for claim in claims],
        ),
        "",
        *_counted(claims),
        "",
        *share_lines(told, cells, means),
        *total_correlation_lines(),
        *agreement_lines(told),
        *spread_lines(told),
        *setting_lines(told),
        *correlation_lines(
            told,
            "Quantities without factors (Fig. 4)",
            "Published as a figure without numbers in the text, which does not name its set, and "
            "without UDR.",
            UNSUPERVISED,
            "selection.png",
        ),
        *correlation_lines(
            told,
            "Downstream accuracy and efficiency (Figs. 5, 6)",
            "Published on dSprites, as figures without numbers in the text.",
            DOWNSTREAM,
            "downstream.png",
        ),
        *efficiency_lines(),
        *step_lines(frame, steps, preset),
    ]
    return lines[:-1] if lines[-1] == "" else lines


def _claim_words() -> list[str]:
    """What verdicts and power mean."""
    return [
        "A verdict is of models of this size and length, on sets of which they have learnt "
        "something. Reproduced means that the whole interval of 95 % is on the claimed side. "
        "Not reproduced means that it is on the other, or leaves out what would matter: a rank "
        f"correlation of {MATTERS} (of totals with strength, and of efficiency), and for "
        f"modularity a difference of {GAP} between mean correlations. Else it cannot be told. "
        "Most figures were published on one set: of others it is said whether they are as on "
        "that one. Verdicts are not corrected for the number of claims: of true statements at a "
        "bound, one in forty would be reproduced by luck.",
        "",
        "Power is how often studies of this size would say 'reproduced', simulated: from what "
        f"would matter where that is said above, from rank correlations of {ASSUMED} in Fig. 4, "
        "of all pairs of scores and over all sets, of .8 where 'strongly' is taken to mean "
        f"above {STRONG}, from none for efficiency on one set; in Fig. 3 from methods that "
        f"explain {OF_METHODS:.0%} of the variance (published of this score on Cars3D) and "
        f"strengths that explain {OF_STRENGTHS:.0%} within a method (published of three sets of "
        "sprites); in result 4 from the published numbers, shares of variance and a correlation "
        "of settings of .8. Runs are taken as independent, and what needs several statements "
        "has the product of their powers.",
    ]


def _counted(claims: Sequence[Claim]) -> list[str]:
    """How many verdicts of which kind, of what was published and of other sets."""
    told = [claim for claim in claims if claim.verdict]
    own = [claim.verdict for claim in told if claim.is_published]
    others = [claim.verdict for claim in told if not claim.is_published]
    named = {REPRODUCED: "as on another", NOT_REPRODUCED: "not as on another"}
    return [
        f"What was published of a set that is here, or of no named one: {counted_verdicts(own)} "
        "What was published of another set: "
        f"{counted_verdicts(named.get(each, each) for each in others)}"
    ]


def _cells_of(claim: Claim) -> list[str]:
    power = f"{claim.power:.2f}" if np.isfinite(claim.power) else ""
    return [
        claim.where,
        PUBLISHED.get(claim.data, claim.data),
        claim.claim,
        claim.published_words,
        claim.found,
        str(claim.runs),
        power,
        claim.verdict_words,
    ]
