"""All scores of latents and factors, as a table with chance levels."""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from geodis.base.check import InputError, MissingExtraError, check_int, check_random_state
from geodis.base.jobs import check_jobs, in_processes, one_thread_each
from geodis.base.progress import Stages
from geodis.data.factors import Factors, as_factors
from geodis.data.grids.grid import FactorGrid, latents_of
from geodis.scores.binning import MOST_BINS, bin_factors
from geodis.scores.card import Score
from geodis.scores.groups import LatentGroups, read_latent_groups
from geodis.scores.inputs import (
    check_latents,
    check_log_variances,
    code_factors,
    without_identities,
)
from geodis.scores.intervals import Resampling, intervals_of_rows, resampled_rows
from geodis.scores.registry import ScoreEntry, choose_scores
from geodis.scores.score_table import ScoreTable

# Jobs: one score each, with its chance level and resampled values.

# Streams of random numbers of a job.
VALUE, CHANCE, SPREAD = 0, 1, 2


@dataclass(frozen=True)
class Job:
    """A score and its arguments, which can be sent to a process.

    Attributes
    ----------
    entry : ScoreEntry
    latents : ndarray of shape (n, z)
    factors : Factors, or FactorGrid with the latents of every index
    options : dict
        Keyword arguments in addition to those of the entry.
    seed : tuple of int
        Seed of all streams of this job.
    n_chance, n_resamples : int
        Numbers of permutations and of resamplings.
    note : str
        Added to the note of the result.
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
        """Call the function on the given rows, with random numbers of a stream."""
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
        """Return the values for permuted latents; None if they cannot be scored.

        Test rows are drawn again, and with few rows a class may be missing.
        """
        order = self._random(CHANCE, stream).permutation(len(self.latents))
        try:
            return self.entry.rows_of(
                self.score(self.latents[order], self.factors, (CHANCE, stream), rows=order)
            )
        except self.entry.refusals:
            return None

    def resampled(self, stream: int) -> dict[str, float] | None:
        """Return the values for a bootstrap sample or half of the rows; None if not defined.

        For a grid, the values are those of new draws.
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
        # Independent of the random numbers of the function itself.
        return np.random.default_rng((*self.seed, *stream, 1))


@dataclass(frozen=True)
class Outcome:
    """Result of a job.

    Attributes
    ----------
    score : Score or None
        None if the score does not apply.
    skipped : str
        Why it does not apply.
    values, chance, low, high : dict of str to float
        One number per row of the table; the last three are empty unless requested.
    seconds : float
        Time for the values, without chance levels and intervals.
    """

    score: Score | None
    skipped: str = ""
    values: dict[str, float] = field(default_factory=dict)
    chance: dict[str, float] = field(default_factory=dict)
    low: dict[str, float] = field(default_factory=dict)
    high: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0


def run_job(job: Job, confidence: float) -> Outcome:
    """Score the rows, permuted rows and resampled rows."""
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
    """Return why a score is skipped, with the type of unexpected errors."""
    meant = isinstance(problem, InputError | MissingExtraError)
    return str(problem) if meant else f"{type(problem).__name__}: {problem}"


def run_jobs(
    jobs: list[Job], confidence: float, n_jobs: int | None, verbose: bool | int
) -> list[Outcome]:
    """Run all jobs, sequentially or in processes; outcomes have the order of the jobs."""
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


# Larger grids are subsampled to this many rows for scores of arrays.
MAX_ROWS = 10_000

# Default number of resamplings, and the level of intervals.
N_RESAMPLES, CONFIDENCE = 100, 0.95
SAMPLED = "_sampled"
COLUMNS = [
    *("score", "family", "question", "value", "chance", "low", "high", "better", "seconds", "note")
]


