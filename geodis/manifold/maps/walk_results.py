"""Results of traversals and analogies, and decoding from the joint map of all factors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from geodis.base.check import InputError, to_numpy
from geodis.manifold.local.curved_fit_ratio import quadratic_count, regression_weights
from geodis.manifold.local.exact_search import Search, searcher
from geodis.manifold.maps.factor_map import Geodesic


class Decodable:
    """Points in the space of the fitted points, which may be latents of a model.

    Attributes
    ----------
    points : ndarray of shape (s, d)
    nearest : ndarray of int, shape (s,)
        Rows of the nearest samples.
    n_samples : int
        Number n of fitted points.
    """

    points: np.ndarray
    nearest: np.ndarray
    n_samples: int

    def decode(self, decoder: Callable[[np.ndarray], Any]) -> np.ndarray:
        """Decode the points by a model of which they are latents.

        Parameters
        ----------
        decoder : callable
            Latents (s, d) -> images, such as ``lambda z: geodis.models.decode(model, z)``.
        """
        if not callable(decoder):
            raise InputError(
                "decoder must be a function of latents (s, d) that returns as many images; "
                f"got {type(decoder).__name__}."
            )
        decoded = to_numpy(decoder(self.points), "decoded images")
        if len(decoded) != len(self.points):
            raise InputError(
                f"decoder must return an image for each of the {len(self.points)} points; "
                f"got {len(decoded)}."
            )
        return decoded

    def nearest_images(self, images: Any) -> np.ndarray:
        """Return the images of the nearest samples.

        Parameters
        ----------
        images : array-like of shape (n, ...)
            Images of the fitted points, in the same order.
        """
        pictures = to_numpy(images, "images")
        if len(pictures) != self.n_samples:
            raise InputError(
                f"images must be those of the {self.n_samples:,} fitted points; "
                f"got {len(pictures):,}."
            )
        return pictures[self.nearest]


@dataclass(frozen=True, eq=False)
class Walk(Decodable):
    """A traversal: points along a geodesic of one factor, with the other factors fixed.

    Attributes
    ----------
    factor : int
    points : ndarray of shape (s, d)
        In the space of the fitted points.
    lengths : ndarray of shape (s,)
        Distance of each point from the start along the factor.
    targets : ndarray of shape (s, r)
        Coordinates of the points, as returned by `GeoManCER.transform`.
    nearest : ndarray of int, shape (s,)
        Rows of the nearest samples.
    gap : ndarray of shape (s,)
        Distance to the nearest sample in the joint map of all factors.
    spacing : ndarray of shape (s,)
        Mean distance between nearest samples there. A point with a `gap` of many spacings is an
        extrapolation.
    stopped : float or None
        The length at which the walk left the data; None if it did not.
    asked : float
        The requested length.
    n_samples : int
        Number n of fitted points.
    """

    factor: int
    points: np.ndarray
    lengths: np.ndarray
    targets: np.ndarray
    nearest: np.ndarray
    gap: np.ndarray
    spacing: np.ndarray
    stopped: float | None
    asked: float
    n_samples: int

    @property
    def reason(self) -> str:
        """Why the walk stopped before its end; empty if it did not."""
        if self.stopped is None:
            return ""
        return (
            f"The walk left the data after {self.stopped:.3g} of {self.asked:.3g}: "
            "no sample lies further on."
        )

    def __len__(self) -> int:
        return len(self.points)

    def __str__(self) -> str:
        lines = [
            f"{len(self)} places along factor {self.factor}, over a length of "
            f"{self.lengths[-1]:.3g}",
            "length   nearest sample   distance to it   in spacings",
        ]
        for length, row, gap, spacing in zip(
            self.lengths, self.nearest, self.gap, self.spacing, strict=True
        ):
            lines.append(f"{length:>6.3g}   {row:>14}   {gap:>14.3g}   {gap / spacing:>11.2g}")
        return "\n".join(lines + [self.reason] * bool(self.reason))


@dataclass(frozen=True, eq=False)
class Analogy(Decodable):
    """The point d with a : b :: c : d, factor by factor.

    Attributes
    ----------
    points : ndarray of shape (1, d)
    factors : tuple of int
        Factors in which the step from a to b was made.
    lengths : ndarray of shape (f,)
        Length of the step in each of these.
    targets : ndarray of shape (1, r)
        Coordinates of d, as returned by `GeoManCER.transform`.
    nearest : ndarray of int, shape (1,)
        Row of the nearest sample.
    gap : ndarray of shape (1,)
        Distance to that sample in the joint map of all factors.
    spacing : ndarray of shape (1,)
        Mean distance between nearest samples there.
    outside : bool
        Whether d lies outside the data and is an extrapolation.
    n_samples : int
        Number n of fitted points.
    """

    points: np.ndarray
    factors: tuple[int, ...]
    lengths: np.ndarray
    targets: np.ndarray
    nearest: np.ndarray
    gap: np.ndarray
    spacing: np.ndarray
    outside: bool
    n_samples: int

    @property
    def point(self) -> np.ndarray:
        """The point d, shape (d,)."""
        return self.points[0]

    def __str__(self) -> str:
        steps = ", ".join(
            f"{length:.3g} in factor {factor}"
            for factor, length in zip(self.factors, self.lengths, strict=True)
        )
        text = (
            f"moved by {steps}; the nearest sample is row {self.nearest[0]}, {self.gap[0]:.3g} "
            f"away ({self.gap[0] / self.spacing[0]:.2g} spacings)"
        )
        return text + "; outside the data" * self.outside


# Polynomial trend of points over their coordinates in all maps; its residuals are local.

# Largest number of points for the fit, and smallest number per term.
MOST_ROWS, PER_TERM = 6000, 10
# Principal components of the terms are used if their variance is above this share of the largest.
LEAST = 1e-8


@dataclass(frozen=True)
class Trend:
    """A polynomial of degree at most two, fitted to all points.

    Attributes
    ----------
    centre : ndarray of shape (r,)
    scale : float
    mean : ndarray of shape (d,)
        Mean of the points.
    coefficients : ndarray of shape (t, d)
    degree : int
        0, 1 or 2.
    means : ndarray of shape (t,)
        Means of the terms.
    """

    centre: np.ndarray
    scale: float
    mean: np.ndarray
    coefficients: np.ndarray
    degree: int
    means: np.ndarray

    def at(self, coordinates: np.ndarray) -> np.ndarray:
        """Evaluate the polynomial at coordinates (..., r); returns shape (..., d)."""
        standard = (coordinates - self.centre) / self.scale
        return self.mean + (_terms(standard, self.degree) - self.means) @ self.coefficients


def fit_trend(coordinates: np.ndarray, points: np.ndarray) -> Trend:
    """Fit a polynomial in the coordinates, of the highest degree that the points determine.

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


