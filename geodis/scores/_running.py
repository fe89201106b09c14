"""Scores called one by one: their values, chance levels and spreads, or why there are none."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from geodis.base.check import InputError, MissingExtraError
from geodis.base.progress import Stages
from geodis.data.files.load import Factors
from geodis.data.grids.grid import FactorGrid
from geodis.scores._catalogue import Entry
from geodis.scores._result import Score
from geodis.scores.intervals import around

# Streams of random numbers that a job draws from.
VALUE, CHANCE, SPREAD = 0, 1, 2


@dataclass(frozen=True)
class Job:
    """One entry of the table and what it is called with; processes can take it.

    Attributes
    ----------
    entry : Entry
    latents : ndarray of shape (n, z)
    factors : Factors, or FactorGrid with the latents of every index
    options : dict
        Keyword arguments.
    seed : tuple of int
        Start of every stream of this job.
    n_chance, n_resamples : int
        How often to score permuted rows, and resampled ones.
    note : str
        What a reader must know beside the note of the result.
    """

    entry: Entry
    latents: np.ndarray
    factors: Factors | FactorGrid
    options: dict[str, Any]
    seed: tuple[int, int]
    n_chance: int
    n_resamples: int
    note: str = ""

    def score(self, latents: Any, factors: Any, stream: tuple[int, int], rows: Any = None) -> Score:
        """Call the function on given rows, with random numbers of the stream."""
        options = dict(self.options)
        if rows is not None and "log_variances" in options:
            options["log_variances"] = np.asarray(options["log_variances"])[rows]
        if self.entry.random:
            options["random_state"] = np.random.default_rng((*self.seed, *stream))
        arguments = (latents, factors) if self.entry.needs_factors else (latents,)
        return self.entry.load()(*arguments, **options)

    def chance(self, stream: int) -> dict[str, float] | None:
        """Values where every row has the latents of another row; None if these cannot be scored.

        What is held out is drawn anew, and with few rows may lack a class.
        """
        order = self._random(CHANCE, stream).permutation(len(self.latents))
        try:
            return self.entry.rows_of(
                self.score(self.latents[order], self.factors, (CHANCE, stream), rows=order)
            )
        except InputError:
            return None

    def resampled(self, stream: int) -> dict[str, float] | None:
        """Values of a bootstrap sample, or of half of the rows; None if they cannot be scored.

        A grid is no sample: there the values are of new draws from it.
        """
        if isinstance(self.factors, FactorGrid):
            return self.entry.rows_of(self.score(self.latents, self.factors, (SPREAD, stream)))
        n, random = len(self.latents), self._random(SPREAD, stream)
        whole = not self.entry.halves
        rows = random.integers(n, size=n) if whole else random.permutation(n)[: max(n // 2, 2)]
        drawn = replace(self.factors, values=self.factors.values[rows])
        try:
            return self.entry.rows_of(self.score(self.latents[rows], drawn, (SPREAD, stream), rows))
        except InputError:
            return None

    def _random(self, *stream: int) -> np.random.Generator:
        # Set apart from the numbers that the function itself draws.
        return np.random.default_rng((*self.seed, *stream, 1))


@dataclass(frozen=True)
class Outcome:
    """What a job found.

    Attributes
    ----------
    score : Score or None
        None where the score does not apply.
    skipped : str
        Why.
    values, chance, low, high : dict of str to float
        One number a row of the table; the last three empty unless asked for.
    seconds : float
        Of the values alone.
    """

    score: Score | None
    skipped: str = ""
    values: dict[str, float] = field(default_factory=dict)
    chance: dict[str, float] = field(default_factory=dict)
    low: dict[str, float] = field(default_factory=dict)
    high: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0


@cache
def _thread_pools() -> Any:
    """The libraries with threads of their own, listed once, when scikit-learn has loaded its own.

    On small matrices their threads wait for each other, and take seven times as long where other
    programs run; in processes they would multiply.
    """
    import sklearn.linear_model  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def run_job(job: Job, confidence: float) -> Outcome:
    """Call the function on the rows, on permuted and on resampled ones."""
    with _thread_pools().limit(limits=1):
        start = time.perf_counter()
        try:
            score = job.score(job.latents, job.factors, (VALUE, 0))
        except (InputError, MissingExtraError) as problem:
            return Outcome(None, skipped=str(problem))
        seconds = time.perf_counter() - start
        chance = [job.chance(stream) for stream in range(job.n_chance)]
        spread = [job.resampled(stream) for stream in range(job.n_resamples)]
    values = job.entry.rows_of(score)
    low, high = interval(values, [x for x in spread if x is not None], confidence)
    scored = [x for x in chance if x is not None]
    mean = {row: float(np.mean([x[row] for x in scored])) for row in values} if scored else {}
    return Outcome(score, "", values, mean, low, high, seconds)


def interval(
    values: dict[str, float], resampled: list[dict[str, float]], confidence: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Lay the spread of resampled values around the values, as `bootstrap_interval` does.

    Rows that fewer than two resamplings have, or that were ever infinite, are left out.

    Examples
    --------
    >>> interval({"mig": 0.5}, [{"mig": 0.7}, {"mig": 0.8}, {"mig": 0.9}], 0.5)
    ({'mig': 0.45}, {'mig': 0.55})
    """
    low, high = {}, {}
    for row, value in values.items():
        found = np.array([item[row] for item in resampled if row in item])
        if len(found) > 1 and np.isfinite([value, *found]).all():
            low[row], high[row] = np.round(around(value, found, confidence), 12).tolist()
    return low, high


def run_jobs(
    jobs: list[Job], confidence: float, n_jobs: int | None, verbose: bool | int
) -> list[Outcome]:
    """Run all, in order, one after the other or in processes."""
    outcomes: list[Outcome] = []
    n_jobs = 1 if n_jobs is None else n_jobs
    with Stages("scores", verbose) as stages:
        if n_jobs == 1:
            for done, job in enumerate(jobs):
                with stages.stage(f"{done + 1}/{len(jobs)} {job.entry.name}"):
                    stages.advance(done / len(jobs))
                    outcomes.append(run_job(job, confidence))
            return outcomes
        from joblib import Parallel, delayed

        with stages.stage(f"{len(jobs)} scores in {n_jobs} processes"):
            work = (delayed(run_job)(job, confidence) for job in jobs)
            for outcome in Parallel(n_jobs, return_as="generator")(work):
                outcomes.append(outcome)
                stages.advance(len(outcomes) / len(jobs))
    return outcomes
