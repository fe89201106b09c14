"""How far coordinates are from independent: contrasts of one-dimensional projections.

Each takes values (n,) or a batch (a, n), standing for projections on unit directions, and gives
what is to be small, in nats. A sum over orthonormal directions is compared between rotations, so
constants do not matter; scale does, because the coordinates are isometric: nothing is whitened.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Of the values at each end that stand for the end of the support.
TAIL = 0.003
# Hyvarinen 1998, table 1: weights of the two terms of the approximate negentropy.
ODD_WEIGHT = 36 / (8 * np.sqrt(3) - 9)
EVEN_WEIGHT = 24 / (16 * np.sqrt(3) - 27)
MAX_BINS = 24
GAUSSIAN_ENTROPY = 0.5 * np.log(2 * np.pi * np.e)


def spacing_entropy(values: np.ndarray, floor: float = 0.0) -> np.ndarray:
    """Entropy from m-spacings of the sorted values, m = sqrt(n) (Vasicek 1976).

    ``H = mean_i log((n + 1) / m (x_(i + m) - x_(i)))``; spacings below the floor count as it, so
    that the repeated values of a grid stay finite.

    Examples
    --------
    >>> even = np.linspace(0, 1, 10_000)
    >>> bool(abs(spacing_entropy(even)) < 0.01)  # a uniform variable on [0, 1]
    True
    """
    ordered = np.sort(values, axis=-1)
    n = ordered.shape[-1]
    m = max(1, int(np.sqrt(n)))
    spacing = ordered[..., m:] - ordered[..., :-m]
    return np.log(np.maximum(spacing, max(floor, 1e-300)) * (n + 1) / m).mean(axis=-1)


def support_width(values: np.ndarray, floor: float = 0.0) -> np.ndarray:
    """Logarithm of the width: mean of the largest .3 % less mean of the smallest.

    The sum over directions is least where a product support is aligned with them.

    Examples
    --------
    >>> bool(abs(support_width(np.linspace(0, 1, 10_000))) < 0.01)
    True
    """
    n = values.shape[-1]
    count = min(max(2, round(TAIL * n)), n // 2)
    parts = np.partition(values, (count - 1, n - count), axis=-1)
    width = parts[..., n - count :].mean(axis=-1) - parts[..., :count].mean(axis=-1)
    return np.log(np.maximum(width, max(floor, 1e-300)))


def moment_entropy(values: np.ndarray, floor: float = 0.0) -> np.ndarray:
    """Entropy of the scale less approximate negentropy (Hyvarinen 1998), as FastICA's contrast.

    ``H = log sd + c - k1 E[y exp(-y^2 / 2)]^2 - k2 (E[exp(-y^2 / 2)] - sqrt(1 / 2))^2`` with y
    standardised: smooth, and good for long tails.

    Examples
    --------
    >>> normal = np.random.default_rng(0).standard_normal(100_000)
    >>> bool(abs(moment_entropy(2 * normal) - np.log(2) - GAUSSIAN_ENTROPY) < 0.01)
    True
    """
    centred = values - values.mean(axis=-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=-1))
    scale = np.maximum(scale, max(floor, 1e-300))
    y = centred / scale[..., None]
    bell = np.exp(-(y**2) / 2)
    odd = (y * bell).mean(axis=-1)
    even = bell.mean(axis=-1) - np.sqrt(0.5)
    return np.log(scale) + GAUSSIAN_ENTROPY - ODD_WEIGHT * odd**2 - EVEN_WEIGHT * even**2


Contrast = Callable[[np.ndarray, float], np.ndarray]
CONTRASTS: dict[str, Contrast] = {
    "entropy": spacing_entropy,
    "support": support_width,
    "moments": moment_entropy,
}


def over_angles(
    first: np.ndarray, second: np.ndarray, angles: np.ndarray, contrast: Contrast, floor: float
) -> np.ndarray:
    """Contrast of a pair of coordinates turned by every angle, shape of the angles.

    ``c(cos t a + sin t b) + c(cos t b - sin t a)``: of period pi / 2.
    """
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    turned = contrast(cos * first + sin * second, floor)
    return turned + contrast(cos * second - sin * first, floor)


def rank_information(first: np.ndarray, second: np.ndarray) -> tuple[float, float, float]:
    """Mutual information of two variables in nats, its error, and how much of a grid is filled.

    Ranks are counted in a square grid of cells with at least ten points each on average, and
    the bias ``(b - 1)^2 / 2 n`` of independent variables is taken away. Filled are cells of a
    grid with five points each on average: nearly all where the support is a product.

    Returns
    -------
    information, error, coverage : float
        The error is the standard deviation for independent variables.

    Examples
    --------
    >>> x = np.random.default_rng(0).uniform(size=(2, 5000))
    >>> information, error, coverage = rank_information(x[0], x[1])
    >>> bool(abs(information) < 5 * error and coverage > 0.98)
    True
    """
    n = len(first)
    ranks = [np.argsort(np.argsort(x)) for x in (first, second)]
    bins, counts = _rank_counts(ranks, n, 10)
    share = counts[counts > 0] / n
    freedom = (bins - 1) ** 2
    information = float((share * np.log(share)).sum() + 2 * np.log(bins)) - freedom / (2 * n)
    coverage = float((_rank_counts(ranks, n, 5)[1] > 0).mean())
    return information, float(np.sqrt(2 * freedom)) / (2 * n), coverage


def _rank_counts(ranks: list[np.ndarray], n: int, each: int) -> tuple[int, np.ndarray]:
    """Counts in the cells of a square grid over the ranks, `each` points a cell on average."""
    bins = int(np.clip(np.sqrt(n / each), 2, MAX_BINS))
    cell = [rank * bins // n for rank in ranks]
    return bins, np.bincount(cell[0] * bins + cell[1], minlength=bins * bins)
