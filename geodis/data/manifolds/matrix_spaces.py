"""Spaces of matrices, row by row: rotations, orthonormal columns, projectors onto planes.

The metric is tr(A^T B), the one of the entries, and the points are uniform with respect to its
volume. The numbers in a space are taken to be valid: `spec` checks them where it reads the text.
"""

from __future__ import annotations

import numpy as np

from geodis.data.manifolds.draws import SQRT_HALF, random_rotations, skew_frames
from geodis.data.manifolds.spec import Number, Space, is_whole, register_space


@register_space("SO(k)", needs="an integer k >= 2", valid=lambda k: is_whole(k, 2))
class SpecialOrthogonal(Space):
    """Rotations Q of R^k as k x k matrices, row by row; the metric is tr(A^T B).

    The tangent space at Q is {Q A : A + A^T = 0}.
    """

    def __init__(self, k: int) -> None:
        super().__init__(f"SO({k})", k * (k - 1) // 2, k**2)
        self.k = k

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        q = random_rotations(n, self.k, rng)
        return q.reshape(n, -1), skew_frames(q).reshape(n, self.dim, -1)


def _is_plane(m: Number, p: Number) -> bool:
    return is_whole(m, 2) and is_whole(p, 1) and p < m


# St(m, m) is O(m), in two pieces, and Gr(m, m) is a point.
@register_space("St(m, p)", needs="integers m > p >= 1", valid=_is_plane, counts=(2, 2))
class Stiefel(Space):
    """Matrices U (m, p) with orthonormal columns, row by row; the Euclidean metric tr(A^T B).

    With W (m, m - p) completing U to a rotation, the tangent space at U is
    {U A + W B : A + A^T = 0}. The canonical metric differs: there A counts half.
    """

    def __init__(self, m: int, p: int) -> None:
        super().__init__(f"St({m}, {p})", p * (p - 1) // 2 + p * (m - p), m * p)
        self.m, self.p = m, p

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        q = random_rotations(n, self.m, rng)
        u, w = q[:, :, : self.p], q[:, :, self.p :]
        n_skew = self.p * (self.p - 1) // 2
        frames = np.zeros((n, self.dim, self.m, self.p))
        frames[:, :n_skew] = skew_frames(u)
        lifts = frames[:, n_skew:].reshape(n, self.m - self.p, self.p, self.m, self.p)  # a view
        column = np.arange(self.p)
        lifts[:, :, column, :, column] = w.swapaxes(1, 2)  # w_a in each column in turn
        return u.reshape(n, -1), frames.reshape(n, self.dim, -1)


@register_space("Gr(m, p)", needs="integers m > p >= 1", valid=_is_plane, counts=(2, 2))
class Grassmann(Space):
    """Planes of dimension p in R^m as projectors P = U U^T (m x m), row by row; metric tr(A^T B).

    With W completing U to a rotation, the tangent space at P is
    {U B W^T + W B^T U^T : B of shape (p, m - p)}. The geodesic distance is sqrt(2) times the norm
    of the principal angles, which is the distance of geomstats' ``GrassmannianCanonicalMetric``.
    """

    def __init__(self, m: int, p: int) -> None:
        super().__init__(f"Gr({m}, {p})", p * (m - p), m**2)
        self.m, self.p = m, p

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        q = random_rotations(n, self.m, rng)
        u, w = q[:, :, : self.p], q[:, :, self.p :]
        outer = np.einsum("nxi,nya->niaxy", u, w)  # u_i w_a^T
        frames = SQRT_HALF * (outer + outer.swapaxes(-1, -2))
        projectors = u @ u.swapaxes(1, 2)
        return projectors.reshape(n, -1), frames.reshape(n, self.dim, -1)
