"""Global principal components, noise floor, and projection onto the directions that vary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_points, check_random_state
from geodis.manifold.linalg import largest_singular
from geodis.manifold.local.neighbors import distinct_rows

# Up to this many columns the (d, d) covariance is diagonalised exactly.
MAX_COVARIANCE_DIMS = 2000
SKETCHED_COMPONENTS = 100
FEW = 4  # compute fewer than one in FEW components separately, which is faster
BLOCK_ROWS = 10_000

# Components with a smaller share of the largest variance are rounding errors.
NEGLIGIBLE_VARIANCE = 1e-12
# Fewer columns are too few to distinguish a noise floor from a few small directions.
LEAST_COLUMNS = 10
LEAST_FLOOR = 4
# Directions are kept above three times the noise edge, because noise is rarely even; the first
# variance must exceed 3.5 times the edge.
EDGES, SIGNAL_EDGES = 3.0, 3.5
FLOOR_ROUNDS = 5
# Points of the tabulated Marchenko-Pastur law.
LAW_POINTS = 2001
# Test of a noise floor: points, neighbours per point, and thresholds for the three statistics
# relative to independent directions. Noise has 1.0 of each; counts of few cells with two spikes .82
# of the first and .79 of the second; noiseless curved manifolds at most .6 and .71; SO(3) x a large
# circle .3 of the second; spheres 0 of the third.
NULL_POINTS, NULL_NEIGHBORS = 1000, 3
INDEPENDENT = np.array([0.7, 0.75, 0.5])


@dataclass(frozen=True)
class PrincipalComponents:
    """Global principal components, largest variance first.

    Attributes
    ----------
    mean : ndarray of shape (d,)
    axes : ndarray of shape (c, d)
        Orthonormal rows.
    variances : ndarray of shape (c,)
    total_variance : float
        Sum over all d columns, also those beyond the c components.
    """

    mean: np.ndarray
    axes: np.ndarray
    variances: np.ndarray
    total_variance: float

    @property
    def explained(self) -> np.ndarray:
        """Fraction of the total variance along each component, shape (c,)."""
        return self.variances / self.total_variance if self.total_variance > 0 else self.variances

    def project(self, points: np.ndarray, n_components: int | None = None) -> np.ndarray:
        """Return coordinates along the first components: (x - mean) axes^T, (n, n_components)."""
        return (points - self.mean) @ self.axes[:n_components].T


def principal_components(
    points: Any, n_components: int | None = None, *, random_state: Any = 0
) -> PrincipalComponents:
    """Compute principal components in memory that does not grow with n.

    Up to 2,000 columns the covariance is diagonalised exactly, with at most n components. For more
    columns the first 100 (or n_components) come from a randomised range finder with power
    iterations (Halko, Martinsson and Tropp 2011, algorithm 4.4).

    Parameters
    ----------
    points : array-like of shape (n, d)
    n_components : int, optional
        Number of components to keep.
    random_state : int, Generator or None
        Used with more than 2,000 columns.

    Returns
    -------
    PrincipalComponents

    Examples
    --------
    >>> components = principal_components([[3.0, 1.0], [0.0, 1.0], [-3.0, 1.0]])
    >>> components.variances.round(12)
    array([6., 0.])
    >>> components.axes[0]
    array([1., 0.])
    """
    points = check_points(points, min_points=1, dtype=None)
    n, d = points.shape
    limit = min(n, d)
    if n_components is not None:
        limit = check_int(n_components, "n_components", low=1, high=limit)
    mean = points.mean(axis=0, dtype=float)
    if n < d <= MAX_COVARIANCE_DIMS:
        centred = points - mean
        variances, axes = _components_of_few(centred, limit)
        total = float((centred**2).sum() / n)
    elif d <= MAX_COVARIANCE_DIMS:
        covariance = sum(block.T @ block for block in _centred_blocks(points, mean)) / n
        variances, columns = np.linalg.eigh(covariance)
        variances, axes = variances[::-1], columns.T[::-1]
        total = float(np.trace(covariance))
    else:
        limit = min(limit, n_components or SKETCHED_COMPONENTS)
        variances, axes = _sketched_components(points, mean, limit, random_state)
        total = float(sum((block**2).sum() for block in _centred_blocks(points, mean)) / n)
    variances = np.maximum(variances[:limit], 0.0)
    return PrincipalComponents(mean, _with_fixed_signs(axes[:limit]), variances, total)


@dataclass(frozen=True)
class KeptDirections:
    """The directions with more variance than a floor of even noise.

    Attributes
    ----------
    basis : ndarray of shape (c, d)
        Orthonormal rows; the identity if every column is kept.
    spectrum : ndarray of shape (q,)
        Variances along the principal directions, largest first.
    noise : float
        Standard deviation of the noise per direction; 0.0 if no floor was found.
    edge : float
        The largest variance that noise alone produces; 0.0 without a floor.
    n_columns : int
        Columns d of the points.
    how : str
        A sentence that says what was kept, and why.
    """

    basis: np.ndarray
    spectrum: np.ndarray
    noise: float
    edge: float
    n_columns: int
    how: str

    @property
    def n_directions(self) -> int:
        """Number c of kept directions."""
        return len(self.basis)

    def project(self, points: np.ndarray) -> np.ndarray:
        """Return coordinates x basis^T along the kept directions, shape (n, c).

        Identical rows get identical coordinates, which a matrix product does not guarantee. If all
        columns are kept, the points themselves are returned, not a copy.
        """
        if self._are_columns:
            return points
        places, _, place = distinct_rows(points)
        projected: np.ndarray = places @ self.basis.T
        return projected if place is None else projected[place]

    def lift(self, vectors: np.ndarray) -> np.ndarray:
        """Convert vectors along the kept directions, (..., c), to all columns, (..., d).

        If all columns are kept, the vectors themselves are returned, not a copy.
        """
        return vectors if self._are_columns else vectors @ self.basis

    @property
    def _are_columns(self) -> bool:
        c, d = self.basis.shape
        return c == d and np.array_equal(self.basis, np.eye(d))

    def __str__(self) -> str:
        """Return the sentence `how`."""
        return self.how


def kept_directions(
    points: np.ndarray,
    *,
    spectrum: PrincipalComponents | None = None,
    least: int = 1,
    random_state: Any = 0,
) -> KeptDirections:
    r"""Find the directions in which the points vary more than even noise.

    Directions without variance, and those explained by noise of equal strength in every column,
    are left out. The noise is estimated from the lowest quarter of the spectrum: for q noise
    variances v_(1) <= ... <= v_(q) of n points, with F the Marchenko-Pastur law of unit noise in
    q of n dimensions::

        sigma^2 = median over i < q / 4 of  v_(i) / F^-1((i - 1/2) / q),
        edge = sigma^2 (1 + sqrt(q / n))^2

    Variances above three times the edge are kept. The low end of a spectrum is a noise floor only
    if its directions are independent: those of a curved manifold are functions of its other
    directions, and those of a small factor depend on each other. Everything is kept if they are
    dependent, with fewer than ten columns, and if the first variance is below 3.5 times the edge.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    spectrum : PrincipalComponents, optional
        Of the points, if known.
    least : int
        A floor with fewer directions above it is ignored.
    random_state : int, Generator or None
        Draws the points for the test of a floor.

    Returns
    -------
    KeptDirections

    Examples
    --------
    >>> kept_directions(np.array([[3.0, 1.0], [0.0, 1.0], [-3.0, 1.0]])).basis
    array([[1., 0.]])
    >>> rng = np.random.default_rng(0)
    >>> noisy = 0.1 * rng.standard_normal((500, 20))
    >>> noisy[:, :2] += rng.standard_normal((500, 2))
    >>> print(kept_directions(noisy))
    2 of 20 directions lie above a floor of noise of 0.099 in each
    """
    rng = check_random_state(random_state)
    if spectrum is None:
        spectrum = principal_components(points, random_state=0)
    variances, d = spectrum.variances, points.shape[1]
    if variances[0] <= 0:
        raise InputError(f"X must vary; got {len(points)} identical rows.")
    kept = int((variances > NEGLIGIBLE_VARIANCE * variances[0]).sum())
    floor = _noise_floor(spectrum, kept, *points.shape)
    floor = floor if floor is not None and floor[0] >= least else None
    if floor is not None and _looks_like_noise(points, spectrum, floor[0], kept, rng):
        above, noise, edge = floor
        how = f"{above} of {d} directions lie above a floor of noise of {noise:.2g} in each"
        return KeptDirections(spectrum.axes[:above], variances, noise, edge, d, how)
    basis = np.eye(d) if kept == d else spectrum.axes[:kept]
    how = f"all {d} directions vary" if kept == d else f"{kept} of {d} directions vary"
    return KeptDirections(
        basis, variances, 0.0, 0.0, d, how + ", and no floor of even noise was seen"
    )


def _noise_floor(
    spectrum: PrincipalComponents, kept: int, n: int, d: int
) -> tuple[int, float, float] | None:
    """Return the number of variances above a floor, its sigma and its edge; None without one."""
    variances = spectrum.variances[:kept]
    columns = min(d, n - 1) if len(spectrum.variances) < min(d, n - 1) else kept
    if d < LEAST_COLUMNS or columns < LEAST_COLUMNS:
        return None
    above = 0
    for _ in range(FLOOR_ROUNDS):  # the signal occupies the top of the spectrum
        q = columns - above
        # A centred sample has n - 1 independent rows. With more columns than rows, the excess
        # variances are zero, and the law is that of the transposed table.
        full = d - above if columns == n - 1 else q
        ratio = full / max(n - 1, 1)
        if len(variances) < columns:  # only the top was computed; the sum of the rest is known
            rest = spectrum.total_variance - variances.sum()
            sigma2 = max(rest, 0.0) / max(full - (len(variances) - above), 1)
        else:
            low = variances[::-1][: max(2, q // 4)]
            expected = marchenko_pastur_quantiles((np.arange(len(low)) + 0.5) / q, ratio)
            sigma2 = float(np.median(low / expected))
        edge = sigma2 * (1 + np.sqrt(ratio)) ** 2
        found = int((variances > EDGES * edge).sum())
        if found == above:
            break
        above = found
    if above == 0 or above >= kept or columns - above < LEAST_FLOOR:
        return None
    if sigma2 <= 0 or variances[0] < SIGNAL_EDGES * edge:
        return None
    return above, float(np.sqrt(sigma2)), float(edge)


def marchenko_pastur_quantiles(shares: np.ndarray, ratio: float) -> np.ndarray:
    r"""Compute quantiles of the Marchenko-Pastur law: variances of unit noise.

    The density is sqrt((b - x) (x - a)) / (2 pi c x) between a, b = (1 -+ sqrt(c))^2, with the
    ratio c of columns to rows; for more columns than rows, zero variances are not counted.

    Parameters
    ----------
    shares : ndarray
        Between 0 and 1.
    ratio : float
        Columns divided by rows.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> marchenko_pastur_quantiles(np.array([0.0, 0.5, 1.0]), 0.25).round(2)
    array([0.25, 0.92, 2.25])
    """
    root = np.sqrt(ratio)
    # x = 1 + c - 2 sqrt(c) cos(t) puts more points at the ends, where the density is a root.
    angle = np.linspace(0.0, np.pi, LAW_POINTS)
    x = 1 + ratio - 2 * root * np.cos(angle)
    density = np.sin(angle) ** 2 / np.maximum(x, np.finfo(float).tiny)
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return np.interp(np.asarray(shares) * below[-1], below, x)


def _looks_like_noise(
    points: np.ndarray,
    spectrum: PrincipalComponents,
    above: int,
    kept: int,
    rng: np.random.Generator,
) -> bool:
    """Test whether the directions below a floor are independent, of the others and each other.

    The points are compared with a permutation of every direction of the floor, which has the same
    variances without dependence. Dependence reduces three statistics: differences between near
    points along the lower half of the floor (curved surfaces; the upper half may contain some of a
    surface in true noise), distances within the floor (small factors, with fewer dimensions than
    directions), and the variance of lengths within the floor (small spheres).

    For counts, noise grows with the mean, so lengths within the floor depend on position while
    directions do not. In the first two comparisons every point therefore keeps its length, and
    only its direction is permuted.
    """
    rows = np.sort(rng.choice(len(points), min(len(points), NULL_POINTS), replace=False))
    centred = np.asarray(points[rows], dtype=float) - spectrum.mean
    found = centred @ spectrum.axes[:kept].T
    floor = found[:, above:]
    lengths = np.sqrt((floor**2).sum(axis=1, keepdims=True))
    unit = rng.permuted(floor / np.maximum(lengths, np.finfo(float).tiny), axis=0)
    unit /= np.maximum(np.sqrt((unit**2).sum(axis=1, keepdims=True)), np.finfo(float).tiny)
    half = (above + kept) // 2
    measured = []
    for own in (floor, unit * lengths):
        table = np.hstack([found[:, :above], own])
        near = _nearest(table)[0]
        differ = np.mean((table[near, half:] - table[:, None, half:]) ** 2)
        measured.append((differ, _nearest(own)[1].mean()))
    mixed = rng.permuted(floor, axis=0)
    data = np.array([*measured[0], (lengths**2).var()])
    null = np.array([*measured[1], (mixed**2).sum(axis=1).var()])
    # With nearly as many directions as points, all lengths are nearly equal.
    crowded = np.array([1.0, 1.0, max(0.0, 1 - 2 * (kept - above) / len(points))])
    return bool((data > INDEPENDENT * crowded * null).all())


def _nearest(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest other rows of every row, and their squared distances."""
    squared = (table**2).sum(axis=1)
    distances = squared[:, None] + squared - 2 * table @ table.T
    np.fill_diagonal(distances, np.inf)
    near = np.argpartition(distances, NULL_NEIGHBORS - 1, axis=1)[:, :NULL_NEIGHBORS]
    return near, np.take_along_axis(distances, near, axis=1)


