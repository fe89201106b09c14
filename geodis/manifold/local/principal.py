"""Points -> global principal components: the spectrum, and a projection that keeps what varies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_points, check_random_state
from geodis.manifold.linalg import largest_singular
from geodis.manifold.local.neighbors import distinct_rows

# Up to here the (d, d) covariance is formed and solved whole: exact, one pass over the points.
MAX_COVARIANCE_DIMS = 2000
SKETCHED_COMPONENTS = 100
FEW = 4  # of so many times as many, some are cheaper found apart
BLOCK_ROWS = 10_000

# Components with less variance than this part of the largest are rounding, not data.
NEGLIGIBLE_VARIANCE = 1e-12
# Fewer columns leave too few variances to tell a floor from a few small directions.
LEAST_COLUMNS = 10
LEAST_FLOOR = 4
# What is kept lies above so many times the edge of the noise, because noise is seldom even; and
# there is something to keep where the first variance lies above so many.
EDGES, SIGNAL_EDGES = 3.0, 3.5
FLOOR_ROUNDS = 5
# Points of the tabled Marchenko-Pastur law.
LAW_POINTS = 2001
# The test of a floor: points, neighbours of each, and the shares of what independent directions
# would have. Noise has 1.0 of each, counts of few cells at two spikes .82 of the first and .79 of
# the second; curved manifolds without noise had at most .6 and .71, SO(3) beside a large circle .3
# of the second, spheres none of the third.
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
        """Coordinates along the first components: (x - mean) axes^T, shape (n, n_components)."""
        return (points - self.mean) @ self.axes[:n_components].T


def principal_components(
    points: Any, n_components: int | None = None, *, random_state: Any = 0
) -> PrincipalComponents:
    """Compute principal components in memory that does not grow with n.

    Up to 2,000 columns the covariance is diagonalised: all components, exactly, no more than
    there are points, for beyond these nothing varies. Of more columns the first 100 (or
    n_components) come from a randomised range finder with power iterations (Halko, Martinsson and
    Tropp 2011, algorithm 4.4).

    Parameters
    ----------
    points : array-like of shape (n, d)
    n_components : int, optional
        Keep only so many.
    random_state : int, Generator or None
        Used beyond 2,000 columns.

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
    """The directions in which points vary by more than a floor of even noise.

    Attributes
    ----------
    basis : ndarray of shape (c, d)
        Orthonormal rows; the identity where every column is kept as it is.
    spectrum : ndarray of shape (q,)
        Variances along the principal directions, largest first.
    noise : float
        Standard deviation of the noise in each direction; 0.0 where no floor was seen.
    edge : float
        The largest variance that such noise alone would give a direction; 0.0 without a floor.
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
        """Number c of directions that were kept."""
        return len(self.basis)

    def project(self, points: np.ndarray) -> np.ndarray:
        """Coordinates x basis^T of points along the kept directions, shape (n, c).

        Identical rows have identical coordinates, which a product of matrices does not promise.
        The points themselves, not a copy, where the kept directions are the columns.
        """
        if self._are_columns:
            return points
        places, _, place = distinct_rows(points)
        projected: np.ndarray = places @ self.basis.T
        return projected if place is None else projected[place]

    def lift(self, vectors: np.ndarray) -> np.ndarray:
        """Vectors along the kept directions, (..., c), in all columns, (..., d).

        Themselves, not a copy, where the kept directions are the columns.
        """
        return vectors if self._are_columns else vectors @ self.basis

    @property
    def _are_columns(self) -> bool:
        c, d = self.basis.shape
        return c == d and np.array_equal(self.basis, np.eye(d))

    def __str__(self) -> str:
        """One line for people."""
        return self.how


def kept_directions(
    points: np.ndarray,
    *,
    spectrum: PrincipalComponents | None = None,
    least: int = 1,
    random_state: Any = 0,
) -> KeptDirections:
    r"""Orthonormal directions in which the points vary, without a floor of even noise.

    Left out are directions without variance, and those that noise of the same strength in every
    column explains. Its strength is read from the lowest quarter of the spectrum: of q noise
    variances v_(1) <= ... <= v_(q) of n points, with F the Marchenko-Pastur law of unit noise in
    q of n dimensions::

        sigma^2 = median over i < q / 4 of  v_(i) / F^-1((i - 1/2) / q),
        edge = sigma^2 (1 + sqrt(q / n))^2

    Kept is what lies above three times the edge. A low end of the spectrum is a floor only where
    its directions depend on nothing: the low variances of a curved manifold are functions of its
    other directions, and those of a small factor depend on one another. Otherwise, with fewer than
    ten columns, and where the first variance is below five times the edge, everything is kept.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    spectrum : PrincipalComponents, optional
        Of the points, where they are known.
    least : int
        Where fewer directions than this lie above a floor, it is none.
    random_state : int, Generator or None
        Draws the points at which a floor is tested.

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
    """How many variances lie above a floor, its sigma and its edge; None where nothing is one."""
    variances = spectrum.variances[:kept]
    columns = min(d, n - 1) if len(spectrum.variances) < min(d, n - 1) else kept
    if d < LEAST_COLUMNS or columns < LEAST_COLUMNS:
        return None
    above = 0
    for _ in range(FLOOR_ROUNDS):  # the signal takes places at the top of the spectrum
        q = columns - above
        # Without its mean a sample has n - 1 independent rows. Of more columns than rows as many
        # variances are zero as there are too many: the law is that of the transposed table.
        full = d - above if columns == n - 1 else q
        ratio = full / max(n - 1, 1)
        if len(variances) < columns:  # only the top was computed: the rest is known by its sum
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
    r"""Quantiles of the variances of unit noise in `ratio` times as many columns as rows.

    The law has the density sqrt((b - x) (x - a)) / (2 pi c x) between a, b = (1 -+ sqrt(c))^2;
    of more columns than rows only the variances that are not zero are counted.

    Parameters
    ----------
    shares : ndarray
        Between 0 and 1.
    ratio : float
        Columns by rows.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> marchenko_pastur_quantiles(np.array([0.0, 0.5, 1.0]), 0.25).round(2)
    array([0.25, 0.92, 2.25])
    """
    root = np.sqrt(ratio)
    # x = 1 + c - 2 sqrt(c) cos(t) spreads the points where the density ends like a root.
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
    """Whether the directions below a floor depend on nothing, neither the others nor one another.

    Compared are the points, and the same with every direction of the floor in an order of its own:
    the same variances, and no dependence. Three things shrink where there is one: how much points
    that are near differ along the lower half of the floor (a curved surface: its low variances are
    functions of the others; the upper half may hold some of a surface in true noise), how far
    apart points are within the floor (a small factor: fewer dimensions than directions), and how
    much lengths within the floor vary (small spheres).

    The noise of counts is as large as the counts are, so that lengths within the floor depend on
    the place, and only directions there depend on nothing. For the first two comparisons every
    point keeps its length, and its direction alone is mixed with those of others.
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
    # Of hardly fewer directions than points all have nearly one length, whatever they are.
    crowded = np.array([1.0, 1.0, max(0.0, 1 - 2 * (kept - above) / len(points))])
    return bool((data > INDEPENDENT * crowded * null).all())


def _nearest(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Few nearest other rows of every row, and their squared distances."""
    squared = (table**2).sum(axis=1)
    distances = squared[:, None] + squared - 2 * table @ table.T
    np.fill_diagonal(distances, np.inf)
    near = np.argpartition(distances, NULL_NEIGHBORS - 1, axis=1)[:, :NULL_NEIGHBORS]
    return near, np.take_along_axis(distances, near, axis=1)


def _centred_blocks(points: np.ndarray, mean: np.ndarray):  # type: ignore[no-untyped-def]
    """Rows in float64, centred, a block at a time: a memory map is never read whole."""
    for start in range(0, len(points), BLOCK_ROWS):
        yield points[start : start + BLOCK_ROWS].astype(float) - mean


def _components_of_few(centred: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Variances and axes of fewer rows than columns, exactly: the rows span all that varies."""
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
    """Leading variances and axes by a randomised range finder on C = X^T X / n."""
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
    """Make the largest entry of every row positive, so that results repeat across libraries."""
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    return axes * np.where(largest < 0, -1.0, 1.0)
