"""Distances to neighbours -> intrinsic dimension, by two estimators that fail in different ways."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_points, check_real
from geodis.base.jobs import check_jobs
from geodis.manifold.local.exact_search import Apart, searcher
from geodis.manifold.local.neighbors import Neighbors, neighbors_at

# Few neighbours see little of the curvature and the boundary, which lower the estimate as the
# neighbourhood grows; many average over noise, which raises it as the neighbourhood shrinks. Noise
# is told by how steeply the estimate falls: by more than 7 % from 5 to 50 neighbours, where
# clean samples of boxes and of products of spheres and rotations fell by at most 6 %.
FEW, MLE_NEIGHBORS, MANY, MANY_IN_NOISE = 5, 15, 50, 200
NOISE_FALL = 0.07
# The estimate at so many points varies by a hundredth or two between samples.
SAMPLED = 2_500
TWO_NN_KEPT = 0.9
# Ratios of one, but for rounding, are those of points on a grid.
EVENLY_SPACED = 1000


@dataclass(frozen=True)
class DistanceEstimates:
    """Intrinsic dimension as distances to neighbours grow.

    Attributes
    ----------
    mle : float
        Maximum-likelihood estimate. Many neighbours make it steady under noise, and biased where
        the manifold bends within a neighbourhood.
    two_nn : float
        Two-nearest-neighbour estimate: sees the smallest scale only, so curvature hardly
        matters to it, and noise does.
    n_neighbors, n_points : int
        Neighbours that the maximum-likelihood estimate used, and at how many points.
    fine : float
        Maximum-likelihood estimate from 15 neighbours at most, whatever noise there is.
    fall : float
        The share by which that estimate falls from 5 to 50 neighbours: of noise, above .07.
    """

    mle: float
    two_nn: float
    n_neighbors: int
    n_points: int
    fine: float
    fall: float

    @property
    def agreed(self) -> int | None:
        """The dimension that both see where neither noise nor even spacing misleads them.

        The first one rounded, from which the other differs by no more than rounding and twice
        its standard error.
        """
        if not np.isfinite(self.two_nn) or self.fall >= NOISE_FALL:
            return None
        dim = max(1, round(self.mle))
        allowed = 0.5 + 2 * self.two_nn / np.sqrt(self.n_points)
        return dim if abs(self.two_nn - dim) <= allowed else None


def dimension_by_distances(
    places: np.ndarray,
    *,
    n_neighbors: int | None = None,
    neighbors: Neighbors | None = None,
    apart: Apart | None = None,
    n_jobs: int | None = None,
    random_state: np.random.Generator,
) -> DistanceEstimates:
    """Both estimates, with as many neighbours as curvature and noise suggest.

    Parameters
    ----------
    places : ndarray of shape (n, d)
        Distinct points.
    n_neighbors : int, optional
        As in `intrinsic_dimension`.
    neighbors : Neighbors, optional
        Fifty neighbours of the points, where they are known.
    apart : Apart, optional
        Points that are no neighbours of one another.
    n_jobs : int, optional
    random_state : Generator
        Draws the points that are used of many.

    Returns
    -------
    DistanceEstimates

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> print(dimension_by_distances(rng.uniform(size=(1000, 2)), random_state=rng).agreed)
    2
    """
    n_jobs = check_jobs(n_jobs)
    n = len(places)
    wanted = MANY if n_neighbors is None else n_neighbors
    rows = np.arange(n)
    if n > SAMPLED:  # neighbours among all points, at some of them
        rows = np.sort(random_state.choice(rows, SAMPLED, replace=False))
    most = n - (1 if apart is None else apart.most())
    search = None if apart is None else replace(searcher(places, n_jobs=n_jobs), apart=apart)
    if neighbors is None:
        neighbors = neighbors_at(places, rows, min(wanted, most), search=search, n_jobs=n_jobs)
    elif len(rows) < n:
        neighbors = Neighbors(neighbors.indices[rows], neighbors.distances[rows], neighbors.method)
    distances = _positive(neighbors.distances[:, :wanted])
    used, fall = distances.shape[1], 0.0
    fine = mle_dimension(distances[:, :MLE_NEIGHBORS])
    # In a larger part of all points the boundary lowers the estimate as much as noise does.
    farthest = min(used, n // 4)
    if n_neighbors is None and farthest <= MLE_NEIGHBORS:
        distances = distances[:, :MLE_NEIGHBORS]
    elif n_neighbors is None:
        fall = 1 - mle_dimension(distances[:, :farthest]) / mle_dimension(distances[:, :FEW])
        if fall < NOISE_FALL:
            distances = distances[:, :MLE_NEIGHBORS]
        elif (more := min(MANY_IN_NOISE, n // 10, most)) > used:
            near = neighbors_at(places, rows, more, search=search, n_jobs=n_jobs)
            distances = _positive(near.distances)
    return DistanceEstimates(
        mle=mle_dimension(distances),
        two_nn=two_nn_dimension(distances),
        n_neighbors=distances.shape[1],
        n_points=len(distances),
        fine=fine,
        fall=float(fall),
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


def _positive(distances: np.ndarray) -> np.ndarray:
    """Distances between distinct points that are too near for their square to be a number."""
    if (distances > 0).all():
        return distances
    positive = distances[distances > 0]
    least = positive.min() if len(positive) else np.finfo(float).tiny
    return np.maximum(distances, least)


def _sorted_distances(distances: Any) -> np.ndarray:
    distances = check_points(distances, name="distances", min_points=1, min_dims=2)
    if (distances[:, 0] <= 0).any() or (np.diff(distances, axis=1) < 0).any():
        raise InputError("distances must be positive and sorted along each row.")
    return distances


# Distances to neighbours -> dimension scale by scale, from ratios of distances of any rank.

# Dimensions between which the likelihood is searched.
LEAST, MOST = 1e-3, 500.0
STEPS = 60


@dataclass(frozen=True)
class ScaledDimension:
    """Dimension at growing scales.

    Attributes
    ----------
    scales : tuple of int
        Rank of the farther neighbour.
    dimensions : tuple of float
    """

    scales: tuple[int, ...]
    dimensions: tuple[float, ...]

    @property
    def lowest(self) -> float:
        """The lowest over the scales: noise raises it at fine ones."""
        return min(self.dimensions)


def gride_dimension(distances: np.ndarray) -> ScaledDimension:
    r"""Dimension from the ratio of the distances to neighbours 2 j and j, j = 1, 2, 4, ...

    With mu the ratio at rank j, in dimension k (Denti, Doimo, Laio and Mira 2022)::

        f(mu) ~ k (mu^k - 1)^(j - 1) / mu^((2 j - 1) k + 1)

    and k maximises the likelihood of the ratios of all points. At j = 1 it is the maximum of what
    the two nearest neighbours say; at larger j noise of the size of the nearest distances matters
    less, and curvature and the boundary more.

    Parameters
    ----------
    distances : ndarray of shape (n, c)
        Positive, sorted along rows.

    Returns
    -------
    ScaledDimension

    Examples
    --------
    >>> from geodis import nearest_neighbors
    >>> rows = np.random.default_rng(0).uniform(size=(2000, 2))
    >>> found = gride_dimension(nearest_neighbors(rows, 16).distances)
    >>> found.scales, np.round(found.dimensions, 1).tolist()
    ((2, 4, 8, 16), [2.0, 1.9, 2.0, 1.9])
    """
    distances = _sorted_distances(distances)
    count = distances.shape[1]
    scales, found = [], []
    near = 1
    while 2 * near <= count:
        ratios = np.log(distances[:, 2 * near - 1] / distances[:, near - 1])
        scales.append(2 * near)
        found.append(_most_likely(ratios, near))
        near *= 2
    return ScaledDimension(tuple(scales), tuple(found))


def _most_likely(logs: np.ndarray, near: int) -> float:
    """The root of the slope of the likelihood, which falls: by halving.

    With x = log mu: n / k + (j - 1) sum x / (1 - exp(-k x)) = (2 j - 1) sum x.
    """
    total = float(logs.sum())
    if total <= 0:
        return np.inf
    own = logs[logs > 0]
    low, high = LEAST, MOST
    for _ in range(STEPS):
        k = np.sqrt(low * high)
        slope = len(logs) / k - (2 * near - 1) * total
        if near > 1:
            # Where two ranks are equally far x / (1 - exp(-k x)) tends to 1 / k.
            slope += (near - 1) * (
                float((own / -np.expm1(-k * own)).sum()) + (len(logs) - len(own)) / k
            )
        low, high = (k, high) if slope > 0 else (low, k)
    return float(low) if low < EVENLY_SPACED else np.inf


# Points and neighbours -> dimension from the spectrum of the carré du champ of the coordinates.

# The width of the kernel at a point is the distance to this neighbour.
WIDTH_NEIGHBOR = 8
# Numbers in a block of displacements: 32 MB.
BLOCK_NUMBERS = 2**22


@dataclass(frozen=True)
class VotedDimension:
    """A dimension that every point votes for.

    Attributes
    ----------
    dim : int
    share : float
        Of the points that say so.
    """

    dim: int
    share: float


def carre_du_champ_dimension(points: np.ndarray, near: Neighbors) -> VotedDimension:
    r"""Dimension from the largest gap of the carré du champ, point by point.

    For a diffusion with generator L, Gamma(f, g) = (L(f g) - f L g - g L f) / 2 is the product of
    gradients, so that Gamma of the coordinates projects onto the tangent space. With the kernel
    w_ij = exp(-|x_i - x_j|^2 / (s_i s_j)), s the distance to the eighth neighbour, it is the
    covariance of the neighbours (Jones 2024)::

        Gamma_i ~ sum_j w_ij (x_j - m_i) (x_j - m_i)^T / sum_j w_ij,   m_i = mean of w_ij x_j

    A point votes for the k after which its eigenvalues fall most.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    near : Neighbors
        Some thirty of every point.

    Returns
    -------
    VotedDimension

    Examples
    --------
    >>> from geodis import nearest_neighbors, product_manifold
    >>> rows = product_manifold("S^2", 1000, random_state=0).points
    >>> carre_du_champ_dimension(rows, nearest_neighbors(rows, 32)).dim
    2
    """
    n, d = points.shape
    width = near.distances[:, min(WIDTH_NEIGHBOR, near.distances.shape[1]) - 1]
    votes = np.zeros(d + 1, int)
    size = max(1, BLOCK_NUMBERS // (near.indices.shape[1] * d))
    for start in range(0, n, size):
        rows = slice(start, start + size)
        around = near.indices[rows]
        scale = width[rows, None] * width[around]
        # The point itself, at distance zero, has weight one and moves the mean alone.
        weights = np.exp(-(near.distances[rows] ** 2) / np.maximum(scale, np.finfo(float).tiny))
        away = points[around] - points[rows, None]
        total = 1 + weights.sum(axis=1)
        mean = np.einsum("nc,ncd->nd", weights, away) / total[:, None]
        second = np.einsum("nc,ncd,nce->nde", weights, away, away, optimize=True)
        gamma = second / total[:, None, None] - mean[:, :, None] * mean[:, None]
        values = np.linalg.eigvalsh(gamma)[:, ::-1]
        falls = values - np.pad(values[:, 1:], ((0, 0), (0, 1)))
        votes += np.bincount(falls.argmax(axis=1) + 1, minlength=d + 1)
    dim = int(votes.argmax())
    return VotedDimension(dim, float(votes[dim] / n))
