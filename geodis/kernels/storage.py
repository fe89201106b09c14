"""Save and load learnt losses, and the states of modules and optimisers."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from geodis.base.check import InputError
from geodis.base.journal import CHECKSUM, plain_digest
from geodis.base.notes import named, note_entry, rebuilding
from geodis.base.plugins import all_subclasses, newest_of_each, only_one
from geodis.base.safetensors_files import read_tensors, write_tensors
from geodis.base.write import write_json
from geodis.kernels.augmented import AugmentedLoss
from geodis.kernels.loss_kernel import (
    FeatureLoss,  # noqa: F401 - defines it
    LossKernel,  # noqa: F401 - defines it
)
from geodis.kernels.torch_extra import torch

Tensors = Mapping[str, torch.Tensor]
Source = str | os.PathLike[str]

# State of Adam with the shape of a parameter; the number of steps is a scalar.
MOMENTS = ("exp_avg", "exp_avg_sq")
# Numbers that a constructor may allocate in addition to those that were saved.
SLACK = 2**24


def state_of(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return the state of a module, which may contain tensors only."""
    state = module.state_dict()
    if other := [name for name, value in state.items() if not isinstance(value, torch.Tensor)]:
        raise InputError(
            f"Modules must keep their state in tensors, such as buffers, to be saved; "
            f"{type(module).__name__} has {other[0]}, which is {type(state[other[0]]).__name__}: "
            "keep it in buffers, without get_extra_state."
        )
    return state


def load_state(module: torch.nn.Module, tensors: Tensors, source: Source) -> None:
    """Load all tensors of a module; raise an error if they belong to another one."""
    own = {name: tuple(value.shape) for name, value in state_of(module).items()}
    given = {name: tuple(value.shape) for name, value in tensors.items()}
    names = sorted(own.keys() | given.keys())
    if different := [name for name in names if own.get(name) != given.get(name)]:
        name = different[0]
        raise InputError(
            f"{source} holds another {type(module).__name__}: {name} must have shape "
            f"{own.get(name, 'none')}; got {given.get(name, 'none')} ({len(different)} tensors "
            "differ)."
        )
    module.load_state_dict(dict(tensors))


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """Copy the state of Adam to tensors named "number of the parameter/name".

    A parameter that never had a gradient gets the initial state of Adam.
    """
    states = optimiser.state_dict()["state"]
    tensors = {}
    parameters = [each for group in optimiser.param_groups for each in group["params"]]
    for number, parameter in enumerate(parameters):
        initial = {
            "step": torch.zeros(()),
            **{name: torch.zeros_like(parameter) for name in MOMENTS},
        }
        for name, value in states.get(number, initial).items():
            tensors[f"{number}/{name}"] = torch.as_tensor(value).detach().clone()
    return tensors


def load_optimiser(optimiser: torch.optim.Optimizer, tensors: Tensors) -> None:
    """Load tensors of `optimiser_tensors` into an optimiser of the same parameters."""
    states: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.partition("/")
        states.setdefault(int(number), {})[name] = value.clone()
    optimiser.load_state_dict({**optimiser.state_dict(), "state": states})


def write_checked(path: Source, tensors: Tensors, note: Mapping[str, Any], **how: Any) -> None:
    """Write tensors with a note and a checksum of both; `how` is as for `write_tensors`."""
    note = {**note, CHECKSUM: plain_digest(note, tensor_pieces(tensors))}
    write_tensors(path, tensors, note, **how)


def read_checked(path: Source) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Read a file of `write_checked`, and verify its checksum."""
    tensors, note = read_tensors(path)
    if note.pop(CHECKSUM, None) != plain_digest(note, tensor_pieces(tensors)):
        raise InputError(
            f"{path} must have the checksum that it was written with; got another one: it was "
            "damaged or altered, or another version of geodis wrote it."
        )
    return tensors, note


def tensor_pieces(tensors: Tensors) -> Iterator[bytes]:
    """Yield names, dtypes, shapes and bytes of tensors in the order of their names."""
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        yield f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode()
        yield tensor.reshape(-1).view(torch.uint8).numpy().tobytes()


class AllocationLimit(TorchDispatchMode):
    """Refuse to allocate tensors that are far larger than the content of a file.

    A damaged or malicious file may describe tensors that do not fit into memory.

    Examples
    --------
    >>> with AllocationLimit(8, "The file"):
    ...     torch.zeros(10**6, 10**6)
    Traceback (most recent call last):
    geodis.base.check.InputError: The file describes a tensor of shape (1000000, 1000000); got 8 \
