"""The training loop: draw a batch, add up the objectives, step; with checkpoints that resume."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from geodis.base.check import InputError, check_int
from geodis.base.progress import Stages
from geodis.models.model import Model
from geodis.models.saving import save_model
from geodis.models.training.batches import fingerprint, stream_of
from geodis.models.training.checkpoints import checkpoint_file, load_checkpoint, save_checkpoint
from geodis.models.training.devices import Device, choose_device, choose_precision
from geodis.models.training.interrupts import Interrupts
from geodis.models.training.schedules import follow, plans_of
from geodis.models.training.step import optimisers_of, take_step
from geodis.models.training.train_options import TrainOptions, check_rate

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
    """

    steps: int
    history: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0
    device: str = "cpu"
    precision: str = "float32"

    def __str__(self) -> str:
        last = self.history[-1] if self.history else {}
        terms = ", ".join(f"{name} {value:.4g}" for name, value in last.items() if name != "step")
        return f"{self.steps} steps on {self.device} in {self.precision}, {self.seconds:.0f} s" + (
            f": {terms}" if terms else ""
        )


def train(
    model: Model,
    data: Any,
    steps: int = 5000,
    *,
    batch_size: int = 256,
    learning_rate: float | None = None,
    device: Device = "auto",
    options: TrainOptions | None = None,
    checkpoint: str | Path | None = None,
    random_state: int = 0,
    verbose: bool | int = True,
) -> Training:
    """Train a model with Adam.

    Parameters
    ----------
    model : Model
        Trained in place.
    data : FactorGrid, array-like, Tensor, tuple of these, or DataLoader
        See `batches.stream_of`.
    steps : int
        In all, with those before a resume.
    batch_size : int
        Rows, pairs or triplets in a batch.
    learning_rate : float, optional
        1e-3 unless the model has a schedule of its own.
    device : {"auto", "cpu", "cuda"} or torch.device
        "auto" takes a GPU where there is one.
    options : TrainOptions, optional
        All other choices: supervision, schedules, precision, callbacks.
    checkpoint : path, optional
        Folder. The state is written there every so often and at an interrupt; a run that finds one
        goes on from it, and the finished model is written as `save_model` does.
    random_state : int
        Of batches and noise.
    verbose : bool or int
        Show progress with the terms of the loss.

    Returns
    -------
    Training

    Examples
    --------
    >>> from geodis.models import AE, VAE, TrainOptions
    >>> model = AE((3,), latents=2)
    >>> done = train(model, torch.rand(64, 3), steps=20, verbose=0)
    >>> done.history[-1]["reconstruction"] < done.history[0]["reconstruction"]
    True
    >>> warm_up = TrainOptions(schedules={"beta": (0.0, 1.0)})
    >>> train(VAE((3,), 2), torch.rand(64, 3), 5, options=warm_up, verbose=0).steps
    5
    """
    options = TrainOptions() if options is None else options
    if not isinstance(options, TrainOptions):
        raise InputError(f"options must be TrainOptions; got {type(options).__name__}.")
    check_int(steps, "steps", low=1)
    seed = check_int(random_state, "random_state", low=0)
    run = _Run(model, data, steps, batch_size, learning_rate, device, options, seed)
    if checkpoint is not None:
        run.resume(checkpoint, data)
    start = time.monotonic()
    # Noise of a step depends on seed and step alone, like its batch; the user's random numbers
    # are put back at the end.
    with (
        torch.random.fork_rng(devices=[run.device] if run.device.type == "cuda" else []),
        Stages(type(model).__name__, verbose) as stages,
        stages.stage("training"),
        Interrupts() as interrupts,
    ):
        model.train()
        while run.done.steps < steps:
            run.step(stages)
            run.call_back()
            run.save_if_due(interrupts.asked)
            if interrupts.asked:
                raise KeyboardInterrupt
    run.done.seconds = time.monotonic() - start
    run.finish()
    return run.done


