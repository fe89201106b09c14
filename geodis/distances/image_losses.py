"""Reconstruction losses as distances between images: by name, blurred, or any callable.

Inside, a loss works in two steps: `prepare` turns images into what pairs are compared by, once
for every image, and `between` compares pairs of prepared images.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from geodis.base.check import InputError, check_finite, check_numeric, to_numpy

if TYPE_CHECKING:
    from geodis.distances.blurred import BlurredLoss


NAMES = ("mse", "mae", "bce")

# Pairs that a callable gets at once: 24 MB of floats at 64 x 64 x 3.
CALLABLE_BATCH = 256

# Where a reconstruction is exactly 0 or 1, the logarithm ends here, as in torch.
LOWEST_LOG = -100.0


class Loss:
    """What perceived distances need of a loss.

    Attributes
    ----------
    name : str
    symmetric : bool
        Whether the two images of a pair may change places.
    footprint : int
        About how many bytes are held for every pixel and channel of an image.
    """

    name = "loss"
    symmetric = True
    footprint = 24

    def prepare(self, images: np.ndarray) -> Any:
        """Turn images (m, h, w, c), bytes or floats in [0, 1], into what pairs are compared by."""
        raise NotImplementedError

    def between(self, lefts: Any, rights: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Distances (n,) of the prepared images ``lefts[left[i]]`` and ``rights[right[i]]``."""
        raise NotImplementedError


@runtime_checkable
class HasParts(Protocol):
    """A loss that is a weighted sum of squared differences, such as a blurred one."""

    def parts(self, images: np.ndarray, /) -> Any:
        """Pairs (w_k, A_k) of a weight and an array with a row for each image."""


# What a reconstruction loss may be given as: a name such as "mse" or "box:31", or a loss itself.
LossLike: TypeAlias = str | Loss | HasParts | Callable[[Any, Any], Any]


