"""The number of factors from parallel fields, and the departure from a product metric.

In a product manifold the projectors Pi_j on the factors are parallel, and so is every constant
symmetric matrix on a flat part. A parallel field is the same combination of these at every point.
The combinations that commute with all fields are those of the projectors alone, with the flat part
as one factor: for m factors there are m - 1 of them besides the identity.

`eigenfields` decides which fields are parallel. The number of factors can still grow: `refine`
counts again within each factor, and `flat` splits the flat part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_random_state
from geodis.manifold.holonomy.eigenfields import Eigenfields
from geodis.manifold.linalg import products_of_pairs
from geodis.manifold.local.angles import TangentError
from geodis.manifold.local.graph import NeighborGraph

COUNT_POINTS = 3000
# Largest mean squared commutator with a field, for fields of unit norm. It is zero for combinations
# of projectors (some hundredths with noisy tangents) and of order one on a flat part.
COMMUTES = 0.1


@dataclass(frozen=True)
class FactorCount:
    """The number of factors, with the evidence.

    Attributes
    ----------
    n_factors : int
    has_flat : bool
        Whether one factor is a flat part of dimension two or more.
    matrices : ndarray of shape (s, w, k, k)
        The parallel fields at some points.
    combinations : ndarray of shape (w, w)
        Combinations of the fields, one per row; the first n_factors - 1 commute with all fields.
    commutators : ndarray of shape (w,)
        Mean squared commutator of each combination with a field.
    """

    n_factors: int
    has_flat: bool
    matrices: np.ndarray
    combinations: np.ndarray
    commutators: np.ndarray


def count_factors(
    fields: Eigenfields, n_factors: int | None = None, *, random_state: Any = None
) -> FactorCount:
    """Count the factors: one plus the combinations of parallel fields that commute with all.

    Parameters
    ----------
    fields : Eigenfields
        The first `n_parallel` are used.
    n_factors : int, optional
        If known.
    random_state : int, Generator or None
        Draws the points.

    Returns
    -------
    FactorCount

    Examples
    --------
    >>> from geodis import neighbor_graph, product_manifold
    >>> from geodis.manifold import ConnectionLaplacian, bottom_eigenfields
    >>> from geodis.manifold.holonomy.connection import connection
    >>> sample = product_manifold("S^2 x S^2", 500, random_state=0)
    >>> graph, frames = neighbor_graph(sample.points, 8), np.concatenate(sample.tangents, axis=1)
    >>> laplacian = ConnectionLaplacian(graph, connection(frames, graph))
    >>> count_factors(bottom_eigenfields(laplacian, random_state=0), random_state=0).n_factors
    2
    """
    n, width = len(fields.fields), fields.n_parallel
    k = fields.matrices(1, rows=slice(0, 1)).shape[-1]
    if width == 0:
        nothing = np.zeros((0, 0, k, k)), np.zeros((0, 0)), np.zeros(0)
        return FactorCount(1, False, *nothing)
    if n_factors is not None and not 1 <= n_factors <= min(width + 1, k):
        raise InputError(
            f"{width} fields in dimension {k} tell at most {min(width + 1, k)} factors apart; "
            f"got n_factors={n_factors}."
        )
    rng = check_random_state(random_state)
    sample = np.sort(rng.choice(n, min(n, COUNT_POINTS), replace=False))
    matrices = fields.matrices(width, rows=sample)  # (s, w, k, k)
    commutators, combinations = commuting_combinations(matrices)
    commutators /= width  # the mean over fields, so that noise does not add up
    n_central = int((commutators <= COMMUTES).sum()) if n_factors is None else n_factors - 1
    n_central = min(n_central, width, k - 1)
    has_flat = bool((commutators[n_central:] > COMMUTES).any())
    return FactorCount(n_central + 1, has_flat, matrices, combinations, commutators)


def commuting_combinations(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find combinations of fields that commute with all fields, the best first.

    They minimise ``mean_i sum_s |[sum_r c_r Omega_r, Omega_s]|^2`` over unit c, an eigenproblem of
    one w x w matrix.

    Parameters
    ----------
    matrices : ndarray of shape (n, w, k, k)
        Fields at some points.

    Returns
    -------
    values : ndarray of shape (w,)
        Ascending; for fields of unit mean square norm.
    combinations : ndarray of shape (w, w)
        Rows are the coefficients c.

    Examples
    --------
    >>> rotated = np.array([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, -1.0]]])
    >>> commuting_combinations(rotated[None])[0]  # two reflections of the plane do not commute
    array([8., 8.])
    """
    _, width, _, _ = matrices.shape
    total = np.zeros((width, width))
    for s in range(width):
        product = matrices @ matrices[:, s : s + 1]
        commutator = product - np.swapaxes(product, 2, 3)  # of symmetric matrices: AB - (AB)^T
        flat = commutator.reshape(len(matrices), width, -1)
        total += np.einsum("nra,nsa->rs", flat, flat) / len(matrices)
    values, vectors = np.linalg.eigh(total)
    return values, vectors.T


