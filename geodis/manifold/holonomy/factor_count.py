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
