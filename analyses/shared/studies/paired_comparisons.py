"""Two models compared seed by seed: exact tests, intervals, what they could have seen, verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from analyses.shared.studies.verdicts import CANNOT_TELL, NOT_REPRODUCED, REPRODUCED

ALPHA = 0.05
# Random choices of signs, for the power of a test and for p of more pairs than MOST_EXACT.
DRAWN = 4096
MOST_EXACT = 40  # pairs: two halves with a million choices of signs each


@dataclass(frozen=True)
class PairedComparison:
    """Differences of runs that share a seed.

    Attributes
    ----------
    n : int
        Pairs.
    mean, low, high : float
        Mean difference with its 95 % interval, of Student's t.
    p : float
        Of the sign-flip test, two-sided.
    power : float
        Chance that a test of so many pairs, of this spread, sees a difference of `margin`; of
        several tests that are corrected together, at the level that the first has to pass.
    margin : float
    """

    n: int
    mean: float
    low: float
    high: float
    p: float
    power: float
    margin: float

    def verdict(self, p: float | None = None) -> str:
        """Whether a published difference above zero is there, with p corrected if given.

        "reproduced": above zero, and significantly so. "not reproduced": significantly below, or
        its whole interval below the margin, of as many pairs as a test needs. "cannot tell"
        otherwise, with the power.
        """
        p = self.p if p is None else p
        if p < ALPHA:
            return REPRODUCED if self.mean > 0 else NOT_REPRODUCED
        if self.high < self.margin and 2 / 2**self.n < ALPHA:
            return NOT_REPRODUCED
        return f"{CANNOT_TELL} (power {self.power:.2f})"


def interval_verdict(found: PairedComparison) -> str:
    """The same for few pairs, by the interval alone, which supposes normal differences.

    Three to five pairs are never enough for signs; where differences are large beside their
    spread, Student's interval still tells.

    Examples
    --------
    >>> interval_verdict(compare_pairs([0.9, 0.92, 0.91], [0.1, 0.13, 0.1], 0.05))
    'reproduced'
    """
    if found.low > 0:
        return REPRODUCED
    if found.high < found.margin:
        return NOT_REPRODUCED
    return f"{CANNOT_TELL} (power {interval_power(found):.2f})"


def interval_power(found: PairedComparison) -> float:
    """Chance that the interval of so many pairs, of this spread, sees the margin above zero.

    Examples
    --------
    >>> interval_power(compare_pairs([0.1, 0.1, 0.1], [0.0, 0.0, 0.0], 0.05))
    1.0
    """
    spread = _spread(found)
    return power_of_interval(found.n, found.margin / spread) if spread > 0 else 1.0


def equal_verdict(found: PairedComparison) -> str:
    """Whether two models are as good as each other, within the margin.

    "reproduced": the whole interval is within the margin on either side of zero. "not reproduced":
    it leaves zero out and is not within. "cannot tell" otherwise, with the chance that models
    which are exactly alike would have been found to be, simulated.

    Examples
    --------
    >>> equal_verdict(compare_pairs([0.31, 0.29, 0.3], [0.3, 0.3, 0.31], 0.05))
    'reproduced'
    """
    margin = found.margin
    if -margin < found.low and found.high < margin:
        return REPRODUCED
    if found.low > 0 or found.high < 0:
        return NOT_REPRODUCED
    return f"{CANNOT_TELL} (power {equal_power(found):.2f})"


def equal_power(found: PairedComparison) -> float:
    """Chance that two models which are exactly alike would have been found to be."""
    random = np.random.default_rng((found.n, 20))
    drawn = _spread(found) * random.standard_normal((found.n, 4000))
    ends = np.abs(drawn.mean(axis=0)) + _reach(found.n) * drawn.std(axis=0, ddof=1)
    return float((ends < found.margin).mean())


def _spread(found: PairedComparison) -> float:
    """Standard deviation of the differences, from their interval."""
    return (found.high - found.mean) / _reach(found.n)


@cache
def power_of_interval(n: int, effect: float, draws: int = 4000) -> float:
    """Chance that the interval of n pairs is above zero, for so many standard deviations.

    Examples
    --------
    >>> power_of_interval(3, 1.0) < 0.3 < 0.95 < power_of_interval(3, 9.0)
    True
    """
    random = np.random.default_rng((n, 19))
    differences = effect + random.standard_normal((n, draws))
    reach = _reach(n) * differences.std(axis=0, ddof=1)
    return float((differences.mean(axis=0) > reach).mean())


def _reach(n: int) -> float:
    """Half the length of the 95 % interval of the mean of n, over their standard deviation."""
    from scipy.stats import t

    return float(t.ppf(1 - ALPHA / 2, n - 1) / np.sqrt(n)) if n > 1 else float("inf")


def compare_pairs(
    first: Sequence[float], second: Sequence[float], margin: float, tests: int = 1
) -> PairedComparison:
    """Compare values of runs, the same seeds in the same order.

    Parameters
    ----------
    first, second : sequence of float
        At least two.
    margin : float
        The difference that would matter, above zero.
    tests : int
        How many are corrected together: their power is that at .05 over so many.

    Examples
    --------
    >>> found = compare_pairs([0.3, 0.4, 0.5, 0.6, 0.7, 0.9], [0.1, 0.2, 0.3, 0.3, 0.5, 0.7], 0.1)
    >>> round(found.mean, 3), found.p, found.verdict()
    (0.217, 0.03125, 'reproduced')
    """
    differences = np.asarray(first, float) - np.asarray(second, float)
    n = len(differences)
    spread = float(differences.std(ddof=1)) if n > 1 else float("nan")
    reach = _reach(n) * spread if n > 1 else float("inf")
    mean = float(differences.mean())
    told = n > 1 and spread > 0
    power = power_of_pairs(n, margin / spread, ALPHA / tests) if told else float("nan")
    return PairedComparison(
        n, mean, mean - reach, mean + reach, sign_flip_p(differences), power, margin
    )


def sign_flip_p(differences: Sequence[float] | np.ndarray) -> float:
    """Compute p of the two-sided sign-flip test: how often random signs give as large a mean.

    If neither member of a pair is better, both signs of its difference are equally likely. Up to 40
    pairs the test is exact, with a smallest p of 2 / 2^n. It counts all 2^n sums without storing
    them: the sums of one half of the differences are sorted, and a search for every sum of the
    other half tells how many of them are large enough. For more pairs 4,096 choices of signs are
    drawn, the observed one among them.

    Examples
    --------
    >>> sign_flip_p([1.0, 2.0, 3.0])
    0.25
    """
    own = np.asarray(differences, float)
    if len(own) > MOST_EXACT:
        sums = np.abs(_signs(len(own)) @ own)
        return float((sums >= sums[0] * (1 - 1e-12)).mean())
    one, other = (_signed_sums(half) for half in np.array_split(own, 2))
    other.sort()
    far = abs(own.sum()) - 1e-12 * np.abs(own).sum()  # rounding must not lose what is equal
    if far <= 0:
        return 1.0
    above = len(other) - np.searchsorted(other, far - one, side="left")
    below = np.searchsorted(other, -far - one, side="right")
    return float((above + below).sum() / 2.0 ** len(own))


def _signed_sums(values: np.ndarray) -> np.ndarray:
    """Sums of values under every choice of their signs, shape (2^n,)."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums


