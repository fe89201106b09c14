"""Distances to neighbours -> dimension scale by scale, from ratios of distances of any rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.manifold.local.dimension_by_distances import EVENLY_SPACED, _sorted_distances

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
