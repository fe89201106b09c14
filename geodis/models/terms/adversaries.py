"""What the second player of an adversarial model lowers."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from geodis.models.model_inputs import at_least_float32


def permuted_latents(z: Tensor) -> Tensor:
    """Shuffle every column by itself: a sample of prod_j q(z_j) (seed 003, algorithm 1)."""
    order = torch.rand(z.shape, device=z.device).argsort(dim=0)
    return z.gather(0, order)


def discriminator_loss(
    discriminator: Callable[[Tensor], Tensor], first: Tensor, second: Tensor
) -> Tensor:
    """Cross-entropy of telling `first` (class 0) from `second` (class 1), half the weight each."""
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
        Rows -> one number a row.
    real, fake : Tensor of shape (n, ...)
    part : Tensor of shape (n,), optional
        Uniform in [0, 1] by default.
    """
    part = torch.rand(len(real), device=real.device) if part is None else part
    part = part.reshape(-1, *(1,) * (real.ndim - 1))
    between = (part * real + (1 - part) * fake).detach().requires_grad_(True)
    # Rows do not touch one another in the critic, so the gradient of the sum has theirs as rows.
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return (slope.flatten(1).norm(dim=1) - 1).square().mean()
