"""What is known of the dimension, how sure it is, and how many points it asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import check_choice, check_int
from geodis.manifold.doubts import Doubt, doubt
from geodis.manifold.local.dimension_methods import (
    carre_du_champ_dimension,
    gride_dimension,
    mle_dimension,
    two_nn_dimension,
)
from geodis.manifold.local.neighbors import nearest_neighbors
from geodis.manifold.local.quadratic_fits import tangent_terms

Verdict = Literal["clear", "doubtful", "undecided"]


# Points for each unknown of a quadratic fit below which factors may be left merged, and the least
# dimension in which that can happen: what a surface could split into is flat.
ENOUGH_PER_UNKNOWN = 80


SPLITTABLE = 3


ENOUGH_FOR_SURFACES = 20

# A spread of distances from the fits that is a shell: small spheres had .03 to .18, noise .95 and
# more if normal, .59 if uniform, .42 on a grid, .30 if uniform in a ball of ten dimensions.
SHELL = 0.25


@dataclass(frozen=True)
class DimensionEstimate:
    """Intrinsic dimension, how sure it is, and what it rests on.

    Attributes
    ----------
    dim : int
        The dimension; where it is undecided, the best guess.
    verdict : {"clear", "doubtful", "undecided"}
    doubts : tuple of Doubt
        What speaks against it; none where it is clear.
    scale : int
        Neighbours at which the curved fits told the dimension; 0 where distances alone did.
    ratio : float
        How many times longer the shortest tangent direction is than what the fits leave there, in
        variance; 0.0 where distances told the dimension.
    mle, two_nn : float
        Maximum-likelihood and two-nearest-neighbour estimate, from distances.
    n_neighbors : int
        Neighbours that the maximum-likelihood estimate used: 15, or up to 200 where noise shows.
    n_directions : int
        Directions in which the points vary by more than noise.
    noise : float
        Standard deviation of the noise in each; 0.0 where no floor was seen.
    scales : tuple of int
        Neighbours of the curved fits, ascending.
    ratios : tuple of tuples of float
        For every scale the ratio of k = 1, 2, ..., as far as its neighbours allow.
    changes : str
        How the dimension falls as the scale grows, as in "4 up to 200 neighbours, 2 beyond"; empty
        where it does not.
    spread : float
        How widely distances from the fits spread, in units of normal noise (`shell_spread`); NaN
        where nothing asked for it.
    """

    dim: int
    verdict: Verdict
    doubts: tuple[Doubt, ...]
    scale: int
    ratio: float
    mle: float
    two_nn: float
    n_neighbors: int
    n_directions: int
    noise: float
    scales: tuple[int, ...]
    ratios: tuple[tuple[float, ...], ...]
    changes: str = ""
    spread: float = float("nan")

    @property
    def may_hide(self) -> bool:
        """Whether what the fits leave looks like a small factor rather than noise."""
        return self.spread < SHELL

    @property
    def remarkable(self) -> bool:
        """Whether there are doubts that weigh anything; that the points fill space does not."""
        return self.verdict != "clear" and any(doubt.weight for doubt in self.doubts)

    @property
    def agree(self) -> bool:
        """Whether the dimension is clear."""
        return self.verdict == "clear"

    @property
    def account(self) -> str:
        """The dimension and what speaks against it, without what to do about that."""
        at = f" at {self.scale} neighbours" if self.scale else ""
        told = f"curved fits {self.ratio:.1f} times{at}" if self.scale else "distances"
        reasons = "".join(f"; {doubt.statement}" for doubt in self.doubts)
        if self.changes and self.changes not in reasons:
            reasons += f"; {self.changes}"
        return (
            f"dimension {self.dim}, {self.verdict} ({told}; maximum likelihood {self.mle:.2f}, "
            f"two nearest neighbours {self.two_nn:.2f}){reasons}"
        )

    def __str__(self) -> str:
        """One line for people; where nothing is decided, with what to do."""
        remedy = self.doubts[-1].remedy if self.verdict == "undecided" and self.doubts else ""
        return f"{self.account}: {remedy}" if remedy else self.account


def fewest_points(dim: int) -> int:
    """The fewest points that curved tangents can use: twice the unknowns of a fit, and one.

    Examples
    --------
    >>> fewest_points(4)
    31
    """
    return 2 * tangent_terms(check_int(dim, "dim", low=1)) + 1


def points_needed(dim: int) -> tuple[int, int]:
    """The fewest points that GeoManCER can use in that dimension, and enough to trust it.

    The first is what the quadratic tangent fit needs: twice its unknowns as neighbours of each
    point. The second is eighty times the unknowns, at which all of twelve products were split
    rightly in three samples but one: a torus of revolution times S^2 was taken for one factor,
    and called uncertain. At twenty times, so were SO(3) x SO(3), (S^2)^4 and S^2 x SO(3), at
    forty still the first: the more a factor bends within a neighbourhood, the more points it
    takes. Twenty are enough for curves and surfaces, which are one factor.

    Examples
    --------
    >>> points_needed(4)
    (31, 1200)
    """
    per_unknown = ENOUGH_PER_UNKNOWN if dim >= SPLITTABLE else ENOUGH_FOR_SURFACES
    return fewest_points(dim), per_unknown * tangent_terms(dim)


# The intrinsic dimension by one method alone, with what that method says for itself.

DimensionMethod = Literal["fits", "mle", "two_nn", "gride", "carre_du_champ"]
METHODS = get_args(DimensionMethod)
# Neighbours of each; of gride a sixteenth of the points at most, beyond which the whole manifold
# is seen.
MLE_COUNT, GRIDE_COUNT, GRIDE_PART, KERNEL_COUNT = 15, 256, 16, 32


def dimension_by_method(
    places: np.ndarray, method: DimensionMethod, noise: float, n_jobs: int | None
) -> DimensionEstimate:
    """The dimension of distinct points by a named method, never more than doubtful."""
    check_choice(method, "method", METHODS)
    n, d = places.shape
    counts = {
        "mle": MLE_COUNT,
        "two_nn": 3,
        "gride": max(8, min(GRIDE_COUNT, n // GRIDE_PART)),
        "carre_du_champ": KERNEL_COUNT,
    }
    near = nearest_neighbors(places, min(max(counts[method], 3), n - 1), n_jobs=n_jobs)
    mle, two_nn = mle_dimension(near.distances[:, :MLE_COUNT]), two_nn_dimension(near.distances)
    told: Any = {"mle": mle, "two_nn": two_nn}.get(method)
    detail = ""
    if method == "gride":
        curve = gride_dimension(near.distances)
        told = curve.lowest
        listed = ", ".join(f"{value:.1f}" for value in curve.dimensions)
        detail = f" (over scales {listed})"
    elif method == "carre_du_champ":
        voted = carre_du_champ_dimension(places, near)
        told = voted.dim
        detail = f" ({voted.share:.0%} of the points say so)"
    dim = 1 if not np.isfinite(told) else int(np.clip(round(told), 1, d))
    return DimensionEstimate(
        dim=dim,
        verdict="doubtful" if np.isfinite(told) else "undecided",
        doubts=(doubt("one-method", "dimension", method=method.replace("_", " "), found=detail),),
        scale=0,
        ratio=0.0,
        mle=mle,
        two_nn=two_nn,
        n_neighbors=near.indices.shape[1],
        n_directions=d,
        noise=noise,
        scales=(),
        ratios=(),
    )
