"""Distances of pairs: perceived distances of images, of latents, and of factors of any kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from geodis.base.check import InputError, check_choice, check_finite, check_numeric, to_numpy
from geodis.data.factors import FactorKind, Factors
from geodis.distances.image_losses import LossLike, resolve_loss

LatentKind = Literal["l1", "l2", "kl", "symmetric_kl"]
LATENT_KINDS: tuple[LatentKind, ...] = get_args(LatentKind)

# Bytes of images prepared at a time, which fit into the cache.
BUDGET = 2**24


def perceived(images_a: Any, images_b: Any, loss: LossLike = "mse") -> np.ndarray:
    """Perceived distance of pairs of images, a reconstruction loss ``loss(x_a, x_b)`` (3.3).

    Parameters
    ----------
    images_a, images_b : array-like of shape (n, h, w, c) or (n, h, w)
        uint8, or floats in [0, 1]; memory-mapped files are read in batches.
    loss : "mse", "mae", "bce", "box:<radius>", "gaussian:<radius>" or callable
        Means over pixels and channels of images in [0, 1]. In "bce" x_b is the reconstruction of
        x_a; it is not symmetric, and not zero for pixels between 0 and 1. A callable gets two
        float32 arrays (n, h, w, c) and returns (n,).

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
    """Distance of pairs of latents, or divergence of pairs of Gaussian posteriors.

    Parameters
    ----------
    latents_a, latents_b : array-like of shape (n, z)
        For "kl" and "symmetric_kl", posteriors with diagonal covariance: a tuple of arrays (mean,
        log_variance), each (n, z), or one array (n, 2 z) with the means in its first half.
    kind : {"l1", "l2", "kl", "symmetric_kl"}
        ``sum |a - b|``; ``sqrt(sum (a - b)^2)``;
        ``KL(a || b) = sum (v_a + (m_a - m_b)^2) / v_b - 1 - log(v_a / v_b)`` over 2;
        ``(KL(a || b) + KL(b || a)) / 2`` (A.2).

    Returns
    -------
    ndarray of shape (n,)
        In float32 for latents of single precision or less, so that ranks ignore rounding errors.

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
        # Scaling by a power of two, which is exact, prevents overflow of squares.
        exponent = int(np.frexp(largest)[1]) if np.isfinite(largest) else 0
        norms = np.ldexp(np.sqrt((np.ldexp(step, -exponent) ** 2).sum(axis=1)), exponent)
    if not np.isfinite(norms).all():
        raise InputError(
            "Distances must be finite numbers; got latents that are further apart than the largest "
            "of these: divide them by a number."
        )
    return norms


def _as_precise(distances: np.ndarray, *of: np.ndarray) -> np.ndarray:
    """Convert distances to the precision of their inputs, which ranks depend on."""
    precise = max((side.dtype for side in of), key=lambda dtype: dtype.itemsize)
    if precise.kind != "f" or precise.itemsize >= distances.dtype.itemsize:
        return distances
    # Unless they overflow in single precision.
    narrow = np.abs(distances).max(initial=0.0) <= np.finfo(np.float32).max
    return distances.astype(np.float32) if narrow else distances


def _divergence(
    mean_a: np.ndarray, log_a: np.ndarray, mean_b: np.ndarray, log_b: np.ndarray
) -> np.ndarray:
    """Return KL(a || b) of Gaussians with log variances, summed over columns."""
    square = (mean_a - mean_b) ** 2
    apart = np.exp(log_a - log_b) + square * np.exp(-log_b) - 1 - log_a + log_b
    return 0.5 * np.asarray(apart).sum(axis=1)


def pair_of_rows(a: Any, b: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Validate two arrays of finite numbers of the same shape (n, columns)."""
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
    """Require images and return them as (n, h, w, c), without reading memory-mapped files."""
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
    """Return bytes if `as_bytes`, otherwise floats of at least single precision in [0, 1]."""
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


# One kind for all factors, or one kind for each.
FactorKinds: TypeAlias = FactorKind | Sequence[FactorKind]


