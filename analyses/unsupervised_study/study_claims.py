"""The claims of seed 000, each with what was published, what is found, power and verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from analyses.shared.studies.transfer import transfers
from analyses.shared.studies.verdicts import (
    CANNOT_TELL,
    DRAWS,
    LEVEL,
    NOT_REPRODUCED,
    REPRODUCED,
    Interval,
    spearman_of,
    spearman_power,
    verdict_above,
    verdict_below,
    verdict_equal,
)
from analyses.unsupervised_study.published_study import TRANSFER
from analyses.unsupervised_study.study_measures import (
    EFFICIENCY,
    PUBLISHED_SCORES,
    TC_MEAN,
    TC_SAMPLED,
    UNSUPERVISED,
    whose_codes_are_read,
)

# What words of the text are taken to mean, in rank correlations; a rise or a fall that a figure
# shows without a number is assumed to be this large where power is computed.
STRONG = 0.5
ASSUMED = 0.5
# By how much modularity agrees less, where power is computed.
ASSUMED_GAP = 0.2
# Part of the variance within a method that its strengths explain: 23 of 71 points of what is
# published of plain, coloured and noisy sprites.
OF_STRENGTHS = 0.32
# Chances within this of the published ones are those.
TRANSFER_MARGIN = 0.05


@dataclass(frozen=True)
class Claim:
    """A line of the table of claims."""

    where: str
    data: str
    claim: str
    published: str
    found: str
    runs: int
    power: float
    verdict: str


def all_claims(frame: pd.DataFrame) -> list[Claim]:
    """Every claim that the measured runs say something of."""
    found: list[Claim] = []
    for data, own in frame.groupby("data", sort=False):
        if len(own) >= 6:
            found += correlation_claims(str(data), own) + agreement_claims(str(data), own)
            found += overlap_claims(str(data), own)
    return found + selection_claims(frame) + transfer_claims(frame) + efficiency_claims(frame)


def within_ranks(frame: pd.DataFrame, column: str) -> pd.Series:
    """Rank of every run among those of its method, 0 to 1, so that methods do not matter."""
    ranks: pd.Series = frame.groupby("method")[column].rank(pct=True)
    return ranks


def correlation_claims(data: str, own: pd.DataFrame) -> list[Claim]:
    """Figure 1: total correlation against strength, of all methods but AnnealedVAE."""
    own = own[own["method"] != "AnnealedVAE"]
    made = []
    for column, word, judge in (
        (TC_SAMPLED, "falls", verdict_below),
        (TC_MEAN, "rises", verdict_above),
    ):
        found = spearman_of(within_ranks(own, "place"), within_ranks(own, column))
        power = spearman_power(ASSUMED, found.n)
        text = f"{column} {word} with strength, within methods"
        verdict = judge(found, 0.0)
        # Methods may go opposite ways, which the mean of all hides.
        alone = ", ".join(
            f"{method} {spearman_of(runs['place'], runs[column]).value:.2f}"
            for method, runs in own.groupby("method", sort=False)
        )
        here = f"rho {found}; {alone}"
        made.append(Claim("Fig. 1", data, text, word, here, found.n, power, verdict))
    return made


def agreement_claims(data: str, own: pd.DataFrame) -> list[Claim]:
    """Figure 2: which scores agree."""
    made = []
    for first, second in (("MIG", "DCI disentanglement"), ("BetaVAE score", "FactorVAE score")):
        found = spearman_of(own[PUBLISHED_SCORES[first]], own[PUBLISHED_SCORES[second]])
        power = spearman_power(0.8, found.n, STRONG)
        text = f"{first} and {second} agree: rho above {STRONG}"
        verdict = verdict_above(found, STRONG)
        made.append(
            Claim("Fig. 2", data, text, "strongly", f"rho {found}", found.n, power, verdict)
        )
    rest = {name: key for name, key in PUBLISHED_SCORES.items() if name != "Modularity"}
    with_it = [spearman_of(own["modularity"], own[key]).value for key in rest.values()]
    others = [spearman_of(own[a], own[b]).value for a, b in combinations(rest.values(), 2)]
    found = _jackknifed(
        own.reset_index(drop=True),
        lambda some: _modularity_gap(some, list(rest.values())),
    )
    made.append(
        Claim(
            "Fig. 2",
            data,
            "Modularity agrees less with the others than these among themselves",
            "less",
            f"mean rho {np.nanmean(with_it):.2f} against {np.nanmean(others):.2f}: {found} less",
            found.n,
            _above_power(found, ASSUMED_GAP),
            verdict_above(found, 0.0),
        )
    )
    return made


def _modularity_gap(own: pd.DataFrame, rest: Sequence[str]) -> float:
    ranks = own[["modularity", *rest]].rank().corr().to_numpy()
    among = ranks[1:, 1:][np.triu_indices(len(rest), 1)]
    return float(np.nanmean(among) - np.nanmean(ranks[0, 1:]))


def overlap_claims(data: str, own: pd.DataFrame) -> list[Claim]:
    """Figure 3: a good run of bad settings beats a bad run of good settings."""
    chances = [chance for chance in overlaps(own).values() if np.isfinite(chance)]
    if not chances:
        return []
    beaten = sum(chance > 0 for chance in chances)
    power = overlap_power(len(chances), own["place"].nunique(), own["seed"].nunique())
    told = NOT_REPRODUCED if power >= 0.8 else CANNOT_TELL
    return [
        Claim(
            "Fig. 3",
            data,
            "a run of the worst strength beats one of the best in most methods (FactorVAE score)",
            "yes",
            f"in {beaten} of {len(chances)} methods; a run of the worst wins "
            f"{np.mean(chances):.0%} of pairs",
            len(own),
            power,
            REPRODUCED if 2 * beaten > len(chances) else told,
        )
    ]


@cache
def overlap_power(methods: int, strengths: int, seeds: int, draws: int = DRAWS) -> float:
    """How often most methods overlap, where strengths explain what was published of each.

    Examples
    --------
    >>> overlap_power(6, 6, 2) < 0.1 < 0.9 < overlap_power(6, 6, 50)
    True
    """
    random = np.random.default_rng(0)
    between = random.standard_normal((draws, methods, strengths, 1))
    within = random.standard_normal((draws, methods, strengths, seeds))
    scores = np.sqrt(OF_STRENGTHS) * between + np.sqrt(1 - OF_STRENGTHS) * within
    order = scores.mean(axis=-1).argsort(axis=-1)[..., [0, -1], None]
    worst, best = np.moveaxis(np.take_along_axis(scores, order, axis=2), 2, 0)
    overlap = worst.max(axis=-1) > best.min(axis=-1)
    return float((2 * overlap.sum(axis=1) > methods).mean())


def overlaps(own: pd.DataFrame, score: str = "factor_vae") -> dict[str, float]:
    """Of every method, how often a run of its worst strength beats one of its best one.

    NaN where there are not two strengths, of two runs each.

    Examples
    --------
    >>> runs = pd.DataFrame({"method": "a", "place": [0, 0, 1, 1], "s": [0.1, 0.4, 0.3, 0.5]})
    >>> overlaps(runs, "s")
    {'a': 0.25}
    """
    found = {}
    for method, runs in own.groupby("method", sort=False):
        groups = [part[score].to_numpy(float) for _, part in runs.groupby("place")]
        groups = sorted((group for group in groups if len(group) > 1), key=np.mean)
        chance = float("nan")
        if len(groups) > 1:
            chance = float((groups[0][:, None] > groups[-1]).mean())
        found[str(method)] = chance
    return found


def selection_claims(frame: pd.DataFrame) -> list[Claim]:
    """Figure 4: no quantity without factors picks good models on all sets."""
    sets = [own for _, own in frame.groupby("data", sort=False) if len(own) >= 6]
    if not sets:
        return []
    steady, pairs = [], 0
    for quantity in UNSUPERVISED:
        for score, key in PUBLISHED_SCORES.items():
            found = [spearman_of(own[quantity], own[key]) for own in sets]
            pairs += 1
            if all(one.low > 0 for one in found) or all(one.high < 0 for one in found):
                size = min(abs(one.value) for one in found)
                steady.append((size, f"{quantity} and {score} (in size {size:.2f} at least)"))
    said = "; ".join(text for _, text in sorted(steady, reverse=True)[:4])
    n = min(len(own) for own in sets)
    power = spearman_power(ASSUMED, n) ** len(sets)
    few = len(steady) < pairs / 2
    return [
        Claim(
            "Fig. 4",
            "all",
            f"no quantity without factors goes with the scores: of {pairs} pairs fewer than half "
            "have one sign on all sets",
            "no clear pattern",
            f"{len(steady)} of {pairs} on all of {len(sets)} sets" + (f": {said}" if said else ""),
            len(frame),
            power,
            CANNOT_TELL if power < 0.8 and few else REPRODUCED if few else NOT_REPRODUCED,
        )
    ]


def transfer_claims(frame: pd.DataFrame) -> list[Claim]:
    """Result 4: chances that chosen settings beat random ones."""
    if frame.empty or frame["seed"].nunique() < 2:
        return []
    settings = frame[["method", "place"]].drop_duplicates().reset_index(drop=True)
    whole = transfers(_scores_by_settings(frame))
    left_out = []
    for line in settings.itertuples():
        rest = frame[(frame["method"] != line.method) | (frame["place"] != line.place)]
        left_out.append(transfers(_scores_by_settings(rest)))
    made = []
    for kind, value in whole.items():
        found = _from_left_out(value, [each[kind] for each in left_out], len(frame))
        published = TRANSFER.get(kind)
        made.append(
            Claim(
                "Result 4",
                "all",
                f"chosen settings beat random ones: {kind}",
                "" if published is None else f"{published:.1%}",
                str(found),
                len(frame),
                _equal_power(found, published),
                "" if published is None else verdict_equal(found, published, TRANSFER_MARGIN),
            )
        )
    return made


def _scores_by_settings(frame: pd.DataFrame) -> dict[tuple[str, str], np.ndarray]:
    """Arrays (settings, seeds) of every set and published score."""
    tables = {}
    index = frame.set_index(["method", "place", "seed", "data"])
    every = frame[["method", "place"]].drop_duplicates()
    rows = pd.MultiIndex.from_frame(every)
    for data in frame["data"].unique():
        for key in PUBLISHED_SCORES.values():
            wide = index.xs(data, level="data")[key].unstack("seed").reindex(rows)
            tables[str(data), key] = wide.to_numpy(float)
    return tables


def _equal_power(found: Interval, published: float | None, draws: int = 4000) -> float:
    """How often an interval as wide as this one lies within the margin, were the published true."""
    if published is None or not np.isfinite(found.value):
        return float("nan")
    half = (found.high - found.low) / 2
    error = half / stats.norm.ppf((1 + LEVEL) / 2)
    values = np.random.default_rng(0).normal(published, error, draws)
    return float((np.abs(values - published) + half < TRANSFER_MARGIN).mean())


def efficiency_claims(frame: pd.DataFrame) -> list[Claim]:
    """Figures 5 and 6: whether better scores mean that fewer labels are needed.

    Of runs whose codes say something: those that say nothing are read as well, which is not at
    all, from few labels as from many, an efficiency near 1.
    """
    frame = whose_codes_are_read(frame)
    sets = [own for _, own in frame.groupby("data", sort=False) if len(own) >= 6]
    made = []
    for model, column in EFFICIENCY.items():
        found = {
            name: [spearman_of(own[key], own[column]) for own in sets]
            for name, key in PUBLISHED_SCORES.items()
        }
        if not sets:
            continue
        better = [name for name, each in found.items() if all(one.low > 0 for one in each)]
        power = spearman_power(ASSUMED, min(len(own) for own in sets)) ** len(sets)
        text = ", ".join(
            f"{name} {np.nanmean([one.value for one in each]):.2f}" for name, each in found.items()
        )
        verdict = NOT_REPRODUCED if better else REPRODUCED if power >= 0.8 else CANNOT_TELL
        made.append(
            Claim(
                "Figs. 5, 6",
                "all",
                f"no score goes with a higher efficiency ({model}) on all of {len(sets)} sets, of "
                "runs whose codes trees read",
                "none reliably",
                f"{len(better)} of {len(found)} do; mean rho: {text}",
                sum(map(len, sets)),
                power,
                verdict,
            )
        )
    return made


def _above_power(found: Interval, truth: float) -> float:
    """How often an interval as wide as this one lies above zero, were the value so large."""
    half = (found.high - found.low) / 2
    if not np.isfinite(half) or half == 0:
        return float("nan")
    reach = stats.norm.ppf((1 + LEVEL) / 2)
    return float(stats.norm.cdf(reach * truth / half - reach))


def _jackknifed(frame: pd.DataFrame, statistic: Callable[[pd.DataFrame], float]) -> Interval:
    """A statistic with the interval that leaving out one run at a time gives."""
    left_out = [statistic(frame.drop(index=row)) for row in frame.index]
    return _from_left_out(statistic(frame), left_out, len(frame))


def _from_left_out(value: float, left_out: Sequence[float], n: int) -> Interval:
    """The jackknife: variance (m - 1) / m sum (t_i - mean)^2 of m values, and Student's t."""
    values = np.asarray(left_out, float)
    m = len(values)
    if m < 3 or not np.isfinite(values).all():
        return Interval(value, -np.inf, np.inf, n)
    error = np.sqrt((m - 1) / m * ((values - values.mean()) ** 2).sum())
    half = float(stats.t.ppf((1 + LEVEL) / 2, m - 1) * error)
    return Interval(value, value - half, value + half, n)
