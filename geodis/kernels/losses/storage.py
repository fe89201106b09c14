"""Learnt losses in files: tensors in safetensors, and how they were made as JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from geodis.base.check import InputError, require
from geodis.base.write import to_jsonable, whole_file, write_json
from geodis.kernels.losses.augmented import AugmentedLoss
from geodis.kernels.losses.feature_loss import FeatureLoss
from geodis.kernels.losses.loss_kernel import LossKernel
from geodis.kernels.torch_extra import torch

KEY = "geodis"  # the entry of the header that holds the JSON
KINDS = {"LossKernel": LossKernel, "FeatureLoss": FeatureLoss}


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
        raise InputError(f"A kernel is written to a file that ends in .safetensors; {path} came.")
    if type(kernel).__name__ not in KINDS:
        raise InputError(f"A LossKernel or FeatureLoss is wanted; {type(kernel).__name__} came.")
    if callable(kernel.loss):
        raise InputError("A kernel with a function as its pixel loss cannot be written.")
    options: dict[str, Any] = {"alpha": kernel.alpha, "loss": kernel.loss, "scale": kernel.scale}
    if isinstance(kernel, LossKernel):
        options |= {"support": kernel.support, "method": kernel.method}
    elif isinstance(kernel, FeatureLoss):
        options |= {"channels": kernel.channels, "widths": kernel.widths}
    content = {"kind": type(kernel).__name__, "options": options, "made": kernel.made}
    write_tensors(path, dict(kernel.state_dict()), content)
    write_json(path.with_suffix(".json"), content)
    return path


def load_kernel(path: str | os.PathLike[str]) -> AugmentedLoss:
    """Read what `save_kernel` wrote: a `LossKernel` or `FeatureLoss`, frozen.

    Returns
    -------
    AugmentedLoss
        ``made`` says how it was learnt.
    """
    tensors, content = read_tensors(path)
    kind = content.get("kind")
    if kind not in KINDS:
        raise InputError(f"{path} holds no kernel of geodis, but {kind or 'something else'}.")
    options = dict(content["options"])
    kernel: AugmentedLoss
    if kind == "LossKernel":
        kernel = LossKernel(tensors["weights"], **options)
    else:
        kernel = FeatureLoss(options.pop("channels"), options.pop("widths"), **options)
        kernel.load_state_dict(tensors)
    kernel.made = content["made"]
    return kernel.requires_grad_(False).eval()


def write_tensors(
    path: str | os.PathLike[str], tensors: dict[str, torch.Tensor], content: dict[str, Any]
) -> None:
    """Write tensors with a JSON text in the header, whole or not at all."""
    safetensors = require("safetensors.torch", extra="torch", purpose="Writing kernels")
    text = json.dumps(to_jsonable(content), allow_nan=False)
    with whole_file(path) as temporary:
        packed = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        temporary.write_bytes(safetensors.save(packed, metadata={KEY: text}))


def read_tensors(
    path: str | os.PathLike[str],
) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Read tensors and the JSON of the header."""
    safetensors = require("safetensors", extra="torch", purpose="Reading kernels")
    if not Path(path).is_file():
        what = "is a folder, not a file" if Path(path).is_dir() else "is not there"
        raise InputError(f"{path} {what}; learnt losses and checkpoints are .safetensors files.")
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            content = json.loads((file.metadata() or {}).get(KEY, "{}"))
    except (safetensors.SafetensorError, OSError, json.JSONDecodeError) as error:
        raise InputError(f"{path} is not a safetensors file that can be read: {error}.") from error
    return tensors, content