# The joint map: the maps of all factors together, with the points that belong to its positions.

# Number of nearest samples around a position. The data end if none of the first 20 lies ahead; in
# the interior half of them do, and none has a probability of one in a million.
NEAREST, AHEAD = 40, 20
# The data also end if a position is beyond all of the first samples along the mean direction from
# these, by this share of a spacing, and the walk leads outwards at an angle with this cosine. A
# walk along an edge does neither.
BEYOND, OUTWARDS, FARTHER = 30, 0.4, 0.5


@dataclass(frozen=True)
class Surroundings:
    """The samples around positions in the joint map.

    Attributes
    ----------
    nearest : ndarray of int, shape (s,)
        Row of the nearest sample.
    gap : ndarray of shape (s,)
        Distance to that sample.
    reach : ndarray of shape (s,)
        Distance from that sample to the last of its nearest samples.
    spacing : ndarray of shape (s,)
        Mean distance between nearest samples there.
    left : ndarray of bool, shape (s,)
        Whether the position lies outside the data: no nearby sample lies ahead, or it lies beyond
        all of them and the curve leads outwards, or the gap exceeds the reach.
    """

    nearest: np.ndarray
    gap: np.ndarray
    reach: np.ndarray
    spacing: np.ndarray
    left: np.ndarray