class _Run:
    """A training run: what it draws from, its optimisers, how far it is, where it is written."""

    def __init__(
        self,
        model: Model,
        data: Any,
        steps: int,
        batch_size: int,
        learning_rate: float | None,
        device: Device,
        options: TrainOptions,
        seed: int,
    ) -> None:
        check_int(batch_size, "batch_size", low=2)
        self.model, self.options = model, options
        self._steps, self._seed = steps, seed
        self.device = choose_device(device)
        precision = choose_precision(options.precision, self.device, model)
        supervision = options.supervision
        self._draw, self._size = stream_of(
            model, data, batch_size=batch_size, supervision=supervision
        )
        rate = model.learning_rate if learning_rate is None else learning_rate
        rate = check_rate(rate, "learning_rate")
        self._planned = plans_of(model, options.schedules, learning_rate)
        model.to(self.device)
        if precision == "bfloat16" and len(model.shape) == 3:
            model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._players = optimisers_of(model, rate, options.adversary_learning_rate)
        self.done = Training(0, device=str(self.device), precision=precision)
        # What makes a run the same run; another number of steps only goes on.
        self._identity: dict[str, Any] = {
            "random_state": seed,
            "batch_size": batch_size,
            "supervision": supervision,
            "rows": self._size,
        }
        self._folder: str | Path | None = None
        self._saved = time.monotonic()

    def resume(self, folder: str | Path, data: Any) -> None:
        """Write to a folder from now on, and go on from the checkpoint that it has."""
        self._folder, file = folder, checkpoint_file(folder)
        self._identity["data"] = fingerprint(self.model, data, self._draw, self._seed)
        if file.exists():
            self.done.steps, self.done.history = load_checkpoint(
                file, self.model, self._players, self._identity
            )

    def step(self, stages: Stages) -> None:
        """Take one step, and note its terms every so often."""
        done = self.done
        follow(self.model, self._players["model"], self._planned, self._part_done())
        torch.manual_seed((self._seed * 1_000_003 + done.steps) % 2**63)
        terms = take_step(
            self.model,
            self._draw(self._seed, done.steps),
            self._size,
            self._players,
            done.precision,
            self.device,
            done.steps,
        )
        if done.steps % HISTORY_EVERY == 0 or done.steps == self._steps - 1:
            self._note(terms, stages)
        done.steps += 1

    def _part_done(self) -> float:
        return self.done.steps / max(self._steps - 1, 1)

    def _note(self, terms: Mapping[str, Tensor], stages: Stages) -> None:
        done, values = self.done, {name: float(value) for name, value in terms.items()}
        done.history.append({"step": done.steps, **values})
        shown = ", ".join(f"{name} {value:.4g}" for name, value in values.items())
        stages.advance(done.steps / self._steps, f"{done.steps}/{self._steps} ({shown})")

    def call_back(self) -> None:
        """Call the callbacks if it is time, and keep what they return."""
        done, callbacks = self.done, self.options.callbacks
        due = done.steps % self.options.callback_every == 0 or done.steps == self._steps
        if callbacks and due:
            done.history.append({"step": done.steps, **_answers(callbacks, self.model)})
            self.model.train()

    def save_if_due(self, now: bool) -> None:
        """Write a checkpoint where the last one is old, or now."""
        late = time.monotonic() - self._saved > self.options.checkpoint_every
        if self._folder is not None and (late or now):
            self._save(self._folder)
            self._saved = time.monotonic()

    def finish(self) -> None:
        """Leave the model ready for use, and write it."""
        # As it comes back from its folder: codes are then the same to the last digit.
        self.model.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        self.model.eval()
        if self._folder is not None:
            self._save(self._folder)
            done = {"steps": self.done.steps, "precision": self.done.precision}
            history = {"history": self.done.history}
            save_model(self.model, self._folder, {**done, **self._identity, **history})

    def _save(self, folder: str | Path) -> None:
        save_checkpoint(
            checkpoint_file(folder),
            self.model,
            self._players,
            self.done.steps,
            self.done.history,
            self._identity,
        )


def _answers(callbacks: Mapping[str, Callable[[Model], Any]], model: Model) -> dict[str, float]:
    """What callbacks return, as numbers by name."""
    answers: dict[str, float] = {}
    for name, callback in callbacks.items():
        value = callback(model)
        if isinstance(value, Mapping):
            answers |= {f"{name} {key}": float(number) for key, number in value.items()}
        elif value is not None:
            answers[name] = float(value)
    return answers
