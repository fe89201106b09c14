"""Autoencoders with a categorical latent beside normal ones."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import gumbel_softmax

from geodis.base.check import InputError, check_int
from geodis.models import objectives
from geodis.models.families.autoencoder import Autoencoder, with_categories
from geodis.models.model import Weighted
from geodis.models.objectives import Batch
from geodis.models.priors import NormalCodes


class ConcreteVAE(Autoencoder):
    """beta-VAE with a categorical latent, drawn from the Concrete distribution.

    Reconstruction, ``beta`` times the divergence of the normal latents, and ``category_beta`` times
    that of the categorical one from equal chances, ``sum_j q_j log q_j + log J``. While it trains
    the category is drawn softly, ``softmax((log q + g) / temperature)`` with g from the standard
    Gumbel distribution (Maddison et al. 2017; Jang et al. 2017), which approaches a choice as the
    temperature falls. Seed 003 asks for such latents where factors are discrete (section 7).

    Parameters
    ----------
    shape : (channels, height, width), (columns,), or FactorGrid
    latents : int
        Normal latents. These and the categories are the latents that `encode` gives: means, and
        after them the probabilities of the categories.
    categories : int
        Of the categorical latent.
    **options
        As for `Autoencoder`, without a prior; settings ``beta``, ``category_beta`` and
        ``temperature``, which `TrainOptions(schedules={"temperature": (1.0, 0.5)})` lets fall.

    Examples
    --------
    >>> model = ConcreteVAE((5,), 2, categories=3)
    >>> mean, _ = model.posterior(torch.zeros(4, 5))
    >>> mean.shape, [round(total, 4) for total in mean[:, 2:].sum(dim=1).tolist()]
    (torch.Size([4, 5]), [1.0, 1.0, 1.0, 1.0])
    """

    objectives: ClassVar[Weighted] = (
        (objectives.reconstruction, 1.0),
        (objectives.kl, "beta"),
        (objectives.category_kl, "category_beta"),
    )
    defaults = {"beta": 1.0, "category_beta": 1.0, "temperature": 0.67}

    def __init__(
        self, shape: Any, latents: int = 10, *, categories: int = 3, **options: Any
    ) -> None:
        self.continuous = check_int(latents, "latents", low=1)
        self.categories = check_int(categories, "categories", low=2)
        prior = NormalCodes(self.continuous, self.categories)
        given = options.pop("prior", None)
        if given is not None and repr(given) != repr(prior):  # as it is loaded it brings its own
            raise InputError(f"ConcreteVAE has the prior {prior!r}; got {given!r}.")
        super().__init__(shape, prior.size, prior=prior, **options)
        if not self.settings.temperature > 0:
            raise InputError(f"temperature must be positive; got {self.settings.temperature}.")

    def read_codes(self, prepared: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean and log-variance of the normal latents, and logits of the categories."""
        mean, log_variance = self._posterior(prepared)
        return (
            mean[:, : self.continuous],
            log_variance[:, : self.continuous],
            mean[:, self.continuous :],
        )

    def posterior(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of every latent; a category has its probability and no spread."""
        return with_categories(*self.read_codes(self.prepare(x)))

    def forward(self, x: Tensor, dataset_size: int = 1, labels: Tensor | None = None) -> Batch:
        """Pass a batch through the model."""
        x = self.prepare(x)
        mean, log_variance, logits = self.read_codes(x)
        drawn = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
        chosen = gumbel_softmax(logits, tau=self.settings.temperature, dim=1)
        z = torch.cat([drawn, chosen], dim=1)
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
            logits=logits,
        )

    def config(self) -> dict[str, Any]:
        """Everything needed to build the model again, as plain values."""
        said = super().config()
        options = {**said["options"], "categories": self.categories}
        return {**said, "latents": self.continuous, "options": options}
