"""What every model is: networks, a prior, weighted objectives, and settings that may change."""

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
# Over the part of training that is done, 0 to 1: a line from start to end, or a function. None
# stands for the value that the setting was given.
Plan = Callable[[float], float] | tuple[float | None, float | None]

PenaltyKind = Literal["I", "II"]
Deltas = Literal["symmetric_kl", "kl", "absolute"]
Average = Literal["gvae", "gvae-std", "ml-vae"]
LearnFrom = Literal["distances", "neighbours"]

# Names that a setting may have, where only some make sense.
CHOICES: dict[str, tuple[Any, ...]] = {
    "normalise": ("sum", "mean"),
    "kind": get_args(PenaltyKind),
    "deltas": get_args(Deltas),
    "average": get_args(Average),
    "p": (1, 2),
    "learn_from": get_args(LearnFrom),
}


class Model(Numbered, nn.Module):
    """Networks, a prior, and the weighted objectives that training lowers.

    A subclass names `objectives` with their weights (a number, or the name of a setting), gives
    its settings their `defaults`, and defines `posterior` and `forward`.

    Parameters
    ----------
    shape : (channels, height, width), (columns,), or FactorGrid
        What the model takes; a grid says it by its images.
    latents : int
    **settings
        Hyper-parameters by name; ``Model.defaults`` lists them.

    Attributes
    ----------
    settings : SimpleNamespace
        Hyper-parameters at this step; schedules change them during training.
    chosen : dict
        The same as they were given.
    """

    objectives: ClassVar[Weighted] = ()
    defaults: ClassVar[Mapping[str, Any]] = {}
    schedules: ClassVar[Mapping[str, Plan]] = {}
    # Rows that belong together in a batch: 1 alone, 2 pairs, 3 triplets.
    groups: int = 1
    # Whether rows come with labels, whose distances are to be learnt.
    labelled: bool = False
    # Which pairs a grid gives: any two images of which some factors differ, or neighbours.
    pairs: ClassVar[str] = "differing"
    # What kind of network it has; convolutions are what half precision is for.
    network: str = "own"
    deterministic: ClassVar[bool] = False
    # What needs data in [0, 1], if anything does.
    unit_range: str = ""
    # The version of a class of model: raised when the same settings come to give other numbers, so
    # that checkpoints of runs before are refused.
    revision: ClassVar[int] = 0
    learning_rate: ClassVar[float] = 1e-3
    weight_decay: ClassVar[float] = 0.0
    # Modules, whose methods depend on the model.
    prior: Any
    discriminator: Any
    # Momentum and second moment of Adam, of the model and of its adversary (seed 003, A).
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
        """Settings, and the defaults of those that are not given."""
        return {**cls.defaults, **settings}

    @classmethod
    def defines_a_model(cls) -> bool:
        """Whether the class can be trained, and is not a base of others."""
        return not cls.__name__.startswith("_") and cls.__name__ != "Autoencoder"

    # Passes

    def posterior(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of q(z|x), each (n, z), in float32 (float64 if the model is)."""
        raise NotImplementedError

    def forward(self, x: Tensor, dataset_size: int = 1, labels: Tensor | None = None) -> Batch:
        """Pass a batch through the model."""
        raise NotImplementedError

    def decode(self, z: Tensor) -> Tensor:
        """Rows of x, as logits for the Bernoulli loss, of latents (n, z)."""
        raise InputError(f"{type(self).__name__} has no decoder.")

    def to_data(self, decoded: Tensor) -> Tensor:
        """Turn what `decode` gives into the units of the data."""
        return decoded

    def terms(self, batch: Batch) -> dict[str, Tensor]:
        """Every weighted objective by name; their sum is what training lowers."""
        terms = {}
        for objective, weight in self.weighted_objectives():
            value = getattr(self.settings, weight) if isinstance(weight, str) else weight
            terms[objective.__name__] = value * objective(batch)
        return terms

    def weighted_objectives(self) -> Weighted:
        """Objectives with their weights; here, those of the class."""
        return self.objectives

    # The second player of adversarial models

    def adversary_parameters(self) -> list[nn.Parameter]:
        """Parameters of the second player, trained apart."""
        return [] if self.discriminator is None else list(self.discriminator.parameters())

    def own_parameters(self) -> list[nn.Parameter]:
        """All other parameters."""
        adversary = {id(parameter) for parameter in self.adversary_parameters()}
        return [p for p in self.parameters() if id(p) not in adversary and p.requires_grad]

    def adversary_loss(self, batch: Batch) -> Tensor:
        """What the second player lowers."""
        raise NotImplementedError

    # On disk

    def config(self) -> dict[str, Any]:
        """Everything needed to build the model again, as plain values."""
        return {
            "model": type(self).__name__,
            "shape": list(self.shape),
            "latents": self.latents,
            "options": {},
            "settings": dict(self.chosen),
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any], **given: Any) -> Model:
        """Build an untrained model again; `given` are what a configuration cannot hold."""
        return cls(
            tuple(config["shape"]),
            config["latents"],
            **config["options"],
            **config["settings"],
            **given,
        )
