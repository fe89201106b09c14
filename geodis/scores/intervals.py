"""How far a score would move with other rows: intervals by resampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from geodis._check import check_choice, check_int, check_random_state, check_real
from geodis._progress import Stages
from geodis.scores._inputs import check_latents, code_factors

N_RESAMPLES = 200


def bootstrap_interval(
    score: Callable[..., Any],
    latents: Any,
    factors: Any,
    *,
    n_resamples: int = N_RESAMPLES,
    level: float = 0.95,
    rows: str = "bootstrap",
    random_state: Any = None,
    verbose: bool = True,
    **options: Any,
) -> tuple[float, float]:
    """Interval of a score over samples like this one.

    ``value + (q - mean)`` for the quantiles q and the mean of the score over resampled rows: the
    spread of the resampled scores, around the score of all rows. Their own level is not used,
    because rows drawn twice lift it: they make counts more uneven, and they may be learnt from
    and judged by at once.

    Parameters
    ----------
    score : callable
        `score(latents, factors, **options)`; what it returns must be convertible to float.
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f)
    n_resamples : int
    level : float
        Share of the resampled scores within the interval.
    rows : {"bootstrap", "halves"}
        n rows with replacement, or half of the rows without, whose scores spread as widely around
        that of all rows as those of other samples do, with no row in twice: for scores that hold
        rows out (`sap`, `dci`, `explicitness`, `downstream`).
    random_state : int, Generator or None
        Chooses rows. A score that draws by itself takes its own seed among the options, or else
        adds its own scatter to the interval.
    verbose : bool
        Show progress on a terminal.
    **options
        For the score.

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> from geodis.scores import mig
    >>> factors = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (25, 1))
    >>> low, high = bootstrap_interval(mig, factors[:, :1], factors, n_resamples=20, random_state=0)
    >>> low < 0.5 < high
    True
    """
    check_choice(rows, "rows", ("bootstrap", "halves"))
    n_resamples = check_int(n_resamples, "n_resamples", low=2)
    level = check_real(level, "level", low=0.0, high=1.0)
    rng = check_random_state(random_state)
    z = check_latents(latents)
    value = float(score(latents, factors, **options))
    coded = code_factors(factors)
    known = np.where(coded.numeric, coded.values, coded.codes.astype(float))
    n = len(z)
    found = np.empty(n_resamples)
    with Stages("interval", verbose) as stages, stages.stage("resampling"):
        for r in range(n_resamples):
            if rows == "bootstrap":
                chosen = rng.integers(n, size=n)
            else:
                chosen = rng.permutation(n)[: max(n // 2, 2)]
            found[r] = float(score(z[chosen], known[chosen], **options))
            stages.advance((r + 1) / n_resamples)
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return value + float(low - found.mean()), value + float(high - found.mean())
