"""State of modules and optimisers <-> tensors by name, with one sentence where they do not fit."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from geodis.base.check import InputError
from geodis.kernels.torch_extra import torch

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
    for number, parameter in enumerate(_parameters(optimiser)):
        begun = {"step": torch.zeros(()), **{name: torch.zeros_like(parameter) for name in MOMENTS}}
        for name, value in states.get(number, begun).items():
            tensors[f"{number}/{name}"] = torch.as_tensor(value).detach().clone()
    return tensors


def _parameters(optimiser: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [parameter for group in optimiser.param_groups for parameter in group["params"]]


def load_optimiser(optimiser: torch.optim.Optimizer, tensors: Tensors, source: Source) -> None:
    """Load what `optimiser_tensors` gave, or say that it is the state of another optimiser."""
    shapes = [tuple(parameter.shape) for parameter in _parameters(optimiser)]
    states: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.partition("/")
        wanted: Any = None
        if number.isdecimal() and int(number) < len(shapes):
            shape = shapes[int(number)]
            wanted = {"step": (), **dict.fromkeys(MOMENTS, shape)}.get(name)
        if wanted != tuple(value.shape):
            raise InputError(
                f"{source} holds the state of another optimiser: {key} must have shape "
                f"{'none' if wanted is None else wanted}; got {tuple(value.shape)}."
            )
        states.setdefault(int(number), {})[name] = value.clone()
    for place in range(len(shapes)) if states else ():  # an optimiser that took no step has none
        if missing := {"step", *MOMENTS} - states.get(place, {}).keys():
            raise InputError(
                f"{source} must hold {min(missing)} of parameter {place}; got none, as of one that "
                "did not learn before."
            )
    whole = optimiser.state_dict()
    optimiser.load_state_dict({**whole, "state": states})


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
