"""One step of Adam on one batch: of the model, and of its adversary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from geodis.base.check import InputError
from geodis.models.model import Model
from geodis.models.training.batches import Drawn

Players = Mapping[str, torch.optim.Optimizer]


def optimisers_of(
    model: Model, learning_rate: float, adversary_learning_rate: float
) -> dict[str, torch.optim.Optimizer]:
    """Optimisers of the players: "model", and "adversary" where there is one."""
    # Without weight decay AdamW is Adam.
    adam: Any = torch.optim.AdamW
    own = {"lr": learning_rate, "betas": model.betas, "weight_decay": model.weight_decay}
    players: dict[str, torch.optim.Optimizer] = {"model": adam(model.own_parameters(), **own)}
    if apart := model.adversary_parameters():
        other = {"lr": adversary_learning_rate, "betas": model.adversary_betas}
        players["adversary"] = adam(apart, **other, weight_decay=0.0)
    return players


def take_step(
    model: Model,
    drawn: Drawn,
    size: int,
    players: Players,
    precision: str,
    device: torch.device,
    step: int,
) -> dict[str, Tensor]:
    """One step of the model, and one of its adversary; the terms that were lowered."""
    x, labels = drawn
    _check_range(model, x, step)
    layout = torch.channels_last if precision == "bfloat16" and x.ndim == 4 else None
    x = x.to(device, memory_format=layout or torch.preserve_format)
    with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16"):
        batch = model(x, size, None if labels is None else labels.to(device))
    terms = model.terms(batch)
    _check_terms(terms, step)
    players["model"].zero_grad(set_to_none=True)
    torch.stack([value.float() for value in terms.values()]).sum().backward()
    players["model"].step()
    if "adversary" in players:
        loss = model.adversary_loss(batch)
        _check_terms({"adversary": loss}, step)
        players["adversary"].zero_grad(set_to_none=True)
        loss.backward()
        players["adversary"].step()
        terms = {**terms, "adversary": loss}
    return {name: value.detach() for name, value in terms.items()}


def _check_terms(terms: Mapping[str, Tensor], step: int) -> None:
    for name, value in terms.items():
        if not torch.isfinite(value):
            raise FloatingPointError(
                f"{name} became {float(value.detach())} at step {step}, in batch {step}: lower the "
                "learning rate, or look at that batch."
            )


def _check_range(model: Model, x: Tensor, step: int) -> None:
    if model.unit_range and (x.min() < 0 or x.max() > 1):
        other = " or use loss='mse'" if hasattr(model.settings, "loss") else ""
        raise InputError(
            f"{model.unit_range} needs data in [0, 1]; got {float(x.min()):g} to "
            f"{float(x.max()):g} in batch {step}: scale the data{other}."
        )
