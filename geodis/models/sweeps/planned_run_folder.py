"""Runs of a sweep in their folders: trained, scored on the way, each written as one row file."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from geodis.base.check import InputError
from geodis.base.write import write_json
from geodis.data.grids.grid import FactorGrid
from geodis.models.lp_nested_prior import learnt_exponents
from geodis.models.model import Model
from geodis.models.model_inputs import channel_moments
from geodis.models.model_names import model_named
from geodis.models.saving import CHECKPOINT, OLDER_CHECKPOINT, save_model
from geodis.models.stacking.stacked_training import train_stacked
from geodis.models.sweeps.sweep_plan import PlannedRun, ScoringPlan, options_of_training
from geodis.models.training.loop import train
from geodis.models.training.score_during import score_during
from geodis.models.training.state.fingerprints import data_fingerprint, plain_digest
from geodis.models.training.state.folder_lock import FolderHeldError

RUNS, STACKS, ROW = "runs", "stacks", "row.json"
# Images that are kept in memory once drawn: bytes in all.
MOST_HELD = 2**28
# Steps whose terms are averaged: those of one batch are luck.
TERM_STEPS = 100

GridSource = FactorGrid | Callable[[], FactorGrid]

# A process trains one run at a time: torch draws from one stream of random numbers.
_one_at_a_time = threading.Lock()
_opened: dict[str, FactorGrid] = {}


def row_of(folder: Path, run: PlannedRun) -> dict[str, Any] | None:
    """What a finished run wrote; None where it is not finished."""
    path = folder / RUNS / run.identity / ROW
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{path} cannot be read ({error}): remove it, and its run is trained again."
        ) from None
    if not isinstance(row, dict) or not isinstance(row.get("scored"), list):
        raise InputError(f"{path} must hold what a run scored: remove it to train it again.")
    return row


@dataclass(frozen=True)
class SweepSettings:
    """What all runs of a sweep share: its folder, data with fingerprints, scores, and where."""

    folder: Path
    data: Mapping[str, tuple[GridSource, str]]
    scoring: ScoringPlan
    device: str
    threads: int


def finish_runs(runs: Sequence[PlannedRun], sweep: SweepSettings) -> bool:
    """Train a run, or a stack of some, or go on with it, and write its rows.

    Returns
    -------
    bool
        False where another process is at work on it.
    """
    owns = [sweep.folder / RUNS / run.identity for run in runs]
    if all((own / ROW).exists() for own in owns):  # by another process since the plan was made
        return True
    with _one_at_a_time:
        before = torch.get_num_threads()
        torch.set_num_threads(sweep.threads)
        try:
            grid = open_grid(*sweep.data[runs[0].data], runs[0].data)
            work = _finish_one if len(runs) == 1 else _finish_stack
            work(runs, owns, grid, sweep)
        except FolderHeldError:
            return False
        finally:
            torch.set_num_threads(before)
    return True


def _finish_one(
    runs: Sequence[PlannedRun], owns: Sequence[Path], grid: FactorGrid, sweep: SweepSettings
) -> None:
    (run,), (own,) = runs, owns
    try:
        done = train(
            planned_model(run, grid),
            grid,
            **_choices(run, grid, sweep),
            checkpoint=own,
            random_state=run.seed,
            verbose=0,
        )
        _write_row(run, own, done.history, "")
    except FloatingPointError as error:
        # It would diverge again: that is what is to be known of this run.
        _write_row(run, own, [], str(error))
    _remove_checkpoints(own)  # several times the size of the model


def _finish_stack(
    runs: Sequence[PlannedRun], owns: Sequence[Path], grid: FactorGrid, sweep: SweepSettings
) -> None:
    identities = {str(number): run.identity for number, run in enumerate(runs)}
    together = sweep.folder / STACKS / plain_digest(identities)
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
        if not (own / ROW).exists():  # of another stack, when the grid was smaller
            save_model(model, own, {"steps": each.steps, "history": each.history})
            _write_row(run, own, [] if each.note else each.history, each.note)
    _remove_checkpoints(together)
    with suppress(OSError):  # another process may look into it
        together.rmdir()


def _choices(run: PlannedRun, grid: FactorGrid, sweep: SweepSettings) -> dict[str, Any]:
    """How a run is trained, as `train` and `train_stacked` take it."""
    training, scoring = run.training, sweep.scoring
    callbacks: dict[str, Callable[[Model], Any]] = {}
    if scoring.scores:
        callbacks["score"] = score_during(grid, scoring.scores, scoring.n)
    else:  # the rows of the table are those of the callbacks
        callbacks["scored"] = _scored
    callbacks["exponent"] = learnt_exponents  # none of most models
    steps = training["steps"]
    scored_at = (*scoring.steps, steps)
    return {
        "steps": steps,
        "batch_size": training["batch_size"],
        "learning_rate": training["learning_rate"],
        "device": torch.device(sweep.device),
        "options": options_of_training(training, callbacks=callbacks, callback_at=scored_at),
    }


def _scored(model: Model) -> float:
    return 1.0


def _write_row(run: PlannedRun, own: Path, history: list[dict[str, float]], error: str) -> None:
    scored = [row for row in history if "scored" in row or any(map(_is_score, row))]
    row: dict[str, Any] = {
        "run": run.identity,
        "scored": [{**_terms_before(history, each["step"]), **each} for each in scored],
    }
    write_json(own / ROW, {**row, "error": error} if error else row, durable=True)


def _remove_checkpoints(folder: Path) -> None:
    for name in (CHECKPOINT, OLDER_CHECKPOINT):
        (folder / name).unlink(missing_ok=True)


def planned_model(run: PlannedRun, grid: FactorGrid) -> Model:
    """The untrained model of a run."""
    options = dict(run.options)
    if options.get("standardise") is True:
        options["standardise"] = channel_moments(grid)
    make: Callable[..., Model] = model_named(run.model)
    try:
        return make(grid, random_state=run.seed, **options)
    except TypeError as error:  # an option that the constructor does not have
        raise InputError(f"{run.model} cannot be built: {error}.") from None


def _is_score(name: str) -> bool:
    return name.startswith("score ")


def _terms_before(history: list[dict[str, float]], step: float) -> dict[str, float]:
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


def open_grid(source: GridSource, fingerprint: str, name: str) -> FactorGrid:
    """The grid of a data set, its images in memory where they are few; once a process."""
    if fingerprint not in _opened:
        grid = source if isinstance(source, FactorGrid) else source()
        if data_fingerprint(grid) != fingerprint:
            raise InputError(
                f"Data must be the same wherever a sweep runs; got other data of {name} here."
            )
        _opened.clear()  # one set at a time: the runs of a set come one after the other
        _opened[fingerprint] = _held(grid)
    return _opened[fingerprint]


def _held(grid: FactorGrid) -> FactorGrid:
    """The same grid, whose images are drawn once where there are few."""
    if grid.image_shape is None or len(grid) * int(np.prod(grid.image_shape)) > MOST_HELD:
        return grid
    images = grid.images(np.arange(len(grid)), "auto")
    held = copy.copy(grid)
    held._draw = images.__getitem__  # type: ignore[assignment, method-assign]
    return held
