"""Whether the data determine which two directions of a plane are the factors."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from geodis.manifold.independence.contrasts import (
    CONTRASTS,
    Contrast,
    over_angles,
    rank_information,
)

NULL_POINTS = 2000
# When two directions stay together.
NULL_DRAWS, NULL_ANGLES, EARLY_DRAWS = 40, 16, 10
MIN_Z, MIN_RANGE = 6.0, 0.025
DEPENDENT, FILLED = 0.04, 0.95


def why_together(
    first: np.ndarray,
    second: np.ndarray,
    contrast: Contrast,
    floor: float,
    rng: np.random.Generator,
) -> str:
    """Why two directions cannot be told apart; empty where they can."""
    information, _, coverage = rank_information(first, second)
    if information > DEPENDENT and coverage < FILLED:
        return (
            f"their support is not a product (mutual information {information:.2f} nat, "
            f"{coverage:.0%} of the grid filled)"
        )
    return _why_rotatable(first, second, contrast, floor, rng)


def _why_rotatable(
    first: np.ndarray,
    second: np.ndarray,
    contrast: Contrast,
    floor: float,
    rng: np.random.Generator,
) -> str:
    """Why a contrast does not say which directions of a plane are the factors; empty if it does."""
    angles = np.arange(NULL_ANGLES) * (np.pi / 2 / NULL_ANGLES)
    a, b = first[:NULL_POINTS], second[:NULL_POINTS]
    a, b = a - a.mean(), b - b.mean()
    seen = float(np.ptp(over_angles(a, b, angles, contrast, floor)))
    if seen < MIN_RANGE:
        return f"they look the same from all angles (the contrast varies by {seen:.3f} nat)"
    radius = np.hypot(a, b)
    null: list[float] = []
    for draw in range(NULL_DRAWS):
        turned = rng.uniform(0, 2 * np.pi, len(radius))
        scrambled = over_angles(
            radius * np.cos(turned), radius * np.sin(turned), angles, contrast, floor
        )
        null.append(float(np.ptp(scrambled)))
        z = (seen - np.mean(null)) / max(float(np.std(null)), 1e-12)
        if draw + 1 == EARLY_DRAWS and not MIN_Z / 3 < z < 3 * MIN_Z:
            break
    if z < MIN_Z:
        return f"they look the same from all angles (z = {z:.1f} against scrambled angles)"
    return ""


def split_by_spread_alone(
    values: np.ndarray, dims: tuple[int, ...], floor: float, rng: np.random.Generator
) -> bool:
    """Whether two directions of different groups cannot be told apart once equally spread.

    So do Gaussians, correlated or not, along their principal axes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> normal, uniform = rng.standard_normal((2000, 2)), rng.uniform(size=(2000, 2))
    >>> [split_by_spread_alone(x * [3, 1], (1, 1), 0.0, rng) for x in (normal, uniform)]
    [True, False]
    """
    group = np.repeat(np.arange(len(dims)), dims)
    spread = np.maximum(values.std(axis=0), 1e-300)
    for a, b in combinations(range(len(group)), 2):
        if group[a] == group[b]:
            continue
        first, second = values[:, a], values[:, b] * (spread[a] / spread[b])
        if all(_why_rotatable(first, second, one, floor, rng) for one in CONTRASTS.values()):
            return True
    return False
