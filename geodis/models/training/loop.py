"""The training loop: draw a batch, add up the objectives, step; with checkpoints that resume."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from geodis.base.check import InputError, check_choice, check_int, check_real
from geodis.base.progress import Stages
from geodis.models.model import Model, Plan
from geodis.models.saving import save_model
from geodis.models.training.checkpoints import checkpoint_file, load_checkpoint, save_checkpoint
from geodis.models.training.schedules import follow, plans_of
from geodis.models.training.streams import Drawn, fingerprint, stream_of

PRECISIONS = ("auto", "float32", "bfloat16")
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
    adversary_learning_rate: float = 1e-4,
    supervision: str = "scaled",
    schedules: Mapping[str, Plan] | None = None,
    device: str = "auto",
    precision: str = "auto",
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 60.0,
    callbacks: Mapping[str, Callable[[Any], Any]] | None = None,
    callback_every: int = 500,
    random_state: int = 0,
    verbose: bool | int = True,
) -> Training:
    """Train a model with Adam.

    Parameters
    ----------
    model : Model
        Trained in place.
    data : FactorGrid, array-like, Tensor, tuple of these, or DataLoader
        See `streams.stream_of`.
    steps : int
        In all, with those before a resume.
    batch_size : int
        Rows, pairs or triplets in a batch.
    learning_rate : float, optional
        1e-3 unless the model has a schedule of its own.
    adversary_learning_rate : float
        Of the second player of adversarial models.
    supervision : {"scaled", "factors", "perceived"}
        What orders triplets.
    schedules : mapping of str to (start, end) or callable, optional
        How settings, and "learning_rate", change with the part of the training that is done, 0 to
        1: in a straight line from start to end (None for the setting's own value), or by a
        function. The model's own schedules hold unless named.
    device : str
        "auto" takes a GPU where there is one.
    precision : {"auto", "float32", "bfloat16"}
        "auto" takes bfloat16 for convolutions where the device computes in it. Objectives are
        computed in float32 in either case.
    checkpoint : path, optional
        Folder. The state is written there every so often and at an interrupt; a run that finds one
        goes on from it, and the finished model is written as `save_model` does.
    checkpoint_every : float
        Seconds between checkpoints.
    callbacks : mapping of str to callable, optional
        Called with the model every `callback_every` steps, and at the end; a number, or a mapping
        of names to numbers, goes into the history. See `score_during`.
    callback_every : int
    random_state : int
        Of batches and noise.
    verbose : bool or int
        Show progress with the terms of the loss.

    Returns
    -------
    Training

    Examples
    --------
    >>> from geodis.models import AE
    >>> model = AE((3,), latents=2)
    >>> done = train(model, torch.rand(64, 3), steps=20, verbose=0)
    >>> done.history[-1]["reconstruction"] < done.history[0]["reconstruction"]
    True
    """
    check_int(steps, "steps", low=1)
    check_int(batch_size, "batch_size", low=2)
    check_int(callback_every, "callback_every", low=1)
    seed = check_int(random_state, "random_state", low=0)
    where = choose_device(device)
    how = choose_precision(precision, where, model)
    draw, size = stream_of(model, data, batch_size=batch_size, supervision=supervision)
    rate = _rate(model.learning_rate if learning_rate is None else learning_rate, "learning_rate")
    adversary_rate = _rate(adversary_learning_rate, "adversary_learning_rate")
    planned = plans_of(model, schedules, learning_rate)
    model.to(where)
    if how == "bfloat16" and len(model.shape) == 3:
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    players = _players(model, rate, adversary_rate)
    done = Training(0, device=str(where), precision=how)
    # What makes a run the same run; another number of steps only goes on.
    run = {
        "random_state": seed,
        "batch_size": batch_size,
        "supervision": supervision,
        "rows": size,
    }
    file = None
    if checkpoint is not None:
        file = checkpoint_file(checkpoint)
        run["data"] = fingerprint(model, data, draw, seed)
    if file is not None and file.exists():
        done.steps, done.history = load_checkpoint(file, model, players, run)
    start = saved = time.monotonic()
    # Noise of a step depends on seed and step alone, like its batch; the user's random numbers
    # are put back at the end.
    with (
        torch.random.fork_rng(devices=[where] if where.type == "cuda" else []),
        Stages(type(model).__name__, verbose) as stages,
        stages.stage("training"),
        _Interrupts() as interrupts,
    ):
        model.train()
        while done.steps < steps:
            follow(model, players["model"], planned, done.steps / max(steps - 1, 1))
            torch.manual_seed((seed * 1_000_003 + done.steps) % 2**63)
            terms = _step(model, draw(seed, done.steps), size, players, how, where, done.steps)
            if done.steps % HISTORY_EVERY == 0 or done.steps == steps - 1:
                values = {name: float(value) for name, value in terms.items()}
                done.history.append({"step": done.steps, **values})
                shown = ", ".join(f"{name} {value:.4g}" for name, value in values.items())
                stages.advance(done.steps / steps, f"{done.steps}/{steps} ({shown})")
            done.steps += 1
            if callbacks and (done.steps % callback_every == 0 or done.steps == steps):
                done.history.append({"step": done.steps, **_call(callbacks, model)})
                model.train()
            late = time.monotonic() - saved > checkpoint_every
            if file is not None and (late or interrupts.came):
                save_checkpoint(file, model, players, done.steps, done.history, run)
                saved = time.monotonic()
            if interrupts.came:
                raise KeyboardInterrupt
    done.seconds = time.monotonic() - start
    # As it comes back from its folder: codes are then the same to the last digit.
    model.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    model.eval()
    if checkpoint is not None and file is not None:
        save_checkpoint(file, model, players, done.steps, done.history, run)
        save_model(
            model,
            checkpoint,
            {"steps": done.steps, "precision": how, **run, "history": done.history},
        )
    return done


class _Interrupts:
    """Keep Ctrl-C until the step under way is done, so that a checkpoint is of a whole step.

    A second one interrupts at once. Outside the main thread Python lets nobody listen.
    """

    def __enter__(self) -> _Interrupts:
        self.came = False
        self._listening = threading.current_thread() is threading.main_thread()
        if self._listening:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.came:
            raise KeyboardInterrupt
        self.came = True

    def __exit__(self, *exception: object) -> None:
        if self._listening:
            signal.signal(signal.SIGINT, self._before)


def _step(
    model: Model,
    drawn: Drawn,
    size: int,
    players: Mapping[str, torch.optim.Optimizer],
    precision: str,
    device: torch.device,
    step: int,
) -> dict[str, Tensor]:
    """One step of the model, and one of its adversary."""
    x, labels = drawn
    _check_range(model, x, step)
    layout = torch.channels_last if precision == "bfloat16" and x.ndim == 4 else None
    x = x.to(device, memory_format=layout or torch.preserve_format)
    with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16"):
        batch = model(x, size, None if labels is None else labels.to(device))
    terms = model.terms(batch)
    _check_terms(terms, step)
    players["model"].zero_grad(set_to_none=True)
    torch.stack([value.float() for value in terms.values()]).sum().backward()
    players["model"].step()
    if "adversary" in players:
        loss = model.adversary_loss(batch)
        _check_terms({"adversary": loss}, step)
        players["adversary"].zero_grad(set_to_none=True)
        loss.backward()
        players["adversary"].step()
        terms = {**terms, "adversary": loss}
    return {name: value.detach() for name, value in terms.items()}


def _check_terms(terms: Mapping[str, Tensor], step: int) -> None:
    for name, value in terms.items():
        if not torch.isfinite(value):
            raise FloatingPointError(
                f"{name} became {float(value.detach())} at step {step}, in batch {step}: lower the "
                "learning rate, or look at that batch."
            )


def _check_range(model: Model, x: Tensor, step: int) -> None:
    if model.unit_range and (x.min() < 0 or x.max() > 1):
        other = " or use loss='mse'" if hasattr(model.settings, "loss") else ""
        raise InputError(
            f"{model.unit_range} needs data in [0, 1]; {float(x.min()):g} to {float(x.max()):g} "
            f"came in batch {step}: scale the data{other}."
        )


def choose_device(device: str) -> torch.device:
    """Resolve "auto", or say that what was asked for is not there."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
    except RuntimeError as error:
        raise InputError(f"device must be 'auto', 'cpu' or 'cuda'; {device!r} came.") from error
    if found.type == "cuda" and not torch.cuda.is_available():
        raise InputError("device='cuda' needs a GPU that torch can use; there is none.")
    return found


def choose_precision(precision: str, device: torch.device, model: Model) -> str:
    """Resolve "auto": bfloat16 for convolutions where the device computes in it."""
    check_choice(precision, "precision", PRECISIONS)
    if precision != "auto":
        return precision
    if device.type == "cuda":
        fast = torch.cuda.is_bf16_supported()
    else:  # without the instructions torch emulates them, slower than float32
        supported = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
        fast = bool(supported())
    convolves = model.network in ("conv", "metric") and len(model.shape) == 3
    return "bfloat16" if fast and convolves else "float32"


def _rate(value: Any, name: str) -> float:
    rate = check_real(value, name)
    if rate <= 0:
        raise InputError(f"{name} must be positive; {value} came.")
    return rate


def _players(
    model: Model, learning_rate: float, adversary_learning_rate: float
) -> dict[str, torch.optim.Optimizer]:
    # Without weight decay AdamW is Adam.
    adam: Any = torch.optim.AdamW
    own = {"lr": learning_rate, "betas": model.betas, "weight_decay": model.weight_decay}
    players: dict[str, torch.optim.Optimizer] = {"model": adam(model.own_parameters(), **own)}
    if apart := model.adversary_parameters():
        other = {"lr": adversary_learning_rate, "betas": model.adversary_betas}
        players["adversary"] = adam(apart, **other, weight_decay=0.0)
    return players


def _call(callbacks: Mapping[str, Callable[[Model], Any]], model: Model) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, callback in callbacks.items():
        value = callback(model)
        if isinstance(value, Mapping):
            found |= {f"{name} {key}": float(item) for key, item in value.items()}
        elif value is not None:
            found[name] = float(value)
    return found
