"""The manifolds of product samples, each with a sampler of points and tangent frames.

The metric is the one induced by the embedding (for matrices, tr(A^T B)), and points are uniform
with respect to its volume. Parameters are assumed to be valid: `spec` checks them when it reads
the text.
"""

from __future__ import annotations

from math import gcd, inf

import numpy as np
from scipy.stats import vonmises_fisher

from geodis.data.manifolds.directions import (
    SQRT_HALF,
    accept,
    accept_angles,
    circle_points,
    normalised,
    orthogonal_complement,
    random_rotations,
    skew_frames,
    unit_vectors,
)
from geodis.data.manifolds.spec import Number, Space, is_whole, register_space


@register_space(
    "S^k or S^k(r)",
    needs="an integer k >= 1 and a radius r > 0",
    valid=lambda k, r=1: is_whole(k, 1) and r > 0,
    counts=(1, 2),
)
class Sphere(Space):
    """The sphere |x| = radius in R^(k+1), von Mises-Fisher about e_0 if kappa > 0."""

    def __init__(self, k: int, radius: float = 1.0, kappa: float = 0.0) -> None:
        super().__init__(f"S^{k}" if radius == 1 else f"S^{k}({spec_number(radius)})", k, k + 1)
        self.k, self.radius, self.kappa = k, radius, kappa

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        if self.kappa > 0:
            pole = np.eye(1, self.ambient_dim)[0]
            normals = vonmises_fisher(pole, self.kappa).rvs(n, random_state=rng)
        else:
            normals = unit_vectors(n, self.ambient_dim, rng)
        return self.radius * normals, orthogonal_complement(normals)


@register_space("T^k", needs="an integer k >= 1", valid=lambda k: is_whole(k, 1))
class FlatTorus(Space):
    """The product of k unit circles as one factor: (cos t_1, sin t_1, ..., cos t_k, sin t_k)."""

    def __init__(self, k: int) -> None:
        super().__init__(f"T^{k}", k, 2 * k)
        self.k = k

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        circles, turned = circle_points(rng.uniform(0, 2 * np.pi, (n, self.k)))
        axis = np.arange(self.k)
        frames = np.zeros((n, self.k, self.k, 2))
        frames[:, axis, axis] = turned
        return circles.reshape(n, -1), frames.reshape(n, self.k, -1)


@register_space("R^k", needs="an integer k >= 1", valid=lambda k: is_whole(k, 1))
class Cube(Space):
    """The cube [-1, 1]^k, a piece of Euclidean space."""

    def __init__(self, k: int) -> None:
        super().__init__(f"R^{k}", k, k)
        self.k = k

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        frames = np.tile(np.eye(self.k), (n, 1, 1))
        return rng.uniform(-1, 1, (n, self.k)), frames


@register_space("H^k", needs="an integer k >= 2", valid=lambda k: is_whole(k, 2))
class Hyperbolic(Space):
    """A piece of curvature -1 wound around k - 1 circles (for k = 2, the pseudosphere).

    With s = e^-u in [r0, r1] and angles v_1 .. v_{k-1}, the point is
    (s cos v_1, s sin v_1, ..., s cos v_{k-1}, s sin v_{k-1}, f(s)), where
    f = arctanh(c) - c and c = sqrt(1 - (k-1) s^2). As c^2 + (k-1) s^2 = 1, f' = -c / s and

        (k-1) ds^2 + s^2 sum_i dv_i^2 + f'^2 ds^2 = (ds / s)^2 + s^2 sum_i dv_i^2
                                                  = du^2 + e^-2u sum_i dv_i^2,

    the metric of the upper half-space at height 1 / s = e^u over the point v. The volume is
    e^(-(k-1) u) du dv = s^(k-2) ds dv. The embedding ends at s = 1 / sqrt(k-1), where c = 0;
    r1 stops short of it, and r0 = r1 / 4.
    """

    def __init__(self, k: int) -> None:
        super().__init__(f"H^{k}", k, 2 * k - 1)
        self.k = k

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        circles, turned = circle_points(rng.uniform(0, 2 * np.pi, (n, self.k - 1)))
        # The volume up to s is proportional to s^(k-1), which is drawn uniformly.
        r1 = 0.9 / np.sqrt(self.k - 1)
        low, high = np.power((r1 / 4, r1), self.k - 1)
        s = rng.uniform(low, high, n) ** (1 / (self.k - 1))
        c = np.sqrt(1 - (self.k - 1) * s**2)

        points = np.empty((n, self.ambient_dim))
        points[:, :-1] = (s[:, None, None] * circles).reshape(n, -1)
        points[:, -1] = np.arctanh(c) - c

        frames = np.zeros((n, self.k, self.ambient_dim))
        # s d/ds, of length (k-1) s^2 + c^2 = 1, followed by d/dv_i / s.
        frames[:, 0, :-1] = points[:, :-1]
        frames[:, 0, -1] = -c
        axis = np.arange(self.k - 1)
        frames[:, axis + 1, 2 * axis] = turned[:, :, 0]
        frames[:, axis + 1, 2 * axis + 1] = turned[:, :, 1]
        return points, frames


