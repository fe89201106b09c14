"""Sweeps: train and score a grid of models, settings, data sets and seeds; resumable."""

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


# Check a sweep before training: build every kind of run and pass it one batch.


def look_at_runs(
    runs: Sequence[PlannedRun], data: Mapping[str, tuple[GridSource, str]], device: Any
) -> dict[str, bool]:
    """Build the model, the schedules and a batch of every kind of run, so that errors come early.

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
    # One data set at a time, the first one last: it is then open when training starts.
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
            if callable(
                getattr(model.settings, "loss", None)
            ):  # a blur may be wider than the images
                model.terms(model(drawn.x, begun.size, drawn.labels))
    return bool(why_alone(model))


@dataclass(frozen=True)
class Sweep:
    """What a sweep did.

    Attributes
    ----------
    table : DataFrame
        One row a run and scored step: "run", "model", "data", "seed", settings, "training ...",
        "step", "term ..." (means over 100 steps before), "score ...", and "error" where runs
        diverged: beside what they scored before, and in a last row of its own.
    folder : Path
        Absolute; with ``table.csv``, ``table.parquet`` and ``runs/<run>/``, the folder of every
        model.
    planned, trained, diverged, elsewhere : int
        Runs of the grid; those trained by this call; those that ended in what is no number; those
        that another process is at work on.
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
    """Train and score every model of a grid; start it again after any end, and it goes on.

    A run's folder is named by all that changes its numbers, so that finished runs are recognised
    at once, a grid may grow, and the table is the same whatever happened on the way.

    Parameters
    ----------
    folder : path
    models : sequence of mapping
        Each names its "model" and settings: of the constructor, such as "beta" and "latents", or
        of the training, see below. A list stands for each of its entries in turn; a setting that
        is a list, such as "subspaces", stands in a list. "loss" may also be "box:31",
        "gaussian:31" or the file of a learnt kernel.
    data : mapping of str to FactorGrid, or to a function that opens one
        By name. A function is sent to the workers of a cluster instead of images.
    seeds : int or sequence of int
        Of initial weights, batches and noise; a number stands for 0 to that, without it.
    training : mapping, optional
        How models are trained that do not say otherwise: steps (5000), batch_size (64),
        learning_rate, adversary_learning_rate, prior_learning_rate, supervision, category,
        schedules, horizon, version (of code of your own), and precision: "auto" is float32, and in
        stacks bfloat16 where the device computes in it. It belongs to a run: name it where a sweep
        is to go on elsewhere.
    scores : sequence of str
        As for `score_latents`.
    score_at : sequence of int
        Steps at which models are scored, beside the last.
    n : int
        Images that are scored, drawn once.
    device : as for `train`
    threads : int
        Of torch, for every run.
    stack : int
        Train so many perceptrons of one shape at once, see `train_stacked`: cheaper, and the same
        but for rounding. Other models are trained alone.
    cluster, n_workers
        As for `open_engine`: None for one run after the other, "local" for processes, or the
        address or client of a Dask cluster that sees the folder under the same path. Several
        sweeps may also be started on one folder: each takes runs that no other is at work on.
    verbose : bool or int

    Returns
    -------
    Sweep

    Raises
    ------
    InputError
        Before anything is trained, for what is wrong with any kind of run; at the end, with the
        table written, for runs that ended in an error all the same.

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
    # Workers may have another working directory.
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
    """Unfinished runs, grouped into stacks and checked before anything is trained."""
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
    # Data set by data set, so that a worker opens each once.
    return sorted(waiting, key=lambda each: list(sweep.data).index(each[0].data))


def _finish(
    engine: Engine, waiting: list[list[PlannedRun]], sweep: SweepSettings, stages: Stages
) -> tuple[int, Counter[str]]:
    """Number of rows written, and how many runs ended with each error."""
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
        # Meanwhile another sweep may have written a table with more rows, which this one replaced.
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
