"""One step of Adam on one batch: of the model, and of its adversary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from geodis.models.lp_nested_prior import LpNested
from geodis.models.model import Model
from geodis.models.training.rows.dataset_rows import Drawn
from geodis.models.training.schedules import OWN_RATE
from geodis.models.training.terms_watch import TermsWatch
from geodis.models.training.train_options import TrainOptions

Players = Mapping[str, torch.optim.Optimizer]


def optimisers_of(model: Model, learning_rate: float, options: TrainOptions) -> Players:
    """Optimisers of the players: "model", and "adversary" where there is one."""
    learnt = {id(each) for each in prior_parameters(model)}
    networks = [each for each in model.own_parameters() if id(each) not in learnt]
    groups: list[dict[str, Any]] = [{"params": networks, "lr": learning_rate, OWN_RATE: False}]
    if learnt:
        rate = options.prior_learning_rate
        groups.append({"params": prior_parameters(model), "lr": rate, OWN_RATE: True})
    players = {"model": adam_of(groups, model.betas, model.weight_decay)}
    if adversary := model.adversary_parameters():
        rate = options.adversary_learning_rate
        group = {"params": adversary, "lr": rate, OWN_RATE: True}
        players["adversary"] = adam_of([group], model.adversary_betas)
    return players


def prior_parameters(model: Model) -> list[nn.Parameter]:
    """What the prior of a model learns."""
    prior = model.prior
    learnt = prior.parameters() if isinstance(prior, nn.Module) else ()
    return [each for each in learnt if each.requires_grad]


def adam_of(
    groups: Sequence[Mapping[str, Any]], betas: tuple[float, float], weight_decay: float = 0.0
) -> torch.optim.Optimizer:
    """Adam; without weight decay AdamW is that.

    One kernel for all parameters, where there is one: twice as fast for small networks.
    """
    kinds = {each.device.type for group in groups for each in group["params"]}
    own: list[Any] = [dict(group) for group in groups]
    fused = kinds <= {"cpu", "cuda"}
    return torch.optim.AdamW(own, betas=betas, weight_decay=weight_decay, fused=fused)


def optimiser_of(
    parameters: Sequence[nn.Parameter], like: torch.optim.Optimizer
) -> torch.optim.Optimizer:
    """The same optimiser for other parameters, all in its first group."""
    own = like.param_groups[0]
    group = {"params": list(parameters), "lr": own["lr"], OWN_RATE: own[OWN_RATE]}
    return adam_of([group], own["betas"], own["weight_decay"])


def take_step(
    model: Model,
    drawn: Drawn,
    size: int,
    players: Players,
    precision: str,
    step: int,
    watch: TermsWatch,
) -> dict[str, Tensor]:
    """One step of the model, and one of its adversary; the terms that were lowered."""
    x, labels = drawn
    adversary = players.get("adversary")
    # What the model's step would put into the gradients of the other player is thrown away.
    ask_for_gradients(adversary, False)
    if precision == "bfloat16" and x.ndim == 4:
        x = x.to(memory_format=torch.channels_last)
    with computing_in(precision, x.device):
        batch = model(x, size, labels)
    terms = model.terms(batch)
    watch.note(terms, step)
    players["model"].zero_grad(set_to_none=True)
    torch.stack([value.float() for value in terms.values()]).sum().backward()
    players["model"].step()
    if isinstance(model.prior, LpNested):
        model.prior.keep_in_range()
    ask_for_gradients(adversary, True)
    if adversary is not None:
        loss = model.adversary_loss(batch)
        watch.note({"adversary": loss}, step)
        adversary.zero_grad(set_to_none=True)
        loss.backward()
        adversary.step()
        terms = {**terms, "adversary": loss}
    return {name: value.detach() for name, value in terms.items()}


def computing_in(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Compute networks in bfloat16 where that is the precision."""
    return torch.autocast(device.type, torch.bfloat16) if precision == "bfloat16" else nullcontext()


def ask_for_gradients(player: torch.optim.Optimizer | None, wanted: bool) -> None:
    """Have gradients taken of what a player moves, or not where another's step would drop them."""
    for group in [] if player is None else player.param_groups:
        for parameter in group["params"]:
            parameter.requires_grad_(wanted)
