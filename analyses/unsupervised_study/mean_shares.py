"""Mean shares of variance of method, strength and seed, over scores and sets, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from analyses.shared.studies.verdicts import LEVEL, Interval, equal_power, verdict_equal
from analyses.unsupervised_study.published_study import mean_share
from analyses.unsupervised_study.study_measures import PUBLISHED_SCORES

PARTS = ("method", "strength", "seeds")
BOOTSTRAPS = 400


def mean_shares(frame: pd.DataFrame, margin: float) -> list[dict[str, Any]]:
    """Every part with what was published of the same sets, runs, interval, power and verdict."""
    sets = {str(data): scores_of(own) for data, own in frame.groupby("data", sort=False)}
    if not sets:
        return []
    method, both = (mean_share(name, list(sets)) for name in ("method", "method x strength"))
    found = []
    for number, published in enumerate((method, both - method, 1 - both)):
        interval = mean_intervals(list(sets.values()))[number]
        found.append(
            {
                "part": PARTS[number],
                "published": published,
                "here": interval.value,
                "low": interval.low,
                "high": interval.high,
                "sets": len(sets),
                "runs": interval.n,
                "power": equal_power(interval, published, margin),
                "verdict": verdict_equal(interval, published, margin),
            }
        )
    return found


def scores_of(own: pd.DataFrame) -> np.ndarray:
    """Scores of the runs of one set, shape (methods, strengths, seeds, scores)."""
    keys = list(PUBLISHED_SCORES.values())
    rows = own.sort_values(["method", "place", "seed"])
    shape = (rows["method"].nunique(), rows["place"].nunique(), -1, len(keys))
    return np.asarray(rows[keys].to_numpy(float).reshape(shape))


def shares_of(scores: np.ndarray) -> np.ndarray:
    """Shares of the variance by part, adjusted as in `share_of`, on average over scores.

    Parameters
    ----------
    scores : ndarray of shape (..., methods, strengths, seeds, scores)

    Returns
    -------
    ndarray of shape (..., 3)
        Of `PARTS`; they sum to 1.

    Examples
    --------
    >>> scores = np.array([[[0.0, 0.1], [1.0, 1.1]], [[0.5, 0.6], [1.5, 1.6]]])[..., None]
    >>> shares_of(scores).round(2).tolist()
    [0.2, 0.79, 0.01]
    """
    methods, strengths, seeds = scores.shape[-4:-1]
    cells, n = methods * strengths, methods * strengths * seeds
    means = scores.mean(axis=-2)
    total = scores.var(axis=(-4, -3, -2))
    between, all_cells = means.mean(axis=-2).var(axis=-2), means.var(axis=(-3, -2))
    noise = (total - all_cells) / (n - cells)
    method = (between - (methods - 1) * noise) / total
    both = (all_cells - (cells - 1) * noise) / total
    parts = np.stack([method, both - method, 1 - both], axis=-1)
    return np.asarray(np.nanmean(parts, axis=-2))


def mean_intervals(sets: list[np.ndarray]) -> list[Interval]:
    """Means over sets of the shares of all parts, with intervals over runs that are drawn anew.

    A parametric bootstrap: normal scores are drawn about the means of settings, shrunken to their
    variance without that of noise, with the covariance that scores have within settings. So scores
    of one model depend on each other; sets and scores are fixed, those that were published. The
    interval is normal, with the standard error of the bootstrap.

    Parameters
    ----------
    sets : list of ndarray of shape (methods, strengths, seeds, scores)
    """
    random = np.random.default_rng(0)
    values = np.mean([shares_of(scores) for scores in sets], axis=0)
    drawn = np.mean([shares_of(_drawn(scores, random)) for scores in sets], axis=0)
    half = stats.norm.ppf((1 + LEVEL) / 2) * drawn.std(axis=0, ddof=1)
    runs = sum(int(np.prod(scores.shape[:-1])) for scores in sets)
    return [
        Interval(float(value), float(value - reach), float(value + reach), runs)
        for value, reach in zip(values, half, strict=True)
    ]


def _drawn(scores: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Studies like this one, shape (draws, methods, strengths, seeds, scores)."""
    methods, strengths, seeds, _ = scores.shape
    cells, n = methods * strengths, methods * strengths * seeds
    means = scores.mean(axis=2)
    inside = (scores - means[:, :, None]).reshape(n, -1)
    covariance = inside.T @ inside / (n - cells)
    noise = np.diag(covariance)
    of_method = means.mean(axis=1, keepdims=True) - means.mean(axis=(0, 1))
    of_strength = means - means.mean(axis=1, keepdims=True)
    true = _shrunken(of_method, (methods - 1) * noise / n)
    true = true + _shrunken(of_strength, (cells - methods) * noise / n)
    size = (BOOTSTRAPS, methods, strengths, seeds)
    return np.asarray(
        true[:, :, None] + random.multivariate_normal(np.zeros(len(noise)), covariance, size)
    )


def _shrunken(effects: np.ndarray, excess: np.ndarray) -> np.ndarray:
    """Effects with so much less variance, not below 0: what noise adds to it is taken away."""
    variance = (effects**2).mean(axis=(0, 1))
    left = np.maximum(variance - excess, 0.0)
    return effects * np.sqrt(left / np.where(variance > 0, variance, 1.0))
