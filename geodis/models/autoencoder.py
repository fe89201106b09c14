"""The base class of all autoencoders: an encoder, a decoder, a prior, and weighted objectives.

A new autoencoder takes a few lines: subclass the most similar one, list the objectives with their
weights (a number, or the name of a setting), and set the defaults of the settings.
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
from geodis.models.terms import gaussian_sample

# Outside this range exp() overflows, or the divergence loses its meaning in half precision.
LOG_VARIANCE = (-20.0, 10.0)


class Autoencoder(Model):
    """An encoder to a normal posterior q(z|x), a decoder, a prior, and weighted objectives.

    Parameters
    ----------
    shape : (channels, height, width), (columns,), or FactorGrid
        Shape of one row of the input; of a grid, the shape of its images.
    latents : int
        Number of latents z.
    network : {"auto", "conv", "mlp", "vector"}
        See `networks.encoder_decoder`. "auto" is "vector" for vectors, "conv" for images whose
        sides are multiples of 16 and at least 32, and "mlp" for other images.
    encoder, decoder : nn.Module, optional
        Your own modules: rows (n, *shape) -> features (n, any number), and latents (n, z) -> rows.
        Their weights are saved, but not their code: pass them to `load_model` again.
    loss : {"mse", "bernoulli"} or callable
        Reconstruction loss; a callable, such as a LossKernel, returns one number per row.
    normalise : {"sum", "mean"}
        Sums over entries and latents, or means (beta normalisation): see `objectives`.
    standardise : (means, standard deviations), optional
        Of every channel, as `channel_moments` measures them. The model then standardises its input
        and converts its output back (seed 001, A.3.3).
    prior : nn.Module, optional
        Standard normal by default.
    cut_decoder : bool
        Stop the gradient of the reconstruction at the latents, so that the encoder learns from the
        other objectives only (seed 001, figure 5.3).
    random_state : int, Generator or None
        Seed of the initial weights.
    **settings
        Hyper-parameters of the model by name; `Model.defaults` lists them.
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
        # A tuple, so that torch does not register the modules a second time.
        self._given = (encoder, decoder)
        if not callable(loss):
            check_choice(loss, "loss", get_args(ReconstructionName))
        check_choice(normalise, "normalise", get_args(Normalisation))
        self.settings.loss, self.settings.normalise = loss, normalise
        if isinstance(loss, nn.Module):
            # Moved between devices and saved with the model, but not trained: otherwise the model
            # would learn a loss that ignores every difference.
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
        """Return the encoder and the decoder that the user passed, by name."""
        named = zip(("encoder", "decoder"), self._given, strict=True)
        return {name: module for name, module in named if module is not None}

    def prepare(self, x: Tensor) -> Tensor:
        """Standardise rows if the model has `standardise`."""
        return (x - self._mean) / self._deviation if self.standardised else x

    def to_data(self, decoded: Tensor) -> Tensor:
        """Convert the output of `decode` into the units of the data."""
        if self.settings.loss == "bernoulli":
            return decoded.sigmoid()
        return decoded * self._deviation + self._mean if self.standardised else decoded

    def posterior(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Compute mean and log-variance of q(z|x), both (n, z), in float32 or float64."""
        return self._posterior(self.prepare(x))

    def _posterior(self, prepared: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_variance = self.head(self.body(prepared))
        mean, log_variance = at_least_float32(mean), at_least_float32(log_variance)
        return mean, log_variance.clamp(*LOG_VARIANCE)

    def decode(self, z: Tensor) -> Tensor:
        """Decode latents (n, z) into rows: standardised ones, or logits for the Bernoulli loss."""
        return at_least_float32(self.decoder(z))

    def couple(self, mean: Tensor, log_variance: Tensor) -> tuple[Tensor, Tensor]:
        """Change the posteriors of the rows of a group; the base class leaves them unchanged."""
        return mean, log_variance

    def forward(self, x: Tensor, dataset_size: int = 1, labels: Tensor | None = None) -> Batch:
        """Pass a batch through the model."""
        x = self.prepare(x)
        mean, log_variance = self.couple(*self._posterior(x))
        z = mean if self.deterministic else gaussian_sample(mean, log_variance)
        decoded = self.decode(z.detach() if self.cut_decoder else z)
        return self.batch(x, mean, log_variance, z, decoded, dataset_size, labels=labels)

    def config(self) -> dict[str, Any]:
        """Return everything needed to rebuild the model, as plain values."""
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
        """Rebuild an untrained model; `given` holds what a configuration cannot store."""
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
    """Append the categories: their probabilities as means, with the smallest variance."""
    least = torch.full_like(logits, LOG_VARIANCE[0])
    probabilities = logits.softmax(dim=1)
    return torch.cat([mean, probabilities], dim=1), torch.cat([log_variance, least], dim=1)


def _loss_config(loss: Reconstruction) -> Any:
    """Describe a loss in a configuration; "own" stands for user code.

    The tensors of a learnt loss are saved with the model, because the loss is a submodule of it.
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
    """Resolve "auto" for rows of this shape; return other names unchanged."""
    check_choice(network, "network", ("auto", *get_args(NetworkName)))
    if network != "auto":
        return network
    if len(shape) == 1:
        return "vector"
    return "conv" if networks.suits_convolutions(shape) else "mlp"


# Names and types of settings, for type checkers.


class AutoencoderOptions(TypedDict, total=False):
    """Options of every autoencoder."""

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
    """Options of Ada-GVAE and Ada-ML-VAE."""

    beta: float
    deltas: Deltas
    strength: float
    average: Average


class TripletSettings(AutoencoderOptions, total=False):
    """Options of TAE, TVAE and Ada-TVAE; each has some of these."""

    beta: float
    scale: float
    p: Literal[1, 2]
    hard: bool
    margin: float
    deltas: Deltas
    strength: float
    shared_weight: float


class DIPSettings(AutoencoderOptions, total=False):
    """Options of DIP-VAE."""

    beta: float
    kind: PenaltyKind
    off_diagonal: float
    diagonal: float
