"""Single manifolds in Euclidean space: points drawn on them, with the tangent frame at each.

Every space is a small dataclass with a ``dim``, an ``ambient_dim`` and
``sample(n, rng) -> points (n, ambient_dim), frames (n, dim, ambient_dim)``. The rows of a frame
are orthonormal and span the tangent space at their point. The metric is the one that the
embedding induces, and the points are uniform with respect to its volume. The numbers in a space
are taken to be valid: `products` checks them where it reads the text of a spec.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.stats import vonmises_fisher

from geodis.data.manifolds.draws import (
    SQRT_HALF,
    accept,
    circle_points,
    normalised,
    orthogonal_complement,
    random_rotations,
    skew_frames,
    unit_vectors,
)


class Space(ABC):
    """One manifold in Euclidean space."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The text that `product_manifold` reads as this space."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """Intrinsic dimension."""

    @property
    @abstractmethod
    def ambient_dim(self) -> int:
        """Dimension of the Euclidean space around it."""

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw n points (n, ambient_dim) and their frames (n, dim, ambient_dim)."""


@dataclass(frozen=True)
class Sphere(Space):
    """The sphere |x| = radius in R^(k+1), von Mises-Fisher about e_0 where kappa > 0."""

    k: int
    radius: float = 1.0
    kappa: float = 0.0

    @property
    def name(self) -> str:
        return f"S^{self.k}" if self.radius == 1 else f"S^{self.k}({number_text(self.radius)})"

    @property
    def dim(self) -> int:
        return self.k

    @property
    def ambient_dim(self) -> int:
        return self.k + 1

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        if self.kappa > 0:
            pole = np.eye(1, self.ambient_dim)[0]
            normals = vonmises_fisher(pole, self.kappa).rvs(n, random_state=rng)
        else:
            normals = unit_vectors(n, self.ambient_dim, rng)
        return self.radius * normals, orthogonal_complement(normals)


@dataclass(frozen=True)
class SpecialOrthogonal(Space):
    """Rotations Q of R^k as k x k matrices, row by row; the metric is tr(A^T B).

    The tangent space at Q is {Q A : A + A^T = 0}.
    """

    k: int

    @property
    def name(self) -> str:
        return f"SO({self.k})"

    @property
    def dim(self) -> int:
        return self.k * (self.k - 1) // 2

    @property
    def ambient_dim(self) -> int:
        return self.k**2

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        q = random_rotations(n, self.k, rng)
        return q.reshape(n, -1), skew_frames(q).reshape(n, self.dim, -1)


@dataclass(frozen=True)
class FlatTorus(Space):
    """The product of k unit circles, as one factor: (cos t_1, sin t_1, ..., cos t_k, sin t_k)."""

    k: int

    @property
    def name(self) -> str:
        return f"T^{self.k}"

    @property
    def dim(self) -> int:
        return self.k

    @property
    def ambient_dim(self) -> int:
        return 2 * self.k

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        circles, turned = circle_points(rng.uniform(0, 2 * np.pi, (n, self.k)))
        axis = np.arange(self.k)
        frames = np.zeros((n, self.k, self.k, 2))
        frames[:, axis, axis] = turned
        return circles.reshape(n, -1), frames.reshape(n, self.k, -1)


@dataclass(frozen=True)
class Cube(Space):
    """The cube [-1, 1]^k, a piece of Euclidean space."""

    k: int

    @property
    def name(self) -> str:
        return f"R^{self.k}"

    @property
    def dim(self) -> int:
        return self.k

    @property
    def ambient_dim(self) -> int:
        return self.k

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        frames = np.tile(np.eye(self.k), (n, 1, 1))
        return rng.uniform(-1, 1, (n, self.k)), frames


@dataclass(frozen=True)
class Ellipsoid(Space):
    """The points x = A u with |u| = 1 and A = diag(axes); the normal at x is along A^-1 u."""

    axes: tuple[float, ...]

    @property
    def name(self) -> str:
        return f"ellipsoid({', '.join(map(number_text, self.axes))})"

    @property
    def dim(self) -> int:
        return len(self.axes) - 1

    @property
    def ambient_dim(self) -> int:
        return len(self.axes)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        axes = np.array(self.axes, dtype=float)
        # u -> A u stretches area at u by det(A) |A^-1 u|, which is largest, det(A) / min(axes),
        # at the end of the shortest axis. So |squeeze u| is the stretch in units of its largest
        # value; its mean is at least E|u_0| > 0.79 / sqrt(d): few candidates are rejected.
        squeeze = axes.min() / axes
        u = accept(
            n,
            rng,
            propose=lambda size: unit_vectors(size, self.ambient_dim, rng),
            probability=lambda u: np.linalg.norm(squeeze * u, axis=1),
        )
        return axes * u, orthogonal_complement(normalised(squeeze * u))


@dataclass(frozen=True)
class TorusOfRevolution(Space):
    """((R + r cos b) cos a, (R + r cos b) sin a, r sin b): a circle turned about the third axis."""

    R: float
    r: float

    @property
    def name(self) -> str:
        return f"torus({number_text(self.R)}, {number_text(self.r)})"

    @property
    def dim(self) -> int:
        return 2

    @property
    def ambient_dim(self) -> int:
        return 3

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        def relative_area(b: np.ndarray) -> np.ndarray:
            return (self.R + self.r * np.cos(b)) / (self.R + self.r)

        a = rng.uniform(0, 2 * np.pi, n)
        b = accept(n, rng, lambda size: rng.uniform(0, 2 * np.pi, size), relative_area)
        (cos_a, sin_a), (cos_b, sin_b), zero = (np.cos(a), np.sin(a)), (np.cos(b), np.sin(b)), 0 * a
        distance = self.R + self.r * cos_b  # from the axis
        points = np.stack([distance * cos_a, distance * sin_a, self.r * sin_b], axis=1)
        around = np.stack([-sin_a, cos_a, zero], axis=1)
        across = np.stack([-sin_b * cos_a, -sin_b * sin_a, cos_b], axis=1)
        return points, np.stack([around, across], axis=1)


@dataclass(frozen=True)
class Hyperbolic(Space):
    """A piece of curvature -1, wound round k - 1 circles (for k = 2 the pseudosphere).

    With s = e^-u in [r0, r1] and angles v_1 .. v_{k-1}, the point is
    (s cos v_1, s sin v_1, ..., s cos v_{k-1}, s sin v_{k-1}, f(s)), where
    f = arctanh(c) - c and c = sqrt(1 - (k-1) s^2). As c^2 + (k-1) s^2 = 1, f' = -c / s and

        (k-1) ds^2 + s^2 sum_i dv_i^2 + f'^2 ds^2 = (ds / s)^2 + s^2 sum_i dv_i^2
                                                  = du^2 + e^-2u sum_i dv_i^2,

    the metric of the upper half-space at height 1 / s = e^u over the point v. The volume is
    e^(-(k-1) u) du dv = s^(k-2) ds dv. The embedding ends at s = 1 / sqrt(k-1), where c = 0;
    r1 stops short of it, and r0 = r1 / 4.
    """

    k: int

    @property
    def name(self) -> str:
        return f"H^{self.k}"

    @property
    def dim(self) -> int:
        return self.k

    @property
    def ambient_dim(self) -> int:
        return 2 * self.k - 1

    @property
    def radii(self) -> tuple[float, float]:
        r1 = 0.9 / np.sqrt(self.k - 1)
        return r1 / 4, r1

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        circles, turned = circle_points(rng.uniform(0, 2 * np.pi, (n, self.k - 1)))
        # The volume up to s grows like s^(k-1): draw that uniformly.
        low, high = np.power(self.radii, self.k - 1)
        s = rng.uniform(low, high, n) ** (1 / (self.k - 1))
        c = np.sqrt(1 - (self.k - 1) * s**2)

        points = np.empty((n, self.ambient_dim))
        points[:, :-1] = (s[:, None, None] * circles).reshape(n, -1)
        points[:, -1] = np.arctanh(c) - c

        frames = np.zeros((n, self.k, self.ambient_dim))
        # s d/ds, of length (k-1) s^2 + c^2 = 1, and then d/dv_i / s.
        frames[:, 0, :-1] = points[:, :-1]
        frames[:, 0, -1] = -c
        axis = np.arange(self.k - 1)
        frames[:, axis + 1, 2 * axis] = turned[:, :, 0]
        frames[:, axis + 1, 2 * axis + 1] = turned[:, :, 1]
        return points, frames


@dataclass(frozen=True)
class Stiefel(Space):
    """Matrices U (m, p) with orthonormal columns, row by row; the Euclidean metric tr(A^T B).

    With W (m, m - p) completing U to a rotation, the tangent space at U is
    {U A + W B : A + A^T = 0}. The canonical metric differs: there A counts half.
    """

    m: int
    p: int

    @property
    def name(self) -> str:
        return f"St({self.m}, {self.p})"

    @property
    def dim(self) -> int:
        return self.p * (self.p - 1) // 2 + self.p * (self.m - self.p)

    @property
    def ambient_dim(self) -> int:
        return self.m * self.p

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


@dataclass(frozen=True)
class Grassmann(Space):
    """Planes of dimension p in R^m as projectors P = U U^T (m x m), row by row; metric tr(A^T B).

    With W completing U to a rotation, the tangent space at P is
    {U B W^T + W B^T U^T : B of shape (p, m - p)}. The geodesic distance is sqrt(2) times the norm
    of the principal angles, which is the distance of geomstats' ``GrassmannianCanonicalMetric``.
    """

    m: int
    p: int

    @property
    def name(self) -> str:
        return f"Gr({self.m}, {self.p})"

    @property
    def dim(self) -> int:
        return self.p * (self.m - self.p)

    @property
    def ambient_dim(self) -> int:
        return self.m**2

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        q = random_rotations(n, self.m, rng)
        u, w = q[:, :, : self.p], q[:, :, self.p :]
        outer = np.einsum("nxi,nya->niaxy", u, w)  # u_i w_a^T
        frames = SQRT_HALF * (outer + outer.swapaxes(-1, -2))
        projectors = u @ u.swapaxes(1, 2)
        return projectors.reshape(n, -1), frames.reshape(n, self.dim, -1)


def number_text(value: float) -> str:
    """Write a number as a spec would: 2 rather than 2.0."""
    return repr(float(value)).removesuffix(".0")
