"""Settings that change during training: in a straight line, or by a function of the part done."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from geodis.base.check import InputError, check_real
from geodis.models.model import Model, Plan

# Whether a group of parameters has a learning rate that no schedule changes.
OWN_RATE = "own_rate"


def plans_of(
    model: Model, schedules: Mapping[str, Plan] | None, learning_rate: float | None
) -> dict[str, Callable[[float], float]]:
    """The model's own schedules and the given ones, which win, as functions of the part done.

    A learning rate that was asked for stays as it is, unless `schedules` names it.
    """
    planned: dict[str, Plan] = dict(model.schedules)
    if learning_rate is not None:
        planned.pop("learning_rate", None)
    planned |= schedules or {}
    known = [*model.defaults, "learning_rate"]
    if unknown := sorted(set(planned) - set(known)):
        raise InputError(
            f"schedules must name settings of {type(model).__name__} ({', '.join(known)}); "
            f"got {', '.join(unknown)}."
        )
    own = {**model.chosen, "learning_rate": learning_rate or model.learning_rate}
    return {name: _as_function(name, plan, own[name]) for name, plan in planned.items()}


def _as_function(name: str, plan: Plan, own: float) -> Callable[[float], float]:
    if callable(plan):
        return plan
    if not isinstance(plan, tuple | list) or len(plan) != 2:
        raise InputError(
            f"The schedule of {name} must be (start, end) or a function; got {plan!r}."
        )
    start, end = (check_real(own if value is None else value, name) for value in plan)
    return lambda part: start + (end - start) * part


def follow(
    model: Model,
    optimiser: torch.optim.Optimizer,
    planned: Mapping[str, Callable[[float], float]],
    part: float,
) -> None:
    """Set what is scheduled to its value at this part, 0 to 1, of the training."""
    for name, plan in planned.items():
        value = plan(part)
        if name == "learning_rate":
            for group in optimiser.param_groups:
                if not group[OWN_RATE]:
                    group["lr"] = value
        else:
            setattr(model.settings, name, value)
