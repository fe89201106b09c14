"""One training step of a model and its adversary; devices, precision and signals."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import isfinite
from types import FrameType
from typing import Any, Literal

import torch
from torch import Tensor, nn

from geodis.base.check import InputError
from geodis.models.model import Model
from geodis.models.priors import LpNested
from geodis.models.training.dataset_rows import Drawn
from geodis.models.training.train_options import OWN_RATE, Precision, TrainOptions


class TermsWatch:
    """Collect the terms of steps, and report the first that is NaN or infinite.

    Reading the terms makes the processor wait for the device, so that they are checked only when
    `look` is called. On the CPU every step is checked immediately.

    Parameters
    ----------
    device : torch.device

    Examples
    --------
    >>> watch = TermsWatch(torch.device("cpu"))
    >>> watch.note({"kl": torch.tensor(torch.nan)}, 7)
    Traceback (most recent call last):
    FloatingPointError: kl became nan at step 7, in batch 7: lower the learning rate, or look at ...
    """

    def __init__(self, device: torch.device) -> None:
        self._immediately = device.type == "cpu"
        self._unseen: list[tuple[int, tuple[str, ...], Tensor]] = []

    def note(self, terms: Mapping[str, Tensor], step: int) -> None:
        """Store the terms of a step."""
        values = torch.stack([value.detach().float() for value in terms.values()])
        self._unseen.append((step, tuple(terms), values))
        if self._immediately:
            self.look()

    def look(self) -> None:
        """Raise a FloatingPointError if any term since the last call is NaN or infinite."""
        unseen, self._unseen = self._unseen, []
        if not unseen or torch.cat([values for _, _, values in unseen]).isfinite().all():
            return
        for step, names, values in unseen:
            for name, value in zip(names, values.tolist(), strict=True):
                if not isfinite(value):
                    raise FloatingPointError(
                        f"{name} became {value} at step {step}, in batch {step}: lower the "
                        "learning rate, or look at that batch."
                    )


Players = Mapping[str, torch.optim.Optimizer]


def optimisers_of(model: Model, learning_rate: float, options: TrainOptions) -> Players:
    """Make the optimisers: "model", and "adversary" if there is one."""
    learnt = {id(each) for each in prior_parameters(model)}
    networks = [each for each in model.own_parameters() if id(each) not in learnt]
    groups: list[dict[str, Any]] = [{"params": networks, "lr": learning_rate, OWN_RATE: False}]
    if learnt:
        rate = options.prior_learning_rate
        groups.append({"params": prior_parameters(model), "lr": rate, OWN_RATE: True})
    players = {"model": adam_of(groups, model.betas, model.weight_decay)}
    if adversary := model.adversary_parameters():
        rate = options.adversary_learning_rate
        group = {"params": adversary, "lr": rate, OWN_RATE: True}
        players["adversary"] = adam_of([group], model.adversary_betas)
    return players


def prior_parameters(model: Model) -> list[nn.Parameter]:
    """Return the parameters that the prior of a model learns."""
    prior = model.prior
    learnt = prior.parameters() if isinstance(prior, nn.Module) else ()
    return [each for each in learnt if each.requires_grad]


def adam_of(
    groups: Sequence[Mapping[str, Any]], betas: tuple[float, float], weight_decay: float = 0.0
) -> torch.optim.Optimizer:
    """Make Adam (AdamW without weight decay is Adam).

    A fused kernel for all parameters, where available, is twice as fast for small networks.
    """
    kinds = {each.device.type for group in groups for each in group["params"]}
    own: list[Any] = [dict(group) for group in groups]
    fused = kinds <= {"cpu", "cuda"}
    return torch.optim.AdamW(own, betas=betas, weight_decay=weight_decay, fused=fused)


def optimiser_of(
    parameters: Sequence[nn.Parameter], like: torch.optim.Optimizer
) -> torch.optim.Optimizer:
    """Make an optimiser of other parameters with the options of the first group."""
    own = like.param_groups[0]
    group = {"params": list(parameters), "lr": own["lr"], OWN_RATE: own[OWN_RATE]}
    return adam_of([group], own["betas"], own["weight_decay"])


def take_step(
    model: Model,
    drawn: Drawn,
    size: int,
    players: Players,
    precision: str,
    step: int,
    watch: TermsWatch,
) -> dict[str, Tensor]:
    """Take a step of the model and of its adversary, and return the terms of the loss."""
    x, labels = drawn
    adversary = players.get("adversary")
    # Gradients of the adversary are not needed in the step of the model.
    ask_for_gradients(adversary, False)
    if precision == "bfloat16" and x.ndim == 4:
        x = x.to(memory_format=torch.channels_last)
    with computing_in(precision, x.device):
        batch = model(x, size, labels)
    terms = model.terms(batch)
    watch.note(terms, step)
    players["model"].zero_grad(set_to_none=True)
    torch.stack([value.float() for value in terms.values()]).sum().backward()
    players["model"].step()
    if isinstance(model.prior, LpNested):
        model.prior.keep_in_range()
    ask_for_gradients(adversary, True)
    if adversary is not None:
        loss = model.adversary_loss(batch)
        watch.note({"adversary": loss}, step)
        adversary.zero_grad(set_to_none=True)
        loss.backward()
        adversary.step()
        terms = {**terms, "adversary": loss}
    return {name: value.detach() for name, value in terms.items()}


def computing_in(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Return a context in which networks compute in this precision."""
    return torch.autocast(device.type, torch.bfloat16) if precision == "bfloat16" else nullcontext()


