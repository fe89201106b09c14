"""Products of manifolds: points (n, d) with the true tangent frame of every factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state, check_real
from geodis.data.manifolds.directions import random_rotations
from geodis.data.manifolds.spaces import Sphere
from geodis.data.manifolds.spec import Space, read_spec
from geodis.data.manifolds.spec import register_space as register_space  # after the spaces above
from geodis.data.manifolds.spec import unregister_space as unregister_space


@dataclass(frozen=True, eq=False, repr=False)
class ManifoldSample:
    """Points of a product of manifolds, with the tangent frame of every factor.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        One row per point.
    tangents : list of m ndarrays of shape (n, k_j, d)
        ``tangents[j][i]`` has orthonormal rows that span the tangent space of factor j at point i
        (before noise). Rows of different factors are orthogonal to each other.
    names : tuple of m str
        The spaces, in the order of the spec.
    """

    points: np.ndarray
    tangents: list[np.ndarray]
    names: tuple[str, ...]

    @property
    def dim(self) -> int:
        """Intrinsic dimension k, the sum of ``factor_dims``."""
        return sum(self.factor_dims)

    @property
    def factor_dims(self) -> tuple[int, ...]:
        """Intrinsic dimension k_j of every factor."""
        return tuple(frames.shape[1] for frames in self.tangents)

    @property
    def n_factors(self) -> int:
        """Number of factors m."""
        return len(self.tangents)

    def __repr__(self) -> str:
        n, d = self.points.shape
        return f"ManifoldSample({' x '.join(self.names)!r}, n={n}, d={d}, dim={self.dim})"

    def __str__(self) -> str:
        n, d = self.points.shape
        width = max(len("space"), *map(len, self.names))
        lines = [
            f"{n} points of a manifold of dimension {self.dim} in R^{d}",
            f"factor  {'space':<{width}}  dim",
        ]
        for j, (name, k) in enumerate(zip(self.names, self.factor_dims, strict=True)):
            lines.append(f"{j:>6}  {name:<{width}}  {k:>3}")
        return "\n".join(lines)


def product_manifold(
    spec: str | Sequence[str],
    n: int,
    *,
    rotate: bool = False,
    noise: float = 0.0,
    pad: int = 0,
    density: float | None = None,
    random_state: Any = None,
) -> ManifoldSample:
    r"""Draw points of a product of manifolds, with the true tangent frame of every factor.

    Parameters
    ----------
    spec : str or sequence of str
        Spaces joined by ``x``, ``×`` or ``*``, or a list of such texts; see Notes.
    n : int
        Number of points, at least 1.
    rotate : bool
        Apply one random rotation of the ambient space to points and frames.
    noise : float
        Standard deviation of the Gaussian noise added to every ambient coordinate, after
        padding and rotation. The frames remain those of the points without noise.
    pad : int
        Number of zero coordinates appended before the rotation.
    density : float, optional
        None draws uniformly. A number kappa in [0, 1e6] draws the factors S^k from the von
        Mises-Fisher density, proportional to exp(kappa <x, e_0> / \|x\|), and the other factors
        uniformly.
    random_state : None, int or numpy Generator
        The same seed gives the same underlying points for any ``rotate``, ``noise`` and ``pad``.

    Returns
    -------
    ManifoldSample
        With ``[x_1, ..., x_m]`` the concatenated points of the factors and Q the rotation,
        ``points = [x_1, ..., x_m, 0_pad] Q^T + noise * Gaussian``. If t is in the tangent space of
        factor j at x_j, then ``[0, ..., t, ..., 0, 0_pad] Q^T`` is in that of ``tangents[j]``.

    Raises
    ------
    InputError
        If the spec or an option is invalid.

    Notes
    -----
    Uniform means uniform with respect to the volume of the metric induced by the embedding.

    ==================== ================= ============ =========================================
    text                 dimension         ambient      space
    ==================== ================= ============ =========================================
    S^k, S^k(r)          k                 k + 1        sphere of radius 1 or r; k >= 1
    SO(k)                k (k - 1) / 2     k^2          rotation matrices, row by row; k >= 2.
                                                        Distances are sqrt(2) times the
                                                        bi-invariant metric of geomstats
    T^k                  k                 2 k          flat torus: k unit circles as one factor
    R^k                  k                 k            the cube [-1, 1]^k
    H^k                  k                 2 k - 1      piece of curvature -1, isometric to the
                                                        upper half-space locally; k >= 2. It is
                                                        wound round k - 1 circles and has an edge;
                                                        H^2 is a piece of the pseudosphere
    ellipsoid(a, b, ...) number of axes    number of    surface with these semi-axes
                         less 1            axes
    torus(R, r)          2                 3            torus of revolution; R > r > 0
    St(m, p)             p (m - p)         m p          m x p matrices with orthonormal columns,
                         + p (p - 1) / 2                row by row; Euclidean metric; 1 <= p < m
    Gr(m, p)             p (m - p)         m^2          projectors onto p-planes, row by row,
                                                        isometric to geomstats' metric (sqrt(2)
                                                        times the principal angles); 1 <= p < m
    CP^k                 2 k               (k + 1)^2    complex lines as projectors, isometric to
                                                        their matrices; CP^1 is S^2(sqrt(1/2))
    Klein(R, r)          2                 4            Klein bottle: a circle of radius r goes
                                                        round one of radius R; R > r > 0
    Moebius(R, w)        2                 3            band of width 2 w round a circle of radius
                                                        R; R > w > 0
    knot(p, q)           1                 3            torus knot; knot(2, 3) is the trefoil
    ==================== ================= ============ =========================================

    Case and spaces are ignored; S2, T2, R2, H2, SO3 and S² are accepted, too.

    Examples
    --------
    >>> sample = product_manifold("S^2 x SO(3)", n=100, random_state=0)
    >>> print(sample)
    100 points of a manifold of dimension 5 in R^12
    factor  space  dim
         0  S^2      2
         1  SO(3)    3
    >>> [frames.shape for frames in sample.tangents]
    [(100, 2, 12), (100, 3, 12)]
    >>> product_manifold(["S^1"] * 3, n=5, pad=4, rotate=True, random_state=0)
    ManifoldSample('S^1 x S^1 x S^1', n=5, d=10, dim=3)
    """
    spaces = read_spec(spec)
    n = check_int(n, "n", low=1)
    noise = check_real(noise, "noise", low=0)
    pad = check_int(pad, "pad", low=0)
    if density is not None:
        # For larger kappa, scipy's von Mises-Fisher sampler loses precision: at 1e8 its
        # distribution on S^4 is visibly wrong. At 1e6 a point is already within about 1e-3 of the
        # pole.
        spaces = _concentrate(spaces, check_real(density, "density", low=0, high=1e6))

    # Separate streams, so that rotation and noise do not change the underlying points.
    seeds = check_random_state(random_state).integers(2**63, size=3)
    points_rng, rotation_rng, noise_rng = map(np.random.default_rng, seeds)

    d = sum(space.ambient_dim for space in spaces) + pad
    rotation = random_rotations(1, d, rotation_rng)[0] if rotate else None
    points = np.zeros((n, d))
    tangents: list[np.ndarray] = []
    start = 0
    for space in spaces:
        own_points, own_frames = space.sample(n, points_rng)  # (n, d_j), (n, k_j, d_j)
        stop = start + space.ambient_dim
        if rotation is None:
            points[:, start:stop] = own_points
            frames = np.zeros((n, space.dim, d))
            frames[:, :, start:stop] = own_frames
        else:
            # Only these columns of the rotation concern the factor: no zero padding is needed.
            turn = rotation[:, start:stop].T  # (d_j, d)
            points += own_points @ turn
            # One matrix product is much faster than n small ones.
            frames = own_frames.reshape(n * space.dim, -1) @ turn
        tangents.append(frames.reshape(n, space.dim, d))
        start = stop
    if noise > 0:
        points += noise_rng.normal(scale=noise, size=points.shape)
    return ManifoldSample(points, tangents, tuple(space.name for space in spaces))


def _concentrate(spaces: list[Space], kappa: float) -> list[Space]:
    """Give every sphere a von Mises-Fisher density."""
    if not any(isinstance(space, Sphere) for space in spaces):
        names = " x ".join(space.name for space in spaces)
        raise InputError(f"density needs a sphere S^k among the factors; got {names}.")
    return [Sphere(s.k, s.radius, kappa) if isinstance(s, Sphere) else s for s in spaces]
