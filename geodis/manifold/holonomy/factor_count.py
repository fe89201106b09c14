"""Parallel fields -> how many factors there are.

In a product manifold the projectors Pi_j on the factors are parallel, and on a flat part of
dimension f so is every constant symmetric matrix. A parallel field is the same combination of
these at every point; the combinations that commute with all fields are those of the projectors
alone, the flat part counting as one factor: m factors have m - 1 of them beside the identity.

Which fields are parallel was told by `eigenfields`. The number that is decided here can grow
later: `refine` counts again within each factor, and `flat` splits what is flat.
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
# Mean squared commutator with a field, for fields of unit norm: zero for a combination of
# projectors, of order one on a flat part. Noise in the tangents brings the first to some
# hundredths.
COMMUTES = 0.1


@dataclass(frozen=True)
class FactorCount:
    """How many factors the parallel fields tell apart, and what that was read from.

    Attributes
    ----------
    n_factors : int
    has_flat : bool
        Whether one of them is a flat part of dimension two or more.
    matrices : ndarray of shape (s, w, k, k)
        The parallel fields at some points.
    combinations : ndarray of shape (w, w)
        Of the fields, one a row: the first n_factors - 1 commute with all fields.
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
    """Count the combinations of the parallel fields that commute with all of them, and one more.

    Parameters
    ----------
    fields : Eigenfields
        The first `n_parallel` are used.
    n_factors : int, optional
        Where their number is known.
    random_state : int, Generator or None
        Draws the points at which the fields are compared.

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
            f"{width} fields in dimension {k} can tell at most {min(width + 1, k)} factors apart; "
            f"got n_factors={n_factors}."
        )
    rng = check_random_state(random_state)
    sample = np.sort(rng.choice(n, min(n, COUNT_POINTS), replace=False))
    matrices = fields.matrices(width, rows=sample)  # (s, w, k, k)
    commutators, combinations = commuting_combinations(matrices)
    commutators /= width  # the mean over fields: the more fields, the more noise would add up
    n_central = int((commutators <= COMMUTES).sum()) if n_factors is None else n_factors - 1
    n_central = min(n_central, width, k - 1)
    has_flat = bool((commutators[n_central:] > COMMUTES).any())
    return FactorCount(n_central + 1, has_flat, matrices, combinations, commutators)


def commuting_combinations(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Combinations of fields in order of how little they commute with all fields.

    Minimises ``mean_i sum_s |[sum_r c_r Omega_r, Omega_s]|^2`` over unit c: the eigenproblem of
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


# Parallel fields -> how far the manifold is from a product, in lengths.
#
# On a product the fields that tell the factors apart are exactly parallel, and their eigenvalues
# are zero but for errors in the tangents. Where the metric of one factor depends on where one is in
# the others, they are only nearly parallel, and the eigenvalue says how nearly.

# On S^2 x_f S^2 with f = 1 + c x the root of the ratio of eigenvalues is 2.4 times the spread
# of f, c / sqrt(3), for c from .02 to .3.
RATIO_PER_LENGTH = 2.4
# On true products the root of the ratio is .3 to 1.45 times the error of the tangents in radians,
# clean, noisy and bent: twice the error is what they can explain.
EXPLAINED = 2.0
# That holds where tangent spaces turn by as much per step as the next field does, and errs where
# this is slow, as along a roll or a long line: an error turns transports by itself times the turn
# of the tangent spaces. The mean square turn over lambda' is 1.4 to 3 on spheres, up to 10 on SO(3)
# and tori of revolution, where the error explains all the same, and 11 to 68 on rolls and lines.
ORDINARY = 10.0
# So many edges tell the mean turn.
EDGES_LOOKED_AT = 20_000
# Eigenvalues of fields in single precision that mean zero.
ROUNDING = 1e-5
# Half of a 90 % interval in standard errors.
QUANTILE = 1.645
# Lengths that change by less than this are those of a product for all that anyone would use it.
SLIGHT = 0.01


@dataclass(frozen=True)
class Departure:
    """How much lengths in one factor change with the place in the others, as a part of them.

    Attributes
    ----------
    value : float
        Root mean square relative change: 0 for a product, .087 for S^2 x_f S^2 with
        f = 1 + .15 x.
    low, high : float
        Ninety per cent interval: the low end without all that errors of the tangents can explain,
        the high end with it.
    null : float
        What errors of the tangents alone would give.
    strict_low : float
        The low end as if the next field were not slow: above it nothing is built on the product,
        though there may be no reason to doubt it.
    """

    value: float
    low: float
    high: float
    null: float
    strict_low: float = 0.0

    @property
    def clearly_product(self) -> bool:
        """Whether it is a product also where errors explain no more than is ordinary."""
        return max(self.low, self.strict_low) <= SLIGHT

    @property
    def is_product(self) -> bool:
        """Whether nothing speaks against a product: the low end is below one per cent."""
        return self.low <= SLIGHT

    def __str__(self) -> str:
        """One line for people, in per cent."""
        return (
            f"lengths depart from a product's by {100 * self.value:.1f} % "
            f"({100 * self.low:.1f} to {100 * self.high:.1f} %; "
            f"errors of the tangents alone give {100 * self.null:.1f} %)"
        )


def mean_square_turn(frames: np.ndarray, graph: NeighborGraph) -> float:
    """Mean over edges of ``1 - |U_i U_j^T|^2 / k``: by how much tangent spaces turn in a step.

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
    some = np.arange(0, len(indices), max(1, len(indices) // EDGES_LOOKED_AT))
    i, j = np.searchsorted(indptr, some, side="right") - 1, indices[some]
    overlap = products_of_pairs(frames, i, j)
    return 1.0 - float((overlap**2).sum(axis=(1, 2)).mean()) / frames.shape[1]


def departure_of(
    fields: Eigenfields, counted: FactorCount, error: TangentError, turn: float = 0.0
) -> Departure | None:
    r"""Measure how far a manifold is from the product that its parallel fields tell.

    The combinations c of the parallel fields that tell the factors apart have the eigenvalue
    lambda = sum_r c_r^2 lambda_r. With lambda' that of the next field, which turns once over the
    manifold, and eps the error of the tangents::

        value = sqrt(max_c lambda / lambda' - eps^2) / 2.4

    Where neighbours are far apart an error turns transports by more, which eps takes into account,
    as it does that the next field may be slow beside the tangent spaces: the square of eps is as
    many times larger as their mean square turn is than ``10 lambda'``.

    The interval is a jackknife over twenty parts of the points.

    Parameters
    ----------
    fields : Eigenfields
        With `energies`.
    counted : FactorCount
        What they tell apart.
    error : TangentError
        Of the frames that the fields rest on.
    turn : float
        `mean_square_turn` of these frames.

    Returns
    -------
    Departure or None
        None with one factor, or where no other field is there to compare with.

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
    """Ratio of two sums over parts, and its standard error by the jackknife."""
    total = float(upper.sum())
    left_out = (lower.sum() - lower) / np.maximum(upper.sum() - upper, ROUNDING * total)
    parts = len(lower)
    variance = (parts - 1) / parts * ((left_out - left_out.mean()) ** 2).sum()
    return max(float(lower.sum()), 0.0) / total, float(np.sqrt(variance))
