"""Polynomial trend of points over their coordinates in all maps; its residuals are local."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# A polynomial is fitted to so many points at most, and so many at least for each of its terms.
MOST_ROWS, PER_TERM = 6000, 10
# Directions of the terms that vary less, in shares of the one that varies most, are left out.
LEAST = 1e-8


@dataclass(frozen=True)
class Trend:
    """A polynomial of degree two at most, fitted to all points.

    Attributes
    ----------
    centre : ndarray of shape (r,)
    scale : float
    mean : ndarray of shape (d,)
        Of the points.
    coefficients : ndarray of shape (t, d)
    degree : int
        0, 1 or 2.
    means : ndarray of shape (t,)
        Of the terms.
    """

    centre: np.ndarray
    scale: float
    mean: np.ndarray
    coefficients: np.ndarray
    degree: int
    means: np.ndarray

    def at(self, coordinates: np.ndarray) -> np.ndarray:
        """Values at coordinates (..., r), of shape (..., d)."""
        standard = (coordinates - self.centre) / self.scale
        return self.mean + (_terms(standard, self.degree) - self.means) @ self.coefficients


def fit_trend(coordinates: np.ndarray, points: np.ndarray) -> Trend:
    """Fit a polynomial of the coordinates to the points, of the highest degree that they determine.

    Parameters
    ----------
    coordinates : ndarray of shape (n, r)
    points : ndarray of shape (n, d)

    Returns
    -------
    Trend

    Examples
    --------
    >>> y = np.random.default_rng(0).standard_normal((500, 2))
    >>> points = np.column_stack([y[:, 0] ** 2, 1 - y[:, 1]])
    >>> fit_trend(y, points).at(np.array([2.0, 3.0])).round(9).tolist()
    [4.0, -2.0]
    """
    rows = np.arange(0, len(points), max(1, len(points) // MOST_ROWS))
    coordinates, points = coordinates[rows], points[rows]
    centre, r = coordinates.mean(axis=0), coordinates.shape[1]
    scale = max(float(coordinates.std(axis=0).max()), np.finfo(float).tiny)
    sizes = np.array([0, r, r + r * (r + 1) // 2])
    degree = int(np.flatnonzero(PER_TERM * sizes <= len(rows)).max())
    terms = _terms((coordinates - centre) / scale, degree)
    means, mean = terms.mean(axis=0), points.mean(axis=0)
    terms = terms - means
    values, vectors = np.linalg.eigh(terms.T @ terms)
    inverse = np.zeros_like(values)
    clear = values > LEAST * max(values.max(initial=0.0), np.finfo(float).tiny)
    inverse[clear] = 1 / values[clear]
    coefficients = (vectors * inverse) @ (vectors.T @ (terms.T @ (points - mean)))
    return Trend(centre, scale, mean, coefficients, degree, means)


def _terms(standard: np.ndarray, degree: int) -> np.ndarray:
    first, second = np.triu_indices(standard.shape[-1])
    squares = standard[..., first] * standard[..., second]
    return np.concatenate([standard[..., :0], standard, squares][: degree + 1], axis=-1)
