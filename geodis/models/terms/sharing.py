"""Which latents two observations share, and the average of those that they do."""

from __future__ import annotations

import torch
from torch import Tensor

from geodis.models.terms.gaussians import gaussian_pair_kl


def latent_deltas(
    mean_a: Tensor, log_variance_a: Tensor, mean_b: Tensor, log_variance_b: Tensor, kind: str
) -> Tensor:
    """Distance of two posteriors along every latent: "kl", "symmetric_kl" or "absolute".

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
    """Say which latents two observations share.

    With `tau = (1 - strength) min_i delta_i + strength max_i delta_i`, latent i is shared where
    `delta_i < tau` (seed 001, equations 2.13, 2.14 and 5.16); strength 0.5 is the published rule
    of the adaptive VAEs, and 0 shares nothing.

    Parameters
    ----------
    deltas : Tensor of shape (n, z)
        Distance between the two observations along every latent.
    strength : float
        Averaging strength eta, 0 to 1.

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
    # Written from `low` on, so that strength 0 shares nothing whatever the rounding.
    return deltas < low + strength * (high - low)


def average_shared(
    mean: Tensor, log_variance: Tensor, *, kind: str, average: str, strength: float = 0.5
) -> tuple[Tensor, Tensor]:
    """Average the posteriors of the latents that the two rows of a pair share.

    Seed 001, equations 2.10, 2.11 and 5.16. Latents that differ stay as they are.

    Parameters
    ----------
    mean, log_variance : Tensor of shape (2 n, z)
        First members, then second members.
    kind : {"symmetric_kl", "kl", "absolute"}
        Which distance decides what is shared.
    average : {"gvae", "gvae-std", "ml-vae"}
        "gvae": mean of means and of variances (equation 2.16, whose sigma is a diagonal
        covariance, section 2.1.3; so do the published implementations). "gvae-std": mean of
        standard deviations instead. "ml-vae": mean of precisions 1 / variance, and the mean of
        means that these weigh, as in the software of Locatello et al. 2020 (disentanglement_lib,
        MLVae). It is the normalised geometric mean sqrt(q_a q_b): the product q_a q_b that the
        papers name has the same mean, but half the variance.
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
