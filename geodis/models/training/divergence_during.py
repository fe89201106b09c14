"""Parts of the divergence of a model while it trains, and how far a batch's estimate is off."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from geodis.base.check import InputError, check_int, check_random_state
from geodis.data.grids.grid import FactorGrid
from geodis.models.encoding import encode
from geodis.models.model import Model
from geodis.models.randomness import torch_generator, widest_float
from geodis.models.terms.gaussians import aggregate_log_densities, gaussian_log_density

# Numbers of the table of densities that are held at once.
MOST_ENTRIES = 2**23


def divergence_during(
    data: Any, n: int = 1000, *, batch_size: int = 64, random_state: Any = 0
) -> Callable[[Model], dict[str, float]]:
    """Make a callback for `train` that takes the divergence apart on rows held fixed.

    With q(z) the mean of q(z|x) over these rows, and z drawn from each, in nats,

        KL(q(z|x) || p(z)) = information + total correlation + dimension-wise divergence
        information = E log q(z|x) / q(z),   total correlation = E log q(z) / prod_j q(z_j),
        dimension-wise divergence = E log prod_j q(z_j) / p(z).

    Objectives estimate q(z) from a batch of them, which moves the total correlation by about
    (z - 1) log of the number of rows, and more (seed 003, appendix D): that estimate is said
    beside the true one.

    Parameters
    ----------
    data : FactorGrid, or rows as for `encode`
    n : int
        Rows, drawn once; all of fewer. The work grows with n^2.
    batch_size : int
        Of the estimate from batches.
    random_state : None, int or Generator
        Of the rows, and of z.

    Returns
    -------
    callable
        Model -> "information", "total correlation", "dimension-wise divergence",
        "total correlation of a batch".

    Examples
    --------
    >>> from geodis.models import VAE
    >>> parts = divergence_during(np.random.default_rng(0).random((50, 3)))(VAE((3,), 2))
    >>> list(parts)[:2], abs(parts["total correlation"]) < 0.1
    (['information', 'total correlation'], True)
    """
    check_int(batch_size, "batch_size", low=2)
    rng = check_random_state(random_state)
    index = np.sort(rng.choice(len(data), min(check_int(n, "n", low=2), len(data)), replace=False))
    rows: Any
    if isinstance(data, FactorGrid):
        rows = data.images(index, "auto")
    else:
        tensor = isinstance(data, Tensor)
        rows = data[torch.from_numpy(index)] if tensor else np.asarray(data)[index]
    seed = int(rng.integers(2**31))

    def part(model: Model) -> dict[str, float]:
        if model.deterministic or not hasattr(model.prior, "log_prob"):
            raise InputError(
                f"The divergence has parts where codes are noisy and the prior has a density; got "
                f"{type(model).__name__}."
            )
        codes, spreads = encode(model, rows, log_variances=True)
        # In double precision: differences of densities of many codes are looked at.
        mean, log_variance = (torch.from_numpy(each).double() for each in (codes, spreads))
        noise = torch.randn(mean.shape, generator=torch_generator(seed), dtype=mean.dtype)
        z = mean + (0.5 * log_variance).exp() * noise
        own = gaussian_log_density(z, mean, log_variance).sum(dim=1)
        joint, product = mixture_log_densities(z, mean, log_variance)
        where = _device_of(model.prior)
        with torch.no_grad():
            # Narrowed before it goes: the prior's device may have no double precision.
            prior = model.prior.log_prob(z.to(widest_float(where)).to(where)).cpu()
        return {
            "information": float((own - joint).mean()),
            "total correlation": float((joint - product).mean()),
            "dimension-wise divergence": float((product - prior).mean()),
            "total correlation of a batch": _of_batches(z, mean, log_variance, batch_size, seed),
        }

    return part


def mixture_log_densities(z: Tensor, mean: Tensor, log_variance: Tensor) -> tuple[Tensor, Tensor]:
    """Log q(z) and log prod_j q(z_j) at every row of z, with q the mean of the n normals.

    Returns
    -------
    joint, product : Tensor of shape (rows of z,)
    """
    n, latents = mean.shape
    size = max(1, MOST_ENTRIES // (n * latents))
    joints, products = [], []
    for rows in z.split(size):
        each = gaussian_log_density(rows[:, None], mean[None], log_variance[None])  # (b, n, z)
        joints.append(each.sum(dim=2).logsumexp(dim=1) - math.log(n))
        products.append((each.logsumexp(dim=1) - math.log(n)).sum(dim=1))
    return torch.cat(joints), torch.cat(products)


def _of_batches(z: Tensor, mean: Tensor, log_variance: Tensor, size: int, seed: int) -> float:
    """Mean over batches of the estimate of the total correlation that objectives lower."""
    n = len(z)
    order = torch.randperm(n, generator=torch_generator(seed + 1))
    estimates = []
    for batch in order.split(min(size, n)):
        if len(batch) == min(size, n):  # a rest of a few rows is another estimate
            joint, product = aggregate_log_densities(z[batch], mean[batch], log_variance[batch], n)
            estimates.append(float((joint - product).mean()))
    return float(np.mean(estimates))


def _device_of(prior: torch.nn.Module) -> torch.device:
    tensors = [*prior.parameters(), *prior.buffers()]
    return tensors[0].device if tensors else torch.device("cpu")