def ground_truth(
    factors_a: Any,
    factors_b: Any,
    sizes: Any = None,
    *,
    kinds: FactorKinds | None = None,
    periods: Any = None,
) -> np.ndarray:
    """Ground-truth distance of pairs of factors: ``sum_j d_j(a_j, b_j)`` (3.1), or scaled (5.11).

    The distance d_j depends on the kind of factor j:

    - *numbers* and *ordered* labels: ``|a - b|``, with the codes of labels;
    - *cyclic*: the arc length, ``min(|a - b| mod p, p - |a - b| mod p)``;
    - *labels* without an order: 1 if they differ.

    The distance of a factor of several columns (`Factors.groups`), such as the coordinates of a
    point on a sphere, is Euclidean: ``sqrt(sum over its columns of d_j^2)``.

    With sizes f_j, every factor is scaled such that its largest distance is 1: divided by
    ``f_j - 1``, or ``floor(p_j / 2)`` for cyclic factors. The sums are computed in integers with a
    common denominator, so that equal distances are equal floats; sums of floats would give a wrong
    order of about one pair in a hundred.

    Parameters
    ----------
    factors_a, factors_b : array-like of shape (n, f), or Factors
        One row per pair; with sizes, integers from 0 to sizes - 1. `Factors` have their own kinds,
        periods and groups; with sizes, groups are ignored.
    sizes : array-like of shape (f,), optional
        Number of values of each factor.
    kinds : {"numbers", "ordered", "cyclic", "labels"}, or sequence of f of them, optional
        For arrays, "numbers" by default, as in published tables.
    periods : array-like of shape (f,), optional
        Of cyclic factors; with sizes, integers, by default the sizes. Those of other factors are
        ignored.

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
    >>> ground_truth([[0, 350]], [[2, 10]], kinds=("labels", "cyclic"), periods=(0, 360))
    array([21.])
    >>> from geodis.data.factors import as_factors
    >>> point = as_factors([[0.0, 0.0], [3.0, 4.0]], names=["x", "y"], groups={"p": ["x", "y"]})
    >>> ground_truth(point.take([0]), point.take([1]))
    array([5.])
    """
    groups: list[list[int]] = []
    if isinstance(factors_a, Factors) and isinstance(factors_b, Factors):
        _require_same(factors_a, factors_b)
        kinds = factors_a.kinds if kinds is None else kinds
        periods = [factors_a.periods.get(name, 0.0) for name in factors_a.names]
        groups = [
            [factors_a.names.index(name) for name in own] for own in factors_a.groups.values()
        ]
    a, b = pair_of_rows(factors_a, factors_b, "factors")
    each = kinds_of_each(kinds, a.shape[1])
    if sizes is not None:
        counts = _checked_sizes(a, b, to_numpy(sizes, "sizes"))
        around = _checked_periods(counts if periods is None else periods, each)
        if (around != np.round(around)).any():
            raise InputError(f"With sizes, periods must be whole numbers; got {around.tolist()}.")
        return _scaled(a, b, counts, each, around.astype(np.int64))
    around = _checked_periods(periods, each)
    steps = np.abs(a.astype(float) - b.astype(float))
    for j, kind in enumerate(each):
        if kind == "labels":
            steps[:, j] = a[:, j] != b[:, j]
        elif kind == "cyclic":
            steps[:, j] = _around(steps[:, j], around[j])
    for columns in groups:
        largest = np.maximum(steps[:, columns].max(axis=1, initial=0.0), np.finfo(float).tiny)
        length = np.sqrt(((steps[:, columns] / largest[:, None]) ** 2).sum(axis=1)) * largest
        steps[:, columns] = 0.0
        steps[:, columns[0]] = length
    return steps.sum(axis=1)


def kinds_of_each(kinds: FactorKinds | None, count: int) -> tuple[FactorKind, ...]:
    """Return one kind for each of `count` factors.

    Examples
    --------
    >>> kinds_of_each(None, 2), kinds_of_each("cyclic", 1)
    (('numbers', 'numbers'), ('cyclic',))
    """
    known: FactorKind = "numbers"
    if kinds is None or isinstance(kinds, str):
        each: tuple[Any, ...] = ((kinds or known),) * count
    else:
        each = tuple(kinds)
    if len(each) != count or not {*each} <= {*get_args(FactorKind)}:
        raise InputError(
            f"kinds must be {', '.join(get_args(FactorKind))}, one for all or one for each of "
            f"{count} factors; got {kinds!r}."
        )
    return each


def _around(steps: np.ndarray, period: Any) -> np.ndarray:
    """Return the arc length on a circle."""
    once = np.mod(steps, period)
    return np.minimum(once, period - once)


def _require_same(a: Factors, b: Factors) -> None:
    for what in ("names", "kinds", "categories", "periods", "groups"):
        first, second = getattr(a, what), getattr(b, what)
        if first != second:
            raise InputError(
                f"Factors must have the same {what} on both sides; got {first} and {second}."
            )


def _checked_periods(periods: Any, kinds: Sequence[FactorKind]) -> np.ndarray:
    if "cyclic" not in kinds:
        return np.zeros(len(kinds))
    each = np.asarray([] if periods is None else to_numpy(periods, "periods"), dtype=float)
    cyclic = np.array([kind == "cyclic" for kind in kinds])
    if each.shape != cyclic.shape or not (each[cyclic] > 0).all():
        raise InputError(
            f"Cyclic factors need periods above 0, one for each of {len(kinds)} factors, or sizes; "
            f"got {each.tolist() if periods is not None else 'none'}."
        )
    return each


def _checked_sizes(a: np.ndarray, b: np.ndarray, sizes: np.ndarray) -> np.ndarray:
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
    return sizes


def _scaled(
    a: np.ndarray,
    b: np.ndarray,
    sizes: np.ndarray,
    kinds: Sequence[FactorKind],
    periods: np.ndarray,
) -> np.ndarray:
    steps = np.abs(a.astype(np.int64) - b.astype(np.int64))
    spans = []
    for j, (kind, size) in enumerate(zip(kinds, map(int, sizes), strict=True)):
        if kind == "labels":
            steps[:, j] = steps[:, j] > 0
        elif kind == "cyclic":
            steps[:, j] = _around(steps[:, j], periods[j])
        longest = {"labels": 1, "cyclic": int(periods[j]) // 2}.get(kind, size - 1)
        spans.append(longest if size > 1 else 0)
    denominator = math.lcm(*(span for span in spans if span))
    weights = [denominator // span if span else 0 for span in spans]
    if denominator * len(weights) < np.iinfo(np.int64).max:
        return steps @ np.array(weights, np.int64) / denominator
    exact = steps.astype(object) @ np.array(weights, object)  # integers beyond 64 bits
    return np.array([numerator / denominator for numerator in exact.tolist()])
