"""Contrasts of projections for independent component analysis without whitening.

A contrast takes projections (n,) or a batch of them (a, n) on unit directions and returns a value
in nats that is to be minimised. Its sum over orthonormal directions is compared between rotations,
so constants do not matter. Scale does: the coordinates are isometric and are not whitened. This
file also tests whether a contrast determines two directions at all, adds jitter to grids, and
minimises contrasts over rotations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

# Share of the values at each end whose mean is taken as the end of the support.
TAIL = 0.003
# Hyvarinen 1998, table 1: weights of the two terms of the approximate negentropy.
ODD_WEIGHT = 36 / (8 * np.sqrt(3) - 9)
EVEN_WEIGHT = 24 / (16 * np.sqrt(3) - 27)
MAX_BINS = 24
GAUSSIAN_ENTROPY = 0.5 * np.log(2 * np.pi * np.e)


def spacing_entropy(values: np.ndarray, floor: float = 0.0) -> np.ndarray:
    """Estimate the entropy from m-spacings of the sorted values, m = sqrt(n) (Vasicek 1976).

    ``H = mean_i log((n + 1) / m (x_(i + m) - x_(i)))``. Spacings are at least `floor`, so that the
    entropy of repeated values, as on a grid, stays finite.

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
    """Return the log width: the mean of the largest .3 % minus the mean of the smallest .3 %.

    If the support is a product, the sum over directions is minimal along its axes.

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
    """Return the Gaussian entropy minus the approximate negentropy (Hyvarinen 1998) of FastICA.

    ``H = log sd + c - k1 E[y exp(-y^2 / 2)]^2 - k2 (E[exp(-y^2 / 2)] - sqrt(1 / 2))^2`` with y
    standardised. It is smooth and suits heavy tails.

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


Contrast = Callable[[np.ndarray], np.ndarray]
CONTRASTS: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "entropy": spacing_entropy,
    "support": support_width,
    "moments": moment_entropy,
}


def with_floor(contrast: Callable[[np.ndarray, float], np.ndarray], floor: float) -> Contrast:
    """Fix the floor of a contrast."""
    return lambda values: contrast(values, floor)


def over_angles(
    first: np.ndarray, second: np.ndarray, angles: np.ndarray, contrast: Contrast
) -> np.ndarray:
    """Return the contrast of a pair of coordinates rotated by every angle.

    ``c(cos t a + sin t b) + c(cos t b - sin t a)``, which has period pi / 2.
    """
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    return contrast(cos * first + sin * second) + contrast(cos * second - sin * first)


def rank_information(first: np.ndarray, second: np.ndarray) -> tuple[float, float, float]:
    """Estimate the mutual information of two variables from a histogram of their ranks.

    The histogram has b x b cells with at least ten points each on average, and the bias
    ``(b - 1)^2 / 2 n`` of independent variables is subtracted.

    Returns
    -------
    information : float
        In nats.
    error : float
        Its standard deviation for independent variables.
    coverage : float
        Share of nonempty cells in a grid with five points per cell on average; near one where the
        support is a product.

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
    """Count points in a square grid over the ranks, with `each` points per cell on average."""
    bins = int(np.clip(np.sqrt(n / each), 2, MAX_BINS))
    cell = [rank * bins // n for rank in ranks]
    return bins, np.bincount(cell[0] * bins + cell[1], minlength=bins * bins)


# Do the data determine which two directions of a plane are the factors?

# The null distribution of the range of a contrast over angles.
NULL_POINTS, NULL_DRAWS, NULL_ANGLES, EARLY_DRAWS = 2000, 40, 16, 10
# Two directions stay in one group below these values of the z score and of the range in nats,
# or above this mutual information where less than this share of the grid is filled.
MIN_Z, MIN_RANGE = 6.0, 0.025
DEPENDENT, FILLED = 0.04, 0.95


def why_together(
    first: np.ndarray, second: np.ndarray, contrast: Contrast, rng: np.random.Generator
) -> str:
    """Say why two directions cannot be separated; empty if they can."""
    information, _, coverage = rank_information(first, second)
    if information > DEPENDENT and coverage < FILLED:
        return (
            f"their support is not a product (mutual information {information:.2f} nat, "
            f"{coverage:.0%} of the grid filled)"
        )
    return _why_rotatable(first, second, contrast, rng)


def _why_rotatable(
    first: np.ndarray, second: np.ndarray, contrast: Contrast, rng: np.random.Generator
) -> str:
    """Say why a contrast does not determine the directions in a plane; empty if it does."""
    angles = np.arange(NULL_ANGLES) * (np.pi / 2 / NULL_ANGLES)
    a, b = first[:NULL_POINTS], second[:NULL_POINTS]
    a, b = a - a.mean(), b - b.mean()
    seen = float(np.ptp(over_angles(a, b, angles, contrast)))
    if seen < MIN_RANGE:
        return f"they look the same from all angles (the contrast varies by {seen:.3f} nat)"
    radius = np.hypot(a, b)
    null: list[float] = []
    for draw in range(NULL_DRAWS):
        turned = rng.uniform(0, 2 * np.pi, len(radius))
        scrambled = over_angles(radius * np.cos(turned), radius * np.sin(turned), angles, contrast)
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
    """Whether two directions of different groups differ by their variance alone.

    This holds for Gaussians, correlated or not, along their principal axes.

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
        contrasts = (with_floor(one, floor) for one in CONTRASTS.values())
        if all(_why_rotatable(first, second, one, rng) for one in contrasts):
            return True
    return False


