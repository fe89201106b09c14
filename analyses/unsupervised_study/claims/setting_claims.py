"""Result 4: whether one method or strength is the best everywhere, and how settings transfer."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from analyses.shared.studies.transfer import transfer_intervals
from analyses.shared.studies.verdicts import (
    CANNOT_TELL,
    DRAWS,
    LEVEL,
    NOT_REPRODUCED,
    REPRODUCED,
    above_power,
    equal_power,
    jackknife_interval,
    spearman_of,
    spearman_power,
    verdict_above,
    verdict_equal,
)
from analyses.unsupervised_study.claims.claim import ALL, STRONG, Claim
from analyses.unsupervised_study.claims.score_claims import all_of
from analyses.unsupervised_study.published_study import SHARES, TRANSFER, mean_share
from analyses.unsupervised_study.study_measures import PUBLISHED_SCORES
from analyses.unsupervised_study.study_sets import COLOR, PLAIN, PUBLISHED

# Chances within this of the published ones are those.
TRANSFER_MARGIN = 0.05
# A strong correlation of settings, where power is computed.
ASSUMED_STRONG = 0.8


def transfer_claims(frame: pd.DataFrame) -> list[Claim]:
    """Chances that chosen settings beat random ones."""
    if frame.empty:
        return []
    made = []
    for kind, one in transfer_intervals(_scores_by_settings(frame)).items():
        published = TRANSFER.get(kind)
        over = "interval over sets, conservative" if one.over == "sets" else "interval over seeds"
        told = np.isfinite(one.found.low)
        made.append(
            Claim(
                "Result 4",
                ALL,
                f"chosen settings beat random ones: {kind}",
                "" if published is None else f"{published:.1%}",
                f"{one.found} ({over})" if told else f"{one.found.value:.2f}",
                one.found.n,
                float("nan")
                if published is None
                else equal_power(one.found, published, TRANSFER_MARGIN),
                "" if published is None else verdict_equal(one.found, published, TRANSFER_MARGIN),
            )
        )
    return made


def _scores_by_settings(frame: pd.DataFrame) -> dict[tuple[str, str], np.ndarray]:
    """Arrays (settings, seeds) of every set and published score."""
    tables = {}
    index = frame.set_index(["method", "place", "seed", "data"])
    rows = pd.MultiIndex.from_frame(frame[["method", "place"]].drop_duplicates())
    for data in frame["data"].unique():
        for key in PUBLISHED_SCORES.values():
            wide = index.xs(data, level="data")[key].unstack("seed").reindex(rows)
            tables[str(data), key] = wide.to_numpy(float)
    return tables


def dominance_claims(frame: pd.DataFrame) -> list[Claim]:
    """No method is the best everywhere, and of no method one strength is.

    One that is best everywhere is beaten beyond noise nowhere: by a t test with the variance within
    settings, at 5 % over all others, sets and scores. That all are beaten shows that none is.
    """
    sets = [own for _, own in frame.groupby("data", sort=False)]
    cells = [(own, key) for own in sets for key in PUBLISHED_SCORES.values()]
    if not cells:
        return []
    methods, strengths = list(dict.fromkeys(frame["method"])), frame["place"].nunique()
    seeds = min(own["seed"].nunique() for own in sets)
    free = len(methods) * strengths * (seeds - 1)
    where = f"best on average in {len(cells)} pairs of set and score"
    beaten, best = _beaten(cells, "method")
    strategies = {method: _beaten(cells, "place", method) for method in methods}
    changing = [bool(each.all()) for each, _ in strategies.values()]
    most = {method: each.most_common(1)[0] for method, (_, each) in strategies.items()}
    return [
        Claim(
            "Result 4",
            ALL,
            "every method is somewhere beaten by another beyond noise",
            "no model consistently dominating all the others",
            f"{int(beaten.sum())} of {len(beaten)} are; {where}: "
            + ", ".join(f"{name} {count}" for name, count in best.most_common()),
            len(frame),
            dominance_power(len(cells), len(methods), 1, strengths * seeds, free),
            _dominance_verdict([bool(beaten.all())], [best], len(cells)),
        ),
        Claim(
            "Result 4",
            ALL,
            "of every method, every strength is somewhere beaten by another beyond noise",
            "for each model no consistent strategy in choosing the regularization strength",
            f"so of {sum(changing)} of {len(methods)} methods; most often {where}: "
            + ", ".join(f"{m} its strength {place + 1} in {n}" for m, (place, n) in most.items()),
            len(frame),
            dominance_power(len(cells), strengths, len(methods), seeds, free),
            _dominance_verdict(changing, [each for _, each in strategies.values()], len(cells)),
        ),
    ]


def _dominance_verdict(shown: list[bool], best: list[Counter[Any]], cells: int) -> str:
    if any(each.most_common(1)[0][1] == cells for each in best):
        return NOT_REPRODUCED
    return REPRODUCED if all(shown) else CANNOT_TELL


def _beaten(
    cells: list[tuple[pd.DataFrame, str]], by: str, method: str | None = None
) -> tuple[np.ndarray, Counter[Any]]:
    """Which methods, or strengths of one, are beaten beyond noise, and how often each is best."""
    names = list(dict.fromkeys(cells[0][0][by]))
    beaten, best = np.zeros(len(names), bool), Counter[Any]()
    for own, key in cells:
        runs = own if method is None else own[own["method"] == method]
        means = runs.groupby(by, sort=False)[key].mean().reindex(names).to_numpy()
        inside = own.groupby(["method", "place"])[key]
        free = len(own) - inside.ngroups
        noise = float(((own[key] - inside.transform("mean")) ** 2).sum()) / max(free, 1)
        error = np.sqrt(2 * noise / (len(runs) / len(names)))
        beaten |= means.max() - means > _critical(free, len(cells), len(names)) * error
        best[names[int(means.argmax())]] += 1
    return beaten, best


def _critical(free: int, cells: int, items: int) -> float:
    """Student's t that a difference has to pass among all others in all cells."""
    tests = cells * max(items - 1, 1)
    return float(stats.t.ppf(1 - (1 - LEVEL) / tests, free)) if free else float("inf")