def _centred_blocks(points: np.ndarray, mean: np.ndarray):  # type: ignore[no-untyped-def]
    """Yield blocks of centred rows in float64, so that a memory map is never read whole."""
    for start in range(0, len(points), BLOCK_ROWS):
        yield points[start : start + BLOCK_ROWS].astype(float) - mean


def _components_of_few(centred: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return exact variances and axes for fewer rows than columns."""
    n = len(centred)
    if FEW * count < n:
        squares, axes = largest_singular(centred, count)
        return squares / n, axes
    span, coordinates = np.linalg.qr(centred.T)
    variances, columns = np.linalg.eigh(coordinates @ coordinates.T / n)
    return variances[::-1], (span @ columns).T[::-1]


def _sketched_components(
    points: np.ndarray, mean: np.ndarray, count: int, random_state: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return leading variances and axes from a randomised range finder on C = X^T X / n."""
    n, d = points.shape
    basis = check_random_state(random_state).standard_normal((d, min(count + 10, d)))
    for _ in range(4):
        basis = np.linalg.qr(basis)[0]
        basis = sum(block.T @ (block @ basis) for block in _centred_blocks(points, mean)) / n
    basis = np.linalg.qr(basis)[0]
    projected = np.concatenate([block @ basis for block in _centred_blocks(points, mean)])
    variances, columns = np.linalg.eigh(projected.T @ projected / n)
    return variances[::-1], (basis @ columns).T[::-1]


def _with_fixed_signs(axes: np.ndarray) -> np.ndarray:
    """Make the largest entry of every row positive, so that results are reproducible."""
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    return axes * np.where(largest < 0, -1.0, 1.0)
