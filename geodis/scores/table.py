"""Every score of one pair of arrays: latents, factors -> a table with chance levels."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state
from geodis.data.files.load import Factors
from geodis.data.grids.grid import FactorGrid, latents_of
from geodis.scores._catalogue import BY_NAME, ENTRIES, Entry
from geodis.scores._collapsed import check_log_variances
from geodis.scores.inputs import check_latents, code_factors
from geodis.scores._running import Job, Outcome, run_jobs
from geodis.scores._score_table import ScoreTable
from geodis.scores._threads import check_jobs
from geodis.scores.binning import bin_factors

# Rows of a large grid that stand for it where a score takes arrays.
MAX_ROWS = 10_000
# Resamplings behind an interval, and the share of them that it holds.
N_RESAMPLES, CONFIDENCE = 100, 0.95
SAMPLED = "_sampled"


def score_latents(
    latents: Any,
    factors: Any,
    scores: Sequence[str] | None = None,
    *,
    bins: int | None = None,
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
        Numbers, strings, pandas categories or columns with names.
    scores : sequence of str, optional
        Which to compute: functions of `geodis.scores` or families ("information", "predictive",
        "interventional", "ratios", "unsupervised"). All by default but
        "downstream_trees", which takes longer than all others together.
    bins : int, optional
        Cut continuous factors into as many bins of equal width for the scores that need classes.
        Without it those scores are skipped.
    log_variances : array-like of shape (n, z), optional
        Of a Gaussian encoder whose means are the latents: adds the unsupervised scores of the
        sampled representation, and lets `factor_vae` see latents that collapsed to the prior.
    chance : bool or int
        How often to permute the rows against each other for the chance level of every score, the
        mean of its values then; True is once.
    intervals : bool or int
        How many bootstrap samples of the rows to score again for an interval of 95 per cent; True
        is 100. As in `bootstrap_interval`, their spread is laid around the value; scores that
        hold rows out, or search the rows for traversals, get halves of the rows instead.
    n_jobs : int, optional
        Processes that compute scores at the same time; -1 for all cores.
    verbose : bool or int
        Show progress.
    random_state : None, int or Generator
        Each score gets a stream of its own: it has the same value alone and among others.

    Returns
    -------
    ScoreTable
        Prints as a table; ``table["mig"]`` is a value, ``table.frame`` pandas.

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
    chosen = choose_scores(scores)
    n_chance = int(chance) if isinstance(chance, bool) else check_int(chance, "chance", low=0)
    if isinstance(intervals, bool):
        n_resamples = N_RESAMPLES * intervals
    else:
        n_resamples = check_int(intervals, "intervals", low=0)
    if bins is not None:
        check_int(bins, "bins", low=2)
    if n_jobs is not None:
        check_jobs(n_jobs)
    random = check_random_state(random_state)
    # One number for all streams: a score has the same value alone and among others.
    entropy = random_state if isinstance(random_state, int) else int(random.integers(2**31))
    rows, labels, grid = _rows(latents, factors, random)
    if len(labels) != len(rows):
        raise InputError(
            f"latents and factors must have as many rows: {len(rows)} and {len(labels)} came."
        )
    if log_variances is not None and grid is not None:
        raise InputError("log_variances belong to rows; a code of a grid came.")
    spread = check_log_variances(log_variances, rows)
    binned, note = labels, ""
    if bins is not None and (continuous := code_factors(labels).continuous).any():
        binned = bin_factors(labels, bins)
        which = ", ".join(labels.names[j] for j in np.flatnonzero(continuous))
        note = f"continuous factors in {bins} bins of equal width: {which}"
    jobs = []
    for entry in chosen if spread is None else _with_sampled(chosen):
        options = dict(entry.options)
        if spread is not None and (entry.name == "factor_vae" or entry.name.endswith(SAMPLED)):
            options["log_variances"] = spread
        used, remark = (labels, "") if entry.takes_continuous else (binned, note)
        source: tuple[np.ndarray, Factors | FactorGrid] = (rows, used)
        if grid is not None and entry.takes_grid:
            source = grid
        jobs.append(
            Job(
                entry,
                source[0],
                source[1],
                options,
                seed=(entropy, zlib.crc32(entry.name.encode())),
                n_chance=n_chance if entry.needs_factors else 0,
                n_resamples=n_resamples,
                note=remark if entry.needs_factors else "",
            )
        )
    outcomes = run_jobs(jobs, CONFIDENCE, n_jobs, verbose)
    return _gather(jobs, outcomes, rows, labels.names, random_state)


def choose_scores(scores: Sequence[str] | None) -> list[Entry]:
    """Entries of the names and families that were asked for, in the order of the table."""
    if scores is None:
        return [entry for entry in ENTRIES if entry.default]
    if isinstance(scores, str):
        scores = [scores]
    families = {entry.family for entry in ENTRIES}
    unknown = [name for name in scores if name not in BY_NAME and name not in families]
    if unknown or not len(scores):
        raise InputError(
            f"scores must be names or families of scores; {', '.join(map(str, unknown)) or 'none'} "
            f"came. Names: {', '.join(BY_NAME)}. Families: {', '.join(sorted(families))}."
        )
    return [
        entry
        for entry in ENTRIES
        if entry.name in scores or (entry.family in scores and entry.default)
    ]


def _with_sampled(chosen: list[Entry]) -> list[Entry]:
    """Add the unsupervised scores of the sampled representation, after those of the mean."""
    found = []
    for entry in chosen:
        found.append(entry)
        if not entry.needs_factors:
            rows = {name + SAMPLED: key for name, key in entry.rows.items()}
            random = entry.name == "mutual_info_score"
            found.append(replace(entry, name=entry.name + SAMPLED, rows=rows, random=random))
    return found


def _rows(
    latents: Any, factors: Any, random: np.random.Generator
) -> tuple[np.ndarray, Factors, tuple[np.ndarray, FactorGrid] | None]:
    """Latents and factors as rows; and the whole code and its grid, where that is at hand."""
    if not isinstance(factors, FactorGrid):
        return check_latents(latents), as_factors(factors), None
    grid, encode = factors, latents_of(factors, latents)
    index = np.arange(len(grid))
    if len(grid) > MAX_ROWS:
        index = np.sort(random.choice(len(grid), MAX_ROWS, replace=False))
    rows = encode(index)
    labels = Factors(grid.factors(index).astype(float), grid.names)
    if not callable(latents):
        return rows, labels, (check_latents(latents), grid)
    # An encoder runs once for each row; every score sees the same latents.
    return rows, labels, (rows, grid) if len(index) == len(grid) else None


def as_factors(factors: Any) -> Factors:
    """Return factors of any kind as numbers and codes with names, checked once for all scores.

    Examples
    --------
    >>> as_factors(np.array(["box", "dot", "box"])).values.ravel().tolist()
    [0.0, 1.0, 0.0]
    """
    coded = code_factors(factors)
    names = coded.names or tuple(str(j) for j in range(len(coded.sizes)))
    labels = {}
    for j in np.flatnonzero(~coded.numeric):
        known = factors.categories.get(names[j]) if isinstance(factors, Factors) else None
        labels[names[j]] = known or tuple(map(str, range(coded.sizes[j])))
    return Factors(coded.values.astype(float), names, labels)


def _gather(
    jobs: list[Job], outcomes: list[Outcome], rows: np.ndarray, names: tuple[str, ...], seed: Any
) -> ScoreTable:
    import pandas as pd

    lines: list[dict[str, Any]] = []
    results, skipped = {}, {}
    for job, outcome in zip(jobs, outcomes, strict=True):
        entry = job.entry
        if outcome.score is None:
            skipped[entry.name] = outcome.skipped
            continue
        note = "; ".join(filter(None, (job.note, outcome.score.note)))
        results[entry.name] = replace(outcome.score, note=note)
        for name, value in outcome.values.items():
            lines.append(
                {
                    "score": name,
                    "family": entry.family,
                    "value": value,
                    "chance": outcome.chance.get(name, np.nan),
                    "low": outcome.low.get(name, np.nan),
                    "high": outcome.high.get(name, np.nan),
                    "better": "lower" if entry.lower_is_better else "higher",
                    "seconds": outcome.seconds,
                    "note": note,
                }
            )
    columns = ["score", "family", "value", "chance", "low", "high", "better", "seconds", "note"]
    frame = pd.DataFrame(lines, columns=columns).set_index("score")
    return ScoreTable(frame, results, skipped, len(rows), rows.shape[1], names, seed)
