"""Confidence intervals of scores by resampling of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import InputError, check_choice, check_int, check_random_state, check_real
from geodis.base.progress import Stages
from geodis.data.factors import Factors, as_factors
from geodis.scores.inputs import check_latents

N_RESAMPLES = 200
# With fewer values the extreme quantiles are close to the minimum and the maximum, which makes
# intervals too narrow; the standard deviation is used instead.
QUANTILES_FROM = 100
Resampling = Literal["bootstrap", "halves"]


def bootstrap_interval(
    score: Callable[..., Any],
    latents: Any,
    factors: Any,
    *,
    n_resamples: int = N_RESAMPLES,
    level: float = 0.95,
    rows: Resampling = "bootstrap",
    random_state: Any = None,
    verbose: bool = True,
    **options: Any,
) -> tuple[float, float]:
    """Confidence interval of a score by resampling of rows.

    ``value + (q - mean)`` for the quantiles q and the mean of the score over resampled rows: the
    spread of the resampled scores around the score of all rows. The mean of the resampled scores
    is not used, because it is biased by rows drawn twice: they make counts more uneven, and may be
    in the training and the test set. With r < 100 resamplings the interval is ``value +- t s`` with
    their standard deviation s and the quantile t of Student's distribution with r - 1 degrees of
    freedom.

    Parameters
    ----------
    score : callable
        `score(latents, factors, **options)`; its result must be convertible to float. For
        resampled rows it gets `Factors`, with names and kinds, or an array if one was given.
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f)
    n_resamples : int
    level : float
        Share of the resampled scores within the interval.
    rows : {"bootstrap", "halves"}
        n rows with replacement, or half of the rows without replacement. The scores of halves vary
        around the score of all rows as much as those of independent samples, and no row is drawn
        twice: for scores that hold rows out (`sap`, `dci`, `explicitness`, `downstream`).
    random_state : int, Generator or None
        Draws the rows. The seed of a random score belongs to the options; without it, the
        randomness of the score widens the interval.
    verbose : bool
        Show progress on a terminal.
    **options
        Passed to the score.

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
    check_choice(rows, "rows", get_args(Resampling))
    n_resamples = check_int(n_resamples, "n_resamples", low=2)
    level = check_real(level, "level", low=0.0, high=1.0)
    rng = check_random_state(random_state)
    z = check_latents(latents, dtype=None)
    value = float(score(latents, factors, **options))
    known = as_factors(factors).refuse_missing()
    as_array = known.are_plain and not isinstance(factors, Factors)
    n = len(z)
    resampled, problem = [], None
    with Stages("interval", verbose) as stages, stages.stage("resampling"):
        for r in range(n_resamples):
            chosen = resampled_rows(n, rows, rng)
            try:
                drawn = known.values[chosen] if as_array else known.take(chosen)
                resampled.append(float(score(z[chosen], drawn, **options)))
            except InputError as error:  # for instance, a class is missing in these rows
                problem = error
            stages.advance((r + 1) / n_resamples)
    if len(resampled) < 2:
        raise InputError(
            "An interval needs resampled rows with a score at least twice; got one in "
            f"{len(resampled)} of {n_resamples}: {problem}"
        )
    if not np.isfinite([value, *resampled]).all():
        raise InputError("An interval needs finite scores; some of the rows have none.")
    return around(value, np.array(resampled), level)


def resampled_rows(n: int, rows: Resampling, rng: np.random.Generator) -> np.ndarray:
    """Draw n rows with replacement, or half of them without replacement.

    Examples
    --------
    >>> np.sort(resampled_rows(4, "halves", np.random.default_rng(0))).tolist()
    [0, 2]
    """
    if rows == "bootstrap":
        return rng.integers(n, size=n)
    return rng.permutation(n)[: max(n // 2, 2)]


def around(value: float, resampled: np.ndarray, level: float) -> tuple[float, float]:
    """Centre the spread of resampled values at a value.

    ``value + (q - mean)`` with their quantiles q, or ``value +- t s`` if there are few.

    Examples
    --------
    >>> [round(end, 3) for end in around(0.5, np.linspace(0.0, 1.0, 101), 0.9)]
    [0.05, 0.95]
    >>> [round(end, 3) for end in around(0.5, np.array([0.4, 0.5, 0.6]), 0.95)]
    [0.07, 0.93]
    """
    if len(resampled) < QUANTILES_FROM:
        from scipy.special import stdtrit

        reach = float(stdtrit(len(resampled) - 1, (1 + level) / 2) * resampled.std(ddof=1))
        return value - reach, value + reach
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2]) - resampled.mean()
    return value + float(low), value + float(high)


def intervals_of_rows(
    values: dict[str, float], resampled: list[dict[str, float]], level: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Compute intervals for every row of a table.

    Rows with fewer than two resampled values, or with a value that is not finite, are left out.

    Examples
    --------
    >>> intervals_of_rows({"mig": 0.5}, [{"mig": 0.7}, {"mig": 0.8}, {"mig": 0.9}], 0.5)
    ({'mig': 0.418350341907}, {'mig': 0.581649658093})
    """
    low, high = {}, {}
    for row, value in values.items():
        spread = np.array([scores[row] for scores in resampled if row in scores])
        if len(spread) > 1 and np.isfinite([value, *spread]).all():
            low[row], high[row] = np.round(around(value, spread, level), 12).tolist()
    return low, high