@register_space(
    "ellipsoid(a, b, ...)",
    needs="two semi-axes or more, all > 0",
    valid=lambda *axes: min(axes) > 0,
    counts=(2, inf),
)
class Ellipsoid(Space):
    """The points x = A u with |u| = 1 and A = diag(axes); the normal at x is along A^-1 u."""

    def __init__(self, *axes: float) -> None:
        super().__init__(
            f"ellipsoid({', '.join(map(spec_number, axes))})", len(axes) - 1, len(axes)
        )
        self.axes = axes

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        axes = np.array(self.axes, dtype=float)
        # The map u -> A u stretches area at u by det(A) |A^-1 u|, which is at most
        # det(A) / min(axes). So |squeeze u| is the stretch relative to its maximum; its mean is at
        # least E|u_0| > 0.79 / sqrt(d), so few candidates are rejected.
        squeeze = axes.min() / axes
        u = accept(
            n,
            rng,
            propose=lambda size: unit_vectors(size, self.ambient_dim, rng),
            probability=lambda u: np.linalg.norm(squeeze * u, axis=1),
        )
        return axes * u, orthogonal_complement(normalised(squeeze * u))


@register_space("torus(R, r)", needs="R > r > 0", valid=lambda R, r: R > r > 0, counts=(2, 2))
class TorusOfRevolution(Space):
    """((R + r cos b) cos a, (R + r cos b) sin a, r sin b): a circle around the third axis."""

    def __init__(self, R: float, r: float) -> None:
        super().__init__(f"torus({spec_number(R)}, {spec_number(r)})", 2, 3)
        self.R, self.r = R, r

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        def relative_area(b: np.ndarray) -> np.ndarray:
            return (self.R + self.r * np.cos(b)) / (self.R + self.r)

        a = rng.uniform(0, 2 * np.pi, n)
        b = accept_angles(n, rng, relative_area)
        (cos_a, sin_a), (cos_b, sin_b), zero = (np.cos(a), np.sin(a)), (np.cos(b), np.sin(b)), 0 * a
        distance = self.R + self.r * cos_b  # from the axis
        points = np.stack([distance * cos_a, distance * sin_a, self.r * sin_b], axis=1)
        around = np.stack([-sin_a, cos_a, zero], axis=1)
        across = np.stack([-sin_b * cos_a, -sin_b * sin_a, cos_b], axis=1)
        return points, np.stack([around, across], axis=1)


def spec_number(value: float) -> str:
    """Write a number as in a spec: 2 rather than 2.0."""
    return repr(float(value)).removesuffix(".0")


# Spaces of matrices, stored row by row.


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


