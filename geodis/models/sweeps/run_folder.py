"""Train the runs of a sweep in their folders, and write the scores of each to a row file."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from geodis.base.check import InputError
from geodis.base.journal import read_item, write_item
from geodis.base.write import FolderHeldError, FolderLock
from geodis.data.grids.grid import FactorGrid
from geodis.models.model import Model
from geodis.models.model_inputs import channel_moments
from geodis.models.priors import learnt_exponents
from geodis.models.saving import is_loss_made, loss_named, model_named, save_model
from geodis.models.sweeps.stacked_training import train_stacked
from geodis.models.sweeps.stacks import ROW, SWEEP_LOCK, begin_stack, clear_leftovers, end_stack
from geodis.models.sweeps.sweep_plan import PlannedRun, ScoringPlan, options_of_training
from geodis.models.training.checkpoints import History, read_checkpoint
from geodis.models.training.during import score_during
from geodis.models.training.loop import train
from geodis.models.training.run_identity import data_fingerprint

# Largest data set, in bytes, whose images are cached in memory.
MOST_HELD = 2**28
# Images that are drawn in one call.
AT_ONCE = 4096

GridSource = FactorGrid | Callable[[], FactorGrid]

_opened: dict[str, FactorGrid] = {}


def open_grid(source: GridSource, fingerprint: str, name: str) -> FactorGrid:
    """Return the grid of a data set; the most recent one stays open."""
    if fingerprint not in _opened:
        grid = source if isinstance(source, FactorGrid) else source()
        if data_fingerprint(grid) != fingerprint:
            raise InputError(
                f"Data must be the same wherever a sweep runs; got other data of {name} here."
            )
        close_grid()  # tasks are sorted by data set, so one grid is enough
        _opened[fingerprint] = held_grid(grid)
    return _opened[fingerprint]


def close_grid() -> None:
    """Close the open grid."""
    _opened.clear()


def held_grid(grid: FactorGrid) -> FactorGrid:
    """Copy a grid with its images cached in memory, if they fit.

    Examples
    --------
    >>> grid = FactorGrid.from_arrays(np.zeros((3, 2, 2), np.uint8), [[0], [1], [2]])
    >>> held_grid(grid).images([2, 0]).shape
    (2, 2, 2, 1)
    """
    if grid.image_shape is None:
        return grid
    first = grid.images([0], "auto")
    if len(grid) * first.nbytes > MOST_HELD:
        return grid
    images = np.empty((len(grid), *first.shape[1:]), first.dtype)
    for start in range(0, len(grid), AT_ONCE):
        part = np.arange(start, min(start + AT_ONCE, len(grid)))
        images[part] = grid.images(part, "auto")
    cached = copy.copy(grid)
    cached._draw = images.__getitem__  # type: ignore[assignment, method-assign]
    return cached


RUNS = "runs"
# Number of steps over which terms are averaged, because the terms of one batch are noisy.
TERM_STEPS = 100

# A process trains one run at a time, because torch has one global random generator.
_one_at_a_time = threading.Lock()


def row_of(folder: Path, run: PlannedRun) -> dict[str, Any] | None:
    """Read the row of a run; None if the run is not finished."""
    path = folder / RUNS / run.identity / ROW
    row = read_item(path)
    if row is not None and row.get("run") != run.identity:
        raise InputError(
            f"{path} must be of run {run.identity}; got {row.get('run')!r}: remove it, and its run "
            "is trained again."
        )
    return row


@dataclass(frozen=True)
class SweepSettings:
    """Settings that all runs of a sweep share; data sets come with their fingerprints."""

    folder: Path
    data: Mapping[str, tuple[GridSource, str]]
    scoring: ScoringPlan
    device: str
    threads: int


def finish_runs(runs: Sequence[PlannedRun], sweep: SweepSettings) -> int:
    """Train or resume a run or a stack of runs, and write its rows.

    A run is locked from the check for its row until its checkpoints are removed, so that only one
    of several sweeps in a folder trains it.

    Returns
    -------
    int
        Number of rows written; 0 if another process has trained the runs or is training them.
    """
    folders = [sweep.folder / RUNS / run.identity for run in runs]
    with _one_at_a_time, _threads(sweep.threads), ExitStack() as locks:
        try:
            for folder in folders:
                folder.mkdir(parents=True, exist_ok=True)
                locks.enter_context(FolderLock(folder, SWEEP_LOCK))
            missing = [folder for folder in folders if not (folder / ROW).exists()]
            if not missing:
                return 0
            grid = open_grid(*sweep.data[runs[0].data], runs[0].data)
            work = _finish_one if len(runs) == 1 else _finish_stack
            work(runs, folders, grid, sweep)
        except FolderHeldError:
            return 0
    return len(missing)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _finish_one(
    runs: Sequence[PlannedRun], folders: Sequence[Path], grid: FactorGrid, sweep: SweepSettings
) -> None:
    (run,), (folder,) = runs, folders
    with FolderLock(folder):
        saved = read_checkpoint(folder)
    history: History = [] if saved is None else list(saved.note["history"])
    choices = _choices(run, grid, sweep, loggers=(history.append,))
    model, error = planned_model(run, grid), ""
    try:
        done = train(model, grid, **choices, checkpoint=folder, random_state=run.seed, verbose=0)
        history = done.history
    except FloatingPointError as diverged:
        # It would diverge again, so the error and the scores before it are the result.
        error = str(diverged)
    _write_row(run, folder, history, error)
    clear_leftovers(folder)


def _finish_stack(
    runs: Sequence[PlannedRun], folders: Sequence[Path], grid: FactorGrid, sweep: SweepSettings
) -> None:
    stack_folder = begin_stack(sweep.folder, runs)
    models = [planned_model(run, grid) for run in runs]
    done = train_stacked(
        models,
        grid,
        **_choices(runs[0], grid, sweep),
        checkpoint=stack_folder,
        random_states=[run.seed for run in runs],
        verbose=0,
    )
    for run, folder, model, each in zip(runs, folders, models, done, strict=True):
        if not (folder / ROW).exists():
            save_model(model, folder, {"steps": each.steps, "history": each.history})
            _write_row(run, folder, each.history, each.note)
        clear_leftovers(folder)
    end_stack(stack_folder)


def _choices(
    run: PlannedRun, grid: FactorGrid, sweep: SweepSettings, **more: Any
) -> dict[str, Any]:
    """Make the arguments of `train` and `train_stacked` for a run."""
    training, scoring = run.training, sweep.scoring
    callbacks: dict[str, Callable[[Model], Any]] = {}
    if scoring.scores:
        callbacks["score"] = score_during(grid, scoring.scores, scoring.n)
    else:  # the rows of the table come from callbacks
        callbacks["scored"] = _scored
    callbacks["exponent"] = learnt_exponents  # returns nothing for most models
    steps = training["steps"]
    return {
        "steps": steps,
        "batch_size": training["batch_size"],
        "learning_rate": training["learning_rate"],
        "device": torch.device(sweep.device),
        "options": options_of_training(
            training, callbacks=callbacks, callback_at=(*scoring.steps, steps), **more
        ),
    }


def _scored(model: Model) -> float:
    return 1.0


def _write_row(run: PlannedRun, folder: Path, history: History, error: str) -> None:
    scored = [row for row in history if "scored" in row or any(map(_is_score, row))]
    row: dict[str, Any] = {
        "run": run.identity,
        "scored": [{**_terms_before(history, each["step"]), **each} for each in scored],
    }
    write_item(folder / ROW, {**row, "error": error} if error else row)


def planned_model(run: PlannedRun, grid: FactorGrid) -> Model:
    """Build the untrained model of a run."""
    options = dict(run.options)
    if isinstance(options.get("standardise"), bool):
        options["standardise"] = channel_moments(grid) if options["standardise"] else None
    loss = options.get("loss")
    # A user's class may have its own names of losses.
    if isinstance(loss, str) and (run.own_class is None or is_loss_made(loss)):
        options["loss"] = loss_named(loss)
    make: Callable[..., Model] = run.own_class or model_named(run.model)
    try:
        return make(grid, random_state=run.seed, **options)
    except InputError as error:
        raise InputError(f"{error}{_list_hint(options, str(error))}") from None
    except TypeError as error:  # an unknown option of the constructor, or one of another type
        raise InputError(
            f"{run.model} cannot be built: {error}.{_list_hint(options, str(error))}"
        ) from None


def _list_hint(options: Mapping[str, Any], said: str) -> str:
    """Explain, for a setting that is a list, that a sweep has one run for each entry."""
    lists = [name for name, value in options.items() if isinstance(value, list) and name in said]
    if not lists:
        return ""
    return f" In a sweep a setting that is a list stands in a list, as {lists[0]} = [[...]]."


def _is_score(name: str) -> bool:
    return name.startswith("score ")


def _terms_before(history: History, step: float) -> dict[str, float]:
    """Average every term over the last steps before a step."""
    last = [
        row
        for row in history
        if step - TERM_STEPS <= row["step"] < step
        and "scored" not in row
        and not any(map(_is_score, row))
    ]
    names = [name for name in (last[-1] if last else ()) if name != "step"]
    return {f"term {name}": float(np.mean([row[name] for row in last])) for name in names}
