"""Distances between pairs: of images by a reconstruction loss, and of latents."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import InputError, check_choice, check_finite, check_numeric, to_numpy
from geodis.distances.images.image_losses import LossLike, resolve_loss

LatentKind = Literal["l1", "l2", "kl", "symmetric_kl"]
LATENT_KINDS: tuple[LatentKind, ...] = get_args(LatentKind)

# Bytes of images that are prepared at once: what fits into caches is not fetched twice.
BUDGET = 2**24


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
    a, b = check_images(images_a, "images_a"), check_images(images_b, "images_b")
    if a.shape != b.shape:
        raise InputError(
            f"images_a and images_b must have the same shape; got {a.shape} and {b.shape}."
        )
    resolved = resolve_loss(loss)
    both_bytes = a.dtype == b.dtype == np.uint8
    batch = max(1, BUDGET // (resolved.footprint * max(1, int(np.prod(a.shape[1:])))))
    batches = [np.zeros(0)]
    for start in range(0, len(a), batch):
        sides = [as_images(side[start : start + batch], both_bytes) for side in (a, b)]
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
        Of float32 where the latents are of single precision or less, so that ranks take no
        rounding for an order.

    Examples
    --------
    >>> latent([[0.0, 0.0]], [[3.0, 4.0]]), latent([[0.0, 0.0]], [[3.0, 4.0]], "l2")
    (array([7.]), array([5.]))
    >>> latent(([[0.0]], [[0.0]]), ([[2.0]], [[0.0]]), "kl")
    array([2.])
    """
    check_choice(kind, "kind", LATENT_KINDS)
    if kind in ("l1", "l2"):
        a, b = pair_of_rows(latents_a, latents_b, "latents")
        with np.errstate(over="ignore"):
            return _as_precise(_norm_of_steps(a.astype(float) - b.astype(float), kind), a, b)
    given = (*_posterior(latents_a), *_posterior(latents_b))
    mean_a, log_a, mean_b, log_b = (side.astype(float) for side in given)
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
    return _as_precise(divergences, *given)


def _norm_of_steps(step: np.ndarray, kind: LatentKind) -> np.ndarray:
    largest = np.abs(step).max(initial=0.0)
    if kind == "l1":
        norms = np.abs(step).sum(axis=1)
    else:
        # Squares of very large and very small steps leave the range of floats; powers of two do not
        # round.
        exponent = int(np.frexp(largest)[1]) if np.isfinite(largest) else 0
        norms = np.ldexp(np.sqrt((np.ldexp(step, -exponent) ** 2).sum(axis=1)), exponent)
    if not np.isfinite(norms).all():
        raise InputError(
            "Distances must be finite numbers; got latents that are further apart than the largest "
            "of these: divide them by a number."
        )
    return norms


def _as_precise(distances: np.ndarray, *of: np.ndarray) -> np.ndarray:
    """Distances in the precision of the numbers that they are between: ranks must know it."""
    precise = max((side.dtype for side in of), key=lambda dtype: dtype.itemsize)
    if precise.kind != "f" or precise.itemsize >= distances.dtype.itemsize:
        return distances
    # Where single precision has no room for them, they stay what they are.
    narrow = np.abs(distances).max(initial=0.0) <= np.finfo(np.float32).max
    return distances.astype(np.float32) if narrow else distances


def _divergence(
    mean_a: np.ndarray, log_a: np.ndarray, mean_b: np.ndarray, log_b: np.ndarray
) -> np.ndarray:
    """KL(a || b) of Gaussians with log variances, summed over the columns."""
    square = (mean_a - mean_b) ** 2
    apart = np.exp(log_a - log_b) + square * np.exp(-log_b) - 1 - log_a + log_b
    return 0.5 * np.asarray(apart).sum(axis=1)


def pair_of_rows(a: Any, b: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays of finite numbers of one shape (n, columns), one row a member of a pair."""
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


def check_images(images: Any, name: str) -> np.ndarray:
    """Require images and return them (n, h, w, c), without reading those of a mapped file."""
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


def as_images(images: np.ndarray, as_bytes: bool) -> np.ndarray:
    """Return bytes if both sides are, otherwise floats of at least single precision in [0, 1]."""
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
        return pair_of_rows(value[0], value[1], "a posterior's mean and log_variance")
    array, _ = pair_of_rows(value, value, "posteriors")
    if array.shape[1] % 2:
        raise InputError(
            "A posterior needs means and log variances, an even number of columns; "
            f"got shape {array.shape}."
        )
    half = array.shape[1] // 2
    return array[:, :half], array[:, half:]
