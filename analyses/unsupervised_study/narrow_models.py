"""The methods of the study with perceptrons of 128-128 units: enough for 16 x 16 pixels."""

from __future__ import annotations

import math
from typing import Any

from torch import nn

from geodis import models
from geodis.models.networks import Gaussian, perceptron

WIDTH = 128


class Narrow:
    """Puts smaller perceptrons in the place of a model's own."""

    body: nn.Module
    head: nn.Module
    decoder: nn.Module
    shape: tuple[int, ...]

    def _build(self, latents: int) -> None:
        base: Any = super()
        base._build(latents)
        flat = math.prod(self.shape)
        hidden = [nn.Flatten(), *perceptron([flat, WIDTH, WIDTH], nn.ReLU), nn.ReLU()]
        back = [*perceptron([latents, WIDTH, WIDTH, flat], nn.ReLU), nn.Unflatten(1, self.shape)]
        self.body, self.head = nn.Sequential(*hidden), Gaussian(WIDTH, latents)
        self.decoder = nn.Sequential(*back)


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
