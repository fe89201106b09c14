"""How likely images are under a model: a lower bound that tightens with more draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from geodis.base.check import InputError, check_int
from geodis.models.encoding import evaluating
from geodis.models.model import Model
from geodis.models.model_inputs import BATCH, batches_of
from geodis.models.objectives import reconstruction_rows
from geodis.models.randomness import seeded
from geodis.models.terms.gaussians import gaussian_log_density


def iwae_bound(
    model: Model, images: Any, *, particles: int = 100, random_state: Any = 0
) -> np.ndarray:
    """Importance-weighted lower bound on log p(x), in nats, of every row (seed 003, appendix E).

    log 1/K sum_k p(x | z_k) p(z_k) / q(z_k | x), z_k from q(z|x). One particle gives the evidence
    lower bound; more particles tighten it. The likelihood is the Bernoulli one, or for "mse" the
    normal one of variance one half (of standardised data, where the model standardises).

    Returns
    -------
    ndarray of shape (n,)
    """
    check_int(particles, "particles", low=1)
    loss = getattr(model.settings, "loss", None)
    if model.deterministic or not hasattr(model, "prepare"):
        raise InputError(f"{type(model).__name__} has no q(z|x) to draw from; use a VAE.")
    if not hasattr(model.prior, "log_prob"):
        raise InputError("A bound needs a prior with a density, log_prob; got a model without.")
    if loss not in ("mse", "bernoulli"):
        raise InputError("A bound needs a likelihood: loss='mse' or 'bernoulli'; got a callable.")
    bounds = []
    with torch.no_grad(), seeded(random_state), evaluating(model):
        for x in batches_of(model, images, max(1, BATCH // 8)):
            mean, log_variance = model.posterior(x)
            target = model.prepare(x)  # type: ignore[operator]
            weights = []
            for _ in range(particles):
                z = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
                log_x = -reconstruction_rows(target, model.decode(z), loss)
                if loss == "mse":
                    log_x = log_x - 0.5 * math.log(math.pi) * x[0].numel()
                own = gaussian_log_density(z, mean, log_variance).sum(dim=1)
                weights.append(log_x + model.prior.log_prob(z) - own)
            bound = torch.logsumexp(torch.stack(weights), dim=0) - math.log(particles)
            bounds.append(bound.cpu())
    return torch.cat(bounds).numpy()
