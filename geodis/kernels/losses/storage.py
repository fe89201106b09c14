"""Learnt losses in files: tensors in safetensors, and how they were made as JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from geodis.base.check import InputError
from geodis.base.notes import named, note_entry, rebuilding
from geodis.base.subclasses import all_subclasses, newest_of_each, only_one
from geodis.base.tensors import read_tensors, write_tensors
from geodis.base.write import write_json
from geodis.kernels.losses.augmented import AugmentedLoss
from geodis.kernels.losses.feature_loss import FeatureLoss  # noqa: F401 - defines it
from geodis.kernels.losses.loss_kernel import LossKernel  # noqa: F401 - defines it
from geodis.kernels.torch_extra import torch
from geodis.kernels.torch_state import AllocationLimit, load_state


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
