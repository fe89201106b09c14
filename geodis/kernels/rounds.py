"""Learning in rounds, with held-out correlation, early stopping and checkpoints."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch

from geodis import __version__
from geodis.base.check import InputError, check_int
from geodis.base.journal import changed_settings
from geodis.base.progress import Stages
from geodis.base.safetensors_files import read_note
from geodis.base.write import to_jsonable
from geodis.kernels.learning_task import LossOptions
from geodis.kernels.pairs import Phase
from geodis.kernels.storage import read_checked, write_checked

State = dict[str, torch.Tensor]
Checkpoint = str | os.PathLike[str]

ROUND_STEPS = 50


class Learner(Protocol):
    """A loss that is being learnt, whose whole state is tensors."""

    phases: Sequence[Phase]

    def run_round(self, phase: Phase, number: int, steps: int) -> None:
        """Take some steps; random numbers may depend only on the `number` of the round."""

    def correlation(self) -> float:
        """Compute Spearman's correlation on held-out pairs."""

    def state(self) -> State:
        """Return the state as tensors for `restore`."""

    def restore(self, state: State) -> None:
        """Restore a state."""


SomeLearner = TypeVar("SomeLearner", bound=Learner)


@dataclass
class Rounds:
    """The progress of learning, which a checkpoint has in addition to the states.

    Attributes
    ----------
    best : float
        Best correlation on held-out pairs: the highest, or the lowest if adversarial.
    phase : int
        Number of the current phase.
    stalled : int
        Number of consecutive rounds with a small gain.
    history : list of (steps so far, phase, correlation), from before the first step
    """

    best: float
    steps: int = 0
    number: int = 0
    phase: int = 0
    stalled: int = 0
    seconds: float = 0.0
    history: list[tuple[int, str, float]] = field(default_factory=list)


def learn(
    make: Callable[[], SomeLearner],
    settings: dict[str, Any],
    options: LossOptions,
    *,
    title: str,
    steps: int,
    checkpoint: Checkpoint | None,
    verbose: bool | int,
) -> tuple[SomeLearner, dict[str, Any]]:
    """Make a learner, which draws its pairs, and run its rounds with progress.

    Returns
    -------
    learner
        The learner in its best state.
    made : dict
        The settings, the correlation on held-out pairs, the history and seconds.
    """
    check_int(steps, "steps", low=1)
    with Stages(title, verbose) as stages:
        with stages.stage("pairs"):
            learner = make()
        with stages.stage("learning"):
            rounds = run_rounds(learner, settings, options, steps, checkpoint, stages)
    return learner, {
        "geodis": __version__,
        **settings,
        "held_out": rounds.best,
        "steps": rounds.steps,
        "history": rounds.history,
        "seconds": {"pairs": stages.seconds["pairs"], "learning": rounds.seconds},
    }


def run_rounds(
    learner: Learner,
    settings: dict[str, Any],
    options: LossOptions,
    steps: int,
    checkpoint: Checkpoint | None,
    stages: Stages,
) -> Rounds:
    """Run rounds until the steps are done or no phase improves; restore the best state.

    A phase ends when `patience` rounds in a row gained less than `tolerance`; the next one starts
    from the best state so far.
    """
    sign = -1.0 if options.adversarial else 1.0
    rounds, best = _begin(learner, settings, checkpoint)
    while rounds.steps < steps and rounds.phase < len(learner.phases):
        start = time.perf_counter()
        phase, count = learner.phases[rounds.phase], min(ROUND_STEPS, steps - rounds.steps)
        learner.run_round(phase, rounds.number, count)
        rounds.steps, rounds.number = rounds.steps + count, rounds.number + 1
        correlation = learner.correlation()
        gain = sign * (correlation - rounds.best) if math.isfinite(correlation) else -math.inf
        if gain > 0:
            rounds.best, best = correlation, learner.state()
        rounds.stalled = 0 if gain > options.tolerance else rounds.stalled + 1
        rounds.history.append((rounds.steps, phase, correlation))
        if rounds.stalled >= options.patience or gain == -math.inf:
            rounds.phase, rounds.stalled = rounds.phase + 1, 0
            learner.restore(best)
        rounds.seconds += time.perf_counter() - start
        stages.advance(rounds.steps / steps, f"held-out correlation {rounds.best:.4f}")
        if checkpoint is not None:
            _save(checkpoint, rounds, learner.state(), best, settings)
    learner.restore(best)
    return rounds


def _begin(
    learner: Learner, settings: dict[str, Any], checkpoint: Checkpoint | None
) -> tuple[Rounds, State]:
    """Start, or resume from a checkpoint; return the rounds so far and their best state."""
    if checkpoint is not None and Path(checkpoint).exists():
        return _resume(learner, checkpoint, settings)
    rounds = Rounds(best=learner.correlation())
    rounds.history.append((0, learner.phases[0], rounds.best))
    return rounds, learner.state()


def _save(
    path: Checkpoint, rounds: Rounds, now: State, best: State, settings: dict[str, Any]
) -> None:
    tensors = {f"now.{name}": tensor for name, tensor in now.items()}
    tensors |= {f"best.{name}": tensor for name, tensor in best.items()}
    write_checked(path, tensors, {"rounds": vars(rounds), "settings": settings})


def _resume(learner: Learner, path: Checkpoint, settings: dict[str, Any]) -> tuple[Rounds, State]:
    if not {"rounds", "settings"} <= set(read_note(path)):
        raise InputError(f"{path} is not a checkpoint of geodis; give another name.")
    tensors, note = read_checked(path)
    for name, before, now in changed_settings(note["settings"], to_jsonable(settings)):
        raise InputError(
            f"The checkpoint {path} was made with {name}={before!r}; got {name}={now!r}."
        )
    rounds = Rounds(**note["rounds"])
    rounds.best = math.nan if rounds.best is None else rounds.best  # JSON has no NaN
    rounds.history = [(row[0], row[1], row[2]) for row in rounds.history]
    states: dict[str, State] = {"now": {}, "best": {}}
    for name, tensor in tensors.items():
        which, _, rest = name.partition(".")
        states[which][rest] = tensor
    learner.restore(states["now"])
    return rounds, states["best"]
