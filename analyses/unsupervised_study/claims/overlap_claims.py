"""Figure 3: how far scores of methods overlap, and those of strengths of one method."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd

from analyses.shared.studies.verdicts import (
    DRAWS,
    above_power,
    jackknife_interval,
    proportion_interval,
    verdict_above,
)
from analyses.unsupervised_study.claims.claim import ON_CARS, Claim

# Part of the variance within a method that its strengths explain: 23 of 71 points of what is
# published of plain, coloured and noisy sprites.
OF_STRENGTHS = 0.32
# Part of the variance that the method explains, of the FactorVAE score on Cars3D.
OF_METHODS = 0.26
# "Heavily": more than a quarter of pairs, what methods that explain half of the variance leave.
HEAVY = 0.25
# "Can beat": more often than in one of twenty pairs.
CAN = 0.05
SCORE = "factor_vae"


def overlap_claims(data: str, own: pd.DataFrame) -> list[Claim]:
    """Both panels of figure 3."""
    pairs = held_out_pairs(own)
    wins, n = (int(sum(side)) for side in zip(*pairs.values(), strict=True)) if pairs else (0, 0)
    made = []
    scores = own[["method", SCORE]].reset_index(drop=True)
    if scores["method"].nunique() > 1:
        left_out = [overlap_of_methods(scores.drop(index=row)) for row in scores.index]
        found = jackknife_interval(overlap_of_methods(scores), left_out, len(own))
        made.append(
            Claim(
                "Fig. 3, left",
                data,
                "FactorVAE scores of methods overlap: of pairs of runs of two methods, those that "
                f"the worse one wins are more than {HEAVY:.0%}",
                "heavily overlapping",
                str(found),
                found.n,
                above_power(found, overlap_of_share(OF_METHODS), HEAVY),
                verdict_above(found, HEAVY),
                ON_CARS,
            )
        )
    if n:
        found = proportion_interval(wins, n)
        seeds, strengths = own["seed"].nunique(), own["place"].nunique()
        made.append(
            Claim(
                "Fig. 3, right",
                data,
                "a run of a method's worst strength beats one of its best, both chosen by the "
                f"other seeds, in more than {CAN:.0%} of pairs (FactorVAE score)",
                "a good run with a bad hyperparameter can beat a bad run with a good one",
                f"{found}: {wins} of {n} pairs",
                len(own),
                held_out_power(len(pairs), strengths, seeds),
                verdict_above(found, CAN),
                ON_CARS,
            )
        )
    return made


def overlap_of_methods(scores: pd.DataFrame) -> float:
    """Mean over pairs of methods of how often a run of the worse one wins: .5 where they are alike.

    Examples
    --------
    >>> overlap_of_methods(pd.DataFrame({"method": list("aabb"), SCORE: [0.1, 0.4, 0.3, 0.5]}))
    0.25
    """
    groups = [own.to_numpy(float) for _, own in scores.groupby("method", sort=False)[SCORE]]
    wins = []
    for one, other in combinations(groups, 2):
        gaps = one[:, None] - other
        won = float((gaps > 0).mean() + 0.5 * (gaps == 0).mean())
        wins.append(min(won, 1 - won))
    return float(np.mean(wins))


def overlap_of_share(share: float) -> float:
    """The same of normal scores of which methods explain a share, on average over methods.

    A difference of methods d ~ N(0, 2 s) is overcome with chance Phi(-|d| / sqrt(2 (1 - s))), whose
    mean is arctan(sqrt((1 - s) / s)) / pi.

    Examples
    --------
    >>> overlap_of_share(0.5)
    0.25
    """
    return float(np.arctan(np.sqrt((1 - share) / share)) / np.pi)


def held_out_pairs(own: pd.DataFrame, score: str = SCORE) -> dict[str, tuple[int, int]]:
    """Of every method, how many pairs a run of its worst strength wins against one of its best.

    For every seed, the strengths with the worst and the best mean of the other seeds are compared
    in that seed: what chooses does not judge. Methods with fewer than two strengths or seeds are
    left out.

    Returns
    -------
    dict of str to (int, int)
        Wins, and pairs.

    Examples
    --------
    >>> runs = pd.DataFrame({"method": "a", "place": [0, 0, 1, 1], "seed": [0, 1, 0, 1]})
    >>> held_out_pairs(runs.assign(s=[0.1, 0.6, 0.3, 0.5]), "s")
    {'a': (2, 2)}
    """
    found = {}
    for method, runs in own.groupby("method", sort=False):
        scores = runs.pivot(index="place", columns="seed", values=score).to_numpy(float)
        if min(scores.shape) > 1:
            won = _held_out_wins(scores[None])
            found[str(method)] = (int(won.sum()), scores.shape[1])
    return found


def _held_out_wins(scores: np.ndarray) -> np.ndarray:
    """Whether the worst strength wins in every seed: (..., strengths, seeds) -> (..., seeds)."""
    others = scores.sum(axis=-1, keepdims=True) - scores
    worst, best = (
        np.take_along_axis(scores, pick(others, axis=-2, keepdims=True), axis=-2)[..., 0, :]
        for pick in (np.argmin, np.argmax)
    )
    return np.asarray(worst > best)


@cache
def held_out_power(methods: int, strengths: int, seeds: int, draws: int = DRAWS) -> float:
    """How often the interval of held-out wins is above `CAN`, with strengths as published.

    Examples
    --------
    >>> held_out_power(6, 6, 2) < 0.7 < 0.9 < held_out_power(6, 6, 50)
    True
    """
    random = np.random.default_rng(0)
    between = random.standard_normal((draws, methods, strengths, 1))
    within = random.standard_normal((draws, methods, strengths, seeds))
    scores = np.sqrt(OF_STRENGTHS) * between + np.sqrt(1 - OF_STRENGTHS) * within
    wins = _held_out_wins(scores).sum(axis=(1, 2))
    n = methods * seeds
    enough = np.array([proportion_interval(each, n).low > CAN for each in range(n + 1)])
    return float(enough[wins].mean())
