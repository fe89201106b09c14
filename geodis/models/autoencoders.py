"""The autoencoders: each is a network, a prior and a list of weighted objectives.

A new one takes a few lines: subclass the nearest, name the objectives with their weights (a number,
or the name of a setting), and give the settings their defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from geodis.base.check import InputError, check_choice
from geodis.models import networks, objectives
from geodis.models.model import Model, Weighted, check_moments, seeded
from geodis.models.objectives import Batch
from geodis.models.own_losses import loss_config, loss_from_config
from geodis.models.priors import StandardNormal, prior_from_config
from geodis.models.terms.adversaries import discriminator_loss, permuted_latents
from geodis.models.terms.sharing import average_shared

LOSSES = ("mse", "bernoulli")
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
        See `networks.encoder_decoder`; "auto" is "vector" for vectors, "conv" for images it can
        take and "mlp" for others.
    loss : {"mse", "bernoulli"} or callable
        Reconstruction loss; a callable, such as a LossKernel, gives a number per row.
    normalise : {"sum", "mean"}
        Sums over entries and latents, or means (beta normalisation): see `objectives`.
    standardise : (means, standard deviations), optional
        Of every channel: the model then works on standardised data (seed 001, A.3.3), of which
        `channel_moments` measures them; images go in and come out as they are.
    prior : nn.Module, optional
        Standard normal by default.
    random_state : int, Generator or None
        Of the initial weights.
    **settings
        Hyper-parameters of the model, by name; `Model.defaults` lists them.
    """

    objectives: ClassVar[Weighted] = ((objectives.reconstruction, 1.0),)
    _mean: Any
    _deviation: Any

    def __init__(
        self,
        shape: Any,
        latents: int = 10,
        *,
        network: str = "auto",
        loss: str | Callable[[Tensor, Tensor], Tensor] = "mse",
        normalise: str = "sum",
        standardise: tuple[Sequence[float], Sequence[float]] | None = None,
        prior: nn.Module | None = None,
        random_state: Any = 0,
        **settings: Any,
    ) -> None:
        super().__init__(shape, latents, settings)
        self.network = _resolve_network(network, self.shape)
        if not callable(loss):
            check_choice(loss, "loss", LOSSES)
        check_choice(normalise, "normalise", ("sum", "mean"))
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
                f"The prior must be of as many latents as the model: {self.prior.size} and "
                f"{latents} came."
            )

    def _build(self, latents: int) -> None:
        self.body, self.head, self.decoder = networks.encoder_decoder(
            self.network, self.shape, latents
        )

    def prepare(self, x: Tensor) -> Tensor:
        """Standardise rows where the model was told to."""
        return (x - self._mean) / self._deviation if self.standardised else x

    def to_data(self, decoded: Tensor) -> Tensor:
        """Turn what `decode` gives into the units of the data."""
        if self.settings.loss == "bernoulli":
            return decoded.sigmoid()
        return decoded * self._deviation + self._mean if self.standardised else decoded

    def posterior(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of q(z|x), each (n, z), in float32."""
        return self._posterior(self.prepare(x))

    def _posterior(self, prepared: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_variance = self.head(self.body(prepared))
        return mean.float(), log_variance.float().clamp(*LOG_VARIANCE)

    def decode(self, z: Tensor) -> Tensor:
        """Rows of x, standardised or as logits where the model works on those, of latents."""
        decoded: Tensor = self.decoder(z)
        return decoded.float()

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
            self.decode(z),
            self.prior,
            self.settings,
            self.groups,
            dataset_size,
            self.discriminator,
            labels,
        )

    def config(self) -> dict[str, Any]:
        """Everything needed to build the model again, as plain values."""
        loss = self.settings.loss
        moments = (
            [self._mean.flatten().tolist(), self._deviation.flatten().tolist()]
            if (self.standardised)
            else None
        )
        options = {
            "network": self.network,
            "normalise": self.settings.normalise,
            "standardise": moments,
        }
        return {
            **super().config(),
            "options": options,
            "loss": loss if isinstance(loss, str) else loss_config(loss),
            "prior": self.prior.config() if hasattr(self.prior, "config") else "own",
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any], **given: Any) -> Autoencoder:
        """Build an untrained model again; `given` are what a configuration cannot hold."""
        found = {
            "loss": loss_from_config(config["loss"], given.pop("loss", None)),
            "prior": prior_from_config(config["prior"], given.pop("prior", None)),
        }
        return super().from_config(config, **found, **given)  # type: ignore[return-value]


class AE(Autoencoder):
    """Plain autoencoder: reconstruction alone, no noise."""

    deterministic = True


class VAE(Autoencoder):
    """Variational autoencoder (seed 001, equation 2.1): reconstruction + beta KL, beta = 1."""

    objectives: ClassVar[Weighted] = ((objectives.reconstruction, 1.0), (objectives.kl, "beta"))
    defaults = {"beta": 1.0}


class BetaVAE(VAE):
    """beta-VAE (seed 001, equation 2.7): a VAE with a heavier divergence."""

    defaults = {"beta": 4.0}


class AnnealedVAE(Autoencoder):
    """AnnealedVAE: reconstruction + gamma |KL - C|, C growing from 0 to `capacity` nats (000)."""

    objectives = ((objectives.reconstruction, 1.0), (objectives.capacity_gap, "gamma"))
    defaults = {"gamma": 100.0, "capacity": 25.0}
    schedules = {"capacity": (0.0, None)}


class BetaTCVAE(Autoencoder):
    """beta-TCVAE: the divergence in three parts, beta on the total correlation (seed 002, 3)."""

    objectives = ((objectives.reconstruction, 1.0), (objectives.decomposed_kl, 1.0))
    defaults = {"beta": 6.0}


class FactorVAE(Autoencoder):
    """FactorVAE (seed 003, algorithm 2): total correlation by a discriminator of latents."""

    objectives = (
        (objectives.reconstruction, 1.0),
        (objectives.kl, 1.0),
        (objectives.density_ratio_correlation, "gamma"),
    )
    defaults = {"gamma": 35.0}

    def _build(self, latents: int) -> None:
        super()._build(latents)
        self.discriminator = networks.discriminator(latents)

    def adversary_loss(self, batch: Batch) -> Tensor:
        """Tell latents of one half of the batch from shuffled latents of the other half."""
        first, second = batch.z.detach().tensor_split(2)
        shuffled = permuted_latents(second)
        return discriminator_loss(self.discriminator, first, shuffled)


class AAE(Autoencoder):
    """Adversarial autoencoder (seed 003, equation 7): a discriminator brings q(z) to p(z)."""

    objectives = ((objectives.reconstruction, 1.0), (objectives.density_ratio_prior, "gamma"))
    defaults = {"gamma": 10.0}

    def _build(self, latents: int) -> None:
        super()._build(latents)
        self.discriminator = networks.discriminator(latents)

    def adversary_loss(self, batch: Batch) -> Tensor:
        """Tell latents of the batch from latents of the prior."""
        seed = int(torch.randint(2**31, (1,)))
        drawn = self.prior.sample(len(batch.z), random_state=seed).to(batch.z)
        return discriminator_loss(self.discriminator, batch.z.detach(), drawn)


class DIPVAE(Autoencoder):
    """DIP-VAE I and II: penalties on the covariance of the latents (seed 003, 10 and 11)."""

    objectives = (
        (objectives.reconstruction, 1.0),
        (objectives.kl, "beta"),
        (objectives.dip, 1.0),
    )
    defaults = {"beta": 1.0, "kind": "I", "off_diagonal": 10.0, "diagonal": 100.0}


class InfoVAE(Autoencoder):
    """InfoVAE: the divergence replaced, in part or whole, by a discrepancy of q(z) and p(z)."""

    objectives = (
        (objectives.reconstruction, 1.0),
        (objectives.kl, "beta"),
        (objectives.mmd, "mmd"),
    )
    defaults = {"beta": 0.0, "mmd": 100.0}


class AdaGVAE(VAE):
    """Ada-GVAE: pairs, whose shared latents are averaged (seed 001, equations 2.10 to 2.16)."""

    groups = 2
    defaults = {"beta": 1.0, "deltas": "symmetric_kl", "strength": 0.5, "average": "gvae"}

    def couple(self, mean: Tensor, log_variance: Tensor) -> tuple[Tensor, Tensor]:
        """Average the posteriors of shared latents."""
        return average_shared(
            mean,
            log_variance,
            kind=self.settings.deltas,
            average=self.settings.average,
            strength=self.settings.strength,
        )


class AdaMLVAE(AdaGVAE):
    """Ada-ML-VAE: as Ada-GVAE, averaging by the product of distributions."""

    defaults = {**AdaGVAE.defaults, "average": "ml-vae"}


TRIPLET_DEFAULTS = {"scale": 1.0, "p": 1, "hard": True, "margin": 10.0}


class TAE(Autoencoder):
    """Triplet autoencoder: reconstruction and triplet loss, no noise."""

    groups = 3
    deterministic = True
    objectives = ((objectives.reconstruction, 1.0), (objectives.triplet, "scale"))
    defaults = TRIPLET_DEFAULTS


class TVAE(Autoencoder):
    """beta-TVAE (seed 001, equation 5.12): a beta-VAE with a triplet loss on its means."""

    groups = 3
    objectives = (
        (objectives.reconstruction, 1.0),
        (objectives.kl, "beta"),
        (objectives.triplet, "scale"),
    )
    defaults = {"beta": 1.0, **TRIPLET_DEFAULTS}


class AdaTVAE(Autoencoder):
    """Ada-TVAE (seed 001, equation 5.22): the triplet loss that prefers few latents.

    Published schedule "weight (weak)": `shared_weight` falls from 1 to the setting in training.
    """

    groups = 3
    objectives = (
        (objectives.reconstruction, 1.0),
        (objectives.kl, "beta"),
        (objectives.adaptive_triplet, "scale"),
    )
    defaults = {
        "beta": 1.0,
        **TRIPLET_DEFAULTS,
        "deltas": "absolute",
        "strength": 0.5,
        "shared_weight": 0.5,
    }
    schedules = {"shared_weight": (1.0, None)}


def _resolve_network(network: str, shape: tuple[int, ...]) -> str:
    check_choice(network, "network", ("auto", *networks.NETWORKS))
    if network != "auto":
        return network
    if len(shape) == 1:
        return "vector"
    try:
        networks.check_image_shape(shape)
    except InputError:
        return "mlp"
    return "conv"
