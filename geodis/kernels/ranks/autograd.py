"""Soft ranks and sorts of tensors: a shell of torch over the arithmetic of `soft_ranks`."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from geodis.kernels.ranks.soft_ranks import Regularization, soft_rank_vjp
from geodis.kernels.torch_extra import torch


class _ArrayOperation(torch.autograd.Function):
    """Run an operation that returns (result, vjp) on the values as an array."""

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, operation: Callable, *options: Any) -> torch.Tensor:
        result, ctx.vjp = operation(values.detach().cpu().double().numpy(), *options)
        ctx.options = len(options)
        return torch.from_numpy(result).to(values)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        pulled = torch.from_numpy(ctx.vjp(gradient.cpu().double().numpy())).to(gradient)
        return pulled, None, *[None] * ctx.options


def apply_to_tensor(
    operation: Callable, values: torch.Tensor, strength: float, regularization: Regularization
) -> torch.Tensor:
    """Apply `soft_rank_vjp` or `soft_sort_vjp` to a tensor, with its gradient.

    On a GPU torchsort saves the way to the CPU and back, where it is installed.
    """
    if not values.is_floating_point():  # ranks of whole numbers are not whole numbers
        values = values.to(torch.get_default_dtype())
    if values.is_cuda and regularization == "l2" and find_spec("torchsort") is not None:
        return with_torchsort(operation, values, strength)
    return _ArrayOperation.apply(values, operation, strength, regularization)


def with_torchsort(operation: Callable, values: torch.Tensor, strength: float) -> torch.Tensor:
    """Compute the l2 operation with torchsort, in float64 as here."""
    import torchsort

    theirs = torchsort.soft_rank if operation is soft_rank_vjp else torchsort.soft_sort
    rows = values.reshape(-1, values.shape[-1]).double()
    result = theirs(rows, regularization="l2", regularization_strength=strength)
    return result.reshape(values.shape).to(values.dtype)