# Departure from a product. On a product the fields that separate the factors are parallel, with
# eigenvalues zero up to errors of the tangents. If the metric of a factor depends on the others,
# they are only nearly parallel, and their eigenvalues measure the dependence.

# On S^2 x_f S^2 with f = 1 + c x the root of the ratio of eigenvalues is 2.4 times the standard
# deviation of f, c / sqrt(3), for c from .02 to .3.
RATIO_PER_LENGTH = 2.4
# On true products (clean, noisy and curved) the root of the ratio is .3 to 1.45 times the error of
# the tangents in radians, so twice the error is attributed to them.
EXPLAINED = 2.0
# This holds if tangent spaces rotate by as much per step as the next field does. Errors rotate
# transports in proportion to the rotation of the tangent spaces, so they explain more if the next
# field is slow, as along a roll or a long line. The mean square rotation over lambda' is 1.4 to 3
# on spheres, up to 10 on SO(3) and tori of revolution, and 11 to 68 on rolls and lines.
ORDINARY = 10.0
# Number of edges for the mean rotation.
SAMPLED_EDGES = 20_000
# Eigenvalues below this are zero in single precision.
ROUNDING = 1e-5
# Half of a 90 % interval in standard errors.
QUANTILE = 1.645
# Relative change of lengths below which a manifold counts as a product.
SLIGHT = 0.01


@dataclass(frozen=True)
class Departure:
    """Relative change of lengths in one factor with the position in the others.

    Attributes
    ----------
    value : float
        Root mean square relative change: 0 for a product, .087 for S^2 x_f S^2 with
        f = 1 + .15 x.
    low, high : float
        Ninety per cent interval. The low end excludes everything that errors of the tangents can
        explain; the high end includes it.
    null : float
        The value expected from errors of the tangents alone.
    strict_low : float
        The low end without allowance for a slow next field. Above it factors are not refined as a
        product, although there may be no reason for doubt.
    """

    value: float
    low: float
    high: float
    null: float
    strict_low: float = 0.0

    @property
    def clearly_product(self) -> bool:
        """Whether it is a product also by the strict low end."""
        return max(self.low, self.strict_low) <= SLIGHT

    @property
    def is_product(self) -> bool:
        """Whether a product is plausible: the low end is at most one per cent."""
        return self.low <= SLIGHT

    def __str__(self) -> str:
        """Describe the departure in one line, in per cent."""
        return (
            f"lengths depart from a product's by {100 * self.value:.1f} % "
            f"({100 * self.low:.1f} to {100 * self.high:.1f} %; "
            f"errors of the tangents alone give {100 * self.null:.1f} %)"
        )


