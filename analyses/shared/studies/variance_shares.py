"""Shares of variance that method and strength explain: unbiased, with intervals, and power."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize, stats

from analyses.shared.studies.verdicts import LEVEL, Interval
from geodis.scores import variance_explained

# Largest share that is looked for: of a larger one the noncentral F leaves floats.
MOST = 0.9999


def share_interval(
    share: float, n: int, groups: int, with_crossed: float | None = None, cells: int | None = None
) -> tuple[float, float]:
    """Interval of the true share of variance between groups, from the share R^2 that was seen.

    With a true share s, the ratio F of mean squares between groups and within cells has a
    noncentral F distribution with noncentrality n s / (1 - s), for normal scores of one variance
    in all cells; the ends are the shares for which what was seen is at the 2.5 and 97.5 % points.
    Groups are the cells, unless each has the same other settings in it, as methods have strengths.
    Then the variance of these, b times that within cells, is taken at its unbiased estimate: the
    noncentrality is n s / (1 - s) (1 + b), and the degrees of freedom of what lies below are
    Satterthwaite's of the sum of both, which covers as it says (simulated in the tests).

    Parameters
    ----------
    share : float
        R^2, not adjusted.
    n, groups : int
    with_crossed : float, optional
        R^2 of the cells of groups and crossed settings.
    cells : int, optional

    Returns
    -------
    low, high : float
        0 and 1 where cells of one run each say nothing.

    Examples
    --------
    >>> low, high = share_interval(0.5, 200, 5)
    >>> round(low, 2), round(high, 2)
    (0.4, 0.57)
    >>> low, high = share_interval(0.5, 200, 5, with_crossed=0.9, cells=20)
    >>> round(low, 2), round(high, 2)
    (0.45, 0.54)
    """
    cells = groups if cells is None else cells
    both = share if with_crossed is None else with_crossed
    within, between = n - cells, groups - 1
    if within < 1 or between < 1 or not np.isfinite(share):
        return 0.0, 1.0
    noise = max(1.0 - both, 1e-12) / within
    crossed, degrees = _crossed(both - share, noise, n, cells - groups, within)
    seen = share / between / noise

    def below(true: float, seen: float = seen) -> float:
        return float(_below(true, seen, n, between, crossed, degrees))

    tail = (1 - LEVEL) / 2
    # Less between groups than noise has on average is no sign that there is nothing.
    return _end(below, 1 - tail), _end(lambda true: below(true, max(seen, 1.0)), tail)


def _crossed(squares: Any, noise: Any, n: int, free: int, within: int) -> tuple[Any, Any]:
    """Variance of crossed settings over that within cells, and degrees of freedom of their sum."""
    ratio = np.maximum(0.0, squares - free * noise) / n / noise
    spread = (free + 2 * n * ratio) / n**2 + (1 - free / n) ** 2 / within
    return ratio, (1 + ratio) ** 2 / spread


def _below(true: float, seen: Any, n: int, between: int, crossed: Any, degrees: Any) -> Any:
    """How often ratios of mean squares are below those seen, for a true share."""
    away = n * true / (1 - true) * (1 + crossed)
    found = stats.ncf.cdf(seen, between, degrees, away)
    return np.nan_to_num(found, nan=0.0)  # so far away that it cannot be computed


def _end(below: Any, level: float) -> float:
    """The share at which the distribution has so much below what was seen; it falls with it."""
    if below(0.0) <= level:
        return 0.0
    if below(MOST) >= level:
        return 1.0
    return float(optimize.brentq(lambda true: below(true) - level, 0.0, MOST, xtol=1e-5))


def share_of(
    table: pd.DataFrame, by: Sequence[str], score: str, crossed: Sequence[str] = ()
) -> Interval:
    """Share of the variance of one score that settings explain, with its interval.

    Adjusted for chance: from the share that was seen, what noise within cells puts between groups
    is taken away, (groups - 1) mean squares, which pure noise leaves at 0 on average. `crossed` are
    settings that every group has in it: theirs is a part of the total, but no noise.

    Examples
    --------
    >>> runs = pd.DataFrame({"a": [0, 0, 0, 0, 1, 1, 1, 1], "b": [0, 0, 1, 1] * 2})
    >>> runs["s"] = [0.0, 0.1, 1.0, 1.1, 0.5, 0.6, 1.5, 1.6]
    >>> print(share_of(runs, ["a"], "s", crossed=["b"]))
    0.20 (0.13 to 0.27)
    """
    line = variance_explained(table[[*by, score]], list(by)).loc[score]
    cells = line
    if crossed:
        cells = variance_explained(table[[*by, *crossed, score]], [*by, *crossed]).loc[score]
    n, groups, most = int(line["models"]), int(line["groups"]), int(cells["groups"])
    share, both = float(line["explained"]), float(cells["explained"])
    low, high = share_interval(share, n, groups, both, most)
    noise = (1 - both) / (n - most) if n > most else float("nan")
    return Interval(share - (groups - 1) * noise, low, high, n)


@lru_cache(maxsize=512)
def share_power(
    truth: float,
    groups: int,
    size: int,
    published: float,
    margin: float,
    with_crossed: float | None = None,
    crossed: int = 1,
    draws: int = 2000,
) -> float:
    """How often a true share would be told from, or found equal to, a published one.

    Sums of squares of studies of `groups` groups of `size` normal scores are drawn with the true
    share; counted is how often `verdict_equal` on their intervals says anything but that it cannot
    tell. An interval ends above a share where that share is not yet refused.

    Parameters
    ----------
    truth : float
    groups, size : int
    published, margin : float
    with_crossed : float, optional
        True share of groups and the settings crossed with them, of which there are `crossed`.
    crossed : int
    draws : int

    Examples
    --------
    >>> share_power(0.9, 6, 200, 0.2, 0.1, draws=20)
    1.0
    """
    both = truth if with_crossed is None else with_crossed
    n, cells = groups * size, groups * crossed
    within, between, free, tail = n - cells, groups - 1, cells - groups, (1 - LEVEL) / 2
    if within < 1 or between < 1:
        return 0.0
    random = np.random.default_rng(0)
    signal = random.noncentral_chisquare(between, n * truth / (1 - both), draws)
    noise = random.chisquare(within, draws) / within
    other = np.zeros(draws)
    if free:
        other = random.noncentral_chisquare(free, n * (both - truth) / (1 - both), draws)
    ratio, degrees = _crossed(other, noise, n, free, within)
    seen = signal / between / noise

    def below(share: float, ratios: np.ndarray) -> np.ndarray:
        return np.asarray(_below(share, ratios, n, between, ratio, degrees))

    low, high = published - margin, published + margin
    always = np.ones(draws, bool)
    # Whether the interval begins above `low` and above `high`, and ends below either.
    begins_in = below(low, seen) > 1 - tail if low > 0 else always
    ends_in = below(high, np.maximum(seen, 1.0)) < tail if high < 1 else always
    begins_out = below(high, seen) > 1 - tail if high < 1 else ~always
    ends_out = below(low, np.maximum(seen, 1.0)) < tail if low > 0 else ~always
    return float(((begins_in & ends_in) | begins_out | ends_out).mean())
