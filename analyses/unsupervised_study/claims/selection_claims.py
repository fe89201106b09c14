"""Figure 4: no quantity without factors picks good models."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyses.shared.studies.verdicts import (
    CANNOT_TELL,
    NOT_REPRODUCED,
    REPRODUCED,
    spearman_of,
    spearman_power,
)
from analyses.unsupervised_study.claims.claim import ALL, ASSUMED, Claim, sets_of
from analyses.unsupervised_study.study_measures import PUBLISHED_SCORES, UDR, UNSUPERVISED


def selection_claims(frame: pd.DataFrame) -> list[Claim]:
    """The published quantities, and apart from them UDR."""
    sets = [own for _, own in sets_of(frame)]
    if not sets:
        return []
    published = [quantity for quantity in UNSUPERVISED if quantity != UDR]
    steady, pairs = _steady(sets, published), len(published) * len(PUBLISHED_SCORES)
    power = float(np.prod([spearman_power(ASSUMED, len(own)) for own in sets]))
    few = len(steady) < pairs / 2
    alone = _steady(sets, [UDR])
    return [
        Claim(
            "Fig. 4",
            ALL,
            f"no quantity without factors goes with the scores: of {pairs} pairs fewer than half "
            "have one sign on all sets",
            "no clear pattern",
            _said(steady, pairs, len(sets)),
            len(frame),
            power,
            CANNOT_TELL if power < 0.8 and few else REPRODUCED if few else NOT_REPRODUCED,
        ),
        Claim(
            "Fig. 4",
            ALL,
            "the same of UDR",
            "",
            _said(alone, len(PUBLISHED_SCORES), len(sets)),
            len(frame),
            float("nan"),
            "",
        ),
    ]


def _steady(sets: list[pd.DataFrame], quantities: list[str]) -> list[str]:
    """Pairs of a quantity and a score with one sign on all sets, the strongest first."""
    steady = []
    for quantity in quantities:
        for score, key in PUBLISHED_SCORES.items():
            found = [spearman_of(own[quantity], own[key]) for own in sets]
            if all(one.low > 0 for one in found) or all(one.high < 0 for one in found):
                size = min(abs(one.value) for one in found)
                steady.append((size, f"{quantity} and {score} (in size {size:.2f} at least)"))
    return [text for _, text in sorted(steady, reverse=True)]


def _said(steady: list[str], pairs: int, sets: int) -> str:
    said = f": {'; '.join(steady[:4])}" if steady else ""
    return f"{len(steady)} of {pairs} on all of {sets} sets{said}"
