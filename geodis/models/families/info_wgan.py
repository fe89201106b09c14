"""InfoWGAN-GP: a generator whose codes can be read off its images, by Wasserstein distance."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from geodis.base.check import check_int
from geodis.models import networks, objectives
from geodis.models.families.autoencoder import LOG_VARIANCE, with_categories
from geodis.models.model import Model
from geodis.models.model_inputs import at_least_float32
from geodis.models.objectives import Batch
from geodis.models.priors import UniformCodes
from geodis.models.randomness import seeded
from geodis.models.terms.adversaries import gradient_penalty


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
