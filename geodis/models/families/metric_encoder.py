"""An encoder that learns a metric: from distances of labels, or from neighbours alone."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from geodis.base.check import check_int
from geodis.models import networks, objectives
from geodis.models.model import LearnFrom, Model, Weighted
from geodis.models.model_inputs import at_least_float32
from geodis.models.objectives import Batch
from geodis.models.randomness import seeded, widest_float

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
