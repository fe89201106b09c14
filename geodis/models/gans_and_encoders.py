"""InfoGAN as it was first defined: a discriminator that gives probabilities."""

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

# InfoWGAN-GP: a generator whose codes can be read off its images, by Wasserstein distance.


class InfoWGANGP(Model):
    """InfoWGAN-GP (seed 003, equations 13 to 16, table 5).

    The generator lowers ``-E D(G(z)) - information E log Q(c | G(c, noise))``; the critic lowers
    ``E D(G(z)) - E D(x) + penalty E (|grad D| - 1)^2`` and, for the trunk that it shares with Q,
    the same information term.

    Parameters
    ----------
    shape : (channels, height, width) or FactorGrid
        Images in [0, 1], from 16 x 16 on.
    latents : int
        Continuous codes, uniform in [-1, 1]; these and the categories are the latents that
        `encode` gives: means of the codes and probabilities of the categories.
    categories : int
        Of one categorical code; 0 for none. Published for 2-D shapes: 4 continuous codes, 3
        categories and 5 noise variables.
    noise : int
        Latents that nothing reads; `decode` sets them to zero.
    random_state : int, Generator or None
        Of the initial weights.
    **settings
        information : weight of the information term; penalty : weight eta of the penalty.

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
        """Mean and log-variance of the continuous codes, and logits of the categories, by Q."""
        codes = at_least_float32(self.code_head(self.discriminator.trunk(x)))
        sizes = [self.continuous, self.continuous, self.categories]
        mean, log_variance, logits = codes.split(sizes, dim=1)
        return mean, log_variance.clamp(*LOG_VARIANCE), logits

    def posterior(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of every latent; a category has its probability and no spread."""
        return with_categories(*self.read_codes(x))

    def decode(self, z: Tensor) -> Tensor:
        """Images of codes, the noise at its mean."""
        still = torch.zeros(len(z), self.noise, device=z.device, dtype=z.dtype)
        return at_least_float32(self.generator(torch.cat([z, still], dim=1)))

    def forward(self, x: Tensor, dataset_size: int = 1, labels: Tensor | None = None) -> Batch:
        """Generate as many images as were given, and read their codes."""
        codes = self.prior.draw_for(x)
        noise = torch.randn(len(x), self.noise, device=x.device, dtype=x.dtype)
        fake = at_least_float32(self.generator(torch.cat([codes, noise], dim=1)))
        mean, log_variance, logits = self.read_codes(fake)
        return Batch(
            x,
            mean,
            log_variance,
            codes,
            fake,
            self.prior,
            self.settings,
            self.groups,
            dataset_size,
            self.discriminator,
            logits=logits,
        )

    def adversary_loss(self, batch: Batch) -> Tensor:
        """What the critic and the shared trunk lower."""
        fake = batch.decoded.detach()
        score = self.discriminator(fake).mean() - self.discriminator(batch.x).mean()
        penalty = gradient_penalty(self.discriminator, batch.x, fake)
        information = self.settings.information * self._information(batch.x, fake, batch.z)
        return score + self.settings.penalty * penalty + information

    def _information(self, x: Tensor, fake: Tensor, codes: Tensor) -> Tensor:
        """How badly the codes are read off generated rows that are given."""
        mean, log_variance, logits = self.read_codes(fake)
        read = Batch(x, mean, log_variance, codes, fake, self.prior, self.settings, logits=logits)
        return objectives.code_error(read)

    def config(self) -> dict[str, Any]:
        """Everything needed to build the model again, as plain values."""
        options = {"categories": self.categories, "noise": self.noise}
        return {**super().config(), "latents": self.continuous, "options": options}