# St(m, m) is O(m), which is not connected, and Gr(m, m) is a point.
@register_space("St(m, p)", needs="integers m > p >= 1", valid=_is_plane, counts=(2, 2))
class Stiefel(Space):
    """Matrices U (m, p) with orthonormal columns, row by row; the Euclidean metric tr(A^T B).

    With W (m, m - p) completing U to a rotation, the tangent space at U is
    {U A + W B : A + A^T = 0}. In the canonical metric, which differs, A has half the weight.
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


# Non-orientable, knotted and complex spaces.


@register_space("Klein(R, r)", needs="R > r > 0", valid=lambda R, r: R > r > 0, counts=(2, 2))
class KleinBottle(Space):
    """((R + r cos b) (cos a, sin a), r sin b (cos a/2, sin a/2)) in R^4, a and b in [0, 2 pi).

    A circle of radius r moves around one of radius R and returns reflected. The coordinate tangents
    are orthogonal: the metric is ((R + r cos b)^2 + (r sin b)^2 / 4) da^2 + r^2 db^2.
    """

    def __init__(self, R: float, r: float) -> None:
        super().__init__(f"Klein({spec_number(R)}, {spec_number(r)})", 2, 4)
        self.R, self.r = R, r

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        def stretch(b: np.ndarray) -> np.ndarray:
            return np.hypot(self.R + self.r * np.cos(b), self.r * np.sin(b) / 2)

        a = rng.uniform(0, 2 * np.pi, n)
        b = accept_angles(n, rng, lambda b: stretch(b) / (self.R + self.r))
        (ca, sa), (ch, sh) = (np.cos(a), np.sin(a)), (np.cos(a / 2), np.sin(a / 2))
        wide, high = self.R + self.r * np.cos(b), self.r * np.sin(b)
        points = np.stack([wide * ca, wide * sa, high * ch, high * sh], axis=1)
        around = np.stack([-wide * sa, wide * ca, -high * sh / 2, high * ch / 2], axis=1)
        across = np.stack([-np.sin(b) * ca, -np.sin(b) * sa, np.cos(b) * ch, np.cos(b) * sh], 1)
        return points, np.stack([around / stretch(b)[:, None], across], axis=1)


@register_space("Moebius(R, w)", needs="R > w > 0", valid=lambda R, w: R > w > 0, counts=(2, 2))
class MoebiusBand(Space):
    """((R + s cos a/2) cos a, (R + s cos a/2) sin a, s sin a/2), a in [0, 2 pi), s in [-w, w].

    A rod of length 2 w moves around a circle of radius R and returns reversed. The coordinate
    tangents are orthogonal: the metric is ds^2 + ((R + s cos a/2)^2 + s^2 / 4) da^2.
    """

    def __init__(self, R: float, w: float) -> None:
        super().__init__(f"Moebius({spec_number(R)}, {spec_number(w)})", 2, 3)
        self.R, self.w = R, w

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        def stretch(a: np.ndarray, s: np.ndarray) -> np.ndarray:
            return np.hypot(self.R + s * np.cos(a / 2), s / 2)

        largest = np.hypot(self.R + self.w, self.w / 2)
        a, s = accept(
            n,
            rng,
            propose=lambda size: rng.uniform([0, -self.w], [2 * np.pi, self.w], size=(size, 2)),
            probability=lambda both: stretch(*both.T) / largest,
        ).T
        (ca, sa), (ch, sh) = (np.cos(a), np.sin(a)), (np.cos(a / 2), np.sin(a / 2))
        wide = self.R + s * ch
        points = np.stack([wide * ca, wide * sa, s * sh], axis=1)
        rod = np.stack([ch * ca, ch * sa, sh], axis=1)
        around = np.stack([-wide * sa, wide * ca, 0 * a], axis=1)
        around += s[:, None] / 2 * np.stack([-sh * ca, -sh * sa, ch], axis=1)
        return points, np.stack([around / stretch(a, s)[:, None], rod], axis=1)


def _is_knot(p: Number, q: Number) -> bool:
    return is_whole(p, 1) and is_whole(q, 1) and gcd(int(p), int(q)) == 1


@register_space(
    "knot(p, q)", needs="integers p, q >= 1 without common divisor", valid=_is_knot, counts=(2, 2)
)
class TorusKnot(Space):
    """((2 + cos q t) cos p t, (2 + cos q t) sin p t, sin q t): knot(2, 3) is the trefoil."""

    def __init__(self, p: int, q: int) -> None:
        super().__init__(f"knot({p}, {q})", 1, 3)
        self.p, self.q = p, q

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        def speed(t: np.ndarray) -> np.ndarray:
            return np.hypot(self.p * (2 + np.cos(self.q * t)), self.q)

        t = accept_angles(n, rng, lambda t: speed(t) / np.hypot(3 * self.p, self.q))
        p, q = self.p, self.q
        cp, sp, cq, sq = np.cos(p * t), np.sin(p * t), np.cos(q * t), np.sin(q * t)
        points = np.stack([(2 + cq) * cp, (2 + cq) * sp, sq], axis=1)
        x = -q * sq * cp - p * (2 + cq) * sp
        y = -q * sq * sp + p * (2 + cq) * cp
        velocity = np.stack([x, y, q * cq], axis=1)
        return points, (velocity / speed(t)[:, None])[:, None]


@register_space("CP^k", needs="an integer k >= 1", valid=lambda k: is_whole(k, 1))
class ComplexProjective(Space):
    """Complex lines in C^(k+1) as projectors P = z z^*; the metric is tr(A^* B).

    The diagonal entries of P come first, followed by sqrt(2) times the real and the imaginary parts
    of the entries above the diagonal. With w completing z to a unitary matrix, the tangent space at
    P is spanned by (z w_a^* + w_a z^*) / sqrt(2) and i (w_a z^* - z w_a^*) / sqrt(2). CP^1 is a
    round sphere of radius sqrt(1/2).
    """

    def __init__(self, k: int) -> None:
        super().__init__(f"CP^{k}", 2 * k, (k + 1) ** 2)
        self.k = k

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        size = self.k + 1
        gaussian = rng.standard_normal((2, n, size, size))
        # The first column is uniform on unit vectors up to a phase, which does not affect P.
        unitary = np.linalg.qr(gaussian[0] + 1j * gaussian[1])[0]
        z, w = unitary[:, :, 0], unitary[:, :, 1:]
        outer = np.einsum("nx,nya->naxy", z, w.conj())  # z w_a^*
        adjoint = outer.conj().swapaxes(-1, -2)
        frames = SQRT_HALF * np.concatenate([outer + adjoint, 1j * (adjoint - outer)], axis=1)
        return self._entries(z[:, :, None] * z[:, None].conj()), self._entries(frames)

    def _entries(self, hermitian: np.ndarray) -> np.ndarray:
        """Return Hermitian matrices (..., k + 1, k + 1) as real vectors of the same length."""
        i, j = np.triu_indices(self.k + 1, 1)
        above = np.sqrt(2) * hermitian[..., i, j]
        diagonal = np.diagonal(hermitian, axis1=-2, axis2=-1).real
        return np.concatenate([diagonal, above.real, above.imag], axis=-1)
