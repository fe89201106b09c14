"""Curved and flat spaces: spheres, tori, cubes, hyperbolic pieces, ellipsoids.

The metric is the one that the embedding induces, and the points are uniform with respect to its
volume. The numbers in a space are taken to be valid: `spec` checks them where it reads the text.
"""

from __future__ import annotations

from math import inf

import numpy as np
from scipy.stats import vonmises_fisher

from geodis.data.manifolds.draws import (
    accept,
    accept_angles,
    circle_points,
    normalised,
    orthogonal_complement,
    unit_vectors,
)
from geodis.data.manifolds.spec import Space, is_whole, register_space


@register_space(
    "S^k or S^k(r)",
    needs="an integer k >= 1 and a radius r > 0",
    valid=lambda k, r=1: is_whole(k, 1) and r > 0,
    counts=(1, 2),
)
class Sphere(Space):
    """The sphere |x| = radius in R^(k+1), von Mises-Fisher about e_0 where kappa > 0."""

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
    """The product of k unit circles, as one factor: (cos t_1, sin t_1, ..., cos t_k, sin t_k)."""

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

    def __init__(self, k: int) -> None:
        super().__init__(f"H^{k}", k, 2 * k - 1)
        self.k = k

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        circles, turned = circle_points(rng.uniform(0, 2 * np.pi, (n, self.k - 1)))
        # The volume up to s grows like s^(k-1): draw that uniformly.
        r1 = 0.9 / np.sqrt(self.k - 1)
        low, high = np.power((r1 / 4, r1), self.k - 1)
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


@register_space("torus(R, r)", needs="R > r > 0", valid=lambda R, r: R > r > 0, counts=(2, 2))
class TorusOfRevolution(Space):
    """((R + r cos b) cos a, (R + r cos b) sin a, r sin b): a circle turned about the third axis."""

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
    """Write a number as a spec would: 2 rather than 2.0."""
    return repr(float(value)).removesuffix(".0")