@cache
def dominance_power(cells: int, items: int, groups: int, runs: int, free: int) -> float:
    """How often all items of all groups would be beaten somewhere, with shares as published.

    Items are the methods, of one group, or the strengths of a group each method; sets and scores
    are taken as independent.

    Examples
    --------
    >>> dominance_power(24, 6, 1, 12, 36) > 0.9 > 0.1 > dominance_power(2, 6, 6, 2, 36)
    True
    """
    method, both = mean_share("method"), mean_share("method x strength")
    between, within = (method if groups == 1 else both - method), 1 - both
    random = np.random.default_rng(0)
    shape = (DRAWS // 4, groups, cells, items)
    means = np.sqrt(between) * random.standard_normal(shape)
    means += np.sqrt(within / runs) * random.standard_normal(shape)
    reach = _critical(free, cells, items) * np.sqrt(2 * within / runs)
    beaten = (means.max(axis=-1, keepdims=True) - means > reach).any(axis=2)
    return float(beaten.all(axis=(1, 2)).mean())


def setting_correlations(
    frame: pd.DataFrame, one: str, other: str
) -> dict[str, tuple[pd.Series, pd.Series]]:
    """Mean scores of the settings on two sets, by score."""
    found = {}
    for name, key in PUBLISHED_SCORES.items():
        means = frame.groupby(["data", "method", "place"])[key].mean()
        first, second = means[one].align(means[other], join="inner")
        found[name] = (first, second)
    return found


def left_by_seeds(name: str, seeds: tuple[int, int]) -> float:
    """Of a correlation of settings, what means over few seeds leave, with shares as published.

    Of a share s of settings, means of n seeds have the reliability s / (s + (1 - s) / n).

    Examples
    --------
    >>> round(left_by_seeds("MIG", (2, 2)), 2), round(left_by_seeds("MIG", (50, 50)), 2)
    (0.85, 0.99)
    """
    number = list(PUBLISHED_SCORES).index(name)
    shares = [SHARES["method x strength"][data][number] / 100 for data in (PLAIN, COLOR)]
    kept = [s / (s + (1 - s) / n) for s, n in zip(shares, seeds, strict=True)]
    return float(np.sqrt(np.prod(kept)))


def correlated_settings_claims(frame: pd.DataFrame) -> list[Claim]:
    """Strong and consistent correlation between dSprites and Color-dSprites."""
    both = frame[frame["data"].isin((PLAIN, COLOR))]
    seeds = both.groupby("data")["seed"].nunique()
    if len(seeds) < 2:
        return []
    pairs = setting_correlations(both, PLAIN, COLOR)
    found = {name: spearman_of(*pair) for name, pair in pairs.items()}
    arrays = [(first.to_numpy(), second.to_numpy()) for first, second in pairs.values()]
    settings = len(arrays[0][0])
    left_out = [
        float(np.mean([spearman_of(np.delete(a, i), np.delete(b, i)).value for a, b in arrays]))
        for i in range(settings)
    ]
    mean = jackknife_interval(float(np.mean([f.value for f in found.values()])), left_out, settings)
    kept = {name: left_by_seeds(name, (int(seeds[PLAIN]), int(seeds[COLOR]))) for name in found}
    bound = STRONG * float(np.mean(list(kept.values())))
    verdicts = [verdict_above(one, 0.0) for one in found.values()]
    data = f"{PUBLISHED[PLAIN]}, {PUBLISHED[COLOR]}"
    powers = [spearman_power(ASSUMED_STRONG * kept[name], settings) for name in found]
    return [
        Claim(
            "Result 4",
            data,
            f"mean scores of the {settings} settings are strongly correlated between these sets: "
            f"above {bound:.2f}, what means of {seeds[PLAIN]} and {seeds[COLOR]} seeds leave of "
            f"{STRONG}",
            "strong correlation",
            f"mean rho of {len(found)} scores {mean} (interval over settings)",
            len(both),
            above_power(mean, ASSUMED_STRONG * bound / STRONG, bound),
            verdict_above(mean, bound),
        ),
        Claim(
            "Result 4",
            data,
            f"they are consistently correlated: rho above 0 for all {len(found)} scores",
            "consistent correlation",
            f"{verdicts.count(REPRODUCED)} of {len(found)}: "
            + ", ".join(f"{name} {one}" for name, one in found.items()),
            len(both),
            float(np.prod(powers)),
            all_of(verdicts),
        ),
    ]
