"""Models of one kind as one: perceptrons whose matrices stand side by side, (M, out, in)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from geodis.base.check import InputError
from geodis.models import objectives
from geodis.models.families.autoencoder import LOG_VARIANCE, Autoencoder
from geodis.models.families.unsupervised import FactorVAE
from geodis.models.lp_nested_prior import LpNested
from geodis.models.model import Model
from geodis.models.model_inputs import device_of, dtype_of, sent
from geodis.models.objectives import Batch
from geodis.models.priors import StandardNormal
from geodis.models.stacking.stacked_linear import StackedLinear
from geodis.models.terms.adversaries import discriminator_loss
from geodis.models.training.state.run_identity import frozen_parameters

# Objectives that draw no random numbers of their own, so that they can be mapped over models.
STACKED = (
    objectives.reconstruction,
    objectives.kl,
    objectives.capacity_gap,
    objectives.decomposed_kl,
    objectives.coding_cost,
    objectives.dip,
    objectives.density_ratio_correlation,
)
# What a subclass must not have changed for its passes to be those that are stacked here.
PASSES = ("forward", "posterior", "_posterior", "couple", "decode", "prepare", "terms")


def why_alone(model: Model) -> str:
    """Why a model has to be trained alone; empty where it can stand in a stack.

    Examples
    --------
    >>> from geodis.models import VAE, TVAE
    >>> why_alone(VAE((4,), 2)), why_alone(TVAE((4,), 2))
    ('', 'it learns from groups of rows')
    """
    kind: Any = type(model)
    if model.groups != 1 or model.labelled:
        return "it learns from groups of rows"
    changed = [each for each in PASSES if getattr(kind, each, 0) is not getattr(Autoencoder, each)]
    if not isinstance(model, Autoencoder) or changed or model.cut_decoder:
        return "its passes are its own"
    if model.network not in ("vector", "mlp") or model.own_networks:
        return "its network is no perceptron"
    if not (isinstance(model.prior, StandardNormal) or _is_fixed(model.prior)):
        return "its prior is not the standard normal, nor one of fixed exponents"
    if callable(model.settings.loss):
        return "its loss is a module or a function"
    if dtype_of(model) == torch.float64:
        return "its weights are float64"
    if frozen_parameters(model):
        return "some of its parameters do not learn"
    if any(objective not in STACKED for objective, _ in model.weighted_objectives()):
        return "its objectives are not among those that are stacked"
    own = model.discriminator is not None and kind.adversary_loss is not FactorVAE.adversary_loss
    return "its adversary is its own" if own else ""


def _is_fixed(prior: Any) -> bool:
    """Whether a prior is Lp-nested and learns nothing, so that all models of a stack share it."""
    return isinstance(prior, LpNested) and prior.learn == "none"


def stacked_sequence(networks: Sequence[Sequence[nn.Module]]) -> nn.Sequential:
    """Stack networks layer by layer; what has no weights is the same for all."""
    layers: list[nn.Module] = []
    for members in zip(*networks, strict=True):
        if isinstance(members[0], nn.Linear):
            layers.append(StackedLinear(members))  # type: ignore[arg-type]
        elif not isinstance(members[0], nn.Flatten | nn.Unflatten):  # rows are flat throughout
            layers.append(members[0])
    return nn.Sequential(*layers)


class ModelStack(nn.Module):
    """M models of one class and shape, whose settings and weights differ.

    Parameters
    ----------
    models : sequence of Model
        As `check_alike` wants them. Their weights are copied; `write_back` copies the trained
        ones into the models.
    dataset_size : int
        Rows that batches are drawn from.
    """

    def __init__(self, models: Sequence[Model], dataset_size: int) -> None:
        super().__init__()
        members: list[Any] = list(models)
        self.members, self.dataset_size = members, dataset_size
        self.encoder = stacked_sequence([[*each.body, each.head.layer] for each in members])
        self.decoder = stacked_sequence([list(each.decoder) for each in members])
        self.adversary: nn.Sequential | None = None
        if members[0].discriminator is not None:
            self.adversary = stacked_sequence([list(each.discriminator) for each in members])
        varied = [
            name
            for name, value in members[0].chosen.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        self._varied = varied

    def own_parameters(self) -> list[nn.Parameter]:
        """All parameters but those of the second player."""
        return [*self.encoder.parameters(), *self.decoder.parameters()]

    def adversary_parameters(self) -> list[nn.Parameter]:
        """Parameters of the second player."""
        return [] if self.adversary is None else list(self.adversary.parameters())

    def settings(self) -> dict[str, Tensor]:
        """Numbers among the settings as they are at this step, shape (M,) each."""
        where = device_of(self)
        return {
            name: sent(
                torch.tensor([float(getattr(m.settings, name)) for m in self.members]), where
            )
            for name in self._varied
        }

    def terms(
        self, x: Tensor, noise: Tensor, settings: Mapping[str, Tensor]
    ) -> tuple[dict[str, Tensor], Tensor]:
        """Weighted objectives of every model, shape (M,) each, and the latents (M, n, z).

        Parameters
        ----------
        x : Tensor of shape (M, n, ...)
        noise : Tensor of shape (M, n, z)
        settings : as `settings` gives
        """
        codes = self.encoder(x.flatten(2))
        mean, log_variance = (part.float() for part in codes.chunk(2, dim=2))
        log_variance = log_variance.clamp(*LOG_VARIANCE)
        z = mean
        if not self.members[0].deterministic:
            z = mean + (0.5 * log_variance).exp() * noise
        decoded = self.decoder(z).float().reshape(x.shape)
        logits = z[..., :0] if self.adversary is None else self.adversary(z).float()
        mapped = torch.func.vmap(self._terms_of_one)
        terms: dict[str, Tensor] = mapped(x, mean, log_variance, z, decoded, logits, dict(settings))
        return terms, z

    def _terms_of_one(
        self,
        x: Tensor,
        mean: Tensor,
        log_variance: Tensor,
        z: Tensor,
        decoded: Tensor,
        logits: Tensor,
        settings: dict[str, Tensor],
    ) -> dict[str, Tensor]:
        model = self.members[0]
        at_hand = SimpleNamespace(**{**vars(model.settings), **settings})
        batch = Batch(
            x,
            mean,
            log_variance,
            z,
            decoded,
            model.prior,
            at_hand,
            dataset_size=self.dataset_size,
            discriminator=lambda _: logits,
        )
        return {
            objective.__name__: objective(batch)
            * (getattr(at_hand, weight) if isinstance(weight, str) else weight)
            for objective, weight in model.weighted_objectives()
        }

    def adversary_loss(self, z: Tensor, order: Tensor) -> Tensor:
        """What every second player lowers, shape (M,); `order` (M, n, z) shuffles columns."""
        assert self.adversary is not None
        z = z.detach()
        shuffled = z.gather(1, order)
        logits = self.adversary(torch.cat([z, shuffled], dim=1)).float()

        def loss_of_one(logits: Tensor, z: Tensor, shuffled: Tensor) -> Tensor:
            return discriminator_loss(lambda _: logits, z, shuffled)

        loss: Tensor = torch.func.vmap(loss_of_one)(logits, z, shuffled)
        return loss

    def write_back(self) -> None:
        """Copy the weights into the models."""
        for layer in self.modules():
            if isinstance(layer, StackedLinear):
                layer.write_back()


def check_alike(models: Sequence[Model]) -> None:
    """Require models that can stand in one stack."""
    if not models:
        raise InputError("A stack needs at least one model; got none.")
    kinds = {type(model).__name__ for model in models}
    if len(kinds) > 1:
        raise InputError(f"Models of a stack must be of one class; got {', '.join(sorted(kinds))}.")
    if why := next(filter(None, map(why_alone, models)), ""):
        raise InputError(f"{kinds.pop()} cannot be trained in a stack: {why}.")
    shapes = {str([(n, tuple(p.shape)) for n, p in model.named_parameters()]) for model in models}
    words = {
        str({k: v for k, v in vars(model.settings).items() if not isinstance(v, int | float)})
        for model in models
    }
    if len(shapes) > 1 or len(words) > 1:
        raise InputError(
            "Models of a stack must have one shape and differ in numbers alone; got "
            f"{len(shapes)} shapes and {len(words)} ways of what is no number."
        )
    priors = {str(model.prior.config()) for model in models}
    if len(priors) > 1:
        raise InputError(f"Models of a stack must have one prior; got {len(priors)}.")
