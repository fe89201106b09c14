"""Differentiable correlations: Spearman's through soft ranks, and Pearson's.

Spearman's coefficient is Pearson's coefficient of the ranks. Soft ranks of equal values are equal
and averaged for any strength, so that ties count as in scipy. As the strength falls to 0 the result
is Spearman's coefficient; as it grows (l2) it is Pearson's.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_finite, check_numeric, check_real, to_numpy
from geodis.kernels.soft_ranks import Regularization, soft_rank, soft_rank_vjp
from geodis.kernels.torch_extra import torch


def soft_spearman(
    a: Any, b: Any, strength: float | None = 1.0, regularization: Regularization = "l2"
) -> Any:
    """Compute Spearman's rank correlation of a and b, smooth in both.

    With r the soft ranks, centred, along the last axis,

        soft_spearman(a, b) = <r(a), r(b)> / (|r(a)| |r(b)|).

    Parameters
    ----------
    a, b : array-like or torch tensor of shape (..., n)
        Both arrays or both tensors. A tensor without gradient has no backward pass.
    strength : float or None
        As in `soft_rank`, in units of the values; None takes `relative_strength` of each, so
        that the result does not depend on the scale of either.
    regularization : {"l2", "kl"}

    Returns
    -------
    float, or ndarray or tensor of shape (...,)

    Examples
    --------
    >>> round(soft_spearman([1, 2, 3, 4], [1, 2, 4, 3], strength=1e-3), 3)
    0.8
    >>> round(soft_spearman([1, 2, 3, 4], [1, 2, 4, 3], strength=10.0), 3)
    0.8
    """
    a, b = _checked_pair(a, b)
    strengths = [relative_strength(x) if strength is None else strength for x in (a, b)]
    ranks = [soft_rank(x, s, regularization) for x, s in zip((a, b), strengths, strict=True)]
    return _cosine(*ranks)


def pearson(a: Any, b: Any) -> Any:
    """Compute Pearson's correlation of a and b along the last axis; differentiable for tensors.

    Parameters
    ----------
    a, b : array-like or torch tensor of shape (..., n)

    Returns
    -------
    float, or ndarray or tensor of shape (...,)

    Examples
    --------
    >>> round(pearson([1, 2, 3], [1, 2, 4]), 4)
    0.982
    """
    return _cosine(*_checked_pair(a, b))


def relative_strength(values: Any, softness: float = 1.0) -> float:
    """Choose a strength for values of any scale: `softness` times the mean gap between them.

    Uniform values with standard deviation s have gaps of sqrt(12) s / n. At that strength the rank
    of a value is blended with its neighbours, and the gradient shows how to reorder those. Learning
    from few, noisy pairs needs more softness: at softness n / 3 about a third of the values
    contribute to each rank, and beyond n the ranks are the values and the correlation is Pearson's.
    The result is constant in the gradient.

    Parameters
    ----------
    values : array-like or torch tensor of shape (..., n)
        All rows share one strength, for the largest standard deviation.
    softness : float

    Returns
    -------
    float

    Examples
    --------
    >>> round(relative_strength(range(1000)), 3)
    1.0
    """
    softness = check_real(softness, "softness")
    if softness <= 0:
        raise InputError(f"softness must be positive; got {softness}.")
    array = check_finite(check_numeric(to_numpy(values, "values"), "values"), "values")
    spread = float(array.astype(float).std(axis=-1).max(initial=0.0))
    if spread == 0:
        raise InputError("A strength relative to the spread needs values that differ.")
    return float(softness * np.sqrt(12) * spread / array.shape[-1])


def _cosine(a: Any, b: Any) -> Any:
    a = a - a.mean(-1)[..., None]
    b = b - b.mean(-1)[..., None]
    norm = ((a * a).sum(-1) * (b * b).sum(-1)) ** 0.5
    result = (a * b).sum(-1) / norm
    return float(result) if isinstance(result, np.floating) else result


def _checked_pair(a: Any, b: Any) -> tuple[Any, Any]:
    """Convert both to float64 arrays, or keep two tensors; require rows that vary."""
    tensors = [hasattr(x, "detach") for x in (a, b)]
    if not all(tensors):
        if any(tensors) and any(x.requires_grad for x in (a, b) if hasattr(x, "detach")):
            raise InputError("a and b must both be tensors where a gradient is wanted.")
        a, b = (
            check_numeric(to_numpy(x, name), name).astype(float) for x, name in ((a, "a"), (b, "b"))
        )
    a, b = (x.double() if hasattr(x, "detach") and not x.is_floating_point() else x for x in (a, b))
    if a.shape != b.shape or len(a.shape) == 0 or a.shape[-1] < 2:
        raise InputError(
            "A correlation needs a and b of one shape (..., n) with n >= 2; "
            f"got {tuple(a.shape)} and {tuple(b.shape)}."
        )
    for x, name in ((a, "a"), (b, "b")):
        spread = to_numpy(x.max(-1)[0] - x.min(-1)[0] if all(tensors) else np.ptp(x, axis=-1))
        if not np.isfinite(spread).all():
            raise InputError(f"{name} must be finite; got NaN or infinity.")
        if not (spread > 0).all():
            raise InputError(
                f"A correlation needs values that differ; all {x.shape[-1]} of {name} are equal."
            )
    return a, b


# Soft ranks and sorts of tensors, computed by `soft_ranks` on arrays


class _ArrayOperation(torch.autograd.Function):
    """Apply an array operation that returns (result, vjp)."""

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

    On a GPU torchsort avoids copies to the CPU and back, if it is installed.
    """
    if not values.is_floating_point():  # soft ranks of integers are not integers
        values = values.to(torch.get_default_dtype())
    if values.is_cuda and regularization == "l2" and find_spec("torchsort") is not None:
        return with_torchsort(operation, values, strength)
    return _ArrayOperation.apply(values, operation, strength, regularization)


def with_torchsort(operation: Callable, values: torch.Tensor, strength: float) -> torch.Tensor:
    """Compute the l2 operation with torchsort in float64."""
    import torchsort

    theirs = torchsort.soft_rank if operation is soft_rank_vjp else torchsort.soft_sort
    rows = values.reshape(-1, values.shape[-1]).double()
    result = theirs(rows, regularization="l2", regularization_strength=strength)
    return result.reshape(values.shape).to(values.dtype)
