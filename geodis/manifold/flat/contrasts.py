"""How far coordinates are from independent: contrasts of one-dimensional projections.

Each takes values (n,) or a batch (a, n), standing for projections on unit directions, and gives
what is to be small, in nats. A sum over orthonormal directions is compared between rotations, so
constants do not matter; scale does, because the coordinates are isometric: nothing is whitened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

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


# Whether the data determine which two directions of a plane are the factors.

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


# Jitter for the coordinates of a grid, whose ties would dominate ranks and spacings.

# Neighbours at such even distances are those of a grid.
GRID_VARIATION = 0.15
# Of the distance between points evenly spread over the same width: nearer ones repeat a place.
NEARER_THAN_CHANCE = 0.05


def jitter_grid(points: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Points of a grid with jitter of a quarter of a step; other points as they are.

    Within a repeated value, ranks would follow the errors of the coordinates, which depend on the
    other coordinates. The second result is the length below which differences mean nothing.
    """
    places, step = points, _steps(points)
    near = _nearer_than_chance(points)
    repeated = bool(np.median(step) < near)
    if repeated:
        places = _merged(points, near)
        if len(places) == 1:
            return points, 0.0
        step = _steps(places)
    typical = float(np.median(step))
    if not repeated and step.std() > GRID_VARIATION * step.mean():
        return points, 1e-3 * typical
    return points + rng.normal(scale=typical / 4, size=points.shape), 1e-3 * typical


def _steps(points: np.ndarray) -> np.ndarray:
    """Distances from some of the points to their nearest."""
    return KDTree(points).query(points[:: max(1, len(points) // 2000)], 2)[0][:, 1]


def _nearer_than_chance(points: np.ndarray) -> float:
    """A small part of the distance between as many points, spread evenly over the same box."""
    n, f = points.shape
    variances = np.linalg.eigvalsh(np.atleast_2d(np.cov(points.T)))
    widths = np.sqrt(12 * np.maximum(variances, max(1e-12 * variances[-1], 1e-300)))
    return NEARER_THAN_CHANCE * float(np.exp(np.log(widths).mean())) / float(n ** (1 / f))


def _merged(points: np.ndarray, near: float) -> np.ndarray:
    """Places that points repeat up to errors, as where a grid is seen without all directions."""
    scaled = np.rint((points - points.mean(axis=0)) / near)
    cells = np.unique(scaled, axis=0, return_inverse=True)[1].ravel()
    count = np.bincount(cells)
    means = np.stack([np.bincount(cells, column) / count for column in points.T], axis=1)
    # A place at a border of cells is in several.
    pairs = KDTree(means).query_pairs(2 * near, output_type="ndarray")
    joined = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(means), len(means)))
    label = connected_components(joined, directed=False)[1]
    weight = np.bincount(label, count)
    return np.stack([np.bincount(label, count * column) / weight for column in means.T], axis=1)


# Orthonormal directions of least contrast, and how far two sets of directions are apart.

COARSE_ANGLES, FINE_ANGLES, FINE_ROUNDS = 32, 9, 3
COARSE_POINTS, FINE_POINTS = 1000, 10_000
# The whole range of angles is searched in the first sweeps only.
COARSE_SWEEPS, MAX_SWEEPS, TURNED_LITTLE = 2, 12, np.radians(0.05)
# One halving of the points would leave the choice of a contrast to luck.
HALVINGS = 2


def minimise_contrast(
    points: np.ndarray, contrast: Contrast, start: np.ndarray, floor: float
) -> tuple[np.ndarray, float]:
    """Turn pairs of directions to the least contrast until none turns any more.

    Parameters
    ----------
    points : ndarray of shape (n, f)
        In random order: the first of them are used for coarse searches.
    contrast : callable
    start : ndarray of shape (f, f)
        Orthonormal rows.
    floor : float

    Returns
    -------
    rotation : ndarray of shape (f, f)
    value : float
    """
    rotation = start.copy()
    coarse = np.arange(COARSE_ANGLES) * (np.pi / 2 / COARSE_ANGLES)
    few = points[:COARSE_POINTS]
    for sweep in range(MAX_SWEEPS):
        largest = 0.0
        for a, b in combinations(range(len(rotation)), 2):
            pair = rotation[[a, b]]
            angle, width = 0.0, coarse[1]
            if sweep < COARSE_SWEEPS:
                first, second = pair @ few.T
                seen = over_angles(first, second, coarse, contrast, floor)
                angle = coarse[seen.argmin()]
            first, second = pair @ points[:FINE_POINTS].T
            for _ in range(FINE_ROUNDS):
                fine = angle + np.linspace(-width, width, FINE_ANGLES)
                angle = fine[over_angles(first, second, fine, contrast, floor).argmin()]
                width *= 2 / (FINE_ANGLES - 1)
            angle = (angle + np.pi / 4) % (np.pi / 2) - np.pi / 4  # the same pair of directions
            cos, sin = np.cos(angle), np.sin(angle)
            rotation[[a, b]] = np.array([[cos, sin], [-sin, cos]]) @ pair
            largest = max(largest, abs(angle))
        if largest < TURNED_LITTLE:
            break
    value = contrast((points[:FINE_POINTS] @ rotation.T).T, floor).sum()
    return rotation, float(value)


def halves(points: np.ndarray) -> Iterator[np.ndarray]:
    """Halves of the points, which are in random order, for several halvings."""
    half = len(points) // 2
    for offset in range(0, half, -(-half // HALVINGS)):
        rolled = np.roll(points, offset, axis=0)
        yield rolled[:half]
        yield rolled[half:]


def group_angles(turned: np.ndarray, rotation: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    """Largest principal angle in degrees between groups of rows and their best match in another."""
    group = np.repeat(np.arange(len(dims)), dims)
    overlap = (turned @ rotation.T) ** 2
    share = np.stack([overlap[:, group == g].sum(axis=1) for g in range(len(dims))], axis=1)
    row, place = linear_sum_assignment(-np.repeat(share, dims, axis=1))
    owner = np.empty(len(turned), int)
    owner[row] = group[place]
    angles = []
    for g in range(len(dims)):
        cosines = np.linalg.svd(turned[owner == g] @ rotation[group == g].T, compute_uv=False)
        angles.append(np.degrees(np.arccos(np.clip(cosines.min(), 0.0, 1.0))))
    return np.array(angles)
