"""The objectives of the models, each a function of a batch; lower is better.

An objective is the mean of the expression in its docstring over the rows of a batch. It reads its
hyper-parameters from `batch.settings`, where schedules change them during training.

With `settings.normalise == "sum"` the reconstruction is a sum over the entries of x and a
divergence a sum over latents, as in the evidence lower bound. With "mean" both are means (seed 001,
appendix A.2.1), so that beta has the same meaning for images and latents of any size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, softplus

from geodis.models.model_inputs import at_least_float32
from geodis.models.priors import NormalCodes, StandardNormal, drawn_for
from geodis.models.terms import (
    adaptive_triplet_loss,
    aggregate_log_densities,
    gaussian_kl,
    gaussian_log_density,
    latent_deltas,
    triplet_loss,
)


@dataclass
class Batch:
    """The results of one pass through a model, which the objectives read.

    Attributes
    ----------
    x : Tensor of shape (n, ...)
        Images (n, c, h, w) or vectors (n, columns). Members of pairs and triplets are
        concatenated: n / groups first members, then n / groups second members, ...
    mean, log_variance : Tensor of shape (n, z)
        Parameters of q(z|x).
    z : Tensor of shape (n, z)
        A sample of q(z|x), or its mean if the model is deterministic.
    decoded : Tensor, shape of x
        Logits for the Bernoulli loss, means for other losses.
    prior : nn.Module
    settings : SimpleNamespace
        Hyper-parameters by name.
    groups : int
        1 for single rows, 2 for pairs, 3 for triplets.
    dataset_size : int
        Number of rows in the data.
    discriminator : nn.Module, optional
        The adversary of adversarial models.
    labels : Tensor of shape (n, columns), optional
        Labels of the rows, for models that learn distances of labels.
    logits : Tensor of shape (n, categories), optional
        Logits of a categorical latent, whose columns are the last of z. `mean` and
        `log_variance` then have the continuous latents only.
    """

    x: Tensor
    mean: Tensor
    log_variance: Tensor
    z: Tensor
    decoded: Tensor
    prior: Any
    settings: SimpleNamespace = field(default_factory=SimpleNamespace)
    groups: int = 1
    dataset_size: int = 1
    discriminator: Any = None
    labels: Any = None
    logits: Any = None

    @property
    def per_entry(self) -> float:
        """Factor by which sums over the entries of x are multiplied."""
        normalised = getattr(self.settings, "normalise", "sum") == "mean"
        return 1.0 / self.x[0].numel() if normalised else 1.0

    @property
    def per_latent(self) -> float:
        """Factor by which sums over latents are multiplied."""
        normalised = getattr(self.settings, "normalise", "sum") == "mean"
        return 1.0 / self.z.shape[1] if normalised else 1.0


Objective = Callable[[Batch], Tensor]
ReconstructionName = Literal["mse", "bernoulli"]
Reconstruction = ReconstructionName | Callable[[Tensor, Tensor], Tensor]
Normalisation = Literal["sum", "mean"]


# Reconstruction


def reconstruction(batch: Batch) -> Tensor:
    """Reconstruction loss between x and the decoded rows, by `settings.loss`.

    "mse": |x - decoded|^2, up to a constant the negative log-likelihood of a normal distribution
    with variance one half. "bernoulli": -sum x log p + (1 - x) log(1 - p) with p the sigmoid of
    the decoded logits. A callable, such as a LossKernel: loss(x, decoded) times the number of
    entries of x.
    """
    return reconstruction_rows(batch.x, batch.decoded, batch.settings.loss).mean() * batch.per_entry


def reconstruction_rows(x: Tensor, decoded: Tensor, loss: Reconstruction) -> Tensor:
    """Reconstruction loss of every row, summed over entries, shape (n,)."""
    if loss == "mse":
        return (x - decoded).square().flatten(1).sum(dim=1)
    if loss == "bernoulli":
        return binary_cross_entropy_with_logits(decoded, x, reduction="none").flatten(1).sum(dim=1)
    return loss(x, decoded) * x[0].numel()


# Divergence from the prior


def kl_rows(batch: Batch) -> Tensor:
    """KL(q(z|x) || p(z)) of every row: exact for a standard normal prior, otherwise sampled."""
    if isinstance(batch.prior, StandardNormal | NormalCodes):
        return gaussian_kl(batch.mean, batch.log_variance).sum(dim=1)
    return kl_sampled(batch)


def kl_sampled(batch: Batch) -> Tensor:
    """One-sample estimate log q(z|x) - log p(z) of the divergence of every row (seed 002, 12)."""
    own = gaussian_log_density(batch.z, batch.mean, batch.log_variance).sum(dim=1)
    return own - batch.prior.log_prob(batch.z)


def kl(batch: Batch) -> Tensor:
    """KL(q(z|x) || p(z)) (seed 002, equation 1)."""
    return kl_rows(batch).mean() * batch.per_latent


def category_kl(batch: Batch) -> Tensor:
    """KL(q(c|x) || 1 / J) of a categorical latent c with J categories: sum q log q + log J."""
    log_q = batch.logits.log_softmax(dim=1)
    divergence = (log_q.exp() * log_q).sum(dim=1) + math.log(log_q.shape[1])
    return divergence.mean() * batch.per_latent


def capacity_gap(batch: Batch) -> Tensor:
    """|KL(q(z|x) || p(z)) - C| with C = `settings.capacity` in nats (AnnealedVAE)."""
    return (kl_rows(batch).mean() - batch.settings.capacity).abs() * batch.per_latent


# Total correlation


def decomposed_kl(batch: Batch) -> Tensor:
    """Weighted sum of the three parts of the divergence (seed 002, equation 3).

    `settings.alpha` times the index-code information E log q(z|x) / q(z), plus `settings.beta`
    times the total correlation E log q(z) / prod_j q(z_j), plus `settings.gamma` times the
    dimension-wise divergence E log prod_j q(z_j) / p(z); alpha and gamma are 1 by default.
    """
    own, joint, product = _log_densities(batch)
    information = (own - joint).mean()
    correlation = (joint - product).mean()
    rest = (product - batch.prior.log_prob(batch.z)).mean()
    alpha, gamma = (getattr(batch.settings, name, 1.0) for name in ("alpha", "gamma"))
    weighted = alpha * information + batch.settings.beta * correlation + gamma * rest
    return weighted * batch.per_latent


def coding_cost(batch: Batch) -> Tensor:
    """Information terms of Information Dropout (seed 003, equations 8 and 9).

    `settings.beta` times the index-code information E log q(z|x) / q(z), plus `settings.gamma`
    times the total correlation E log q(z) / prod_j q(z_j), both estimated as in `decomposed_kl`.
    The prior does not appear.
    """
    own, joint, product = _log_densities(batch)
    information, correlation = (own - joint).mean(), (joint - product).mean()
    weighted = batch.settings.beta * information + batch.settings.gamma * correlation
    return weighted * batch.per_latent


def _log_densities(batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """Compute log q(z|x), and estimate log q(z) and log prod_j q(z_j), at every row."""
    own = gaussian_log_density(batch.z, batch.mean, batch.log_variance).sum(dim=1)
    return own, *aggregate_log_densities(
        batch.z, batch.mean, batch.log_variance, batch.dataset_size
    )


def density_ratio_correlation(batch: Batch) -> Tensor:
    """Total correlation E log D(z) / (1 - D(z)) by the discriminator (seed 003, equation 3)."""
    return _log_ratio(batch)


def density_ratio_prior(batch: Batch) -> Tensor:
    """KL(q(z) || p(z)) by a discriminator of q(z) and p(z) (seed 003, equation 7)."""
    return _log_ratio(batch)


def _log_ratio(batch: Batch) -> Tensor:
    """Mean log-density ratio of classes 0 and 1 according to the discriminator."""
    logits = at_least_float32(batch.discriminator(batch.z))
    return (logits[:, 0] - logits[:, 1]).mean() * batch.per_latent


# Moments


def dip(batch: Batch) -> Tensor:
    """DIP-VAE penalty on a covariance C of the latents (seed 003, equations 10 and 11).

    `settings.off_diagonal` sum_{i != j} C_ij^2 + `settings.diagonal` sum_i (C_ii - 1)^2, where C
    is the covariance of the means (`settings.kind` "I"), or of z, Cov[mean] + E[variance] ("II").
    """
    centred = batch.mean - batch.mean.mean(dim=0)
    covariance = centred.T @ centred / len(centred)
    if batch.settings.kind == "II":
        covariance = covariance + torch.diag(batch.log_variance.exp().mean(dim=0))
    own = covariance.diagonal()
    off = covariance.square().sum() - own.square().sum()
    penalty = batch.settings.off_diagonal * off
    return (penalty + batch.settings.diagonal * (own - 1).square().sum()) * batch.per_latent


def mmd(batch: Batch) -> Tensor:
    """Squared maximum mean discrepancy of q(z) and p(z), unbiased, with k = exp(-|a - b|^2 / z).

    E k(a, a') + E k(b, b') - 2 E k(a, b), with a from q(z) and b from the prior; the kernel's
    width grows with the number of latents, as distances do (InfoVAE).
    """
    a = batch.z
    return mmd_between(a, drawn_for(batch.prior, a))


def mmd_between(a: Tensor, b: Tensor) -> Tensor:
    """Unbiased squared maximum mean discrepancy of two samples, (n, z) and (m, z)."""

    def mean_kernel(first: Tensor, second: Tensor, same: bool) -> Tensor:
        values = (-squared_distances(first, second) / a.shape[1]).exp()
        if same:  # without the pairs of a point with itself, which bias the estimate
            n = len(first)
            return (values.sum() - values.diagonal().sum()) / (n * (n - 1))
        return values.mean()

    return mean_kernel(a, a, True) + mean_kernel(b, b, True) - 2 * mean_kernel(a, b, False)


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """Compute |a_i - b_j|^2 of all pairs, shape (n, m); unlike `cdist` it is smooth at zero."""
    lengths = a.square().sum(dim=1)[:, None] + b.square().sum(dim=1)
    return (lengths - 2 * a @ b.T).clamp(min=0)


# Pairs and triplets


def triplet(batch: Batch) -> Tensor:
    """Triplet loss of the means of anchors, positives and negatives (seed 001, equation 5.12)."""
    s = batch.settings
    margin = s.margin if s.hard else None
    return triplet_loss(*batch.mean.chunk(3), p=s.p, margin=margin).mean()


def adaptive_triplet(batch: Batch) -> Tensor:
    """Adaptive triplet loss of the means (seed 001, equation 5.22)."""
    s = batch.settings
    (anchor, positive, negative), logs = batch.mean.chunk(3), batch.log_variance.chunk(3)
    kind = getattr(s, "deltas", "absolute")  # the only choice for models without variances
    deltas = latent_deltas(anchor, logs[0], negative, logs[2], kind)
    return adaptive_triplet_loss(
        anchor,
        positive,
        negative,
        p=s.p,
        margin=s.margin if s.hard else None,
        strength=s.strength,
        shared_weight=s.shared_weight,
        deltas=deltas,
    ).mean()


# Distances learnt from labels or from neighbours


def neighbour_cross_entropy(batch: Batch) -> Tensor:
    """Cross-entropy between neighbours by label and neighbours by code (as in SNE).

    Mean over rows a of - sum_b P_ab log Q_ab, with P_a = softmax over b != a of
    -kappa |y_a - y_b|^2 / 2 of the labels y, and Q_a the same of the codes z.
    """
    half = 0.5 * batch.settings.kappa
    own = torch.eye(len(batch.z), dtype=torch.bool, device=batch.z.device)
    by_label = (-half * squared_distances(batch.labels, batch.labels)).masked_fill(own, -torch.inf)
    by_code = (-half * squared_distances(batch.z, batch.z)).masked_fill(own, -torch.inf)
    log_q = by_code.log_softmax(dim=1).masked_fill(own, 0.0)  # 0 log 0 on the diagonal
    return -(by_label.softmax(dim=1) * log_q).sum(dim=1).mean()


def info_nce(batch: Batch) -> Tensor:
    """Symmetric InfoNCE: cross-entropy of identifying the partner of a row among all.

    With logits L_ab = -kappa |z_a - z'_b|^2 / 2 for pairs (z, z'), mean of the cross-entropies of
    the rows and of the columns of L with its diagonal.
    """
    first, second = batch.z.chunk(2)
    logits = -0.5 * batch.settings.kappa * squared_distances(first, second)
    own = torch.arange(len(logits), device=logits.device)
    return 0.5 * (cross_entropy(logits, own) + cross_entropy(logits.T, own))


# The generator of a GAN: z has the sampled codes, decoded the generated rows


def critic_score(batch: Batch) -> Tensor:
    """-E D(G(z)), the generator's term of equation 16 (seed 003)."""
    return -batch.discriminator(batch.decoded).mean()


def unconvincing(batch: Batch) -> Tensor:
    """-E log D(G(z)), with D the probability that a row is real (seed 003, equation 15)."""
    return softplus(-at_least_float32(batch.discriminator(batch.decoded))).mean()


def code_error(batch: Batch) -> Tensor:
    """-E log Q(c | G(c, noise)) (seed 003, equation 13) of normal codes and a categorical one."""
    continuous = batch.mean.shape[1]
    codes, category = batch.z[:, :continuous], batch.z[:, continuous:]
    loss = -gaussian_log_density(codes, batch.mean, batch.log_variance).sum(dim=1).mean()
    if category.shape[1]:
        loss = loss + cross_entropy(batch.logits, category)
    return loss
