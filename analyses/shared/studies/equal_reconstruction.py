"""Two models compared where they reconstruct alike, seed by seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

Curve = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True)
class EqualGain:
    """What one model scores above another where both reconstruct alike.

    Attributes
    ----------
    gain : float
        NaN where neither direction, or only one, has points to compare.
    compared, left_out : int
        Points of both curves that the other curve has a value for, and that it has none for.
    """

    gain: float
    compared: int
    left_out: int


def gain_at_equal(reference: Curve, own: Curve) -> float:
    """Mean of own scores minus those of the reference at the same reconstruction.

    The points of the reference are joined by straight lines; own points beyond its ends are left
    out. NaN where none is left.

    Parameters
    ----------
    reference, own : (reconstruction, score)
        Of one seed, a point for each strength.

    Examples
    --------
    >>> gain_at_equal(([-20.0, -10.0], [0.4, 0.2]), ([-15.0, -99.0], [0.5, 0.9]))
    0.2
    """
    found = _differences(reference, own, float("inf"))
    return float(np.round(found.mean(), 12)) if len(found) else float("nan")


def gain_both_ways(reference: Curve, own: Curve, widest: float = float("inf")) -> EqualGain:
    """`gain_at_equal` and the same with the two turned round, averaged: neither is the ruler.

    Parameters
    ----------
    reference, own : (reconstruction, score)
        Of one seed, a point for each strength.
    widest : float
        Neighbouring points of a curve that are further apart in reconstruction are not joined.

    Examples
    --------
    >>> gain_both_ways(([-20.0, -10.0], [0.4, 0.2]), ([-15.0, -5.0], [0.5, 0.3]))
    EqualGain(gain=0.2, compared=2, left_out=2)
    >>> gain_both_ways(([-20.0, -10.0], [0.4, 0.2]), ([-15.0, -5.0], [0.5, 0.3]), widest=9.0)
    EqualGain(gain=nan, compared=0, left_out=4)
    """
    ahead, back = _differences(reference, own, widest), _differences(own, reference, widest)
    compared = len(ahead) + len(back)
    left_out = len(own[0]) + len(reference[0]) - compared
    both = len(ahead) > 0 and len(back) > 0
    gain = float(np.round((ahead.mean() - back.mean()) / 2, 12)) if both else float("nan")
    return EqualGain(gain, compared, left_out)


def gains_by_seed(
    rows: pd.DataFrame, own: str, reference: str, x: str, y: str, at_least: int = 2
) -> dict[int, float]:
    """`gain_at_equal` of every seed of which the reference has some strengths.

    Parameters
    ----------
    rows : DataFrame
        With "name", "seed", and the columns of reconstruction `x` and of score `y`.
    """
    found = {}
    for seed, some in rows.groupby("seed"):
        mine, theirs = some[some["name"] == own], some[some["name"] == reference]
        if len(mine) and len(theirs) >= at_least:
            gain = gain_at_equal((theirs[x], theirs[y]), (mine[x], mine[y]))
            if np.isfinite(gain):
                found[int(seed)] = gain
    return found


def curve_gains_by_seed(
    rows: pd.DataFrame,
    own: str,
    reference: str,
    x: str,
    y: str,
    strengths: Sequence[float],
    widest: float = float("inf"),
) -> dict[int, EqualGain]:
    """`gain_both_ways` of every seed of which both models have these strengths and no others.

    Curves of other strengths answer another question, so they are not mixed.

    Parameters
    ----------
    rows : DataFrame
        With "name", "seed", "beta", and the columns of reconstruction `x` and of score `y`.
    strengths : sequence of float
    widest : float
        As for `gain_both_ways`.
    """
    found = {}
    for seed, some in rows.groupby("seed"):
        mine, theirs = some[some["name"] == own], some[some["name"] == reference]
        if set(mine["beta"]) == set(theirs["beta"]) == set(strengths):
            found[int(seed)] = gain_both_ways((theirs[x], theirs[y]), (mine[x], mine[y]), widest)
    return found


def _differences(reference: Curve, own: Curve, widest: float) -> np.ndarray:
    """Own scores minus those of the reference, of own points that lie on its joined lines, (k,)."""
    x, y = (np.asarray(part, float) for part in reference)
    at, score = (np.asarray(part, float) for part in own)
    order = np.argsort(x)
    x, y = x[order], y[order]
    # The neighbours of a point; where it stands on one, both are that one.
    below, above = np.searchsorted(x, at, "right") - 1, np.searchsorted(x, at, "left")
    inside = (below >= 0) & (above < len(x))
    inside[inside] = x[above[inside]] - x[below[inside]] <= widest
    return score[inside] - np.interp(at[inside], x, y)
