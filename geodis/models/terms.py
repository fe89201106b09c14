"""Formulas of the objectives: adversarial losses, normal densities, shared latents, triplets."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, softplus

from geodis.models.model_inputs import at_least_float32


def permuted_latents(z: Tensor) -> Tensor:
    """Shuffle every column by itself: a sample of prod_j q(z_j) (seed 003, algorithm 1)."""
    order = torch.rand(z.shape, device=z.device).argsort(dim=0)
    return z.gather(0, order)


def discriminator_loss(
    discriminator: Callable[[Tensor], Tensor], first: Tensor, second: Tensor
) -> Tensor:
    """Cross-entropy of classifying `first` as 0 and `second` as 1, with equal weights."""
    logits = at_least_float32(discriminator(torch.cat([first, second])))
    labels = torch.zeros(len(logits), dtype=torch.long, device=logits.device)
    labels[len(first) :] = 1
    losses = cross_entropy(logits, labels, reduction="none")
    return 0.5 * (losses[: len(first)].mean() + losses[len(first) :].mean())


def gradient_penalty(
    critic: Callable[[Tensor], Tensor], real: Tensor, fake: Tensor, part: Tensor | None = None
) -> Tensor:
    """Mean of (|grad D(x)| - 1)^2 at x = part real + (1 - part) fake (seed 003, equation 16).

    Parameters
    ----------
    critic : callable
        Maps rows to one number each.
    real, fake : Tensor of shape (n, ...)
    part : Tensor of shape (n,), optional
        Uniform in [0, 1] by default.
    """
    part = torch.rand(len(real), device=real.device) if part is None else part
    part = part.reshape(-1, *(1,) * (real.ndim - 1))
    between = (part * real + (1 - part) * fake).detach().requires_grad_(True)
    # The critic treats rows independently, so the gradient of the sum has one row for each.
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return (slope.flatten(1).norm(dim=1) - 1).square().mean()


# Normal distributions of latents: samples, densities and divergences, entrywise.


def gaussian_sample(mean: Tensor, log_variance: Tensor) -> Tensor:
    """Draw z = mean + standard deviation * noise, differentiable in both, of the shape of mean."""
    return mean + (0.5 * log_variance).exp() * torch.randn_like(mean)


def gaussian_log_density(z: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
    """Log-density of independent normal variables, entrywise; shapes broadcast."""
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
    """Estimate log q(z) and log prod_j q(z_j) at every row by minibatch-weighted sampling.

    log q(z_i) = log sum_j q(z_i | x_j) - log(N M) for a batch of M of N rows, and the same for
    each latent (Chen et al. 2018). The estimate is biased: its expectation is a lower bound, and
    each density is too small by log N, so that a total correlation is too large by (z - 1) log N, a
    constant that does not affect training.

    Returns
    -------
    joint, product : Tensor of shape (n,)
    """
    pairs = gaussian_log_density(z[:, None], mean[None], log_variance[None])  # (n, n, z)
    log_weight = math.log(dataset_size * len(z))
    joint = pairs.sum(dim=2).logsumexp(dim=1) - log_weight
    product = (pairs.logsumexp(dim=1) - log_weight).sum(dim=1)
    return joint, product


# Latents that two observations share, and their average.


def latent_deltas(
    mean_a: Tensor, log_variance_a: Tensor, mean_b: Tensor, log_variance_b: Tensor, kind: str
) -> Tensor:
    """Distance between two posteriors along every latent: "kl", "symmetric_kl" or "absolute".

    Seed 001, equations 2.12 and A.2, and |mean_a - mean_b| of section 5.4.1.
    """
    if kind == "absolute":
        return (mean_a - mean_b).abs()
    forward = gaussian_pair_kl(mean_a, log_variance_a, mean_b, log_variance_b)
    if kind == "kl":
        return forward
    backward = gaussian_pair_kl(mean_b, log_variance_b, mean_a, log_variance_a)
    return 0.5 * (forward + backward)


def shared_latents(deltas: Tensor, strength: float | Tensor = 0.5) -> Tensor:
    """Decide which latents two observations share.

    With `tau = (1 - strength) min_i delta_i + strength max_i delta_i`, latent i is shared where
    `delta_i < tau` (seed 001, equations 2.13, 2.14 and 5.16); strength 0.5 is the published rule
    of the adaptive VAEs, and 0 shares nothing.

    Parameters
    ----------
    deltas : Tensor of shape (n, z)
        Distance between the two observations along every latent.
    strength : float
        Averaging strength eta, from 0 to 1.

    Returns
    -------
    Tensor of bool, shape (n, z)

    Examples
    --------
    >>> shared_latents(torch.tensor([[0.0, 0.1, 1.0]])).tolist()
    [[True, True, False]]
    """
    low = deltas.amin(dim=1, keepdim=True)
    high = deltas.amax(dim=1, keepdim=True)
    # In this form strength 0 shares nothing, regardless of rounding.
    return deltas < low + strength * (high - low)


def average_shared(
    mean: Tensor, log_variance: Tensor, *, kind: str, average: str, strength: float = 0.5
) -> tuple[Tensor, Tensor]:
    """Average the posteriors of the latents that the two rows of a pair share.

    Seed 001, equations 2.10, 2.11 and 5.16. Other latents are unchanged.

    Parameters
    ----------
    mean, log_variance : Tensor of shape (2 n, z)
        First members, then second members.
    kind : {"symmetric_kl", "kl", "absolute"}
        The distance that decides which latents are shared.
    average : {"gvae", "gvae-std", "ml-vae"}
        "gvae": mean of means and of variances (equation 2.16, whose sigma is a diagonal
        covariance, section 2.1.3; as in the published implementations). "gvae-std": mean of
        standard deviations instead. "ml-vae": mean of precisions 1 / variance, and the mean of
        means weighted by them, as in the software of Locatello et al. 2020 (disentanglement_lib,
        MLVae). This is the normalised geometric mean sqrt(q_a q_b); the product q_a q_b of the
        papers has the same mean, but half the variance.
    strength : float

    Returns
    -------
    mean, log_variance : Tensor of shape (2 n, z)
    """
    (mean_a, mean_b), (log_a, log_b) = mean.chunk(2), log_variance.chunk(2)
    deltas = latent_deltas(mean_a, log_a, mean_b, log_b, kind).detach()
    shared = shared_latents(deltas, strength)
    middle = 0.5 * (mean_a + mean_b)
    if average == "gvae":
        log_middle = (0.5 * (log_a.exp() + log_b.exp())).log()
    elif average == "gvae-std":
        log_middle = 2 * (0.5 * ((0.5 * log_a).exp() + (0.5 * log_b).exp())).log()
    else:
        precision_a, precision_b = (-log_a).exp(), (-log_b).exp()
        precision = 0.5 * (precision_a + precision_b)
        middle = 0.5 * (mean_a * precision_a + mean_b * precision_b) / precision
        log_middle = -precision.log()
    new_mean = [torch.where(shared, middle, own) for own in (mean_a, mean_b)]
    new_log = [torch.where(shared, log_middle, own) for own in (log_a, log_b)]
    return torch.cat(new_mean), torch.cat(new_log)


# Triplet losses of latents


def lp_distance(a: Tensor, b: Tensor, p: int = 1) -> Tensor:
    """Distance of every pair of rows, shape (n,), for p = 1 or 2; gradient zero at zero."""
    difference = a - b
    if p == 1:
        return difference.abs().sum(dim=1)
    # The square root has no gradient at zero; equal rows get a gradient of zero, not NaN.
    squared = difference.square().sum(dim=1)
    positive = squared > 0
    return torch.where(positive, torch.where(positive, squared, 1.0).sqrt(), 0.0)


def triplet_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *, p: int = 1, margin: float | None = None
) -> Tensor:
    """Triplet loss of every row, shape (n,).

    With `gap = d(anchor, positive) - d(anchor, negative)`: `max(0, margin + gap)`, or the soft
    `log(1 + exp(gap))` without a margin (seed 001, section 5.1.2).

    Examples
    --------
    >>> a, b = torch.zeros(1, 2), torch.ones(1, 2)
    >>> triplet_loss(a, a, b, margin=3.0).item()
    1.0
    """
    gap = lp_distance(anchor, positive, p) - lp_distance(anchor, negative, p)
    return _of_gap(gap, margin)


def adaptive_triplet_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    p: int = 1,
    margin: float | None = None,
    strength: float | Tensor = 0.5,
    shared_weight: float | Tensor = 0.5,
    deltas: Tensor | None = None,
) -> Tensor:
    """Triplet loss that separates anchor and negative along few latents, shape (n,).

    The distance of anchor and negative is weighted, `d(w * anchor, w * negative)` with
    `w_i = shared_weight` where latent i is shared and 1 elsewhere (seed 001, equations 5.17 to
    5.21): distances are cheaper to encode in latents that are not shared.

    Parameters
    ----------
    anchor, positive, negative : Tensor of shape (n, z)
    p : {1, 2}
    margin : float, optional
        Hard margin; without one the loss is soft.
    strength : float
        Averaging strength eta of `shared_latents`.
    shared_weight : float
        Weight omega of shared latents, 0 to 1; 1 gives the plain triplet loss.
    deltas : Tensor of shape (n, z), optional
        Distances along every latent that decide which are shared; |anchor - negative| by default.
    """
    if deltas is None:
        deltas = (anchor - negative).abs()
    shared = shared_latents(deltas.detach(), strength)
    # `where` would create the weights on the CPU.
    weight = shared.to(anchor.dtype) * shared_weight + (~shared).to(anchor.dtype)
    gap = lp_distance(anchor, positive, p) - lp_distance(weight * anchor, weight * negative, p)
    return _of_gap(gap, margin)


def _of_gap(gap: Tensor, margin: float | None) -> Tensor:
    return softplus(gap) if margin is None else (margin + gap).clamp(min=0)
