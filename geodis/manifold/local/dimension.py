"""Points -> intrinsic dimension, by two estimators that fail in different ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_points, check_random_state, check_real
from geodis.base.jobs import check_jobs
from geodis.manifold.local.neighbors import Neighbors, distinct_rows, neighbors_at

# Few neighbours see little of the curvature and the boundary, which lower the estimate as the
# neighbourhood grows; many average over noise, which raises it as the neighbourhood shrinks. Noise
# is told by how steeply the estimate falls: by more than 7 % from 5 to 50 neighbours, where
# clean samples of boxes and of products of spheres and rotations fell by at most 6 %.
FEW, MLE_NEIGHBORS, MANY, MANY_IN_NOISE = 5, 15, 50, 200
NOISE_FALL = 0.07
# The estimate at so many points varies by a hundredth or two between samples.
SAMPLED = 5_000
TWO_NN_KEPT = 0.9
# Points for each unknown of a quadratic fit below which factors may be left merged, and the least
# dimension in which that can happen: what a surface could split into is flat.
ENOUGH_PER_UNKNOWN = 80
SPLITTABLE = 3
ENOUGH_FOR_SURFACES = 20
# Ratios of one, but for rounding, are those of points on a grid.
EVENLY_SPACED = 1000


@dataclass(frozen=True)
class DimensionEstimate:
    """Intrinsic dimension by two estimators.

    Attributes
    ----------
    mle : float
        Maximum-likelihood estimate: the one that `dim` rounds. Many neighbours make it steady
        under noise, and biased where the manifold bends within a neighbourhood.
    two_nn : float
        Two-nearest-neighbour estimate: sees the smallest scale only, so curvature hardly
        matters to it, and noise does.
    n_neighbors : int
        Neighbours that the maximum-likelihood estimate used: 15, or up to 200 where noise shows.
    """

    mle: float
    two_nn: float
    n_neighbors: int

    @property
    def dim(self) -> int:
        """The maximum-likelihood estimate, rounded, at least 1."""
        return max(1, round(min(self.mle, EVENLY_SPACED)))

    @property
    def agree(self) -> bool:
        """Whether both estimates round to the same dimension."""
        return bool(np.isfinite(self.two_nn)) and self.dim == max(1, round(self.two_nn))

    def __str__(self) -> str:
        """One line for people."""
        agreement = "both agree" if self.agree else "they disagree: trust neither blindly"
        if not np.isfinite(self.two_nn):
            agreement = "the points are evenly spaced, which misleads both"
        return (
            f"dimension {self.dim} (maximum likelihood {self.mle:.2f}, "
            f"two nearest neighbours {self.two_nn:.2f}: {agreement})"
        )


def intrinsic_dimension(
    points: Any,
    *,
    n_neighbors: int | None = None,
    neighbors: Neighbors | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> DimensionEstimate:
    """Estimate the intrinsic dimension by maximum likelihood and by two nearest neighbours.

    Parameters
    ----------
    points : array-like of shape (n, d)
    n_neighbors : int, optional
        Neighbours for the maximum-likelihood estimate; 15 by default, or 200 (a tenth of the
        points at most) where the estimate falls so fast with their number that noise is the
        likely reason. Fewer when there are fewer points.
    neighbors : Neighbors, optional
        Fifty neighbours of the points, where they are known, to save the search.
    n_jobs : int, optional
        Threads; every core by default and for -1.
    random_state : int, Generator or None
        Draws the 5,000 points used when there are more.

    Returns
    -------
    DimensionEstimate

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> flat_square_in_3d = np.c_[rng.uniform(size=(2000, 2)), np.zeros(2000)]
    >>> print(intrinsic_dimension(flat_square_in_3d))
    dimension 2 (maximum likelihood 1.96, two nearest neighbours 1.99: both agree)
    """
    wanted = MANY if n_neighbors is None else check_int(n_neighbors, "n_neighbors", low=3)
    n_jobs = check_jobs(n_jobs, default=-1)
    if neighbors is None:
        points = check_points(points)
        places = distinct_rows(points)[0]  # a place counts once, however often it is there
        if len(places) < 4:
            raise InputError(f"The dimension needs at least 4 distinct points; got {len(places)}.")
        count = min(wanted, len(places) - 1)
        rows = np.arange(len(places))
        if len(places) > SAMPLED:  # neighbours among all points, at some of them
            rows = np.sort(check_random_state(random_state).choice(rows, SAMPLED, replace=False))
        neighbors = neighbors_at(places, rows, count, n_jobs=n_jobs)
    distances = neighbors.distances[:, :wanted]
    used = distances.shape[1]
    if n_neighbors is None and used > MLE_NEIGHBORS:
        fall = 1 - mle_dimension(distances) / mle_dimension(distances[:, :FEW])
        if fall < NOISE_FALL:
            distances = distances[:, :MLE_NEIGHBORS]
        elif (more := min(MANY_IN_NOISE, len(points) // 10)) > used:
            return intrinsic_dimension(
                points, n_neighbors=more, n_jobs=n_jobs, random_state=random_state
            )
    return DimensionEstimate(
        mle=mle_dimension(distances),
        two_nn=two_nn_dimension(distances),
        n_neighbors=distances.shape[1],
    )


def mle_dimension(distances: np.ndarray) -> float:
    r"""Maximum-likelihood dimension from sorted neighbour distances, shape (n, n_neighbors).

    With T_j the distance to the j-th of K neighbours (Levina and Bickel 2004, eq. 8), averaged
    over points before it is inverted (MacKay and Ghahramani 2005)::

        1 / k = mean_i 1/(K-1) sum_{j<K} log(T_K(i) / T_j(i))

    The right side is unbiased as it stands: the factor (K - 2) / (K - 1) that corrects the mean
    of the points' own estimates has no place here.

    Examples
    --------
    >>> mle_dimension(np.array([[1.0, 2.0, 4.0]]))  # 1 / ((log 4 + log 2) / 2)
    0.9617...
    """
    count = _sorted_distances(distances).shape[1]
    if count < 3:
        raise InputError(f"The estimate needs at least 3 neighbours a point; got {count}.")
    log_ratios = np.log(distances[:, -1:] / distances[:, :-1])
    mean = float(log_ratios.sum() / (len(distances) * (count - 1)))
    return 1 / mean if mean > 0 else np.inf


def two_nn_dimension(distances: np.ndarray, kept: float = TWO_NN_KEPT) -> float:
    """Two-nearest-neighbour dimension from sorted neighbour distances, shape (n, >= 2).

    The ratio mu = T_2 / T_1 follows F(mu) = 1 - mu^-k; k is the slope through the origin of
    -log(1 - F) against log mu over the smallest `kept` part of the ratios, because the largest
    ones feel the boundary and the curvature (Facco et al. 2017).

    Examples
    --------
    >>> F = np.arange(1, 1000) / 1000
    >>> ratios = (1 - F) ** (-1 / 3)  # as in dimension 3
    >>> round(two_nn_dimension(np.column_stack([np.ones_like(ratios), ratios])), 2)
    3.0
    """
    kept = check_real(kept, "kept", low=0.1, high=1.0)
    distances = _sorted_distances(distances)
    ratios = np.sort(np.log(distances[:, 1] / distances[:, 0]))
    n = len(ratios)
    used = slice(0, max(1, int(kept * n)))
    survival = -np.log1p(-np.arange(1, n + 1) / (n + 1))  # n + 1: the last F stays below 1
    spread = float(ratios[used] @ ratios[used])
    dimension = float(ratios[used] @ survival[used]) / spread if spread > 0 else np.inf
    return dimension if dimension < EVENLY_SPACED else np.inf


def tangent_terms(dim: int) -> int:
    """Unknowns of a quadratic fit in `dim` coordinates: 1 + k + k (k + 1) / 2.

    Examples
    --------
    >>> tangent_terms(4)
    15
    """
    return 1 + dim + dim * (dim + 1) // 2


def fewest_points(dim: int) -> int:
    """The fewest points that curved tangents can use: twice the unknowns of a fit, and one.

    Examples
    --------
    >>> fewest_points(4)
    31
    """
    return 2 * tangent_terms(check_int(dim, "dim", low=1)) + 1


def points_needed(dim: int) -> tuple[int, int]:
    """The fewest points that GeoManCER can use in that dimension, and enough to trust it.

    The first is what the quadratic tangent fit needs: twice its unknowns as neighbours of each
    point. The second is eighty times the unknowns, at which all of twelve products were split
    rightly in three samples but one: a torus of revolution times S^2 was taken for one factor,
    and called uncertain. At twenty times, so were SO(3) x SO(3), (S^2)^4 and S^2 x SO(3), at
    forty still the first: the more a factor bends within a neighbourhood, the more points it
    takes. Twenty are enough for curves and surfaces, which are one factor.

    Examples
    --------
    >>> points_needed(4)
    (31, 1200)
    """
    per_unknown = ENOUGH_PER_UNKNOWN if dim >= SPLITTABLE else ENOUGH_FOR_SURFACES
    return fewest_points(dim), per_unknown * tangent_terms(dim)


def _sorted_distances(distances: Any) -> np.ndarray:
    distances = check_points(distances, name="distances", min_points=1, min_dims=2)
    if (distances[:, 0] <= 0).any() or (np.diff(distances, axis=1) < 0).any():
        raise InputError("distances must be positive and sorted along each row.")
    return distances
