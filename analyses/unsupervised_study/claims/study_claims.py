"""The claims of seed 000 that the measured runs say something of, figure by figure."""

from __future__ import annotations

import pandas as pd

from analyses.unsupervised_study.claims.claim import ON_CARS, ON_COLOR, ON_NOISY, Claim, sets_of
from analyses.unsupervised_study.claims.efficiency_claims import efficiency_claims
from analyses.unsupervised_study.claims.overlap_claims import overlap_claims
from analyses.unsupervised_study.claims.score_claims import agreement_claims, correlation_claims
from analyses.unsupervised_study.claims.selection_claims import selection_claims
from analyses.unsupervised_study.claims.setting_claims import (
    correlated_settings_claims,
    dominance_claims,
    transfer_claims,
)


def all_claims(frame: pd.DataFrame) -> list[Claim]:
    """Every claim, of each figure first that on the set on which it was published.

    Parameters
    ----------
    frame : DataFrame
        As `learnt` gives.
    """
    found: list[Claim] = []
    for on, claims_of in (
        (ON_COLOR, correlation_claims),
        (ON_NOISY, agreement_claims),
        (ON_CARS, overlap_claims),
    ):
        for data, own in sets_of(frame, on):
            found += claims_of(data, own)
    found += selection_claims(frame) + dominance_claims(frame)
    found += correlated_settings_claims(frame) + transfer_claims(frame)
    return found + efficiency_claims(frame)
