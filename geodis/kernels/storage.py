"""Learnt losses in files: tensors in safetensors, and how they were made as JSON."""

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

# State of modules and optimisers <-> tensors by name, with one sentence where they do not fit.

Tensors = Mapping[str, torch.Tensor]
Source = str | os.PathLike[str]

# What Adam holds beside the shape of a parameter; the number of steps is a scalar.
MOMENTS = ("exp_avg", "exp_avg_sq")
# Numbers that a constructor may well make beside those that were saved.
SLACK = 2**24


def state_of(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """State of a module, which must be tensors: nothing else is saved."""
    state = module.state_dict()
    if other := [name for name, value in state.items() if not isinstance(value, torch.Tensor)]:
        raise InputError(
            f"Modules must keep their state in tensors, such as buffers, to be saved; "
            f"{type(module).__name__} has {other[0]}, which is {type(state[other[0]]).__name__}: "
            "keep it in buffers, without get_extra_state."
        )
    return state


def load_state(module: torch.nn.Module, tensors: Tensors, source: Source) -> None:
    """Load all tensors of a module, or say in one sentence that they are of another one."""
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
    """Copies of the state of Adam: "number of the parameter/name".

    A parameter without a state, to which no gradient came, has the one that Adam begins with.
    """
    states = optimiser.state_dict()["state"]
    tensors = {}
    parameters = [each for group in optimiser.param_groups for each in group["params"]]
    for number, parameter in enumerate(parameters):
        begun = {"step": torch.zeros(()), **{name: torch.zeros_like(parameter) for name in MOMENTS}}
        for name, value in states.get(number, begun).items():
            tensors[f"{number}/{name}"] = torch.as_tensor(value).detach().clone()
    return tensors


def load_optimiser(optimiser: torch.optim.Optimizer, tensors: Tensors) -> None:
    """Load what `optimiser_tensors` gave for an optimiser of the same parameters."""
    states: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.partition("/")
        states.setdefault(int(number), {})[name] = value.clone()
    optimiser.load_state_dict({**optimiser.state_dict(), "state": states})


def write_checked(path: Source, tensors: Tensors, note: Mapping[str, Any], **how: Any) -> None:
    """Write tensors with a note that has a checksum of both; `how` is as for `write_tensors`."""
    note = {**note, CHECKSUM: plain_digest(note, tensor_pieces(tensors))}
    write_tensors(path, tensors, note, **how)


def read_checked(path: Source) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Read what `write_checked` wrote, or say that it is no more what was written."""
    tensors, note = read_tensors(path)
    if note.pop(CHECKSUM, None) != plain_digest(note, tensor_pieces(tensors)):
        raise InputError(
            f"{path} must have the checksum that it was written with; got another one: it was "
            "damaged or altered, or another version of geodis wrote it."
        )
    return tensors, note


def tensor_pieces(tensors: Tensors) -> Iterator[bytes]:
    """Names, dtypes, shapes and every byte, in the order of the names."""
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        yield f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode()
        yield tensor.reshape(-1).view(torch.uint8).numpy().tobytes()


class AllocationLimit(TorchDispatchMode):
    """Refuse tensors that are far larger than all that a file holds, before they are made.

    A number in a description may ask for more memory than there is; what was saved could not
    have been of that size.

    Examples
    --------
    >>> with AllocationLimit(8, "The file"):
    ...     torch.zeros(10**6, 10**6)
    Traceback (most recent call last):
    geodis.base.check.InputError: The file describes a tensor of shape (1000000, 1000000); got 8 \
numbers in all.
    """

    def __init__(self, held: int, source: Source) -> None:
        super().__init__()
        self._held, self._source = held, source

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Look at the sizes that a function is to make a tensor of."""
        sizes = args[0] if args and isinstance(args[0], list | tuple) else ()
        if all(isinstance(size, int) for size in sizes) and math.prod(sizes) > self._held + SLACK:
            raise InputError(
                f"{self._source} describes a tensor of shape {tuple(sizes)}; got {self._held} "
                "numbers in all."
            )
        return function(*args, **(kwargs or {}))


def learnt_loss_named(name: str, source: str | os.PathLike[str]) -> type[AugmentedLoss]:
    """A learnt loss by the name of its class; one of the user's own once it is defined.

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
    """Write a `LossKernel` or `FeatureLoss`, and beside it a .json of how it was made.

    The same JSON is in the header of the file, so that the file alone is enough for `load_kernel`.

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
    """Read what `save_kernel` wrote: a `LossKernel` or `FeatureLoss`, frozen.

    Returns
    -------
    AugmentedLoss
        ``made`` says how it was learnt.
    """
    tensors, config = read_tensors(path)
    held = sum(tensor.numel() for tensor in tensors.values())
    with AllocationLimit(held, path):
        return loss_from_config(config, tensors, path).eval()


def loss_from_config(
    config: Any,
    tensors: Mapping[str, torch.Tensor] | None = None,
    source: str | os.PathLike[str] = "A learnt loss",
) -> AugmentedLoss:
    """Build a learnt loss again from what its `to_config` gave, frozen.

    Parameters
    ----------
    config : dict
        Checked, for files can be altered.
    tensors : mapping of str to Tensor, optional
        Its state; without it the tensors have the right shapes alone.
    source : path
        What to call the configuration in a message.
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
