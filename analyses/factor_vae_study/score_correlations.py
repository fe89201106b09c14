"""Correlations of two scores over runs: coefficients with intervals, and the power to see one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from analyses.shared.studies.paired_comparisons import ALPHA


def correlation_of(kind: str) -> Callable[[np.ndarray, np.ndarray], float]:
    """Coefficient of two arrays by its name."""
    from scipy import stats

    functions = {
        "Pearson": stats.pearsonr,
        "Kendall": stats.kendalltau,
        "Spearman": stats.spearmanr,
    }
    return lambda a, b: float(functions[kind](a, b).statistic)


def bootstrapped(
    a: np.ndarray, b: np.ndarray, kind: str, draws: int = 1000
) -> tuple[float, float, float]:
    """Coefficient with the 95 % interval of drawing runs again.

    Examples
    --------
    >>> found = bootstrapped(np.arange(9.0), np.arange(9.0) ** 3, "Kendall", draws=20)
    >>> [round(value, 9) for value in found]
    [1.0, 1.0, 1.0]
    """
    of = correlation_of(kind)
    random = np.random.default_rng(0)
    values = []
    for _ in range(draws):
        own = random.integers(len(a), size=len(a))
        if np.ptp(a[own]) > 0 and np.ptp(b[own]) > 0:
            values.append(of(a[own], b[own]))
    low, high = np.quantile(values, [ALPHA / 2, 1 - ALPHA / 2])
    return of(a, b), float(low), float(high)


def rank_power(truth: float, n: int, draws: int = 1000) -> float:
    """Chance that n runs show a rank correlation of this size as above zero (p < .05).

    Simulated with normal pairs, whose Pearson correlation is 2 sin(pi rho / 6).

    Examples
    --------
    >>> rank_power(0.444, 10) < 0.4 < 0.9 < rank_power(0.444, 80)
    True
    """
    from scipy import stats

    pearson = 2 * np.sin(np.pi * truth / 6)
    random = np.random.default_rng(n)
    first, noise = random.standard_normal((2, n, draws))
    second = pearson * first + np.sqrt(1 - pearson**2) * noise
    ranks = [side.argsort(axis=0).argsort(axis=0) for side in (first, second)]
    found = 1 - 6 * ((ranks[0] - ranks[1]) ** 2).sum(axis=0) / (n * (n**2 - 1))
    t = found * np.sqrt((n - 2) / np.maximum(1 - found**2, 1e-12))
    return float((t > stats.t.ppf(1 - ALPHA / 2, n - 2)).mean())
