"""InfoWGAN-GP and InfoGAN, and encoders without a decoder: from labels, pairs or triplets."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import affine_grid, grid_sample, softplus

from geodis.base.check import check_int
from geodis.models import networks, objectives
from geodis.models.autoencoder import LOG_VARIANCE, resolve_network, with_categories
from geodis.models.model import LearnFrom, Model, Weighted
from geodis.models.model_inputs import at_least_float32
from geodis.models.networks import NetworkChoice
from geodis.models.objectives import Batch
from geodis.models.priors import UniformCodes
from geodis.models.randomness import seeded, widest_float
from geodis.models.terms import gradient_penalty


class InfoWGANGP(Model):
    """InfoWGAN-GP (seed 003, equations 13 to 16, table 5).

    The generator minimises ``-E D(G(z)) - information E log Q(c | G(c, noise))``. The critic
    minimises ``E D(G(z)) - E D(x) + penalty E (|grad D| - 1)^2``, plus the same information term
    because it shares its trunk with Q.

    Parameters
    ----------
    shape : (channels, height, width) or FactorGrid
        Images in [0, 1] of at least 16 x 16 pixels.
    latents : int
        Number of continuous codes, uniform in [-1, 1]. `encode` returns their means, followed by
        the probabilities of the categories.
    categories : int
        Number of categories of one categorical code; 0 for none. Published for 2-D shapes: 4
        continuous codes, 3 categories and 5 noise variables.
    noise : int
        Number of input variables that Q does not predict; `decode` sets them to zero.
    random_state : int, Generator or None
        Seed of the initial weights.
    **settings
        information : weight of the information term; penalty : weight eta of the gradient penalty.

    Examples
    --------
    >>> model = InfoWGANGP((1, 32, 32), 4, categories=3)
    >>> model.latents, model.prior.sample(2, random_state=0).shape
    (7, torch.Size([2, 7]))
    """

    objectives = ((objectives.critic_score, 1.0), (objectives.code_error, "information"))
    defaults = {"information": 0.2, "penalty": 10.0}
    network = "gan"
    unit_range = "InfoWGANGP"
    betas = (0.5, 0.999)
    adversary_betas = (0.5, 0.999)

    def __init__(
        self,
        shape: Any,
        latents: int = 5,
        *,
        categories: int = 0,
        noise: int = 5,
        random_state: Any = 0,
        **settings: Any,
    ) -> None:
        codes = UniformCodes(latents, categories)
        super().__init__(shape, codes.size, settings)
        self.continuous, self.categories = latents, categories
        self.noise = check_int(noise, "noise", low=0)
        with seeded(random_state):
            self.discriminator = self._critic()
            self.code_head = networks.code_head(networks.Critic.features, 2 * latents + categories)
            self.generator = networks.generator(self.shape, codes.size + noise)
        self.prior = codes

    def _critic(self) -> networks.Critic:
        return networks.Critic(self.shape)

    def read_codes(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Predict the codes with Q: mean and log-variance of continuous codes, and logits."""
        codes = at_least_float32(self.code_head(self.discriminator.trunk(x)))
        sizes = [self.continuous, self.continuous, self.categories]
        mean, log_variance, logits = codes.split(sizes, dim=1)
        return mean, log_variance.clamp(*LOG_VARIANCE), logits

    def posterior(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Compute mean and log-variance of every latent; categories have the smallest variance."""
        return with_categories(*self.read_codes(x))

    def decode(self, z: Tensor) -> Tensor:
        """Generate images of codes, with the noise at its mean."""
        noise = torch.zeros(len(z), self.noise, device=z.device, dtype=z.dtype)
        return at_least_float32(self.generator(torch.cat([z, noise], dim=1)))

    def forward(self, x: Tensor, dataset_size: int = 1, labels: Tensor | None = None) -> Batch:
        """Generate as many images as the batch has, and predict their codes."""
        codes = self.prior.draw_for(x)
        noise = torch.randn(len(x), self.noise, device=x.device, dtype=x.dtype)
        fake = at_least_float32(self.generator(torch.cat([codes, noise], dim=1)))
        mean, log_variance, logits = self.read_codes(fake)
        return self.batch(x, mean, log_variance, codes, fake, dataset_size, logits=logits)

    def adversary_loss(self, batch: Batch) -> Tensor:
        """Compute the loss of the critic and the shared trunk."""
        fake = batch.decoded.detach()
        score = self.discriminator(fake).mean() - self.discriminator(batch.x).mean()
        penalty = gradient_penalty(self.discriminator, batch.x, fake)
        information = self.settings.information * self._information(batch.x, fake, batch.z)
        return score + self.settings.penalty * penalty + information

    def _information(self, x: Tensor, fake: Tensor, codes: Tensor) -> Tensor:
        """Compute the error of Q on generated rows with these codes."""
        mean, log_variance, logits = self.read_codes(fake)
        return objectives.code_error(self.batch(x, mean, log_variance, codes, fake, logits=logits))

    def config(self) -> dict[str, Any]:
        """Return everything needed to rebuild the model, as plain values."""
        options = {"categories": self.categories, "noise": self.noise}
        return {**super().config(), "latents": self.continuous, "options": options}


class InfoGAN(InfoWGANGP):
    """InfoGAN (seed 003, equations 13 to 15, table 5), the predecessor of `InfoWGANGP`.

    With D(x) the probability that x is real, the generator minimises
    ``-E log D(G(z)) - information E log Q(c | G(c, noise))``. The discriminator minimises
    ``-E log D(x) - E log(1 - D(G(z)))``, plus the same information term because it shares its trunk
    with Q. Training eventually degenerates, with a discriminator that classifies all rows as real
    (appendix H), so stop early.

    Parameters
    ----------
    shape, latents, categories, noise, random_state
        As for `InfoWGANGP`.
    **settings
        information : weight of the information term.

    Examples
    --------
    >>> InfoGAN((1, 32, 32), 4, categories=3).latents
    7
    """

    objectives = ((objectives.unconvincing, 1.0), (objectives.code_error, "information"))
    defaults = {"information": 1.0}
    unit_range = "InfoGAN"

    def _critic(self) -> networks.Critic:
        return networks.Critic(self.shape, normalise_batches=True)

    def adversary_loss(self, batch: Batch) -> Tensor:
        """Compute the loss of the discriminator and the shared trunk."""
        fake = batch.decoded.detach()
        real, generated = (at_least_float32(self.discriminator(x)) for x in (batch.x, fake))
        # -log sigmoid(s) and -log(1 - sigmoid(s)) of the score s
        cross_entropy = softplus(-real).mean() + softplus(generated).mean()
        return cross_entropy + self.settings.information * self._information(batch.x, fake, batch.z)


# Learning rate of `MetricEncoder`: peak, fraction of warm-up, start and end relative to the peak.
PEAK, WARM_UP, START, END = 2e-3, 0.1, 0.04, 4e-6


def one_cycle(part: float) -> float:
    """Compute the learning rate of a one-cycle schedule: half cosines up to the peak, then down."""
    if part < WARM_UP:
        low, done = START, part / WARM_UP
        return PEAK * (low + (1 - low) * 0.5 * (1 - math.cos(math.pi * done)))
    done = (part - WARM_UP) / (1 - WARM_UP)
    return PEAK * (END + (1 - END) * 0.5 * (1 + math.cos(math.pi * done)))


class _CodeEncoder(Model):
    """An encoder without a decoder, a prior or noise; its network is `body`."""

    deterministic = True
    body: nn.Module

    def posterior(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the codes as means, and log-variances of minus infinity, both (n, z)."""
        codes = at_least_float32(self.body(x))
        return codes, torch.full_like(codes, -math.inf)

    def forward(self, x: Tensor, dataset_size: int = 1, labels: Tensor | None = None) -> Batch:
        """Pass a batch through the encoder."""
        codes, log_variance = self.posterior(x)
        return self.batch(x, codes, log_variance, codes, x, dataset_size, labels=labels)


class MetricEncoder(_CodeEncoder):
    """Encoder that learns a metric, from distances of labels or from neighbours.

    GeoManCER can find the factors of data from the right metric.

    Parameters
    ----------
    shape : (channels, height, width), (columns,), or FactorGrid
    latents : int
        Number of columns of the code; more than the dimension of the data.
    learn_from : {"distances", "neighbours"}
        "distances" trains on rows with labels, `(images, labels)` or a FactorGrid, whose factors
        are scaled to [-1, 1]. Squared distances of codes approximate those of labels, at least
        among neighbours. "neighbours" trains on pairs `(images, next images)` without labels, or on
        a FactorGrid, whose neighbours differ by one step of one factor.
    random_state : int, Generator or None
        Seed of the initial weights.
    **settings
        kappa : sharpness of the neighbourhood; for neighbours 1 / (their distance)^2.
        roll : rotate all images of a batch by one random angle. If the camera looks straight at
        the object, this preserves distances and changes all factors together.

    Examples
    --------
    >>> from geodis.models import train
    >>> x = torch.rand(100, 3)
    >>> model = MetricEncoder((3,), latents=2)
    >>> done = train(model, (x, x[:, :2]), steps=20, batch_size=50, verbose=0)
    >>> done.history[-1]["neighbour_cross_entropy"] < done.history[0]["neighbour_cross_entropy"]
    True
    """

    defaults = {"learn_from": "distances", "kappa": 6.25, "roll": False}
    schedules = {"learning_rate": one_cycle}
    weight_decay = 1e-4
    pairs = "neighbours"
    network = "metric"

    def __init__(
        self,
        shape: Any,
        latents: int = 12,
        *,
        learn_from: LearnFrom = "distances",
        random_state: Any = 0,
        **settings: Any,
    ) -> None:
        settings["learn_from"] = learn_from
        super().__init__(shape, check_int(latents, "latents", low=1), settings)
        self.labelled = self.settings.learn_from == "distances"
        self.groups = 1 if self.labelled else 2
        with seeded(random_state):
            self.body = networks.metric_encoder(self.shape, latents)

    def weighted_objectives(self) -> Weighted:
        """Return the one objective, which depends on `learn_from`."""
        if self.labelled:
            return ((objectives.neighbour_cross_entropy, 1.0),)
        return ((objectives.info_nce, 1.0),)

    def forward(self, x: Tensor, dataset_size: int = 1, labels: Tensor | None = None) -> Batch:
        """Pass a batch through the encoder, rotated if the setting `roll` is true."""
        if self.settings.roll and x.ndim == 4:
            x = rolled(x, torch.rand((), device=x.device).to(widest_float(x.device)) * 2 * math.pi)
        return super().forward(x, dataset_size, labels)


def rolled(images: Tensor, angle: float | Tensor) -> Tensor:
    """Rotate images (n, c, h, w) about their centre; pixels from outside are black."""
    n, _, height, width = images.shape
    at = torch.as_tensor(angle, dtype=widest_float(images.device), device=images.device)
    cos, sin, none = at.cos(), at.sin(), torch.zeros_like(at)
    # affine_grid gives both sides the length 2, which would shear images that are not square.
    across = torch.stack([cos, -sin * height / width, none])
    turn = torch.stack([across, torch.stack([sin * width / height, cos, none])]).to(images.dtype)
    grid = affine_grid(turn.expand(n, -1, -1), list(images.shape), align_corners=False)
    return grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


class TripletEncoder(_CodeEncoder):
    """Encoder whose codes follow triplets; no decoder (seed 001, section 5.3.3).

    Parameters
    ----------
    shape : (channels, height, width), (columns,), or FactorGrid
    latents : int
        Number of columns of the code.
    network : {"auto", "conv", "mlp", "vector"}
        Encoder of the autoencoder with this network.
    random_state : int, Generator or None
        Seed of the initial weights.
    **settings
        p, hard, margin : as for `TAE`. Perceived distances are mean squared errors.

    Examples
    --------
    >>> from geodis.models import train
    >>> x = torch.rand(3, 100, 4)
    >>> done = train(TripletEncoder((4,), 2), tuple(x), 20, batch_size=50, verbose=0)
    >>> done.history[-1]["triplet"] < done.history[0]["triplet"]
    True
    """

    objectives = ((objectives.triplet, 1.0),)
    defaults = {"p": 1, "hard": True, "margin": 10.0}
    groups = 3

    def __init__(
        self,
        shape: Any,
        latents: int = 10,
        *,
        network: NetworkChoice = "auto",
        random_state: Any = 0,
        **settings: Any,
    ) -> None:
        super().__init__(shape, latents, settings)
        self.network = resolve_network(network, self.shape)
        self.settings.loss = "mse"
        with seeded(random_state):
            body, head, _ = networks.encoder_decoder(self.network, self.shape, latents)
            self.body = nn.Sequential(body, nn.Linear(head.layer.in_features, latents))

    def config(self) -> dict[str, Any]:
        """Return everything needed to rebuild the model, as plain values."""
        return {**super().config(), "options": {"network": self.network}}
