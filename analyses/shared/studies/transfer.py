"""Whether settings chosen on one set and score do well on another (seed 000, result 4)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


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
