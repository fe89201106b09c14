"""Stacks of models: which runs form one, its files on disk, and the stacked networks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from geodis.base.check import InputError
from geodis.base.journal import plain_digest
from geodis.base.write import FolderHeldError, FolderLock, left_behind, write_json
from geodis.models import objectives
from geodis.models.autoencoder import LOG_VARIANCE, Autoencoder
from geodis.models.model import Model
from geodis.models.model_inputs import device_of, dtype_of, sent
from geodis.models.objectives import Batch
from geodis.models.priors import LpNested, StandardNormal
from geodis.models.saving import (
    CHECKPOINT,
    CONFIG,
    DAMAGED_CHECKPOINT,
    OLDER_CHECKPOINT,
    WEIGHTS,
    model_named,
)
from geodis.models.sweeps.sweep_plan import PlannedRun
from geodis.models.terms import discriminator_loss
from geodis.models.training.run_identity import frozen_parameters
from geodis.models.unsupervised import FactorVAE

ROW, LIST = "row.json", "stack.json"
# Held from the check for a row until the checkpoints are removed; `train` has its own lock, which
# it holds only while it trains.
SWEEP_LOCK = ".sweep-lock"
STATES = (CHECKPOINT, OLDER_CHECKPOINT, DAMAGED_CHECKPOINT)


def clear_leftovers(folder: Path) -> None:
    """Remove checkpoints, which are several times larger than a model, and temporary files.

    The caller holds the lock of the run. Nothing is removed while another process trains there.
    """
    with suppress(FolderHeldError, FileNotFoundError), FolderLock(folder):
        for name in (CHECKPOINT, WEIGHTS, CONFIG, ROW, LIST):
            for path in left_behind(folder / name):
                path.unlink(missing_ok=True)
        for name in STATES:
            (folder / name).unlink(missing_ok=True)


def clear_finished(folder: Path) -> None:
    """Clear the folder of a finished run if a killed process left files in it.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in (ROW, CHECKPOINT, ".config-1f.json", SWEEP_LOCK):
    ...     _ = (folder / name).write_text("")
    >>> clear_finished(folder)
    >>> [path.name for path in folder.iterdir()]
    ['row.json']
    """
    if any(path.name in STATES or path.name.startswith(".") for path in folder.iterdir()):
        with suppress(FolderHeldError), FolderLock(folder, SWEEP_LOCK):
            clear_leftovers(folder)


STACKS = "stacks"


def in_stacks(
    runs: Sequence[PlannedRun], stack: int, alone: Callable[[PlannedRun], bool]
) -> list[list[PlannedRun]]:
    """Group runs that differ only in seeds and numerical settings into stacks.

    Parameters
    ----------
    runs : sequence of PlannedRun
        Runs that are in no stack yet.
    stack : int
        Largest number of runs in one stack.
    alone : callable (PlannedRun) -> bool
        Whether runs of this kind have to be trained separately.

    Returns
    -------
    list of list of PlannedRun
        In the order of their first runs.
    """
    if stack == 1:
        return [[run] for run in runs]
    kinds: dict[str, list[PlannedRun]] = {}
    for run in runs:
        kinds.setdefault(kind_of(run), []).append(run)
    stacks: list[list[PlannedRun]] = []
    for same in kinds.values():
        size = 1 if alone(same[0]) else stack
        stacks += [same[start : start + size] for start in range(0, len(same), size)]
    return stacks


def kind_of(run: PlannedRun) -> str:
    """Compute a digest of what all runs of a stack have in common."""
    numbers = {
        name
        for name, value in model_named(run.model).defaults.items()
        # The size of a discriminator is a setting, but changes the network.
        if isinstance(value, int | float) and not name.startswith("discriminator_")
    }
    shared = {name: value for name, value in run.options.items() if name not in numbers}
    return plain_digest(
        {"model": run.model, "options": shared, "training": dict(run.training), "data": run.data}
    )


def begin_stack(folder: Path, runs: Sequence[PlannedRun]) -> Path:
    """Record the runs of a stack, and return its folder.

    A stack that was started resumes with the same runs, even if the grid of the sweep changed.
    """
    identities = {str(number): run.identity for number, run in enumerate(runs)}
    stack_folder = folder / STACKS / plain_digest(identities)
    if not (stack_folder / LIST).exists():
        write_json(stack_folder / LIST, [run.identity for run in runs], durable=True)
    return stack_folder


def begun_stacks(
    folder: Path, runs: Iterable[PlannedRun], finished: Callable[[str], bool]
) -> list[list[PlannedRun]]:
    """Find stacks that were started, have unfinished runs, and consist of planned runs only.

    Parameters
    ----------
    folder : Path
        Folder of the sweep.
    runs : iterable of PlannedRun
    finished : callable
        Whether a run with this identity has a row.
    """
    planned, found = {run.identity: run for run in runs}, []
    for _, identities in _lists(folder):
        if all(map(planned.__contains__, identities)) and not all(map(finished, identities)):
            # A run belongs to the first stack that lists it.
            found.append([planned.pop(each) for each in identities])
    return found


def clear_stacks(folder: Path, finished: Callable[[str], bool]) -> None:
    """Remove the checkpoints of stacks whose runs are all finished."""
    for stack_folder, identities in _lists(folder):
        if all(map(finished, identities)):
            end_stack(stack_folder)


def end_stack(stack_folder: Path) -> None:
    """Remove the folder of a stack, unless another process trains there."""
    clear_leftovers(stack_folder)
    with suppress(OSError):
        if not any(path.name != LIST for path in stack_folder.iterdir()):
            (stack_folder / LIST).unlink(missing_ok=True)
            stack_folder.rmdir()


def _lists(folder: Path) -> list[tuple[Path, list[str]]]:
    """List the folders of stacks with the identities of their runs; skip unreadable files."""
    found = []
    for path in sorted((folder / STACKS).glob(f"*/{LIST}")):
        with suppress(OSError, ValueError):
            listed = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(listed, list) and listed and all(isinstance(s, str) for s in listed):
                found.append((path.parent, listed))
    return found


# M linear layers as one, with weights (M, out, in) and a gradient without copies


class _BatchedLinear(torch.autograd.Function):
    """y_m = x_m W_m^T + b_m.

    The gradient of W_m is g_m^T x_m, in the memory layout of W_m. Automatic differentiation of a
    batched product returns it transposed and copies it, for a third of the cost of a step.
    """

    @staticmethod
    def forward(context: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Return y, shape (M, n, out)."""
        kind = x.device.type
        casts = torch.is_autocast_enabled(kind)
        if casts:
            dtype = torch.get_autocast_dtype(kind)
            x, weight, bias = x.to(dtype), weight.to(dtype), bias.to(dtype)
        context.save_for_backward(x, weight)
        with torch.autocast(kind, enabled=False) if casts else nullcontext():
            return torch.baddbmm(bias, x, weight.transpose(1, 2))

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of x, the weights and the biases that are needed."""
        x, weight = context.saved_tensors
        of_x, of_weight, of_bias = context.needs_input_grad
        slope = gradients[0]
        return (
            torch.bmm(slope, weight) if of_x else None,
            torch.bmm(slope.transpose(1, 2), x).float() if of_weight else None,
            slope.sum(dim=1, keepdim=True).float() if of_bias else None,
        )


class StackedLinear(nn.Module):
    """M linear layers: y_m = x_m W_m^T + b_m, for x of shape (M, n, in).

    The memory layout is that of the layers, so that products round equally.

    Parameters
    ----------
    layers : sequence of M Linear
        Layers of one shape; `write_back` copies the trained weights into them.

    Examples
    --------
    >>> layers = [nn.Linear(3, 2) for _ in range(4)]
    >>> x = torch.rand(4, 5, 3)
    >>> bool(torch.allclose(StackedLinear(layers)(x)[1], layers[1](x[1]), atol=1e-6))
    True
    """

    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        super().__init__()
        self._layers = list(layers)  # a list, so that they are not submodules
        self.weight = nn.Parameter(torch.stack([layer.weight.detach() for layer in layers]))
        self.bias = nn.Parameter(torch.stack([layer.bias.detach()[None] for layer in layers]))

    def forward(self, x: Tensor) -> Tensor:
        """Return y, shape (M, n, out)."""
        y: Tensor = _BatchedLinear.apply(x, self.weight, self.bias)
        return y

    @torch.no_grad()
    def write_back(self) -> None:
        """Copy the weights of every layer back into it."""
        for number, layer in enumerate(self._layers):
            layer.weight.copy_(self.weight[number])
            layer.bias.copy_(self.bias[number, 0])


# M perceptrons as one

# Objectives without random numbers, which can be mapped over models.
STACKED = (
    objectives.reconstruction,
    objectives.kl,
    objectives.capacity_gap,
    objectives.decomposed_kl,
    objectives.coding_cost,
    objectives.dip,
    objectives.density_ratio_correlation,
)
# Methods of `Autoencoder` that are reimplemented here, and that subclasses must not override.
PASSES = ("forward", "posterior", "_posterior", "couple", "decode", "prepare", "terms")


def why_alone(model: Model) -> str:
    """Explain why a model cannot be in a stack; empty if it can.

    Examples
    --------
    >>> from geodis.models import VAE, TVAE
    >>> why_alone(VAE((4,), 2)), why_alone(TVAE((4,), 2))
    ('', 'it learns from groups of rows')
    """
    kind: Any = type(model)
    if model.groups != 1 or model.labelled:
        return "it learns from groups of rows"
    changed = [each for each in PASSES if getattr(kind, each, 0) is not getattr(Autoencoder, each)]
    if not isinstance(model, Autoencoder) or changed or model.cut_decoder:
        return "its passes are its own"
    if model.network not in ("vector", "mlp") or model.own_networks:
        return "its network is no perceptron"
    if not (isinstance(model.prior, StandardNormal) or _is_fixed(model.prior)):
        return "its prior is not the standard normal, nor one of fixed exponents"
    if callable(model.settings.loss):
        return "its loss is a module or a function"
    if dtype_of(model) == torch.float64:
        return "its weights are float64"
    if frozen_parameters(model):
        return "some of its parameters do not learn"
    if any(objective not in STACKED for objective, _ in model.weighted_objectives()):
        return "its objectives are not among those that are stacked"
    own = model.discriminator is not None and kind.adversary_loss is not FactorVAE.adversary_loss
    return "its adversary is its own" if own else ""


def _is_fixed(prior: Any) -> bool:
    """Whether a prior is Lp-nested with fixed exponents, so that all models can share it."""
    return isinstance(prior, LpNested) and prior.learn == "none"


def stacked_sequence(networks: Sequence[Sequence[nn.Module]]) -> nn.Sequential:
    """Stack networks layer by layer; layers without weights are shared."""
    layers: list[nn.Module] = []
    for members in zip(*networks, strict=True):
        if isinstance(members[0], nn.Linear):
            layers.append(StackedLinear(members))  # type: ignore[arg-type]
        elif not isinstance(members[0], nn.Flatten | nn.Unflatten):  # rows stay flat
            layers.append(members[0])
    return nn.Sequential(*layers)


class ModelStack(nn.Module):
    """M models of one class and shape, whose settings and weights differ.

    Parameters
    ----------
    models : sequence of Model
        Models that pass `check_alike`. Their weights are copied; `write_back` copies the trained
        weights back.
    dataset_size : int
        Number of rows in the data.
    """

    def __init__(self, models: Sequence[Model], dataset_size: int) -> None:
        super().__init__()
        members: list[Any] = list(models)
        self.members, self.dataset_size = members, dataset_size
        self.encoder = stacked_sequence([[*each.body, each.head.layer] for each in members])
        self.decoder = stacked_sequence([list(each.decoder) for each in members])
        self.adversary: nn.Sequential | None = None
        if members[0].discriminator is not None:
            self.adversary = stacked_sequence([list(each.discriminator) for each in members])
        varied = [
            name
            for name, value in members[0].chosen.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        self._varied = varied

    def own_parameters(self) -> list[nn.Parameter]:
        """Return all parameters but those of the adversary."""
        return [*self.encoder.parameters(), *self.decoder.parameters()]

    def adversary_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the adversary."""
        return [] if self.adversary is None else list(self.adversary.parameters())

    def settings(self) -> dict[str, Tensor]:
        """Return the current numerical settings, shape (M,) each."""
        where = device_of(self)
        return {
            name: sent(
                torch.tensor([float(getattr(m.settings, name)) for m in self.members]), where
            )
            for name in self._varied
        }

    def terms(
        self, x: Tensor, noise: Tensor, settings: Mapping[str, Tensor]
    ) -> tuple[dict[str, Tensor], Tensor]:
        """Compute the weighted objectives of every model, shape (M,), and the latents (M, n, z).

        Parameters
        ----------
        x : Tensor of shape (M, n, ...)
        noise : Tensor of shape (M, n, z)
        settings : as returned by `settings`
        """
        codes = self.encoder(x.flatten(2))
        mean, log_variance = (part.float() for part in codes.chunk(2, dim=2))
        log_variance = log_variance.clamp(*LOG_VARIANCE)
        z = mean
        if not self.members[0].deterministic:
            z = mean + (0.5 * log_variance).exp() * noise
        decoded = self.decoder(z).float().reshape(x.shape)
        logits = z[..., :0] if self.adversary is None else self.adversary(z).float()
        mapped = torch.func.vmap(self._terms_of_one)
        terms: dict[str, Tensor] = mapped(x, mean, log_variance, z, decoded, logits, dict(settings))
        return terms, z

    def _terms_of_one(
        self,
        x: Tensor,
        mean: Tensor,
        log_variance: Tensor,
        z: Tensor,
        decoded: Tensor,
        logits: Tensor,
        settings: dict[str, Tensor],
    ) -> dict[str, Tensor]:
        model = self.members[0]
        current = SimpleNamespace(**{**vars(model.settings), **settings})
        batch = Batch(
            x,
            mean,
            log_variance,
            z,
            decoded,
            model.prior,
            current,
            dataset_size=self.dataset_size,
            discriminator=lambda _: logits,
        )
        return {
            objective.__name__: objective(batch)
            * (getattr(current, weight) if isinstance(weight, str) else weight)
            for objective, weight in model.weighted_objectives()
        }

    def adversary_loss(self, z: Tensor, order: Tensor) -> Tensor:
        """Compute the loss of every adversary, (M,); `order` (M, n, z) shuffles the columns."""
        assert self.adversary is not None
        z = z.detach()
        shuffled = z.gather(1, order)
        logits = self.adversary(torch.cat([z, shuffled], dim=1)).float()

        def loss_of_one(logits: Tensor, z: Tensor, shuffled: Tensor) -> Tensor:
            return discriminator_loss(lambda _: logits, z, shuffled)

        loss: Tensor = torch.func.vmap(loss_of_one)(logits, z, shuffled)
        return loss

    def write_back(self) -> None:
        """Copy the weights into the models."""
        for layer in self.modules():
            if isinstance(layer, StackedLinear):
                layer.write_back()


def check_alike(models: Sequence[Model]) -> None:
    """Require models that can be stacked."""
    if not models:
        raise InputError("A stack needs at least one model; got none.")
    kinds = {type(model).__name__ for model in models}
    if len(kinds) > 1:
        raise InputError(f"Models of a stack must be of one class; got {', '.join(sorted(kinds))}.")
    if why := next(filter(None, map(why_alone, models)), ""):
        raise InputError(f"{kinds.pop()} cannot be trained in a stack: {why}.")
    shapes = {str([(n, tuple(p.shape)) for n, p in model.named_parameters()]) for model in models}
    words = {
        str({k: v for k, v in vars(model.settings).items() if not isinstance(v, int | float)})
        for model in models
    }
    if len(shapes) > 1 or len(words) > 1:
        raise InputError(
            "Models of a stack must have one shape and differ in numbers alone; got "
            f"{len(shapes)} shapes and {len(words)} ways of what is no number."
        )
    priors = {str(model.prior.config()) for model in models}
    if len(priors) > 1:
        raise InputError(f"Models of a stack must have one prior; got {len(priors)}.")