def score_latents(
    latents: Any,
    factors: Any,
    scores: str | Sequence[str] | None = None,
    *,
    bins: int | None = None,
    groups: Any = None,
    log_variances: Any = None,
    chance: bool | int = True,
    intervals: bool | int = False,
    n_jobs: int | None = None,
    verbose: bool | int = True,
    random_state: Any = 0,
) -> ScoreTable:
    """Compute every score that applies to latents and factors of the same rows.

    Parameters
    ----------
    latents : array-like of shape (n, z), or code of the grid
        With a grid: an array whose row is the grid index, or an encoder of float32 images
        (n, h, w, c).
    factors : array-like of shape (n, f), or FactorGrid
        Numbers, strings, pandas categories or named columns; use `as_factors` to define factors of
        several columns (groups) and cyclic numbers (periods). Columns that identify rows, such as
        file names, are left out with a note.
    scores : str or sequence of str, optional
        Names of scores or families ("information", "predictive", "interventional", "ratios",
        "identifiability", ...). By default all scores except those marked "by name" in their cards,
        such as the slow "downstream_trees".
    bins : int, optional
        Number of equal-width bins of continuous factors, for scores that need classes. Without it
        those scores are skipped.
    groups : sequence of sequences of int or str, or GeoManCER, optional
        Groups of latents, for scores that support them: columns by number or name, or a
        `GeoManCER` fitted to these latents, whose factors are the groups. A fit also adds the
        scores that compare its directions with the factors.
    log_variances : array-like of shape (n, z), optional
        Of a Gaussian encoder whose means are the latents: adds `mig` and the unsupervised scores
        of the sampled representation, and lets `factor_vae` detect latents that collapsed to the
        prior.
    chance : bool or int
        Number of permutations of the rows for the chance level of every score, the mean of the
        permuted scores; True is one.
    intervals : bool or int
        Number of bootstrap samples for intervals of 95 per cent; True is 100. As in
        `bootstrap_interval`, intervals are centred at the value; scores that hold rows out, or
        search the rows for traversals, use halves of the rows instead.
    n_jobs : int, optional
        Number of processes; one by default, -1 for every core.
    verbose : bool or int
        Show progress.
    random_state : None, int or Generator
        Each score has its own stream: its value does not depend on the other scores.

    Returns
    -------
    ScoreTable
        Prints as a table; ``table["mig"]`` is a value, ``table.frame`` a pandas frame.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(500, 2))
    >>> code = np.column_stack([factors, rng.standard_normal(500)])
    >>> print(score_latents(code, factors, ["mig", "factor_vae"]))
    500 rows, 3 latents, 2 factors
    <BLANKLINE>
      score       value  chance
    information
      mig         0.951   0.028
    interventional
      factor_vae  1.000   0.521
    """
    chosen = choose_scores(scores, found=hasattr(groups, "subspace"))
    n_chance = how_often(chance, "chance", 1)
    n_resamples = how_often(intervals, "intervals", N_RESAMPLES)
    if bins is not None:
        check_int(bins, "bins", low=2, high=MOST_BINS)
    check_jobs(n_jobs)
    random = check_random_state(random_state)
    # One seed for all streams, so that a score does not depend on the others.
    entropy = random_state if isinstance(random_state, int) else int(random.integers(2**31))
    rows = _read_rows(latents, factors, random)
    if log_variances is not None and rows.whole is not None:
        raise InputError("log_variances must belong to rows; got a code of a grid.")
    spread = check_log_variances(log_variances, rows.latents)
    factors_of_rows, left_out = without_identities(rows.factors)
    rows = replace(rows, factors=factors_of_rows)
    binned, note = _in_bins(rows.factors, bins)
    sets = _read_groups(latents, rows, groups)
    apart = ", ".join(rows.factors.groups)
    jobs = []
    for entry in chosen if spread is None else _with_sampled(chosen):
        used, remark = (rows.factors, "") if entry.takes_continuous else (binned, note)
        remark = "; ".join(filter(None, (left_out, remark, *_one_by_one(entry, apart, sets))))
        seen, known = (entry.takes_grid and rows.whole) or (rows.latents, used)
        jobs.append(
            Job(
                entry,
                seen,
                known,
                ({"log_variances": spread} if _gets_log_variances(entry, spread) else {})
                | ({"groups": sets} if entry.takes_groups else {}),
                seed=(entropy, zlib.crc32(entry.name.encode())),
                n_chance=n_chance if entry.needs_factors else 0,
                n_resamples=n_resamples,
                note=remark if entry.needs_factors else "",
            )
        )
    outcomes = run_jobs(jobs, CONFIDENCE, n_jobs, verbose)
    return _gather(jobs, outcomes, rows, random_state)


def _one_by_one(entry: ScoreEntry, columns: str, latents: LatentGroups) -> tuple[str, ...]:
    """Return notes on why a score without groups may be low."""
    if entry.takes_groups:
        return ()
    together = "; ".join(
        name
        for name, block in zip(latents.names, latents.blocks, strict=True)
        if block.shape[1] > 1
    )
    asks = {entry.card.question(row) for row in entry.row_names} if entry.card else set()
    lost = f"latents one by one: a factor of several ({together}) may be low by design"
    return (
        f"columns one by one: {columns}" if columns else "",
        lost if together and "completeness" in asks else "",
    )


