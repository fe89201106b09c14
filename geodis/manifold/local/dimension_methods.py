"""Intrinsic dimension from distances (MLE, two-NN, gride) and from the carré du champ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_points, check_real
from geodis.base.jobs import check_jobs
from geodis.manifold.local.exact_search import Apart, searcher
from geodis.manifold.local.neighbors import Neighbors, neighbors_at

# Curvature and boundary lower the estimate in large neighbourhoods; noise raises it in small ones.
# Noise is detected by a fall of more than 7 % from 5 to 50 neighbours; clean samples of boxes and
# of products of spheres and rotations fell by at most 6 %.
FEW, MLE_NEIGHBORS, MANY, MANY_IN_NOISE = 5, 15, 50, 200
NOISE_FALL = 0.07
# With this many points the estimate varies by .01 to .02 between samples.
SAMPLED = 2_500
TWO_NN_KEPT = 0.9
# Larger estimates come from equal distances, as on a grid.
EVENLY_SPACED = 1000


@dataclass(frozen=True)
class DistanceEstimates:
    """Intrinsic dimension from the growth of distances to neighbours.

    Attributes
    ----------
    mle : float
        Maximum-likelihood estimate; stable under noise with many neighbours, but biased by
        curvature within a neighbourhood.
    two_nn : float
        Two-nearest-neighbour estimate, at the smallest scale: sensitive to noise but hardly to
        curvature.
    n_neighbors, n_points : int
        Neighbours and points used by the maximum-likelihood estimate.
    fine : float
        Maximum-likelihood estimate from at most 15 neighbours.
    fall : float
        Relative fall of that estimate from 5 to 50 neighbours; above .07 for noise.
    """

    mle: float
    two_nn: float
    n_neighbors: int
    n_points: int
    fine: float
    fall: float

    @property
    def agreed(self) -> int | None:
        """The dimension on which both estimates agree; None under noise or even spacing.

        This is the first, rounded, if the other differs by at most rounding and two standard
        errors.
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
    """Compute both estimates, with a number of neighbours suited to curvature and noise.

    Parameters
    ----------
    places : ndarray of shape (n, d)
        Distinct points.
    n_neighbors : int, optional
        As in `intrinsic_dimension`.
    neighbors : Neighbors, optional
        Fifty neighbours of the points, if known.
    apart : Apart, optional
        Points to exclude from each other's neighbourhoods.
    n_jobs : int, optional
    random_state : Generator
        Draws a subset of many points.

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
    if n > SAMPLED:  # a subset, with neighbours among all points
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
    # In larger neighbourhoods the boundary lowers the estimate as much as noise does.
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
    r"""Estimate the dimension by maximum likelihood from sorted distances (n, n_neighbors).

    With T_j the distance to the j-th of K neighbours (Levina and Bickel 2004, eq. 8), averaged
    over points before it is inverted (MacKay and Ghahramani 2005)::

        1 / k = mean_i 1/(K-1) sum_{j<K} log(T_K(i) / T_j(i))

    The right side is unbiased, so the factor (K - 2) / (K - 1), which corrects the mean of the
    estimates at single points, is not needed.

    Examples
    --------
    >>> mle_dimension(np.array([[1.0, 2.0, 4.0]]))  # 1 / ((log 4 + log 2) / 2)
    0.9617...
    """
    count = _sorted_distances(distances).shape[1]
    if count < 3:
        raise InputError(f"The estimate needs at least 3 neighbours per point; got {count}.")
    log_ratios = np.log(distances[:, -1:] / distances[:, :-1])
    mean = float(log_ratios.sum() / (len(distances) * (count - 1)))
    return 1 / mean if mean > 0 else np.inf


def two_nn_dimension(distances: np.ndarray, kept: float = TWO_NN_KEPT) -> float:
    """Estimate the dimension from the two nearest neighbours; sorted distances (n, >= 2).

    The ratio mu = T_2 / T_1 follows F(mu) = 1 - mu^-k; k is the slope through the origin of
    -log(1 - F) against log mu over the smallest share `kept` of the ratios, because the largest
    depend on boundary and curvature (Facco et al. 2017).

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
    """Replace distances that underflowed to zero by the smallest positive one."""
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


# Range of dimensions and number of bisections of the gride likelihood.
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
        """The lowest over the scales, because noise raises it at fine ones."""
        return min(self.dimensions)


def gride_dimension(distances: np.ndarray) -> ScaledDimension:
    r"""Estimate the dimension from ratios of distances to neighbours 2 j and j, j = 1, 2, 4, ...

    With mu the ratio at rank j, in dimension k (Denti, Doimo, Laio and Mira 2022)::

        f(mu) ~ k (mu^k - 1)^(j - 1) / mu^((2 j - 1) k + 1)

    and k maximises the likelihood of the ratios of all points. j = 1 is the maximum-likelihood form
    of `two_nn_dimension`; larger j are less sensitive to noise and more to curvature and boundary.

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
    """Find the root of the derivative of the likelihood by bisection.

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
            # For equal distances x / (1 - exp(-k x)) tends to 1 / k.
            slope += (near - 1) * (
                float((own / -np.expm1(-k * own)).sum()) + (len(logs) - len(own)) / k
            )
        low, high = (k, high) if slope > 0 else (low, k)
    return float(low) if low < EVENLY_SPACED else np.inf


# The kernel width at a point is the distance to this neighbour.
WIDTH_NEIGHBOR = 8
# Numbers in a block of displacements: 32 MB.
BLOCK_NUMBERS = 2**22


@dataclass(frozen=True)
class VotedDimension:
    """The most frequent dimension over points.

    Attributes
    ----------
    dim : int
    share : float
        Share of the points with this dimension.
    """

    dim: int
    share: float


def carre_du_champ_dimension(points: np.ndarray, near: Neighbors) -> VotedDimension:
    r"""Estimate the dimension from the largest gap of the carré du champ at every point.

    For a diffusion with generator L, Gamma(f, g) = (L(f g) - f L g - g L f) / 2 is the product of
    gradients, so Gamma of the coordinates projects onto the tangent space. With the kernel
    w_ij = exp(-|x_i - x_j|^2 / (s_i s_j)), s the distance to the eighth neighbour, it is the
    covariance of the neighbours (Jones 2024)::

        Gamma_i ~ sum_j w_ij (x_j - m_i) (x_j - m_i)^T / sum_j w_ij,   m_i = mean of w_ij x_j

    Each point votes for the k after which its eigenvalues fall most.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    near : Neighbors
        About thirty of every point.

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
        # The point itself has weight one and displacement zero.
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
