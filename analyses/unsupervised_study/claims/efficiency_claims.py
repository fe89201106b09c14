"""Figures 5 and 6: whether better scores mean that fewer labels are needed.

Of runs whose codes say something: those that say nothing are read as well, which is not at all,
from few labels as from many, an efficiency near 1.
"""

from __future__ import annotations

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
    verdict_below,
)
from analyses.unsupervised_study.claims.claim import ALL, ASSUMED, MATTERS, ON_PLAIN, Claim, sets_of
from analyses.unsupervised_study.study_measures import (
    EFFICIENCY,
    PUBLISHED_SCORES,
    whose_codes_are_read,
)

NONE = "no higher efficiency reliably"


def efficiency_claims(frame: pd.DataFrame) -> list[Claim]:
    """Figure 6 a set, figure 5 a set, and both kinds of efficiency over all sets."""
    sets = sets_of(whose_codes_are_read(frame), ON_PLAIN)
    made = [_efficiency_of_trees(data, own) for data, own in sets]
    made += [_all_efficiencies(data, own) for data, own in sets]
    if sets:
        made += [_on_all_sets([own for _, own in sets], model) for model in EFFICIENCY]
    return made


def _efficiency_of_trees(data: str, own: pd.DataFrame) -> Claim:
    """Figure 6. No efficiency that matters is the claim: one above 0 is not as published."""
    found = spearman_of(own[PUBLISHED_SCORES["FactorVAE score"]], own[EFFICIENCY["trees"]])
    return Claim(
        "Fig. 6",
        data,
        f"efficiency of trees does not rise with the FactorVAE score: rho below {MATTERS}",
        NONE,
        f"rho {found}",
        found.n,
        spearman_power(0.0, found.n, -MATTERS),  # as often as it is above the same below 0
        verdict_below(found, MATTERS, MATTERS),
        ON_PLAIN,
    )


def _all_efficiencies(data: str, own: pd.DataFrame) -> Claim:
    """Figure 5: six scores and two kinds of efficiency."""
    pairs = [(key, each) for each in EFFICIENCY.values() for key in PUBLISHED_SCORES.values()]
    values = own[[*PUBLISHED_SCORES.values(), *EFFICIENCY.values()]].reset_index(drop=True)

    def mean(some: pd.DataFrame) -> float:
        ranks = some.rank().corr()
        return float(np.nanmean([ranks.loc[pair] for pair in pairs]))

    left_out = [mean(values.drop(index=row)) for row in values.index]
    found = jackknife_interval(mean(values), left_out, len(values))
    each = [spearman_of(own[key], own[column]) for key, column in pairs]
    above, below = sum(one.low > 0 for one in each), sum(one.high < 0 for one in each)
    return Claim(
        "Fig. 5",
        data,
        f"efficiency does not rise with the scores: mean rho below {MATTERS}",
        NONE,
        f"mean of {len(pairs)} rho {found}; {above} above 0, {below} below",
        found.n,
        above_power(found, MATTERS),  # as often as a mean of 0 lies below
        verdict_below(found, MATTERS, MATTERS),
        ON_PLAIN,
    )


def _on_all_sets(sets: list[pd.DataFrame], model: str) -> Claim:
    """Whether some score goes with one kind of efficiency on every set."""
    found = {
        name: [spearman_of(own[key], own[EFFICIENCY[model]]) for own in sets]
        for name, key in PUBLISHED_SCORES.items()
    }
    better = [name for name, each in found.items() if all(one.low > 0 for one in each)]
    power = float(np.prod([spearman_power(ASSUMED, len(own)) for own in sets]))
    text = ", ".join(
        f"{name} {np.nanmean([one.value for one in each]):.2f}" for name, each in found.items()
    )
    return Claim(
        "Figs. 5, 6",
        ALL,
        f"no score goes with a higher efficiency ({model}) on all of {len(sets)} sets",
        NONE,
        f"{len(better)} of {len(found)} do; mean rho: {text}",
        sum(map(len, sets)),
        power,
        NOT_REPRODUCED if better else REPRODUCED if power >= 0.8 else CANNOT_TELL,
        ON_PLAIN,
    )