numbers in all.
    """

    def __init__(self, count: int, source: Source) -> None:
        super().__init__()
        self._count, self._source = count, source

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Check the shape of a tensor that a function allocates."""
        sizes = args[0] if args and isinstance(args[0], list | tuple) else ()
        if all(isinstance(size, int) for size in sizes) and math.prod(sizes) > self._count + SLACK:
            raise InputError(
                f"{self._source} describes a tensor of shape {tuple(sizes)}; got {self._count} "
                "numbers in all."
            )
        return function(*args, **(kwargs or {}))


def learnt_loss_named(name: str, source: str | os.PathLike[str]) -> type[AugmentedLoss]:
    """Find the class of a learnt loss by name; a user's class is found once it is defined.

    Examples
    --------
    >>> learnt_loss_named("LossKernel", "box.json") is LossKernel
    True
    """
    kinds: dict[str, list[type[AugmentedLoss]]] = {}
    for kind in newest_of_each(all_subclasses(AugmentedLoss)):
        kinds.setdefault(kind.__name__, []).append(kind)
    return only_one(named(kinds, name, source))


def save_kernel(kernel: AugmentedLoss, path: str | os.PathLike[str]) -> Path:
    """Write a `LossKernel` or `FeatureLoss`, and a .json file that describes it.

    The header of the file has the same JSON, so that `load_kernel` needs only the file.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = save_kernel(LossKernel.box(2), folder / "box.safetensors")
    >>> load_kernel(folder / "box.safetensors").alpha
    25.0
    """
    path = Path(path)
    if path.suffix != ".safetensors":
        raise InputError(f"A kernel is written to a file that ends in .safetensors; got {path}.")
    if not isinstance(kernel, AugmentedLoss):
        raise InputError(f"A LossKernel or FeatureLoss is needed; got {type(kernel).__name__}.")
    config = kernel.to_config()
    write_tensors(path, kernel.state_dict(), config)
    write_json(path.with_suffix(".json"), config)
    return path


def load_kernel(path: str | os.PathLike[str]) -> AugmentedLoss:
    """Read a `LossKernel` or `FeatureLoss` that `save_kernel` wrote; it is frozen.

    Returns
    -------
    AugmentedLoss
        ``made`` describes how it was learnt.
    """
    tensors, config = read_tensors(path)
    count = sum(tensor.numel() for tensor in tensors.values())
    with AllocationLimit(count, path):
        return loss_from_config(config, tensors, path).eval()


def loss_from_config(
    config: Any,
    tensors: Mapping[str, torch.Tensor] | None = None,
    source: str | os.PathLike[str] = "A learnt loss",
) -> AugmentedLoss:
    """Rebuild a frozen learnt loss from the result of its `to_config`.

    Parameters
    ----------
    config : dict
        The configuration, which is checked because files can be altered.
    tensors : mapping of str to Tensor, optional
        Its state; without it only the shapes of the tensors are set.
    source : path
        Name of the configuration in messages.
    """
    kind = learnt_loss_named(note_entry(config, "kind", str, source), source)
    note_entry(config, "options", dict, source)
    made = note_entry(config, "made", dict, source)
    for name, tensor in (tensors or {}).items():
        if not tensor.is_floating_point() or not bool(tensor.isfinite().all()):
            raise InputError(
                f"{source} must hold finite floats in {name}; got {tensor.dtype}"
                f"{' with others' if tensor.is_floating_point() else ''}."
            )
    with rebuilding(source):
        loss = kind.from_config(config, tensors)
    if tensors is not None:
        wanted = loss.to_config().get("shape")  # the description that the loss itself would write
        if wanted is not None and config.get("shape", wanted) != wanted:
            raise InputError(
                f"{source} must hold weights of the shape {config['shape']} that it says; got "
                f"{wanted}."
            )
        load_state(loss, tensors, source)
    loss.made = made
    return loss.requires_grad_(False)
