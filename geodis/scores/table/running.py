"""Scores called one by one: their values, chance levels and spreads, or why there are none."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geodis.base.check import InputError, MissingExtraError
from geodis.base.jobs import check_jobs, in_processes, one_thread_each
from geodis.base.progress import Stages
from geodis.data.factors import Factors
from geodis.data.grids.grid import FactorGrid
from geodis.scores.intervals import Resampling, intervals_of_rows, resampled_rows
from geodis.scores.registry import ScoreEntry
from geodis.scores.score import Score

# Streams of random numbers that a job draws from.
VALUE, CHANCE, SPREAD = 0, 1, 2


@dataclass(frozen=True)
class Job:
    """One entry of the table and what it is called with; processes can take it.

    Attributes
    ----------
    entry : ScoreEntry
    latents : ndarray of shape (n, z)
    factors : Factors, or FactorGrid with the latents of every index
    options : dict
        Keyword arguments beside those of the entry.
    seed : tuple of int
        Start of every stream of this job.
    n_chance, n_resamples : int
        How often to score permuted rows, and resampled ones.
    note : str
        What a reader must know beside the note of the result.
    """

    entry: ScoreEntry
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
        if rows is not None and "groups" in options:
            options["groups"] = options["groups"].take(rows)
        if self.entry.random:
            options["random_state"] = np.random.default_rng((*self.seed, *stream))
        arguments = (latents, factors) if self.entry.needs_factors else (latents,)
        return self.entry.compute(*arguments, **options)

    def chance(self, stream: int) -> dict[str, float] | None:
        """Values where every row has the latents of another row; None if these cannot be scored.

        What is held out is drawn anew, and with few rows may lack a class.
        """
        order = self._random(CHANCE, stream).permutation(len(self.latents))
        try:
            return self.entry.rows_of(
                self.score(self.latents[order], self.factors, (CHANCE, stream), rows=order)
            )
        except self.entry.refusals:
            return None

    def resampled(self, stream: int) -> dict[str, float] | None:
        """Values of a bootstrap sample, or of half of the rows; None if they cannot be scored.

        A grid is no sample: there the values are of new draws from it.
        """
        kind: Resampling = "halves" if self.entry.halves else "bootstrap"
        rows = resampled_rows(len(self.latents), kind, self._random(SPREAD, stream))
        try:
            if isinstance(self.factors, FactorGrid):
                return self.entry.rows_of(self.score(self.latents, self.factors, (SPREAD, stream)))
            drawn = self.factors.take(rows)
            return self.entry.rows_of(self.score(self.latents[rows], drawn, (SPREAD, stream), rows))
        except self.entry.refusals:
            return None

    def _random(self, *stream: int) -> np.random.Generator:
        # Set apart from the numbers that the function itself draws.
        return np.random.default_rng((*self.seed, *stream, 1))


@dataclass(frozen=True)
class Outcome:
    """What became of a job.

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


def run_job(job: Job, confidence: float) -> Outcome:
    """Call the function on the rows, on permuted and on resampled ones."""
    with one_thread_each():
        start = time.perf_counter()
        try:
            score = job.score(job.latents, job.factors, (VALUE, 0))
            values = job.entry.rows_of(score)
        except job.entry.refusals as problem:
            return Outcome(None, skipped=_sentence(problem))
        seconds = time.perf_counter() - start
        chance = [job.chance(stream) for stream in range(job.n_chance)]
        spread = [job.resampled(stream) for stream in range(job.n_resamples)]
    low, high = intervals_of_rows(values, [x for x in spread if x is not None], confidence)
    scored = [x for x in chance if x is not None]
    judged = [row for row in values if job.entry.has_chance(row)]
    mean = {row: float(np.mean([x[row] for x in scored])) for row in judged} if scored else {}
    return Outcome(score, "", values, mean, low, high, seconds)


def _sentence(problem: Exception) -> str:
    """Why a score is skipped; of what was not meant as a message, with its kind."""
    meant = isinstance(problem, InputError | MissingExtraError)
    return str(problem) if meant else f"{type(problem).__name__}: {problem}"


def run_jobs(
    jobs: list[Job], confidence: float, n_jobs: int | None, verbose: bool | int
) -> list[Outcome]:
    """Run all, one after the other or in processes; outcomes in the order of the jobs."""
    workers = check_jobs(n_jobs)
    with Stages("scores", verbose) as stages:
        if workers == 1:
            return _run_in_turn(jobs, confidence, stages)
        outcomes: list[Outcome] = []
        with stages.stage(f"{len(jobs)} scores in {workers} processes"):
            for outcome in in_processes(run_job, ((job, confidence) for job in jobs), workers):
                outcomes.append(outcome)
                stages.advance(len(outcomes) / len(jobs))
    return outcomes


def _run_in_turn(jobs: list[Job], confidence: float, stages: Stages) -> list[Outcome]:
    outcomes = []
    for done, job in enumerate(jobs):
        with stages.stage(f"{done + 1}/{len(jobs)} {job.entry.name}"):
            stages.advance(done / len(jobs))
            outcomes.append(run_job(job, confidence))
    return outcomes