class InfoGAN(InfoWGANGP):
    """InfoGAN (seed 003, equations 13 to 15, table 5), from which `InfoWGANGP` came.

    With D(x) the probability that x is real, the generator lowers
    ``-E log D(G(z)) - information E log Q(c | G(c, noise))``; the discriminator lowers
    ``-E log D(x) - E log(1 - D(G(z)))`` and, for the trunk that it shares with Q, the same
    information term. Its training is known to degenerate sooner or later: the discriminator calls
    all rows real (appendix H); stop early.

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
        """What the discriminator and the shared trunk lower."""
        fake = batch.decoded.detach()
        real, made = (at_least_float32(self.discriminator(x)) for x in (batch.x, fake))
        # -log sigmoid(s) and -log(1 - sigmoid(s)) of the score s
        told_apart = softplus(-real).mean() + softplus(made).mean()
        return told_apart + self.settings.information * self._information(batch.x, fake, batch.z)


# An encoder that learns a metric: from distances of labels, or from neighbours alone.

# Peak, warm-up and ends of the learning rate.
PEAK, WARM_UP, START, END = 2e-3, 0.1, 0.04, 4e-6


def one_cycle(part: float) -> float:
    """Learning rate that rises to its peak over the first tenth, and falls, by half cosines."""
    if part < WARM_UP:
        low, done = START, part / WARM_UP
        return PEAK * (low + (1 - low) * 0.5 * (1 - math.cos(math.pi * done)))
    done = (part - WARM_UP) / (1 - WARM_UP)
    return PEAK * (END + (1 - END) * 0.5 * (1 + math.cos(math.pi * done)))


class MetricEncoder(Model):
    """Encoder whose distances are learnt; GeoManCER finds factors from a metric that is right.

    Parameters
    ----------
    shape : (channels, height, width), (columns,), or FactorGrid
    latents : int
        Columns of the code; more than the data has dimensions.
    learn_from : {"distances", "neighbours"}
        "distances" trains on rows with labels, `(images, labels)` or a FactorGrid, whose factors
        are put on [-1, 1]; squared distances of labels are what codes shall have, at least among
        neighbours. "neighbours" trains on pairs `(images, next images)` without labels, or on a
        FactorGrid, whose neighbours are a step of one factor apart.
    random_state : int, Generator or None
        Of the initial weights.
    **settings
        kappa : sharpness of the neighbourhood; with neighbours 1 / (their distance)^2.
        roll : turn all images of a batch by one random angle. It leaves distances as they are,
        and moves all factors together, where a camera looks straight at the object.

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
    deterministic = True
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
        """The one objective that suits what is learnt from."""
        if self.labelled:
            return ((objectives.neighbour_cross_entropy, 1.0),)
        return ((objectives.info_nce, 1.0),)

    def posterior(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The code as mean, and a log-variance that says: none."""
        code = at_least_float32(self.body(x))
        return code, torch.full_like(code, -math.inf)

    def forward(self, x: Tensor, dataset_size: int = 1, labels: Tensor | None = None) -> Batch:
        """Pass a batch through the encoder, turned where the model was told to."""
        if self.settings.roll and x.ndim == 4:
            x = rolled(x, torch.rand((), device=x.device).to(widest_float(x.device)) * 2 * math.pi)
        code, log_variance = self.posterior(x)
        return Batch(
            x,
            code,
            log_variance,
            code,
            x,
            None,
            self.settings,
            self.groups,
            dataset_size,
            labels=labels,
        )


def rolled(images: Tensor, angle: float | Tensor) -> Tensor:
    """Turn images (n, c, h, w) about their centre; what comes in from outside is black."""
    n, _, height, width = images.shape
    at = torch.as_tensor(angle, dtype=widest_float(images.device), device=images.device)
    cos, sin, none = at.cos(), at.sin(), torch.zeros_like(at)
    # affine_grid measures both sides as 2, which sheared images that are not square.
    across = torch.stack([cos, -sin * height / width, none])
    turn = torch.stack([across, torch.stack([sin * width / height, cos, none])]).to(images.dtype)
    grid = affine_grid(turn.expand(n, -1, -1), list(images.shape), align_corners=False)
    return grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


# An encoder that learns from triplets alone, without a decoder.


class TripletEncoder(Model):
    """Encoder whose codes follow triplets; no decoder (seed 001, section 5.3.3).

    Parameters
    ----------
    shape : (channels, height, width), (columns,), or FactorGrid
    latents : int
        Columns of the code.
    network : {"auto", "conv", "mlp", "vector"}
        The encoder of that autoencoder.
    random_state : int, Generator or None
        Of the initial weights.
    **settings
        p, hard, margin : as of `TAE`. Triplets by perceived distance are ordered by squares.

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
    deterministic = True

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

    def posterior(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The code as mean, and a log-variance that says: none."""
        code = at_least_float32(self.body(x))
        return code, torch.full_like(code, -math.inf)

    def forward(self, x: Tensor, dataset_size: int = 1, labels: Tensor | None = None) -> Batch:
        """Pass a batch through the encoder."""
        code, log_variance = self.posterior(x)
        return Batch(x, code, log_variance, code, x, None, self.settings, self.groups, dataset_size)

    def config(self) -> dict[str, Any]:
        """Everything needed to build the model again, as plain values."""
        return {**super().config(), "options": {"network": self.network}}
