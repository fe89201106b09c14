"""Scores of several runs on the same rows, their ranking, and tests of their differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError, check_random_state
from geodis.report.material import gather_material
from geodis.scores.intervals import around, resampled_rows
from geodis.scores.score_table import NEAR_CHANCE, answers_of, judged_scores

if TYPE_CHECKING:
    import pandas as pd

    from geodis.scores.score_table import ScoreTable


# The compared runs.

MOST_RUNS = 24  # more runs are not distinguishable on a page


@dataclass(frozen=True, eq=False)
class ComparedRuns:
    """Runs on the same rows.

    Attributes
    ----------
    names : tuple of str
    models : tuple of str
        The model of each run; runs of one model differ in their seed.
    latents : tuple of ndarray of shape (n, z)
    material : Material or None
        The rows that are complete in all runs, with factors and images; its latents are the
        concatenated columns of all runs. None for runs from a table of scores.
    """

    names: tuple[str, ...]
    models: tuple[str, ...]
    latents: tuple[np.ndarray, ...]
    material: Any  # a Material wherever there are latents

    @property
    def seeded(self) -> bool:
        """Whether all models have equally many runs, at least two, so that seeds are paired."""
        counts = {self.models.count(model) for model in self.models}
        return len(counts) == 1 and counts.pop() > 1 and len(set(self.models)) > 1

    @property
    def of_model(self) -> dict[str, list[int]]:
        """Indices of the runs of every model, in their order."""
        numbers: dict[str, list[int]] = {}
        for number, model in enumerate(self.models):
            numbers.setdefault(model, []).append(number)
        return numbers


def gather_runs(
    runs: Any,
    factors: Any = None,
    images: Any = None,
    *,
    models: Sequence[str] | None = None,
    max_points: int,
    bins: int,
    random_state: Any = 0,
) -> ComparedRuns:
    """Check that all runs have the same rows, and select those that are finite in all.

    Parameters
    ----------
    runs : mapping of str to array-like of shape (n, z), or sequence of these
        z may differ.
    factors, images, max_points, bins, random_state
        As in `gather_material`.
    models : sequence of str, optional
        The model of each run; by default each run is a separate model.

    Examples
    --------
    >>> runs = {"a": [[0.0], [1.0], [2.0]], "b": [[5.0, 1], [np.nan, 1], [1.0, 2]]}
    >>> gathered = gather_runs(runs, max_points=10, bins=5)
    >>> gathered.names, gathered.material.rows.tolist(), gathered.latents[1].shape
    (('a', 'b'), [0, 2], (2, 2))
    """
    named = _runs_by_name(runs)
    if not 2 <= len(named) <= MOST_RUNS:
        raise InputError(f"runs must have 2 to {MOST_RUNS} entries; got {len(named)}.")
    names = tuple(named)
    of = names if models is None else tuple(str(model) for model in models)
    if len(of) != len(names):
        raise InputError(
            f"models must have one entry for each of the {len(names)} runs; got {len(of)}."
        )
    arrays = [_points(array, name) for name, array in named.items()]
    if len({len(array) for array in arrays}) > 1:
        counts = ", ".join(f"{len(a):,} of {name}" for name, a in zip(names, arrays, strict=True))
        raise InputError(f"All runs must have the same rows in the same order; got {counts}.")
    whole = np.hstack(arrays)
    material = gather_material(
        whole, factors, images, max_points=max_points, bins=bins, random_state=random_state
    )
    kept = tuple(array[material.rows].astype(float) for array in arrays)
    return ComparedRuns(names, of, kept, material)


def _runs_by_name(runs: Any) -> dict[str, Any]:
    if isinstance(runs, Mapping):
        return {str(name): array for name, array in runs.items()}
    if isinstance(runs, str | bytes) or not hasattr(runs, "__iter__"):
        raise InputError(
            f"runs must be a mapping of names to arrays, or a sequence of arrays; got {runs!r}."
        )
    return {f"run {number}": array for number, array in enumerate(runs)}


def _points(array: Any, name: str) -> np.ndarray:
    from geodis.base.check import check_numeric, to_numpy

    points = check_numeric(to_numpy(array, name), name)
    if points.ndim != 2 or 0 in points.shape:
        raise InputError(f"{name} must have shape (n, z), one row per point; got {points.shape}.")
    return points


LEVEL = 0.95


@dataclass(frozen=True)
class ScoreDifference:
    """The difference of two models in one score.

    Attributes
    ----------
    score, first, second : str
    difference : float
        First minus second, with the sign flipped if lower is better.
    low, high : float
        95 % confidence interval, not corrected for multiple tests.
    p : float
        Two-sided p value, after Holm's correction for all tested differences.
    by : {"seeds", "rows"}
        Source of the variance estimate.
    """

    score: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    p: float
    by: str

    @property
    def beyond_noise(self) -> bool:
        """Whether the difference is significant at the 5 % level."""
        return self.p < 1 - LEVEL


@dataclass(frozen=True, eq=False)
class ScoresOfRuns:
    """Scores of all runs.

    Attributes
    ----------
    value, chance, low, high : DataFrame of shape (scores, runs)
        Intervals are NaN for scores that were not resampled.
    better : Series
        "higher" or "lower" for every score.
    answers : DataFrame of shape (questions, runs)
        Scale from chance (0) to the best value (1): the median over the scores that answer.
    """

    value: pd.DataFrame
    chance: pd.DataFrame
    low: pd.DataFrame
    high: pd.DataFrame
    better: pd.Series
    answers: pd.DataFrame


@dataclass(frozen=True, eq=False)
class PairedScores(ScoresOfRuns):
    """Scores, ranks and differences of all runs.

    Attributes
    ----------
    mean_rank : Series
        Mean rank of every run over the scores with a chance level; 1 is best.
    differences : list of ScoreDifference
    """

    mean_rank: pd.Series
    differences: list[ScoreDifference]

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain types."""
        frames = {
            name: getattr(self, name).to_dict() for name in ("value", "chance", "low", "high")
        }
        tested = [{**asdict(one), "beyond_noise": one.beyond_noise} for one in self.differences]
        ranked = {"mean_rank": self.mean_rank.to_dict(), "answers": self.answers.to_dict()}
        return {**frames, **ranked, "differences": tested}


