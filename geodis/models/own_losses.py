"""Reconstruction losses that are not known by a name: which can be saved with a model, and how."""

from __future__ import annotations

from typing import Any

import torch

from geodis.base.check import InputError


def loss_config(loss: Any) -> Any:
    """What of a loss a configuration can hold; "own" for code of the user's.

    Of a kernel the weights are saved with those of the model, of which it is a part.
    """
    if isinstance(loss, str):
        return loss
    if not isinstance(loss, torch.nn.Module) or callable(getattr(loss, "loss", None)):
        return "own"
    from geodis.kernels.losses.feature_loss import FeatureLoss
    from geodis.kernels.losses.loss_kernel import LossKernel

    if isinstance(loss, LossKernel):
        options = {
            "alpha": loss.alpha,
            "loss": loss.loss,
            "scale": loss.scale,
            "support": loss.support,
            "method": loss.method,
        }
        shape = list(loss.weights.shape)
        return {"kind": "LossKernel", "shape": shape, "options": options, "made": loss.made}
    if isinstance(loss, FeatureLoss):
        options = {
            "channels": loss.channels,
            "widths": list(loss.widths),
            "alpha": loss.alpha,
            "loss": loss.loss,
            "scale": loss.scale,
        }
        return {"kind": "FeatureLoss", "options": options, "made": loss.made}
    return "own"


def loss_from_config(config: Any, given: Any = None) -> Any:
    """Build a loss again; its weights follow with those of the model."""
    if given is not None:
        return given
    if config == "own":
        raise InputError(
            "This model was trained with a loss of the user's own, which is code and is not "
            "saved: pass it as loss=..."
        )
    if isinstance(config, str):
        return config
    from geodis.kernels.losses.feature_loss import FeatureLoss
    from geodis.kernels.losses.loss_kernel import LossKernel

    loss: LossKernel | FeatureLoss
    if config["kind"] == "LossKernel":
        loss = LossKernel(torch.zeros(config["shape"]), **config["options"])
    else:
        loss = FeatureLoss(**config["options"])
    loss.made = config["made"]
    return loss.requires_grad_(False)
