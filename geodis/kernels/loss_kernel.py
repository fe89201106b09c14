"""Reconstruction losses that also compare images under a convolution or a small network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

import numpy as np

from geodis.base.check import (
    InputError,
    check_choice,
    check_finite,
    check_int,
    check_numeric,
    check_real,
    to_numpy,
)
from geodis.kernels.augmented import (
    AugmentedLoss,
    Method,
    PixelLoss,
    PixelLossName,
    Support,
    convolve,
    transform_size,
)
from geodis.kernels.torch_extra import torch

if TYPE_CHECKING:
    from typing_extensions import Unpack


KernelNormalisation = Literal["none", "sum"]


class ByHandOptions(TypedDict, total=False):
    """Options of predefined kernels, which are normalised already."""

    loss: PixelLossName | PixelLoss
    scale: float
    support: Support
    method: Method


class LossKernel(AugmentedLoss):
    """L(x, y) + alpha L(h * x, h * y): equation 3.8, and 6.3 with a linear augmentation.

    A torch module that serves as reconstruction loss of a model, for a batch or for every pair, and
    as distance between images for `geodis.distances`. Means are over pixels and channels.

    Parameters
    ----------
    weights : array-like or tensor
        h, of odd size s: (s, s) for all channels, (c, s, s) for c channels, (k, 1, s, s) or
        (k, c, s, s) for a bank of k kernels, whose maps are all compared. They are frozen.
    alpha : float
        Weight of the second term.
    loss : {"mse", "mae", "bce"} or callable
        L. Cross-entropy needs convolved images in [0, 1]: a non-negative kernel with sum at most 1.
    scale : float
        Factor of the loss.
    support : {"same", "full"}
        Crop h * x to the size of the image, as published, or keep the full result. Sums over the
        full result are still divided by the number of pixels of the image.
    normalise : {"none", "sum"}
        Divide each kernel by its sum, as published for predefined kernels, but not for learnt
        ones.
    method : {"auto", "fft", "direct"}
        As in `convolve`.

    Attributes
    ----------
    weights : tensor of shape (k, c or 1, s, s)
    radius : int

    Examples
    --------
    >>> kernel = LossKernel.box(radius=1)
    >>> x, y = np.zeros((2, 1, 5, 5, 1), np.float32)
    >>> x[0, 2, 1], y[0, 2, 3] = 1, 1
    >>> kernel(x, y).round(4)  # (2 + 9 x 12 / 81) / 25
    array([0.1333], dtype=float32)
    """

    weights: torch.Tensor

    def __init__(
        self,
        weights: Any,
        *,
        alpha: float = 1.0,
        loss: PixelLossName | PixelLoss = "mse",
        scale: float = 1.0,
        support: Support = "same",
        normalise: KernelNormalisation = "none",
        method: Method = "auto",
    ) -> None:
        super().__init__(alpha, loss, scale)
        self.support: Support = check_choice(support, "support", get_args(Support))
        self.method: Method = check_choice(method, "method", get_args(Method))
        self.register_buffer("weights", _checked_weights(weights, normalise))
        if loss == "bce" and not (
            bool((self.weights >= 0).all()) and float(self.weights.sum((-1, -2)).max()) <= 1 + 1e-5
        ):
            raise InputError(
                "loss='bce' needs kernels without negative weights whose sum is at most 1, so that "
                "augmented images stay in [0, 1]; use normalise='sum'."
            )

    @classmethod
    def box(
        cls, radius: int, alpha: float | None = None, **options: Unpack[ByHandOptions]
    ) -> LossKernel:
        """Make a uniform kernel with sum 1; alpha is (2 radius + 1)^2 by default.

        Examples
        --------
        >>> LossKernel.box(31).alpha
        3969.0
        """
        size = 2 * check_int(radius, "radius", low=0) + 1
        return cls(np.ones((size, size)), **_by_hand(size, alpha), **options)

    @classmethod
    def gaussian(
        cls,
        radius: int,
        sigma: float | None = None,
        alpha: float | None = None,
        **options: Unpack[ByHandOptions],
    ) -> LossKernel:
        """Make a Gaussian kernel with sum 1; sigma is radius / 4 by default.

        Examples
        --------
        >>> LossKernel.gaussian(4).weights.shape
        torch.Size([1, 1, 9, 9])
        """
        size = 2 * check_int(radius, "radius", low=1) + 1
        sigma = radius / 4 if sigma is None else check_real(sigma, "sigma")
        if sigma <= 0:
            raise InputError(f"sigma must be positive; got {sigma}.")
        row = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
        return cls(np.outer(row, row), **_by_hand(size, alpha), **options)

    def own_options(self) -> dict[str, Any]:
        """Return the options of the convolution."""
        return {"support": self.support, "method": self.method}

    def to_config(self) -> dict[str, Any]:
        """Return the configuration with the shape of the weights."""
        return {**super().to_config(), "shape": list(self.weights.shape)}

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], tensors: Mapping[str, torch.Tensor] | None = None
    ) -> LossKernel:
        """Rebuild a kernel with its weights, or with zeros of their shape."""
        weights = torch.zeros(config["shape"]) if tensors is None else tensors["weights"]
        return cls(weights, **config["options"])

    @property
    def radius(self) -> int:
        """Return the radius of the kernels: (size - 1) / 2."""
        return self.weights.shape[-1] // 2

    @property
    def name(self) -> str:
        """Return the name of the loss in tables."""
        kernels = "" if len(self.weights) == 1 else f", {len(self.weights)} kernels"
        return f"kernel r{self.radius}{kernels}, {self.support}"

    def augment(self, images: torch.Tensor) -> torch.Tensor:
        """Convolve images (n, c, h, w); return maps h * x (n, k c, h', w')."""
        self._check_images(images)
        weights = self.weights.to(images.dtype)
        maps = convolve(images[:, None], weights[None], self.support, self.method)
        return maps.flatten(1, 2)  # (n, k, c, h', w') -> (n, k c, h', w')

    def extra_repr(self) -> str:
        """Show sizes and options when printed."""
        k, c, size, _ = self.weights.shape
        return f"{k} x {c} x {size} x {size}, alpha={self.alpha:g}, support={self.support!r}"

    def _pairs(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if self.loss != "mse":
            augments = self._pixel_loss(self.augment(x), self.augment(y))
            if self.support == "full":  # divide by the pixels of the image, as for "same"
                augments = augments * (_grown(x, self.radius) / x[0, 0].numel())
            return self._pixel_loss(x, y) + self.alpha * augments
        # h is linear, so that one convolution of the difference is enough.
        difference = x - y
        self._check_images(difference)
        return difference.square().flatten(1).mean(1) + self.alpha * self._energy(difference)

    def _energy(self, difference: torch.Tensor) -> torch.Tensor:
        """Compute the mean of (h * d)^2 over the image and the maps."""
        _, c, h, w = difference.shape
        entries = len(self.weights) * c * h * w
        if self.support == "same" or self.method == "direct":
            return self.augment(difference).square().flatten(1).sum(1) / entries
        # Parseval: sum of |h * d|^2 = sum of |H|^2 |D|^2 / period, without an inverse transform.
        shape = [transform_size(length, self.radius, full=True) for length in (h, w)]
        power = torch.fft.rfft2(difference, s=shape).abs().square()
        gain = torch.fft.rfft2(self.weights.to(difference.dtype), s=shape).abs().square()
        both = torch.full((shape[1] // 2 + 1,), 2.0, device=power.device, dtype=power.dtype)
        both[0] = 1.0  # columns of the half spectrum without a mirror image
        if shape[1] % 2 == 0:
            both[-1] = 1.0
        gain = (gain.sum(0) * both).expand(c, -1, -1)
        return torch.einsum("nchw,chw->n", power, gain) / (shape[0] * shape[1] * entries)

    def _mean_over(self, maps: tuple[int, ...], image: tuple[int, ...]) -> int:
        return int(maps[0] * np.prod(image))

    def _check_images(self, images: torch.Tensor) -> None:
        channels, radius = self.weights.shape[1], self.radius
        if channels not in (1, images.shape[1]):
            raise InputError(
                f"The kernels are for images with {channels} channels; got {images.shape[1]}."
            )
        check_radius(radius, tuple(images.shape[-2:]))


def check_radius(radius: int, image: tuple[int, ...]) -> None:
    """Require a radius smaller than the larger side of the image."""
    if radius >= max(image):
        raise InputError(
            f"A kernel of radius {radius} needs images of more than {radius} pixels; got images of "
            f"{' x '.join(map(str, image))}."
        )


def _grown(images: torch.Tensor, radius: int) -> int:
    h, w = images.shape[-2:]
    return (h + 2 * radius) * (w + 2 * radius)


def _by_hand(size: int, alpha: float | None) -> dict[str, Any]:
    return {"alpha": float(size**2) if alpha is None else alpha, "normalise": "sum"}


def _checked_weights(weights: Any, normalise: KernelNormalisation) -> torch.Tensor:
    """Check weights and convert them to float32 of shape (k, c or 1, s, s)."""
    check_choice(normalise, "normalise", get_args(KernelNormalisation))
    array = check_numeric(to_numpy(weights, "weights"), "weights")
    if array.ndim not in (2, 3, 4) or array.shape[-1] != array.shape[-2] or 0 in array.shape:
        raise InputError(
            f"weights must have shape (s, s), (c, s, s) or (k, c, s, s); got shape {array.shape}."
        )
    if array.shape[-1] % 2 == 0:
        raise InputError(f"weights must have an odd size, with a middle; got {array.shape[-1]}.")
    check_finite(array, "weights")
    array = array.astype(float).reshape((1,) * (4 - array.ndim) + array.shape)
    if normalise == "sum":
        total = array.sum(axis=(-1, -2), keepdims=True)
        if (np.abs(total) <= 1e-12 * np.abs(array).sum(axis=(-1, -2), keepdims=True)).any():
            raise InputError("normalise='sum' needs kernels that do not sum to zero.")
        array = array / total
    return torch.from_numpy(array.astype(np.float32))


# FeatureLoss: for data whose distances no single convolution orders, because images differ in their
# content rather than in positions.

KERNEL_SIZE = 5


def check_widths(widths: Any) -> tuple[int, ...]:
    """Check the number of maps after each layer; at least one layer is needed."""
    if isinstance(widths, str) or not isinstance(widths, Iterable):
        raise InputError(f"widths must be whole numbers such as (16, 32, 32); got {widths!r}.")
    checked = tuple(check_int(width, "A width", low=1) for width in widths)
    if not checked:
        raise InputError("widths must have one number a layer; got none.")
    return checked


class FeatureLoss(AugmentedLoss):
    """L(x, y) + alpha L(h(x), h(y)) with h a small convolutional network (6.3).

    Each layer halves height and width: the receptive field of three layers is 29 pixels, of four 61
    pixels. Layers are separated by GELU. Used like `LossKernel`.

    Parameters
    ----------
    channels : int
        Channels of the images.
    widths : sequence of int
        Number of maps after each layer.
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
        self.layers = torch.nn.Sequential(*steps[:-1])  # no activation after the last layer

    def own_options(self) -> dict[str, Any]:
        """Return channels and widths."""
        return {"channels": self.channels, "widths": list(self.widths)}

    @property
    def name(self) -> str:
        """Return the name of the loss in tables."""
        return f"features {'-'.join(map(str, self.widths))}"

    def augment(self, images: torch.Tensor) -> torch.Tensor:
        """Map images (n, c, h, w) to (n, last width, about h / 2^layers, w / 2^layers)."""
        if images.shape[1] != self.channels:
            raise InputError(
                f"The features are of images with {self.channels} channels; got {images.shape[1]}."
            )
        return self.layers(images.to(next(self.parameters()).dtype))