@dataclass(frozen=True)
class JointMap:
    """Samples with their coordinates in all factors.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        The original points.
    rows : ndarray of int, shape (u,)
        Points of one piece that have coordinates.
    coordinates : ndarray of shape (u, r)
        Their coordinates in all maps.
    search : callable
        Nearest-neighbour search among these.
    dim : int
        Dimension k of all factors together.
    """

    points: np.ndarray
    rows: np.ndarray
    coordinates: np.ndarray
    search: Search
    dim: int

    @cached_property
    def trend(self) -> Trend:
        """Points as a polynomial in the coordinates, fitted on first use."""
        return fit_trend(self.coordinates, self.points[self.rows])

    def decoded(self, targets: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """Map positions in the joint map to points.

        The result is a polynomial trend plus a local quadratic regression of its residuals on the
        tangent coordinates ``u = F^T (y - target)`` of the joint map; see `regression_weights`.
        The trend allows wide neighbourhoods, as its residuals are small.

        Parameters
        ----------
        targets : ndarray of shape (s, r)
        frames : ndarray of shape (s, r, k)
            Orthonormal columns that span the tangent space of the joint map.

        Returns
        -------
        ndarray of shape (s, d)
        """
        count = min(quadratic_count(self.dim), len(self.rows))
        near = self.search(targets, count)[0]
        offsets = (self.coordinates[near] - targets[:, None]) @ frames
        weights = regression_weights(offsets)[:, 0]
        left = self.points[self.rows[near]] - self.trend.at(self.coordinates[near])
        return self.trend.at(targets) + np.einsum("sc,scd->sd", weights, left)

    def around(self, way: Geodesic) -> Surroundings:
        """Describe the samples around and ahead of positions on a curve."""
        count = min(NEAREST, len(self.rows) - 1)
        near, distances = self.search(way.positions, count)
        ahead, gap = way.velocities, distances[:, 0]
        apart = self.coordinates[near] - way.positions[:, None]
        forward = np.einsum("scr,sr->sc", apart[:, :AHEAD], ahead) > 0
        reach = self.search(self.coordinates[near[:, 0]], count + 1)[1][:, -1]
        spacing = reach / count ** (1 / self.dim)
        tangent = apart[:, :BEYOND] @ way.frames
        beyond = _beyond(tangent, np.einsum("sr,srk->sk", ahead, way.frames), spacing)
        left = ~forward.any(axis=1) | beyond | (gap > reach)
        return Surroundings(self.rows[near[:, 0]], gap, reach, spacing, left)


def _beyond(offsets: np.ndarray, ahead: np.ndarray, spacing: np.ndarray) -> np.ndarray:
    """Whether all offsets (s, c, k) are on one side and the direction (s, k) leads away."""
    behind = offsets.mean(axis=1)
    behind /= np.maximum(np.linalg.norm(behind, axis=1, keepdims=True), np.finfo(float).tiny)
    nearest = np.einsum("sck,sk->sc", offsets, behind).min(axis=1)
    return (nearest >= FARTHER * spacing) & ((ahead * behind).sum(axis=1) < -OUTWARDS)


def joint_map(
    points: np.ndarray, coordinates: Sequence[np.ndarray], usable: np.ndarray, dim: int
) -> JointMap:
    """Combine the coordinates of several maps.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    coordinates : sequence of ndarray of shape (n, r_j)
    usable : ndarray of bool, shape (n,)
        Points of one piece.
    dim : int
        Dimension of all these factors together.

    Returns
    -------
    JointMap
    """
    joint = np.hstack(list(coordinates))
    rows = np.flatnonzero(usable & np.isfinite(joint).all(axis=1))
    own = np.ascontiguousarray(joint[rows])
    return JointMap(points, rows, own, searcher(own, n_jobs=1), dim)
