"""Figures 1 and 2: total correlation against strength, and which scores agree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from analyses.shared.studies.verdicts import (
    CANNOT_TELL,
    NOT_REPRODUCED,
    REPRODUCED,
    above_power,
    jackknife_interval,
    spearman_of,
    spearman_power,
    verdict_above,
    verdict_below,
)
from analyses.unsupervised_study.claims.claim import (
    ASSUMED,
    MATTERS,
    ON_COLOR,
    ON_NOISY,
    STRONG,
    Claim,
)
from analyses.unsupervised_study.study_measures import PUBLISHED_SCORES, TC_MEAN, TC_SAMPLED

# By how much modularity agrees less, at the least that would matter.
GAP = 0.2
STRONG_PAIRS = (("MIG", "DCI disentanglement"), ("BetaVAE score", "FactorVAE score"))


def within_ranks(frame: pd.DataFrame, column: str) -> pd.Series:
    """Rank of every run among those of its method, 0 to 1, so that methods do not matter."""
    ranks: pd.Series = frame.groupby("method")[column].rank(pct=True)
    return ranks


def correlation_claims(data: str, own: pd.DataFrame) -> list[Claim]:
    """Figure 1: total correlation against strength, of all methods but AnnealedVAE."""
    own = own[own["method"] != "AnnealedVAE"]
    made = []
    for column, word, judge in (
        (TC_SAMPLED, "falls", verdict_below),
        (TC_MEAN, "rises", verdict_above),
    ):
        found = spearman_of(within_ranks(own, "place"), within_ranks(own, column))
        # Methods may go opposite ways, which the mean of all hides.
        alone = ", ".join(
            f"{method} {spearman_of(runs['place'], runs[column]).value:.2f}"
            for method, runs in own.groupby("method", sort=False)
        )
        made.append(
            Claim(
                "Fig. 1",
                data,
                f"{column} {word} with strength, within methods",
                word,
                f"rho {found}; {alone}",
                found.n,
                spearman_power(MATTERS, found.n),
                judge(found, 0.0, MATTERS),
                ON_COLOR,
            )
        )
    return made


def agreement_claims(data: str, own: pd.DataFrame) -> list[Claim]:
    """Figure 2: which scores agree strongly, which mildly, and that modularity does not."""
    made = []
    for first, second in STRONG_PAIRS:
        found = spearman_of(own[PUBLISHED_SCORES[first]], own[PUBLISHED_SCORES[second]])
        power = spearman_power(0.8, found.n, STRONG)
        text = f"{first} and {second} agree: rho above {STRONG}"
        verdict = verdict_above(found, STRONG)
        here = f"rho {found}"
        made.append(
            Claim("Fig. 2", data, text, "strongly", here, found.n, power, verdict, ON_NOISY)
        )
    return [*made, _mild_claim(data, own), _modularity_claim(data, own)]


def _mild_claim(data: str, own: pd.DataFrame) -> Claim:
    rest = [key for name, key in PUBLISHED_SCORES.items() if name != "Modularity"]
    found = [spearman_of(own[a], own[b]) for a, b in combinations(rest, 2)]
    verdicts = [verdict_above(one, 0.0) for one in found]
    least = min(found, key=lambda one: one.value)
    return Claim(
        "Fig. 2",
        data,
        f"all {len(found)} pairs of scores but Modularity go together: rho above 0",
        "mildly",
        f"{verdicts.count(REPRODUCED)} of {len(found)}; the least {least}",
        least.n,
        spearman_power(ASSUMED, least.n) ** len(found),
        all_of(verdicts),
        ON_NOISY,
    )


def all_of(verdicts: Sequence[str]) -> str:
    """Of a claim that needs all of several, of which one that is not so refutes it.

    Examples
    --------
    >>> all_of([REPRODUCED, REPRODUCED]), all_of([REPRODUCED, CANNOT_TELL])
    ('reproduced', 'cannot tell')
    """
    if NOT_REPRODUCED in verdicts:
        return NOT_REPRODUCED
    return REPRODUCED if set(verdicts) == {REPRODUCED} else CANNOT_TELL


def _modularity_claim(data: str, own: pd.DataFrame) -> Claim:
    rest = [key for name, key in PUBLISHED_SCORES.items() if name != "Modularity"]
    scores = own[["modularity", *rest]].reset_index(drop=True)
    with_it, others = _modularity_means(scores)
    left_out = [
        np.subtract(*_modularity_means(scores.drop(index=row))[::-1]) for row in scores.index
    ]
    found = jackknife_interval(others - with_it, [float(gap) for gap in left_out], len(scores))
    return Claim(
        "Fig. 2",
        data,
        "Modularity agrees less with the others than these among themselves",
        "all except Modularity",
        f"mean rho {with_it:.2f} against {others:.2f}: {found} less",
        found.n,
        above_power(found, GAP),
        verdict_above(found, 0.0, GAP),
        ON_NOISY,
    )


def _modularity_means(scores: pd.DataFrame) -> tuple[float, float]:
    """Mean rank correlations of the first column with the others, and of these."""
    ranks = scores.rank().corr().to_numpy()
    among = ranks[1:, 1:][np.triu_indices(len(ranks) - 1, 1)]
    return float(np.nanmean(ranks[0, 1:])), float(np.nanmean(among))