def pair_scores(
    runs: ComparedRuns,
    tables: Sequence[ScoreTable],
    counts: Mapping[int, Sequence[str]],
    *,
    random_state: Any = 0,
) -> PairedScores:
    """Combine the tables of all runs, and test their differences.

    With several seeds of every model, runs are paired by their position among the seeds, and the
    mean difference is tested by a paired t test. With one run per model, scores of all runs are
    recomputed on the same random halves of the rows, and the difference is tested against its
    standard deviation over r halves, with a t distribution of r - 1 degrees of freedom.

    Parameters
    ----------
    runs : ComparedRuns
    tables : sequence of ScoreTable
        One per run.
    counts : mapping of int to sequence of str
        Number of resamplings -> names of the scores.
    random_state : int, Generator or None
        Seed of the halves.
    """
    frames = {name: table.frame for name, table in zip(runs.names, tables, strict=True)}
    first = tables[0].frame
    value = side_by_side(frames, "value", first.index)
    rng = check_random_state(random_state)
    resampled: dict[tuple[str, str], np.ndarray] = {}
    for count, chosen in counts.items():
        resampled |= _resampled(runs, chosen, count, rng)
    low, high = value * np.nan, value * np.nan
    for (name, run), spread in resampled.items():
        if name in value.index and len(spread) > 1:
            ends = around(value.at[name, run], spread, LEVEL)
            low.at[name, run], high.at[name, run] = ends
    chance = side_by_side(frames, "chance", first.index)
    scores = ScoresOfRuns(value, chance, low, high, first["better"], answers_of_runs(frames))
    return rank_runs(runs, scores, judged_scores(first).index, resampled)


def side_by_side(
    frames: Mapping[str, pd.DataFrame], column: str, scores: Iterable[object]
) -> pd.DataFrame:
    """Collect one column of the tables of all runs, of shape (scores, runs)."""
    import pandas as pd

    wide = pd.DataFrame({name: frame[column] for name, frame in frames.items()})
    return wide.reindex(list(scores)).astype(float)


