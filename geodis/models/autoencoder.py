"""What every autoencoder is: an encoder, a decoder, a prior, and weighted objectives.

A new one takes a few lines: subclass the nearest, name the objectives with their weights (a number,
or the name of a setting), and give the settings their defaults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypedDict, get_args

import torch
from torch import Tensor, nn

from geodis.base.check import InputError, check_choice
from geodis.kernels.augmented import AugmentedLoss
from geodis.kernels.storage import loss_from_config
from geodis.models import networks, objectives
from geodis.models.model import Average, Deltas, Model, PenaltyKind, Weighted
from geodis.models.model_inputs import at_least_float32, check_moments
from geodis.models.networks import NetworkChoice, NetworkName
from geodis.models.objectives import Batch, Normalisation, Reconstruction, ReconstructionName
from geodis.models.priors import StandardNormal, prior_from_config
from geodis.models.randomness import seeded

# Log-variances outside make exp() overflow or the divergence meaningless in half precision.
LOG_VARIANCE = (-20.0, 10.0)


class Autoencoder(Model):
    """An encoder to a normal posterior q(z|x), a decoder, a prior, and weighted objectives.

    Parameters
    ----------
    shape : (channels, height, width), (columns,), or FactorGrid
        What the model takes; a grid says it by its images.
    latents : int
        Number of latents z.
    network : {"auto", "conv", "mlp", "vector"}
        See `networks.encoder_decoder`; "auto" is "vector" for vectors, "conv" for images whose
        sides are multiples of 16 from 32 on, and "mlp" for others.
    encoder, decoder : nn.Module, optional
        Of your own: rows (n, *shape) -> features (n, any number), and latents (n, z) -> rows. They
        are code, which is not saved, and are given again to `load_model`; their weights are saved.
    loss : {"mse", "bernoulli"} or callable
        Reconstruction loss; a callable, such as a LossKernel, gives a number per row.
    normalise : {"sum", "mean"}
        Sums over entries and latents, or means (beta normalisation): see `objectives`.
    standardise : (means, standard deviations), optional
        Of every channel: the model then works on standardised data (seed 001, A.3.3), of which
        `channel_moments` measures them; images go in and come out as they are.
    prior : nn.Module, optional
        Standard normal by default.
    cut_decoder : bool
        Keep the gradient of the reconstruction from the encoder, which then learns from the other
        objectives alone while the decoder follows it (seed 001, figure 5.3).
    random_state : int, Generator or None
        Of the initial weights.
    **settings
        Hyper-parameters of the model, by name; `Model.defaults` lists them.
    """

    objectives: ClassVar[Weighted] = ((objectives.reconstruction, 1.0),)
    network: NetworkName
    _mean: Any
    _deviation: Any

    def __init__(
        self,
        shape: Any,
        latents: int = 10,
        *,
        network: NetworkChoice = "auto",
        encoder: nn.Module | None = None,
        decoder: nn.Module | None = None,
        loss: Reconstruction = "mse",
        normalise: Normalisation = "sum",
        standardise: tuple[Sequence[float], Sequence[float]] | None = None,
        prior: nn.Module | None = None,
        cut_decoder: bool = False,
        random_state: Any = 0,
        **settings: Any,
    ) -> None:
        super().__init__(shape, latents, settings)
        self.network = resolve_network(network, self.shape)
        self.cut_decoder = check_choice(cut_decoder, "cut_decoder", (False, True))
        # In a tuple, for modules are registered where they are used.
        self._given = (encoder, decoder)
        if not callable(loss):
            check_choice(loss, "loss", get_args(ReconstructionName))
        check_choice(normalise, "normalise", get_args(Normalisation))
        self.settings.loss, self.settings.normalise = loss, normalise
        if isinstance(loss, nn.Module):
            # Moves with the model between devices and is saved with it, but is not trained: a
            # model would learn a loss that sees nothing.
            self.loss_module = loss.requires_grad_(False)
        self.unit_range = "The Bernoulli loss" if loss == "bernoulli" else ""
        moments = check_moments(standardise, self.shape)
        if moments is not None and loss == "bernoulli":
            raise InputError("The Bernoulli loss needs data in [0, 1]: leave out standardise.")
        self.standardised = moments is not None
        for name, part in zip(("_mean", "_deviation"), moments or (None, None), strict=True):
            self.register_buffer(name, part)
        with seeded(random_state):
            self._build(latents)
        self.prior = StandardNormal(latents) if prior is None else prior
        if getattr(self.prior, "size", latents) != latents:
            raise InputError(
                f"The prior must be of as many latents as the model; got {self.prior.size} and "
                f"{latents}."
            )

    def _build(self, latents: int) -> None:
        encoder, decoder = self._given
        if encoder is None or decoder is None:
            self.body, self.head, self.decoder = networks.encoder_decoder(
                self.network, self.shape, latents
            )
        if encoder is not None:
            self.body, self.head = encoder, networks.head_of(encoder, self.shape, latents)
        if decoder is not None:
            self.decoder = networks.checked_decoder(decoder, self.shape, latents)

    @property
    def own_networks(self) -> dict[str, nn.Module]:
        """Encoder and decoder of the user's own, by these names."""
        named = zip(("encoder", "decoder"), self._given, strict=True)
        return {name: module for name, module in named if module is not None}

    def prepare(self, x: Tensor) -> Tensor:
        """Standardise rows where the model was told to."""
        return (x - self._mean) / self._deviation if self.standardised else x

    def to_data(self, decoded: Tensor) -> Tensor:
        """Turn what `decode` gives into the units of the data."""
        if self.settings.loss == "bernoulli":
            return decoded.sigmoid()
        return decoded * self._deviation + self._mean if self.standardised else decoded

    def posterior(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of q(z|x), each (n, z), in float32 (float64 if the model is)."""
        return self._posterior(self.prepare(x))

    def _posterior(self, prepared: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_variance = self.head(self.body(prepared))
        mean, log_variance = at_least_float32(mean), at_least_float32(log_variance)
        return mean, log_variance.clamp(*LOG_VARIANCE)

    def decode(self, z: Tensor) -> Tensor:
        """Rows of x, standardised or as logits where the model works on those, of latents."""
        return at_least_float32(self.decoder(z))

    def couple(self, mean: Tensor, log_variance: Tensor) -> tuple[Tensor, Tensor]:
        """Change the posteriors of rows that belong together; here, leave them."""
        return mean, log_variance

    def forward(self, x: Tensor, dataset_size: int = 1, labels: Tensor | None = None) -> Batch:
        """Pass a batch through the model."""
        x = self.prepare(x)
        mean, log_variance = self.couple(*self._posterior(x))
        z = mean
        if not self.deterministic:
            z = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
        return Batch(
            x,
            mean,
            log_variance,
            z,
            self.decode(z.detach() if self.cut_decoder else z),
            self.prior,
            self.settings,
            self.groups,
            dataset_size,
            self.discriminator,
            labels,
        )

    def config(self) -> dict[str, Any]:
        """Everything needed to build the model again, as plain values."""
        parts = (self._mean, self._deviation)
        moments = [part.flatten().tolist() for part in parts] if self.standardised else None
        options: dict[str, Any] = {
            "network": self.network,
            "normalise": self.settings.normalise,
            "standardise": moments,
        }
        if self.cut_decoder:
            options["cut_decoder"] = True
        return {
            **super().config(),
            "options": options,
            **dict.fromkeys(self.own_networks, "own"),
            "loss": _loss_config(self.settings.loss),
            "prior": self.prior.config() if hasattr(self.prior, "config") else "own",
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any], **given: Any) -> Autoencoder:
        """Build an untrained model again; `given` are what a configuration cannot hold."""
        loss, prior = given.pop("loss", None), given.pop("prior", None)
        if loss is None:
            loss = _loss_from_config(config["loss"])
        prior = prior_from_config(config["prior"], prior)
        for name in ("encoder", "decoder"):
            if name in config and given.get(name) is None:
                raise InputError(
                    f"This model has {'an' if name == 'encoder' else 'a'} {name} of the user's "
                    f"own, which is code and is not saved: pass it as {name}=..."
                )
        return super().from_config(config, loss=loss, prior=prior, **given)  # type: ignore[return-value]


def with_categories(mean: Tensor, log_variance: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and log-variance of every latent; a category has its probability and no spread."""
    none = torch.full_like(logits, LOG_VARIANCE[0])
    chances = logits.softmax(dim=1)
    return torch.cat([mean, chances], dim=1), torch.cat([log_variance, none], dim=1)


def _loss_config(loss: Reconstruction) -> Any:
    """What a configuration can hold of a loss; "own" for code of the user's.

    The tensors of a learnt one are saved with those of the model, of which it is a part.
    """
    if isinstance(loss, str):
        return loss
    if isinstance(loss, AugmentedLoss) and not callable(loss.loss):
        return loss.to_config()
    return "own"


def _loss_from_config(config: Any) -> Any:
    if config == "own":
        raise InputError(
            "This model was trained with a loss of the user's own, which is code and is not "
            "saved: pass it as loss=..."
        )
    if isinstance(config, str):
        return config
    return loss_from_config(config, source="The loss of the model")


def resolve_network(network: NetworkChoice, shape: tuple[int, ...]) -> NetworkName:
    """The network that "auto" stands for where rows have this shape; others stay as named."""
    check_choice(network, "network", ("auto", *get_args(NetworkName)))
    if network != "auto":
        return network
    if len(shape) == 1:
        return "vector"
    return "conv" if networks.suits_convolutions(shape) else "mlp"


# Settings by name and type, for type checkers: of the families in which some are choices.


class AutoencoderOptions(TypedDict, total=False):
    """What every autoencoder takes."""

    network: NetworkChoice
    encoder: nn.Module | None
    decoder: nn.Module | None
    loss: Reconstruction
    normalise: Normalisation
    standardise: tuple[Sequence[float], Sequence[float]] | None
    prior: nn.Module | None
    cut_decoder: bool
    random_state: Any


class PairSettings(AutoencoderOptions, total=False):
    """Of Ada-GVAE and Ada-ML-VAE."""

    beta: float
    deltas: Deltas
    strength: float
    average: Average


class TripletSettings(AutoencoderOptions, total=False):
    """Of TAE, TVAE and Ada-TVAE, of which each has some."""

    beta: float
    scale: float
    p: Literal[1, 2]
    hard: bool
    margin: float
    deltas: Deltas
    strength: float
    shared_weight: float


class DIPSettings(AutoencoderOptions, total=False):
    """Of DIP-VAE."""

    beta: float
    kind: PenaltyKind
    off_diagonal: float
    diagonal: float
