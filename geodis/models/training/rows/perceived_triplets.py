"""Triplets of the rows of one batch, ordered by a loss, where the rows are."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from geodis.base.check import InputError


def ordered_triplets(x: Tensor, rng: np.random.Generator, loss: Any) -> Tensor:
    """Triplets of the rows of one batch, the nearer by the loss as positive (seed 001, 5.24).

    As many triplets as rows: every row is an anchor, with two other rows at random.
    """
    n = len(x)
    if n < 3:
        raise InputError(f"Triplets need batches of at least 3 rows; got {n}.")
    # Two different shifts around the circle of rows: no row meets itself.
    anchor = torch.arange(n, device=x.device)
    first, second = ((anchor + int(shift)) % n for shift in rng.permutation(n - 1)[:2] + 1)
    # Where the rows are, and with the loss that moved there with its model.
    with torch.no_grad():
        near, far = (_distance(x, x[other], loss) for other in (first, second))
        swap = near > far
        positive, negative = torch.where(swap, second, first), torch.where(swap, first, second)
        return x[torch.cat([anchor, positive, negative])]


def _distance(a: Tensor, b: Tensor, loss: Any) -> Tensor:
    if callable(loss):
        return loss(a, b)
    # The Bernoulli loss compares logits with images; between images it orders as their squares do.
    return (a - b).square().flatten(1).mean(dim=1)
