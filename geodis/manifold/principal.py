"""Points -> global principal components: the spectrum, and a projection that keeps what varies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_points, check_random_state

# Up to here the (d, d) covariance is formed and solved whole: exact, one pass over the points.
MAX_COVARIANCE_DIMS = 2000
SKETCHED_COMPONENTS = 100
BLOCK_ROWS = 10_000

# Components with less variance than this part of the largest are rounding, not data.
NEGLIGIBLE_VARIANCE = 1e-12
# A floor of even noise in the spectrum: directions, height of the cliff before it, its slope.
MIN_FLOOR, CLIFF, FLOOR_SPREAD = 10, 20.0, 1.5


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

    Up to 2,000 columns the covariance is diagonalised: all components, exactly. Beyond, the
    first 100 (or n_components) come from a randomised range finder with power iterations
    (Halko, Martinsson and Tropp 2011, algorithm 4.4).

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
    limit = min(n, d) if d > MAX_COVARIANCE_DIMS else d
    if n_components is not None:
        limit = check_int(n_components, "n_components", low=1, high=limit)
    mean = points.mean(axis=0, dtype=float)
    if d <= MAX_COVARIANCE_DIMS:
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


def varying_directions(points: np.ndarray) -> np.ndarray:
    """Orthonormal rows spanning the directions in which the points vary.

    Left out are directions without variance, and a floor of even noise: at least ten directions,
    and as many as are kept, of nearly equal variance far below the next. Distances between near
    points would otherwise be mostly noise.

    Parameters
    ----------
    points : ndarray of shape (n, d)

    Returns
    -------
    ndarray of shape (c, d)

    Examples
    --------
    >>> varying_directions(np.array([[3.0, 1.0], [0.0, 1.0], [-3.0, 1.0]]))
    array([[1., 0.]])
    """
    spectrum = principal_components(points, random_state=0)
    variances = spectrum.variances
    if variances[0] <= 0:
        raise InputError(f"X must vary; got {len(points)} identical rows.")
    kept = int((variances > NEGLIGIBLE_VARIANCE * variances[0]).sum())
    cliff = int(np.argmax(variances[: kept - 1] / variances[1:kept])) + 1 if kept > 1 else kept
    floor = variances[cliff:kept]
    if (
        len(floor) >= max(MIN_FLOOR, cliff)
        and variances[cliff - 1] > CLIFF * floor[0]
        and floor[0] < FLOOR_SPREAD * floor[-1]
    ):
        kept = cliff
    return np.eye(points.shape[1]) if kept == points.shape[1] else spectrum.axes[:kept]


def _centred_blocks(points: np.ndarray, mean: np.ndarray):  # type: ignore[no-untyped-def]
    """Rows in float64, centred, a block at a time: a memory map is never read whole."""
    for start in range(0, len(points), BLOCK_ROWS):
        yield points[start : start + BLOCK_ROWS].astype(float) - mean


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
