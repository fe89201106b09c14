"""Factor axes -> orthogonal subspaces of the ambient space, one for each factor, if there are any.

When second fundamental forms do not mix factors, an isometric immersion of a product is a product
of immersions (Moore 1971): the ambient space splits into orthogonal subspaces V_j, and factor j
is the projection of the points on V_j. There it is a manifold of its own small dimension k_j, and
all n points sample it: its tangents can be estimated with far smaller neighbourhoods than those of
the product.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from geodis.manifold.holonomy.diagonalise import ffdiag
from geodis.manifold.holonomy.symmetric import symmetric_basis

# The commutant is sought among d (d + 1) / 2 symmetric matrices: 820 at this limit.
MAX_COMMUTANT_DIMS = 40
COMMUTANT_POINTS = 20_000
# A product has as many null directions as factors, the flat ones more; the next are far above.
NEAR_NULL = 3.0
TILT_ROUNDS = 3


@dataclass(frozen=True)
class AmbientSplit:
    """Orthogonal subspaces of the ambient space that hold the factors' tangent spaces.

    Attributes
    ----------
    bases : list of ndarray of shape (d_j, d)
        Orthonormal rows; all of them together are a basis of the ambient space.
    leakage : float
        Share of the tangent axes' squared length that lies outside their factor's subspace: zero
        for a product of immersions, about the square of the angle by which axes err.
    """

    bases: list[np.ndarray]
    leakage: float


def ambient_split(axes: np.ndarray, factor_dims: tuple[int, ...]) -> AmbientSplit:
    """Find the ambient subspaces spanned by the axes of each factor over all points.

    The second moments ``C_j = mean_i A_ij^T A_ij`` of the factors' axes (A_ij of shape
    (k_j, d)) have orthogonal ranges in a product of immersions. They are diagonalised jointly,
    and every direction goes to the factor with the largest share of it.

    Parameters
    ----------
    axes : ndarray of shape (n, k, d)
        Rows grouped by factor.
    factor_dims : tuple of int

    Returns
    -------
    AmbientSplit

    Examples
    --------
    >>> x, y = np.eye(2)
    >>> ambient_split(np.array([[x, y], [-x, y]]), (1, 1)).bases
    [array([[1., 0.]]), array([[0., 1.]])]
    """
    n, k, d = axes.shape
    bounds = np.cumsum((0, *factor_dims))
    moments = np.empty((len(factor_dims), d, d))
    for j, (start, stop) in enumerate(pairwise(bounds)):
        rows = axes[:, start:stop].reshape(-1, d)
        moments[j] = rows.T @ rows / n
    bases, leakage = _divide(moments, k)
    if d <= MAX_COMMUTANT_DIMS:
        null = _commuting_matrices(axes, len(factor_dims))
        for _ in range(TILT_ROUNDS):
            projectors = np.array([basis.T @ basis for basis in bases])
            flat = projectors.reshape(-1, d * d)
            bases, _ = _divide((flat @ null @ null.T).reshape(projectors.shape), k)
    return AmbientSplit(bases, leakage)


def _divide(moments: np.ndarray, k: int) -> tuple[list[np.ndarray], float]:
    """Common eigenvectors of the moments (m, d, d), each given to the factor it serves most."""
    joint = ffdiag(moments)
    owner = np.argmax(joint.diagonals, axis=0)
    leakage = 1.0 - joint.diagonals.max(axis=0).sum() / k
    return [joint.rotations[owner == j] for j in range(len(moments))], float(leakage)


def _commuting_matrices(axes: np.ndarray, n_factors: int) -> np.ndarray:
    """Symmetric matrices that nearly commute with all tangent projectors, shape (d^2, c).

    In a product of immersions the projector on V_j commutes with the projector P_i on the tangent
    space at every point. The axes of a factor err in common towards another factor, which tilts
    V_j; the tangent spaces as a whole do not, so the tilt is removed by keeping only what lies
    in the near null space of ``q(S) = mean_i |[P_i, S]|^2``: one small eigenproblem, whose error
    averages out over the points.

    Returns
    -------
    ndarray
        Orthonormal columns.
    """
    n, _, d = axes.shape
    chosen = axes[:: max(1, n // COMMUTANT_POINTS)]
    projectors = np.swapaxes(chosen, 1, 2) @ chosen
    mean = projectors.mean(axis=0)
    flat = projectors.reshape(len(projectors), d * d)
    products = (flat.T @ flat / len(flat)).reshape(d, d, d, d)
    # |[P, S]|^2 = 2 trace(S S P) - 2 trace(P S P S), because P P = P.
    basis = symmetric_basis(d)  # (d^2, t)
    twice = products.transpose(1, 2, 0, 3).reshape(d * d, d * d)
    once = np.einsum("ab,cd->acbd", np.eye(d), mean).reshape(d * d, d * d)
    form = basis.T @ (2 * once - 2 * twice) @ basis
    values, vectors = np.linalg.eigh((form + form.T) / 2)
    near_null = values <= NEAR_NULL * max(values[n_factors - 1], 1e-9)
    return basis @ vectors[:, near_null]
