"""The methods of the study as small perceptrons, their terms weighed as on the published images.

A pixel of 16 x 16 stands for sixteen of 64 x 64, and its reconstruction counts as theirs would:
published strengths then mean what they mean on the published images.
"""

from __future__ import annotations

import math
from typing import Any

from torch import nn

from geodis import models
from geodis.models.model import Weighted
from geodis.models.networks import Gaussian, perceptron
from geodis.models.objectives import reconstruction

# Of all models, in whichever analysis.
COMMON: dict[str, Any] = {"latents": 10, "network": "vector", "loss": "bernoulli"}


class Narrow:
    """Puts smaller perceptrons in the place of a model's own."""

    width = 128  # units of each of two layers: enough for 16 x 16 pixels
    pixels_in_one = 16.0
    body: nn.Module
    head: nn.Module
    decoder: nn.Module
    shape: tuple[int, ...]

    def _build(self, latents: int) -> None:
        base: Any = super()
        base._build(latents)
        flat, width = math.prod(self.shape), self.width
        hidden = [nn.Flatten(), *perceptron([flat, width, width], nn.ReLU), nn.ReLU()]
        back = [*perceptron([latents, width, width, flat], nn.ReLU), nn.Unflatten(1, self.shape)]
        self.body, self.head = nn.Sequential(*hidden), Gaussian(width, latents)
        self.decoder = nn.Sequential(*back)

    def weighted_objectives(self) -> Weighted:
        """The objectives of the model, with a reconstruction of the published size."""
        base: Any = super()
        return tuple(
            (term, self.pixels_in_one if term is reconstruction else weight)
            for term, weight in base.weighted_objectives()
        )


class NarrowBetaVAE(Narrow, models.BetaVAE):
    """beta-VAE."""


class NarrowFactorVAE(Narrow, models.FactorVAE):
    """FactorVAE."""


class NarrowBetaTCVAE(Narrow, models.BetaTCVAE):
    """beta-TCVAE."""


class NarrowDIPVAE(Narrow, models.DIPVAE):
    """DIP-VAE."""


class NarrowAnnealedVAE(Narrow, models.AnnealedVAE):
    """AnnealedVAE."""
