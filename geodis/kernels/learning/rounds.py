"""Learning in rounds: held-out correlation after each, early stop, checkpoint and resumption."""

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
from geodis.base.check import InputError, check_int, check_real
from geodis.base.progress import Stages
from geodis.base.write import to_jsonable
from geodis.kernels.losses.storage import read_tensors, write_tensors

State = dict[str, torch.Tensor]


class Learner(Protocol):
    """What is learnt: some steps at a time, with its whole state in tensors."""

    phases: Sequence[str]

    def run_round(self, phase: str, number: int, steps: int) -> None:
        """Improve by some steps; `number` of the round is all that chance may depend on."""

    def correlation(self) -> float:
        """Spearman's correlation on held-out pairs."""

    def state(self) -> State:
        """Tensors that `restore` takes."""

    def restore(self, state: State) -> None:
        """Go back to a state."""


SomeLearner = TypeVar("SomeLearner", bound=Learner)


@dataclass
class Rounds:
    """How learning went: what a checkpoint holds beside the states.

    Attributes
    ----------
    best : float
        Best correlation on held-out pairs: the highest, or the lowest if adversarial.
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
    *,
    title: str,
    steps: int,
    round_steps: int,
    patience: int,
    tolerance: float,
    checkpoint: str | os.PathLike[str] | None,
    verbose: bool | int,
) -> tuple[SomeLearner, dict[str, Any]]:
    """Make a learner, which draws its pairs, and run its rounds, with progress.

    Returns
    -------
    learner
        In its best state.
    made : dict
        The settings, the correlation on held-out pairs, the history and seconds.
    """
    check_int(steps, "steps", low=1)
    check_int(patience, "patience", low=1)
    check_real(tolerance, "tolerance")
    with Stages(title, verbose) as stages:
        with stages.stage("pairs"):
            learner = make()
        with stages.stage("learning"):
            rounds = run_rounds(
                learner,
                steps=steps,
                round_steps=round_steps,
                patience=patience,
                tolerance=tolerance,
                adversarial=settings["adversarial"],
                settings=settings,
                checkpoint=checkpoint,
                stages=stages,
            )
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
    *,
    steps: int,
    round_steps: int,
    patience: int,
    tolerance: float,
    adversarial: bool,
    settings: dict[str, Any],
    checkpoint: str | os.PathLike[str] | None,
    stages: Stages,
) -> Rounds:
    """Run rounds until the steps are used up or no phase gains more; leave the best state.

    A phase ends when `patience` rounds in a row gained less than `tolerance`; the next one starts
    from the best state so far.
    """
    sign = -1.0 if adversarial else 1.0
    found = Rounds(best=learner.correlation())
    best = learner.state()
    if checkpoint is not None and Path(checkpoint).exists():
        found, best = _resume(learner, checkpoint, settings)
    else:
        found.history.append((0, learner.phases[0], found.best))
    while found.steps < steps and found.phase < len(learner.phases):
        start = time.perf_counter()
        phase, count = learner.phases[found.phase], min(round_steps, steps - found.steps)
        learner.run_round(phase, found.number, count)
        found.steps, found.number = found.steps + count, found.number + 1
        correlation = learner.correlation()
        gain = sign * (correlation - found.best) if math.isfinite(correlation) else -math.inf
        if gain > 0:
            found.best, best = correlation, learner.state()
        found.stalled = 0 if gain > tolerance else found.stalled + 1
        found.history.append((found.steps, phase, correlation))
        if found.stalled >= patience or gain == -math.inf:
            found.phase, found.stalled = found.phase + 1, 0
            learner.restore(best)
        found.seconds += time.perf_counter() - start
        stages.advance(found.steps / steps, f"held-out correlation {found.best:.4f}")
        if checkpoint is not None:
            _write(checkpoint, found, learner.state(), best, settings)
    learner.restore(best)
    return found


def _write(
    path: str | os.PathLike[str], found: Rounds, now: State, best: State, settings: dict[str, Any]
) -> None:
    tensors = {f"now.{name}": tensor for name, tensor in now.items()}
    tensors |= {f"best.{name}": tensor for name, tensor in best.items()}
    write_tensors(path, tensors, {"rounds": vars(found), "settings": settings})


def _resume(
    learner: Learner, path: str | os.PathLike[str], settings: dict[str, Any]
) -> tuple[Rounds, State]:
    tensors, content = read_tensors(path)
    check_settings(path, content, settings)
    states: dict[str, State] = {"now": {}, "best": {}}
    for name, tensor in tensors.items():
        which, _, rest = name.partition(".")
        states[which][rest] = tensor
    learner.restore(states["now"])
    rounds = dict(content["rounds"])
    rounds["history"] = [tuple(item) for item in rounds["history"]]
    return Rounds(**rounds), states["best"]


def check_settings(
    path: str | os.PathLike[str], content: dict[str, Any], settings: dict[str, Any]
) -> None:
    """Refuse to go on from a checkpoint that other settings wrote."""
    if "rounds" not in content:
        raise InputError(f"{path} is not a checkpoint of geodis; give another name.")
    for name, value in to_jsonable(settings).items():
        before = content["settings"].get(name)
        if before != value:
            raise InputError(
                f"The checkpoint {path} was made with {name}={before!r}; {name}={value!r} came."
            )


def seed_of(random_state: Any, rng_seed: int, checkpoint: str | os.PathLike[str] | None) -> int:
    """The seed of everything: that of the checkpoint where none was asked for."""
    if random_state is None and checkpoint is not None and Path(checkpoint).exists():
        return int(read_tensors(checkpoint)[1].get("settings", {}).get("seed", rng_seed))
    return rng_seed
