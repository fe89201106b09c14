"""One training run: its data stream, optimisers, progress and checkpoints."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from geodis.base.check import InputError, check_int
from geodis.base.journal import plain_digest
from geodis.base.progress import Stages
from geodis.models.model import Model
from geodis.models.randomness import reseed, seed_of_step
from geodis.models.saving import save_model
from geodis.models.training.batches import DrawingThread, stream_of
from geodis.models.training.checkpoints import (
    History,
    Saved,
    cannot_write,
    check_same,
    load_checkpoint,
    read_checkpoint,
    save_checkpoint,
)
from geodis.models.training.dataset_rows import Drawn, why_no_place
from geodis.models.training.run_identity import check_settings, courses, run_identity
from geodis.models.training.step import (
    Device,
    TermsWatch,
    WorkerSignals,
    choose_device,
    choose_precision,
    optimisers_of,
    take_step,
)
from geodis.models.training.train_options import (
    TrainOptions,
    callback_answers,
    check_rate,
    follow,
    plans_of,
    takes_terms,
    with_terms,
)

HISTORY_EVERY = 10


@dataclass
class Training:
    """The result of training.

    Attributes
    ----------
    steps : int
        Number of steps, including those before a resume.
    history : list of dict
        Every tenth step: "step" and the value of every term; and the results of callbacks.
    seconds : float
        Duration of this call.
    device, precision : str
        The values that were used.
    identity : str
        Digest of everything that affects the results, except `steps`; empty without a folder.
    note : str
        Remarks on how the run was resumed or stopped; usually empty.
    """

    steps: int
    history: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0
    device: str = "cpu"
    precision: str = "float32"
    identity: str = ""
    note: str = ""

    def __str__(self) -> str:
        last = self.history[-1] if self.history else {}
        terms = ", ".join(f"{name} {value:.4g}" for name, value in last.items() if name != "step")
        return (
            f"{self.steps} steps on {self.device} in {self.precision}, {self.seconds:.0f} s"
            + (f": {terms}" if terms else "")
            + (f" ({self.note})" if self.note else "")
        )


class Run:
    """A training run, taken step by step.

    Parameters
    ----------
    folder : Path, optional
        Folder of the checkpoints; the caller holds its lock.
    seed : int
        Seed of batches and noise.
    thread : DrawingThread, optional
        Thread for prefetching, if several runs share one.
    **others
        As for `train`.

    Attributes
    ----------
    done : Training
        The result so far.
    players : mapping of str to Optimizer
        "model", and "adversary" if there is one.
    planned : mapping of str to callable
        Schedules.
    size : int
        Number of rows in the data.
    passing : list of int
        Indices of rows of the history that exist only because training ended there.
    whole : bool
        Whether the model is in the state after a complete step, as it is while batches are drawn
        and callbacks and loggers are called.
    latest : mapping of str to number or Tensor
        Terms of the last step; empty before the first.
    """

    def __init__(
        self,
        model: Model,
        data: Any,
        steps: int,
        *,
        batch_size: int,
        learning_rate: float | None,
        device: Device,
        options: TrainOptions,
        folder: Path | None,
        seed: int,
        thread: DrawingThread | None = None,
    ) -> None:
        check_int(batch_size, "batch_size", low=2)
        self.model, self.options = model, options
        self._steps, self.seed, self._folder = steps, seed, folder
        saved = None if folder is None else read_checkpoint(folder)
        begun = {} if saved is None else saved.run
        self.device = choose_device(device, begun.get("device"))
        precision = choose_precision(options.precision, self.device, model, begun.get("precision"))
        self._thread = DrawingThread() if thread is None else thread
        self._draw, self.size = stream_of(
            model,
            data,
            batch_size=batch_size,
            options=options,
            device=self.device,
            steps=steps,
            thread=self._thread,
        )
        self._callbacks = with_terms(options.callbacks)
        self.latest: Mapping[str, Any] = {}
        self._terms_watch = TermsWatch(self.device)
        rate = model.learning_rate if learning_rate is None else learning_rate
        rate = check_rate(rate, "learning_rate")
        self._batch_size, self._rate = batch_size, rate
        self.planned = plans_of(model, options.schedules, learning_rate)
        check_settings(model, self.planned)
        self._horizon = (options.horizon or steps) if self.planned else None
        self._horizon_named = options.horizon is not None
        self.done = Training(0, device=str(self.device), precision=precision)
        self.passing: list[int] = []
        self._stopped, self._asked = False, 0
        self._identity: dict[str, Any] = {}
        if folder is not None:
            self._identity = self.identified(data)
        model.to(self.device)
        if precision == "bfloat16" and len(model.shape) == 3:
            model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.players = optimisers_of(model, rate, options)
        if saved is not None:
            self._resume(saved, data)
        if folder is not None:
            self.done.identity = plain_digest(self._identity)
        self._saved = time.monotonic()
        self.whole, self._begun_at, self._workers = True, self.done.steps, WorkerSignals()

    def identified(self, data: Any) -> dict[str, Any]:
        """Compute the identity of the run, see `run_identity`."""
        return run_identity(
            self.model,
            data,
            self.options,
            self.planned,
            self._horizon,
            random_state=self.seed,
            batch_size=self._batch_size,
            rows=self.size,
            learning_rate=self._rate,
            precision=self.done.precision,
            device=self.device.type,
        )

    def _resume(self, saved: Saved, data: Any) -> None:
        """Resume from a checkpoint after checking that it belongs to this run."""
        before, now = saved.run.get("horizon"), self._horizon
        horizon_named = saved.note["horizon_named"] or (before or saved.steps) < saved.steps
        if self.options.horizon is None and horizon_named and before != now:
            raise InputError(
                f"{saved.file} was trained with horizon = {before}; got none, which stands for "
                f"{now} steps: pass horizon={before}, or name another folder."
            )
        # Without a given horizon, schedules for another number of steps differ from the first step
        # on. To get the results of an uninterrupted run, training starts again.
        anew = self.options.horizon is None and None not in (before, now) and before != now
        identity = dict(self._identity)
        if anew:
            identity |= {"horizon": before, **courses(self.planned, before)}
        check_same(saved, identity)
        if anew and saved.steps <= self._steps:
            self._begin_anew(saved, before)
            return
        self._identity["weights"] = saved.run["weights"]
        self._horizon_named = self._horizon_named or horizon_named
        load_checkpoint(saved, self.model, self.players)
        self.resume_at(saved.steps, saved.note["history"], saved.note["passing"], saved.file)
        why = why_no_place(data)
        if why and saved.steps < self._steps:
            self._remark(f"batches begin anew at step {saved.steps}: {why}")

    def _remark(self, what: str) -> None:
        self.done.note = f"{self.done.note}; {what}" if self.done.note else what

    def resume_at(
        self, steps: int, history: History, passing: list[int], source: str | Path
    ) -> None:
        """Set the number of steps that are done, and their history."""
        if steps > self._steps:
            raise InputError(
                f"{source} has had {steps} steps already; got steps = {self._steps}: ask "
                "for as many or more, or name another folder."
            )
        self.done.steps = steps
        if steps < self._steps:  # an uninterrupted run would not have these rows
            history = [row for place, row in enumerate(history) if place not in passing]
            passing = []
        self.done.history, self.passing = history, passing

    def _begin_anew(self, saved: Saved, before: Any) -> None:
        if self._identity["weights"] != saved.run["weights"]:
            raise InputError(
                f"{saved.file} was trained with schedules over horizon = {before} steps; got "
                f"{self._horizon}, which begins anew: build the model anew too, or pass "
                f"horizon={before} to go on with schedules that stay where they ended."
            )
        self._remark(
            f"begun anew: schedules over {self._horizon} steps, and not {before}, change every step"
        )

    @property
    def finished(self) -> bool:
        """Whether all steps are done, or the run was stopped early."""
        return self.done.steps >= self._steps or self._stopped

    def step(self, stages: Stages) -> None:
        """Take one step, and add its terms to the history at regular intervals."""
        drawn, done = self.begin_step(), self.done
        how = done.precision, done.steps, self._terms_watch
        self._workers.hold()
        self.whole = False
        try:
            self.latest = take_step(self.model, drawn, self.size, self.players, *how)
        except (ValueError, FloatingPointError) as error:
            if len(drawn.x) > self.model.groups:
                raise
            # Some terms, such as variances and distances, need at least two rows.
            raise InputError(
                f"{type(self.model).__name__} must have at least 2 rows in a batch; got 1 in batch "
                f"{done.steps}: make the DataLoader with drop_last=True."
            ) from error
        after = done.steps + 1
        try:
            self.end_step(self.latest, stages)
        finally:  # the step counts even if a logger fails
            done.steps, self.whole = after, True
            self._workers.release()

    def begin_step(self) -> Drawn:
        """Update scheduled values, seed the noise, and draw the batch."""
        follow(self.model, self.players["model"], self.planned, self._part_done())
        reseed(seed_of_step(self.seed, self.done.steps), self.device)
        return self._draw(self.seed, self.done.steps)

    def end_step(self, terms: Mapping[str, Any], stages: Stages) -> None:
        """Count a step, and add its terms to the history if due."""
        done = self.done
        regular = done.steps % HISTORY_EVERY == 0
        if self.at_note:
            self._terms_watch.look()
            self._note(terms, regular, stages)
        done.steps += 1

    @property
    def at_note(self) -> bool:
        """Whether the terms of this step are added to the history."""
        return self.done.steps % HISTORY_EVERY == 0 or self.done.steps == self._steps - 1

    def _part_done(self) -> float:
        horizon = self._horizon or self._steps
        return min(self.done.steps / max(horizon - 1, 1), 1.0)

    def _note(self, terms: Mapping[str, Any], regular: bool, stages: Stages) -> None:
        done, values = self.done, {name: float(value) for name, value in terms.items()}
        self._keep({"step": done.steps, **values}, regular)
        shown = ", ".join(f"{name} {value:.4g}" for name, value in values.items())
        stages.advance(done.steps / self._steps, f"{done.steps}/{self._steps} ({shown})")

    def _keep(self, row: dict[str, float], regular: bool) -> None:
        """Add a row to the history; irregular rows exist only because training ends."""
        if not regular:
            self.passing.append(len(self.done.history))
        self.done.history.append(row)
        for logger in self.options.loggers:
            logger(row)

    def stop_early(self) -> None:
        """Stop if `stop_when` returns true for a history with new rows."""
        options, history = self.options, self.done.history
        if options.stop_when is None or self.finished or len(history) == self._asked:
            return
        self._asked = len(history)
        if options.stop_when(history):
            self._remark(f"stopped early, of {self._steps} steps")
            called = self._calls_back_anyway
            self._stopped = True
            if not called:
                self.call_back()

    @property
    def calls_back(self) -> bool:
        """Whether the callbacks are due after the steps so far."""
        return bool(self.options.callbacks) and (self._calls_back_anyway or self.finished)

    @property
    def _calls_back_anyway(self) -> bool:
        options, steps = self.options, self.done.steps
        if options.callback_at:
            return steps in options.callback_at
        return steps % options.callback_every == 0

    def call_back(self) -> None:
        """Call the callbacks if they are due, and add their results to the history."""
        if self.calls_back:
            self._terms_watch.look()
            self._thread.settle()  # callbacks may read the same data
            answers = callback_answers(self._callbacks, self.model, self._terms_of_last_step())
            self._keep({"step": self.done.steps, **answers}, self._calls_back_anyway)
            self.model.train()

    def _terms_of_last_step(self) -> dict[str, float]:
        step = self.done.steps - 1
        terms: Mapping[str, Any] = self.latest
        if not terms and step % HISTORY_EVERY == 0:
            # The step was taken before a resume; a row of callbacks may have the same number.
            for row in self.done.history:
                terms = row if row["step"] == step else terms
        return {"step": step, **{name: float(value) for name, value in terms.items()}}

    def catch_up(self) -> None:
        """Finish the last step of a resumed run.

        Callbacks are called if an error prevented it, and early stopping is checked. Callbacks
        that need terms are skipped if the terms of that step are not in the history.
        """
        done, callbacks = self.done, self.options.callbacks or {}
        needed = any(takes_terms(callback, name) for name, callback in callbacks.items())
        able = not needed or (done.steps - 1) % HISTORY_EVERY == 0
        missed = bool(done.history) and done.history[-1]["step"] < done.steps
        if self.calls_back and missed and able:
            self.call_back()
        if self.calls_back or able:  # stopping at another step calls them
            self.stop_early()

    def keep(self, error: Exception) -> None:
        """Write a checkpoint after an error, if any step is complete since the run began.

        A model with NaN or infinite terms is not written.
        """
        taken = self.done.steps > self._begun_at
        if taken and self.whole and not isinstance(error, FloatingPointError):
            self._workers.hold()  # further workers may end meanwhile
            self.save_if_due(True)

    def save_if_due(self, now: bool) -> None:
        """Write a checkpoint if the last one is old enough, or if `now` is true."""
        late = time.monotonic() - self._saved > self.options.checkpoint_every
        if self._folder is not None and (late or now):
            self._terms_watch.look()
            self._save(self._folder)
            self._saved = time.monotonic()

    def close(self) -> None:
        """Stop the prefetching thread, and restore signal handlers and settings."""
        self._workers.release(tell=False)
        self._thread.close()
        self._restore_settings()

    def _restore_settings(self) -> None:
        """Reset scheduled settings to the values that the model was built with."""
        for name in set(self.planned) - {"learning_rate"}:
            setattr(self.model.settings, name, self.model.chosen[name])

    def finish(self) -> None:
        """Prepare the model for use, and write it."""
        # The memory layout of a loaded model, so that its codes are exactly the same.
        self.model.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        self.model.eval()
        self._restore_settings()
        if self._folder is None:
            return
        self._save(self._folder)
        done = {"steps": self.done.steps, "identity": self.done.identity}
        history: dict[str, History] = {"history": self.done.history}
        try:
            save_model(self.model, self._folder, {**done, **self._identity, **history})
        except OSError as error:
            raise cannot_write(self._folder, "the model", error) from error

    def _save(self, folder: Path) -> None:
        save_checkpoint(
            folder,
            self.model,
            self.players,
            self.done.steps,
            history=self.done.history,
            passing=self.passing,
            run=self._identity,
            horizon_named=self._horizon_named,
        )
