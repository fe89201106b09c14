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


def varying_numbers(factors: CodedFactors, score: str) -> tuple[np.ndarray, str]:
    """Indices of the factors that are numbers of at least two values, and a note on the others."""
    if not factors.numeric.any():
        refuse_labels(factors, score)
    kept, note = factors.varying()
    labels = [factors.called(j) for j in kept if not factors.numeric[j]]
    if len(labels) == len(kept):
        refuse_labels(factors, score)
    left_out = f"left out, labels: {', '.join(labels)}" if labels else ""
    return kept[factors.numeric[kept]], "; ".join(filter(None, (note, left_out)))
