"""What learnt losses share: a pixel loss between images, and the same between their augments.

L(x, y) = scale (L_rec(x, y) + alpha L_rec(h(x), h(y)))                             (6.3)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from geodis.base.check import InputError, check_choice, check_real, to_numpy
from geodis.base.subclasses import Numbered
from geodis.kernels.torch_extra import torch

PixelLoss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
PixelLossName = Literal["mse", "mae", "bce"]
Reduction = Literal["none", "mean", "sum"]

PIXEL_LOSSES: dict[str, PixelLoss] = {
    "mse": lambda x, y: (x - y) ** 2,
    "mae": lambda x, y: (x - y).abs(),
    # The observation x comes first; y is what a model says. Transforms leave values a rounding
    # outside [0, 1].
    "bce": lambda x, y: torch.nn.functional.binary_cross_entropy(
        y.clamp(0, 1), x.clamp(0, 1), reduction="none"
    ),
}

# Pairs of arrays that are augmented at once: tens of megabytes at 64 x 64 x 3 and radius 63.
ARRAY_BATCH = 128

Loss = TypeVar("Loss", bound="AugmentedLoss")


class AugmentedLoss(Numbered, torch.nn.Module):
    """Base of `LossKernel` and `FeatureLoss`, which define `augment`.

    Parameters
    ----------
    alpha : float
        Weight of the augmented term.
    loss : {"mse", "mae", "bce"} or callable
        The pixel loss; a callable gets two tensors of one shape and returns that shape, or
        shape (n,).
    scale : float
        Factor of the whole. Ranks leave it open; one that makes the loss as large as the pixel
        loss keeps the meaning of weights, such as beta, that a model gives its other terms.

    Attributes
    ----------
    made : dict
        How the loss was learnt: settings, correlations, seconds. Empty for one made by hand.
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
        """What to call the loss in a table."""
        return type(self).__name__

    def augment(self, images: torch.Tensor) -> torch.Tensor:
        """h: images (n, c, h, w) -> maps (n, c', h', w')."""
        raise NotImplementedError

    def own_options(self) -> dict[str, Any]:
        """Options of the constructor that a subclass adds, as plain values."""
        return {}

    def to_config(self) -> dict[str, Any]:
        """All but the tensors, as plain values: kind, options, and how the loss was made."""
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
        """Build a loss again from what `to_config` gave.

        Its tensors have the right shapes, and `load_state_dict` fills them; a constructor that
        takes tensors finds them in `tensors` where they are known.
        """
        return cls(**config["options"])

    def forward(self, x: Any, y: Any, reduction: Reduction = "none") -> Any:
        """Loss of every pair, or over the batch.

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
        """The loss of every pair before it is scaled."""
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
        """Arrays (n, h, w, c), bytes or floats -> tensor (n, c, h, w), where the parameters are."""
        place: Iterable[torch.Tensor] = (*self.parameters(), *self.buffers())
        channels_first = np.ascontiguousarray(images.transpose(0, 3, 1, 2))
        tensor = _as_float(torch.from_numpy(channels_first)).float()
        return tensor.to(next(iter(place)).device)

    @property
    def parts(self) -> Callable[[np.ndarray], list[tuple[float, np.ndarray]]]:
        """Function of images to the parts of a sum of squares, for `geodis.distances`.

        With mean squared error the loss is a weighted sum of squared differences of images and
        augments, so that each image is augmented once however many pairs it is in. Other pixel
        losses have no such attribute.
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
        """How many entries the mean over augments divides by."""
        return int(np.prod(maps))


def _checked_images(images: Any) -> np.ndarray:
    """Arrays of bytes, or of floats in [0, 1]. Tensors are not looked at: training waits for it."""
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
