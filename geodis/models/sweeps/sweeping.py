"""Sweeps: train and score a grid of models, settings, data sets and seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from geodis.base.check import InputError, check_int
from geodis.base.engine import Engine, EngineError, open_engine
from geodis.base.journal import plain_digest
from geodis.base.progress import Stages
from geodis.data.grids.grid import FactorGrid
from geodis.models.randomness import kept_generators
from geodis.models.sweeps.run_folder import (
    RUNS,
    GridSource,
    SweepSettings,
    close_grid,
    finish_runs,
    open_grid,
    planned_model,
    row_of,
)
from geodis.models.sweeps.stacks import (
    ROW,
    STACKS,
    begun_stacks,
    clear_finished,
    clear_stacks,
    in_stacks,
    kind_of,
    why_alone,
)
from geodis.models.sweeps.sweep_plan import (
    PlannedRun,
    ScoringPlan,
    options_of_training,
    plan_runs,
    table_of,
    write_sweep_table,
)
from geodis.models.training.checkpoints import checkpoint_folder
from geodis.models.training.run_identity import data_fingerprint
from geodis.models.training.step import Device, choose_device
from geodis.models.training.training_run import Run

if TYPE_CHECKING:
    import pandas as pd


def look_at_runs(
    runs: Sequence[PlannedRun], data: Mapping[str, tuple[GridSource, str]], device: Any
) -> dict[str, bool]:
    """Build the model, schedules and one batch of every kind of run, to find errors early.

    Parameters
    ----------
    runs : sequence of PlannedRun
    data : mapping of str to (source, fingerprint)
    device : as for `train`

    Returns
    -------
    dict of str to bool
        Whether runs cannot be stacked, by `kind_of`.
    """
    alone: dict[str, bool] = {}
    looked: set[str] = set()
    # The first data set comes last, so that it is open when training starts.
    for name in reversed(list(data)):
        for run in runs:
            whole = plain_digest(
                {"model": run.model, "options": dict(run.options), "training": dict(run.training)}
            )
            if run.data == name and f"{name} {whole}" not in looked:
                looked.add(f"{name} {whole}")
                alone[kind_of(run)] = _must_be_alone(run, *data[name], device)
    return alone


def _must_be_alone(run: PlannedRun, source: GridSource, fingerprint: str, device: Any) -> bool:
    grid = open_grid(source, fingerprint, run.data)
    model, training = planned_model(run, grid), run.training
    with kept_generators():
        begun = Run(
            model,
            grid,
            training["steps"],
            batch_size=training["batch_size"],
            learning_rate=training["learning_rate"],
            device=device,
            options=options_of_training(training, rows_on="host", prefetch="never"),
            folder=None,
            seed=run.seed,
        )
        with closing(begun), torch.no_grad():
            drawn = begun.begin_step()
            # A blur may be wider than the images.
            if callable(getattr(model.settings, "loss", None)):
                model.terms(model(drawn.x, begun.size, drawn.labels))
    return bool(why_alone(model))


@dataclass(frozen=True)
class Sweep:
    """The result of a sweep.

    Attributes
    ----------
    table : DataFrame
        One row per run and scored step: "run", "model", "data", "seed", settings, "training ...",
        "step", "term ..." (means over the 100 steps before), "score ...". Runs that diverged have
        an "error" in all their rows, and a last row without scores.
    folder : Path
        Absolute path; it contains ``table.csv``, ``table.parquet`` and a folder ``runs/<run>/``
        for every model.
    planned, trained, diverged, elsewhere : int
        Number of runs in the grid, of runs trained by this call, of runs with NaN or infinite
        terms, and of runs that another process is training.
    """

    table: pd.DataFrame
    folder: Path
    planned: int
    trained: int
    diverged: int
    elsewhere: int

    def __str__(self) -> str:
        said = [f"{self.planned} runs, {self.trained} of them trained now"]
        if self.diverged:
            said.append(f"{self.diverged} diverged")
        if self.elsewhere:
            said.append(f"{self.elsewhere} left to another process")
        return ", ".join(said)


def sweep(
    folder: str | Path,
    models: Sequence[Mapping[str, Any]],
    data: Mapping[str, GridSource],
    *,
    seeds: int | Sequence[int] = 5,
    training: Mapping[str, Any] | None = None,
    scores: Sequence[str] = ("mig", "dci", "sap"),
    score_at: Sequence[int] = (),
    n: int = 2000,
    device: Device = "auto",
    threads: int = 1,
    stack: int = 1,
    cluster: Any = None,
    n_workers: int | None = None,
    verbose: bool | int = True,
) -> Sweep:
    """Train and score every model of a grid; an interrupted sweep resumes when it is called again.

    The name of a run's folder is a hash of everything that affects its results, so that finished
    runs are recognised, a grid can be extended, and the table does not depend on interruptions.

    Parameters
    ----------
    folder : path
    models : sequence of mapping
        Each has a "model" and settings of its constructor, such as "beta" and "latents", or of its
        training, see below. A list is expanded to its entries; a setting that is itself a list,
        such as "subspaces", is written inside a list. "loss" may also be "box:31", "gaussian:31"
        or the file of a learnt kernel.
    data : mapping of str to FactorGrid, or to a function that opens one
        Data sets by name. The workers of a cluster receive a function instead of images.
    seeds : int or sequence of int
        Seeds of initial weights, batches and noise; an int n means 0 to n - 1.
    training : mapping, optional
        Default options of training for all models: steps (5000), batch_size (64), learning_rate,
        adversary_learning_rate, prior_learning_rate, supervision, category, schedules, horizon,
        version (of your own code), and precision. Precision "auto" is float32, and for stacks
        bfloat16 if the device supports it. It is part of the identity of a run: set it if the
        sweep may be resumed on another device.
    scores : sequence of str
        As for `score_latents`.
    score_at : sequence of int
        Steps at which models are scored, in addition to the last.
    n : int
        Number of images that are scored, drawn once.
    device : as for `train`
    threads : int
        Number of threads that torch uses for a run.
    stack : int
        Number of perceptrons of one shape that are trained simultaneously, see `train_stacked`:
        cheaper, with the same results up to rounding. Other models are trained separately.
    cluster, n_workers
        As for `open_engine`: None for sequential runs, "local" for processes, or the address or
        client of a Dask cluster that has access to the folder under the same path. Several sweeps
        can also be started in one folder; each trains runs that no other is training.
    verbose : bool or int

    Returns
    -------
    Sweep

    Raises
    ------
    InputError
        Before training, for any error in the settings of a run; after writing the table, for
        runs that failed nevertheless.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> factors = [[a, b] for a in range(4) for b in range(5)]
    >>> grid = FactorGrid.from_arrays(np.random.default_rng(0).random((20, 4, 4)), factors)
    >>> done = sweep(tempfile.mkdtemp(), [{"model": "vae", "beta": [1.0, 4.0], "latents": 2}],
    ...              {"noise": grid}, seeds=2, training={"steps": 3}, scores=["mig"], n=20)
    >>> print(done)
    4 runs, 4 of them trained now
    >>> list(done.table.columns)[4:]
    ['beta', 'latents', 'training steps', 'training batch_size', 'training precision', 'step', \
'term reconstruction', 'term kl', 'score mig']
    """
    for name, value in {"models": models, "scores": scores, "score_at": score_at}.items():
        if isinstance(value, str | Mapping) or not isinstance(value, Sequence):
            raise InputError(f"{name} must be a list; got {value!r}.")
    if not isinstance(seeds, Sequence) or isinstance(seeds, str):
        seeds = range(check_int(seeds, "seeds", low=1))
    if not isinstance(data, Mapping):
        raise InputError(f"data must be a mapping of names to grids; got {type(data).__name__}.")
    # An absolute path, because workers may have another working directory.
    path = checkpoint_folder(folder).absolute()
    _check_folders(path)
    scoring = ScoringPlan(tuple(scores), tuple(score_at), n)
    check_int(threads, "threads", low=1)
    check_int(stack, "stack", low=1)
    with Stages("sweep", verbose) as stages:
        with stages.stage("data"):
            opened = {name: _with_fingerprint(name, each) for name, each in data.items()}
        prints = {name: fingerprint for name, (_, fingerprint) in opened.items()}
        runs = plan_runs(models, prints, seeds, training or {}, scoring, device=device, stack=stack)
        if not runs:
            raise InputError("A sweep needs at least one model, one data set and one seed.")
        settings = SweepSettings(path, opened, scoring, str(choose_device(device)), threads)
        try:
            waiting = _tasks(runs, settings, stack)
            with stages.stage("runs"), open_engine(cluster, n_workers=n_workers) as engine:
                trained, failed = _finish(engine, waiting, settings, stages)
        finally:
            close_grid()
    table, written, file = _write_finished(runs, path)
    if failed:
        raise InputError(
            f"All runs must end well; got errors in {sum(failed.values())} of {len(runs)}, and the "
            f"{len(written)} that are finished are in {file}: "
            + " ".join(f"{said} ({count} runs)" for said, count in failed.items())
        )
    diverged = sum("error" in row for row in written.values())
    return Sweep(table, path, len(runs), trained, diverged, len(runs) - len(written))


def _check_folders(path: Path) -> None:
    for name in (RUNS, STACKS):
        if (path / name).exists() and not (path / name).is_dir():
            raise InputError(f"{path / name} must be a folder; got a file.")


def _tasks(runs: Sequence[PlannedRun], sweep: SweepSettings, stack: int) -> list[list[PlannedRun]]:
    """Check the unfinished runs and group them into stacks."""
    unfinished = []
    for run in runs:
        if row_of(sweep.folder, run) is None:
            unfinished.append(run)
        else:
            clear_finished(sweep.folder / RUNS / run.identity)

    def finished(identity: str) -> bool:
        return (sweep.folder / RUNS / identity / ROW).exists()

    alone = look_at_runs(unfinished, sweep.data, sweep.device)
    clear_stacks(sweep.folder, finished)
    begun = begun_stacks(sweep.folder, runs, finished)
    taken = {run.identity for each in begun for run in each}
    free = [run for run in unfinished if run.identity not in taken]
    waiting = [*begun, *in_stacks(free, stack, lambda run: alone[kind_of(run)])]
    # Sorted by data set, so that a worker opens each once.
    return sorted(waiting, key=lambda each: list(sweep.data).index(each[0].data))


def _finish(
    engine: Engine, waiting: list[list[PlannedRun]], sweep: SweepSettings, stages: Stages
) -> tuple[int, Counter[str]]:
    """Train all tasks; return the number of rows written and the number of runs per error."""
    done, trained, total = 0, 0, sum(map(len, waiting))
    failed: Counter[str] = Counter()
    for index, outcome in engine.run(finish_runs, waiting, shared=(sweep,)):
        if isinstance(outcome.error, InputError) and not isinstance(outcome.error, EngineError):
            failed[str(outcome.error)] += len(waiting[index])
        else:
            trained += outcome.result()
        done += len(waiting[index])
        stages.advance(done / total, f"{done}/{total}")
    return trained, failed


def _write_finished(
    runs: Sequence[PlannedRun], path: Path
) -> tuple[pd.DataFrame, dict[str, dict[str, Any]], Path]:
    """Write the table of all finished runs; return it with their rows and the file."""
    while True:
        rows = {run.identity: row_of(path, run) for run in runs}
        written = {identity: row for identity, row in rows.items() if row is not None}
        table = table_of(runs, written)
        file = write_sweep_table(table, path)[0]
        # Repeat if another sweep has finished runs meanwhile, whose rows this table would drop.
        if sum((path / RUNS / run.identity / ROW).exists() for run in runs) == len(written):
            return table, written, file


def _with_fingerprint(name: str, source: GridSource) -> tuple[GridSource, str]:
    grid = source if isinstance(source, FactorGrid) else source()
    if not isinstance(grid, FactorGrid):
        raise InputError(
            f"Data of a sweep must be a FactorGrid, or a function that opens one; {name} is "
            f"{type(grid).__name__}."
        )
    return source, str(data_fingerprint(grid))
