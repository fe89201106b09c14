"""Reconstruction losses by name: those of geodis, blurs of a radius, learnt kernels in files."""

from __future__ import annotations

from typing import Any, get_args

from geodis.base.check import InputError
from geodis.kernels import LossKernel, load_kernel
from geodis.models.objectives import ReconstructionName

KERNEL_FILE, BLURS = ".safetensors", ("box", "gaussian")


def is_loss_made(name: str) -> bool:
    """Whether a name stands for a loss that is made of it: a blur of a radius, or a file.

    Examples
    --------
    >>> is_loss_made("box:3"), is_loss_made("mse")
    (True, False)
    """
    return name.endswith(KERNEL_FILE) or (name.partition(":")[0] in BLURS and ":" in name)


def loss_named(name: str, option: str = "loss") -> Any:
    """A reconstruction loss by its name.

    Parameters
    ----------
    name : str
        "mse", "bernoulli", "box:31", "gaussian:31", or the file of a learnt kernel.
    option : str
        What to call it in a message.

    Examples
    --------
    >>> loss_named("box:3").radius
    3
    """
    names = get_args(ReconstructionName)
    if name in names:
        return name
    if name.endswith(KERNEL_FILE):
        return load_kernel(name)
    kind, _, radius = name.partition(":")
    if kind in BLURS and radius.isdigit():
        return getattr(LossKernel, kind)(int(radius))
    raise InputError(
        f"{option} must be {', '.join(names)}, box:RADIUS, gaussian:RADIUS or the file of a learnt "
        f"kernel, kernel.safetensors; got {name}."
    )
