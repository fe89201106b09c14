"""An encoder that learns from triplets alone, without a decoder."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from geodis.models import networks, objectives
from geodis.models.families.autoencoder import resolve_network
from geodis.models.model import Model
from geodis.models.model_inputs import at_least_float32
from geodis.models.networks import NetworkChoice
from geodis.models.objectives import Batch
from geodis.models.randomness import seeded


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