def how_often(count: bool | int, name: str, if_true: int) -> int:
    """Return the number of repetitions, given as a number or as True."""
    return if_true * count if isinstance(count, bool) else check_int(count, name, low=0)


def _in_bins(factors: Factors, bins: int | None) -> tuple[Factors, str]:
    """Bin the continuous factors, and return a note."""
    if bins is None or not (continuous := code_factors(factors).continuous).any():
        return factors, ""
    which = ", ".join(factors.names[j] for j in np.flatnonzero(continuous))
    note = f"continuous factors in {bins} bins of equal width: {which}"
    return bin_factors(factors, bins), note


def _with_sampled(chosen: list[ScoreEntry]) -> list[ScoreEntry]:
    """Add scores of the sampled representation after those of the mean."""
    both = []
    for entry in chosen:
        both.append(entry)
        if entry.also_sampled:
            rows = entry.rows or {entry.name: ""}
            rows = {name + SAMPLED: key for name, key in rows.items()}
            both.append(replace(entry, name=entry.name + SAMPLED, rows=rows))
    return both


def _gets_log_variances(entry: ScoreEntry, spread: np.ndarray | None) -> bool:
    """Return whether a score gets log-variances; with a sampled variant, only the variant does."""
    if spread is None or not entry.takes_log_variances:
        return False
    return not entry.also_sampled or entry.name.endswith(SAMPLED)


def _read_groups(latents: Any, rows: _Rows, groups: Any) -> LatentGroups:
    named = hasattr(latents, "columns") and rows.whole is None
    return read_latent_groups(latents if named else rows.latents, groups)


@dataclass(frozen=True)
class _Rows:
    """Latents and factors of the same rows, and the whole code and its grid if known."""

    latents: np.ndarray
    factors: Factors
    whole: tuple[np.ndarray, FactorGrid] | None = None

    def __post_init__(self) -> None:
        if len(self.factors) != len(self.latents):
            raise InputError(
                "latents and factors must have as many rows; "
                f"got {len(self.latents)} and {len(self.factors)}."
            )


def _read_rows(latents: Any, factors: Any, random: np.random.Generator) -> _Rows:
    if not isinstance(factors, FactorGrid):
        return _Rows(check_latents(latents, dtype=None), as_factors(factors).refuse_missing())
    grid, encode = factors, latents_of(factors, latents)
    index = np.arange(len(grid))
    if len(grid) > MAX_ROWS:
        index = np.sort(random.choice(len(grid), MAX_ROWS, replace=False))
    encoded = encode(index)
    known = grid.known_factors(index)
    if not callable(latents):
        return _Rows(encoded, known, (check_latents(latents, dtype=None), grid))
    # The encoder runs once per row; all scores use the same latents.
    return _Rows(encoded, known, (encoded, grid) if len(index) == len(grid) else None)


def _gather(jobs: list[Job], outcomes: list[Outcome], rows: _Rows, seed: Any) -> ScoreTable:
    import pandas as pd

    lines: list[dict[str, Any]] = []
    results, skipped = {}, {}
    for job, outcome in zip(jobs, outcomes, strict=True):
        if outcome.score is None:
            skipped[job.entry.name] = outcome.skipped
            continue
        note = "; ".join(filter(None, (job.note, outcome.score.note)))
        results[job.entry.name] = replace(outcome.score, note=note)
        lines += [_line(job.entry, outcome, row, note) for row in outcome.values]
    frame = pd.DataFrame(lines, columns=COLUMNS).set_index("score")
    n, n_latents = rows.latents.shape
    groups = tuple(rows.factors.groups)
    return ScoreTable(frame, results, skipped, n, n_latents, rows.factors.names, seed, groups)


def _line(entry: ScoreEntry, outcome: Outcome, row: str, note: str) -> dict[str, Any]:
    return {
        "score": row,
        "family": entry.family,
        "question": "" if entry.card is None else entry.card.question(row.removesuffix(SAMPLED)),
        "value": outcome.values[row],
        "chance": outcome.chance.get(row, np.nan),
        "low": outcome.low.get(row, np.nan),
        "high": outcome.high.get(row, np.nan),
        "better": "lower" if entry.lower_is_better else "higher",
        "seconds": outcome.seconds,
        "note": note,
    }
