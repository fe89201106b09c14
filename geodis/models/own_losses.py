"""Reconstruction losses that are not known by a name: which can be saved with a model, and how."""

from __future__ import annotations

from typing import Any

from torch import nn

from geodis._check import InputError


def loss_config(loss: Any) -> Any:
    """What of a loss a configuration can hold; "own" for code of the user's."""
    if isinstance(loss, str):
        return loss
    if _is_kernel(loss):
        return {"loss": "LossKernel", **loss.config()}
    return "own"


def loss_from_config(config: Any, given: Any = None) -> Any:
    """Build a loss again; its weights follow with those of the model."""
    if given is not None:
        return given
    if isinstance(config, dict) and config.get("loss") == "LossKernel":
        from geodis.kernels import LossKernel

        return LossKernel.from_config({k: v for k, v in config.items() if k != "loss"})
    if config == "own":
        raise InputError(
            "This model was trained with a loss of the user's own, which is code and is not "
            "saved: pass it as loss=..."
        )
    return config


def _is_kernel(loss: Any) -> bool:
    return isinstance(loss, nn.Module) and type(loss).__name__ == "LossKernel"
