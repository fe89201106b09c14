"""Whether scores rise with compute, and differ between algorithms: tests of runs by seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
import pandas as pd
from scipy import stats

from analyses.compute_scaling.scaling_runs import SCORES, at_step, pairs_of
from analyses.shared.studies.paired_comparisons import (
    ALPHA,
    PairedComparison,
    compare_pairs,
    p_words,
)
from analyses.shared.studies.seed_claims import NOT_PUBLISHED
from analyses.shared.studies.verdicts import CANNOT_TELL, NOT_REPRODUCED, REPRODUCED

# The difference of MIG that would matter. SAP is smaller: of it a share of its mean.
MARGIN, SHARE = 0.05, 1 / 3
RISES, MATTERS = "rises (5.1)", "algorithm choice matters (5.1)"
HEADER = (
    "difference",
    "score",
    "published",
    "seeds",
    "would matter",
    "ours (95 %)",
    "above 0",
    "p",
    "verdict",
)


@dataclass(frozen=True)
class ScalingClaim:
    """A difference of scores of the same seeds, what the paper says of it, and a verdict."""

    words: str
    score: str
    published: str
    found: PairedComparison
    above: int
    verdict: str

    def cells(self) -> list[str]:
        """As cells of a table."""
        one = self.found
        return [
            self.words,
            self.score.upper(),
            self.published,
            str(one.n),
            f"{one.margin:.3g}",
            f"{one.mean:+.3f} ({one.low:+.3f} to {one.high:+.3f})",
            f"{self.above} of {one.n}",
            p_words(one.p),
            self.verdict,
        ]


def scaling_claims(runs: pd.DataFrame) -> list[ScalingClaim]:
    """Over all of the training, over its second half, and of beta-VAEs against VAEs at its end."""
    steps = sorted(int(step) for step in runs["step"].unique())
    betas = sorted(float(beta) for beta in runs["beta"].unique())
    last, made = steps[-1], []
    for beta in betas:
        for score in SCORES:
            for first in dict.fromkeys((steps[0], steps[-2])):
                pair = pairs_of(at_step(runs, beta, score, last), at_step(runs, beta, score, first))
                said = RISES if beta > 1 and score == "mig" else NOT_PUBLISHED
                words = f"{name_of(beta)}: {last:,} - {first:,} steps"
                made.append(_claim(words, score, said, pair, margin_of(runs, score)))
    for beta in betas[1:]:
        for score in SCORES:
            pair = pairs_of(at_step(runs, beta, score, last), at_step(runs, 1.0, score, last))
            said = MATTERS if score == "mig" else NOT_PUBLISHED
            words = f"{name_of(beta)} - VAE at {last:,} steps"
            made.append(_claim(words, score, said, pair, margin_of(runs, score)))
    return made


def margin_of(runs: pd.DataFrame, score: str) -> float:
    """The difference that would matter: of MIG .05, else a third of the mean at the last step."""
    if score == "mig":
        return MARGIN
    last = runs[runs["step"] == runs["step"].max()]
    return float(last[f"score {score}"].mean()) * SHARE


def _claim(
    words: str, score: str, said: str, pair: tuple[list[float], list[float]], margin: float
) -> ScalingClaim:
    found = compare_pairs(*pair, margin)
    if said == RISES:
        verdict = found.verdict()
    else:
        verdict = differs_verdict(found) if said == MATTERS else direction_of(found)
    above = sum(one > other for one, other in zip(*pair, strict=True))
    return ScalingClaim(words, score, said, found, above, verdict)


def differs_verdict(found: PairedComparison) -> str:
    """Whether two kinds of run differ, either way, or by less than would matter.

    Examples
    --------
    >>> one, other = [0.3, 0.31, 0.32, 0.33, 0.3, 0.3], [0.1, 0.1, 0.1, 0.12, 0.1, 0.1]
    >>> differs_verdict(compare_pairs(one, other, 0.05))
    'reproduced'
    >>> differs_verdict(compare_pairs(one, [0.3, 0.32, 0.31, 0.33, 0.31, 0.3], 0.05))
    'not reproduced'
    """
    if found.p < ALPHA:
        return REPRODUCED
    if -found.margin < found.low and found.high < found.margin:
        return NOT_REPRODUCED
    return f"{CANNOT_TELL} (power {found.power:.2f})"


def direction_of(found: PairedComparison) -> str:
    """What ours is where nothing is published.

    Examples
    --------
    >>> one, other = [0.3, 0.31, 0.32, 0.33, 0.3, 0.3], [0.1, 0.1, 0.1, 0.12, 0.1, 0.1]
    >>> direction_of(compare_pairs(one, other, 0.05))
    'above'
    """
    if found.p < ALPHA:
        return "above" if found.mean > 0 else "below"
    small = -found.margin < found.low and found.high < found.margin
    return "less than would matter" if small else "not told apart"


def name_of(beta: float) -> str:
    """What a model is called."""
    return "VAE" if beta == 1 else f"beta = {beta:g}"


def exact_rank_test(a: Sequence[float], b: Sequence[float]) -> tuple[float, float]:
    """Rank correlation, and the share of all orders that have as large a one.

    Examples
    --------
    >>> exact_rank_test([1, 2, 3], [10, 20, 30])
    (1.0, 0.16666666666666666)
    """
    first, second = stats.rankdata(a), stats.rankdata(b)
    seen = float(np.corrcoef(first, second)[0, 1])
    others = [np.corrcoef(first, order)[0, 1] for order in permutations(second)]
    return round(seen, 12), float(np.mean(np.array(others) >= seen - 1e-12))


def exact_rank_sum(first: Sequence[float], second: Sequence[float]) -> float:
    """Share of all ways to choose as many values whose ranks sum to as much as those of the first.

    Examples
    --------
    >>> exact_rank_sum([4, 5], [1, 2, 3])
    0.1
    """
    ranks = stats.rankdata([*first, *second])
    seen = ranks[: len(first)].sum()
    sums = [sum(some) for some in combinations(ranks, len(first))]
    return float(np.mean(np.array(sums) >= seen - 1e-12))
