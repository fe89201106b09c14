"""The values that make a run the run it is, collected from its model, its data and its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from geodis.kernels.torch_state import state_of
from geodis.models.model import Model
from geodis.models.training.state.dataset_settings import dataset_settings
from geodis.models.training.state.fingerprints import (
    course_fingerprint,
    data_fingerprint,
    items_fingerprint,
    plan_fingerprint,
    weights_fingerprint,
)
from geodis.models.training.state.run_identity import (
    FORMAT,
    FROZEN,
    frozen_parameters,
    own_code_of,
)
from geodis.models.training.step import prior_parameters
from geodis.models.training.train_options import TrainOptions

Plans = Mapping[str, Callable[[float], float]]


def run_values(
    model: Model,
    data: Any,
    options: TrainOptions,
    planned: Plans,
    horizon: int | None,
    **plain: Any,
) -> dict[str, Any]:
    """Everything that changes the numbers of a run, but for the model's settings and the steps.

    Parameters
    ----------
    model, data, options
        As for `train`, which has resolved what is "auto".
    planned : mapping of str to callable
        Schedules.
    horizon : int, optional
        Steps that they go over.
    **plain
        Other values, by the names that they are refused by.
    """
    adversary = model.discriminator is not None
    where_any = {
        "revision": model.revision,
        "items": items_fingerprint(data),
        "data settings": dataset_settings(data),
        "curves": curves_of(planned, horizon),
        FROZEN: frozen_parameters(model),
    }
    return {
        "format": FORMAT,
        **plain,
        "data": data_fingerprint(data),
        "supervision": options.supervision if model.groups == 3 else None,
        "category": options.category if model.groups == 3 else None,
        "adversary_learning_rate": options.adversary_learning_rate if adversary else None,
        "prior_learning_rate": options.prior_learning_rate if prior_parameters(model) else None,
        "betas": [*model.betas, *(model.adversary_betas if adversary else ())],
        "weight_decay": model.weight_decay,
        "schedules": {name: plan_fingerprint(plan) for name, plan in planned.items()},
        "horizon": horizon,
        **own_code_of(model),
        **{name: value for name, value in where_any.items() if value},
        "weights": weights_fingerprint(state_of(model)),
    }


def curves_of(planned: Plans, horizon: int | None) -> dict[str, str]:
    """Every schedule at the steps of a horizon."""
    if horizon is None:
        return {}
    return {name: course_fingerprint(plan, horizon) for name, plan in planned.items()}
