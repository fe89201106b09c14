"""M linear layers side by side, (M, out, in), with a gradient that copies nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn


class _BatchedLinear(torch.autograd.Function):
    """y_m = x_m W_m^T + b_m.

    The gradient of W_m is g_m^T x_m, in the memory layout of W_m: that of a batched product with
    the transposed weights comes out transposed and is copied, at a third of a step's cost.
    """

    @staticmethod
    def forward(context: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Return y, shape (M, n, out)."""
        kind = x.device.type
        casts = torch.is_autocast_enabled(kind)
        if casts:
            dtype = torch.get_autocast_dtype(kind)
            x, weight, bias = x.to(dtype), weight.to(dtype), bias.to(dtype)
        context.save_for_backward(x, weight)
        with torch.autocast(kind, enabled=False) if casts else nullcontext():
            return torch.baddbmm(bias, x, weight.transpose(1, 2))

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of x, of the weights and of the biases, where they are asked for."""
        x, weight = context.saved_tensors
        of_x, of_weight, of_bias = context.needs_input_grad
        slope = gradients[0]
        return (
            torch.bmm(slope, weight) if of_x else None,
            torch.bmm(slope.transpose(1, 2), x).float() if of_weight else None,
            slope.sum(dim=1, keepdim=True).float() if of_bias else None,
        )


class StackedLinear(nn.Module):
    """M linear layers: y_m = x_m W_m^T + b_m, for x of shape (M, n, in).

    Weights lie in memory as in the layers, so that products round alike.

    Parameters
    ----------
    layers : sequence of M Linear
        Of one shape; `write_back` gives each its trained weights.

    Examples
    --------
    >>> layers = [nn.Linear(3, 2) for _ in range(4)]
    >>> x = torch.rand(4, 5, 3)
    >>> bool(torch.allclose(StackedLinear(layers)(x)[1], layers[1](x[1]), atol=1e-6))
    True
    """

    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        super().__init__()
        self._layers = list(layers)  # a list: these are no parts of this module
        self.weight = nn.Parameter(torch.stack([layer.weight.detach() for layer in layers]))
        self.bias = nn.Parameter(torch.stack([layer.bias.detach()[None] for layer in layers]))

    def forward(self, x: Tensor) -> Tensor:
        """Return y, shape (M, n, out)."""
        y: Tensor = _BatchedLinear.apply(x, self.weight, self.bias)
        return y

    @torch.no_grad()
    def write_back(self) -> None:
        """Give every layer its own weights."""
        for number, layer in enumerate(self._layers):
            layer.weight.copy_(self.weight[number])
            layer.bias.copy_(self.bias[number, 0])
