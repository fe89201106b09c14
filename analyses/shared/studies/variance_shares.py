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


def share_interval(share: float, n: int, groups: int) -> tuple[float, float]:
    """Interval of the true share of variance between groups, from the share R^2 that was seen.

    With a true share s, the ratio of mean squares F = R^2 / (1 - R^2) (n - g) / (g - 1) has a
    noncentral F distribution with noncentrality n s / (1 - s), for normal scores of one variance
    in all groups; the ends are the shares for which what was seen is at the 2.5 and 97.5 % points.

    Parameters
    ----------
    share : float
        R^2, not adjusted.
    n, groups : int

    Returns
    -------
    low, high : float
        0 and 1 where groups of one run each say nothing.

    Examples
    --------
    >>> low, high = share_interval(0.5, 200, 5)
    >>> round(low, 2), round(high, 2)
    (0.4, 0.57)
    """
    within, between = n - groups, groups - 1
    if within < 1 or between < 1 or not np.isfinite(share):
        return 0.0, 1.0
    share = float(np.clip(share, 0.0, 1 - 1e-12))
    seen = share / (1 - share) * within / between

    def below(true: float, seen: float = seen) -> float:
        found = float(stats.ncf.cdf(seen, between, within, n * true / (1 - true)))
        return 0.0 if np.isnan(found) else found  # so far away that it cannot be computed

    tail = (1 - LEVEL) / 2
    # Less between groups than noise has on average is no sign that there is nothing.
    return _end(below, 1 - tail), _end(lambda true: below(true, max(seen, 1.0)), tail)


def _end(below: Any, level: float) -> float:
    """The share at which the distribution has so much below what was seen; it falls with it."""
    if below(0.0) <= level:
        return 0.0
    if below(MOST) >= level:
        return 1.0
    return float(optimize.brentq(lambda true: below(true) - level, 0.0, MOST, xtol=1e-5))


def share_of(table: pd.DataFrame, by: Sequence[str], score: str) -> Interval:
    """Adjusted share of the variance of one score that settings explain, with its interval."""
    line = variance_explained(table[[*by, score]], list(by)).loc[score]
    n, groups = int(line["models"]), int(line["groups"])
    low, high = share_interval(float(line["explained"]), n, groups)
    return Interval(float(line["adjusted"]), low, high, n)


@lru_cache(maxsize=512)
def share_power(
    truth: float, groups: int, size: int, published: float, margin: float, draws: int = 2000
) -> float:
    """How often a true share would be told from, or found equal to, a published one.

    Ratios of mean squares of studies of `groups` groups of `size` normal scores are drawn with the
    true share; counted is how often `verdict_equal` on their intervals says anything but that it
    cannot tell. An interval ends above a share where that share is not yet refused.

    Examples
    --------
    >>> share_power(0.9, 6, 200, 0.2, 0.1, draws=20)
    1.0
    """
    n = groups * size
    within, between, tail = n - groups, groups - 1, (1 - LEVEL) / 2
    if within < 1 or between < 1:
        return 0.0
    random = np.random.default_rng(0)
    signal = random.noncentral_chisquare(between, n * truth / (1 - truth), draws) / between
    seen = signal / (random.chisquare(within, draws) / within)

    def below(share: float, ratios: np.ndarray) -> np.ndarray:
        found = stats.ncf.cdf(ratios, between, within, n * share / (1 - share))
        return np.nan_to_num(found, nan=0.0)

    low, high = published - margin, published + margin
    always = np.ones(draws, bool)
    # Whether the interval begins above `low` and above `high`, and ends below either.
    begins_in = below(low, seen) > 1 - tail if low > 0 else always
    ends_in = below(high, np.maximum(seen, 1.0)) < tail if high < 1 else always
    begins_out = below(high, seen) > 1 - tail if high < 1 else ~always
    ends_out = below(low, np.maximum(seen, 1.0)) < tail if low > 0 else ~always
    return float(((begins_in & ends_in) | begins_out | ends_out).mean())
