"""Correlations of both scores over runs: coefficients, intervals over seeds, verdicts, power."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from analyses.factor_vae_study.claims.score_claims import CEILING
from analyses.factor_vae_study.named_runs import GAN
from analyses.factor_vae_study.run_measures import OLDER, SCORE
from analyses.shared.model_runs import table
from analyses.shared.studies.verdicts import (
    CANNOT_TELL,
    NOT_REPRODUCED,
    REPRODUCED,
    Interval,
    equal_power,
    verdict_equal,
)

if TYPE_CHECKING:
    import pandas as pd

PUBLISHED = {"Pearson": 0.404, "Kendall": 0.310, "Spearman": 0.444}
MARGIN = 0.15
DRAWS = 1000
LEAST_SEEDS = 4


def correlation_of(kind: str) -> Callable[[np.ndarray, np.ndarray], float]:
    """Coefficient of two arrays by its name."""
    from scipy import stats

    functions = {
        "Pearson": stats.pearsonr,
        "Kendall": stats.kendalltau,
        "Spearman": stats.spearmanr,
    }
    return lambda a, b: float(functions[kind](a, b).statistic)


def drawn_again(
    a: np.ndarray, b: np.ndarray, seeds: np.ndarray, kind: str, draws: int = DRAWS
) -> Interval:
    """Coefficient with the 95 % interval of drawing seeds again, each with all its runs.

    Parameters
    ----------
    a, b, seeds : ndarray of shape (n,)
        Runs of one seed are alike: they are drawn together.
    kind : {"Pearson", "Kendall", "Spearman"}
    draws : int

    Returns
    -------
    Interval
        Of n seeds.

    Examples
    --------
    >>> a = np.arange(12.0)
    >>> print(drawn_again(a, a**3, np.repeat([0, 1, 2], 4), "Kendall", draws=20))
    1.00 (1.00 to 1.00)
    """
    of = correlation_of(kind)
    random = np.random.default_rng(0)
    places = [np.flatnonzero(seeds == seed) for seed in np.unique(seeds)]
    values = []
    for _ in range(draws):
        own = np.concatenate([places[j] for j in random.integers(len(places), size=len(places))])
        if np.ptp(a[own]) > 0 and np.ptp(b[own]) > 0:
            values.append(of(a[own], b[own]))
    low, high = np.quantile(values, [0.025, 0.975])
    return Interval(of(a, b), float(low), float(high), len(places))


def verdict_on(found: Interval, published: float, power: float, margin: float = MARGIN) -> str:
    """Whether the coefficient is the published one within the margin, and above zero.

    Examples
    --------
    >>> verdict_on(Interval(0.45, 0.35, 0.5, 40), 0.444, 0.9)
    'reproduced'
    >>> verdict_on(Interval(0.8, 0.7, 0.9, 40), 0.444, 0.9)
    'not reproduced (higher)'
    """
    verdict = verdict_equal(found, published, margin)
    if verdict == NOT_REPRODUCED:
        return f"{verdict} ({'higher' if found.value > published else 'lower'})"
    if verdict == REPRODUCED and found.low > 0:
        return verdict
    return f"{CANNOT_TELL} (power {power:.2f})"


def correlation_table(rows: pd.DataFrame) -> list[str]:
    """Lines of `results.md`, of the runs of both autoencoders."""
    lines = ["## Correlation of the FactorVAE score with the BetaVAE score", ""]
    own = rows[rows["name"] != GAN]
    enough = {SCORE, OLDER, "seed"} <= set(own) and own["seed"].nunique() >= LEAST_SEEDS
    if not enough or own[OLDER].nunique() < 3 or own[SCORE].nunique() < 3:
        return [*lines, "Not enough runs with distinct scores.", ""]
    a, b, seeds = (own[column].to_numpy() for column in (SCORE, OLDER, "seed"))
    cells = []
    for kind, published in PUBLISHED.items():
        found = drawn_again(a, b, seeds, kind)
        power = equal_power(found, published, MARGIN)
        cells.append(
            [
                kind,
                f"{published:.3f}",
                f"{len(own)} of {found.n}",
                f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})",
                f"{power:.2f}",
                verdict_on(found, published, power),
            ]
        )
    note = (
        "Runs of both autoencoders at all strengths; the paper does not say which runs it took, "
        "and differing strengths make a part of any such correlation. Intervals of drawing seeds "
        "again, each with all its runs. Reproduced: the whole interval within "
        f"{MARGIN:g} of the published value, and above zero; not reproduced: all of it outside. "
        "Power is the chance of the former if the published value is the truth. Not corrected for "
        "the three coefficients, which say the same."
    )
    if own[OLDER].mean() > CEILING:
        note += f" The BetaVAE score, {own[OLDER].mean():.3f} on average, is near its ceiling."
    header = ["coefficient", "published", "runs of seeds", "ours (95 %)", "power", "verdict"]
    return [*lines, note, "", *table(header, cells), ""]
