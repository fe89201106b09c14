"""Intervals, verdicts on claims, and the power to give them, computed by simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import stats

REPRODUCED, NOT_REPRODUCED, CANNOT_TELL = "reproduced", "not reproduced", "cannot tell"
LEVEL = 0.95
DRAWS = 2000


@dataclass(frozen=True)
class Interval:
    """A statistic over n runs with an interval of 95 %."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def spearman_interval(value: float, n: int) -> Interval:
    """Interval of a rank correlation by Fisher's z, of variance (1 + rho^2 / 2) / (n - 3).

    The variance is that of Bonett and Wright (2000).

    Examples
    --------
    >>> print(spearman_interval(0.5, 103))
    0.50 (0.33 to 0.64)
    """
    if not np.isfinite(value) or n < 5:
        return Interval(value, -1.0, 1.0, n)
    value = float(np.clip(value, -1 + 1e-9, 1 - 1e-9))
    half = stats.norm.ppf((1 + LEVEL) / 2) * np.sqrt((1 + value**2 / 2) / (n - 3))
    centre = np.arctanh(value)
    return Interval(value, float(np.tanh(centre - half)), float(np.tanh(centre + half)), n)


def spearman_of(a: Any, b: Any) -> Interval:
    """Rank correlation with its interval, over the runs that have both."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    both = np.isfinite(a) & np.isfinite(b)
    n = int(both.sum())
    if n < 3 or np.ptp(a[both]) == 0 or np.ptp(b[both]) == 0:
        return Interval(float("nan"), -1.0, 1.0, n)
    return spearman_interval(float(stats.spearmanr(a[both], b[both]).statistic), n)


def mean_interval(values: Any) -> Interval:
    """Mean of n numbers with Student's interval.

    Examples
    --------
    >>> print(mean_interval([0.9, 1.0, 1.1]))
    1.00 (0.75 to 1.25)
    """
    values = np.asarray(values, float)
    n = len(values)
    if n < 2:
        return Interval(float(values.mean()) if n else float("nan"), -np.inf, np.inf, n)
    mean = float(values.mean())
    half = float(stats.t.ppf((1 + LEVEL) / 2, n - 1) * values.std(ddof=1) / np.sqrt(n))
    return Interval(mean, mean - half, mean + half, n)


def jackknife_interval(value: float, left_out: Sequence[float], n: int) -> Interval:
    """A statistic with the interval of the jackknife, from its values with one unit left out each.

    The variance is (m - 1) / m sum (t_i - mean)^2 of m values, the interval Student's.

    Examples
    --------
    >>> print(jackknife_interval(1.0, [1.05, 1.0, 0.95], 3))  # a mean of 0.9, 1.0, 1.1
    1.00 (0.75 to 1.25)
    """
    values = np.asarray(left_out, float)
    m = len(values)
    if m < 3 or not np.isfinite(values).all():
        return Interval(value, -np.inf, np.inf, n)
    error = np.sqrt((m - 1) / m * ((values - values.mean()) ** 2).sum())
    half = float(stats.t.ppf((1 + LEVEL) / 2, m - 1) * error)
    return Interval(value, value - half, value + half, n)


def proportion_interval(wins: int, n: int) -> Interval:
    """A share of n independent trials with the exact interval of Clopper and Pearson (1934).

    Examples
    --------
    >>> print(proportion_interval(0, 12))
    0.00 (0.00 to 0.26)
    """
    if n == 0:
        return Interval(float("nan"), 0.0, 1.0, 0)
    tail = (1 - LEVEL) / 2
    low = float(stats.beta.ppf(tail, wins, n - wins + 1)) if wins else 0.0
    high = float(stats.beta.ppf(1 - tail, wins + 1, n - wins)) if wins < n else 1.0
    return Interval(wins / n, low, high, n)


def verdict_above(found: Interval, bound: float, margin: float = 0.0) -> str:
    """Whether a statistic is above a bound: the whole interval is, is not by what matters, or else.

    Parameters
    ----------
    found : Interval
    bound : float
    margin : float
        The difference from the bound that would matter: an interval that leaves it out, all of it
        below `bound + margin`, is "not reproduced" although it may hold the bound. With 0 it has to
        be below the bound.

    Examples
    --------
    >>> verdict_above(Interval(.5, .3, .7, 50), .2), verdict_above(Interval(.5, .3, .7, 50), .4)
    ('reproduced', 'cannot tell')
    >>> verdict_above(Interval(.05, -.1, .2, 50), 0.0, margin=.3)
    'not reproduced'
    """
    if not np.isfinite(found.value):
        return CANNOT_TELL
    if found.low > bound:
        return REPRODUCED
    return NOT_REPRODUCED if found.high < bound + margin else CANNOT_TELL


def verdict_below(found: Interval, bound: float, margin: float = 0.0) -> str:
    """Whether a statistic is below a bound; not so where it is all above `bound - margin`."""
    turned = Interval(-found.value, -found.high, -found.low, found.n)
    return verdict_above(turned, -bound, margin)


def verdict_equal(found: Interval, published: float, margin: float) -> str:
    """Whether a statistic is what was published, within a margin on either side.

    Reproduced if the interval lies within the margin, not reproduced if it lies outside.

    Examples
    --------
    >>> verdict_equal(Interval(.5, .45, .55, 50), .52, .1)
    'reproduced'
    """
    if not np.isfinite(found.value):
        return CANNOT_TELL
    if found.low > published - margin and found.high < published + margin:
        return REPRODUCED
    outside = found.high < published - margin or found.low > published + margin
    return NOT_REPRODUCED if outside else CANNOT_TELL


def power_of(draw: Callable[[np.random.Generator], bool], draws: int = DRAWS) -> float:
    """How often a verdict is given in studies of this size that are drawn from what is assumed."""
    random = np.random.default_rng(0)
    return float(np.mean([draw(random) for _ in range(draws)]))


def above_power(found: Interval, truth: float, bound: float = 0.0) -> float:
    """How often an interval as wide as this one lies above a bound, were the truth so large.

    Examples
    --------
    >>> round(above_power(Interval(0.1, -0.1, 0.3, 50), 0.2), 2)
    0.5
    """
    half = (found.high - found.low) / 2
    if not np.isfinite(half):
        return 0.0
    if half == 0:
        return float(truth > bound)
    reach = stats.norm.ppf((1 + LEVEL) / 2)
    return float(stats.norm.cdf(reach * (truth - bound) / half - reach))


def equal_power(found: Interval, published: float, margin: float) -> float:
    """How often an interval as wide as this one lies within the margin, were the published true.

    Examples
    --------
    >>> round(equal_power(Interval(0.6, 0.5, 0.7, 50), 0.5, 0.2), 2)
    0.95
    """
    half = (found.high - found.low) / 2
    if not np.isfinite(half) or half >= margin:
        return 0.0
    if half == 0:
        return 1.0
    reach = stats.norm.ppf((1 + LEVEL) / 2)
    return float(2 * stats.norm.cdf(reach * (margin - half) / half) - 1)


@lru_cache(maxsize=256)
def spearman_power(truth: float, n: int, bound: float = 0.0, draws: int = DRAWS) -> float:
    """Power of `verdict_above` for a true rank correlation of n independent pairs.

    Normal pairs are drawn whose Pearson correlation is 2 sin(pi rho / 6), for which Spearman's
    is rho.

    Examples
    --------
    >>> spearman_power(0.8, 50, draws=200)
    1.0
    """
    if n < 5:
        return 0.0
    pearson = 2 * np.sin(np.pi * truth / 6)
    random = np.random.default_rng(0)
    first = random.standard_normal((draws, n))
    second = pearson * first + np.sqrt(1 - pearson**2) * random.standard_normal((draws, n))
    ranks = [side.argsort(axis=1).argsort(axis=1).astype(float) for side in (first, second)]
    found = 1 - 6 * ((ranks[0] - ranks[1]) ** 2).sum(axis=1) / (n * (n**2 - 1))
    lows = np.array([spearman_interval(float(value), n).low for value in found])
    return float((lows > bound).mean())
