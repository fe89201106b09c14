"""Ratios of spreads over traversals, and their mean over factors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from geodis.base.check import check_choice, check_int
from geodis.distances.correlations import geometric_mean
from geodis.scores.score import Score
from geodis.scores.traversal.spreads import largest_share
from geodis.scores.traversal.traversed import Traversed

SpreadKind = Literal["variance", "std"]


def spreads_of(
    parts: list[np.ndarray], variances: Callable[[np.ndarray], np.ndarray], spread: SpreadKind
) -> np.ndarray:
    """Spreads (t, z) of all traversals, up to one common factor."""
    check_choice(spread, "spread", get_args(SpreadKind))
    values = np.concatenate([variances(part) for part in in_range(parts)[0]])
    return np.sqrt(values) if spread == "std" else values


def in_range(parts: list[np.ndarray]) -> tuple[list[np.ndarray], float]:
    """Moves of latents over a common scale, and that scale.

    Squares of very large or very small moves leave the range of floats; the scale is a power of
    two, so that nothing is rounded.
    """
    largest = max((float(np.abs(part).max(initial=0.0)) for part in parts), default=0.0)
    scale = float(2.0 ** np.floor(np.log2(largest))) if largest > 0 else 1.0
    return [part / scale for part in parts], scale


def shares_of(spreads: np.ndarray, top: int | None, normalise: bool = True) -> np.ndarray:
    """Ratio of every traversal."""
    if top is not None:
        check_int(top, "top", low=2)
    return largest_share(spreads, top, normalise)


def ratio_score(
    name: str,
    source: Traversed,
    per_factor: np.ndarray,
    note: str = "",
    *,
    matrix: np.ndarray | None = None,
) -> Score:
    """The geometric mean over factors, which is what these scores have in common."""
    return Score(
        name,
        geometric_mean(per_factor[source.used]),
        per_factor=per_factor,
        matrix=matrix,
        details={"n_traversals": source.counts},
        note=" ".join(filter(None, [source.note, note])),
        factor_names=source.names,
    )


def ratio_or_zero(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Divide, and give 0 where there is nothing to divide by."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), 0.0)
