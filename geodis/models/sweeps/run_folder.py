"""Train the runs of a sweep in their folders, and write what each scored as a row file."""

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

# The data set that a process trains on: opened once, with its images cached if they are small.

# Bytes of images that are kept in memory once drawn.
MOST_HELD = 2**28
# Images that are drawn at once.
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
        close_grid()  # one set at a time: the runs of a set come one after the other
        _opened[fingerprint] = held_grid(grid)
    return _opened[fingerprint]


def close_grid() -> None:
    """Close the open grid."""
    _opened.clear()


def held_grid(grid: FactorGrid) -> FactorGrid:
    """The same grid with its images cached in memory if they are small.

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
    held = copy.copy(grid)
    held._draw = images.__getitem__  # type: ignore[assignment, method-assign]
    return held


RUNS = "runs"
# Steps whose terms are averaged: the terms of one batch are noisy.
TERM_STEPS = 100

# A process trains one run at a time: torch draws from one stream of random numbers.
_one_at_a_time = threading.Lock()


def row_of(folder: Path, run: PlannedRun) -> dict[str, Any] | None:
    """The row of a finished run; None if it is not finished."""
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
    """What all runs of a sweep share: folder, data with fingerprints, scores, device, threads."""

    folder: Path
    data: Mapping[str, tuple[GridSource, str]]
    scoring: ScoringPlan
    device: str
    threads: int


def finish_runs(runs: Sequence[PlannedRun], sweep: SweepSettings) -> int:
    """Train a run, or a stack of runs, or resume it, and write its rows.

    A run is locked from the moment its row is looked up until its checkpoints are removed, so that
    only one of several sweeps in a folder trains it.

    Returns
    -------
    int
        Number of rows written; 0 if another process has trained the runs or is training them.
    """
    owns = [sweep.folder / RUNS / run.identity for run in runs]
    with _one_at_a_time, _threads(sweep.threads), ExitStack() as held:
        try:
            for own in owns:
                own.mkdir(parents=True, exist_ok=True)
                held.enter_context(FolderLock(own, SWEEP_LOCK))
            missing = [own for own in owns if not (own / ROW).exists()]
            if not missing:
                return 0
            grid = open_grid(*sweep.data[runs[0].data], runs[0].data)
            work = _finish_one if len(runs) == 1 else _finish_stack
            work(runs, owns, grid, sweep)
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
    runs: Sequence[PlannedRun], owns: Sequence[Path], grid: FactorGrid, sweep: SweepSettings
) -> None:
    (run,), (own,) = runs, owns
    before = _history_in(own)
    since: History = []
    choices = _choices(run, grid, sweep, loggers=(since.append,))
    model, error = planned_model(run, grid), ""
    try:
        done = train(model, grid, **choices, checkpoint=own, random_state=run.seed, verbose=0)
        history = done.history
    except FloatingPointError as diverged:
        # It would diverge again, so the error and the scores before it are the result.
        history, error = [*before, *since], str(diverged)
    _write_row(run, own, history, error)
    clear_leftovers(own)


def _history_in(own: Path) -> History:
    """History of the checkpoint that a run resumes from."""
    with FolderLock(own):
        saved = read_checkpoint(own)
    return [] if saved is None else list(saved.note["history"])


def _finish_stack(
    runs: Sequence[PlannedRun], owns: Sequence[Path], grid: FactorGrid, sweep: SweepSettings
) -> None:
    together = begin_stack(sweep.folder, runs)
    models = [planned_model(run, grid) for run in runs]
    done = train_stacked(
        models,
        grid,
        **_choices(runs[0], grid, sweep),
        checkpoint=together,
        random_states=[run.seed for run in runs],
        verbose=0,
    )
    for run, own, model, each in zip(runs, owns, models, done, strict=True):
        if not (own / ROW).exists():
            save_model(model, own, {"steps": each.steps, "history": each.history})
            _write_row(run, own, each.history, each.note)
        clear_leftovers(own)
    end_stack(together)


def _choices(
    run: PlannedRun, grid: FactorGrid, sweep: SweepSettings, **more: Any
) -> dict[str, Any]:
    """Arguments of `train` and `train_stacked` for a run."""
    training, scoring = run.training, sweep.scoring
    callbacks: dict[str, Callable[[Model], Any]] = {}
    if scoring.scores:
        callbacks["score"] = score_during(grid, scoring.scores, scoring.n)
    else:  # rows of the table come from callbacks
        callbacks["scored"] = _scored
    callbacks["exponent"] = learnt_exponents  # empty for most models
    steps = training["steps"]
    scored_at = (*scoring.steps, steps)
    return {
        "steps": steps,
        "batch_size": training["batch_size"],
        "learning_rate": training["learning_rate"],
        "device": torch.device(sweep.device),
        "options": options_of_training(
            training, callbacks=callbacks, callback_at=scored_at, **more
        ),
    }


def _scored(model: Model) -> float:
    return 1.0


def _write_row(run: PlannedRun, own: Path, history: History, error: str) -> None:
    scored = [row for row in history if "scored" in row or any(map(_is_score, row))]
    row: dict[str, Any] = {
        "run": run.identity,
        "scored": [{**_terms_before(history, each["step"]), **each} for each in scored],
    }
    write_item(own / ROW, {**row, "error": error} if error else row)


def planned_model(run: PlannedRun, grid: FactorGrid) -> Model:
    """The untrained model of a run."""
    options = dict(run.options)
    if isinstance(options.get("standardise"), bool):
        options["standardise"] = channel_moments(grid) if options["standardise"] else None
    loss = options.get("loss")
    # A user's class may have loss names of its own.
    if isinstance(loss, str) and (run.own_class is None or is_loss_made(loss)):
        options["loss"] = loss_named(loss)
    make: Callable[..., Model] = run.own_class or model_named(run.model)
    try:
        return make(grid, random_state=run.seed, **options)
    except InputError as error:
        raise InputError(f"{error}{_list_hint(options, str(error))}") from None
    except TypeError as error:  # an option that the constructor does not have, or of another form
        raise InputError(
            f"{run.model} cannot be built: {error}.{_list_hint(options, str(error))}"
        ) from None


def _list_hint(options: Mapping[str, Any], said: str) -> str:
    """A hint for a setting that is a list, which a sweep reads as one run for each entry."""
    lists = [name for name, value in options.items() if isinstance(value, list) and name in said]
    if not lists:
        return ""
    return f" In a sweep a setting that is a list stands in a list, as {lists[0]} = [[...]]."


def _is_score(name: str) -> bool:
    return name.startswith("score ")


def _terms_before(history: History, step: float) -> dict[str, float]:
    """Mean of every term over the last steps before one."""
    last = [
        row
        for row in history
        if step - TERM_STEPS <= row["step"] < step
        and "scored" not in row
        and not any(map(_is_score, row))
    ]
    names = [name for name in (last[-1] if last else ()) if name != "step"]
    return {f"term {name}": float(np.mean([row[name] for row in last])) for name in names}
