"""Reconstruction losses as distances between images: by name, blurred, or any callable.

A loss has two steps: `prepare` transforms every image once, and `between` compares pairs of
prepared images.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from geodis.base.check import InputError, check_finite, check_numeric, to_numpy

if TYPE_CHECKING:
    from geodis.distances.blurred import BlurredLoss


NAMES = ("mse", "mae", "bce")

# Pairs per call of a callable: 24 MB of floats at 64 x 64 x 3.
CALLABLE_BATCH = 256

# Lower bound of logarithms, for reconstructions of exactly 0 or 1, as in torch.
LOWEST_LOG = -100.0


class Loss:
    """Base class of losses for perceived distances.

    Attributes
    ----------
    name : str
    symmetric : bool
        Whether the loss is symmetric in the two images.
    footprint : int
        Approximate memory in bytes per pixel and channel of a prepared image.
    """

    name = "loss"
    symmetric = True
    footprint = 24

    def prepare(self, images: np.ndarray) -> Any:
        """Transform images (m, h, w, c), bytes or floats in [0, 1], for `between`."""
        raise NotImplementedError

    def between(self, lefts: Any, rights: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return distances (n,) of prepared images ``lefts[left[i]]`` and ``rights[right[i]]``."""
        raise NotImplementedError


@runtime_checkable
class HasParts(Protocol):
    """A loss that is a weighted sum of squared differences, such as a blurred loss."""

    def parts(self, images: np.ndarray, /) -> Any:
        """Return pairs (w_k, A_k) of a weight and an array with a row for each image."""


# A reconstruction loss: a name such as "mse" or "box:31", a loss, or a function.
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
        """Return weight and rows of every part, and whether it is in single precision."""
        return [
            (weight, _rows(part), part.dtype == np.float32 and part is not images)
            for weight, part in self._parts(images)
        ]

    def between(self, lefts: Any, rights: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the sums over parts."""
        from geodis.distances.blurred import byte_squares, float_squares, sum_pairs

        total = np.zeros(len(left))
        rough = False
        for (weight, a, single), (_, b, _) in zip(lefts, rights, strict=True):
            kernel = byte_squares if a.dtype == np.uint8 else float_squares
            total += weight * sum_pairs(kernel, a, b, left, right)
            rough |= single
        # The dtype shows the precision, so that ranks ignore rounding errors.
        return total.astype(np.float32) if rough else total


class AbsoluteLoss(Loss):
    """Mean absolute difference over pixels and channels."""

    name, footprint = "mae", 2

    def prepare(self, images: np.ndarray) -> np.ndarray:
        """Flatten the images."""
        return _rows(images)

    def between(self, lefts: Any, rights: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return means over pixels."""
        from geodis.distances.blurred import byte_gaps, float_gaps, sum_pairs

        whole = lefts.dtype == np.uint8
        sums = sum_pairs(byte_gaps if whole else float_gaps, lefts, rights, left, right)
        return sums / (lefts.shape[1] * (255 if whole else 1))


class CrossEntropyLoss(Loss):
    """Mean binary cross-entropy of y, as probabilities, for the observation x.

    ``-mean(x log y + (1 - x) log(1 - y))``, with logarithms of at least -100. It is not symmetric,
    and not zero for equal images with pixels between 0 and 1.
    """

    name, symmetric = "bce", False

    def prepare(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return x, log y - log(1 - y) and the mean of log(1 - y); the loss is linear in x."""
        pixels = _rows(images)
        values = pixels / (255.0 if pixels.dtype == np.uint8 else 1.0)
        with np.errstate(divide="ignore"):  # log 0
            one = np.maximum(np.log(values), LOWEST_LOG)
            zero = np.maximum(np.log1p(-values), LOWEST_LOG)
        return values, one - zero, zero.mean(axis=1)

    def between(self, lefts: Any, rights: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Combine x of the left images with the logarithms of the right images."""
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
        """Convert images to floats in [0, 1]."""
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
        # The dtype is kept, because ranks depend on the precision.
        return np.concatenate(batches[1:] or batches)


def resolve_loss(loss: LossLike) -> Loss:
    """Convert a name, a blurred loss or a callable to a `Loss`.

    Parameters
    ----------
    loss : "mse", "mae", "bce", str such as "box:31" or "gaussian:31", or callable
        A callable gets two float32 arrays (n, h, w, c) in [0, 1] and returns n distances. It is
        much faster if it has a method ``parts(images) -> [(weight, array), ...]`` such that the
        distance is the weighted sum of squared differences of those arrays.

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
    # Instances of a class may differ: a learnt loss has parts only if its pixel loss is squared.
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
