"""Normal distributions of latents: densities and divergences, entry by entry."""

from __future__ import annotations

import math

from torch import Tensor


def gaussian_log_density(z: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
    """Log-density of independent normal variables, of every entry; shapes broadcast."""
    scaled = (z - mean).square() * (-log_variance).exp()
    return -0.5 * (scaled + log_variance + math.log(2 * math.pi))


def gaussian_kl(mean: Tensor, log_variance: Tensor) -> Tensor:
    """KL(N(mean, variance) || N(0, 1)) = (mean^2 + variance - log variance - 1) / 2, entrywise."""
    return 0.5 * (mean.square() + log_variance.exp() - log_variance - 1)


def gaussian_pair_kl(
    mean_a: Tensor, log_variance_a: Tensor, mean_b: Tensor, log_variance_b: Tensor
) -> Tensor:
    """KL(a || b) of two normal distributions, entrywise."""
    ratio = (log_variance_a - log_variance_b).exp()
    shift = (mean_a - mean_b).square() * (-log_variance_b).exp()
    return 0.5 * (ratio + shift - 1 + log_variance_b - log_variance_a)


def aggregate_log_densities(
    z: Tensor, mean: Tensor, log_variance: Tensor, dataset_size: int
) -> tuple[Tensor, Tensor]:
    """Estimate log q(z) and log prod_j q(z_j) at every row, by minibatch-weighted sampling.

    log q(z_i) = log sum_j q(z_i | x_j) - log(N M) for a batch of M of N rows, and the same for
    every latent alone (Chen et al. 2018). It is biased: its expectation is a lower bound, and each
    density is too small by log N, so that a total correlation is too large by (z - 1) log N. That
    is a constant, which training does not see.

    Returns
    -------
    joint, product : Tensor of shape (n,)
    """
    pairs = gaussian_log_density(z[:, None], mean[None], log_variance[None])  # (n, n, z)
    log_weight = math.log(dataset_size * len(z))
    joint = pairs.sum(dim=2).logsumexp(dim=1) - log_weight
    product = (pairs.logsumexp(dim=1) - log_weight).sum(dim=1)
    return joint, product
