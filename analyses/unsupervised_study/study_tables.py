"""Tables of `results.md` beside those of claims and of shares, and what figures show."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pandas as pd

from analyses.shared.model_runs import table
from analyses.shared.studies.verdicts import spearman_of, spearman_power
from analyses.unsupervised_study.claims.claim import ASSUMED
from analyses.unsupervised_study.claims.overlap_claims import held_out_pairs
from analyses.unsupervised_study.claims.setting_claims import setting_correlations
from analyses.unsupervised_study.study_measures import (
    ACCURACY,
    LEARNT,
    PUBLISHED_SCORES,
    best_learnt_share,
    guessing,
    learnt_share,
)
from analyses.unsupervised_study.study_presets import Preset
from analyses.unsupervised_study.study_sets import PUBLISHED


def learnt_lines(frame: pd.DataFrame) -> list[str]:
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


def total_correlation_lines() -> list[str]:
    """What figure 1 shows."""
    return [
        "## Total correlation and strength (Fig. 1)",
        "",
        "Published on Color-dSprites, as a figure without numbers.",
        "",
        "![total_correlation](total_correlation.png)",
        "",
        "A column a set: total correlation of a Gaussian fitted to samples of the codes, above, "
        "and to their means, below, against strength. A small point is a run, lines join the "
        "means of strengths; AnnealedVAE is left out, as published. The scale is linear below "
        "0.01 nats and logarithmic above.",
        "",
    ]


def agreement_lines(frame: pd.DataFrame) -> list[str]:
    """Figure 2 as a table."""
    sets = {PUBLISHED[str(data)]: own for data, own in frame.groupby("data", sort=False)}
    rows = [
        [
            f"{first}, {second}",
            *(
                str(spearman_of(own[PUBLISHED_SCORES[first]], own[PUBLISHED_SCORES[second]]))
                for own in sets.values()
            ),
        ]
        for first, second in combinations(PUBLISHED_SCORES, 2)
    ]
    header = ["scores", *(f"{name}, {len(own)} runs" for name, own in sets.items())]
    return [
        "## Agreement of scores (Fig. 2)",
        "",
        "Spearman's rank correlation over the runs of a set, with its interval of 95 %. "
        "Published on Noisy-dSprites, as a figure without numbers in the text.",
        "",
        *table(header, rows),
        "",
        "![agreement](agreement.png)",
        "",
        "A panel a set: numbers are 100 rho, blue above 0 and red below.",
        "",
    ]


def spread_lines(frame: pd.DataFrame) -> list[str]:
    """Figure 3 as a table."""
    rows = []
    for data, own in frame.groupby("data", sort=False):
        pairs = held_out_pairs(own)
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
                    "{} of {}".format(*pairs[str(method)]) if str(method) in pairs else "",
                ]
            )
    header = [
        *("set", "method", "runs", "median", "range", "deviation over seeds"),
        *("between strengths", "worst strength beats best"),
    ]
    return [
        "## FactorVAE score by method and strength (Fig. 3)",
        "",
        "FactorVAE score, not pruned as in the published study's software. Deviation over "
        "seeds: of runs of one strength, on average. The last column: a run of the worst "
        "strength against one of the best, of a seed that did not choose them. Published on "
        "Cars3D, as a figure without numbers.",
        "",
        *table(header, rows),
        "",
        "![spread](spread.png)",
        "",
        "A panel a set and a point a run, by method, and within each from the weakest strength "
        "to the strongest; lines are medians.",
        "",
    ]


def setting_lines(frame: pd.DataFrame) -> list[str]:
    """Result 4: whether settings that are good on one set are on another."""
    seeds = frame.groupby("data", sort=False)["seed"].nunique()
    rows = []
    for one, other in combinations(seeds.index, 2):
        pairs = setting_correlations(frame, one, other)
        settings = len(next(iter(pairs.values()))[0])
        counts = f"{settings} x ({seeds[one]} + {seeds[other]})"
        found = [str(spearman_of(*pair)) for pair in pairs.values()]
        rows.append([f"{PUBLISHED[one]}, {PUBLISHED[other]}", counts, *found])
    if not rows:
        return []
    return [
        "## Settings between sets (result 4)",
        "",
        "Spearman's rank correlation of the mean scores of settings on two sets, with the "
        "interval of so many settings; runs are settings times seeds, whose noise lowers it. "
        "Published in words, of dSprites and Color-dSprites.",
        "",
        *table(["sets", "runs", *PUBLISHED_SCORES], rows),
        "",
    ]


def correlation_lines(
    frame: pd.DataFrame, title: str, published: str, quantities: Sequence[str], figure: str
) -> list[str]:
    """Rank correlations with MIG and the FactorVAE score; the figure has all."""
    rows = []
    for data, own in frame.groupby("data", sort=False):
        for quantity in quantities:
            found = [spearman_of(own[quantity], own[key]) for key in ("mig", "factor_vae")]
            power = spearman_power(ASSUMED, found[0].n)
            cells = [PUBLISHED[str(data)], quantity, *map(str, found)]
            rows.append([*cells, str(found[0].n), f"{power:.2f}"])
    return [
        f"## {title}",
        "",
        "Spearman's rank correlation over the runs of a set; all six scores in the figure. "
        f"{published} Power: of telling {ASSUMED} from 0.",
        "",
        *table(["set", "quantity", "with MIG", "with FactorVAE score", "runs", "power"], rows),
        "",
        f"![{figure.split('.')[0]}]({figure})",
        "",
        "A panel a set: numbers are 100 rho, blue above 0 and red below.",
        "",
    ]


def efficiency_lines() -> list[str]:
    """What figure 6 shows."""
    return [
        "![efficiency](efficiency.png)",
        "",
        "A panel a set and a point a run: accuracy of trees from 100 rows over that from all, "
        "against the FactorVAE score (Fig. 6, published on dSprites). Runs whose codes trees "
        "hardly read, which no claim counts, are in it.",
        "",
    ]


def step_lines(frame: pd.DataFrame, steps: pd.DataFrame, preset: Preset) -> list[str]:
    """How far ranks at earlier steps are those at the last one."""
    rows = []
    for data in frame["data"].unique():
        own = steps[steps["run"].isin(frame.loc[frame["data"] == data, "run"])]
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