@cache
def _signs(n: int) -> np.ndarray:
    """Choices of n signs, the first all above zero, (c, n): all, or drawn where they are many."""
    if 2**n <= DRAWN:
        return np.array(list(product([1.0, -1.0], repeat=n)))
    drawn = np.random.default_rng(n).choice([1.0, -1.0], (DRAWN, n))
    drawn[0] = 1.0
    return drawn


@cache
def power_of_pairs(n: int, effect: float, level: float = ALPHA, draws: int = 2000) -> float:
    """Chance that the sign-flip test sees a difference of so many standard deviations.

    Simulated with normal differences; `level` at most where there is none.

    Examples
    --------
    >>> power_of_pairs(4, 5.0)  # four pairs can never be significant
    0.0
    >>> 0.7 < power_of_pairs(10, 1.0) < 0.9
    True
    """
    random = np.random.default_rng((n, 18))
    differences = effect + random.standard_normal((n, draws))
    sums = np.abs(_signs(n) @ differences)
    p = (sums >= sums[0] * (1 - 1e-12)).mean(axis=0)
    return float((p < level).mean())


def p_words(p: float) -> str:
    """A p in three digits, never as zero.

    Examples
    --------
    >>> p_words(0.0002), p_words(0.0431)
    ('<.001', '0.043')
    """
    return "<.001" if p < 0.001 else f"{p:.3f}"


def holm(ps: Sequence[float]) -> list[float]:
    """Correct p of several tests, stepwise (Holm 1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(ps)
    steps = (len(ps) - np.arange(len(ps))) * np.asarray(ps, float)[order]
    corrected = np.empty(len(ps))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return [float(value) for value in corrected]
