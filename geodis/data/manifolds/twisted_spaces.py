"""Spaces that are twisted, tied or complex: Klein bottle, Moebius band, torus knots, CP^k.

The metric is the one that the embedding induces, and the points are uniform with respect to its
volume. The numbers in a space are taken to be valid: `spec` checks them where it reads the text.
"""

from __future__ import annotations

from math import gcd

import numpy as np

from geodis.data.manifolds.draws import SQRT_HALF, accept, accept_angles
from geodis.data.manifolds.spaces import spec_number
from geodis.data.manifolds.spec import Number, Space, is_whole, register_space


@register_space("Klein(R, r)", needs="R > r > 0", valid=lambda R, r: R > r > 0, counts=(2, 2))
class KleinBottle(Space):
    """((R + r cos b) (cos a, sin a), r sin b (cos a/2, sin a/2)) in R^4, a and b in [0, 2 pi).

    A circle of radius r goes round one of radius R and comes back turned over. Its tangents are
    orthogonal: the metric is ((R + r cos b)^2 + (r sin b)^2 / 4) da^2 + r^2 db^2.
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

    A rod of length 2 w goes round a circle of radius R and comes back turned over. Its tangents
    are orthogonal: the metric is ds^2 + ((R + s cos a/2)^2 + s^2 / 4) da^2.
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

    The entries of P on the diagonal come first, then sqrt(2) times the real and the imaginary
    parts of those above it. With w completing z to a unitary matrix, the tangent space at P is
    spanned by (z w_a^* + w_a z^*) / sqrt(2) and i (w_a z^* - z w_a^*) / sqrt(2).
    CP^1 is a round sphere of radius sqrt(1/2).
    """

    def __init__(self, k: int) -> None:
        super().__init__(f"CP^{k}", 2 * k, (k + 1) ** 2)
        self.k = k

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        size = self.k + 1
        gaussian = rng.standard_normal((2, n, size, size))
        # The first column is uniform among unit vectors up to a phase, which P does not see.
        unitary = np.linalg.qr(gaussian[0] + 1j * gaussian[1])[0]
        z, w = unitary[:, :, 0], unitary[:, :, 1:]
        outer = np.einsum("nx,nya->naxy", z, w.conj())  # z w_a^*
        adjoint = outer.conj().swapaxes(-1, -2)
        frames = SQRT_HALF * np.concatenate([outer + adjoint, 1j * (adjoint - outer)], axis=1)
        return self._entries(z[:, :, None] * z[:, None].conj()), self._entries(frames)

    def _entries(self, hermitian: np.ndarray) -> np.ndarray:
        """Hermitian matrices (..., k + 1, k + 1) as real vectors of the same length."""
        i, j = np.triu_indices(self.k + 1, 1)
        above = np.sqrt(2) * hermitian[..., i, j]
        diagonal = np.diagonal(hermitian, axis1=-2, axis2=-1).real
        return np.concatenate([diagonal, above.real, above.imag], axis=-1)
