"""Distances between pairs: of factors, of images by a reconstruction loss, of latents."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import InputError, check_choice, check_finite, check_numeric, to_numpy
from geodis.distances.images.image_losses import LossLike, resolve_loss

LatentKind = Literal["l1", "l2", "kl", "symmetric_kl"]
LATENT_KINDS: tuple[LatentKind, ...] = get_args(LatentKind)

# Bytes of images that are prepared at once: what fits into caches is not fetched twice.
BUDGET = 2**24


def ground_truth(factors_a: Any, factors_b: Any, sizes: Any = None) -> np.ndarray:
    """Distance between factors: ``sum_j |a_j - b_j|`` (3.1), or scaled (5.11).

    With sizes f_j, every factor is scaled so that its first and last value are 1 apart:
    ``sum_j |a_j - b_j| / (f_j - 1)``. These sums are made of whole numbers over one common
    denominator and divided once, so that equal distances are equal floats and no order is
    wrong; sums of floats get the order of about one pair in a hundred wrong.

    Parameters
    ----------
    factors_a, factors_b : array-like of shape (n, f)
        One row a member of a pair; with sizes, integers from 0 to sizes - 1.
    sizes : array-like of shape (f,), optional
        How many values each factor has.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> ground_truth([[0, 0]], [[1, 2]])
    array([3.])
    >>> bool(ground_truth([[1, 1]], [[0, 0]], sizes=[8, 8]) == ground_truth([[2, 0]], [[0, 0]],
    ...                                                                     sizes=[8, 8]))
    True
    """
    a, b = _pair_of_rows(factors_a, factors_b, "factors")
    if sizes is None:
        return np.abs(a.astype(float) - b.astype(float)).sum(axis=1)
    steps, sizes = _whole_steps(a, b, to_numpy(sizes, "sizes"))
    spans = [int(size) - 1 for size in sizes if size > 1]
    denominator = math.lcm(*spans)
    weights = [denominator // (int(size) - 1) if size > 1 else 0 for size in sizes]
    if denominator * len(weights) < np.iinfo(np.int64).max:
        return steps @ np.array(weights, np.int64) / denominator
    exact = steps.astype(object) @ np.array(weights, object)  # sizes whose multiples are huge
    return np.array([numerator / denominator for numerator in exact.tolist()])


def perceived(images_a: Any, images_b: Any, loss: LossLike = "mse") -> np.ndarray:
    """Distance that a reconstruction loss sees: ``loss(x_a, x_b)`` (3.3), pair by pair.

    Parameters
    ----------
    images_a, images_b : array-like of shape (n, h, w, c) or (n, h, w)
        uint8, or floats in [0, 1]; memory-mapped files are read in batches.
    loss : "mse", "mae", "bce", "box:<radius>", "gaussian:<radius>" or callable
        Means over pixels and channels of images in [0, 1]. "bce" takes x_b for the
        reconstruction of x_a, is not symmetric, and is not zero for pixels between 0 and 1. A
        callable gets two float32 arrays (n, h, w, c) and returns (n,).

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> black, white = np.zeros((1, 8, 8, 3), np.uint8), np.full((1, 8, 8, 3), 255, np.uint8)
    >>> perceived(black, white), perceived(black, black)
    (array([1.]), array([0.]))
    """
    a, b = _images(images_a, "images_a"), _images(images_b, "images_b")
    if a.shape != b.shape:
        raise InputError(
            f"images_a and images_b must have the same shape; got {a.shape} and {b.shape}."
        )
    resolved = resolve_loss(loss)
    both_bytes = a.dtype == b.dtype == np.uint8
    batch = max(1, BUDGET // (resolved.footprint * max(1, int(np.prod(a.shape[1:])))))
    batches = [np.zeros(0)]
    for start in range(0, len(a), batch):
        sides = [_as_images(side[start : start + batch], both_bytes) for side in (a, b)]
        rows = np.arange(len(sides[0]))
        left, right = map(resolved.prepare, sides)
        batches.append(resolved.between(left, right, rows, rows))
    return np.concatenate(batches[1:] or batches)


def latent(latents_a: Any, latents_b: Any, kind: LatentKind = "l1") -> np.ndarray:
    """Distance between latents, or divergence between Gaussian posteriors, pair by pair.

    Parameters
    ----------
    latents_a, latents_b : array-like of shape (n, z)
        For "kl" and "symmetric_kl" posteriors with diagonal covariance: a pair of arrays (mean,
        log_variance), each (n, z), or one array (n, 2 z) with the means in its first half.
    kind : {"l1", "l2", "kl", "symmetric_kl"}
        ``sum |a - b|``; ``sqrt(sum (a - b)^2)``;
        ``KL(a || b) = sum (v_a + (m_a - m_b)^2) / v_b - 1 - log(v_a / v_b)`` over 2;
        ``(KL(a || b) + KL(b || a)) / 2`` (A.2).

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> latent([[0.0, 0.0]], [[3.0, 4.0]]), latent([[0.0, 0.0]], [[3.0, 4.0]], "l2")
    (array([7.]), array([5.]))
    >>> latent(([[0.0]], [[0.0]]), ([[2.0]], [[0.0]]), "kl")
    array([2.])
    """
    check_choice(kind, "kind", LATENT_KINDS)
    if kind in ("l1", "l2"):
        a, b = _pair_of_rows(latents_a, latents_b, "latents")
        step = a.astype(float) - b.astype(float)
        return np.abs(step).sum(axis=1) if kind == "l1" else np.sqrt((step**2).sum(axis=1))
    (mean_a, log_a), (mean_b, log_b) = _posterior(latents_a), _posterior(latents_b)
    if mean_a.shape != mean_b.shape:
        raise InputError(
            f"Posteriors must come in pairs of one shape; got {mean_a.shape} and {mean_b.shape}."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        divergences = _divergence(mean_a, log_a, mean_b, log_b)
        if kind == "symmetric_kl":
            divergences = 0.5 * (divergences + _divergence(mean_b, log_b, mean_a, log_a))
    if not np.isfinite(divergences).all():
        low, high = min(log_a.min(), log_b.min()), max(log_a.max(), log_b.max())
        raise InputError(
            "Divergences must be finite numbers; got posteriors with log variances from "
            f"{low:g} to {high:g}."
        )
    return divergences


def _divergence(
    mean_a: np.ndarray, log_a: np.ndarray, mean_b: np.ndarray, log_b: np.ndarray
) -> np.ndarray:
    """KL(a || b) of Gaussians with log variances, summed over the columns."""
    square = (mean_a - mean_b) ** 2
    apart = np.exp(log_a - log_b) + square * np.exp(-log_b) - 1 - log_a + log_b
    return 0.5 * np.asarray(apart).sum(axis=1)


def _pair_of_rows(a: Any, b: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    sides = []
    for side in (a, b):
        array = check_finite(check_numeric(to_numpy(side, name), name), name)
        if array.ndim != 2:
            raise InputError(
                f"{name} must have shape (n, columns), one row each; got shape {array.shape}."
            )
        sides.append(array)
    if sides[0].shape != sides[1].shape:
        raise InputError(
            f"{name} must come in pairs of one shape; got {sides[0].shape} and {sides[1].shape}."
        )
    return sides[0], sides[1]


def _whole_steps(a: np.ndarray, b: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if sizes.shape != (a.shape[1],) or sizes.dtype.kind not in "iu" or (sizes < 1).any():
        raise InputError(
            f"sizes must be {a.shape[1]} whole numbers, one a factor; got {sizes.tolist()}."
        )
    for side in (a, b):
        outside = (side != np.round(side)) | (side < 0) | (side >= sizes)
        if outside.any():
            row, j = np.argwhere(outside)[0]
            raise InputError(
                f"With sizes, factor {j} must hold whole numbers from 0 to {sizes[j] - 1}; "
                f"got {side[row, j]}."
            )
    return np.abs(a.astype(np.int64) - b.astype(np.int64)), sizes


def _images(images: Any, name: str) -> np.ndarray:
    # A memory-mapped file stays one: it is an ndarray.
    array = to_numpy(images, name)
    if array.ndim == 3:
        array = array[..., None]
    if array.ndim != 4 or not (array.dtype == np.uint8 or array.dtype.kind in "bf"):
        raise InputError(
            f"{name} must be uint8, or floats in [0, 1], of shape (n, h, w, c) or (n, h, w); "
            f"got dtype {array.dtype} and shape {array.shape}."
        )
    return array


def _as_images(images: np.ndarray, as_bytes: bool) -> np.ndarray:
    """Bytes if both sides are bytes, otherwise floats of at least single precision in [0, 1]."""
    if as_bytes:
        return images
    if images.dtype == np.uint8:
        return images / np.float32(255)
    floats = images.astype(np.float64 if images.dtype == np.float64 else np.float32, copy=False)
    low, high = (floats.min(), floats.max()) if floats.size else (0.0, 1.0)
    if not 0 <= low <= high <= 1:  # NaN fails too
        way = f": divide them by {high:g}" if low >= 0 and high > 1 else ""
        raise InputError(f"Images of floats must be in [0, 1]; got {low:g} to {high:g}{way}.")
    return floats


def _posterior(value: Any) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(value, tuple) and len(value) == 2:
        return _pair_of_rows(value[0], value[1], "a posterior's mean and log_variance")
    array, _ = _pair_of_rows(value, value, "posteriors")
    if array.shape[1] % 2:
        raise InputError(
            "A posterior needs means and log variances, an even number of columns; "
            f"got shape {array.shape}."
        )
    half = array.shape[1] // 2
    return array[:, :half], array[:, half:]