def answers_of_runs(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Collect the answers of the scores of every run, of shape (questions, runs)."""
    import pandas as pd

    return pd.DataFrame(
        {
            name: {one.question: one.median for one in answers_of(frame)}
            for name, frame in frames.items()
        }
    )


def rank_runs(
    runs: ComparedRuns,
    scores: ScoresOfRuns,
    judged: pd.Index,
    resampled: Mapping[tuple[str, str], np.ndarray],
    *,
    rank_by_all: bool = False,
) -> PairedScores:
    """Rank the runs, and test their differences.

    The mean rank is over the `judged` scores that differ from chance in a run. If none does,
    `rank_by_all` uses all scores.
    """
    import pandas as pd

    value, better = scores.value, scores.better
    sign = pd.Series(np.where(better == "lower", -1.0, 1.0), better.index)
    signed = value.mul(sign[value.index], axis=0)
    away = (value.loc[judged] - scores.chance.loc[judged]).abs().max(axis=1) > NEAR_CHANCE
    ranked = signed if rank_by_all and not away.any() else signed.loc[judged][away]
    mean_rank = ranked.rank(axis=1, ascending=False).mean().sort_values(kind="stable")
    found = differences_of(runs, signed.loc[judged], sign, resampled)
    return PairedScores(**vars(scores), mean_rank=mean_rank, differences=found)


def _resampled(
    runs: ComparedRuns, chosen: Sequence[str], n_resamples: int, rng: np.random.Generator
) -> dict[tuple[str, str], np.ndarray]:
    """Recompute scores of all runs on the same random halves of the rows."""
    from geodis.base.check import InputError
    from geodis.scores.score_latents import score_latents

    factors = runs.material.factors
    if factors is None or not chosen or n_resamples < 2:
        return {}
    kept: dict[tuple[str, str], list[float]] = {}
    options: dict[str, Any] = {"bins": runs.material.bins, "verbose": 0, "random_state": 0}
    for _ in range(n_resamples):
        rows = resampled_rows(len(runs.material.rows), "halves", rng)
        try:
            frames = [
                score_latents(z[rows], factors.take(rows), chosen, chance=0, **options).frame
                for z in runs.latents
            ]
        except InputError:  # for example, if these rows lack a class
            continue
        for run, frame in zip(runs.names, frames, strict=True):
            for name, number in frame["value"].items():
                kept.setdefault((str(name), run), []).append(float(number))
    return {key: np.array(values) for key, values in kept.items() if len(values) > 1}


def differences_of(
    runs: ComparedRuns,
    signed: pd.DataFrame,
    sign: pd.Series,
    resampled: Mapping[tuple[str, str], np.ndarray],
) -> list[ScoreDifference]:
    """Test all differences between models for which there is a variance estimate."""
    of_model = runs.of_model
    made = []
    for first, second in combinations(of_model, 2):
        for name in signed.index:
            a, b = (signed.loc[name].to_numpy()[of_model[model]] for model in (first, second))
            if runs.seeded:
                gap, spread, freedom = _over_seeds(a - b)
            else:
                keys = [(str(name), runs.names[of_model[model][0]]) for model in (first, second)]
                if not all(key in resampled for key in keys) or len(a) > 1 or len(b) > 1:
                    continue
                halves = sign[name] * (resampled[keys[0]] - resampled[keys[1]])
                gap, spread, freedom = (
                    float(a[0] - b[0]),
                    float(halves.std(ddof=1)),
                    len(halves) - 1.0,
                )
            if np.isfinite([gap, spread]).all():
                made.append((str(name), first, second, gap, spread, freedom))
    raw = np.array([_p_value(gap, spread, freedom) for *_, gap, spread, freedom in made])
    by = "seeds" if runs.seeded else "rows"
    return [
        ScoreDifference(name, first, second, gap, *_interval(gap, spread, freedom), float(p), by)
        for (name, first, second, gap, spread, freedom), p in zip(made, holm(raw), strict=True)
    ]


def _over_seeds(gaps: np.ndarray) -> tuple[float, float, float]:
    """Return the mean of paired differences, its standard error and degrees of freedom."""
    return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps))), len(gaps) - 1.0


def _p_value(gap: float, spread: float, freedom: float) -> float:
    from scipy.special import stdtr

    if spread == 0:
        return 1.0 if gap == 0 else 0.0
    return 2 * float(stdtr(freedom, -abs(gap) / spread))


def _interval(gap: float, spread: float, freedom: float) -> tuple[float, float]:
    from scipy.special import stdtrit

    reach = spread * float(stdtrit(freedom, (1 + LEVEL) / 2))
    return gap - reach, gap + reach


def holm(p: np.ndarray) -> np.ndarray:
    """Correct p values for multiple tests by Holm's method.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if len(p) else steps
    return corrected