class SquaredLoss(Loss):
    """Weighted squared differences: sum_k w_k |A_k(x) - A_k(y)|^2 over the parts of a loss.

    Parameters
    ----------
    parts : callable
        From images (m, h, w, c) to pairs (w_k, A_k) of a weight and an array with m rows.
    """

    def __init__(self, parts: Callable[[np.ndarray], Any], name: str, footprint: int = 24) -> None:
        self._parts, self.name, self.footprint = parts, name, footprint

    def prepare(self, images: np.ndarray) -> list[tuple[float, np.ndarray, bool]]:
        """Weight and rows of every part, and whether it was computed in single precision."""
        return [
            (weight, _rows(part), part.dtype == np.float32 and part is not images)
            for weight, part in self._parts(images)
        ]

    def between(self, lefts: Any, rights: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Add up the parts."""
        from geodis.distances.blurred import byte_squares, float_squares, sum_pairs

        total = np.zeros(len(left))
        rough = False
        for (weight, a, single), (_, b, _) in zip(lefts, rights, strict=True):
            kernel = byte_squares if a.dtype == np.uint8 else float_squares
            total += weight * sum_pairs(kernel, a, b, left, right)
            rough |= single
        # Ranks take differences beyond the precision of the dtype for an order.
        return total.astype(np.float32) if rough else total


class AbsoluteLoss(Loss):
    """Mean absolute difference over pixels and channels."""

    name, footprint = "mae", 2

    def prepare(self, images: np.ndarray) -> np.ndarray:
        """Rows of pixels."""
        return _rows(images)

    def between(self, lefts: Any, rights: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Mean over the row."""
        from geodis.distances.blurred import byte_gaps, float_gaps, sum_pairs

        whole = lefts.dtype == np.uint8
        sums = sum_pairs(byte_gaps if whole else float_gaps, lefts, rights, left, right)
        return sums / (lefts.shape[1] * (255 if whole else 1))


class CrossEntropyLoss(Loss):
    """Mean binary cross-entropy of y, as probabilities, for the observation x.

    ``-mean(x log y + (1 - x) log(1 - y))``, logarithms not below -100. It is not symmetric, and
    not zero between an image and itself where pixels are neither 0 nor 1.
    """

    name, symmetric = "bce", False

    def prepare(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, log y - log(1 - y) and the mean of log(1 - y): the loss is linear in x."""
        pixels = _rows(images)
        values = pixels / (255.0 if pixels.dtype == np.uint8 else 1.0)
        with np.errstate(divide="ignore"):  # log 0
            one = np.maximum(np.log(values), LOWEST_LOG)
            zero = np.maximum(np.log1p(-values), LOWEST_LOG)
        return values, one - zero, zero.mean(axis=1)

    def between(self, lefts: Any, rights: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Combine x of the left with the logarithms of the right."""
        from geodis.distances.blurred import inner_products, sum_pairs

        sums = sum_pairs(inner_products, lefts[0], rights[1], left, right)
        return -(sums / lefts[0].shape[1] + rights[2][right])


class CallableLoss(Loss):
    """Any function of two float32 arrays (n, h, w, c) that returns n distances."""

    def __init__(self, function: Callable[[np.ndarray, np.ndarray], Any]) -> None:
        self._function = function
        name = getattr(function, "name", None) or getattr(function, "__name__", "given loss")
        self.name = str(name)
        self.symmetric = getattr(function, "symmetric", True)

    def prepare(self, images: np.ndarray) -> np.ndarray:
        """Floats in [0, 1]."""
        return _scaled(images)

    def between(self, lefts: Any, rights: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Call the function on batches of pairs."""
        batches = [np.zeros(0)]
        for start in range(0, len(left), CALLABLE_BATCH):
            rows = slice(start, start + CALLABLE_BATCH)
            x, y = lefts[left[rows]], rights[right[rows]]
            distances = check_numeric(to_numpy(self._function(x, y), "distances"), "distances")
            if distances.shape != (len(x),):
                raise InputError(
                    f"A loss must return one distance a pair, shape ({len(x)},); "
                    f"got shape {distances.shape}."
                )
            batches.append(check_finite(distances, f"Distances of {self.name}"))
        # What a function returns in single precision stays so: ranks must know how far to trust it.
        return np.concatenate(batches[1:] or batches)


def resolve_loss(loss: LossLike) -> Loss:
    """Turn a name, a blurred loss or a callable into a `Loss`.

    Parameters
    ----------
    loss : "mse", "mae", "bce", str such as "box:31" or "gaussian:31", or callable
        A callable gets two float32 arrays (n, h, w, c) in [0, 1] and returns n distances. If it
        has a method ``parts(images) -> [(weight, array), ...]`` such that the distance is the
        weighted sum of squared differences of those arrays, pairs are compared much faster.

    Examples
    --------
    >>> resolve_loss("box:31").name
    'box:31'
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        if loss == "mse":
            return SquaredLoss(_pixels, "mse", footprint=2)
        if loss in ("mae", "bce"):
            return AbsoluteLoss() if loss == "mae" else CrossEntropyLoss()
        loss = _blur_by_name(loss)
    # A learnt loss has parts where its pixel loss is squared: asked of the object, not its class.
    if isinstance(loss, HasParts) and hasattr(loss, "parts"):
        name = str(getattr(loss, "name", type(loss).__name__))
        return SquaredLoss(loss.parts, name, getattr(loss, "footprint", SquaredLoss.footprint))
    if callable(loss):
        return CallableLoss(loss)
    raise InputError(
        f"loss must be one of {', '.join(map(repr, NAMES))}, 'box:31', 'gaussian:31' or a "
        f"function of two arrays of images; got {loss!r}."
    )


def _blur_by_name(name: str) -> BlurredLoss:
    from geodis.distances.blurred import box_blur, gaussian_blur

    kind, _, radius = name.partition(":")
    makers = {"box": box_blur, "gaussian": gaussian_blur}
    if kind in makers and radius.isdigit():
        return makers[kind](int(radius))
    raise InputError(
        f"loss must be one of {', '.join(map(repr, NAMES))}, or a blur and its radius such as "
        f"'box:31' or 'gaussian:31'; got {name!r}."
    )


def _pixels(images: np.ndarray) -> list[tuple[float, np.ndarray]]:
    scale = 255.0**2 if images.dtype == np.uint8 else 1.0
    return [(1 / (scale * max(_length(images), 1)), images)]


def _length(images: np.ndarray) -> int:
    return int(np.prod(images.shape[1:]))


def _rows(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(len(array), _length(array))


def _scaled(images: np.ndarray) -> np.ndarray:
    if images.dtype == np.uint8:
        return images / np.float32(255)
    return images.astype(np.float32, copy=False)
