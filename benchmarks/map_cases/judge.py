"""How well maps tell the true coordinates and distances of the factors of a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from benchmarks.map_cases.cases import MapSample

SOURCES, TARGETS = 40, 500  # rows between which distances are compared


@dataclass(frozen=True)
class Explained:
    """What the coordinates given to every true factor say.

    Attributes
    ----------
    own : list of m floats
        R^2 of the true coordinates of a factor, linear, from the coordinates that belong to it.
    other : list of m floats
        R^2 of the other factors' true coordinates from the same: what has leaked in.
    """

    own: list[float]
    other: list[float]


def r_squared(columns: np.ndarray, truth: np.ndarray) -> float:
    """Share of the variance of true coordinates (n, c) that columns (n, q) explain linearly."""
    truth = truth - truth.mean(axis=0)
    if not columns.shape[1]:
        return 0.0
    columns = columns - columns.mean(axis=0)
    rest = truth - columns @ np.linalg.lstsq(columns, truth, rcond=None)[0]
    return float(1 - (rest**2).sum() / (truth**2).sum())


def explained(maps: Sequence[np.ndarray], sample: MapSample) -> Explained:
    """Of maps (n, r_j), one a true factor, without the rows that have none."""
    own, other = [], []
    for j, columns in enumerate(maps):
        there = np.isfinite(columns).all(axis=1)
        rest = [c[there] for i, c in enumerate(sample.coordinates) if i != j]
        own.append(r_squared(columns[there], sample.coordinates[j][there]))
        other.append(r_squared(columns[there], np.hstack(rest)))
    return Explained(own, other)


def in_true_order(maps: Sequence[np.ndarray], sample: MapSample) -> list[int]:
    """Which of the maps belongs to which true factor: the order with the largest sum of R^2.

    Where there are fewer maps than factors, the number of maps stands for none.
    """
    m = len(sample.factors)
    gains = np.zeros((m, max(len(maps), m)))
    for i, columns in enumerate(maps):
        there = np.isfinite(columns).all(axis=1)
        for j in range(m):
            gains[j, i] = r_squared(columns[there], sample.coordinates[j][there])
    orders = permutations(range(gains.shape[1]), m)
    best = max(orders, key=lambda order: gains[np.arange(m), list(order)].sum())
    return [min(i, len(maps)) for i in best]


def best_columns(columns: np.ndarray, sample: MapSample) -> list[np.ndarray]:
    """Split unassigned columns (n, q) among the factors as the truth would like best.

    Every factor gets at most as many columns as it has true coordinates, no column goes to two.
    Columns are given one by one where they explain most, and then exchanged as long as that helps:
    kinder than any rule that does not know the truth.
    """
    columns = np.where(np.isfinite(columns), columns, 0.0)
    columns = columns - columns.mean(axis=0)
    truths = [own - own.mean(axis=0) for own in sample.coordinates]
    gram = columns.T @ columns
    shared = [columns.T @ own for own in truths]
    totals = [(own**2).sum() for own in truths]

    def value(j: int, chosen: list[int]) -> float:
        if not chosen:
            return 0.0
        seen = shared[j][chosen]
        slope = np.linalg.lstsq(gram[np.ix_(chosen, chosen)], seen, rcond=None)[0]
        return float((seen * slope).sum() / totals[j])

    groups: list[list[int]] = [[] for _ in truths]
    free = list(range(columns.shape[1]))
    while free and any(len(g) < w for g, w in zip(groups, sample.widths, strict=True)):
        open_groups = [j for j, w in enumerate(sample.widths) if len(groups[j]) < w]
        gains = {
            (j, q): value(j, [*groups[j], q]) - value(j, groups[j])
            for j in open_groups
            for q in free
        }
        j, q = max(gains, key=lambda pair: gains[pair])
        groups[j].append(q)
        free.remove(q)

    # Exchanges between two groups, or with columns that nobody has.
    improved = True
    while improved:
        improved = False
        for j, group in enumerate(groups):
            for place in range(len(group)):
                for other in [*(g for i, g in enumerate(groups) if i > j), free]:
                    for spot in range(len(other)):
                        before = sum(value(i, g) for i, g in enumerate(groups))
                        group[place], other[spot] = other[spot], group[place]
                        if sum(value(i, g) for i, g in enumerate(groups)) > before + 1e-6:
                            improved = True
                        else:
                            group[place], other[spot] = other[spot], group[place]
    return [columns[:, sorted(group)] for group in groups]


def best_groups(groups: Sequence[np.ndarray], sample: MapSample) -> list[np.ndarray]:
    """Match groups of columns to factors, and keep of every group its best columns."""
    order = in_true_order(groups, sample)
    kept = []
    for j, i in enumerate(order):
        alone = replace(sample, factors=(sample.factors[j],), coordinates=[sample.coordinates[j]])
        columns = groups[i] if i < len(groups) else np.zeros((len(sample.points), 0))
        kept += best_columns(columns, alone)
    return kept


def pairs(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows (s,) and (t,) without common members, between which distances are compared."""
    few = min(SOURCES + TARGETS, n)
    rows = np.random.default_rng([seed, 5]).permutation(n)[:few]
    return rows[: min(SOURCES, few // 2)], rows[min(SOURCES, few // 2) :]


def distance_error(found: np.ndarray, true: np.ndarray) -> tuple[float, float]:
    """Relative root mean square error of distances, and the same after the scale that fits best.

    The root mean square of the errors over that of the true distances.
    """
    there = np.isfinite(found)
    found, true = found[there], true[there]
    if not len(found):
        return float("nan"), float("nan")
    size = np.sqrt((true**2).mean())
    scale = (found * true).sum() / (found**2).sum()
    errors = [np.sqrt(((s * found - true) ** 2).mean()) / size for s in (1.0, scale)]
    return float(errors[0]), float(errors[1])
