"""Factors that a score takes as numbers."""

from __future__ import annotations

import numpy as np

from geodis.base.check import InputError
from geodis.scores.inputs import CodedFactors


def refuse_labels(factors: CodedFactors, score: str) -> None:
    """Require numbers: labels have an order only by accident."""
    if not factors.numeric.all():
        j = int(np.flatnonzero(~factors.numeric)[0])
        raise InputError(
            f"{score} needs factors that are numbers; got labels in {factors.called(j)}."
        )
