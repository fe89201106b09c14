"""The base class of all models: networks, a prior, weighted objectives and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar, Literal, get_args

from torch import Tensor, nn

from geodis.base.check import InputError, check_choice, check_real
from geodis.base.plugins import Numbered
from geodis.models.model_inputs import input_shape
from geodis.models.objectives import Batch, Objective

Weighted = tuple[tuple[Objective, float | str], ...]
# A schedule over the fraction of training that is done, 0 to 1: a line from start to end, or a
# function. None stands for the value that the setting was given.
Plan = Callable[[float], float] | tuple[float | None, float | None]

PenaltyKind = Literal["I", "II"]
Deltas = Literal["symmetric_kl", "kl", "absolute"]
Average = Literal["gvae", "gvae-std", "ml-vae"]
LearnFrom = Literal["distances", "neighbours"]

# Allowed values of the settings that are choices.
CHOICES: dict[str, tuple[Any, ...]] = {
    "normalise": ("sum", "mean"),
    "kind": get_args(PenaltyKind),
    "deltas": get_args(Deltas),
    "average": get_args(Average),
    "p": (1, 2),
    "learn_from": get_args(LearnFrom),
}


class Model(Numbered, nn.Module):
    """Networks, a prior, and the weighted objectives that training minimises.

    A subclass lists its `objectives` with their weights (a number, or the name of a setting) and
    the `defaults` of its settings, and defines `posterior` and `forward`.

    Parameters
    ----------
    shape : (channels, height, width), (columns,), or FactorGrid
        Shape of one row of the input; of a grid, the shape of its images.
    latents : int
    **settings
        Hyper-parameters by name; ``Model.defaults`` lists them.

    Attributes
    ----------
    settings : SimpleNamespace
        Current hyper-parameters; schedules change them during training.
    chosen : dict
        The hyper-parameters that the model was built with.
    """

    objectives: ClassVar[Weighted] = ()
    defaults: ClassVar[Mapping[str, Any]] = {}
    schedules: ClassVar[Mapping[str, Plan]] = {}
    # Rows in a group: 1 for single rows, 2 for pairs, 3 for triplets.
    groups: int = 1
    # Whether rows have labels, whose distances are learnt.
    labelled: bool = False
    # Which pairs are drawn from a grid: images that differ in some factors, or neighbours.
    pairs: ClassVar[str] = "differing"
    # The kind of network; only convolutions are faster in half precision.
    network: str = "own"
    deterministic: ClassVar[bool] = False
    # What requires data in [0, 1], for the error message; empty if nothing does.
    unit_range: str = ""
    # Version of the class: increased when the same settings give other numbers, so that older
    # checkpoints are refused.
    revision: ClassVar[int] = 0
    learning_rate: ClassVar[float] = 1e-3
    weight_decay: ClassVar[float] = 0.0
    # Modules whose methods depend on the model.
    prior: Any
    discriminator: Any
    # Decay rates of the moments in Adam, for the model and for its adversary (seed 003, A).
    betas: ClassVar[tuple[float, float]] = (0.9, 0.999)
    adversary_betas: ClassVar[tuple[float, float]] = (0.5, 0.9)

    def __init__(self, shape: Any, latents: int, settings: Mapping[str, Any]) -> None:
        super().__init__()
        self.shape = input_shape(shape)
        self.latents = latents
        self._check_settings(settings)
        self.chosen = self.with_defaults(settings)
        self.settings = SimpleNamespace(**self.chosen)
        self.prior = None
        self.discriminator = None

    def _check_settings(self, settings: Mapping[str, Any]) -> None:
        unknown = sorted(set(settings) - set(self.defaults))
        if unknown:
            raise InputError(
                f"{type(self).__name__} has the settings {', '.join(self.defaults) or 'none'}; "
                f"got {', '.join(unknown)}."
            )
        for name, value in settings.items():
            if name in CHOICES:
                check_choice(value, name, CHOICES[name])
            elif isinstance(self.defaults[name], bool):
                check_choice(value, name, (True, False))
            else:
                check_real(value, name)

    @classmethod
    def with_defaults(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Complete the settings with the defaults of the others."""
        return {**cls.defaults, **settings}

    @classmethod
    def defines_a_model(cls) -> bool:
        """Whether the class is a model, and not only a base of other classes."""
        return not cls.__name__.startswith("_") and cls.__name__ != "Autoencoder"

    # Passes

    def posterior(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Compute mean and log-variance of q(z|x), both (n, z), in float32 or float64."""
        raise NotImplementedError

    def forward(self, x: Tensor, dataset_size: int = 1, labels: Tensor | None = None) -> Batch:
        """Pass a batch through the model."""
        raise NotImplementedError

    def decode(self, z: Tensor) -> Tensor:
        """Decode latents (n, z) into rows; for the Bernoulli loss into logits."""
        raise InputError(f"{type(self).__name__} has no decoder.")

    def to_data(self, decoded: Tensor) -> Tensor:
        """Convert the output of `decode` into the units of the data."""
        return decoded

    def batch(
        self,
        x: Tensor,
        mean: Tensor,
        log_variance: Tensor,
        z: Tensor,
        decoded: Tensor,
        dataset_size: int = 1,
        **more: Any,
    ) -> Batch:
        """Collect the results of a pass, with the prior and the settings, for the objectives."""
        return Batch(
            x,
            mean,
            log_variance,
            z,
            decoded,
            self.prior,
            self.settings,
            self.groups,
            dataset_size,
            self.discriminator,
            **more,
        )

    def terms(self, batch: Batch) -> dict[str, Tensor]:
        """Compute every weighted objective, by name; training minimises their sum."""
        terms = {}
        for objective, weight in self.weighted_objectives():
            value = getattr(self.settings, weight) if isinstance(weight, str) else weight
            terms[objective.__name__] = value * objective(batch)
        return terms

    def weighted_objectives(self) -> Weighted:
        """Return the objectives with their weights; by default, those of the class."""
        return self.objectives

    # The adversary

    def adversary_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the adversary, which has its own optimiser."""
        return [] if self.discriminator is None else list(self.discriminator.parameters())

    def own_parameters(self) -> list[nn.Parameter]:
        """Return all other parameters that learn."""
        adversary = {id(parameter) for parameter in self.adversary_parameters()}
        return [p for p in self.parameters() if id(p) not in adversary and p.requires_grad]

    def adversary_loss(self, batch: Batch) -> Tensor:
        """Compute the loss that the adversary minimises."""
        raise NotImplementedError

    # On disk

    def config(self) -> dict[str, Any]:
        """Return everything needed to rebuild the model, as plain values."""
        return {
            "model": type(self).__name__,
            "shape": list(self.shape),
            "latents": self.latents,
            "options": {},
            "settings": dict(self.chosen),
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any], **given: Any) -> Model:
        """Rebuild an untrained model; `given` holds what a configuration cannot store."""
        return cls(
            tuple(config["shape"]),
            config["latents"],
            **config["options"],
            **config["settings"],
            **given,
        )
