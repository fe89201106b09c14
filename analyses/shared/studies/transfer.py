"""Whether settings chosen on one set and score do well on another (seed 000, result 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from analyses.shared.studies.verdicts import LEVEL, Interval, mean_interval


def transfer_probability(source: np.ndarray, target: np.ndarray, same: bool = False) -> float:
    """How often the settings that are best on a source beat random settings on a target.

    Of every seed of the source the settings with the best score are chosen. On the target, a run
    of these settings with another seed is compared with one of settings drawn at random: the
    share of all such pairs that it wins, ties counted half.

    Parameters
    ----------
    source, target : ndarray of shape (settings, seeds)
        Scores; NaN where there is no run.
    same : bool
        Whether both are of one set and score: a run is then not judged by itself, and those that
        were seen in the choice, all of that seed, are left out.

    Returns
    -------
    float
        One half where nothing transfers; NaN where there is nothing to compare.

    Examples
    --------
    >>> scores = np.array([[0.1, 0.2], [0.8, 0.9], [0.3, 0.3]])
    >>> round(transfer_probability(scores, scores, same=True), 3)  # a tie with itself, and wins
    0.833
    >>> round(transfer_probability(scores, -scores), 3)
    0.167
    """
    source, target = np.asarray(source, float), np.asarray(target, float)
    wins: list[float] = []
    for seed in range(source.shape[1]):
        column = source[:, seed]
        if not np.isfinite(column).any():
            continue
        best = np.flatnonzero(column == np.nanmax(column))
        kept = np.ones(target.shape[1], bool)
        if same:
            kept[seed] = False
        chosen, others = target[best][:, kept], target[:, kept]
        chosen, others = chosen[np.isfinite(chosen)], others[np.isfinite(others)]
        if len(chosen) and len(others):
            pairs = chosen[:, None] - others
            wins.append(float((pairs > 0).mean() + 0.5 * (pairs == 0).mean()))
    return float(np.mean(wins)) if wins else float("nan")


KINDS = {
    "same score, same set, other seed": (True, True),
    "same score, other set": (True, False),
    "other score, same set": (False, True),
    "other score, other set": (False, False),
}


def transfers(scores: Mapping[tuple[str, str], np.ndarray]) -> dict[str, float]:
    """Mean transfer over all pairs of sets and scores, by what source and target share.

    Parameters
    ----------
    scores : mapping of (set, score) to ndarray of shape (settings, seeds)

    Returns
    -------
    dict of str to float
        By the names in `KINDS`; NaN where there are no such pairs.
    """
    found: dict[str, list[float]] = {name: [] for name in KINDS}
    for (one_set, one_score), source in scores.items():
        for (other_set, other_score), target in scores.items():
            alike = (one_score == other_score, one_set == other_set)
            name = next(name for name, kind in KINDS.items() if kind == alike)
            # Runs of one set and seed are the same models, whatever score looks at them.
            found[name].append(transfer_probability(source, target, same=alike[1]))
    return {
        name: float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
        for name, values in found.items()
    }


@dataclass(frozen=True)
class Transferred:
    """A mean transfer with its interval, and what was left out to find it: seeds or sets."""

    found: Interval
    over: str


def transfer_intervals(scores: Mapping[tuple[str, str], np.ndarray]) -> dict[str, Transferred]:
    """The same with intervals. Settings are fixed; what is random is the seeds.

    One seed of one set is left out at a time, in all scores: the variance is
    sum_d (n_d - 1) / n_d sum_i (t_di - mean_d)^2 over sets d of n_d seeds, the interval Student's
    of sum_d (n_d - 1) degrees of freedom. Between sets two seeds of each are enough; within a set a
    choice needs one seed and its judgement another, so that three are. Where a set has fewer, the
    values of sets are taken as a sample, with Student's interval, which counts also how sets
    differ: it is conservative.

    Parameters
    ----------
    scores : mapping of (set, score) to ndarray of shape (settings, seeds)

    Returns
    -------
    dict of str to Transferred
        By the names in `KINDS`.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> good = np.arange(9.0)[:, None]
    >>> runs = {(name, "mig"): good + random.random((9, 3)) for name in "ab"}
    >>> found = transfer_intervals(runs)["same score, other set"]
    >>> found.over, found.found.low > 0.5
    ('seeds', True)
    """
    whole = transfers(scores)
    shapes = {name: np.shape(values) for (name, _), values in scores.items()}
    runs = sum(settings * seeds for settings, seeds in shapes.values())
    fewest = min(seeds for _, seeds in shapes.values())
    left_out = [
        [transfers(_without(scores, name, seed)) for seed in range(seeds)]
        for name, (_, seeds) in shapes.items()
        if fewest > 1
    ]
    alone = [transfers({key: scores[key] for key in scores if key[0] == name}) for name in shapes]
    found = {}
    for kind, (_, same_set) in KINDS.items():
        over, value = "seeds", Interval(whole[kind], -np.inf, np.inf, runs)
        if fewest >= 2 + same_set:
            value = _of_seeds(whole[kind], [[each[kind] for each in own] for own in left_out], runs)
        elif same_set:
            sets = mean_interval([each[kind] for each in alone])
            over, value = "sets", Interval(sets.value, sets.low, sets.high, runs)
        found[kind] = Transferred(value, over)
    return found


def _without(
    scores: Mapping[tuple[str, str], np.ndarray], name: str, seed: int
) -> dict[tuple[str, str], np.ndarray]:
    """The scores without one seed of one set."""
    return {
        key: np.delete(values, seed, axis=1) if key[0] == name else values
        for key, values in scores.items()
    }


def _of_seeds(value: float, left_out: Sequence[Sequence[float]], runs: int) -> Interval:
    """The jackknife of seeds within sets."""
    parts = [np.asarray(part) for part in left_out]
    variance = sum(
        (len(part) - 1) / len(part) * ((part - part.mean()) ** 2).sum() for part in parts
    )
    free = sum(len(part) - 1 for part in parts)
    half = float(stats.t.ppf((1 + LEVEL) / 2, free) * np.sqrt(variance))
    return Interval(value, value - half, value + half, runs)
