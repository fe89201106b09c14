"""Two models compared where they reconstruct alike, seed by seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def gain_at_equal(
    reference: tuple[Sequence[float], Sequence[float]], own: tuple[Sequence[float], Sequence[float]]
) -> float:
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
    x, y = (np.asarray(part, float) for part in reference)
    order = np.argsort(x)
    at, score = (np.asarray(part, float) for part in own)
    inside = (at >= x.min()) & (at <= x.max())
    if not inside.any():
        return float("nan")
    joined = np.interp(at[inside], x[order], y[order])
    return float(np.round((score[inside] - joined).mean(), 12))


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
