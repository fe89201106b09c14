"""FeatureLoss: a reconstruction loss that also compares images under a small convolutional map.

For data on which no single convolution orders distances: what differs is not where, but what.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from geodis.base.check import InputError, check_int
from geodis.kernels.losses.augmented import AugmentedLoss, PixelLoss, PixelLossName
from geodis.kernels.torch_extra import torch

KERNEL_SIZE = 5


def check_widths(widths: Any) -> tuple[int, ...]:
    """Return the number of maps after each layer, at least one layer."""
    if isinstance(widths, str) or not isinstance(widths, Iterable):
        raise InputError(f"widths must be whole numbers such as (16, 32, 32); got {widths!r}.")
    checked = tuple(check_int(width, "A width", low=1) for width in widths)
    if not checked:
        raise InputError("widths must have one number a layer; got none.")
    return checked


class FeatureLoss(AugmentedLoss):
    """L(x, y) + alpha L(h(x), h(y)) with h a small convolutional network (6.3).

    Each layer halves height and width, so that three see 29 pixels and four see 61; a smooth
    nonlinearity stands between layers. Used like `LossKernel`.

    Parameters
    ----------
    channels : int
        Channels of the images.
    widths : sequence of int
        Maps after each layer.
    alpha, loss, scale
        As for `LossKernel`.

    Attributes
    ----------
    layers : torch.nn.Sequential
        h; frozen by `learn_features`.

    Examples
    --------
    >>> loss = FeatureLoss(3, widths=(8, 16))
    >>> loss.augment(torch.zeros(2, 3, 64, 64)).shape
    torch.Size([2, 16, 16, 16])
    """

    def __init__(
        self,
        channels: int,
        widths: Sequence[int] = (16, 32, 32),
        *,
        alpha: float = 1.0,
        loss: PixelLossName | PixelLoss = "mse",
        scale: float = 1.0,
    ) -> None:
        super().__init__(alpha, loss, scale)
        if loss == "bce":
            raise InputError("loss='bce' needs augments in [0, 1], and features are any numbers.")
        self.channels = check_int(channels, "channels", low=1)
        self.widths = check_widths(widths)
        steps: list[torch.nn.Module] = []
        for before, after in zip((channels, *self.widths), self.widths, strict=False):
            steps += [
                torch.nn.Conv2d(before, after, KERNEL_SIZE, stride=2, padding=2),
                torch.nn.GELU(),
            ]
        self.layers = torch.nn.Sequential(*steps[:-1])  # the last maps are compared as they are

    def own_options(self) -> dict[str, Any]:
        """Channels and widths."""
        return {"channels": self.channels, "widths": list(self.widths)}

    @property
    def name(self) -> str:
        """What to call the loss in a table."""
        return f"features {'-'.join(map(str, self.widths))}"

    def augment(self, images: torch.Tensor) -> torch.Tensor:
        """h: images (n, c, h, w) -> maps (n, last width, about h / 2^layers, w / 2^layers)."""
        if images.shape[1] != self.channels:
            raise InputError(
                f"The features are of images with {self.channels} channels; got {images.shape[1]}."
            )
        return self.layers(images.to(next(self.parameters()).dtype))