def mean_square_turn(frames: np.ndarray, graph: NeighborGraph) -> float:
    """Compute the mean over edges of ``1 - |U_i U_j^T|^2 / k``, the rotation of tangent spaces.

    Parameters
    ----------
    frames : ndarray of shape (n, k, d)
    graph : NeighborGraph

    Examples
    --------
    >>> from geodis import neighbor_graph
    >>> frames = np.array([[[1.0, 0.0]], [[0.6, 0.8]]])
    >>> round(mean_square_turn(frames, neighbor_graph(graph=[[0, 1], [1, 0]])), 9)
    0.64
    """
    indptr, indices = graph.adjacency.indptr, graph.adjacency.indices
    some = np.arange(0, len(indices), max(1, len(indices) // SAMPLED_EDGES))
    i, j = np.searchsorted(indptr, some, side="right") - 1, indices[some]
    overlap = products_of_pairs(frames, i, j)
    return 1.0 - float((overlap**2).sum(axis=(1, 2)).mean()) / frames.shape[1]


def departure_of(
    fields: Eigenfields, counted: FactorCount, error: TangentError, turn: float = 0.0
) -> Departure | None:
    r"""Measure the departure of the metric from a product of the counted factors.

    The combinations c of the parallel fields that separate the factors have the eigenvalue
    lambda = sum_r c_r^2 lambda_r. With lambda' that of the next field, which rotates once over the
    manifold, and eps the error of the tangents::

        value = sqrt(max_c lambda / lambda' - eps^2) / 2.4

    eps includes the unevenness of the errors. If the next field is slow relative to the tangent
    spaces, eps^2 is multiplied by the ratio of their mean square rotation to ``10 lambda'``.

    The interval is a jackknife over twenty parts of the points.

    Parameters
    ----------
    fields : Eigenfields
        With `energies`.
    counted : FactorCount
        Their count of factors.
    error : TangentError
        Of the frames.
    turn : float
        `mean_square_turn` of these frames.

    Returns
    -------
    Departure or None
        None with one factor, or without another field to compare with.

    Examples
    --------
    >>> values, nothing = np.array([0.0012, 0.03]), np.zeros(2)
    >>> energies = np.tile(values / 20, (20, 1))
    >>> some = np.zeros((20, 3, 2), np.float32)
    >>> fields = Eigenfields(values, some, nothing, nothing, 1, 1, True, 2.0, energies)
    >>> counted = FactorCount(2, False, np.zeros((1, 1, 2, 2)), np.ones((1, 1)), np.zeros(1))
    >>> print(departure_of(fields, counted, TangentError(0.01, 0.0)))
    lengths depart from a product's by 8.3 % (8.3 to 8.3 %; errors of the tangents alone give 0.4 %)
    """
    count = fields.n_parallel
    if counted.n_factors < 2 or count >= len(fields.values) or not len(fields.energies):
        return None
    if fields.values[count] <= ROUNDING:
        return None
    shares = counted.combinations[: counted.n_factors - 1] ** 2  # of the fields in each
    energies = fields.energies[:, :count] @ shares.T
    worst = int(np.argmax(energies.sum(axis=0)))
    ratio, spread = _ratio(energies[:, worst], fields.energies[:, count])
    # In units of the normalised Laplacian, whose spectrum ends at two.
    slow = turn * fields.top / (2 * ORDINARY * fields.values[count])
    ordinary = min((error.angle * error.unevenness) ** 2, 1.0)
    explained = min(ordinary * max(slow, 1.0), 1.0)
    ends = (
        ratio - explained,
        ratio - QUANTILE * spread - EXPLAINED**2 * explained,
        ratio + QUANTILE * spread,
        explained,
        ratio - QUANTILE * spread - EXPLAINED**2 * ordinary,
    )
    return Departure(*(float(np.sqrt(max(end, 0.0))) / RATIO_PER_LENGTH for end in ends))


def _ratio(lower: np.ndarray, upper: np.ndarray) -> tuple[float, float]:
    """Return the ratio of two sums over parts, and its jackknife standard error."""
    total = float(upper.sum())
    left_out = (lower.sum() - lower) / np.maximum(upper.sum() - upper, ROUNDING * total)
    parts = len(lower)
    variance = (parts - 1) / parts * ((left_out - left_out.mean()) ** 2).sum()
    return max(float(lower.sum()), 0.0) / total, float(np.sqrt(variance))