# Jitter for the coordinates of a grid, whose ties would dominate ranks and spacings.

# Points lie on a grid if the coefficient of variation of nearest-neighbour distances is lower.
GRID_VARIATION = 0.15
# Two points are at the same place if they are nearer than this share of the spacing of as many
# points on a regular grid of the same width.
NEARER_THAN_CHANCE = 0.05


def jitter_grid(points: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Add jitter of a quarter of a step to points on a grid; return other points unchanged.

    Without jitter, ranks of repeated values would follow the errors of the coordinates, which
    depend on the other coordinates. The second result is the length below which differences are
    not significant.
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
    """Return the nearest-neighbour distances of some of the points."""
    return KDTree(points).query(points[:: max(1, len(points) // 2000)], 2)[0][:, 1]


def _nearer_than_chance(points: np.ndarray) -> float:
    """Return a small share of the spacing of as many points on a regular grid in the same box."""
    n, f = points.shape
    variances = np.linalg.eigvalsh(np.atleast_2d(np.cov(points.T)))
    widths = np.sqrt(12 * np.maximum(variances, max(1e-12 * variances[-1], 1e-300)))
    return NEARER_THAN_CHANCE * float(np.exp(np.log(widths).mean())) / float(n ** (1 / f))


def _merged(points: np.ndarray, near: float) -> np.ndarray:
    """Merge points at the same place up to errors, as in a projection of a grid."""
    scaled = np.rint((points - points.mean(axis=0)) / near)
    cells = np.unique(scaled, axis=0, return_inverse=True)[1].ravel()
    count = np.bincount(cells)
    means = np.stack([np.bincount(cells, column) / count for column in points.T], axis=1)
    # A place on the border between cells is split among them.
    pairs = KDTree(means).query_pairs(2 * near, output_type="ndarray")
    joined = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(means), len(means)))
    label = connected_components(joined, directed=False)[1]
    weight = np.bincount(label, count)
    return np.stack([np.bincount(label, count * column) / weight for column in means.T], axis=1)


# Minimisation of a contrast over rotations, and angles between two sets of directions.

COARSE_ANGLES, FINE_ANGLES, FINE_ROUNDS = 32, 9, 3
COARSE_POINTS, FINE_POINTS = 1000, 10_000
# The whole range of angles is searched in the first sweeps only.
COARSE_SWEEPS, MAX_SWEEPS, TURNED_LITTLE = 2, 12, np.radians(0.05)
# With a single split into halves, the choice of a contrast would depend on chance.
HALVINGS = 2


def minimise_contrast(
    points: np.ndarray, contrast: Contrast, start: np.ndarray
) -> tuple[np.ndarray, float]:
    """Rotate pairs of directions to the smallest contrast (Jacobi) until convergence.

    Parameters
    ----------
    points : ndarray of shape (n, f)
        In random order; coarse searches use the first of them.
    contrast : callable
    start : ndarray of shape (f, f)
        Orthonormal rows.

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
                seen = over_angles(first, second, coarse, contrast)
                angle = coarse[seen.argmin()]
            first, second = pair @ points[:FINE_POINTS].T
            for _ in range(FINE_ROUNDS):
                fine = angle + np.linspace(-width, width, FINE_ANGLES)
                angle = fine[over_angles(first, second, fine, contrast).argmin()]
                width *= 2 / (FINE_ANGLES - 1)
            angle = (angle + np.pi / 4) % (np.pi / 2) - np.pi / 4  # the same pair of directions
            cos, sin = np.cos(angle), np.sin(angle)
            rotation[[a, b]] = np.array([[cos, sin], [-sin, cos]]) @ pair
            largest = max(largest, abs(angle))
        if largest < TURNED_LITTLE:
            break
    value = contrast((points[:FINE_POINTS] @ rotation.T).T).sum()
    return rotation, float(value)


def halves(points: np.ndarray) -> Iterator[np.ndarray]:
    """Yield halves of points in random order, for several splits."""
    half = len(points) // 2
    for offset in range(0, half, -(-half // HALVINGS)):
        rolled = np.roll(points, offset, axis=0)
        yield rolled[:half]
        yield rolled[half:]


def group_angles(turned: np.ndarray, rotation: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    """Return the largest principal angle in degrees between matched groups of two rotations."""
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
