"""The base class of learnt losses, and the convolution of images with kernels.

A learnt loss adds a pixel loss between augmented images to the pixel loss between images:

L(x, y) = scale (L_rec(x, y) + alpha L_rec(h(x), h(y)))                             (6.3)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from scipy.fft import next_fast_len

from geodis.base.check import InputError, check_choice, check_real, to_numpy
from geodis.base.plugins import Numbered
from geodis.kernels.torch_extra import torch

PixelLoss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
PixelLossName = Literal["mse", "mae", "bce"]
Reduction = Literal["none", "mean", "sum"]

PIXEL_LOSSES: dict[str, PixelLoss] = {
    "mse": lambda x, y: (x - y) ** 2,
    "mae": lambda x, y: (x - y).abs(),
    # x is the observation, y the prediction. Clamped, because rounding of Fourier transforms can
    # leave values slightly outside [0, 1].
    "bce": lambda x, y: torch.nn.functional.binary_cross_entropy(
        y.clamp(0, 1), x.clamp(0, 1), reduction="none"
    ),
}

# Pairs of arrays that are augmented together: tens of megabytes at 64 x 64 x 3 and radius 63.
ARRAY_BATCH = 128

Loss = TypeVar("Loss", bound="AugmentedLoss")


class AugmentedLoss(Numbered, torch.nn.Module):
    """Base of `LossKernel` and `FeatureLoss`, which define `augment`.

    Parameters
    ----------
    alpha : float
        Weight of the augmented term.
    loss : {"mse", "mae", "bce"} or callable
        The pixel loss; a callable takes two tensors of one shape and returns that shape, or
        shape (n,).
    scale : float
        Factor of the loss. Ranks do not determine it. If the loss is as large as the pixel loss on
        average, the weights of a model's other terms, such as beta, keep their meaning.

    Attributes
    ----------
    made : dict
        How the loss was learnt: settings, correlations, seconds. Empty if it was not learnt.
    """

    def __init__(
        self, alpha: float = 1.0, loss: PixelLossName | PixelLoss = "mse", scale: float = 1.0
    ) -> None:
        super().__init__()
        self.alpha = check_real(alpha, "alpha", low=0)
        self.scale = check_real(scale, "scale", low=0)
        if not callable(loss):
            check_choice(loss, "loss", tuple(PIXEL_LOSSES))
        self.loss: PixelLossName | PixelLoss = loss
        self.made: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """Return the name of the loss in tables."""
        return type(self).__name__

    def augment(self, images: torch.Tensor) -> torch.Tensor:
        """Apply h to images (n, c, h, w); return maps (n, c', h', w')."""
        raise NotImplementedError

    def own_options(self) -> dict[str, Any]:
        """Return the additional constructor options of a subclass, as plain values."""
        return {}

    def to_config(self) -> dict[str, Any]:
        """Return kind, options and `made` as plain values, without the tensors."""
        if callable(self.loss):
            raise InputError(
                f"A {type(self).__name__} can be written with a pixel loss that has a name; got a "
                "function as its pixel loss."
            )
        options = {"alpha": self.alpha, "loss": self.loss, "scale": self.scale}
        return {
            "kind": type(self).__name__,
            "options": {**options, **self.own_options()},
            "made": self.made,
        }

    @classmethod
    def from_config(
        cls: type[Loss],
        config: Mapping[str, Any],
        tensors: Mapping[str, torch.Tensor] | None = None,
    ) -> Loss:
        """Rebuild a loss from the result of `to_config`.

        Its tensors have the right shapes and are filled by `load_state_dict`. Known tensors are
        passed as `tensors`, for constructors that take them.
        """
        return cls(**config["options"])

    def forward(self, x: Any, y: Any, reduction: Reduction = "none") -> Any:
        """Compute the loss of every pair, or its mean or sum.

        Parameters
        ----------
        x, y : tensors (n, c, h, w), or arrays (n, h, w, c)
            Images with values in [0, 1]; bytes are scaled.
        reduction : {"none", "mean", "sum"}

        Returns
        -------
        tensor, or array of float32, of shape (n,); a number unless reduction is "none"
        """
        check_choice(reduction, "reduction", get_args(Reduction))
        if not isinstance(x, torch.Tensor):
            return _reduced(self._on_arrays(x, y), reduction)
        if x.ndim != 4 or x.shape != y.shape:
            raise InputError(
                "A loss needs two tensors of one shape (n, c, h, w); "
                f"got {tuple(x.shape)} and {tuple(y.shape)}."
            )
        x, y = (_as_float(images) for images in (x, y))
        return _reduced(self.scale * self._pairs(x, y), reduction)

    def _pairs(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Compute the unscaled loss of every pair."""
        pixel = self._pixel_loss(x, y)
        return pixel + self.alpha * self._pixel_loss(self.augment(x), self.augment(y))

    def _pixel_loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        function = self.loss if callable(self.loss) else PIXEL_LOSSES[self.loss]
        losses = function(x, y)
        if losses.ndim == 0 or len(losses) != len(x):
            raise InputError(
                f"A pixel loss must return the shape of the images or ({len(x)},), one number a "
                f"pair; got shape {tuple(losses.shape)}."
            )
        return losses.flatten(1).mean(1) if losses.ndim > 1 else losses

    def _on_arrays(self, x: Any, y: Any) -> np.ndarray:
        x, y = (_checked_images(images) for images in (x, y))
        if x.ndim != 4 or x.shape != y.shape:
            raise InputError(
                "A loss needs two arrays of images of one shape (n, h, w, c); "
                f"got {x.shape} and {y.shape}."
            )
        losses = [np.zeros(0, np.float32)]
        with torch.no_grad():
            for start in range(0, len(x), ARRAY_BATCH):
                rows = slice(start, start + ARRAY_BATCH)
                pair = (self._tensor(images[rows]) for images in (x, y))
                losses.append((self.scale * self._pairs(*pair)).cpu().numpy())
        return np.concatenate(losses)

    def _tensor(self, images: np.ndarray) -> torch.Tensor:
        """Convert arrays (n, h, w, c) to a tensor (n, c, h, w) on the device of the parameters."""
        place: Iterable[torch.Tensor] = (*self.parameters(), *self.buffers())
        channels_first = np.ascontiguousarray(images.transpose(0, 3, 1, 2))
        tensor = _as_float(torch.from_numpy(channels_first)).float()
        return tensor.to(next(iter(place)).device)

    @property
    def parts(self) -> Callable[[np.ndarray], list[tuple[float, np.ndarray]]]:
        """Return a function that splits images into parts with weights, for `geodis.distances`.

        With mean squared error the loss is a weighted sum of squared differences of images and
        augmented images, so that each image is augmented once for all its pairs. Other pixel losses
        do not have this attribute.
        """
        if self.loss != "mse":
            raise AttributeError("only a mean squared error splits into parts")
        return self._parts

    def _parts(self, images: np.ndarray) -> list[tuple[float, np.ndarray]]:
        unit = 255.0**2 if images.dtype == np.uint8 else 1.0
        pixels = max(int(np.prod(images.shape[1:])), 1)
        with torch.no_grad():
            maps = [
                self.augment(self._tensor(images[start : start + ARRAY_BATCH])).cpu().numpy()
                for start in range(0, max(len(images), 1), ARRAY_BATCH)
            ]
        augments = np.concatenate(maps)
        entries = max(self._mean_over(augments.shape[1:], images.shape[1:3]), 1)
        return [
            (self.scale / (unit * pixels), images),
            (self.scale * self.alpha / entries, augments),
        ]

    def _mean_over(self, maps: tuple[int, ...], image: tuple[int, ...]) -> int:
        """Return the number of entries for the mean over augmented images."""
        return int(np.prod(maps))


def _checked_images(images: Any) -> np.ndarray:
    """Check arrays of bytes, or of floats in [0, 1]; checking tensors would delay training."""
    array = to_numpy(images, "images")
    if array.dtype.kind == "f" and array.size:
        low, high = array.min(), array.max()
        if not 0 <= low <= high <= 1:  # NaN fails too
            raise InputError(f"Images of floats must be in [0, 1]; got {low:g} to {high:g}.")
    return array


def _as_float(images: torch.Tensor) -> torch.Tensor:
    if images.is_floating_point():
        return images
    if images.dtype not in (torch.uint8, torch.bool):
        raise InputError(f"Images must be bytes, or floats in [0, 1]; got {images.dtype}.")
    return images.float() / (255 if images.dtype == torch.uint8 else 1)


def _reduced(losses: Any, reduction: str) -> Any:
    return losses if reduction == "none" else getattr(losses, reduction)()


# Convolution of images with kernels, directly or by the Fourier transform

Support = Literal["same", "full"]
Method = Literal["auto", "fft", "direct"]

# Direct convolution needs s^2 products per pixel; Fourier transforms need some tens for any s.
DIRECT_MAX_SIZE = 7


def convolve(
    images: torch.Tensor, kernels: torch.Tensor, support: Support = "same", method: Method = "auto"
) -> torch.Tensor:
    """Convolve the last two axes, with zeros outside the image.

        result[i] = sum over j of kernels[j] images[i + r - j]   (i in both dimensions)

    Parameters
    ----------
    images : tensor of shape (..., h, w)
    kernels : tensor of shape (..., s, t)
        s = 2 r + 1 and t are odd. Leading axes broadcast against those of the images.
    support : {"same", "full"}
        Keep the size of the images, or the full result: (h + s - 1, w + t - 1).
    method : {"auto", "fft", "direct"}
        Both are exact; "auto" is "direct" for kernels up to 7 x 7.

    Returns
    -------
    tensor of shape (..., h, w) or (..., h + s - 1, w + t - 1)

    Examples
    --------
    >>> step = torch.tensor([[0.0, 0.0, 1.0, 0.0, 0.0]])
    >>> convolve(step, torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[0., 1., 2., 3., 0.]])
    """
    check_choice(support, "support", get_args(Support))
    check_choice(method, "method", get_args(Method))
    for tensor, name in ((images, "images"), (kernels, "kernels")):
        usable = isinstance(tensor, torch.Tensor) and tensor.is_floating_point()
        if not usable or tensor.ndim < 2:
            raise InputError(f"{name} must be a tensor of floats (..., height, width).")
    s, t = kernels.shape[-2:]
    if s % 2 == 0 or t % 2 == 0:
        raise InputError(f"Kernels must have an odd size, with a middle; got {s} x {t}.")
    direct = method == "direct" or (method == "auto" and max(s, t) <= DIRECT_MAX_SIZE)
    return (_direct if direct else _fft)(images, kernels, (s // 2, t // 2), support == "full")


def transform_size(length: int, radius: int, full: bool) -> int:
    """Return the smallest efficient length of a cyclic convolution without wrap-around errors.

    The full result has length + 2 radius entries. For "same" a period of length + radius is enough,
    because only entries that are cut off wrap around.
    """
    return int(next_fast_len(length + (2 if full else 1) * radius, real=True))


def _fft(
    images: torch.Tensor, kernels: torch.Tensor, radii: tuple[int, int], full: bool
) -> torch.Tensor:
    (h, w), (r, q) = images.shape[-2:], radii
    shape = (transform_size(h, r, full), transform_size(w, q, full))
    spectrum = torch.fft.rfft2(images, s=shape) * torch.fft.rfft2(kernels, s=shape)
    whole = torch.fft.irfft2(spectrum, s=shape)
    return whole[..., : h + 2 * r, : w + 2 * q] if full else whole[..., r : r + h, q : q + w]


def _direct(
    images: torch.Tensor, kernels: torch.Tensor, radii: tuple[int, int], full: bool
) -> torch.Tensor:
    lead = torch.broadcast_shapes(images.shape[:-2], kernels.shape[:-2])
    images = images.expand(*lead, *images.shape[-2:])
    pad = (2 * radii[0], 2 * radii[1]) if full else radii
    if kernels.shape[:-2].numel() == 1:  # one kernel: the planes are the batch
        flipped = kernels.reshape(1, 1, *kernels.shape[-2:]).flip(-1, -2)
        planes = images.reshape(-1, 1, *images.shape[-2:])
        maps = torch.nn.functional.conv2d(planes, flipped, padding=pad)
    else:  # a kernel for each plane: the planes are channels in separate groups
        flipped = kernels.expand(*lead, *kernels.shape[-2:]).flip(-1, -2)
        flipped = flipped.reshape(-1, 1, *kernels.shape[-2:])
        planes = images.reshape(1, -1, *images.shape[-2:])
        maps = torch.nn.functional.conv2d(planes, flipped, padding=pad, groups=len(flipped))
    return maps.reshape(*lead, *maps.shape[-2:])
