"""Triplet losses on latents, plain and adaptive."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus

from geodis.models.terms.sharing import shared_latents


def lp_distance(a: Tensor, b: Tensor, p: int = 1) -> Tensor:
    """Distance of every pair of rows, shape (n,), for p = 1 or 2; gradient zero at zero."""
    difference = a - b
    if p == 1:
        return difference.abs().sum(dim=1)
    # The root of zero has no gradient; a pair of equal rows should have none, not NaN.
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
    """Triplet loss that pushes anchor and negative apart along few latents, shape (n,).

    The distance of anchor and negative is weighted, `d(w * anchor, w * negative)` with
    `w_i = shared_weight` where latent i is shared and 1 elsewhere (seed 001, equations 5.17 to
    5.21): distances are cheaper to encode in latents that are not shared.

    Parameters
    ----------
    anchor, positive, negative : Tensor of shape (n, z)
    p : {1, 2}
    margin : float, optional
        Hard margin; soft without one.
    strength : float
        Averaging strength eta of `shared_latents`.
    shared_weight : float
        Weight omega of shared latents, 0 to 1; 1 gives the plain triplet loss.
    deltas : Tensor of shape (n, z), optional
        Distances along every latent that decide what is shared; |anchor - negative| by default.
    """
    if deltas is None:
        deltas = (anchor - negative).abs()
    shared = shared_latents(deltas.detach(), strength)
    # Not `where`, which makes its numbers on the CPU.
    weight = shared.to(anchor.dtype) * shared_weight + (~shared).to(anchor.dtype)
    gap = lp_distance(anchor, positive, p) - lp_distance(weight * anchor, weight * negative, p)
    return _of_gap(gap, margin)


def _of_gap(gap: Tensor, margin: float | None) -> Tensor:
    return softplus(gap) if margin is None else (margin + gap).clamp(min=0)
