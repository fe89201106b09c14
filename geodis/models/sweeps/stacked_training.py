"""Train many small models simultaneously, with the results of `train` up to rounding."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from geodis.base.check import InputError, check_int, checked_options
from geodis.base.progress import Stages
from geodis.base.write import FolderLock
from geodis.models.model import Model
from geodis.models.randomness import kept_generators
from geodis.models.sweeps.stacks import ModelStack, check_alike
from geodis.models.training.batches import DrawingThread
from geodis.models.training.checkpoints import (
    Saved,
    checkpoint_folder,
    load_checkpoint,
    read_checkpoint,
    write_state,
)
from geodis.models.training.run_identity import check_same_run, model_identity
from geodis.models.training.step import (
    Device,
    Interrupts,
    ask_for_gradients,
    choose_device,
    computing_in,
    optimiser_of,
    stacked_precision,
)
from geodis.models.training.train_options import TrainOptions
from geodis.models.training.training_run import Run, Training


def train_stacked(
    models: Sequence[Model],
    data: Any,
    steps: int = 5000,
    *,
    batch_size: int = 256,
    learning_rate: float | None = None,
    device: Device = "auto",
    options: TrainOptions | None = None,
    checkpoint: str | Path | None = None,
    random_states: Sequence[int] | None = None,
    verbose: bool | int = True,
) -> list[Training]:
    """Train models of one class simultaneously with batched matrix products, which is cheaper.

    Every model gets the same batches and noise as in `train`, and the same results up to rounding.
    Training amplifies rounding errors: after many thousands of steps results differ as much as
    those of two seeds. After 100 steps in float32 the codes of VAE, BetaVAE and BetaTCVAE with the
    squared error differ by at most 1e-4 of their spread. AE, DIPVAE of kind "II", ISATCVAE and the
    Bernoulli loss amplify more, to .1 for some seeds, as does a single run whose initial weights
    are changed by one rounding. Only perceptrons ("vector", "mlp") can be stacked.

    Precision "auto" is bfloat16 if the device supports it, which is much faster, see
    `benchmarks/results/models_small.md`; a resumed stack keeps its precision. The scores of sixty
    pairs of runs in both precisions agreed within .02, see `analyses/results/precision_pairs`.

    Parameters
    ----------
    models : sequence of Model
        Models of one class and shape; their weights and numerical settings may differ. Trained in
        place.
    data, steps, batch_size, learning_rate, device, options, verbose
        As for `train`, the same for all models; the callbacks are called for every model.
    checkpoint : path, optional
        Folder of the checkpoints, from which an interrupted stack resumes.
    random_states : sequence of int, optional
        Seeds of batches and noise of every model; 0, 1, 2, ... by default.

    Returns
    -------
    list of Training
        One per model. If the terms of a model become NaN or infinite its ``note`` says so, and the
        other models continue.

    Examples
    --------
    >>> from geodis.models import VAE
    >>> models = [VAE((3,), 2, beta=beta, random_state=0) for beta in (1.0, 4.0)]
    >>> [done.steps for done in train_stacked(models, torch.rand(64, 3), 5, verbose=0)]
    [5, 5]
    """
    options = checked_options(options, TrainOptions)
    check_int(steps, "steps", low=1)
    if options.loggers or options.stop_when is not None:
        raise InputError("Loggers and stop_when are for models that are trained alone.")
    check_alike(models)
    seeds = range(len(models)) if random_states is None else random_states
    if len(seeds) != len(models):
        raise InputError(f"random_states must be {len(models)} numbers; got {len(seeds)}.")
    folder = None if checkpoint is None else checkpoint_folder(checkpoint)
    with nullcontext() if folder is None else FolderLock(folder):
        saved = None if folder is None else read_checkpoint(folder)
        begun = None if saved is None else saved.run.get("precision")
        precision = stacked_precision(options.precision, choose_device(device), begun)
        options = replace(options, precision=precision)
        thread = DrawingThread()
        runs = [
            Run(
                model,
                data,
                steps,
                batch_size=batch_size,
                learning_rate=learning_rate,
                device=device,
                options=options,
                folder=None,
                seed=check_int(seed, "random_state", low=0),
                thread=thread,
            )
            for model, seed in zip(models, seeds, strict=True)
        ]
        stacked = _StackedRuns(runs, data, folder, saved)
        start = time.monotonic()
        with (
            ExitStack() as ending,
            kept_generators(),
            Stages(f"{len(runs)} x {type(models[0]).__name__}", verbose) as stages,
            stages.stage("training"),
            Interrupts() as interrupts,
        ):
            for run in runs:
                ending.callback(run.close)
            while not runs[0].finished:
                stacked.step(stages)
                stacked.call_back()
                stacked.save_if_due(interrupts.asked)
                if interrupts.asked:
                    raise KeyboardInterrupt
        for run in runs:
            run.done.seconds = (time.monotonic() - start) / len(runs)
        stacked.finish()
    return [run.done for run in runs]


class _StackedRuns:
    """Runs that are trained simultaneously, step by step."""

    def __init__(
        self, runs: Sequence[Run], data: Any, folder: Path | None, saved: Saved | None
    ) -> None:
        self.runs, self._folder = runs, folder
        self.stack = ModelStack([run.model for run in runs], runs[0].size).to(runs[0].device)
        self._players = {
            name: optimiser_of(parameters, runs[0].players[name])
            for name, parameters in {
                "model": self.stack.own_parameters(),
                "adversary": self.stack.adversary_parameters(),
            }.items()
            if parameters
        }
        self._moving = any(set(run.planned) - {"learning_rate"} for run in runs)
        self._settings = self.stack.settings()
        self._unseen: list[tuple[int, Mapping[str, Tensor]]] = []
        self._latest: Mapping[str, Tensor] = {}
        self._identity: dict[str, Any] = {}
        if folder is not None:
            members = {str(number): model_identity(run.model) for number, run in enumerate(runs)}
            seeds = [run.seed for run in runs]
            self._identity = {**runs[0].identified(data), "random_state": seeds, **members}
            if saved is not None:
                self._resume(saved)
        self._saved = time.monotonic()

    def step(self, stages: Stages) -> None:
        """Take one step of every model."""
        x, noise, order = self._drawn()
        if self._moving:
            self._settings = self.stack.settings()
        for name, player in self._players.items():
            player.param_groups[0]["lr"] = self.runs[0].players[name].param_groups[0]["lr"]
        device, precision = self.runs[0].device, self.runs[0].done.precision
        own, adversary = self._players["model"], self._players.get("adversary")
        ask_for_gradients(adversary, False)
        with computing_in(precision, device):
            terms, z = self.stack.terms(x, noise, self._settings)
        # The models are independent, so the gradient of the sum contains the gradient of each.
        own.zero_grad(set_to_none=True)
        torch.stack([value.float().sum() for value in terms.values()]).sum().backward()
        own.step()
        ask_for_gradients(adversary, True)
        if adversary is not None and order is not None:
            loss = self.stack.adversary_loss(z, order)
            adversary.zero_grad(set_to_none=True)
            loss.sum().backward()
            adversary.step()
            terms = {**terms, "adversary": loss}
        self._note({name: value.detach() for name, value in terms.items()}, stages)

    def _drawn(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Draw batches, noise and shuffles of every model as `train` does."""
        xs, noises, orders = [], [], []
        for run in self.runs:
            x = run.begin_step().x
            xs.append(run.model.prepare(x))  # type: ignore[operator]
            noises.append(torch.randn(len(x), run.model.latents, device=run.device))
            if self.stack.adversary is not None:
                keys = torch.rand(len(x), run.model.latents, device=run.device)
                orders.append(keys.argsort(dim=0))
        return torch.stack(xs), torch.stack(noises), torch.stack(orders) if orders else None

    def _note(self, terms: Mapping[str, Tensor], stages: Stages) -> None:
        first = self.runs[0]
        self._latest = terms
        self._unseen.append((first.done.steps, terms))
        if first.device.type != "cpu" and not first.at_note:  # reading would wait for the device
            for run in self.runs:
                run.done.steps += 1
            return
        self._look()
        values = {name: value.tolist() for name, value in terms.items()}
        for number, run in enumerate(self.runs):
            if run.done.note:
                run.done.steps += 1
            else:
                run.end_step({name: value[number] for name, value in values.items()}, stages)

    def _look(self) -> None:
        """Record which models had NaN or infinite terms since the last check."""
        unseen, self._unseen = self._unseen, []
        for step, terms in unseen:
            lost = ~torch.stack([value.isfinite() for value in terms.values()]).all(dim=0)
            for number in lost.nonzero().flatten().tolist():
                done = self.runs[number].done
                wrong = {name: float(value[number]) for name, value in terms.items()}
                name = next(name for name in wrong if not isfinite(wrong[name]))
                done.note = done.note or f"{name} became {wrong[name]} at step {step}"

    def call_back(self) -> None:
        """Call the callbacks of every model that has not diverged, if they are due."""
        if self.runs[0].calls_back:
            self._look()
            self.stack.write_back()
            values = {name: value.tolist() for name, value in self._latest.items()}
            for number, run in enumerate(self.runs):
                if not run.done.note:
                    run.latest = {name: value[number] for name, value in values.items()}
                    run.call_back()

    def finish(self) -> None:
        """Write the weights back and leave the models ready for use."""
        self.save_if_due(True)
        self.stack.write_back()
        for run in self.runs:
            run.finish()

    # Checkpoints, one file for all models

    def save_if_due(self, now: bool) -> None:
        """Write a checkpoint if the last one is old enough, or if `now` is true."""
        late = time.monotonic() - self._saved > self.runs[0].options.checkpoint_every
        if self._folder is None or not (late or now):
            return
        self._look()
        # For 64 models gradients and copies of the moments need more memory than the weights. The
        # next step computes new gradients, and nothing changes while the file is written.
        for player in self._players.values():
            player.zero_grad(set_to_none=True)
        tensors = {f"model/{name}": value for name, value in self.stack.state_dict().items()}
        tensors |= dict(self._moments())
        done = [run.done for run in self.runs]
        note = {
            "steps": done[0].steps,
            "history": [each.history for each in done],
            "passing": [run.passing for run in self.runs],
            "notes": [each.note for each in done],
            "run": self._identity,
        }
        write_state(self._folder, tensors, note)
        self._saved = time.monotonic()

    def _moments(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the state of the optimisers without copies, named as in `optimiser_tensors`."""
        for player, optimiser in self._players.items():
            for number, state in optimiser.state_dict()["state"].items():
                for name, value in state.items():
                    yield f"{player} state/{number}/{name}", torch.as_tensor(value)

    def _resume(self, saved: Saved) -> None:
        check_same_run(saved.file, saved.run, self._identity)
        load_checkpoint(saved, self.stack, self._players)
        lists = [saved.note[name] for name in ("history", "passing", "notes")]
        for run, history, passing, note in zip(self.runs, *lists, strict=True):
            run.resume_at(saved.steps, history, passing, saved.file)
            run.done.note = note