def ask_for_gradients(player: torch.optim.Optimizer | None, wanted: bool) -> None:
    """Switch the gradients of the parameters of an optimiser on or off."""
    for group in [] if player is None else player.param_groups:
        for parameter in group["params"]:
            parameter.requires_grad_(wanted)


# Device and precision

# Other devices, such as the second GPU, are passed as torch.device("cuda:1").
Device = Literal["auto", "cpu", "cuda"] | torch.device


def choose_device(device: Device, begun: Any = None) -> torch.device:
    """Resolve "auto", and refuse devices that are not available.

    With "auto" a resumed run stays on the device where it was `begun`, "cpu" or "cuda".
    """
    if device == "auto" and begun == "cpu":
        return torch.device("cpu")
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError as error:
        raise InputError(f"device must be 'auto', 'cpu' or 'cuda'; got {device!r}.") from error
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise InputError("device='cuda' needs a GPU that torch can use; there is none.")
    return chosen


def computes_in_bfloat16(device: torch.device) -> bool:
    """Whether a device has bfloat16 instructions; their emulation is slower than float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return bool(getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)())


def choose_precision(
    precision: Precision, device: torch.device, model: Model, begun: Any = None
) -> Literal["float32", "bfloat16"]:
    """Resolve "auto": as the run was `begun`, or bfloat16 for convolutions if it is fast."""
    convolves = model.network in ("conv", "metric") and len(model.shape) == 3
    return _resolved(precision, device, begun, convolves)


def stacked_precision(
    precision: Precision, device: torch.device, begun: Any = None
) -> Literal["float32", "bfloat16"]:
    """Resolve "auto" for models in stacks: as they were `begun`, or bfloat16 if it is fast.

    In sixty pairs of runs of 8,000 steps that differ in precision only, MIG differed by .000
    (-.011 to .010): `analyses/results/precision_pairs`.
    """
    return _resolved(precision, device, begun, True)


def _resolved(
    precision: Precision, device: torch.device, begun: Any, gains: bool
) -> Literal["float32", "bfloat16"]:
    if precision != "auto":
        return precision
    if begun in ("float32", "bfloat16"):
        return "bfloat16" if begun == "bfloat16" else "float32"
    return "bfloat16" if gains and computes_in_bfloat16(device) else "float32"


# Signals: Ctrl-C, and what a cluster sends before it stops a machine
SIGNALS = (signal.SIGINT, signal.SIGTERM)
CHILD_ENDED: Any = getattr(signal, "SIGCHLD", None)  # absent on Windows


class Interrupts:
    """Delay Ctrl-C and SIGTERM until the current step is done, so that checkpoints are consistent.

    A second signal interrupts immediately. Python handles signals in the main thread only.

    Attributes
    ----------
    asked : bool
        Whether a signal was received.
    """

    def __enter__(self) -> Interrupts:
        self.asked = False
        self._before: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, *exception: object) -> None:
        for number, before in self._before.items():
            # None stands for a handler that was not set from Python and cannot be restored.
            signal.signal(number, signal.SIG_DFL if before is None else before)


class WorkerSignals:
    """Delay the error that a DataLoader raises for an ended worker until the step is done.

    A signal to a whole process group also ends the workers. The DataLoader raises its error in a
    signal handler, which could run in the middle of a step.
    """

    def __init__(self) -> None:
        self._handler: Any = None
        self._came = False

    def hold(self) -> None:
        """From now on, only record that a worker ended."""
        if CHILD_ENDED is None or self._handler is not None:
            return
        handler = signal.getsignal(CHILD_ENDED)
        if callable(handler) and threading.current_thread() is threading.main_thread():
            self._handler, self._came = handler, False
            signal.signal(CHILD_ENDED, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came = True

    def release(self, tell: bool = True) -> None:
        """Restore the handler, and pass on a signal that it missed."""
        handler, self._handler = self._handler, None
        if handler is not None:
            signal.signal(CHILD_ENDED, handler)
            if tell and self._came:
                signal.raise_signal(CHILD_ENDED)
