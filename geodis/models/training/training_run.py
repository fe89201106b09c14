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
    """What training did.

    Attributes
    ----------
    steps : int
        Steps the model has had, with those before a resume.
    history : list of dict
        Every tenth step: "step" and the value of every term; with what callbacks returned.
    seconds : float
        Of this run.
    device, precision : str
        What was chosen.
    identity : str
        Digest of everything that changes the numbers of the run, but for `steps`; empty without a
        folder.
    note : str
        What is to be known of how the run went on; mostly empty.
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
        Where it is written, and gone on from; the caller holds its lock.
    seed : int
        Of batches and noise.
    thread : DrawingThread, optional
        What draws ahead, where several runs share it.
    **others
        As for `train`.

    Attributes
    ----------
    done : Training
        What is done so far.
    players : mapping of str to Optimizer
        "model", and "adversary" where there is one.
    planned : mapping of str to callable
        Schedules.
    size : int
        Rows of the data.
    passing : list of int
        Places of rows of the history that are there because training was to end.
    whole : bool
        Whether the model stands after a whole step: also while a batch is drawn, and while
        callbacks and loggers are called.
    latest : mapping of str to number or Tensor
        Terms of the last step that was taken; empty before the first.
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
            self._go_on(saved, data)
        if folder is not None:
            self.done.identity = plain_digest(self._identity)
        self._saved = time.monotonic()
        self.whole, self._begun_at, self._workers = True, self.done.steps, WorkerSignals()

    def identified(self, data: Any) -> dict[str, Any]:
        """The identity of the run, see `run_identity`."""
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

    def _go_on(self, saved: Saved, data: Any) -> None:
        """Resume from a checkpoint after checking that it belongs to this run."""
        before, now = saved.run.get("horizon"), self._horizon
        horizon_named = saved.note["horizon_named"] or (before or saved.steps) < saved.steps
        if self.options.horizon is None and horizon_named and before != now:
            raise InputError(
                f"{saved.file} was trained with horizon = {before}; got none, which stands for "
                f"{now} steps: pass horizon={before}, or name another folder."
            )
        # Schedules over as many steps as are asked for, now more than before, take another course
        # from the first step on. Training that long at once begins there, and so does this.
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
        self.go_on_at(saved.steps, saved.note["history"], saved.note["passing"], saved.file)
        why = why_no_place(data)
        if why and saved.steps < self._steps:
            self._remark(f"batches begin anew at step {saved.steps}: {why}")

    def _remark(self, what: str) -> None:
        self.done.note = f"{self.done.note}; {what}" if self.done.note else what

    def go_on_at(
        self, steps: int, history: History, passing: list[int], source: str | Path
    ) -> None:
        """Set the number of steps done, and their history."""
        if steps > self._steps:
            raise InputError(
                f"{source} has had {steps} steps already; got steps = {self._steps}: ask "
                "for as many or more, or name another folder."
            )
        self.done.steps = steps
        if steps < self._steps:  # training that long at once would not have noted these
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
        """Whether all steps are taken, or the run was stopped early."""
        return self.done.steps >= self._steps or self._stopped

    def step(self, stages: Stages) -> None:
        """Take one step, and note its terms every so often."""
        drawn, done = self.begin_step(), self.done
        how = done.precision, done.steps, self._terms_watch
        self._workers.hold()
        self.whole = False
        try:
            self.latest = take_step(self.model, drawn, self.size, self.players, *how)
        except (ValueError, FloatingPointError) as error:
            if len(drawn.x) > self.model.groups:
                raise
            # A spread or a distance between rows, which one row has not.
            raise InputError(
                f"{type(self.model).__name__} must have at least 2 rows in a batch; got 1 in batch "
                f"{done.steps}: make the DataLoader with drop_last=True."
            ) from error
        after = done.steps + 1
        try:
            self.end_step(self.latest, stages)
        finally:  # a step counts also where a logger fails to take its terms
            done.steps, self.whole = after, True
            self._workers.release()

    def begin_step(self) -> Drawn:
        """Set what is scheduled, seed the noise, and draw the batch."""
        follow(self.model, self.players["model"], self.planned, self._part_done())
        reseed(seed_of_step(self.seed, self.done.steps), self.device)
        return self._draw(self.seed, self.done.steps)

    def end_step(self, terms: Mapping[str, Any], stages: Stages) -> None:
        """Count a step, and note its terms if it is time."""
        done = self.done
        regular = done.steps % HISTORY_EVERY == 0
        if self.at_note:
            self._terms_watch.look()
            self._note(terms, regular, stages)
        done.steps += 1

    @property
    def at_note(self) -> bool:
        """Whether the terms of this step go into the history."""
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
        """Add a row to the history; one that is not regular is there because training ends."""
        if not regular:
            self.passing.append(len(self.done.history))
        self.done.history.append(row)
        for logger in self.options.loggers:
            logger(row)

    def stop_early(self) -> None:
        """Stop if `stop_when` says so of a history with a new row."""
        options, history = self.options, self.done.history
        if options.stop_when is None or self.finished or len(history) == self._asked:
            return
        self._asked = len(history)
        if options.stop_when(history):
            self._remark(f"stopped early, of {self._steps} steps")
            last = self._calls_back_anyway  # then they have been called
            self._stopped = True
            if not last:
                self.call_back()

    @property
    def calls_back(self) -> bool:
        """Whether the callbacks are to be called after the steps so far."""
        return bool(self.options.callbacks) and (self._calls_back_anyway or self.finished)

    @property
    def _calls_back_anyway(self) -> bool:
        options, steps = self.options, self.done.steps
        if options.callback_at:
            return steps in options.callback_at
        return steps % options.callback_every == 0

    def call_back(self) -> None:
        """Call the callbacks if it is time, and keep what they return."""
        if self.calls_back:
            self._terms_watch.look()
            self._thread.settle()  # a callback may read the same data
            answers = callback_answers(self._callbacks, self.model, self._terms_of_last_step())
            self._keep({"step": self.done.steps, **answers}, self._calls_back_anyway)
            self.model.train()

    def _terms_of_last_step(self) -> dict[str, float]:
        step = self.done.steps - 1
        terms: Mapping[str, Any] = self.latest
        if not terms and step % HISTORY_EVERY == 0:
            # Taken before a resume: its row comes after one of callbacks that has the same number.
            for row in self.done.history:
                terms = row if row["step"] == step else terms
        return {"step": step, **{name: float(value) for name, value in terms.items()}}

    def catch_up(self) -> None:
        """Do what follows the last step, of a run that goes on.

        Callbacks are called there if an error kept them from it, and training ends where it did
        end. Callbacks that need the terms of that step wait for the next unless it was noted.
        """
        done, callbacks = self.done, self.options.callbacks or {}
        needed = any(takes_terms(callback, name) for name, callback in callbacks.items())
        able = not needed or (done.steps - 1) % HISTORY_EVERY == 0
        missed = bool(done.history) and done.history[-1]["step"] < done.steps
        if self.calls_back and missed and able:
            self.call_back()
        if self.calls_back or able:  # an end at another step would call them
            self.stop_early()

    def keep(self, error: Exception) -> None:
        """Write the last whole step, after an error, if any was taken since the run began.

        A model whose terms became NaN or infinite is not worth it.
        """
        taken = self.done.steps > self._begun_at
        if taken and self.whole and not isinstance(error, FloatingPointError):
            self._workers.hold()  # others of them may end meanwhile
            self.save_if_due(True)

    def save_if_due(self, now: bool) -> None:
        """Write a checkpoint if the last one is old, or if `now`."""
        late = time.monotonic() - self._saved > self.options.checkpoint_every
        if self._folder is not None and (late or now):
            self._terms_watch.look()
            self._save(self._folder)
            self._saved = time.monotonic()

    def close(self) -> None:
        """End the thread that draws ahead, if there is one, and put back what was changed."""
        self._workers.release(tell=False)
        self._thread.close()
        self._restore_settings()

    def _restore_settings(self) -> None:
        """Give settings that schedules changed the values that the model was built with."""
        for name in set(self.planned) - {"learning_rate"}:
            setattr(self.model.settings, name, self.model.chosen[name])

    def finish(self) -> None:
        """Leave the model ready for use, and write it."""
        # As it comes back from its folder: codes are then the same to the last digit.
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
